//! A concurrent set of vertices, one bit each.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::{HugeVec, Result};
use cenote_store::VertexId;

const BITS: usize = u64::BITS as usize;

/// A lock-free set of vertices. All operations are relaxed: the engine's barriers separate steps.
/// Panics for a vertex beyond its length, as a slice does.
#[derive(Debug)]
pub struct Bitmap {
    words: HugeVec<AtomicU64>,
    len: usize,
}

impl Bitmap {
    /// An empty set over `0..len`.
    pub fn new(len: usize) -> Result<Self> {
        Ok(Self { words: HugeVec::zeroed(len.div_ceil(BITS))?, len })
    }

    /// Bytes of a set over `0..len`.
    pub fn bytes_for(len: usize) -> u64 {
        len.div_ceil(BITS) as u64 * 8
    }

    /// The length of the range `0..len`, not the number of vertices in the set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether `len` is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `v` is in the set.
    #[inline(always)]
    pub fn contains(&self, v: VertexId) -> bool {
        let v = v as usize;
        self.words[v / BITS].load(Ordering::Relaxed) >> (v % BITS) & 1 == 1
    }

    /// Adds `v`; true if it was not in the set. Of several threads that add it, one gets true.
    #[inline(always)]
    pub fn insert(&self, v: VertexId) -> bool {
        let (word, bit) = (v as usize / BITS, 1u64 << (v as usize % BITS));
        self.words[word].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Adds the vertices of `range` for which `has` is true, up to 64 by one access to memory.
    pub fn insert_where(&self, range: Range<VertexId>, mut has: impl FnMut(VertexId) -> bool) {
        for (w, mask) in words_of(range) {
            let bits = vertices_of(w, mask)
                .fold(0, |bits, v| bits | u64::from(has(v)) << (v as usize % BITS));
            if bits != 0 {
                self.words[w].fetch_or(bits, Ordering::Relaxed);
            }
        }
    }

    /// Removes `v`.
    pub fn remove(&self, v: VertexId) {
        let (word, bit) = (v as usize / BITS, 1u64 << (v as usize % BITS));
        self.words[word].fetch_and(!bit, Ordering::Relaxed);
    }

    /// Whether any vertex of `range` is in the set (`inverted`: is not in it).
    pub fn any_in(&self, range: Range<VertexId>, inverted: bool) -> bool {
        let flip = if inverted { u64::MAX } else { 0 };
        words_of(range).any(|(w, mask)| (self.words[w].load(Ordering::Relaxed) ^ flip) & mask != 0)
    }

    /// Removes every vertex of `range` and calls `each` with it. Of several threads, one gets each
    /// vertex.
    pub fn take_in(&self, range: Range<VertexId>, mut each: impl FnMut(VertexId)) {
        for (w, mask) in words_of(range) {
            if self.words[w].load(Ordering::Relaxed) & mask != 0 {
                let old = self.words[w].fetch_and(!mask, Ordering::Relaxed);
                vertices_of(w, old & mask).for_each(&mut each);
            }
        }
    }

    /// Adds every vertex of `other`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn merge(&mut self, other: &Bitmap) {
        assert_eq!(self.len, other.len, "the sets have the same length");
        for (word, more) in self.words.iter_mut().zip(other.words.iter()) {
            *word.get_mut() |= more.load(Ordering::Relaxed);
        }
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        for word in self.words.iter_mut() {
            *word.get_mut() = 0;
        }
    }

    /// How many vertices are in the set.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|w| u64::from(w.load(Ordering::Relaxed).count_ones())).sum()
    }

    /// The vertices of a range that are in the set, ascending.
    pub fn iter_in(&self, range: Range<VertexId>) -> impl Iterator<Item = VertexId> + '_ {
        words_of(range)
            .flat_map(|(w, mask)| vertices_of(w, self.words[w].load(Ordering::Relaxed) & mask))
    }

    /// The vertices of a range that are not in the set, ascending.
    pub fn iter_absent_in(&self, range: Range<VertexId>) -> impl Iterator<Item = VertexId> + '_ {
        words_of(range)
            .flat_map(|(w, mask)| vertices_of(w, !self.words[w].load(Ordering::Relaxed) & mask))
    }

    /// The vertices in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = VertexId> + '_ {
        let words = self.words.iter().enumerate();
        words.flat_map(|(w, word)| vertices_of(w, word.load(Ordering::Relaxed)))
    }
}

/// The words that hold a range of vertices, each with the bits that belong to it.
#[inline]
fn words_of(range: Range<VertexId>) -> impl Iterator<Item = (usize, u64)> {
    let (start, end) = (range.start as usize, range.end as usize);
    let words = if start < end { start / BITS..end.div_ceil(BITS) } else { 0..0 };
    words.map(move |w| {
        let low = if w == start / BITS { u64::MAX << (start % BITS) } else { u64::MAX };
        let high = if w == end / BITS { !(u64::MAX << (end % BITS)) } else { u64::MAX };
        (w, low & high)
    })
}

/// The vertices that the bits of a word stand for, ascending.
#[inline]
fn vertices_of(word: usize, mut bits: u64) -> impl Iterator<Item = VertexId> {
    std::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let bit = bits.trailing_zeros() as usize;
        bits &= bits - 1;
        Some((word * BITS + bit) as VertexId)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn bitmap_agrees_with_a_tree_set(
            len in 1usize..300,
            vertices in proptest::collection::vec(0u32..300, 0..80),
            ranges in proptest::collection::vec((0u32..300, 0u32..300), 0..20),
        ) {
            let bitmap = Bitmap::new(len).unwrap();
            let mut oracle = BTreeSet::new();
            for v in vertices.into_iter().filter(|&v| (v as usize) < len) {
                prop_assert_eq!(bitmap.insert(v), oracle.insert(v));
            }
            let listed: Vec<u32> = oracle.iter().copied().collect();
            prop_assert_eq!(bitmap.iter().collect::<Vec<_>>(), listed);
            prop_assert_eq!(bitmap.count(), oracle.len() as u64);
            for (a, b) in ranges {
                let (a, b) = (a.min(len as u32), b.min(len as u32));
                let inside = a < b && oracle.range(a..b).next().is_some();
                prop_assert_eq!(bitmap.any_in(a..b, false), inside);
                let outside = (a..b).any(|v| !oracle.contains(&v));
                prop_assert_eq!(bitmap.any_in(a..b, true), outside);
                let within: Vec<u32> = bitmap.iter_in(a..b.max(a)).collect();
                let expected: Vec<u32> = oracle.range(a..b.max(a)).copied().collect();
                prop_assert_eq!(within, expected);
                let absent: Vec<u32> = bitmap.iter_absent_in(a..b.max(a)).collect();
                let expected: Vec<u32> = (a..b).filter(|v| !oracle.contains(v)).collect();
                prop_assert_eq!(absent, expected);
                let (thirds, half) = (Bitmap::new(len).unwrap(), len as u32 / 2);
                thirds.insert_where(a..b.max(a), |v| v.is_multiple_of(3));
                thirds.insert_where(0..half, |v| v.is_multiple_of(5));
                let is_in = |v: &u32| {
                    let is_third = (a..b).contains(v) && v.is_multiple_of(3);
                    is_third || *v < half && v.is_multiple_of(5)
                };
                let expected: Vec<u32> = (0..len as u32).filter(is_in).collect();
                prop_assert_eq!(thirds.iter().collect::<Vec<_>>(), expected);
                let mut taken = Vec::new();
                bitmap.take_in(a..b, |v| taken.push(v));
                let inside = |v: &u32| (a..b).contains(v);
                let expected: Vec<u32> = oracle.iter().copied().filter(inside).collect();
                prop_assert_eq!(&taken, &expected);
                expected.iter().for_each(|v| { oracle.remove(v); });
                prop_assert_eq!(bitmap.count(), oracle.len() as u64);
            }
        }
    }
}
