//! Lists that run over pages: which page holds an entry, or would hold a target.
//!
//! The index knows which pages a list runs over, not how long it is. Both are learned from the
//! pages as they come by, 8 or 12 bytes a page: how far into its list a page begins, how long the
//! list is that runs out of it, and its first target. What is not known yet is guessed: a guess
//! leads to a page, and the page teaches more. So a hub's list is never read to choose one entry
//! of it, and no answer depends on what was known.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Graph, HugeVec, Page, VertexId};

use super::rule::NONE;
use crate::report::Result;

/// Bytes of a raw page that are no entries: the header, the place of one list.
const OVERHEAD_BYTES: u64 = 50;

/// What was learned. Shared by the workers.
#[derive(Debug)]
pub(super) struct LongLists {
    /// Position, within its list, of a page's first entry; 0 where not known, or where no list is
    /// continued.
    skips: HugeVec<AtomicU32>,
    /// Length of the list that runs out of a page in which it begins; 0 where not known.
    degrees: HugeVec<AtomicU32>,
    /// First target of a page that continues a list; [`NONE`] where not known. Empty where no
    /// walk searches for targets.
    firsts: HugeVec<AtomicU32>,
    /// Entries of a page that a list fills alone, at least.
    full: u64,
}

/// Pages contradict each other.
#[derive(Debug)]
pub(super) struct Contradiction;

impl LongLists {
    /// Memory for `pages`.
    pub fn bytes(pages: u64, with_targets: bool) -> u64 {
        pages * if with_targets { 12 } else { 8 }
    }

    /// Knows nothing yet.
    pub fn new(graph: &Graph, pages: u64, with_targets: bool) -> Result<Self> {
        let pages = usize::try_from(pages).expect("the index of all pages is in memory");
        let firsts: HugeVec<AtomicU32> = HugeVec::zeroed(if with_targets { pages } else { 0 })?;
        firsts.iter().for_each(|first| first.store(NONE, Ordering::Relaxed));
        Ok(Self {
            skips: HugeVec::zeroed(pages)?,
            degrees: HugeVec::zeroed(pages)?,
            firsts,
            full: (graph.page_bytes() as u64 - OVERHEAD_BYTES) / 4,
        })
    }

    /// Learns from page `number`.
    pub fn learn(&self, number: u64, page: &Page<'_>) -> std::result::Result<(), Contradiction> {
        if page.head_skip() > 0 {
            self.learn_skip(number, page.head_skip())?;
            if let (Some(first), Some(target)) =
                (self.firsts.get(number as usize), page.entries().first())
            {
                first.store(*target, Ordering::Relaxed);
            }
        }
        let last = page.list(page.list_count() - 1);
        let end = last.skip + last.targets.len() as u64;
        if end < last.degree {
            self.learn_skip(number + 1, end)?;
            if last.skip == 0 {
                let degree = u32::try_from(last.degree).unwrap_or(0);
                self.degrees[number as usize].store(degree, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// What is known once stays: two pages that disagree would send a walk to and fro for ever.
    fn learn_skip(&self, page: u64, skip: u64) -> std::result::Result<(), Contradiction> {
        let known = self.skips.get(page as usize).ok_or(Contradiction)?;
        let Ok(skip) = u32::try_from(skip) else { return Ok(()) };
        match known.load(Ordering::Relaxed) {
            0 => known.store(skip, Ordering::Relaxed),
            known if known != skip => return Err(Contradiction),
            _ => {}
        }
        Ok(())
    }

    /// Length of a list that begins in `page` and runs on, where known.
    pub fn degree(&self, page: u64) -> Option<u64> {
        let degree = self.degrees[page as usize].load(Ordering::Relaxed);
        (degree > 0).then_some(u64::from(degree))
    }

    fn skip(&self, page: u64) -> Option<u64> {
        let skip = self.skips[page as usize].load(Ordering::Relaxed);
        (skip > 0).then_some(u64::from(skip))
    }

    /// The page of entry `position` of a list of `degree` entries on `pages`, as far as is known.
    pub fn page_of_entry(&self, pages: &RangeInclusive<u64>, position: u64, degree: u64) -> u64 {
        let (mut low, mut low_position) = (*pages.start(), 0);
        let (mut high, mut high_position) = (pages.end() + 1, degree);
        while high - low > 1 {
            if let Some(skip) = self.skip(low + 1) {
                if position < skip {
                    return low;
                }
                (low, low_position) = (low + 1, skip);
            }
            // Raw pages are full but for the last, packed ones hold more, about alike.
            let each = ((high_position - low_position) / (high - low)).max(self.full);
            let guess = (low + (position - low_position) / each).min(high - 1);
            if guess == low {
                return low;
            }
            match self.skip(guess) {
                None => return guess,
                Some(skip) if skip <= position => (low, low_position) = (guess, skip),
                Some(skip) => (high, high_position) = (guess, skip),
            }
        }
        low
    }

    /// The page of a list on `pages` that holds `target` if any does, as far as is known.
    pub fn page_of_target(&self, pages: &RangeInclusive<u64>, target: VertexId) -> u64 {
        let (mut low, mut high) = (*pages.start(), pages.end() + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.firsts[middle as usize].load(Ordering::Relaxed) {
                NONE => return middle,
                first if first <= target => low = middle,
                _ => high = middle,
            }
        }
        low
    }
}
