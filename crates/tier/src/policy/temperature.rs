//! The temperature of pages in TEMP and ReStore (dissertation 6.4.2).
//!
//! An access sets a page's temperature to 1 - 0.5 / e^(gain req), where req is the number of its
//! requests in a window of accesses. "After 5 timesteps without requests, page temperature will
//! decrease 0.05, until it becomes 0.0": here it falls evenly, by 0.01 a timestep. Then the order
//! of idle pages never changes, and pages are compared by a key that does not depend on the time:
//! temperature + rate x now. All pages start at 0.5.
//!
//! The text does not give the timestep and the window. Here a timestep is 1/20 access per page and
//! the window one access per page, the values of the authors' program for its 10,000 pages (0.02
//! per 1,000 accesses; 10,000 accesses).
//!
//! The window is exact: a ring of the last accesses. The sum over a tier is exact except for pages
//! that reach 0, which leave it at the end of the timestep: warm pages are counted by the timestep
//! in which they reach 0. Temperatures are fixed point, so sums do not depend on their order.

use super::saved::{check, take_all};
use crate::error::Result;
use crate::placement::{Page, Placement, Tier};

/// The temperature 1.
pub(super) const ONE: u64 = 1 << 32;

/// Timesteps in which a page cools from 1 to 0.
const LIFE: u64 = 100;

/// Timesteps in which there is one access per page.
const TIMESTEPS: u64 = 20;

/// Number of requests up to which temperatures are tabulated.
const REQUESTS_MAX: usize = 255;

/// Accesses in a timestep, and the cooling by one access.
fn cooling(pages: u32) -> (u64, u64) {
    let step_accesses = (u64::from(pages) / TIMESTEPS).max(1);
    (step_accesses, (ONE / LIFE / step_accesses).max(1))
}

/// Pages with a temperature above 0.
#[derive(Clone, Copy, Debug, Default)]
struct Warm {
    count: u64,
    keys: u128,
}

/// The saved state: keys, window, hand of the window, accesses.
pub(super) type Saved = (Vec<u64>, Vec<Page>, usize, u64);

/// The temperatures of all pages, and their sums by tier.
#[derive(Debug)]
pub(super) struct Temperatures {
    /// Temperature by requests in the window.
    table: Vec<u64>,
    keys: Vec<u64>,
    /// Requests of each page in the window.
    requests: Vec<u32>,
    /// The accesses in the window, oldest at the hand.
    window: Vec<Page>,
    hand: usize,
    /// Accesses so far, and the cooling of all pages since the start.
    accesses: u64,
    cooled: u64,
    rate: u64,
    step_accesses: u64,
    timestep: u64,
    /// By tier: all warm pages, and a ring of those that reach 0 in each of the next timesteps.
    warm: Vec<Warm>,
    ending: Vec<Vec<Warm>>,
}

impl Temperatures {
    /// All pages at 0.5. `gain` is 0.2 in the text.
    pub(super) fn new(placement: &Placement, gain: f64) -> Self {
        let pages = placement.pages() as usize;
        let temperature = |requests: usize| 1.0 - 0.5 / (gain * requests as f64).exp();
        let fixed = |requests| (temperature(requests) * ONE as f64) as u64;
        let (step_accesses, rate) = cooling(placement.pages());
        // The rate is rounded down, so pages cool a little more slowly.
        let life = (ONE / (rate * step_accesses)) as usize;
        let mut all = Self {
            table: (0..=REQUESTS_MAX).map(fixed).collect(),
            keys: vec![ONE / 2; pages],
            requests: vec![0; pages],
            window: Vec::with_capacity(pages),
            hand: 0,
            accesses: 0,
            cooled: 0,
            rate,
            step_accesses,
            timestep: 0,
            warm: vec![Warm::default(); placement.tiers()],
            ending: vec![vec![Warm::default(); life + 4]; placement.tiers()],
        };
        all.enter_all(placement);
        all
    }

    fn enter_all(&mut self, placement: &Placement) {
        for page in 0..placement.pages() {
            self.enter(placement.tier_of(page), self.keys[page as usize]);
        }
    }

    /// Records an access to a page on `tier`. Returns its key before.
    pub(super) fn touch(&mut self, page: Page, tier: Tier) -> u64 {
        self.advance();
        self.slide(page);
        let requests = self.requests[page as usize].min(REQUESTS_MAX as u32);
        let key = self.table[requests as usize] + self.cooled;
        let before = std::mem::replace(&mut self.keys[page as usize], key);
        self.leave(tier, before);
        self.enter(tier, key);
        before
    }

    fn advance(&mut self) {
        self.accesses += 1;
        self.cooled += self.rate;
        if !self.accesses.is_multiple_of(self.step_accesses) {
            return;
        }
        self.timestep += 1;
        for (warm, ending) in self.warm.iter_mut().zip(&mut self.ending) {
            let slot = self.timestep % ending.len() as u64;
            let ended = std::mem::take(&mut ending[slot as usize]);
            warm.count -= ended.count;
            warm.keys -= ended.keys;
        }
    }

    /// Adds an access to the window and removes the oldest.
    fn slide(&mut self, page: Page) {
        self.requests[page as usize] += 1;
        if self.window.len() < self.window.capacity() {
            self.window.push(page);
            return;
        }
        let oldest = std::mem::replace(&mut self.window[self.hand], page);
        self.requests[oldest as usize] -= 1;
        self.hand = if self.hand + 1 == self.window.len() { 0 } else { self.hand + 1 };
    }

    /// The timestep at whose start the temperature is 0.
    fn end(&self, key: u64) -> u64 {
        key / (self.rate * self.step_accesses) + 1
    }

    fn enter(&mut self, tier: Tier, key: u64) {
        for warm in self.sums(tier, key).into_iter().flatten() {
            warm.count += 1;
            warm.keys += u128::from(key);
        }
    }

    fn leave(&mut self, tier: Tier, key: u64) {
        for warm in self.sums(tier, key).into_iter().flatten() {
            warm.count -= 1;
            warm.keys -= u128::from(key);
        }
    }

    /// The sums that include a page with this key; none if it is cold.
    fn sums(&mut self, tier: Tier, key: u64) -> Option<[&mut Warm; 2]> {
        let end = self.end(key);
        if end <= self.timestep {
            return None;
        }
        let ending = &mut self.ending[tier as usize];
        let slot = (end % ending.len() as u64) as usize;
        Some([&mut self.warm[tier as usize], &mut ending[slot]])
    }

    pub(super) fn moved(&mut self, page: Page, from: Tier, to: Tier) {
        let key = self.keys[page as usize];
        self.leave(from, key);
        self.enter(to, key);
    }

    /// A key that orders pages by temperature, at any time.
    #[inline]
    pub(super) fn key(&self, page: Page) -> u64 {
        self.keys[page as usize]
    }

    /// The present temperature of a page; [`ONE`] is 1.
    pub(super) fn now(&self, page: Page) -> u64 {
        self.keys[page as usize].saturating_sub(self.cooled)
    }

    /// The temperature right after a page's n-th request in a window.
    pub(super) fn after(&self, requests: usize) -> u64 {
        self.table[requests]
    }

    /// The sum over a tier's pages.
    pub(super) fn sum(&self, tier: Tier) -> u64 {
        let warm = &self.warm[tier as usize];
        let cooled = u128::from(warm.count) * u128::from(self.cooled);
        warm.keys.saturating_sub(cooled) as u64
    }

    /// The temperature of a page between 0 and 1, if there is such a page.
    pub(super) fn heat(&self, page: Page) -> Option<f64> {
        self.keys.get(page as usize)?;
        Some(self.now(page) as f64 / ONE as f64)
    }

    /// The state to save, from which the rest is computed.
    pub(super) fn state(&self) -> (&[u64], &[Page], usize, u64) {
        (&self.keys, &self.window, self.hand, self.accesses)
    }

    /// Restores the saved state of the first `pages`.
    pub(super) fn load(
        &mut self,
        placement: &Placement,
        (keys, mut window, hand, accesses): Saved,
        pages: u32,
    ) -> Result<()> {
        let (_, rate_before) = cooling(pages);
        // Half of what 64 bits of cooling allow.
        let accesses_max = (1 << 63) / rate_before;
        check(accesses <= accesses_max, || format!("accesses: found {accesses}"))?;
        let held = accesses.min(pages.into());
        check(window.len() as u64 <= held && window.iter().all(|&page| page < pages), || {
            format!("{} accesses in the window, {held} at most to {pages} pages", window.len())
        })?;
        // In a window that is not full the oldest access is the first.
        let is_hand = hand < window.len() && window.len() == pages as usize;
        check(hand == 0 || is_hand, || format!("the window's hand at {hand}"))?;
        let cooled_before = accesses * rate_before;
        let can_be = |key: &u64| *key <= cooled_before + ONE;
        take_all(&mut self.keys, keys, pages as usize, "temperatures", can_be)?;
        (self.hand, self.accesses, self.cooled) = (hand, accesses, accesses * self.rate);
        if (pages as usize) < self.keys.len() {
            window.rotate_left(hand);
            self.hand = 0;
            self.rescale(pages, cooled_before);
        }
        self.timestep = accesses / self.step_accesses;
        self.requests.fill(0);
        window.iter().for_each(|&page| self.requests[page as usize] += 1);
        self.window.clear();
        self.window.extend_from_slice(&window);
        self.warm.fill(Warm::default());
        self.ending.iter_mut().for_each(|ending| ending.fill(Warm::default()));
        self.enter_all(placement);
        Ok(())
    }

    /// Keeps the temperatures of the first `pages`, which had cooled by `cooled_before`; the others
    /// start at 0.5.
    fn rescale(&mut self, pages: u32, cooled_before: u64) {
        let (old, new) = self.keys.split_at_mut(pages as usize);
        old.iter_mut().for_each(|key| *key = key.saturating_sub(cooled_before) + self.cooled);
        new.fill(ONE / 2 + self.cooled);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let pages = self.keys.capacity() * size_of::<u64>();
        let requests = self.requests.capacity() * size_of::<u32>();
        let window = self.window.capacity() * size_of::<Page>();
        pages + requests + window
    }
}
