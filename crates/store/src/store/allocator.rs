//! Allocates physical pages from the free list.

use std::collections::BTreeMap;
use std::ops::Range;

use cenote_pool::PageId;

use crate::table::Extent;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Free {
    pages: u64,
    /// The epoch that freed them.
    epoch: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Allocator {
    /// Pages that no epoch in use has.
    reusable: BTreeMap<PageId, Free>,
    /// Pages freed in a later epoch, which an earlier one still uses, and pages of snapshots.
    held: BTreeMap<PageId, Free>,
    end: PageId,
    /// Pages up to here, from the end of the file on, are reserved, and the epoch of that.
    reserved_to: (PageId, u64),
}

impl Allocator {
    /// `oldest` is the oldest epoch that a slot or a reader uses; `kept` are the pages that
    /// snapshots need, ascending.
    pub fn new(free: &[Extent], end: PageId, oldest: u64, kept: &[Range<PageId>]) -> Self {
        let (reusable, held) = (BTreeMap::new(), BTreeMap::new());
        let mut allocator = Self { reusable, held, end, reserved_to: (0, 0) };
        let mut kept = kept.iter().peekable();
        for &Extent { physical, pages, epoch, .. } in free {
            if epoch > oldest {
                allocator.held.insert(physical, Free { pages, epoch });
                continue;
            }
            let (mut next, end) = (physical, physical + pages);
            while kept.next_if(|kept| kept.end <= next).is_some() {}
            while let Some(kept_next) = kept.peek().filter(|kept| kept.start < end) {
                let (from, to) = (kept_next.start.max(next), kept_next.end.min(end));
                allocator.add_reusable(next, from - next, epoch);
                allocator.held.insert(from, Free { pages: to - from, epoch });
                next = to;
                if kept_next.end >= end {
                    break;
                }
                kept.next();
            }
            allocator.add_reusable(next, end - next, epoch);
        }
        allocator
    }

    /// An allocator of no page at all.
    pub fn empty() -> Self {
        Self::new(&[], 0, 0, &[])
    }

    /// An allocator of some pages alone.
    pub fn of(pages: &[Range<PageId>]) -> Self {
        let mut allocator = Self::empty();
        let runs =
            pages.iter().map(|run| (run.start, Free { pages: run.end - run.start, epoch: 0 }));
        allocator.reusable.extend(runs);
        allocator
    }

    /// Whether no page is left but at the end of the file.
    pub fn is_empty(&self) -> bool {
        self.reusable.is_empty()
    }

    /// Keeps pages behind the end of the file for another, which are free by an epoch until then.
    pub fn reserve_to(&mut self, end: PageId, epoch: u64) {
        self.reserved_to = (end, epoch);
    }

    /// Frees the pages that [`Allocator::reserve_to`] keeps, so that the file goes on behind them.
    pub fn pass_reservation(&mut self) {
        let (reserved_to, epoch) = self.reserved_to;
        if self.end < reserved_to {
            self.held.insert(self.end, Free { pages: reserved_to - self.end, epoch });
            self.end = reserved_to;
        }
    }

    /// Ends what [`Allocator::reserve_to`] began.
    pub fn end_reservation(&mut self) {
        self.reserved_to = (0, 0);
    }

    /// Allocates pages that are free, or that lie behind the end of the file.
    pub fn claim(&mut self, pages: Range<PageId>) {
        if self.end < pages.end {
            let (first, epoch) = (self.end, self.reserved_to.1);
            self.end = pages.end;
            self.held.insert(first, Free { pages: pages.end - first, epoch });
        }
        for free in [&mut self.reusable, &mut self.held] {
            let first = free.range(..=pages.start).next_back().map_or(pages.start, |(&at, _)| at);
            let near: Vec<_> = free.range(first..pages.end).map(|(&at, &run)| (at, run)).collect();
            for (start, run) in near {
                let end = start + run.pages;
                if end <= pages.start {
                    continue;
                }
                free.remove(&start);
                for (from, to) in [(start, pages.start), (pages.end, end)] {
                    if from < to {
                        free.insert(from, Free { pages: to - from, epoch: run.epoch });
                    }
                }
            }
        }
    }

    /// Adds pages behind those that are reusable.
    fn add_reusable(&mut self, first: PageId, pages: u64, epoch: u64) {
        // It does not matter any more which epoch freed them.
        match self.reusable.last_entry() {
            _ if pages == 0 => {}
            Some(mut last) if last.key() + last.get().pages == first => {
                let run = last.get_mut();
                *run = Free { pages: run.pages + pages, epoch: run.epoch.max(epoch) };
            }
            _ => drop(self.reusable.insert(first, Free { pages, epoch })),
        }
    }

    /// Allocates the first page that no epoch in use has.
    pub fn allocate(&mut self) -> PageId {
        let Some((first, run)) = self.reusable.pop_first() else { return self.allocate_at_end(1) };
        self.keep_rest(first, run, 1);
        first
    }

    /// Allocates consecutive pages: the first free ones that no epoch in use has, else at the end.
    pub fn allocate_run(&mut self, pages: u64) -> PageId {
        let Some((&first, &run)) = self.reusable.iter().find(|(_, run)| run.pages >= pages) else {
            return self.allocate_at_end(pages);
        };
        self.reusable.remove(&first);
        self.keep_rest(first, run, pages);
        first
    }

    fn keep_rest(&mut self, first: PageId, run: Free, pages: u64) {
        if run.pages > pages {
            self.reusable.insert(first + pages, Free { pages: run.pages - pages, ..run });
        }
    }

    /// Allocates consecutive pages by growing the file.
    pub fn allocate_at_end(&mut self, pages: u64) -> PageId {
        self.pass_reservation();
        let first = self.end;
        self.end += pages;
        first
    }

    /// Frees pages that `epoch` and later ones do not use.
    pub fn release(&mut self, first: PageId, pages: u64, epoch: u64) {
        if pages == 0 {
            return;
        }
        for free in [&self.reusable, &self.held] {
            let before = free.range(..first + pages).next_back();
            let overlaps = before.is_some_and(|(&start, run)| start + run.pages > first);
            assert!(!overlaps, "page {first} is free already");
        }
        let (mut first, mut pages) = (first, pages);
        if let Some((&before, run)) = self.held.range(..first).next_back()
            && before + run.pages == first
            && run.epoch == epoch
        {
            (first, pages) = (before, run.pages + pages);
        }
        if let Some(&run) = self.held.get(&(first + pages)).filter(|run| run.epoch == epoch) {
            self.held.remove(&(first + pages));
            pages += run.pages;
        }
        self.held.insert(first, Free { pages, epoch });
    }

    /// Frees those of some pages again that are free and held, as of a later epoch.
    pub fn release_again(&mut self, pages: Range<PageId>, epoch: u64) {
        let first = self.held.range(..=pages.start).next_back();
        let first = first.map_or(pages.start, |(&start, _)| start);
        let near: Vec<_> = self.held.range(first..pages.end).map(|(&at, &run)| (at, run)).collect();
        for (start, run) in near.into_iter().filter(|(_, run)| run.epoch != epoch) {
            let end = start + run.pages;
            let (from, to) = (start.max(pages.start), end.min(pages.end));
            if from >= to {
                continue;
            }
            self.held.remove(&start);
            for (start, end) in [(start, from), (to, end)] {
                if start < end {
                    self.held.insert(start, Free { pages: end - start, epoch: run.epoch });
                }
            }
            self.release(from, to - from, epoch);
        }
    }

    pub fn extents(&self) -> Vec<Extent> {
        let extent = |(&physical, run): (&PageId, &Free)| Extent {
            logical: 0,
            physical,
            pages: run.pages,
            epoch: run.epoch,
        };
        let mut extents: Vec<Extent> = self.reusable.iter().chain(&self.held).map(extent).collect();
        extents.sort_unstable_by_key(|extent| extent.physical);
        extents
    }

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
        let mut allocator = Allocator::new(&[free(4, 2, 5), free(7, 2, 3)], 10, 4, &[]);
        let taken: Vec<_> = (0..4).map(|_| allocator.allocate()).collect();
        assert_eq!(taken, [7, 8, 10, 11]);
        assert_eq!((allocator.extents(), allocator.end()), (vec![free(4, 2, 5)], 12));
    }

    #[test]
    fn a_run_is_taken_where_one_is_long_enough_and_else_at_the_end() {
        let mut allocator =
            Allocator::new(&[free(4, 2, 1), free(8, 3, 1), free(20, 9, 5)], 40, 4, &[]);
        let taken: Vec<_> = (0..2).map(|_| allocator.allocate_run(3)).collect();
        assert_eq!(taken, [8, 40]);
        assert_eq!(allocator.allocate_run(1), 4);
        assert_eq!(
            (allocator.extents(), allocator.end()),
            (vec![free(5, 1, 1), free(20, 9, 5)], 43)
        );
    }

    #[test]
    fn runs_of_one_epoch_that_meet_become_one() {
        let mut allocator = Allocator::new(&[free(2, 1, 1), free(6, 1, 2)], 9, 0, &[]);
        allocator.release(4, 1, 2);
        allocator.release(5, 1, 2);
        allocator.release(3, 1, 2);
        assert_eq!(allocator.extents(), [free(2, 1, 1), free(3, 4, 2)]);
        allocator.release(7, 2, 2);
        assert_eq!(allocator.extents(), [free(2, 1, 1), free(3, 6, 2)]);
    }

    #[test]
    fn pages_of_snapshots_are_not_allocated_and_are_freed_again_with_them() {
        let all = [free(4, 6, 1), free(12, 2, 2), free(20, 2, 9)];
        let mut allocator = Allocator::new(&all, 30, 5, &[2..5, 7..8, 9..13, 20..30]);
        let taken: Vec<_> = (0..5).map(|_| allocator.allocate()).collect();
        assert_eq!(taken, [5, 6, 8, 13, 30]);
        let held = [free(4, 1, 1), free(7, 1, 1), free(9, 1, 1), free(12, 1, 2), free(20, 2, 9)];
        assert_eq!(allocator.extents(), held);
        allocator.release_again(2..9, 10);
        allocator.release_again(11..21, 10);
        let held = [
            free(4, 1, 10),
            free(7, 1, 10),
            free(9, 1, 1),
            free(12, 1, 10),
            free(20, 1, 10),
            free(21, 1, 9),
        ];
        assert_eq!(allocator.extents(), held);
    }

    #[test]
    #[should_panic(expected = "is free already")]
    fn a_page_that_is_freed_twice_is_a_fault_of_the_caller() {
        Allocator::new(&[free(4, 2, 1)], 10, 4, &[]).release(5, 1, 2);
    }
}
