//! Kinds of pages, and what became of those that were watched.
//!
//! A page that is asked for is watched for a while, as one of its kind: how often is it asked for
//! again? If not at all, it is watched on, for longer, until it comes back. So a kind knows how
//! many accesses to expect, how many pages come back soon, and how soon the others do. Watches that
//! are open count with the time that has passed, so that nothing waits for their end.
//!
//! A kind about which little is known is taken for what its *pool* is: all kinds of the same tier
//! and heat, in calm times or not; and a pool for what the fast average itself says. A kind forgets
//! by halves once it has watched for long enough, so it follows the workload.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::super::heat::Heat;
use super::super::saved::{check, refused, take_all};
use crate::error::Result;
use crate::placement::{Page, Tier};

/// Bounds between kinds by the fast average, this access included, and by the slow one.
const SHORT_BOUNDS: [f32; 7] = [0.05, 0.5, 1.1, 1.6, 2.5, 4.5, 9.0];
const LONG_BOUNDS: [f32; 4] = [1.5, 3.0, 8.0, 24.0];

/// And by the share of the last accesses that went to this tier or a slower one.
const RUSH_BOUNDS: [f32; 5] = [0.1, 0.2, 0.35, 0.55, 0.75];

const POOLS: usize = (SHORT_BOUNDS.len() + 1) * (LONG_BOUNDS.len() + 1);
const RUSHES: usize = RUSH_BOUNDS.len() + 1;
const KINDS: usize = POOLS * RUSHES;

/// The upper bits of what is kept of a page: accesses in its watch so far, or that it is at rest.
const COUNT_SHIFT: u16 = 13;
const COUNT_MAX: u16 = 6;
const RESTING: u16 = 7;
const RESTS: u16 = RESTING << COUNT_SHIFT;

/// A kind: of pages that were just asked for, or of pages that may have to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KindId(u16);

impl KindId {
    pub(super) fn new(tier: Tier, leaves: bool, heat: Heat, rush: f32) -> Self {
        let bucket = |bounds: &[f32], value| bounds.iter().filter(|b| value >= **b).count();
        let within = bucket(&SHORT_BOUNDS, heat.short) * (LONG_BOUNDS.len() + 1);
        let within = (within + bucket(&LONG_BOUNDS, heat.long)) * RUSHES;
        let side = usize::from(tier) * 2 + usize::from(leaves);
        Self((side * KINDS + within + bucket(&RUSH_BOUNDS, rush)) as u16)
    }

    fn at(self) -> usize {
        usize::from(self.0)
    }

    fn pool(self) -> usize {
        self.at() / RUSHES
    }

    pub(super) fn tier(self) -> Tier {
        (self.at() / KINDS / 2) as Tier
    }

    pub(super) fn leaves(self) -> bool {
        self.at() / KINDS % 2 == 1
    }
}

/// How long pages were watched.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Exposure {
    /// In watches that have ended.
    pub(super) closed: f64,
    /// Watches that are open, and the sum of their beginnings.
    #[serde(skip)]
    open: u64,
    #[serde(skip)]
    begun: u64,
}

impl Exposure {
    pub(super) fn begin(&mut self, now: u64) {
        self.open += 1;
        self.begun = self.begun.wrapping_add(now);
    }

    pub(super) fn end(&mut self, begun: u64, now: u64) {
        self.open -= 1;
        self.begun = self.begun.wrapping_sub(begun);
        self.closed += now.saturating_sub(begun) as f64;
    }

    /// Until now.
    pub(super) fn time(&self, now: u64) -> f64 {
        self.closed + self.open.wrapping_mul(now).wrapping_sub(self.begun) as f64
    }
}

/// Pages that came back, and what it would have saved to have moved them before.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Returns {
    count: f64,
    saved: f64,
}

/// What is known of a kind or a pool.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Kind {
    /// Accesses to watched pages; the sum over watches of their squares.
    accesses: f64,
    squares: f64,
    watched: Exposure,
    soon: Returns,
    /// Of pages that did not come back in their watch.
    rested: Exposure,
    later: Returns,
}

impl Kind {
    fn halve(&mut self) {
        let Self { accesses, squares, watched, soon, rested, later } = self;
        let returns = [&mut soon.count, &mut soon.saved, &mut later.count, &mut later.saved];
        let sums = [accesses, squares, &mut watched.closed, &mut rested.closed];
        returns.into_iter().chain(sums).for_each(|sum| *sum /= 2.0);
    }

    fn can_be(&self) -> bool {
        let Self { accesses, squares, watched, soon, rested, later } = self;
        let returns = [soon.count, soon.saved, later.count, later.saved];
        let sums = [*accesses, *squares, watched.closed, rested.closed];
        returns.iter().chain(&sums).all(|sum| sum.is_finite() && *sum >= 0.0)
    }

    /// What to expect of pages of this kind, a prior counting as so many watches.
    fn estimate(&self, prior: &Estimate, weight: f64, now: u64, watch: f64) -> Estimate {
        let mean = |sum: f64, of: f64, prior: f64| (sum + weight * prior) / (of + weight);
        let watches = self.watched.time(now) / watch;
        let saved_soon = mean(self.soon.saved, self.soon.count, prior.saved_soon);
        Estimate {
            watches: watches + weight,
            rate: mean(self.accesses, watches, prior.rate),
            square: mean(self.squares, watches, prior.square),
            soon: mean(self.soon.count, watches.max(self.soon.count), prior.soon),
            saved_soon,
            later: mean(self.later.count, self.rested.time(now) / watch, prior.later),
            saved_later: mean(self.later.saved, self.later.count, prior.saved_later),
        }
    }
}

/// What is to be expected of a page. Times are in watches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// By how many watches it is known.
    watches: f64,
    /// Accesses in a watch, and the mean of their square.
    pub(super) rate: f64,
    square: f64,
    /// The probability that it comes back in a watch, and what a move would have saved then.
    soon: f64,
    saved_soon: f64,
    /// How often it comes back in the time of a watch if it did not come back in the first.
    later: f64,
    saved_later: f64,
}

impl Estimate {
    /// Accesses as often as the fast average says; whoever comes back should have been moved.
    pub(super) fn of_rate(rate: f64, saved: f64) -> Self {
        Self {
            watches: 1.0,
            rate,
            square: rate,
            soon: 1.0 - (-rate).exp(),
            saved_soon: saved,
            later: rate,
            saved_later: saved,
        }
    }

    /// Accesses in a watch, so many standard deviations above or below the mean. Accesses come in
    /// bursts, so the deviation is that of the counts that were seen.
    pub(super) fn rate_off_by(&self, deviations: f64) -> f64 {
        (self.rate + deviations * (self.square / self.watches).sqrt()).max(0.0)
    }

    /// What a move now saves if it is the alternative to a move when the page comes back, within
    /// so many watches.
    pub(super) fn saved(&self, horizon: f64) -> f64 {
        let later = 1.0 - (-self.later * (horizon - 1.0).max(0.0)).exp();
        self.soon * self.saved_soon + (1.0 - self.soon) * later * self.saved_later
    }
}

/// A moment by its low bits, which is enough for one that is not long ago.
type Moment = u32;

/// That moment, no later than now.
fn whole(moment: Moment, now: u64) -> u64 {
    now.saturating_sub((now as u32).wrapping_sub(moment).into())
}

/// One page under watch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Watch {
    page: Page,
    begun: Moment,
    kind: u16,
}

/// A page that came back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return {
    /// What it was when it was asked for before.
    pub(super) kind: KindId,
    is_late: bool,
}

/// All kinds, and the pages that are watched.
#[derive(Debug)]
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    pools: Vec<Kind>,
    /// By page, the kind as which it is watched, plus 1, and [`COUNT_SHIFT`]'s bits; 0 if not.
    watched_as: Vec<u16>,
    watches: VecDeque<Watch>,
    /// Pages at rest by the beginning of their watch, and some that came back since.
    resting: VecDeque<(Page, Moment)>,
    /// Length of a watch and of the rest behind it, in accesses.
    watch: u64,
    rest: u64,
    /// Watches that a kind remembers, and for which the fast average counts.
    memory: f64,
    prior: f64,
    /// Watches for which a pool's word counts at most.
    pool: f64,
}

/// What is saved of them: kinds, pools, watches with their accesses, pages at rest.
pub(super) type Saved = (Vec<Kind>, Vec<Kind>, Vec<(Watch, u16)>, Vec<(Page, Moment, u16)>);

impl Kinds {
    pub(super) fn new(pages: u32, tiers: usize, watch: u64, rest: u64, limits: [f64; 3]) -> Self {
        let [memory, prior, pool] = limits;
        // So that moments can be told by their low bits.
        let [watch, rest] = [watch, rest].map(|time| time.min(1 << 31));
        Self {
            kinds: vec![Kind::default(); 2 * KINDS * tiers],
            pools: vec![Kind::default(); 2 * POOLS * tiers],
            watched_as: vec![0; pages as usize],
            watches: VecDeque::new(),
            resting: VecDeque::new(),
            watch,
            rest,
            memory,
            prior,
            pool,
        }
    }

    fn both(&mut self, kind: KindId) -> [&mut Kind; 2] {
        [&mut self.kinds[kind.at()], &mut self.pools[kind.pool()]]
    }

    /// What to expect of a page of a kind; `prior` is what its fast average says.
    pub(super) fn estimate(&self, kind: KindId, prior: &Estimate, now: u64) -> Estimate {
        let watch = self.watch as f64;
        if kind.leaves() {
            // Not of their pool: in a rush, those who leave are cold, which the pool cannot know.
            let kind = self.kinds[kind.at()].estimate(prior, self.prior, now, watch);
            return Estimate { square: kind.rate, ..kind };
        }
        let pool = self.pools[kind.pool()].estimate(prior, self.prior, now, watch);
        let weight = self.pool.min(pool.watches);
        self.kinds[kind.at()].estimate(&pool, weight, now, watch)
    }

    /// Watches a page, unless it is being watched.
    pub(super) fn begin(&mut self, page: Page, kind: KindId, now: u64) {
        let watched_as = &mut self.watched_as[page as usize];
        if *watched_as > 0 {
            return;
        }
        *watched_as = kind.0 + 1;
        self.watches.push_back(Watch { page, kind: kind.0, begun: now as u32 });
        self.both(kind).into_iter().for_each(|kind| kind.watched.begin(now));
    }

    /// An access to a page that was idle for so many; tells whether it is the first since it was
    /// watched.
    pub(super) fn saw(&mut self, page: Page, idle: u64, now: u64) -> Option<Return> {
        let watched_as = &mut self.watched_as[page as usize];
        let count = *watched_as >> COUNT_SHIFT;
        let kind = KindId((*watched_as & !RESTS).checked_sub(1)?);
        if count == RESTING {
            *watched_as = 0;
            let begun = now.saturating_sub(idle) + self.watch;
            self.both(kind).into_iter().for_each(|kind| kind.rested.end(begun, now));
        } else {
            *watched_as += u16::from(count < COUNT_MAX) << COUNT_SHIFT;
            for kind in self.both(kind) {
                kind.accesses += 1.0;
                kind.squares += f64::from(2 * count + 1);
            }
        }
        let is_first = count == 0 || count == RESTING;
        (is_first && !kind.leaves()).then_some(Return { kind, is_late: count == RESTING })
    }

    /// What it would have saved to have moved a page before it came back.
    pub(super) fn credit(&mut self, back: Return, saved: f64) {
        for kind in self.both(back.kind) {
            let returns = if back.is_late { &mut kind.later } else { &mut kind.soon };
            returns.count += 1.0;
            returns.saved += saved;
        }
    }

    /// Ends the watches whose time has come. `last` tells the last access of a page, by its low
    /// bits.
    pub(super) fn end(&mut self, now: u64, last: impl Fn(Page) -> Moment) {
        let has_lasted = |begun, length| now - whole(begun, now) >= length;
        let length = self.watch;
        while let Some(watch) = self.watches.pop_front_if(|w| has_lasted(w.begun, length)) {
            self.end_watch(watch, now);
        }
        let length = self.watch + self.rest;
        while let Some((page, begun)) = self.resting.pop_front_if(|r| has_lasted(r.1, length)) {
            if self.rests(page, begun, &last) {
                let kind = KindId(std::mem::take(&mut self.watched_as[page as usize]) - RESTS - 1);
                let begun = whole(begun, now) + self.watch;
                self.both(kind).into_iter().for_each(|kind| kind.rested.end(begun, now));
            }
        }
    }

    fn end_watch(&mut self, watch: Watch, now: u64) {
        let Watch { page, kind, begun } = watch;
        let kind = KindId(kind);
        let came_back = self.watched_as[page as usize] >> COUNT_SHIFT > 0;
        let rests = !came_back && !kind.leaves();
        let most = self.memory * self.watch as f64;
        for kind in self.both(kind) {
            kind.watched.end(whole(begun, now), now);
            if kind.watched.closed > most {
                kind.halve();
            }
            if rests {
                kind.rested.begin(now);
            }
        }
        self.watched_as[page as usize] = 0;
        if rests {
            self.watched_as[page as usize] = RESTS + kind.0 + 1;
            self.resting.push_back((page, begun));
        }
    }

    /// Whether a page has been at rest since a watch, as its last access tells.
    fn rests(&self, page: Page, begun: Moment, last: impl Fn(Page) -> Moment) -> bool {
        self.watched_as[page as usize] >> COUNT_SHIFT == RESTING && last(page) == begun
    }

    /// What is to be saved.
    pub(super) fn state(&self, last: impl Fn(Page) -> Moment) -> impl Serialize {
        let mark = |page: Page| self.watched_as[page as usize];
        let watches = self.watches.iter().map(|watch| (*watch, mark(watch.page) >> COUNT_SHIFT));
        let watches: Vec<_> = watches.collect();
        let resting = self.resting.iter().filter(|(page, begun)| self.rests(*page, *begun, &last));
        let resting = resting.map(|&(page, begun)| (page, begun, mark(page) - RESTS - 1));
        (&self.kinds, &self.pools, watches, resting.collect::<Vec<_>>())
    }

    /// Takes on what was saved.
    pub(super) fn load(
        &mut self,
        saved: Saved,
        now: u64,
        last: impl Fn(Page) -> Moment,
    ) -> Result<()> {
        let (kinds, pools, watches, resting) = saved;
        take_all(&mut self.kinds, kinds, "kinds of pages", Kind::can_be)?;
        take_all(&mut self.pools, pools, "pools of pages", Kind::can_be)?;
        self.watched_as.fill(0);
        for &(Watch { page, begun, kind }, count) in &watches {
            let kind = self.load_mark(page, kind, count, COUNT_MAX)?;
            let begun = whole(begun, now);
            self.both(kind).into_iter().for_each(|kind| kind.watched.begin(begun));
        }
        for &(page, begun, kind) in &resting {
            let kind = self.load_mark(page, kind, RESTING, RESTING)?;
            check(last(page) == begun && !kind.leaves(), || format!("rest of page {page}"))?;
            let begun = whole(begun, now) + self.watch;
            self.both(kind).into_iter().for_each(|kind| kind.rested.begin(begun));
        }
        self.watches = watches.into_iter().map(|(watch, _)| watch).collect();
        self.resting = resting.into_iter().map(|(page, begun, _)| (page, begun)).collect();
        Ok(())
    }

    /// Marks a page that is not marked yet as one of a kind.
    fn load_mark(&mut self, page: Page, kind: u16, count: u16, most: u16) -> Result<KindId> {
        let mark = self.watched_as.get_mut(page as usize).filter(|mark| **mark == 0);
        let can_be = usize::from(kind) < self.kinds.len() && count <= most;
        let Some(mark) = mark.filter(|_| can_be) else {
            return Err(refused(format!("watch of page {page}")));
        };
        *mark = (kind + 1) | count << COUNT_SHIFT;
        Ok(KindId(kind))
    }

    /// Bytes that grow with the pages.
    pub(super) fn memory_bytes(&self) -> usize {
        let resting = self.resting.capacity() * size_of::<(Page, Moment)>();
        let watches = self.watches.capacity() * size_of::<Watch>();
        self.watched_as.capacity() * size_of::<u16>() + watches + resting
    }
}
