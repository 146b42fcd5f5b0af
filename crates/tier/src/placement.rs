//! The tier of each page.

use cenote_device::mix;

use crate::error::{Result, TierError, require};
use crate::spec::TIERS_MAX;

/// A page's number, counted from 0.
pub type Page = u32;

/// A tier's number; 0 is the fastest.
pub type Tier = u8;

/// One page changes its tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Move {
    /// The page.
    pub page: Page,
    /// The target tier.
    pub to: Tier,
}

/// Every page lies on exactly one tier, and no tier holds more than its capacity.
///
/// Memory: a byte for each page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    tiers: Vec<Tier>,
    counts: Vec<u64>,
    capacities: Vec<u64>,
}

impl Placement {
    /// Fills the tiers, the fastest first, with the pages of `order`, which names each page once.
    fn in_order(pages: u32, capacities: &[u64], order: impl Iterator<Item = Page>) -> Result<Self> {
        let expected = format!("2 to {TIERS_MAX}");
        require((2..=TIERS_MAX).contains(&capacities.len()), "tiers", capacities.len(), expected)?;
        require(pages > 0, "pages", pages, "at least 1")?;
        let capacity = capacities.iter().fold(0u64, |sum, &c| sum.saturating_add(c));
        if capacity < u64::from(pages) {
            return Err(TierError::TooSmall { pages: pages.into(), capacity });
        }
        let mut placement = Self {
            tiers: vec![Tier::MAX; pages as usize],
            counts: vec![0; capacities.len()],
            capacities: capacities.to_vec(),
        };
        let mut tier = 0;
        for page in order {
            while placement.counts[tier] == capacities[tier] {
                tier += 1;
            }
            let place = &mut placement.tiers[page as usize];
            assert_eq!(*place, Tier::MAX, "page {page} is placed twice");
            *place = tier as Tier;
            placement.counts[tier] += 1;
        }
        assert_eq!(placement.counts.iter().sum::<u64>(), u64::from(pages), "a page has no place");
        Ok(placement)
    }

    /// All pages in random order over the tiers.
    pub fn shuffled(pages: u32, capacities: &[u64], seed: u64) -> Result<Self> {
        Self::in_order(pages, capacities, shuffled_pages(pages, seed).into_iter())
    }

    /// The pages of `hottest` first, in this order, then the others in random order.
    pub fn hottest_first(
        pages: u32,
        capacities: &[u64],
        hottest: &[Page],
        seed: u64,
    ) -> Result<Self> {
        let mut is_new = vec![true; pages as usize];
        let rest = shuffled_pages(pages, seed);
        let all = hottest.iter().copied().filter(|&page| page < pages).chain(rest);
        let order = all.filter(|&page| std::mem::replace(&mut is_new[page as usize], false));
        Self::in_order(pages, capacities, order)
    }

    /// A saved map: the tier of each page.
    pub fn from_map(map: Vec<Tier>, capacities: &[u64]) -> Result<Self> {
        let expected = format!("2 to {TIERS_MAX}");
        require((2..=TIERS_MAX).contains(&capacities.len()), "tiers", capacities.len(), expected)?;
        require(u32::try_from(map.len()).is_ok(), "pages", map.len(), "fewer than 2^32")?;
        let mut counts = vec![0u64; capacities.len()];
        for (page, &tier) in map.iter().enumerate() {
            let known = usize::from(tier) < capacities.len();
            require(known, format!("tier of page {page}"), tier, "a tier that exists")?;
            counts[tier as usize] += 1;
        }
        for (tier, (&count, &capacity)) in counts.iter().zip(capacities).enumerate() {
            let what = format!("pages on tier {tier}");
            require(count <= capacity, what, count, format!("at most {capacity}"))?;
        }
        Ok(Self { tiers: map, counts, capacities: capacities.to_vec() })
    }

    /// The tier of each page.
    pub fn map(&self) -> &[Tier] {
        &self.tiers
    }

    /// Pages that exist.
    pub fn pages(&self) -> u32 {
        self.tiers.len() as u32
    }

    /// Tiers that exist.
    pub fn tiers(&self) -> usize {
        self.counts.len()
    }

    /// The tier of a page.
    #[inline]
    pub fn tier_of(&self, page: Page) -> Tier {
        self.tiers[page as usize]
    }

    /// Pages on a tier.
    #[inline]
    pub fn count(&self, tier: Tier) -> u64 {
        self.counts[tier as usize]
    }

    /// Pages that a tier can hold.
    pub fn capacity(&self, tier: Tier) -> u64 {
        self.capacities[tier as usize]
    }

    /// Whether a tier has room for another page.
    #[inline]
    pub fn has_room(&self, tier: Tier) -> bool {
        self.counts[tier as usize] < self.capacities[tier as usize]
    }

    /// Bytes of the map.
    pub fn memory_bytes(&self) -> usize {
        self.tiers.capacity()
    }

    /// Carries out all moves or, on an error, none. An exchange between two full tiers is two moves
    /// of one call. Calls `moved` with each page, its old and its new tier.
    pub fn carry_out(
        &mut self,
        moves: &[Move],
        mut moved: impl FnMut(Page, Tier, Tier),
    ) -> Result<()> {
        let mut from = [0 as Tier; 8];
        let mut longer;
        let from = if moves.len() <= from.len() {
            &mut from[..moves.len()]
        } else {
            longer = vec![0; moves.len()];
            &mut longer[..]
        };
        for (at, step) in moves.iter().enumerate() {
            if step.page >= self.pages() || usize::from(step.to) >= self.tiers() {
                self.undo(&moves[..at], from);
                return Err(TierError::Moves { reason: format!("{step:?} names what is not") });
            }
            from[at] = self.put(*step);
        }
        if let Some(step) = moves.iter().find(|step| self.is_too_full(step.to)) {
            let reason = format!("tier {} holds {}", step.to, self.capacity(step.to));
            self.undo(moves, from);
            return Err(TierError::Moves { reason });
        }
        for (step, &from) in moves.iter().zip(from.iter()) {
            moved(step.page, from, step.to);
        }
        Ok(())
    }

    /// Corrects the tier of a page, even if that overfills the tier. `capacities` are those without
    /// such pages.
    pub(crate) fn correct(&mut self, step: Move, capacities: &[u64]) {
        let from = self.put(step);
        for tier in [from, step.to].map(usize::from) {
            self.capacities[tier] = capacities[tier].max(self.counts[tier]);
        }
    }

    fn is_too_full(&self, tier: Tier) -> bool {
        self.counts[tier as usize] > self.capacities[tier as usize]
    }

    fn put(&mut self, step: Move) -> Tier {
        let from = std::mem::replace(&mut self.tiers[step.page as usize], step.to);
        self.counts[from as usize] -= 1;
        self.counts[step.to as usize] += 1;
        from
    }

    fn undo(&mut self, moves: &[Move], from: &[Tier]) {
        for (step, &from) in moves.iter().zip(from).rev() {
            self.put(Move { page: step.page, to: from });
        }
    }

    /// Verifies the counts of pages, for tests and checks.
    pub fn check(&self) -> Result<()> {
        let mut counts = vec![0u64; self.tiers()];
        self.tiers.iter().for_each(|&tier| counts[tier as usize] += 1);
        let holds =
            counts == self.counts && (0..self.tiers()).all(|t| !self.is_too_full(t as Tier));
        require(holds, "pages by tier", format!("{counts:?}"), format!("{:?}", self.counts))
    }
}

/// All pages in a random order (Fisher and Yates).
fn shuffled_pages(pages: u32, seed: u64) -> Vec<Page> {
    let mut order: Vec<Page> = (0..pages).collect();
    for last in (1..order.len()).rev() {
        let word = u128::from(mix(mix(seed) ^ last as u64));
        order.swap(last, ((word * (last as u128 + 1)) >> 64) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(page: Page, to: Tier) -> Move {
        Move { page, to }
    }

    #[test]
    fn tiers_fill_from_the_fastest_on() {
        let placement = Placement::hottest_first(10, &[2, 3, 10], &[7, 3, 7, 9], 1).unwrap();
        assert_eq!([7, 3, 9].map(|page| placement.tier_of(page)), [0, 0, 1]);
        assert_eq!([0, 1, 2].map(|tier| placement.count(tier)), [2, 3, 5]);
        placement.check().unwrap();
        assert_ne!(
            Placement::shuffled(100, &[10, 100], 1).unwrap(),
            Placement::shuffled(100, &[10, 100], 2).unwrap()
        );
        assert!(Placement::shuffled(10, &[2, 3], 1).is_err(), "ten pages on five places");
        assert!(Placement::shuffled(10, &[20], 1).is_err(), "one tier");
        assert!(Placement::shuffled(0, &[2, 3], 1).is_err(), "no pages");
    }

    #[test]
    fn a_map_that_was_kept_is_taken_back_if_it_can_be() {
        let placement = Placement::shuffled(9, &[2, 3, 9], 5).unwrap();
        let again = Placement::from_map(placement.map().to_vec(), &[2, 3, 9]);
        assert_eq!(again.as_ref(), Ok(&placement));
        for (map, capacities) in
            [(vec![0, 0, 1], vec![1, 3]), (vec![0, 2], vec![2, 2]), (vec![0], vec![1])]
        {
            assert!(Placement::from_map(map.clone(), &capacities).is_err(), "{map:?} was taken");
        }
    }

    #[test]
    fn moves_are_carried_out_all_or_none() {
        let mut placement = Placement::hottest_first(6, &[2, 4], &[0, 1], 1).unwrap();
        let before = placement.clone();
        let mut seen = Vec::new();
        placement.carry_out(&[step(0, 1), step(5, 0)], |p, f, t| seen.push((p, f, t))).unwrap();
        assert_eq!(seen, [(0, 0, 1), (5, 1, 0)]);
        placement.carry_out(&[step(5, 1), step(0, 0)], |_, _, _| ()).unwrap();
        assert_eq!(placement, before);
        for wrong in [vec![step(5, 0)], vec![step(0, 1), step(6, 0)], vec![step(0, 2)]] {
            assert!(placement.carry_out(&wrong, |_, _, _| panic!("was carried out")).is_err());
            assert_eq!(placement, before, "{wrong:?} left traces");
        }
        // The same page twice in a batch ends where the last move says.
        placement.carry_out(&[step(0, 1), step(0, 0)], |_, _, _| ()).unwrap();
        assert_eq!(placement, before);
        placement.check().unwrap();
    }
}
