//! Edges between hubs: a triangular bit matrix of the vertices of lowest rank.

use super::lists::{Arena, Oriented};

/// Row `w` has a bit for each rank up to `w`, in whole words; rows are adjacent.
pub(crate) struct Hubs {
    count: u32,
    /// Edges between hubs.
    edges: Vec<u64>,
    /// Edges that run both ways; empty if not needed.
    doubles: Vec<u64>,
}

/// Words before row `w`: a row has a word for every 64 ranks up to its own.
fn words_before(w: u32) -> usize {
    let (block, row) = (w as usize / 64, w as usize % 64);
    32 * block * (block + 1) + row * (block + 1)
}

impl Hubs {
    pub fn bytes_for(count: u32, doubles: bool) -> u64 {
        8 * words_before(count) as u64 * if doubles { 2 } else { 1 }
    }

    /// Empty rows.
    pub fn new(count: u32, doubles: bool) -> Self {
        let words = words_before(count);
        Self { count, edges: vec![0; words], doubles: vec![0; if doubles { words } else { 0 }] }
    }

    /// Ranks below this are hubs.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Sets the rows of the hubs in `lists`.
    pub fn fill(&mut self, lists: &Arena) {
        for slab in 0..lists.slabs() {
            for list in lists.lists(slab) {
                if list.rank < self.count {
                    self.fill_row(&list);
                }
            }
        }
    }

    /// Sets the row of a hub.
    pub fn fill_row(&mut self, list: &Oriented<'_>) {
        let from = words_before(list.rank);
        for (i, x) in list.ranks().enumerate() {
            let (word, bit) = (from + x as usize / 64, 1 << (x % 64));
            self.edges[word] |= bit;
            if !self.doubles.is_empty() && list.is_double(i) {
                self.doubles[word] |= bit;
            }
        }
    }

    /// The neighbours of `w` of lower rank.
    #[inline(always)]
    pub fn row(&self, w: u32) -> &[u64] {
        &self.edges[words_before(w)..][..w as usize / 64 + 1]
    }

    /// The neighbours of `w` of lower rank with edges both ways.
    #[inline(always)]
    pub fn double_row(&self, w: u32) -> &[u64] {
        &self.doubles[words_before(w)..][..w as usize / 64 + 1]
    }
}
