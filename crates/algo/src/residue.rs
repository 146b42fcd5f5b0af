//! Lists that a pass keeps in memory, so that the rest of a run reads nothing.
//!
//! A list is stored as its vertex, its length and its targets. A residue has one fixed size: what
//! does not fit makes it [`Residue::is_full`], and a full residue is of no use to most algorithms,
//! which read the lists again instead.

use cenote_engine::{HugeVec, VertexId};

use crate::report::Result;

/// Words before a list's targets: its vertex; its length and whether it is whole.
const HEAD_WORDS: usize = 2;

/// Targets of a list at most: the top bit of its length is taken.
const TARGETS_MAX: usize = (1 << 31) - 1;

/// Where a list is: the number of its residue, and a word there, of which there may be more than 32
/// bits can number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place([u32; 2]);

impl Place {
    /// Bits for the word: 4 TiB of a residue.
    const WORD_BITS: u32 = 40;

    fn new(part: usize, word: usize) -> Self {
        let (part, word) = (part as u64, word as u64);
        assert!(part >> (64 - Self::WORD_BITS) == 0 && word >> Self::WORD_BITS == 0);
        let place = part << Self::WORD_BITS | word;
        Self([(place >> 32) as u32, place as u32])
    }

    fn split(self) -> (usize, usize) {
        let place = u64::from(self.0[0]) << 32 | u64::from(self.0[1]);
        let part = place >> Self::WORD_BITS;
        (part as usize, (place & ((1 << Self::WORD_BITS) - 1)) as usize)
    }
}

/// One worker's lists.
#[derive(Debug)]
pub(crate) struct Residue {
    words: HugeVec<u32>,
    len: usize,
    /// Where the list that is being written begins.
    open: usize,
    full: bool,
    lists: usize,
    /// Words that the algorithm will need for each list beside what is stored here.
    words_beside: usize,
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
    /// Room for `bytes`, of which `words_beside` for each list are left free.
    pub fn with_bytes(bytes: u64, words_beside: usize) -> Result<Self> {
        let words = HugeVec::zeroed(usize::try_from(bytes / 4).unwrap_or(usize::MAX))?;
        Ok(Self { words, len: 0, open: 0, full: false, lists: 0, words_beside })
    }

    /// Shares `bytes` among `workers`.
    pub fn shared(bytes: u64, workers: usize, words_beside: usize) -> Result<Vec<Self>> {
        let share = bytes / workers as u64;
        (0..workers).map(|_| Self::with_bytes(share, words_beside)).collect()
    }

    /// Whether something did not fit.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Lists in it.
    pub fn lists(&self) -> usize {
        self.lists
    }

    /// Words that are not spoken for.
    fn room(&self) -> usize {
        self.words.len().saturating_sub(self.len + self.lists * self.words_beside)
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
        let targets = (self.len - self.open).saturating_sub(HEAD_WORDS);
        if self.full || self.room() < self.words_beside || targets > TARGETS_MAX {
            self.len = self.open;
            self.full = true;
            return;
        }
        self.lists += 1;
        self.write_head(self.open, list, targets);
    }

    /// Takes back the list that was begun.
    pub fn abandon(&mut self) {
        self.len = self.open;
    }

    /// Whether [`Residue::retain`] has freed a good part, so that keeping goes on; else it stays
    /// full.
    pub fn reopen(&mut self) -> bool {
        self.full = self.room() < self.words.len() / 4;
        !self.full
    }

    fn write_head(&mut self, at: usize, list: Kept, targets: usize) {
        assert!(targets <= TARGETS_MAX, "longer lists are not kept");
        self.words[at] = list.vertex;
        self.words[at + 1] = (targets as u32) << 1 | u32::from(list.whole);
    }

    fn head(&self, at: usize) -> (Kept, usize) {
        let word = self.words[at + 1];
        (Kept { vertex: self.words[at], whole: word & 1 == 1 }, (word >> 1) as usize)
    }

    /// Every list of these residues: its vertex, and where it is for [`Residue::targets`].
    pub fn places(parts: &[Self]) -> impl Iterator<Item = (VertexId, Place)> {
        parts.iter().enumerate().flat_map(|(number, part)| {
            part.heads().map(move |(vertex, word)| (vertex, Place::new(number, word)))
        })
    }

    /// The vertex of every list, and where the list begins.
    fn heads(&self) -> impl Iterator<Item = (VertexId, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let here = at;
            (here < self.len).then(|| {
                let (list, length) = self.head(here);
                at += HEAD_WORDS + length;
                (list.vertex, here)
            })
        })
    }

    /// The targets of a list of these residues.
    #[inline]
    pub fn targets(parts: &[Self], place: Place) -> &[VertexId] {
        let (part, at) = place.split();
        let part = &parts[part];
        let (_, length) = part.head(at);
        &part.words[at + HEAD_WORDS..][..length]
    }

    /// Shows every list; `keep` moves the targets that stay to the front and tells how many they
    /// are, or `None` where the list is no longer needed.
    pub fn retain(&mut self, mut keep: impl FnMut(Kept, &mut [VertexId]) -> Option<usize>) {
        let (mut read, mut write) = (0, 0);
        self.lists = 0;
        while read < self.len {
            let (list, length) = self.head(read);
            let targets = read + HEAD_WORDS..read + HEAD_WORDS + length;
            if let Some(kept) = keep(list, &mut self.words[targets.clone()]) {
                self.words.copy_within(targets.start..targets.start + kept, write + HEAD_WORDS);
                self.write_head(write, list, kept);
                write += HEAD_WORDS + kept;
                self.lists += 1;
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
        let mut residue = Residue::with_bytes(4 * 100, 0).unwrap();
        keep(&mut residue, 5, &[1, 2, 3]);
        keep(&mut residue, 6, &[]);
        keep(&mut residue, 7, &[8, 9]);
        assert_eq!(residue.lists(), 3);
        residue.retain(|list, targets| {
            targets.reverse();
            (list.vertex != 6).then(|| targets.len() - 1)
        });
        assert_eq!(lists(&mut residue), [(5, false, vec![3, 2]), (7, true, vec![9])]);
    }

    #[test]
    fn lists_beyond_16_gib_have_places() {
        let word = (1 << 32) + 5;
        for place in [(0, word), (3, word), (1 << 23, (1 << 40) - 1)] {
            assert_eq!(Place::new(place.0, place.1).split(), place);
        }
        // Address space for two lists as long as lists may be and a short one; memory only for
        // their heads.
        let Ok(words) = HugeVec::zeroed((2 << 31) + 8) else { return };
        let mut residue = Residue { words, ..Residue::with_bytes(0, 0).unwrap() };
        for (vertex, targets) in [(0, TARGETS_MAX), (1, TARGETS_MAX), (2, 1)] {
            residue.write_head(residue.len, Kept { vertex, whole: true }, targets);
            residue.len += HEAD_WORDS + targets;
        }
        let last = residue.len - 1;
        assert!(last > u32::MAX as usize);
        residue.words[last] = 77;
        let parts = [Residue::with_bytes(0, 0).unwrap(), residue];
        let places: Vec<_> = Residue::places(&parts).collect();
        let [(0, _), (1, _), (2, place)] = places[..] else { panic!("{places:?}") };
        assert_eq!(Residue::targets(&parts, place), [77]);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_told() {
        let mut residue = Residue::with_bytes(4 * 6, 0).unwrap();
        keep(&mut residue, 1, &[2, 3]);
        assert!(!residue.is_full());
        keep(&mut residue, 4, &[5]);
        assert!(residue.is_full());
        assert_eq!(lists(&mut residue), [(1, true, vec![2, 3])]);
        let mut none = Residue::with_bytes(0, 0).unwrap();
        keep(&mut none, 1, &[]);
        assert!(none.is_full() && lists(&mut none).is_empty());
        let mut beside = Residue::with_bytes(4 * 10, 2).unwrap();
        keep(&mut beside, 1, &[2, 3]);
        keep(&mut beside, 4, &[5]);
        assert!(beside.is_full(), "11 words are needed");
        beside.retain(|_, _| None);
        assert!(beside.reopen());
        keep(&mut beside, 4, &[5]);
        assert_eq!(lists(&mut beside), [(4, true, vec![5])]);
    }
}
