//! The Parametric I/O Model, PIO(M, k_r, k_w, alpha): what concurrency is worth to an application.
//!
//! A read costs 1, a write alpha; the device does k_r reads or k_w writes in the time of one. An
//! application either can batch an operation or cannot, which makes four classes. Formulas:
//! dissertation 3.2.1.

use serde::{Deserialize, Serialize};

/// Which of its operations an application can issue concurrently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppClass {
    /// Unbatchable reads, unbatchable writes: one request after the other.
    UnbatchableBoth,
    /// Unbatchable reads, batchable writes: a buffer pool that writes back several victims.
    BatchableWrites,
    /// Batchable reads, unbatchable writes: a traversal that follows several paths.
    BatchableReads,
    /// Batchable reads and writes: the compaction of an LSM tree.
    BatchableBoth,
}

impl AppClass {
    /// All four classes.
    pub const ALL: [Self; 4] =
        [Self::UnbatchableBoth, Self::BatchableWrites, Self::BatchableReads, Self::BatchableBoth];

    fn batches_reads(self) -> bool {
        matches!(self, Self::BatchableReads | Self::BatchableBoth)
    }

    fn batches_writes(self) -> bool {
        matches!(self, Self::BatchableWrites | Self::BatchableBoth)
    }
}

/// A device as PIO sees it. Costs are in units of one read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pio {
    /// M: bytes of fast memory.
    pub memory_bytes: u64,
    /// Reads that run in the time of one.
    pub k_r: u32,
    /// Writes that run in the time of one.
    pub k_w: u32,
    /// Cost of a write in reads.
    pub alpha: f64,
}

impl Pio {
    /// A device model.
    ///
    /// # Panics
    /// If a concurrency is zero or alpha is not positive and finite.
    pub fn new(memory_bytes: u64, k_r: u32, k_w: u32, alpha: f64) -> Self {
        assert!(k_r > 0 && k_w > 0, "a device does at least one request at a time");
        assert!(alpha.is_finite() && alpha > 0.0, "alpha is positive and finite");
        Self { memory_bytes, k_r, k_w, alpha }
    }

    /// Mean cost of an operation when a share `read_share` (0 to 1) of them are reads, and the
    /// class batches what it can to the device's full concurrency.
    pub fn cost_per_op(&self, class: AppClass, read_share: f64) -> f64 {
        assert!((0.0..=1.0).contains(&read_share), "a share lies between 0 and 1");
        let k_r = if class.batches_reads() { f64::from(self.k_r) } else { 1.0 };
        let k_w = if class.batches_writes() { f64::from(self.k_w) } else { 1.0 };
        read_share / k_r + (1.0 - read_share) * self.alpha / k_w
    }

    /// How many times faster the class is than one that batches nothing.
    pub fn speedup(&self, class: AppClass, read_share: f64) -> f64 {
        self.cost_per_op(AppClass::UnbatchableBoth, read_share)
            / self.cost_per_op(class, read_share)
    }

    /// Cost of `reads` and `writes`: a batch costs as much as one request of its kind, however
    /// full it is, so n batched requests cost ceil(n / k) times that.
    pub fn cost(&self, class: AppClass, reads: u64, writes: u64) -> f64 {
        let read_batches =
            if class.batches_reads() { reads.div_ceil(u64::from(self.k_r)) } else { reads };
        let write_batches =
            if class.batches_writes() { writes.div_ceil(u64::from(self.k_w)) } else { writes };
        read_batches as f64 + write_batches as f64 * self.alpha
    }
}

/// Expected number of a device's `channels` that idle when `requests` fall on them at random:
/// n ((n-1)/n)^m. As many requests as channels leave 37% idle, three times as many leave 5%.
pub fn idle_channels(channels: u32, requests: u32) -> f64 {
    assert!(channels > 0, "a device has a channel");
    let n = f64::from(channels);
    n * ((n - 1.0) / n).powf(f64::from(requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.005, "found {found}, expected {expected}");
    }

    #[test]
    fn speedups_are_those_of_the_dissertation() {
        let even = 0.5;
        close(Pio::new(0, 8, 8, 8.0).speedup(AppClass::BatchableWrites, even), 4.5);
        close(Pio::new(0, 8, 8, 1.0).speedup(AppClass::BatchableWrites, even), 1.78);
        close(Pio::new(0, 8, 8, 1.0).speedup(AppClass::BatchableReads, even), 1.78);
        close(Pio::new(0, 8, 8, 8.0).speedup(AppClass::BatchableReads, even), 1.11);
    }

    #[test]
    fn speedups_match_the_expanded_formulas() {
        for (k_r, k_w, alpha, f_r) in [(80, 8, 2.8, 0.3), (6, 5, 1.1, 0.9), (25, 9, 1.5, 0.0)] {
            let pio = Pio::new(0, k_r, k_w, alpha);
            let (k_r, k_w, f_w) = (f64::from(k_r), f64::from(k_w), 1.0 - f_r);
            close(
                pio.speedup(AppClass::BatchableWrites, f_r),
                1.0 + (k_w - 1.0) * f_w * alpha / (k_w * f_r + f_w * alpha),
            );
            close(
                pio.speedup(AppClass::BatchableReads, f_r),
                1.0 + (k_r - 1.0) * f_r / (f_r + k_r * f_w * alpha),
            );
            close(
                pio.speedup(AppClass::BatchableBoth, f_r),
                k_r * k_w * (f_r + f_w * alpha) / (k_w * f_r + k_r * f_w * alpha),
            );
            close(pio.speedup(AppClass::UnbatchableBoth, f_r), 1.0);
        }
    }

    #[test]
    fn speedup_never_exceeds_the_concurrency() {
        let pio = Pio::new(0, 80, 8, 2.8);
        for step in 0..=100 {
            let share = f64::from(step) / 100.0;
            assert!(pio.speedup(AppClass::BatchableWrites, share) <= 8.0 + 1e-9);
            assert!(pio.speedup(AppClass::BatchableReads, share) <= 80.0 + 1e-9);
            assert!(pio.speedup(AppClass::BatchableBoth, share) >= 1.0 - 1e-9);
        }
    }

    #[test]
    fn half_full_batches_cost_as_much_as_full_ones() {
        let pio = Pio::new(0, 4, 8, 2.0);
        close(pio.cost(AppClass::UnbatchableBoth, 9, 9), 27.0);
        close(pio.cost(AppClass::BatchableWrites, 9, 9), 9.0 + 2.0 * 2.0);
        close(pio.cost(AppClass::BatchableReads, 9, 9), 3.0 + 9.0 * 2.0);
        close(pio.cost(AppClass::BatchableBoth, 9, 9), 3.0 + 2.0 * 2.0);
        close(pio.cost(AppClass::BatchableBoth, 0, 0), 0.0);
    }

    #[test]
    fn idle_channels_are_those_of_the_dissertation() {
        close(idle_channels(1000, 1000) / 1000.0, 0.37);
        close(1.0 - idle_channels(1000, 3000) / 1000.0, 0.95);
        close(idle_channels(1, 1), 0.0);
    }
}
