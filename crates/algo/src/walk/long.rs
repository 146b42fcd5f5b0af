//! Lists that span pages: finds the page of an entry or of a target.
//!
//! The index says which pages a list spans, not how long it is or what each page holds. That is
//! learned from pages as they are read, 8 or 12 bytes a page: the position in its list where a page
//! begins, the length of a list that a page ends with, and the first target. Unknown positions are
//! guessed: a guess leads to a page, which teaches more. So a hub's list is never read to choose
//! one entry, and no result depends on what was known.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Graph, HugeVec, Page, VertexId};

use super::rule::NONE;
use crate::report::Result;

/// Bytes of a raw page that are not entries: the header, and the index of one list.
const OVERHEAD_BYTES: u64 = 50;

/// What is known about long lists, shared by the workers.
#[derive(Debug)]
pub(super) struct LongLists {
    /// Position, within its list, of a page's first entry; 0 if unknown, or if the page continues
    /// no list.
    skips: HugeVec<AtomicU32>,
    /// Length of the list that begins in a page and continues; 0 if unknown.
    degrees: HugeVec<AtomicU32>,
    /// First target of a page that continues a list; [`NONE`] if unknown. Empty if no walk searches
    /// for targets.
    firsts: HugeVec<AtomicU32>,
    /// The fewest entries of a page within a list. An import fills such pages, but for the free
    /// space that it leaves; updates do not.
    within_min: u64,
}

/// Pages contradict each other.
#[derive(Debug)]
pub(super) struct Contradiction;

impl LongLists {
    /// Bytes for `pages`.
    pub fn bytes(pages: u64, with_targets: bool) -> u64 {
        pages * if with_targets { 12 } else { 8 }
    }

    /// Initially nothing is known.
    pub fn new(graph: &Graph, pages: u64, with_targets: bool) -> Result<Self> {
        let pages = usize::try_from(pages).expect("the index of all pages is in memory");
        let firsts: HugeVec<AtomicU32> = HugeVec::zeroed(if with_targets { pages } else { 0 })?;
        firsts.iter().for_each(|first| first.store(NONE, Ordering::Relaxed));
        let filled = u64::from(100 - graph.superblock().free_space());
        let full = (graph.page_bytes() as u64 - OVERHEAD_BYTES) * filled / 100 / 4;
        Ok(Self {
            skips: HugeVec::zeroed(pages)?,
            degrees: HugeVec::zeroed(pages)?,
            firsts,
            within_min: if graph.superblock().has_imported_lists() { full } else { 1 },
        })
    }

    /// Learns from page `number`; an error if it contradicts what is known.
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

    /// Known values never change: two pages that disagree would send a walk to and fro forever.
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

    /// Length of a list that begins in `page` and continues, if known.
    pub fn degree(&self, page: u64) -> Option<u64> {
        let degree = self.degrees[page as usize].load(Ordering::Relaxed);
        (degree > 0).then_some(u64::from(degree))
    }

    fn skip(&self, page: u64) -> Option<u64> {
        let skip = self.skips[page as usize].load(Ordering::Relaxed);
        (skip > 0).then_some(u64::from(skip))
    }

    /// The likely page of entry `position` of a list of `degree` entries on `pages`.
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
            // Imported raw pages are full except the last; packed ones hold similar numbers.
            let each = ((high_position - low_position) / (high - low)).max(self.within_min);
            let guess = (low + (position - low_position) / each).min(high - 1);
            if guess == low {
                if low + 1 < high && self.skip(low + 1).is_some_and(|skip| skip <= position) {
                    continue;
                }
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

    /// The likely page of a list on `pages` that holds `target`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_reach_every_entry_however_unevenly_pages_are_filled() {
        let lengths = [3, 900, 1, 1, 250, 1011, 40, 1, 1];
        let begins: Vec<u32> = lengths
            .iter()
            .scan(0, |end, length| {
                *end += length;
                Some(*end - length)
            })
            .collect();
        let (pages, degree) = (0..=lengths.len() as u64 - 1, lengths.iter().sum::<u32>());
        for position in (0..degree).chain((0..degree).rev()).step_by(7) {
            let skips = HugeVec::zeroed(lengths.len()).unwrap();
            let (degrees, firsts) = (HugeVec::zeroed(0).unwrap(), HugeVec::zeroed(0).unwrap());
            let long = LongLists { skips, degrees, firsts, within_min: 1 };
            let page_of = |position: u32| begins.partition_point(|begin| *begin <= position) - 1;
            let mut pages_read = 0;
            loop {
                let guess = long.page_of_entry(&pages, position.into(), degree.into()) as usize;
                for page in [guess, guess + 1].into_iter().filter(|page| *page < lengths.len()) {
                    long.learn_skip(page as u64, begins[page].into()).unwrap();
                }
                if guess == page_of(position) {
                    break;
                }
                pages_read += 1;
                assert!(pages_read <= lengths.len(), "entry {position} is not reached");
            }
        }
    }
}
