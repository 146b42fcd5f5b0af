//! The page of the lowest rank on each tier, in O(log n), at no cost to accesses that raise ranks.
//!
//! Each tier but the slowest has a min-heap with lazy updates: an entry may be outdated, because
//! the page's rank rose or the page left the tier. It is corrected when it reaches the top, so an
//! access that raises a rank touches no heap and causes at most one correction later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::placement::{Page, Placement, Tier};

/// A page's rank.
pub(super) type Rank = u64;

/// The heaps. Equal ranks are ordered by page, so that results do not depend on history.
#[derive(Debug)]
pub(super) struct Lowest {
    heaps: Vec<BinaryHeap<Reverse<(Rank, Page)>>>,
}

impl Lowest {
    /// Heaps of the pages of all tiers but the slowest.
    pub(super) fn new(placement: &Placement, rank: impl Fn(Page) -> Rank) -> Self {
        let slowest = placement.tiers() - 1;
        let mut entries: Vec<Vec<_>> =
            (0..slowest).map(|t| Vec::with_capacity(placement.count(t as Tier) as usize)).collect();
        for page in 0..placement.pages() {
            let tier = usize::from(placement.tier_of(page));
            if tier < slowest {
                entries[tier].push(Reverse((rank(page), page)));
            }
        }
        Self { heaps: entries.into_iter().map(BinaryHeap::from).collect() }
    }

    /// Adds a page that came to a tier, or whose rank fell there.
    pub(super) fn push(&mut self, tier: Tier, page: Page, rank: Rank) {
        if let Some(heap) = self.heaps.get_mut(usize::from(tier)) {
            heap.push(Reverse((rank, page)));
        }
    }

    /// The page of the lowest rank on a tier. Ranks may only have risen since the last push.
    pub(super) fn get(
        &mut self,
        tier: Tier,
        placement: &Placement,
        rank: impl Fn(Page) -> Rank,
    ) -> Option<(Rank, Page)> {
        self.shrink(tier, placement, &rank);
        let heap = self.heaps.get_mut(usize::from(tier))?;
        while let Some(mut top) = heap.peek_mut() {
            let (old, page) = top.0;
            if placement.tier_of(page) != tier {
                PeekMut::pop(top);
                continue;
            }
            let now = rank(page);
            if now == old {
                return Some((now, page));
            }
            debug_assert!(now > old, "the rank of page {page} fell without a push");
            *top = Reverse((now, page));
        }
        None
    }

    /// Rebuilds the heap if more than half of its entries are outdated or duplicates.
    fn shrink(&mut self, tier: Tier, placement: &Placement, rank: &impl Fn(Page) -> Rank) {
        let Some(heap) = self.heaps.get_mut(usize::from(tier)) else { return };
        if heap.len() as u64 <= 2 * placement.count(tier) + 64 {
            return;
        }
        let mut pages: Vec<Page> = heap.drain().map(|Reverse((_, page))| page).collect();
        pages.sort_unstable();
        pages.dedup();
        pages.retain(|&page| placement.tier_of(page) == tier);
        *heap = pages.into_iter().map(|page| Reverse((rank(page), page))).collect();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let entries: usize = self.heaps.iter().map(BinaryHeap::capacity).sum();
        entries * size_of::<(Rank, Page)>()
    }
}

/// The rank of a number, such that ranks are ordered as numbers.
#[inline]
pub(super) fn rank_of(number: f64) -> Rank {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ordered_as_their_numbers() {
        let numbers = [f64::NEG_INFINITY, -2.0, -1.0, -1e-300, 0.0, 1e-300, 0.5, 2.0, 1e300];
        for pair in numbers.windows(2) {
            assert!(rank_of(pair[0]) < rank_of(pair[1]), "{pair:?}");
        }
    }
}
