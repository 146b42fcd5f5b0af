//! Seeded bijections on `0..n` without a table.
//!
//! For a power of two: rounds of invertible steps (add a key, multiply by an odd number, xor the
//! high half into the low one). For any other `n`: the permutation of the next power of two,
//! repeated until the value is below `n` (fewer than two steps on average).

use crate::random::Counter;

const ROUNDS: usize = 4;

/// A bijection on `0..len`.
#[derive(Clone, Debug)]
pub struct Permutation {
    len: u64,
    mask: u64,
    shift: u32,
    keys: [u64; ROUNDS],
    multipliers: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..len` that `random` determines.
    ///
    /// # Panics
    /// If `len` is 0 or above 2^63.
    pub fn new(len: u64, random: Counter) -> Self {
        assert!((1..=1 << 63).contains(&len), "no permutation of {len} elements");
        let bits = len.next_power_of_two().trailing_zeros();
        Self {
            len,
            mask: len.next_power_of_two() - 1,
            shift: bits.div_ceil(2),
            keys: std::array::from_fn(|round| random.at(2 * round as u64)),
            multipliers: std::array::from_fn(|round| random.at(2 * round as u64 + 1) | 1),
        }
    }

    /// The image of `value`.
    #[inline(always)]
    pub fn apply(&self, value: u64) -> u64 {
        debug_assert!(value < self.len);
        let mut image = self.scramble(value);
        while image >= self.len {
            image = self.scramble(image);
        }
        image
    }

    #[inline(always)]
    fn scramble(&self, mut value: u64) -> u64 {
        for round in 0..ROUNDS {
            value = value.wrapping_add(self.keys[round]);
            value = value.wrapping_mul(self.multipliers[round]) & self.mask;
            value ^= value >> self.shift;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_hit_once() {
        for len in (1..200).chain([255, 256, 257, 1 << 16, 100_003]) {
            let permutation = Permutation::new(len, Counter::new(len, 0));
            let mut hit = vec![false; len as usize];
            for value in 0..len {
                let image = permutation.apply(value) as usize;
                assert!(!std::mem::replace(&mut hit[image], true), "{image} twice, len {len}");
            }
        }
    }

    #[test]
    fn neighbours_are_torn_apart() {
        let len = 1 << 20;
        let permutation = Permutation::new(len, Counter::new(3, 0));
        let near = (1..len)
            .filter(|&v| permutation.apply(v).abs_diff(permutation.apply(v - 1)) < len / 1000)
            .count();
        // A random permutation keeps two in a thousand that close.
        assert!((1_500..2_700).contains(&near), "{near} of {len} neighbours stayed close");
    }

    #[test]
    fn high_and_low_bits_of_the_image_are_balanced() {
        let len = 1 << 16;
        let permutation = Permutation::new(len, Counter::new(11, 0));
        for bit in 0..16 {
            let ones = (0..len / 4).filter(|&v| permutation.apply(v) >> bit & 1 == 1).count();
            assert!((7_700..8_700).contains(&ones), "bit {bit}: {ones} of 16384 are set");
        }
    }
}
