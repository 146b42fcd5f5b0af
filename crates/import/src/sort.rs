//! Radix sort of keys: least significant digits first, in as few passes as their width requires.

use crate::partition::bits;

/// More digit values would miss the cache and the TLB too often.
const DIGIT_BITS_MAX: u32 = 11;
/// Below this many keys the standard sort is faster.
const SMALL: usize = 1 << 10;

/// A sorted record: a key, or a key and its weight, which orders equal keys.
pub(super) trait Record: Copy + Ord + bytemuck::Pod {
    /// A key, and its weight if records have weights.
    fn new(key: u64, weight: u64) -> Self;

    fn key(self) -> u64;

    /// Sorts the records of equal keys.
    fn finish(sorted: &mut [Self]);
}

impl Record for u64 {
    #[inline]
    fn new(key: u64, _: u64) -> Self {
        key
    }

    #[inline]
    fn key(self) -> u64 {
        self
    }

    fn finish(_: &mut [Self]) {}
}

impl Record for [u64; 2] {
    #[inline]
    fn new(key: u64, weight: u64) -> Self {
        [key, weight]
    }

    #[inline]
    fn key(self) -> u64 {
        self[0]
    }

    fn finish(sorted: &mut [Self]) {
        sorted.chunk_by_mut(|a, b| a[0] == b[0]).for_each(|run| {
            if run.len() > 1 {
                run.sort_unstable();
            }
        });
    }
}

/// Sorts `keys`; `scratch` has the same length and is overwritten.
pub(super) fn sort<R: Record>(keys: &mut [R], scratch: &mut [R]) {
    assert_eq!(keys.len(), scratch.len(), "the scratch is as long as the keys");
    if keys.len() <= SMALL {
        keys.sort_unstable();
        return;
    }
    let width = bits(keys.iter().fold(0, |all, key| all | key.key())).max(1);
    let passes = width.div_ceil(DIGIT_BITS_MAX);
    let digit_bits = width.div_ceil(passes);
    let mut in_keys = true;
    for pass in 0..passes {
        let shift = pass * digit_bits;
        let moved = if in_keys {
            scatter(keys, scratch, shift, digit_bits)
        } else {
            scatter(scratch, keys, shift, digit_bits)
        };
        in_keys ^= moved;
    }
    if !in_keys {
        keys.copy_from_slice(scratch);
    }
    R::finish(keys);
}

/// Moves every key to the place of its digit. Does nothing and returns false if all are equal.
fn scatter<R: Record>(from: &[R], to: &mut [R], shift: u32, digit_bits: u32) -> bool {
    let mask = (1u64 << digit_bits) - 1;
    let mut places = [0u32; 1 << DIGIT_BITS_MAX];
    for &key in from {
        places[(key.key() >> shift & mask) as usize % (1 << DIGIT_BITS_MAX)] += 1;
    }
    if places.iter().any(|&count| count as usize == from.len()) {
        return false;
    }
    let mut before = 0;
    for place in &mut places {
        before += std::mem::replace(place, before);
    }
    for &key in from {
        let place = &mut places[(key.key() >> shift & mask) as usize % (1 << DIGIT_BITS_MAX)];
        to[*place as usize] = key;
        *place += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_is_sorted() {
        let mut state = 1u64;
        for width in 1..=64 {
            for len in [0, 1, 1000, 5000] {
                let mut keys: Vec<u64> = (0..len)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                        (state ^ state >> 29) >> (64 - width)
                    })
                    .collect();
                let mut pairs: Vec<_> = keys.iter().map(|&key| [key >> 3, key & 7]).collect();
                let mut oracle = pairs.clone();
                oracle.sort();
                let mut scratch = vec![[0; 2]; pairs.len()];
                sort(&mut pairs, &mut scratch);
                assert_eq!(pairs, oracle, "width {width}, {len} keys with weights");
                let mut oracle = keys.clone();
                oracle.sort();
                let mut scratch = vec![0; keys.len()];
                sort(&mut keys, &mut scratch);
                assert_eq!(keys, oracle, "width {width}, {len} keys");
            }
        }
    }
}
