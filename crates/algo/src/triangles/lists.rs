//! Oriented lists in memory, adjacent in slabs of one array.

use std::sync::{Mutex, PoisonError};

use cenote_engine::{HugeVec, prefetch};

use crate::report::Result;

/// Ranks below this take two bytes. Most entries point to vertices of high degree, of low rank.
pub(crate) const NEAR: u32 = u16::MAX as u32;

/// The place of a list that is not in memory.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The fewest words of a slab; small enough to balance the workers.
const SLAB_WORDS_MIN: u64 = 1 << 14;

/// A list takes at most `1 / LIST_SHARE` of a slab, so little space is left at its end.
const LIST_SHARE: u64 = 8;

const HEADER_WORDS: u64 = 3;

/// Words of a list: rank and lengths; near ranks, two a word; far ranks; bits where `doubles`.
pub(crate) fn words_of(near: u64, far: u64, doubles: bool) -> u64 {
    let flags = if doubles { (near + far).div_ceil(32) } else { 0 };
    HEADER_WORDS + near.div_ceil(2) + far + flags
}

/// The neighbours of a vertex of lower rank, near ones first. Lists in arenas ascend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Oriented<'a> {
    pub rank: u32,
    pub near: &'a [u16],
    pub far: &'a [u32],
    doubles: &'a [u32],
    pub ascends: bool,
}

impl<'a> Oriented<'a> {
    fn parse(words: &'a [u32], doubles: bool) -> (Self, usize) {
        let (near, far) = (words[1] as usize, words[2] as usize);
        let (near_from, far_from) =
            (HEADER_WORDS as usize, HEADER_WORDS as usize + near.div_ceil(2));
        let far_to = far_from + far;
        let to = words_of(near as u64, far as u64, doubles) as usize;
        let list = Self {
            rank: words[0],
            near: &bytemuck::cast_slice(&words[near_from..far_from])[..near],
            far: &words[far_from..far_to],
            doubles: &words[far_to..to],
            ascends: true,
        };
        (list, to)
    }

    pub fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// Whether the edge to the `i`-th entry runs both ways.
    #[inline(always)]
    pub fn is_double(&self, i: usize) -> bool {
        self.doubles[i / 32] >> (i % 32) & 1 == 1
    }

    /// All ranks.
    #[inline(always)]
    pub fn ranks(&self) -> impl Iterator<Item = u32> + 'a {
        self.near.iter().map(|&rank| u32::from(rank)).chain(self.far.iter().copied())
    }

    /// How many entries may be less than the `i`-th: those before it, if the list ascends.
    #[inline(always)]
    pub fn below(&self, i: usize) -> usize {
        if self.ascends { i } else { self.len() }
    }

    /// The position of `rank` in the list, which ascends.
    #[inline(always)]
    pub fn position(&self, rank: u32) -> Option<usize> {
        match u16::try_from(rank) {
            Ok(near) if rank < NEAR => self.near.binary_search(&near).ok(),
            _ => self.far.binary_search(&rank).ok().map(|i| self.near.len() + i),
        }
    }
}

/// Slabs of lists. Places of lists are in units of `unit` words.
pub(crate) struct Arena {
    words: HugeVec<u32>,
    /// Words in use of each slab.
    used: Vec<usize>,
    slab_words: usize,
    list_words_max: u64,
    unit: u64,
    doubles: bool,
}

/// The properties that all arenas of a run share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub list_words_max: u64,
    pub unit: u64,
    pub doubles: bool,
}

impl Shape {
    fn slab_words(&self) -> u64 {
        (LIST_SHARE * self.list_words_max).max(SLAB_WORDS_MIN).next_multiple_of(self.unit)
    }

    /// Bytes of an arena for any lists of `words` in total, filled by `workers`.
    pub fn bytes_for(&self, words: u64, workers: usize) -> u64 {
        let usable = self.slab_words() - self.list_words_max;
        (words.div_ceil(usable) + workers as u64) * (4 * self.slab_words() + 8)
    }
}

impl Arena {
    /// An empty arena of at most `bytes`. Memory is allocated as it is filled.
    pub fn new(shape: Shape, bytes: u64) -> Result<Self> {
        let slab_words = shape.slab_words() as usize;
        let slabs = (bytes / (4 * slab_words as u64 + 8)) as usize;
        Ok(Self {
            words: HugeVec::zeroed(slabs * slab_words)?,
            used: vec![0; slabs],
            slab_words,
            list_words_max: shape.list_words_max,
            unit: shape.unit,
            doubles: shape.doubles,
        })
    }

    /// Words of lists that certainly fit, however they are distributed: a slab is closed when the
    /// longest list may not fit, and every worker but one may leave a slab that it has just begun.
    pub fn room(&self, workers: usize) -> u64 {
        let usable = |used: usize| {
            (self.slab_words - used).saturating_sub(self.list_words_max as usize) as u64
        };
        let all: u64 = self.used.iter().map(|&used| usable(used)).sum();
        all.saturating_sub((workers as u64 - 1) * usable(0))
    }

    pub fn clear(&mut self) {
        self.used.fill(0);
    }

    pub fn slabs(&self) -> usize {
        self.used.len()
    }

    /// The lists of a slab, in the order of writing.
    pub fn lists(&self, slab: usize) -> impl Iterator<Item = Oriented<'_>> {
        let start = slab * self.slab_words;
        let mut words = &self.words[start..start + self.used[slab]];
        let unit = self.unit as usize;
        std::iter::from_fn(move || {
            if words.is_empty() {
                return None;
            }
            let (list, taken) = Oriented::parse(words, self.doubles);
            words = &words[taken.next_multiple_of(unit)..];
            Some(list)
        })
    }

    /// Fetches the list at a place into the cache, if it is short.
    #[inline(always)]
    pub fn prefetch_at(&self, place: u32) {
        prefetch(&self.words, (u64::from(place) * self.unit) as usize);
    }

    /// The list at a place that [`ListWriter::write`] returned.
    #[inline(always)]
    pub fn list_at(&self, place: u32) -> Oriented<'_> {
        Oriented::parse(self.words_at(place), self.doubles).0
    }

    /// The words from a place on.
    #[inline(always)]
    pub fn words_at(&self, place: u32) -> &[u32] {
        &self.words[(u64::from(place) * self.unit) as usize..]
    }

    /// The slabs with space, for workers to fill.
    pub fn supply(&mut self) -> Supply<'_> {
        let list_words_max = self.list_words_max as usize;
        let (unit, slab_words) = (self.unit, self.slab_words);
        let slabs = self.words.chunks_exact_mut(slab_words).zip(&self.used).enumerate();
        let with_room = slabs.filter(|(_, (_, used))| *used + list_words_max <= slab_words);
        let mut slabs: Vec<Slab<'_>> =
            with_room.map(|(index, (words, &used))| Slab { index, words, used }).collect();
        slabs.reverse();
        Supply { slabs: Mutex::new(slabs), unit, slab_words, doubles: self.doubles }
    }

    /// Takes back the slabs that workers have written; false if something did not fit.
    pub fn settle(&mut self, written: impl IntoIterator<Item = Written>) -> bool {
        let mut fitted = true;
        for Written { slabs, overflown } in written {
            slabs.into_iter().for_each(|(slab, used)| self.used[slab] = used);
            fitted &= !overflown;
        }
        fitted
    }
}

/// A part of an arena that one worker fills.
struct Slab<'a> {
    index: usize,
    words: &'a mut [u32],
    used: usize,
}

/// Slabs with space, shared by workers.
pub(crate) struct Supply<'a> {
    slabs: Mutex<Vec<Slab<'a>>>,
    unit: u64,
    slab_words: usize,
    doubles: bool,
}

/// The slabs that a worker has filled, with the words in use.
pub(crate) struct Written {
    slabs: Vec<(usize, usize)>,
    overflown: bool,
}

/// Writes lists of one worker into slabs.
pub(crate) struct ListWriter<'a> {
    slab: Option<Slab<'a>>,
    written: Written,
}

impl<'a> ListWriter<'a> {
    pub fn new() -> Self {
        Self { slab: None, written: Written { slabs: Vec::new(), overflown: false } }
    }

    pub fn finish(mut self) -> Written {
        self.close_slab();
        self.written
    }

    fn close_slab(&mut self) {
        if let Some(slab) = self.slab.take() {
            self.written.slabs.push((slab.index, slab.used));
        }
    }

    /// Allocates words; returns their place. None if no slab is left, which happens only if degrees
    /// contradict the lists.
    pub fn reserve(&mut self, supply: &Supply<'a>, words: usize) -> Option<(u32, &mut [u32])> {
        let words = words.next_multiple_of(supply.unit as usize);
        let fits = |slab: &Slab<'_>| slab.used + words <= slab.words.len();
        if !self.slab.as_ref().is_some_and(fits) {
            self.close_slab();
            let mut slabs = supply.slabs.lock().unwrap_or_else(PoisonError::into_inner);
            self.slab = slabs.pop().filter(fits);
        }
        let Some(slab) = &mut self.slab else {
            self.written.overflown = true;
            return None;
        };
        let (from, to) = (slab.used, slab.used + words);
        slab.used = to;
        let place = (slab.index * supply.slab_words + from) as u64 / supply.unit;
        Some((place as u32, &mut slab.words[from..to]))
    }

    /// Writes a list of ascending ranks; `doubles` says of which both ways are edges, and is used
    /// if the arena keeps that. Returns its place.
    pub fn write(
        &mut self,
        supply: &Supply<'a>,
        rank: u32,
        ranks: &[u32],
        doubles: &[bool],
    ) -> Option<u32> {
        let doubles = supply.doubles.then_some(doubles);
        let lengths = Lengths::of(ranks);
        let (place, out) = self.reserve(supply, lengths.words(supply.doubles) as usize)?;
        lengths.encode(out, rank, ranks, doubles);
        Some(place)
    }
}

/// How many ranks of a list are near, and how many are not.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    near: usize,
    far: usize,
}

impl Lengths {
    /// Of ascending ranks.
    pub fn of(ranks: &[u32]) -> Self {
        let near = ranks.partition_point(|&rank| rank < NEAR);
        Self { near, far: ranks.len() - near }
    }

    /// Words of the list.
    pub fn words(self, doubles: bool) -> u64 {
        words_of(self.near as u64, self.far as u64, doubles)
    }

    fn encode(self, out: &mut [u32], rank: u32, ranks: &[u32], doubles: Option<&[bool]>) {
        let Self { near, far } = self;
        out[..HEADER_WORDS as usize].copy_from_slice(&[rank, near as u32, far as u32]);
        let (near_out, rest) = out[HEADER_WORDS as usize..].split_at_mut(near.div_ceil(2));
        let near_out: &mut [u16] = bytemuck::cast_slice_mut(near_out);
        for (out, &rank) in near_out.iter_mut().zip(&ranks[..near]) {
            *out = rank as u16;
        }
        rest[..far].copy_from_slice(&ranks[near..]);
        if let Some(doubles) = doubles {
            let flags = &mut rest[far..far + ranks.len().div_ceil(32)];
            flags.fill(0);
            for i in (0..ranks.len()).filter(|&i| doubles[i]) {
                flags[i / 32] |= 1 << (i % 32);
            }
        }
    }
}

/// A list in no arena. The next one takes its memory over.
#[derive(Default)]
pub(super) struct OneList {
    words: Vec<u32>,
    /// Of lists in no order.
    near: Vec<u16>,
}

impl OneList {
    /// Replaces the list by that of these ranks, in no order.
    pub fn set_unsorted(&mut self, rank: u32, ranks: &[u32]) -> Oriented<'_> {
        if self.words.len() < ranks.len() {
            self.words.resize(ranks.len(), 0);
            self.near.resize(ranks.len(), 0);
        }
        let (mut near, mut far) = (0, 0);
        for &rank in ranks {
            // One of the two is overwritten.
            self.near[near] = rank as u16;
            self.words[far] = rank;
            near += usize::from(rank < NEAR);
            far += usize::from(rank >= NEAR);
        }
        let (near, far) = (&self.near[..near], &self.words[..far]);
        Oriented { rank, near, far, doubles: &[], ascends: false }
    }

    /// Replaces the list by that of these ascending ranks.
    pub fn set(&mut self, rank: u32, ranks: &[u32], doubles: Option<&[bool]>) -> Oriented<'_> {
        let lengths = Lengths::of(ranks);
        let words = lengths.words(doubles.is_some()) as usize;
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        lengths.encode(&mut self.words[..words], rank, ranks, doubles);
        Oriented::parse(&self.words, doubles.is_some()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_has_room_for_what_its_bytes_were_computed_for() {
        for workers in [1, 2, 8, 9, 64, 512] {
            for (list_words_max, unit) in [(3, 1), (1_000, 4), (40_000, 8)] {
                let shape = Shape { list_words_max, unit, doubles: false };
                let (slab, usable) = (shape.slab_words(), shape.slab_words() - list_words_max);
                for words in [1, list_words_max, usable, usable + 1, 3 * slab] {
                    let arena = Arena::new(shape, shape.bytes_for(words, workers)).unwrap();
                    let room = arena.room(workers);
                    assert!(room >= words, "{workers} workers, {words} words of {shape:?}: {room}");
                }
            }
        }
    }

    #[test]
    fn lists_that_have_room_fit_however_workers_share_slabs() {
        let (workers, shape) = (9, Shape { list_words_max: 256, unit: 4, doubles: false });
        let mut arena = Arena::new(shape, shape.bytes_for(5_000, workers)).unwrap();
        let mut left = arena.room(workers);
        let supply = arena.supply();
        let mut writers: Vec<ListWriter<'_>> = (0..workers).map(|_| ListWriter::new()).collect();
        // All but one begin a slab and go no further.
        for writer in &mut writers[1..] {
            assert!(writer.reserve(&supply, 1).is_some());
            left -= 4;
        }
        for words in [256, 252, 200, 4].iter().cycle() {
            let Some(after) = left.checked_sub(*words) else { break };
            assert!(writers[0].reserve(&supply, *words as usize).is_some(), "{left} words left");
            left = after;
        }
    }
}
