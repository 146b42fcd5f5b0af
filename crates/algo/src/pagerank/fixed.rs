//! Probability mass in fixed point: sums that do not depend on the order of their terms.

use std::sync::atomic::{AtomicU64, Ordering};

/// 2^62 is one whole: sums up to 2 have room, and a term is off by at most 2^-63.
const ONE: f64 = (1u64 << 62) as f64;

/// A share of the mass, 0 to 2, as an integer.
#[inline(always)]
pub(super) fn to_fixed(mass: f64) -> u64 {
    (mass * ONE) as u64
}

/// The mass of an integer.
#[inline(always)]
pub(super) fn from_fixed(fixed: u64) -> f64 {
    fixed as f64 / ONE
}

/// A sum that several workers add to.
#[derive(Debug, Default)]
pub(super) struct FixedSum(AtomicU64);

impl FixedSum {
    /// Adds what a worker has summed up.
    pub fn add(&self, fixed: u64) {
        self.0.fetch_add(fixed, Ordering::Relaxed);
    }

    /// The sum.
    pub fn mass(&self) -> f64 {
        from_fixed(self.0.load(Ordering::Relaxed))
    }
}
