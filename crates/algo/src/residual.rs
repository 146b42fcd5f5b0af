//! The residual graph: lists that a pass keeps in memory, so that the rest of a run reads nothing.
//!
//! Each worker fills a part of fixed size. A list is stored as its vertex, its length and its
//! targets. If a list does not fit, the part [`is_full`](ResidualPart::is_full): most algorithms
//! cannot use an incomplete residual graph, and read the lists again.
//!
//! - [`Parts`]: one part for each worker of a visit
//! - [`ResidualPart`]: one worker's lists
//! - [`Residual`]: all parts, lists found by vertex

use std::sync::{Mutex, OnceLock, PoisonError};

use cenote_engine::{HugeVec, VertexId};
use rayon::prelude::*;

use crate::parallel;
use crate::report::Result;

/// Words before a list's targets: the vertex; the length and whether the list is whole.
const HEAD_WORDS: usize = 2;

/// The most targets of a list: its length shares a word with a flag.
const TARGETS_MAX: usize = (1 << 31) - 1;

/// The location of a list: its part and its first word, in 64 bits with an alignment of 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place([u32; 2]);

impl Place {
    /// Bits of the word: parts of up to 4 TiB.
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

/// The lists of one worker.
#[derive(Debug)]
pub(crate) struct ResidualPart {
    words: HugeVec<u32>,
    len: usize,
    /// Start of the list that is being written.
    open: usize,
    full: bool,
    lists: usize,
    /// Words reserved per list for the algorithm.
    words_beside: usize,
}

/// A list in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub vertex: VertexId,
    /// Whether it is a whole list (apart from targets that the algorithm left out), not a piece.
    pub whole: bool,
}

impl ResidualPart {
    /// A part of `bytes`, with `words_beside` reserved for each list.
    pub fn with_bytes(bytes: u64, words_beside: usize) -> Result<Self> {
        let words = HugeVec::sparse(usize::try_from(bytes / 4).unwrap_or(usize::MAX))?;
        Ok(Self { words, len: 0, open: 0, full: false, lists: 0, words_beside })
    }

    /// Whether a list did not fit.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The number of lists.
    pub fn lists(&self) -> usize {
        self.lists
    }

    /// Words for lists and what is reserved beside them.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Words that are neither used nor reserved.
    fn room(&self) -> usize {
        self.words.len().saturating_sub(self.len + self.lists * self.words_beside)
    }

    /// Begins a list.
    pub fn begin(&mut self) {
        self.open = self.len;
        self.len += HEAD_WORDS;
        self.full |= self.len > self.words.len();
    }

    /// Appends a target to the open list.
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

    /// Keeps a list if it fits.
    pub fn keep(&mut self, list: Kept, targets: &[VertexId]) {
        self.begin();
        match self.words.get_mut(self.len..).and_then(|free| free.get_mut(..targets.len())) {
            Some(words) => {
                words.copy_from_slice(targets);
                self.len += targets.len();
            }
            None => self.full = true,
        }
        self.end(list);
    }

    /// Ends the open list, or discards it if it does not fit.
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

    /// Discards the open list.
    pub fn abandon(&mut self) {
        self.len = self.open;
    }

    /// Continues to keep lists if [`ResidualPart::retain`] has freed a quarter; otherwise the part
    /// stays full and this returns false.
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

    /// The vertex and the location of every list.
    fn heads(&self) -> impl Iterator<Item = (VertexId, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            (start < self.len).then(|| {
                let (list, length) = self.head(start);
                at += HEAD_WORDS + length;
                (list.vertex, start)
            })
        })
    }

    /// The targets of the list at this word.
    #[inline]
    fn targets(&self, at: usize) -> &[VertexId] {
        let (_, length) = self.head(at);
        &self.words[at + HEAD_WORDS..][..length]
    }

    /// Calls `each` with the targets of every list.
    pub fn for_each_mut(&mut self, mut each: impl FnMut(&mut [VertexId])) {
        let mut at = 0;
        while at < self.len {
            let (_, length) = self.head(at);
            let targets = at + HEAD_WORDS..at + HEAD_WORDS + length;
            at = targets.end;
            each(&mut self.words[targets]);
        }
    }

    /// Calls `keep` for every list; it moves the targets to keep to the front and returns their
    /// number, or `None` to drop the list.
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

/// One part for each worker of a visit.
#[derive(Debug)]
pub(crate) struct Parts(Mutex<Vec<ResidualPart>>);

impl Parts {
    /// Divides `bytes` among `workers`, with `words_beside` reserved for each list.
    pub fn new(bytes: u64, workers: usize, words_beside: usize) -> Result<Self> {
        let share = bytes / workers as u64;
        let part = |_| ResidualPart::with_bytes(share, words_beside);
        Ok(Self(Mutex::new((0..workers).map(part).collect::<Result<_>>()?)))
    }

    /// The parts of an earlier visit, to be filled further.
    pub fn of(parts: Vec<ResidualPart>) -> Self {
        Self(Mutex::new(parts))
    }

    /// The parts that no worker has taken.
    pub fn into_parts(self) -> Vec<ResidualPart> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a part for one worker.
    pub fn take(&self) -> ResidualPart {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.pop().expect("there is one for each worker")
    }
}

/// The vertex of every piece of some parts, ascending, and its place for [`targets`].
pub(crate) fn index_of(parts: &[ResidualPart]) -> Vec<(VertexId, Place)> {
    let mut index = Vec::with_capacity(parts.iter().map(ResidualPart::lists).sum());
    index.extend(places(parts));
    index.par_sort_unstable();
    index
}

/// As [`index_of`], in the order of the parts.
pub(crate) fn places(parts: &[ResidualPart]) -> impl Iterator<Item = (VertexId, Place)> {
    parts.iter().enumerate().flat_map(|(number, part)| {
        part.heads().map(move |(vertex, word)| (vertex, Place::new(number, word)))
    })
}

/// The targets of a list.
#[inline]
pub(crate) fn targets(parts: &[ResidualPart], place: Place) -> &[VertexId] {
    let (part, at) = place.split();
    parts[part].targets(at)
}

/// The lists of all parts, found by vertex through an index that the first such look-up makes.
#[derive(Debug)]
pub(crate) struct Residual {
    parts: Vec<ResidualPart>,
    lists: usize,
    /// Vertices and the places of the pieces of their lists, ascending.
    index: OnceLock<Vec<(VertexId, Place)>>,
}

impl Residual {
    /// Words of the index per list.
    pub const INDEX_WORDS: usize = size_of::<(VertexId, Place)>() / 4;

    /// The lists of these parts.
    pub fn new(parts: Vec<ResidualPart>) -> Self {
        let lists = parts.iter().map(ResidualPart::lists).sum();
        Self { parts, lists, index: OnceLock::new() }
    }

    /// The number of lists; each piece counts.
    pub fn lists(&self) -> usize {
        self.lists
    }

    /// Whether a look-up has made the index.
    pub fn is_indexed(&self) -> bool {
        self.index.get().is_some()
    }

    /// The pieces of the list of `v`; none if it was not kept.
    pub fn pieces(&self, v: VertexId) -> impl Iterator<Item = &[VertexId]> {
        let index = self.index.get_or_init(|| index_of(&self.parts));
        let first = index.partition_point(|&(vertex, _)| vertex < v);
        let pieces = index[first..].iter().take_while(move |&&(vertex, _)| vertex == v);
        pieces.map(|&(_, place)| targets(&self.parts, place))
    }

    /// The vertices for which `test` is true for any piece of the list, ascending; it is called for
    /// all. Needs no index: one thread goes through each part.
    pub fn select(&self, test: impl Fn(VertexId, &[VertexId]) -> bool + Sync) -> Vec<VertexId> {
        let of_part = |part: &ResidualPart| {
            let lists = part.heads().map(|(v, at)| (v, part.targets(at)));
            lists.filter(|(v, targets)| test(*v, targets)).map(|(v, _)| v).collect::<Vec<_>>()
        };
        let of_parts = parallel::collect_each(self.parts.len(), |at| of_part(&self.parts[at]));
        let mut chosen: Vec<VertexId> = of_parts.concat();
        chosen.par_sort_unstable();
        chosen.dedup();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(part: &mut ResidualPart, vertex: VertexId, targets: &[VertexId]) {
        let list = Kept { vertex, whole: targets.len() < 3 };
        if vertex.is_multiple_of(2) {
            return part.keep(list, targets);
        }
        part.begin();
        targets.iter().for_each(|&target| part.push(target));
        part.end(list);
    }

    fn lists(part: &mut ResidualPart) -> Vec<(VertexId, bool, Vec<VertexId>)> {
        let mut lists = Vec::new();
        part.retain(|list, targets| {
            lists.push((list.vertex, list.whole, targets.to_vec()));
            Some(targets.len())
        });
        lists
    }

    #[test]
    fn lists_shrink_in_place() {
        let mut part = ResidualPart::with_bytes(4 * 100, 0).unwrap();
        keep(&mut part, 5, &[1, 2, 3]);
        keep(&mut part, 6, &[]);
        keep(&mut part, 7, &[8, 9]);
        assert_eq!(part.lists(), 3);
        part.retain(|list, targets| {
            targets.reverse();
            (list.vertex != 6).then(|| targets.len() - 1)
        });
        assert_eq!(lists(&mut part), [(5, false, vec![3, 2]), (7, true, vec![9])]);
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
        let mut part = ResidualPart { words, ..ResidualPart::with_bytes(0, 0).unwrap() };
        for (vertex, targets) in [(0, TARGETS_MAX), (1, TARGETS_MAX), (2, 1)] {
            part.write_head(part.len, Kept { vertex, whole: true }, targets);
            part.len += HEAD_WORDS + targets;
        }
        let last = part.len - 1;
        assert!(last > u32::MAX as usize);
        part.words[last] = 77;
        let parts = [ResidualPart::with_bytes(0, 0).unwrap(), part];
        let places: Vec<_> = places(&parts).collect();
        let [(0, _), (1, _), (2, place)] = places[..] else { panic!("{places:?}") };
        assert_eq!(targets(&parts, place), [77]);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_reported() {
        let mut part = ResidualPart::with_bytes(4 * 6, 0).unwrap();
        keep(&mut part, 1, &[2, 3]);
        assert!(!part.is_full());
        keep(&mut part, 4, &[5]);
        assert!(part.is_full());
        assert_eq!(lists(&mut part), [(1, true, vec![2, 3])]);
        let mut none = ResidualPart::with_bytes(0, 0).unwrap();
        keep(&mut none, 1, &[]);
        assert!(none.is_full() && lists(&mut none).is_empty());
        let mut beside = ResidualPart::with_bytes(4 * 10, 2).unwrap();
        keep(&mut beside, 1, &[2, 3]);
        keep(&mut beside, 4, &[5]);
        assert!(beside.is_full(), "11 words are needed");
        beside.retain(|_, _| None);
        assert!(beside.reopen());
        keep(&mut beside, 4, &[5]);
        assert_eq!(lists(&mut beside), [(4, true, vec![5])]);
    }
}
