//! Sums of weights that are the same in any order and grouping.

use cenote_engine::{WeightNumber, Weights, with_numbers};

/// Bits of a weight that go to one bin; the other half of the bin is for carries of 2^32 weights.
const BIN_BITS: u32 = 32;

/// Bins of a sum.
const BINS: usize = 5;

/// The place of the bit of weight 1, counted from that of the least `f64`.
const ONE_PLACE: u32 = 1074;

/// A sum of numbers that are not negative. The bits of each number are added to *bins* of 32 bits
/// of the same places, without carries from one to the next. There are bins for the highest bit
/// that was added and for at least the 128 places below it; what is lower is cut off. A bin that
/// falls out of these never returns, so the sum is a function of the numbers alone; the sum of
/// integers is exact. As the indexed sums of Demmel and Nguyen, "Parallel Reproducible Summation"
/// (IEEE Transactions on Computers, 2015), for numbers without signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct WeightSum {
    /// The highest bin first.
    bins: [u64; BINS],
    /// The place of the highest bin, in bins.
    top: u32,
}

impl WeightSum {
    /// The sum of weights that are not negative.
    pub fn of(weights: Weights<'_>) -> Self {
        let mut sum = Self::default();
        with_numbers!(weights, numbers => sum.add_all(numbers));
        sum
    }

    fn add_all<W: WeightNumber>(&mut self, numbers: &[W]) {
        let bits = numbers.iter().map(|number| number.bits());
        match (W::IS_INTEGER, size_of::<W>() < size_of::<u64>()) {
            (false, _) => numbers.iter().for_each(|number| self.add_float(number.to_f64())),
            (true, true) => self.add(bits.sum(), 0),
            (true, false) => bits.for_each(|bits| self.add(bits, 0)),
        }
    }

    fn add_float(&mut self, value: f64) {
        const FRACTION: u64 = (1 << 52) - 1;
        let bits = value.to_bits();
        match (bits >> 52 & 0x7FF) as i32 {
            0 => self.add(bits & FRACTION, -(ONE_PLACE as i32)),
            exponent => self.add(bits & FRACTION | 1 << 52, exponent - 1075),
        }
    }

    /// Adds `number` times two to the power of `exponent`, which is -1074 or more.
    #[inline(always)]
    fn add(&mut self, number: u64, exponent: i32) {
        if number == 0 {
            return;
        }
        let place = ONE_PLACE.wrapping_add_signed(exponent);
        let lowest = place / BIN_BITS;
        let bits = u128::from(number) << (place % BIN_BITS);
        let highest = lowest + bits.ilog2() / BIN_BITS;
        if highest > self.top {
            self.raise(highest);
        }
        for bin in lowest..=highest {
            let part = (bits >> ((bin - lowest) * BIN_BITS)) as u32;
            if let Some(sum) = self.bins.get_mut((self.top - bin) as usize) {
                *sum += u64::from(part);
            }
        }
    }

    /// Makes `top` the highest bin; it is not below the present one.
    fn raise(&mut self, top: u32) {
        let by = ((top - self.top) as usize).min(BINS);
        self.bins.copy_within(..BINS - by, by);
        self.bins[..by].fill(0);
        self.top = top;
    }

    /// The sum of two sums.
    pub fn and(mut self, mut other: Self) -> Self {
        let top = self.top.max(other.top);
        self.raise(top);
        other.raise(top);
        self.bins.iter_mut().zip(other.bins).for_each(|(sum, more)| *sum += more);
        self
    }

    /// The sum, rounded once to the nearest; infinite if it does not fit.
    pub fn value(self) -> f64 {
        let [first, second, third, fourth, fifth] = self.bins.map(u128::from);
        let low = (fourth << BIN_BITS) + fifth;
        let high = (first << (2 * BIN_BITS)) + (second << BIN_BITS) + third + (low >> 64);
        // The first bin is not empty, so the last of 65 bits or more can stand for all that follow.
        let is_inexact = low as u64 > 0;
        let digits = (high | u128::from(is_inexact)) as f64;
        let exponent = (self.top * BIN_BITS) as i32 - (2 * BIN_BITS + ONE_PLACE) as i32;
        // Two factors, because one may be too small for `f64`. The first product has all digits,
        // and a number below the normal ones has so few that the second one has them too.
        let half = exponent / 2;
        digits * power_of_two(half) * power_of_two(exponent - half)
    }
}

/// Two to the power of an exponent from -1022 to 1023.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(weights: &[f64]) -> f64 {
        WeightSum::of(Weights::from(weights)).value()
    }

    #[test]
    fn single_weights_are_their_own_sums() {
        for weight in [0.0, 5e-324, 1e-310, f64::MIN_POSITIVE, 0.1, 1.0, 3.5e17, 1e300, f64::MAX] {
            assert_eq!(value(&[weight]), weight);
            assert_eq!(value(&[0.0, weight, -0.0]), weight);
        }
        assert_eq!(WeightSum::of(Weights::from(&[0.1f32][..])).value(), f64::from(0.1f32));
        assert_eq!(
            WeightSum::of(Weights::from(&[u32::MAX; 3][..])).value(),
            3.0 * f64::from(u32::MAX)
        );
        let largest = [i64::MAX; 4];
        assert_eq!(WeightSum::of(Weights::from(&largest[..])).value(), 2f64.powi(65));
    }

    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(value(&[0.1; 10]), 1.0);
        assert_eq!(value(&[1e16, 1.0, 1.0]), 1e16 + 2.0);
        // Half a unit is rounded to even, and a little more than half up.
        let half = 2f64.powi(-53);
        assert_eq!(value(&[1.0, half]), 1.0);
        assert_eq!(value(&[1.0, half, 2f64.powi(-100)]), 1.0 + 2.0 * half);
        assert_eq!(value(&[5e-324; 3]), 1.5e-323);
        assert_eq!(value(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(value(&[1e300, 1e-300, 1e-300]), 1e300);
    }

    /// Numbers of any size, some close to each other.
    fn numbers() -> impl Strategy<Value = Vec<f64>> {
        let any = (0u64..0x7FF0_0000_0000_0000).prop_map(f64::from_bits);
        let near = (0u64..1 << 53, -80..80i32).prop_map(|(bits, e)| bits as f64 * 2f64.powi(e));
        prop::collection::vec(prop_oneof![any, near], 0..40)
    }

    proptest! {
        #[test]
        fn a_sum_is_the_same_in_any_order_and_grouping(
            (numbers, shuffled) in
                numbers().prop_flat_map(|n| (Just(n.clone()), Just(n).prop_shuffle())),
            cut in 0usize..40,
        ) {
            let whole = WeightSum::of(Weights::from(&numbers[..]));
            let (left, right) = shuffled.split_at(cut.min(shuffled.len()));
            let [left, right] = [left, right].map(|part| WeightSum::of(Weights::from(part)));
            prop_assert_eq!(whole, left.and(right));
            prop_assert_eq!(whole, right.and(left));
        }

        #[test]
        fn sums_of_integers_are_exact(numbers in prop::collection::vec(0..i64::MAX, 0..40)) {
            let exact: u128 = numbers.iter().map(|n| n.unsigned_abs() as u128).sum();
            prop_assert_eq!(WeightSum::of(Weights::from(&numbers[..])).value(), exact as f64);
        }

        #[test]
        fn sums_near_each_other_are_rounded_to_the_nearest(
            numbers in prop::collection::vec((0u64..1 << 53, 0..40i32), 0..40),
        ) {
            let exact: u128 = numbers.iter().map(|&(bits, e)| u128::from(bits) << e).sum();
            let floats = |unit: i32| -> Vec<f64> {
                numbers.iter().map(|&(bits, e)| bits as f64 * 2f64.powi(e + unit)).collect()
            };
            for unit in [-300, -40, 0, 17, 500] {
                prop_assert_eq!(value(&floats(unit)), exact as f64 * 2f64.powi(unit));
            }
        }
    }
}
