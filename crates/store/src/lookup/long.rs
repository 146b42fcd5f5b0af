//! Long lists: which of its pages holds an entry of a list that spans several.
//!
//! The index says which pages a list spans, not how long it is, nor which of its entries a page
//! holds. Both are learned from pages as they are read, and kept: 16 bytes a page. An unknown
//! position is guessed: a guess leads to a page, which teaches more. So a list is never read to
//! find one entry, and no answer depends on what was known.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{PageFault, equal, other};
use crate::format;
use crate::page::List;
use crate::superblock::Superblock;

/// Bytes of an entry of a raw page, and of the place of a list in its table.
const ENTRY_BYTES: u64 = 4;
const LIST_BYTES: u64 = 2;

/// What is known about the lists of a direction that span pages. All numbers are stored plus 1; 0
/// is unknown.
#[derive(Debug)]
pub(crate) struct LongLists {
    /// The position, within its list, of the first entry of a page that continues a list.
    skips: Vec<AtomicU64>,
    /// The length of a list that begins in a page and goes on in the next.
    degrees: Vec<AtomicU64>,
    /// The fewest entries of a page within a list, as a guess: an import fills such pages.
    within_min: u64,
}

impl LongLists {
    /// Nothing is known of lists on so many pages.
    pub fn new(pages: u64, superblock: &Superblock) -> Self {
        let unknown = || (0..pages).map(|_| AtomicU64::new(0)).collect();
        let filled = u64::from(100 - superblock.free_space());
        let room = format::payload_bytes(superblock.page_bytes as usize) as u64;
        let full = (room - LIST_BYTES) * filled / 100 / ENTRY_BYTES;
        let within_min = if superblock.has_imported_lists() { full.max(1) } else { 1 };
        Self { skips: unknown(), degrees: unknown(), within_min }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        (self.skips.capacity() + self.degrees.capacity()) * size_of::<AtomicU64>()
    }

    /// The length of the list that begins in `page` and goes on in the next, if it is known.
    pub fn degree(&self, page: u64) -> Option<u64> {
        number(&self.degrees[page as usize])
    }

    fn skip(&self, page: u64) -> Option<u64> {
        number(&self.skips[page as usize])
    }

    /// Learns from the piece in page `page` of a list on `pages`; an error if it contradicts what
    /// is known. So two pages that disagree never send a reader to and fro.
    pub fn learn(
        &self,
        pages: &RangeInclusive<u64>,
        page: u64,
        piece: &List<'_>,
    ) -> Result<(), PageFault> {
        let end = piece.skip + piece.targets.len() as u64;
        let skip = |page: u64| &self.skips[page as usize];
        if page == *pages.start() {
            equal("position of a list that begins", piece.skip, 0)?;
        } else {
            agree(skip(page), piece.skip)?;
        }
        if page == *pages.end() {
            equal("length of a list", end, piece.degree)?;
        } else {
            agree(skip(page + 1), end)?;
        }
        agree(&self.degrees[*pages.start() as usize], piece.degree)
    }

    /// The page of the entry at `position` of a list of `degree` entries on `pages`, which are
    /// several, or a guess from which [`LongLists::learn`] learns.
    pub fn page_of(&self, pages: &RangeInclusive<u64>, position: u64, degree: u64) -> u64 {
        // The entry is in `low..high`; the list has `low_position` entries before page `low`.
        let (mut low, mut low_position) = (*pages.start(), 0);
        let (mut high, mut high_position) = (pages.end() + 1, degree);
        // A list may begin at the end of its first page; the pages that follow are alike.
        match self.skip(low + 1) {
            Some(skip) if skip <= position => (low, low_position) = (low + 1, skip),
            Some(_) => return low,
            None => {}
        }
        while high - low > 1 {
            let mean = high_position.saturating_sub(low_position) / (high - low);
            let each = mean.max(self.within_min);
            let guess = (low + (position - low_position) / each).min(high - 1);
            if guess > low {
                match self.skip(guess) {
                    None => return guess,
                    Some(skip) if skip <= position => (low, low_position) = (guess, skip),
                    Some(skip) => (high, high_position) = (guess, skip),
                }
                continue;
            }
            match self.skip(low + 1) {
                Some(skip) if skip <= position => (low, low_position) = (low + 1, skip),
                _ => return low,
            }
        }
        low
    }
}

fn number(stored: &AtomicU64) -> Option<u64> {
    stored.load(Ordering::Relaxed).checked_sub(1)
}

/// Keeps a number where none is known; an error if another one is.
fn agree(known: &AtomicU64, number: u64) -> Result<(), PageFault> {
    let number = number.saturating_add(1);
    match known.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
        Err(known) if known != number => Err(other("it contradicts another page of its list")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(pages: usize, within_min: u64) -> LongLists {
        let none = || (0..pages).map(|_| AtomicU64::new(0)).collect();
        LongLists { skips: none(), degrees: none(), within_min }
    }

    #[test]
    fn guesses_reach_every_entry_however_unevenly_pages_are_filled() {
        // With changes a page may have lost all of its entries.
        let lengths = [3, 900, 0, 1, 0, 0, 250, 1011, 40, 1, 0];
        let targets = vec![0; 1011];
        let begin = |page: usize| lengths[..page].iter().sum::<u64>();
        let (pages, degree) = (0..=lengths.len() as u64 - 1, lengths.iter().sum::<u64>());
        for (position, within_min) in (0..degree).step_by(7).flat_map(|p| [(p, 1), (p, 1011)]) {
            let long = unknown(lengths.len(), within_min);
            let mut reads = 0;
            loop {
                let page = long.page_of(&pages, position, degree);
                let at = page as usize;
                let targets = &targets[..lengths[at] as usize];
                let piece = List { vertex: 0, page, skip: begin(at), degree, targets };
                long.learn(&pages, page, &piece).unwrap();
                if (begin(at)..begin(at + 1)).contains(&position) {
                    break;
                }
                reads += 1;
                assert!(reads < lengths.len(), "entry {position} is not reached");
            }
            assert_eq!(long.degree(0), Some(degree));
        }
    }

    #[test]
    fn pages_that_contradict_each_other_are_a_fault() {
        let long = unknown(3, 1);
        let piece = |page, skip, degree, targets| List { vertex: 0, page, skip, degree, targets };
        long.learn(&(0..=2), 0, &piece(0, 0, 9, &[1, 2])).unwrap();
        let fault = long.learn(&(0..=2), 1, &piece(1, 3, 9, &[4])).unwrap_err();
        assert!(fault.to_string().contains("contradicts"), "{fault}");
        assert!(long.learn(&(0..=2), 0, &piece(0, 0, 8, &[1, 2])).is_err(), "another length");
        assert!(long.learn(&(0..=2), 2, &piece(2, 4, 9, &[7])).is_err(), "it ends too early");
        assert!(long.learn(&(0..=2), 0, &piece(0, 1, 9, &[2])).is_err(), "it begins too late");
    }
}
