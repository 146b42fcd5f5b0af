//! A counter-based random generator: the n-th number takes as long as the first.
//!
//! It is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014) read at any position: a Weyl sequence through David Stafford's 13th mixer. State
//! is a key and a counter, so any thread can compute any part of a sequence.

/// 2^64 divided by the golden ratio, made odd: the step of the Weyl sequence.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sequence of random numbers. Different `stream`s of one seed are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    key: u64,
}

impl Counter {
    /// Sequence number `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { key: mix(mix(seed.wrapping_add(GOLDEN)) ^ stream.wrapping_mul(GOLDEN)) }
    }

    /// The number at `index`: 64 uniform bits.
    #[inline(always)]
    pub fn at(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// The number at `index`, uniform in `0..bound`.
    ///
    /// Multiply-shift: a bias of at most `bound` / 2^64, below 2^-31 for anything a graph needs.
    #[inline(always)]
    pub fn below(self, index: u64, bound: u64) -> u64 {
        ((u128::from(self.at(index)) * u128::from(bound)) >> 64) as u64
    }
}

/// Stafford's mixer 13: a bijection on 64 bits in which every input bit affects every output bit.
#[inline(always)]
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_splitmix64() {
        // The published reference output for the state 1234567.
        let counter = Counter { key: 1_234_567 };
        assert_eq!(counter.at(1), 6_457_827_717_110_365_317);
        assert_eq!(counter.at(2), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_below_a_bound_spread_evenly() {
        let counter = Counter::new(7, 0);
        let mut counts = [0u64; 10];
        for index in 0..100_000 {
            counts[counter.below(index, 10) as usize] += 1;
        }
        let chi: f64 = counts.iter().map(|&c| (c as f64 - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 33.7, "chi squared {chi} over 9 degrees of freedom, counts {counts:?}");
    }

    #[test]
    fn streams_and_seeds_differ() {
        let first = Counter::new(1, 0);
        assert_ne!(first, Counter::new(1, 1));
        assert_ne!(first, Counter::new(2, 0));
        assert_eq!(first, Counter::new(1, 0));
    }
}
