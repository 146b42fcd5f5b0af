//! A table of each page's likely successors.
//!
//! A row holds the three most likely successors of its page, with weights (dissertation 4.3.4,
//! Fig. 4.7). A repeated successor gains weight; a new one takes a slot of weight 0 or, if there is
//! none, decrements the smallest weight. Successors above a threshold are prefetched, the heaviest
//! first.
//!
//! The text does not define which weight is decremented, nor the threshold. Decrementing the
//! smallest keeps strong successors through temporary changes; a threshold of 2 requires three
//! occurrences.
//!
//! A row takes 24 bytes, so a row for each page is 0.6% of a database of 4 KiB pages, the paper's
//! share. The table never grows: a page added later shares the row of an earlier one, and takes it
//! over once it has decremented its weights. Memory is allocated in blocks of [`BLOCK_ROWS`] rows
//! on demand. Page numbers have 40 bits (4 PiB with 4 KiB pages); greater ones are ignored.

use super::{Lookup, Prefetcher};
use crate::PageId;

/// Successors of each page.
pub const SUCCESSORS_MAX: usize = 3;

/// Weight that a successor must exceed to be prefetched.
pub const THRESHOLD: u8 = 2;

/// Rows that are allocated together.
pub const BLOCK_ROWS: usize = 1024;

/// Streams whose previous page is stored; streams with equal numbers modulo this replace each
/// other.
pub const STREAMS_MAX: usize = 256;

const PAGE_MAX: PageId = (1 << 40) - 1;

/// The table, and each stream's last request.
#[derive(Debug)]
pub struct History {
    blocks: Box<[Option<Box<[Row]>>]>,
    rows: u64,
    threshold: u8,
    previous: Box<[Option<Previous>]>,
}

#[derive(Clone, Copy, Debug)]
struct Previous {
    stream: u64,
    page: PageId,
}

impl History {
    /// A table with a row for each of `pages`.
    pub fn for_pages(pages: u64) -> Self {
        Self::new(pages, THRESHOLD)
    }

    /// A table with `rows`, at least one, and this threshold.
    pub fn new(rows: u64, threshold: u8) -> Self {
        let rows = rows.clamp(1, PAGE_MAX + 1);
        let blocks = (0..rows.div_ceil(BLOCK_ROWS as u64)).map(|_| None).collect();
        Self { blocks, rows, threshold, previous: vec![None; STREAMS_MAX].into() }
    }

    fn place(&self, page: PageId) -> (usize, usize) {
        let row = page % self.rows;
        ((row / BLOCK_ROWS as u64) as usize, (row % BLOCK_ROWS as u64) as usize)
    }

    fn row(&self, page: PageId) -> Option<&Row> {
        let (block, row) = self.place(page);
        let row = &self.blocks[block].as_ref()?[row];
        (row.page() == page).then_some(row)
    }

    fn learn(&mut self, page: PageId, successor: PageId) {
        let (block, row) = self.place(page);
        let rows = BLOCK_ROWS.min((self.rows - (block * BLOCK_ROWS) as u64) as usize);
        let block = self.blocks[block].get_or_insert_with(|| vec![Row::default(); rows].into());
        block[row].learn(page, successor);
    }
}

impl Prefetcher for History {
    fn wants_hits(&self) -> bool {
        true
    }

    fn requested(&mut self, stream: u64, page: PageId, _: Lookup) {
        if page > PAGE_MAX {
            return;
        }
        let slot = &mut self.previous[(stream % STREAMS_MAX as u64) as usize];
        let previous = slot.replace(Previous { stream, page });
        match previous {
            Some(previous) if previous.stream == stream && previous.page != page => {
                self.learn(previous.page, page);
            }
            _ => {}
        }
    }

    fn propose(&mut self, _stream: u64, page: PageId, n: usize, out: &mut Vec<PageId>) {
        if let Some(row) = self.row(page) {
            out.extend(row.heavier_than(self.threshold).take(n));
        }
    }

    fn memory_bytes(&self) -> usize {
        let rows: usize = self.blocks.iter().flatten().map(|block| block.len()).sum();
        rows * size_of::<Row>()
            + size_of_val::<[_]>(&self.blocks)
            + size_of_val::<[_]>(&self.previous)
    }
}

/// A page and its successors. Page numbers are split into 32 and 8 bits, so a row has 24 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// The successors' numbers, then the page's own.
    low: [u32; SUCCESSORS_MAX + 1],
    high: [u8; SUCCESSORS_MAX + 1],
    weights: [u8; SUCCESSORS_MAX],
}

const OWN: usize = SUCCESSORS_MAX;

impl Row {
    fn get(&self, slot: usize) -> PageId {
        PageId::from(self.low[slot]) | PageId::from(self.high[slot]) << 32
    }

    fn set(&mut self, slot: usize, page: PageId) {
        debug_assert!(page <= PAGE_MAX, "page {page} fits in 40 bits");
        self.low[slot] = page as u32;
        self.high[slot] = (page >> 32) as u8;
    }

    fn page(&self) -> PageId {
        self.get(OWN)
    }

    fn learn(&mut self, page: PageId, successor: PageId) {
        if self.page() != page && !self.take_over(page) {
            return;
        }
        let known = |&slot: &usize| self.get(slot) == successor;
        if let Some(slot) = (0..SUCCESSORS_MAX).find(known) {
            self.weights[slot] = self.weights[slot].saturating_add(1);
        } else if let Some(slot) = (0..SUCCESSORS_MAX).find(|&slot| self.weights[slot] == 0) {
            self.set(slot, successor);
            self.weights[slot] = 1;
        } else if let Some(smallest) = self.weights.iter_mut().min() {
            *smallest -= 1;
        }
    }

    /// Decrements the weights of another page's row; returns whether this page now has the row.
    fn take_over(&mut self, page: PageId) -> bool {
        let is_free = self.weights == [0; SUCCESSORS_MAX];
        if is_free {
            self.set(OWN, page);
        }
        self.weights = self.weights.map(|weight| weight.saturating_sub(1));
        is_free
    }

    /// The successors above a weight, the heaviest first.
    fn heavier_than(&self, threshold: u8) -> impl Iterator<Item = PageId> + '_ {
        let mut slots: [usize; SUCCESSORS_MAX] = std::array::from_fn(|slot| slot);
        slots.sort_by_key(|&slot| std::cmp::Reverse(self.weights[slot]));
        slots.into_iter().filter(move |&s| self.weights[s] > threshold).map(|s| self.get(s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(history: &mut History, page: PageId) -> Vec<PageId> {
        let mut out = vec![];
        history.propose(0, page, 7, &mut out);
        out
    }

    /// Requests `page` and then `successor`, `times` times.
    fn follow(history: &mut History, page: PageId, successor: PageId, times: u32) {
        for _ in 0..times {
            history.requested(7, page, Lookup::Hit);
            history.requested(7, successor, Lookup::Miss);
            // Another stream of the same number replaces the previous page.
            history.requested(7 + STREAMS_MAX as u64, 0, Lookup::Miss);
        }
    }

    #[test]
    fn the_rows_of_figure_4_7_propose_their_heaviest_page_first() {
        let mut history = History::for_pages(100);
        for (page, successor, weight) in
            [(0, 2, 10), (0, 5, 4), (0, 7, 2), (1, 10, 3), (1, 3, 9), (1, 18, 1), (2, 6, 8)]
        {
            follow(&mut history, page, successor, weight);
        }
        assert_eq!(proposed(&mut history, 0), [2, 5], "7 has no more than the threshold");
        assert_eq!(proposed(&mut history, 1), [3, 10], "the text's example: 3 before 10");
        assert_eq!(proposed(&mut history, 2), [6]);
        assert!(proposed(&mut history, 3).is_empty());
    }

    #[test]
    fn a_fourth_successor_wears_the_lightest_down_and_then_takes_its_place() {
        let mut row = Row::default();
        row.learn(1, 10);
        row.learn(1, 20);
        row.learn(1, 20);
        row.learn(1, 30);
        row.learn(1, 30);
        assert_eq!(row.weights, [1, 2, 2]);
        row.learn(1, 40);
        assert_eq!(row.weights, [0, 2, 2]);
        row.learn(1, 40);
        assert_eq!((row.weights, row.get(0)), ([1, 2, 2], 40));
    }

    #[test]
    fn a_weight_stops_at_its_greatest_value() {
        let mut row = Row::default();
        (0..1000).for_each(|_| row.learn(1, 2));
        assert_eq!(row.weights, [u8::MAX, 0, 0]);
    }

    #[test]
    fn handles_do_not_mix() {
        let mut history = History::for_pages(100);
        for _ in 0..10 {
            history.requested(1, 10, Lookup::Miss);
            history.requested(2, 50, Lookup::Miss);
            history.requested(1, 11, Lookup::Miss);
            history.requested(2, 51, Lookup::Miss);
        }
        assert_eq!(proposed(&mut history, 10), [11]);
        assert_eq!(proposed(&mut history, 50), [51]);
    }

    #[test]
    fn a_page_asked_for_again_is_not_its_own_successor() {
        let mut history = History::for_pages(100);
        (0..10).for_each(|_| history.requested(1, 10, Lookup::Hit));
        assert!(proposed(&mut history, 10).is_empty());
        history.requested(1, 11, Lookup::Miss);
        assert_eq!(history.row(10).map(|row| row.get(0)), Some(11));
    }

    #[test]
    fn memory_stays_within_its_share_and_grows_only_where_used() {
        let pages = 1 << 20;
        let mut history = History::for_pages(pages);
        let empty = history.memory_bytes();
        assert!(empty < 64 << 10, "{empty} bytes before the first request");
        (0..3000).for_each(|page| history.requested(0, page, Lookup::Miss));
        assert!(history.memory_bytes() - empty <= 3 * BLOCK_ROWS * size_of::<Row>());
        for page in (0..4 * pages).step_by(500) {
            history.requested(0, page, Lookup::Miss);
        }
        let share = history.memory_bytes() as f64 / (pages as f64 * 4096.0);
        assert!(share <= 0.006, "{:.3}% of the database", share * 100.0);
    }

    #[test]
    fn a_page_beyond_the_table_takes_a_row_over_when_it_has_worn_it_down() {
        let mut history = History::new(10, THRESHOLD);
        follow(&mut history, 5, 6, 3);
        assert_eq!(proposed(&mut history, 5), [6]);
        follow(&mut history, 25, 8, 3);
        assert!(proposed(&mut history, 5).is_empty() && proposed(&mut history, 25).is_empty());
        follow(&mut history, 25, 8, 3);
        assert_eq!(proposed(&mut history, 25), [8]);
        assert!(proposed(&mut history, 5).is_empty());
    }

    #[test]
    fn large_page_numbers_are_kept_whole_and_too_large_ones_ignored() {
        let mut history = History::for_pages(1 << 20);
        follow(&mut history, PAGE_MAX, PAGE_MAX - 1, 3);
        assert_eq!(proposed(&mut history, PAGE_MAX), [PAGE_MAX - 1]);
        follow(&mut history, u64::MAX, 1, 5);
        assert!(proposed(&mut history, u64::MAX).is_empty());
    }
}
