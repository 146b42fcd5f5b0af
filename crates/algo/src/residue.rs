//! Lists that a pass keeps in memory, so that the rest of a run reads nothing.
//!
//! A list is stored as its vertex, its length and its targets. A residue has one fixed size: what
//! does not fit makes it [`Residue::is_full`], and a full residue is of no use to most algorithms,
//! which read the lists again instead.

use cenote_engine::{HugeVec, VertexId};

use crate::report::Result;

/// Words before a list's targets: its vertex; its length and whether it is whole.
const HEAD_WORDS: usize = 2;

/// One worker's lists.
#[derive(Debug)]
pub(crate) struct Residue {
    words: HugeVec<u32>,
    len: usize,
    /// Where the list that is being written begins.
    open: usize,
    full: bool,
}

/// A list in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub vertex: VertexId,
    /// Whether nothing but what the algorithm left out is missing, that is, whether it was not
    /// one piece of a list over several pages.
    pub whole: bool,
}

impl Residue {
    /// Room for `bytes`.
    pub fn with_bytes(bytes: u64) -> Result<Self> {
        let words = usize::try_from(bytes / 4).unwrap_or(usize::MAX);
        Ok(Self { words: HugeVec::zeroed(words)?, len: 0, open: 0, full: false })
    }

    /// Shares `bytes` among `workers`.
    pub fn shared(bytes: u64, workers: usize) -> Result<Vec<Self>> {
        (0..workers).map(|_| Self::with_bytes(bytes / workers as u64)).collect()
    }

    /// Whether something did not fit.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Words in use.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Words that it has room for.
    pub fn capacity(&self) -> usize {
        self.words.len()
    }

    /// Begins a list.
    pub fn begin(&mut self) {
        self.open = self.len;
        self.len += HEAD_WORDS;
        self.full |= self.len > self.words.len();
    }

    /// Appends a target to the list that was begun.
    #[inline(always)]
    pub fn push(&mut self, target: VertexId) {
        match self.words.get_mut(self.len) {
            Some(word) => {
                *word = target;
                self.len += 1;
            }
            None => self.full = true,
        }
    }

    /// Ends the list that was begun, or takes it back where it did not fit.
    pub fn end(&mut self, list: Kept) {
        if self.full {
            self.len = self.open;
            return;
        }
        let targets = self.len - self.open - HEAD_WORDS;
        self.write_head(self.open, list, targets);
    }

    /// Takes back the list that was begun.
    pub fn abandon(&mut self) {
        self.len = self.open;
    }

    /// Makes it usable after some of it was dropped.
    pub fn reopen(&mut self) {
        self.full = false;
    }

    fn write_head(&mut self, at: usize, list: Kept, targets: usize) {
        let length = u32::try_from(targets).expect("a page's targets are counted in u32");
        assert!(length < 1 << 31, "the top bit is free");
        self.words[at] = list.vertex;
        self.words[at + 1] = length << 1 | u32::from(list.whole);
    }

    fn head(&self, at: usize) -> (Kept, usize) {
        let word = self.words[at + 1];
        (Kept { vertex: self.words[at], whole: word & 1 == 1 }, (word >> 1) as usize)
    }

    /// Shows every list; `keep` moves the targets that stay to the front and tells how many they
    /// are, or `None` where the list is no longer needed.
    pub fn retain(&mut self, mut keep: impl FnMut(Kept, &mut [VertexId]) -> Option<usize>) {
        let (mut read, mut write) = (0, 0);
        while read < self.len {
            let (list, length) = self.head(read);
            let targets = read + HEAD_WORDS..read + HEAD_WORDS + length;
            if let Some(kept) = keep(list, &mut self.words[targets.clone()]) {
                self.words.copy_within(targets.start..targets.start + kept, write + HEAD_WORDS);
                self.write_head(write, list, kept);
                write += HEAD_WORDS + kept;
            }
            read = targets.end;
        }
        self.len = write;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(residue: &mut Residue, vertex: VertexId, targets: &[VertexId]) {
        residue.begin();
        targets.iter().for_each(|&target| residue.push(target));
        residue.end(Kept { vertex, whole: targets.len() < 3 });
    }

    fn lists(residue: &mut Residue) -> Vec<(VertexId, bool, Vec<VertexId>)> {
        let mut lists = Vec::new();
        residue.retain(|list, targets| {
            lists.push((list.vertex, list.whole, targets.to_vec()));
            Some(targets.len())
        });
        lists
    }

    #[test]
    fn lists_shrink_in_place() {
        let mut residue = Residue::with_bytes(4 * 100).unwrap();
        keep(&mut residue, 5, &[1, 2, 3]);
        keep(&mut residue, 6, &[]);
        keep(&mut residue, 7, &[8, 9]);
        assert_eq!(residue.len(), 11);
        residue.retain(|list, targets| {
            targets.reverse();
            (list.vertex != 6).then(|| targets.len() - 1)
        });
        assert_eq!(lists(&mut residue), [(5, false, vec![3, 2]), (7, true, vec![9])]);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_told() {
        let mut residue = Residue::with_bytes(4 * 6).unwrap();
        keep(&mut residue, 1, &[2, 3]);
        assert!(!residue.is_full());
        keep(&mut residue, 4, &[5]);
        assert!(residue.is_full());
        assert_eq!(lists(&mut residue), [(1, true, vec![2, 3])]);
        let mut none = Residue::with_bytes(0).unwrap();
        keep(&mut none, 1, &[]);
        assert!(none.is_full() && lists(&mut none).is_empty());
    }
}
