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
    fn a_wide_sum_keeps_small_terms_beside_large_ones() {
        assert_eq!(sum(&[1.0, 0.75]).mass(), 1.75);
        assert_eq!(sum(&[]).mass(), 0.0);
        let small = 1.0 / (1u64 << 60) as f64 / 3.0;
        let error = sum(&[small; 1_000]).mass() / (1_000.0 * small) - 1.0;
        assert!(error.abs() < 1e-7, "{error}");
    }
}
