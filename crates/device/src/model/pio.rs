//! The Parametric I/O Model, PIO(M, k_r, k_w, alpha) (dissertation 3.2.1).
//!
//! A read costs 1, a write alpha; the device does k_r reads or k_w writes in the time of one.

use serde::{Deserialize, Serialize};

/// A device's parameters in PIO.
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
}
