//! The page table: maps logical to physical pages and gives the epoch of each.
//!
//! A table is a list of extents: runs of logical pages that are adjacent on the device and were
//! written in one epoch. An imported graph has a single extent, so a look-up is one comparison.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use cenote_pool::PageId;

use crate::error::{PageError, PageFault, StoreError, at_most, other};
use crate::format::{self, SLOTS};
use crate::header::Identity;
use crate::superblock::{SECTION, Section};

/// Consecutive logical pages that are also consecutive physical ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// First logical page.
    pub logical: PageId,
    /// First physical page.
    pub physical: PageId,
    /// Number of pages.
    pub pages: u64,
}

/// A run of pages as in the file: of the page table, or of the free list, where `logical` is zero
/// and `epoch` the first one that does not use the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Extent {
    pub logical: PageId,
    pub physical: PageId,
    pub pages: u64,
    pub epoch: u64,
}

impl Extent {
    #[inline(always)]
    fn holds(&self, page: PageId) -> bool {
        page.wrapping_sub(self.logical) < self.pages
    }
}

pub(crate) fn per_page(page_bytes: usize) -> usize {
    format::payload_bytes(page_bytes) / size_of::<Extent>()
}

#[derive(Debug)]
pub(crate) struct PageTable {
    /// A copy of the first extent, often the only one.
    first: Extent,
    /// Ascending by logical page.
    extents: Vec<Extent>,
    /// Indices into `extents`, ascending by physical page; empty for fewer than two extents.
    by_physical: Vec<u32>,
}

impl PageTable {
    /// A table of extents that ascend and do not overlap.
    pub fn new(extents: Vec<Extent>) -> Self {
        let mut by_physical = Vec::new();
        if extents.len() > 1 {
            by_physical = (0..extents.len() as u32).collect();
            by_physical.sort_unstable_by_key(|&i| extents[i as usize].physical);
        }
        Self { first: extents.first().copied().unwrap_or_default(), extents, by_physical }
    }

    /// A table that maps every page to itself, for a file that is being written.
    pub fn unmapped(epoch: u64) -> Arc<Self> {
        Arc::new(Self::new(vec![Extent { logical: 0, physical: 0, pages: u64::MAX, epoch }]))
    }

    /// Its extents, ascending by logical page.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    pub fn memory_bytes(&self) -> usize {
        self.extents.capacity() * size_of::<Extent>() + self.by_physical.capacity() * 4
    }

    /// The extent that holds a logical page.
    ///
    /// # Panics
    /// If there is none: the table of a graph covers all pages of its sections.
    #[inline]
    fn extent(&self, page: PageId) -> Extent {
        if self.first.holds(page) {
            return self.first;
        }
        self.search(page)
    }

    #[cold]
    fn search(&self, page: PageId) -> Extent {
        let behind = self.extents.partition_point(|extent| extent.logical <= page);
        let found = behind.checked_sub(1).map(|i| self.extents[i]);
        found.filter(|extent| extent.holds(page)).expect("the page table holds every page")
    }

    #[inline]
    pub fn physical(&self, page: PageId) -> PageId {
        let extent = self.extent(page);
        page - extent.logical + extent.physical
    }

    /// The identity of a logical page.
    #[inline]
    pub fn identity(&self, page: PageId, salt: u64) -> Identity {
        let extent = self.extent(page);
        let physical = page - extent.logical + extent.physical;
        Identity { salt, physical, epoch: extent.epoch }
    }

    /// The logical page of a physical one, if it holds one.
    pub fn logical(&self, physical: PageId) -> Option<PageId> {
        let extent = match self.by_physical.as_slice() {
            [] => self.first,
            places => {
                let of = |i: &u32| &self.extents[*i as usize];
                let behind = places.partition_point(|i| of(i).physical <= physical);
                *of(&places[behind.checked_sub(1)?])
            }
        };
        let within = physical.checked_sub(extent.physical)?;
        (within < extent.pages).then(|| extent.logical + within)
    }

    /// The longest run at the start of `pages`, which must not be empty.
    pub fn run(&self, pages: Range<PageId>) -> PageRun {
        let extent = self.extent(pages.start);
        let within = pages.start - extent.logical;
        let mut run = PageRun {
            logical: pages.start,
            physical: extent.physical + within,
            pages: (extent.pages - within).min(pages.end - pages.start),
        };
        // An extent of another epoch may be adjacent.
        while run.logical + run.pages < pages.end {
            let next = self.extent(run.logical + run.pages);
            if next.physical != run.physical + run.pages {
                break;
            }
            run.pages = (run.pages + next.pages).min(pages.end - pages.start);
        }
        run
    }

    /// The physical places of `pages`: as few runs as possible, in logical order.
    pub fn runs(&self, pages: Range<PageId>) -> impl Iterator<Item = PageRun> {
        let mut next = pages.start;
        std::iter::from_fn(move || {
            let run = (next < pages.end).then(|| self.run(next..pages.end))?;
            next += run.pages;
            Some(run)
        })
    }
}

/// The pages of one section, numbered within the section, with what is needed to verify them.
#[derive(Clone, Debug)]
pub(crate) struct SectionPages {
    pub file: Arc<str>,
    pub section: Section,
    pub page_bytes: usize,
    pub salt: u64,
    pub table: Arc<PageTable>,
}

impl SectionPages {
    /// What the header and checksum of a page must match.
    #[inline]
    pub fn identity(&self, page: u64) -> Identity {
        self.table.identity(self.section.first_page + page, self.salt)
    }

    #[cold]
    pub fn fault(&self, page: u64, fault: PageFault) -> StoreError {
        let page = self.section.first_page + page;
        PageError {
            file: self.file.to_string(),
            page,
            physical: self.table.physical(page),
            page_bytes: self.page_bytes as u64,
            section: self.section.kind.name(),
            fault,
        }
        .into()
    }
}

/// The page table and free list of a commit, and the pages that they occupy if they do not fit into
/// the slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extents {
    /// The page table, ascending by logical page.
    pub table: Vec<Extent>,
    /// The free list, ascending by physical page.
    pub free: Vec<Extent>,
    /// Pages of the page table; empty if it is in the slot.
    pub table_pages: Range<PageId>,
    /// Pages of the free list; empty if it is in the slot.
    pub free_pages: Range<PageId>,
}

impl Extents {
    /// Checks that every physical page is used once or free, and that logical pages are distinct.
    /// `own` are the runs that the superblock names beside these.
    pub fn check(
        &self,
        epoch: u64,
        pages_total: u64,
        logical_pages: u64,
        own: &[&Range<PageId>],
    ) -> Result<(), PageFault> {
        self.check_order(epoch, logical_pages)?;
        let all = self.table.iter().chain(&self.free);
        let mut runs: Vec<_> = all.map(|extent| (extent.physical, extent.pages)).collect();
        runs.push((0, SLOTS));
        let own = [&self.table_pages, &self.free_pages].into_iter().chain(own.iter().copied());
        runs.extend(own.map(|pages| (pages.start, pages.end - pages.start)));
        runs.retain(|(_, pages)| *pages > 0);
        runs.sort_unstable();
        let mut next = 0;
        for (physical, pages) in runs {
            if physical != next || pages > pages_total - next {
                let kind = match physical.cmp(&next) {
                    std::cmp::Ordering::Less => "used twice",
                    std::cmp::Ordering::Equal => "followed by too many",
                    std::cmp::Ordering::Greater => "neither used nor free",
                };
                return Err(other(format!(
                    "by its {SECTION} page {} is {kind}",
                    next.min(physical)
                )));
            }
            next += pages;
        }
        if next == pages_total {
            return Ok(());
        }
        Err(other(format!("by its {SECTION} page {next} is neither used nor free")))
    }

    /// Checks the logical pages and the epochs of the extents.
    pub fn check_order(&self, epoch: u64, logical_pages: u64) -> Result<(), PageFault> {
        let mut next = SLOTS;
        for extent in &self.table {
            let Extent { logical, pages, .. } = *extent;
            if logical < next || pages == 0 || logical_pages.saturating_sub(logical) < pages {
                return Err(other(format!(
                    "its page table is out of order at logical page {logical}"
                )));
            }
            next = logical + pages;
        }
        let all = self.table.iter().chain(&self.free);
        for extent in all {
            at_most("epoch of pages", extent.epoch, epoch)?;
            at_most("pages of epoch 0", u64::from(extent.epoch == 0), 0)?;
        }
        if self.free.iter().any(|extent| extent.logical != 0) {
            return Err(other("its free list names logical pages"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> PageTable {
        let extent = |logical, physical, pages, epoch| Extent { logical, physical, pages, epoch };
        PageTable::new(vec![
            extent(2, 2, 8, 1),
            extent(10, 30, 1, 3),
            extent(11, 11, 4, 1),
            extent(15, 15, 5, 2),
        ])
    }

    #[test]
    fn every_page_is_found_both_ways() {
        let table = table();
        for page in 2..20 {
            let physical = if page == 10 { 30 } else { page };
            assert_eq!((table.physical(page), table.logical(physical)), (physical, Some(page)));
        }
        assert_eq!([0, 10, 20, 31].map(|physical| table.logical(physical)), [None; 4]);
        assert_eq!([2, 10, 14, 15].map(|page| table.identity(page, 0).epoch), [1, 3, 1, 2]);
    }

    #[test]
    fn runs_end_where_the_next_page_lies_elsewhere_and_not_with_an_epoch() {
        let run = |logical, physical, pages| PageRun { logical, physical, pages };
        let runs: Vec<_> = table().runs(3..18).collect();
        assert_eq!(runs, [run(3, 3, 7), run(10, 30, 1), run(11, 11, 7)]);
        assert_eq!(table().runs(5..5).count(), 0);
    }

    #[test]
    fn pages_that_are_used_twice_or_lost_are_faults() {
        let extent = |logical, physical, pages, epoch| Extent { logical, physical, pages, epoch };
        let extents = Extents {
            table: vec![extent(2, 2, 3, 1), extent(5, 9, 1, 2)],
            free: vec![extent(0, 5, 3, 2)],
            table_pages: 8..9,
            free_pages: 0..0,
        };
        let fault = |change: &dyn Fn(&mut Extents)| {
            let mut extents = extents.clone();
            change(&mut extents);
            extents
                .check(2, 10, 6, &[])
                .map_err(|fault| fault.to_string())
                .err()
                .unwrap_or_default()
        };
        assert_eq!(fault(&|_| {}), "");
        assert!(fault(&|e| e.free.clear()).contains("page 5 is neither"));
        assert!(fault(&|e| e.table[1].physical = 8).contains("page 8 is used twice"));
        assert!(fault(&|e| e.table_pages = 0..0).contains("page 8 is neither"));
        assert!(fault(&|e| e.table[1].epoch = 3).contains("epoch"));
        assert!(fault(&|e| e.table[1].logical = 4).contains("out of order"));
        assert!(fault(&|e| e.table[1].logical = 6).contains("out of order"));
        assert!(fault(&|e| e.free[0].logical = 1).contains("free list"));
        assert!(fault(&|e| e.table[1].pages = u64::MAX).contains("out of order"));
    }
}
