//! Which physical pages are free, and which of them a commit may write to.

use std::collections::BTreeMap;

use cenote_pool::PageId;

use crate::table::Extent;

/// A run of free pages, by its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Free {
    pages: u64,
    /// The epoch that freed them.
    epoch: u64,
}

/// The free list as one transaction has it.
#[derive(Clone, Debug)]
pub(super) struct Allocator {
    free: BTreeMap<PageId, Free>,
    /// Pages that were freed in a later epoch are still in use by an earlier one.
    reusable_epoch: u64,
    /// Where the file ends: behind it all pages are free.
    end: PageId,
}

impl Allocator {
    /// `reusable_epoch` is the oldest epoch that a slot or a reader needs.
    pub fn new(free: &[Extent], end: PageId, reusable_epoch: u64) -> Self {
        let run =
            |extent: &Extent| (extent.physical, Free { pages: extent.pages, epoch: extent.epoch });
        Self { free: free.iter().map(run).collect(), reusable_epoch, end }
    }

    /// A page that no epoch in use has: the first in the file.
    pub fn take(&mut self) -> PageId {
        let reusable = self.free.iter().find(|(_, run)| run.epoch <= self.reusable_epoch);
        let Some((&page, &run)) = reusable else { return self.take_behind_end(1) };
        self.free.remove(&page);
        if run.pages > 1 {
            self.free.insert(page + 1, Free { pages: run.pages - 1, ..run });
        }
        page
    }

    /// Consecutive pages: the file grows.
    pub fn take_behind_end(&mut self, pages: u64) -> PageId {
        let first = self.end;
        self.end += pages;
        first
    }

    /// Pages that `epoch` does not use any more.
    pub fn give(&mut self, first: PageId, pages: u64, epoch: u64) {
        if pages == 0 {
            return;
        }
        let (mut first, mut pages) = (first, pages);
        if let Some((&before, run)) = self.free.range(..first).next_back() {
            assert!(before + run.pages <= first, "page {first} is free already");
            if before + run.pages == first && run.epoch == epoch {
                (first, pages) = (before, run.pages + pages);
            }
        }
        if let Some((&behind, &run)) = self.free.range(first + 1..).next() {
            assert!(first + pages <= behind, "page {behind} is free already");
            if first + pages == behind && run.epoch == epoch {
                pages += run.pages;
                self.free.remove(&behind);
            }
        }
        self.free.insert(first, Free { pages, epoch });
    }

    /// The free list, ascending.
    pub fn extents(&self) -> Vec<Extent> {
        let extent = |(&physical, run): (&PageId, &Free)| Extent {
            logical: 0,
            physical,
            pages: run.pages,
            epoch: run.epoch,
        };
        self.free.iter().map(extent).collect()
    }

    /// Pages of the file.
    pub fn end(&self) -> PageId {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(physical: PageId, pages: u64, epoch: u64) -> Extent {
        Extent { logical: 0, physical, pages, epoch }
    }

    #[test]
    fn pages_are_taken_in_order_and_none_that_an_epoch_in_use_has() {
        let mut allocator = Allocator::new(&[free(4, 2, 5), free(7, 2, 3)], 10, 4);
        let taken: Vec<_> = (0..4).map(|_| allocator.take()).collect();
        assert_eq!(taken, [7, 8, 10, 11]);
        assert_eq!((allocator.extents(), allocator.end()), (vec![free(4, 2, 5)], 12));
    }

    #[test]
    fn runs_of_one_epoch_that_meet_become_one() {
        let mut allocator = Allocator::new(&[free(2, 1, 1), free(6, 1, 2)], 9, 0);
        allocator.give(4, 1, 2);
        allocator.give(5, 1, 2);
        allocator.give(3, 1, 2);
        assert_eq!(allocator.extents(), [free(2, 1, 1), free(3, 4, 2)]);
        allocator.give(7, 2, 2);
        assert_eq!(allocator.extents(), [free(2, 1, 1), free(3, 6, 2)]);
    }

    #[test]
    #[should_panic(expected = "is free already")]
    fn a_page_that_is_freed_twice_is_a_fault_of_the_caller() {
        Allocator::new(&[free(4, 2, 1)], 10, 4).give(5, 1, 2);
    }
}
