//! A set of vertices, one bit each, that threads add to without locks.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::{HugeVec, Result};
use cenote_store::VertexId;

const BITS: usize = u64::BITS as usize;

/// A bit per vertex. All operations are relaxed: steps are separated by the engine's barriers.
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

    /// Bytes that a set over `len` vertices takes.
    pub fn bytes_for(len: usize) -> u64 {
        len.div_ceil(BITS) as u64 * 8
    }

    /// Vertices it ranges over.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it ranges over no vertex at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `v` is in the set.
    #[inline(always)]
    pub fn contains(&self, v: VertexId) -> bool {
        let v = v as usize;
        self.words[v / BITS].load(Ordering::Relaxed) >> (v % BITS) & 1 == 1
    }

    /// Adds `v`; true where it was not there before. Of many threads that add it, one is told so.
    #[inline(always)]
    pub fn insert(&self, v: VertexId) -> bool {
        let (word, bit) = (v as usize / BITS, 1u64 << (v as usize % BITS));
        self.words[word].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Takes `v` out.
    pub fn remove(&self, v: VertexId) {
        let (word, bit) = (v as usize / BITS, 1u64 << (v as usize % BITS));
        self.words[word].fetch_and(!bit, Ordering::Relaxed);
    }

    /// Whether any vertex of `range` is in the set (`inverted`: is not in it).
    pub fn any_in(&self, range: Range<VertexId>, inverted: bool) -> bool {
        if range.is_empty() {
            return false;
        }
        let (first, last) = (range.start as usize, range.end as usize - 1);
        let (first_word, last_word) = (first / BITS, last / BITS);
        let flip = if inverted { u64::MAX } else { 0 };
        (first_word..=last_word).any(|w| {
            let mut bits = self.words[w].load(Ordering::Relaxed) ^ flip;
            if w == first_word {
                bits &= u64::MAX << (first % BITS);
            }
            if w == last_word {
                bits &= u64::MAX >> (BITS - 1 - last % BITS);
            }
            bits != 0
        })
    }

    /// Takes every vertex of `range` out, and tells `each`. Of many threads that do so, one is told
    /// of a vertex.
    pub fn take_in(&self, range: Range<VertexId>, mut each: impl FnMut(VertexId)) {
        let mut from = range.start;
        while from < range.end {
            let word = from as usize / BITS;
            let next = ((word + 1) * BITS).min(range.end as usize);
            let low = u64::MAX << (from as usize % BITS);
            let high = u64::MAX >> (BITS - 1 - (next - 1) % BITS);
            if self.words[word].load(Ordering::Relaxed) & low & high != 0 {
                let old = self.words[word].fetch_and(!(low & high), Ordering::Relaxed);
                let mut bits = old & low & high;
                while bits != 0 {
                    let bit = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    each(VertexId::try_from(word * BITS + bit).expect("vertex ids are u32"));
                }
            }
            from = VertexId::try_from(next).unwrap_or(range.end);
        }
    }

    /// Adds every vertex of `other`, a set over the same vertices.
    pub fn merge(&mut self, other: &Bitmap) {
        assert_eq!(self.len, other.len, "sets over the same vertices are merged");
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
        let words = range.start as usize / BITS..(range.end as usize).div_ceil(BITS);
        words
            .flat_map(move |w| {
                let mut bits = self.words[w].load(Ordering::Relaxed);
                std::iter::from_fn(move || {
                    if bits == 0 {
                        return None;
                    }
                    let bit = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    Some((w * BITS + bit) as VertexId)
                })
            })
            .skip_while({
                let start = range.start;
                move |v| *v < start
            })
            .take_while(move |v| *v < range.end)
    }

    /// The vertices in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = VertexId> + '_ {
        self.words.iter().enumerate().flat_map(|(w, word)| {
            let mut bits = word.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                if bits == 0 {
                    return None;
                }
                let bit = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                Some(VertexId::try_from(w * BITS + bit).expect("vertex ids are u32"))
            })
        })
    }
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
