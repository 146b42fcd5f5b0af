//! Probability mass in fixed point: sums that do not depend on the order of their terms.

/// 2^62 is a mass of 1: sums up to 2 fit, and a term is off by at most 2^-63.
const ONE: f64 = (1u64 << 62) as f64;

/// A mass, 0 to 2, in fixed point.
#[inline(always)]
pub(crate) fn to_fixed(mass: f64) -> u64 {
    (mass * ONE) as u64
}

/// The mass of a fixed-point number.
#[inline(always)]
pub(crate) fn from_fixed(fixed: u64) -> f64 {
    fixed as f64 / ONE
}

/// Steps of the two sums in [`WideSum`]: numbers in a binade are as far apart as the last bit of
/// its least, so adding it rounds to whole steps, and neighbours' bits are consecutive integers.
const HIGH: f64 = 2.0;
const LOW: f64 = 1.5 / (1u64 << 32) as f64;
const HIGH_STEP: f64 = 2.0 / (1u64 << 52) as f64;
const LOW_STEP: f64 = HIGH_STEP / (1u64 << 33) as f64;

/// Neighbours of these are one apart: an integer added to their bits is added to their value, if it
/// is from 0 to 2^52, or, for the second, from -2^51 to 2^51.
const TO_HIGH: f64 = (1u64 << 52) as f64;
const TO_LOW: f64 = 1.5 * (1u64 << 52) as f64;

/// A sum of masses below 2 that is the same however its terms are grouped, with steps of 2^-84:
/// every term is split into whole steps of 2^-51 and of 2^-84, and these are added as integers.
/// As in Demmel and Nguyen, "Fast Reproducible Floating-Point Summation" (ARITH 2013), but with
/// fixed steps, since masses are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WideSum {
    pub high: u64,
    pub low: u64,
}

impl WideSum {
    /// Adds a mass, with the bias that [`Self::without_bias`] removes.
    #[inline(always)]
    pub fn add_biased(&mut self, mass: f64) {
        let high = mass + HIGH;
        self.high = self.high.wrapping_add(high.to_bits());
        let rest = mass - (high - HIGH);
        self.low = self.low.wrapping_add((rest + LOW).to_bits());
    }

    /// Removes the bias of `terms` terms.
    #[inline(always)]
    pub fn without_bias(self, terms: usize) -> Self {
        let terms = terms as u64;
        Self {
            high: self.high.wrapping_sub(HIGH.to_bits().wrapping_mul(terms)),
            low: self.low.wrapping_sub(LOW.to_bits().wrapping_mul(terms)),
        }
    }

    /// The sum of two sums.
    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self { high: self.high.wrapping_add(other.high), low: self.low.wrapping_add(other.low) }
    }

    /// What must be added to `other` for this sum.
    #[inline(always)]
    pub fn minus(self, other: Self) -> Self {
        Self { high: self.high.wrapping_sub(other.high), low: self.low.wrapping_sub(other.low) }
    }

    /// The mass of a sum below 2 of fewer than 2^18 terms, as [`Self::mass`] gives it, without
    /// conversions of integers: a loop over many vectorises. A larger sum yields at least 2.
    #[inline(always)]
    pub fn mass_below_2(self) -> f64 {
        let high = f64::from_bits(self.high.wrapping_add(TO_HIGH.to_bits())) - TO_HIGH;
        let low = f64::from_bits(self.low.wrapping_add(TO_LOW.to_bits())) - TO_LOW;
        high * HIGH_STEP + low * LOW_STEP
    }

    /// The mass.
    #[inline(always)]
    pub fn mass(self) -> f64 {
        self.high as i64 as f64 * HIGH_STEP + self.low as i64 as f64 * LOW_STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(masses: &[f64]) -> WideSum {
        let mut sum = WideSum::default();
        masses.iter().for_each(|&mass| sum.add_biased(mass));
        sum.without_bias(masses.len())
    }

    #[test]
    fn a_wide_sum_is_the_same_in_any_grouping_and_order() {
        let masses: Vec<f64> =
            (1..5_000u32).map(|i| 0.3 / f64::from(i) / f64::from(i % 97 + 1).powi(4)).collect();
        let whole = sum(&masses);
        let mut back = masses.clone();
        back.reverse();
        assert_eq!(whole, sum(&back));
        for cut in [1, 17, 1_000, 4_998] {
            let (a, b) = (sum(&masses[..cut]), sum(&masses[cut..]));
            let both =
                WideSum { high: a.high.wrapping_add(b.high), low: a.low.wrapping_add(b.low) };
            assert_eq!(whole, both, "cut at {cut}");
        }
    }

    #[test]
    fn fast_masses_and_differences_of_sums_are_exact() {
        let masses: Vec<f64> = (1..300u32).map(|i| 0.9 / f64::from(i).powi(3)).collect();
        for terms in 0..masses.len() {
            let all = sum(&masses[..terms]);
            assert_eq!(all.mass_below_2().to_bits(), all.mass().to_bits(), "{terms} terms");
            let less = sum(&masses[..terms / 2]);
            assert_eq!(all.minus(less).and(less), all);
        }
        assert_eq!(sum(&[1.0; 3]).mass_below_2(), 4.0, "at least 2: no mass is lost unseen");
        assert!(sum(&[f64::EPSILON; 2]).mass_below_2() > 0.0);
    }

    #[test]
    fn a_wide_sum_keeps_small_terms_beside_large_ones() {
        assert_eq!(sum(&[1.0, 0.75]).mass(), 1.75);
        assert_eq!(sum(&[]).mass(), 0.0);
        let small = 1.0 / (1u64 << 60) as f64 / 3.0;
        let error = sum(&[small; 1_000]).mass() / (1_000.0 * small) - 1.0;
        assert!(error.abs() < 1e-7, "{error}");
    }
}
