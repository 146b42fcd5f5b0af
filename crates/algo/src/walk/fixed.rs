//! Weights as integers, so that their sums do not depend on the order.
//!
//! Integers are unchanged. A floating-point number becomes a multiple of a unit, 2^-90 of the least
//! power of two above the largest weight of the graph: rounded down, but a positive weight at least
//! to 1. So weights down to 2^-37 (2^-66 for `f32`) of the largest are exact, and sums of up to
//! 2^38 of them fit 128 bits.

use cenote_engine::{Graph, Weight, WeightNumber, Weights, with_numbers};

use super::long::Contradiction;

/// Bits of the largest weight.
const BITS: i32 = 90;

/// The conversion from a graph's weights to integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// For floating-point numbers: the unit is 2 to the power of this.
    unit: i32,
    largest: f64,
}

impl Scale {
    /// The scale of a graph's weights.
    pub fn new(graph: &Graph) -> Self {
        let largest = graph.superblock().weights.and_then(|weights| weights.max());
        let largest = largest.map_or(0.0, Weight::to_f64);
        let (mantissa, exponent) = parts(largest);
        Self { unit: exponent + (u64::BITS - mantissa.leading_zeros()) as i32 - BITS, largest }
    }

    /// Appends the prefix sums of the weights. An error for a weight that is not between the
    /// smallest and the largest of the superblock.
    pub fn sums(&self, weights: Weights<'_>, sums: &mut Vec<u128>) -> Result<(), Contradiction> {
        let mut sum = 0;
        self.for_each(weights, |share| {
            sum += share;
            sums.push(sum);
        })
    }

    /// Calls `add` with each weight as an integer.
    #[inline(always)]
    pub fn for_each(
        &self,
        weights: Weights<'_>,
        mut add: impl FnMut(u128),
    ) -> Result<(), Contradiction> {
        let mut right = true;
        with_numbers!(weights, numbers => {
            for number in numbers {
                let (is_right, share) = self.share(*number);
                right &= is_right;
                add(share);
            }
        });
        if right { Ok(()) } else { Err(Contradiction) }
    }

    /// The sum of all weights.
    pub fn total(
        &self,
        weights: Weights<'_>,
        scratch: &mut Vec<u128>,
    ) -> Result<u128, Contradiction> {
        scratch.clear();
        self.sums(weights, scratch)?;
        Ok(scratch.last().copied().unwrap_or(0))
    }

    /// One non-negative weight.
    pub fn of(&self, weight: Weight) -> u128 {
        match weight {
            Weight::F32(value) => self.float(f64::from(value)),
            Weight::F64(value) => self.float(value),
            Weight::U32(value) => u128::from(value),
            Weight::I64(value) => u128::from(value.unsigned_abs()),
        }
    }

    /// A weight as an integer, and whether it can be one of the graph.
    #[inline(always)]
    fn share<W: WeightNumber>(&self, number: W) -> (bool, u128) {
        if W::IS_INTEGER {
            let integer = number.bits().cast_signed();
            return (integer >= 0, integer.unsigned_abs().into());
        }
        let value = number.to_f64();
        ((0.0..=self.largest).contains(&value), self.float(value))
    }

    #[inline]
    fn float(&self, value: f64) -> u128 {
        let (mantissa, exponent) = parts(value);
        match exponent - self.unit {
            // Truncates only weights above the largest, which are an error anyway.
            up @ 0.. => (u128::from(mantissa) << up.min(BITS)) & ((1 << BITS) - 1),
            down => {
                let kept = mantissa.checked_shr(down.unsigned_abs()).unwrap_or(0);
                u128::from(kept.max(u64::from(mantissa > 0)))
            }
        }
    }
}

/// Mantissa and exponent of a non-negative number: mantissa times 2^exponent.
#[inline]
fn parts(value: f64) -> (u64, i32) {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = value.to_bits();
    match (bits >> 52 & 0x7FF) as i32 {
        0 => (bits & FRACTION, -1074),
        exponent => (bits & FRACTION | 1 << 52, exponent - 1075),
    }
}

/// A number in `0..total`, from 64 random bits.
#[inline]
pub(super) fn below_total(word: u64, total: u128) -> u128 {
    let word = u128::from(word);
    let (high, low) = (total >> 64, total & u128::from(u64::MAX));
    word * high + ((word * low) >> 64)
}

/// The index of the share that contains `drawn`, given prefix sums.
#[inline]
pub(super) fn index_of(sums: &[u128], drawn: u128) -> usize {
    sums.partition_point(|sum| *sum <= drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(largest: f64) -> Scale {
        let (mantissa, exponent) = parts(largest);
        let unit = exponent + (u64::BITS - mantissa.leading_zeros()) as i32 - BITS;
        Scale { unit, largest }
    }

    #[test]
    fn floats_keep_their_proportions() {
        for largest in [f64::MAX, 1.0, 3.0, 0.1, 5e-324, f64::MIN_POSITIVE, 1e-310] {
            let scale = scale(largest);
            let top = scale.float(largest);
            assert!(top < 1 << BITS, "{largest}");
            assert!(top >= 1 << (BITS - 1), "{largest} gives {top}");
            assert_eq!(scale.float(0.0), 0);
            let half = largest / 2.0;
            if half * 2.0 == largest {
                assert_eq!(scale.float(half) * 2, top, "{largest}");
            }
        }
        assert_eq!(scale(1.0).float(1.5 * 0.5f64.powi(86)), 12);
        assert_eq!(scale(1.0).float(1e-40), 1, "above 0 stays above 0");
        assert_eq!(scale(f64::MAX).float(5e-324), 1);
    }

    #[test]
    fn weights_that_the_superblock_denies_are_seen() {
        let mut sums = Vec::new();
        assert!(scale(1.0).sums(Weights::from(&[0.5, -0.5][..]), &mut sums).is_err());
        assert!(scale(1.0).sums(Weights::from(&[2.0f32][..]), &mut sums).is_err());
        assert!(scale(1.0).sums(Weights::from(&[f64::MAX][..]), &mut sums).is_err());
        assert!(scale(1.0).sums(Weights::from(&[1, i64::MIN][..]), &mut sums).is_err());
        sums.clear();
        scale(0.0).sums(Weights::from(&[0.0f32, 0.0][..]), &mut sums).unwrap();
        scale(7.0).sums(Weights::from(&[i64::MAX][..]), &mut sums).unwrap();
        scale(7.0).sums(Weights::from(&[3u32, 0, 4][..]), &mut sums).unwrap();
        assert_eq!(sums, [0, 0, i64::MAX as u128, 3, 3, 7]);
    }

    #[test]
    fn draws_lie_below_the_total_and_skip_what_weighs_nothing() {
        assert_eq!(below_total(u64::MAX, 1), 0);
        assert_eq!(below_total(u64::MAX, 10), 9);
        assert_eq!(below_total(0, u128::MAX), 0);
        assert!(below_total(u64::MAX, u128::MAX) > u128::MAX - (1 << 65));
        let sums = [0, 0, 5, 5, 9, 9];
        assert_eq!([0, 4, 5, 8].map(|drawn| index_of(&sums, drawn)), [2, 2, 4, 4]);
    }
}
