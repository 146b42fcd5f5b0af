//! Progress and cancellation of a replay, as closures of the caller.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ReplayError, Result};

/// Accesses between two reports.
const REPORT_EVERY: u64 = 1 << 12;

/// Progress of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// `create`, counted in bytes, or `replay`, counted in accesses.
    pub stage: &'static str,
    /// Bytes or accesses done in this stage.
    pub done: u64,
    /// Bytes or accesses of this stage.
    pub total: u64,
}

/// Closures that a replay calls regularly, from any of its threads.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Receives the progress.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Returns whether to stop with [`ReplayError::Cancelled`].
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl Default for Control<'_> {
    /// No reports, no cancellation.
    fn default() -> Self {
        Self { progress: &|_| {}, cancelled: &|| false }
    }
}

impl Control<'_> {
    pub(crate) fn check(&self) -> Result<()> {
        if (self.cancelled)() { Err(ReplayError::Cancelled) } else { Ok(()) }
    }
}

/// Counts the progress of one stage.
pub(crate) struct Meter<'a> {
    pub control: Control<'a>,
    stage: &'static str,
    total: u64,
    done: AtomicU64,
}

impl<'a> Meter<'a> {
    pub fn new(control: Control<'a>, stage: &'static str, total: u64) -> Self {
        (control.progress)(Progress { stage, done: 0, total });
        Self { control, stage, total, done: AtomicU64::new(0) }
    }

    pub fn advance(&self, amount: u64) {
        let before = self.done.fetch_add(amount, Ordering::Relaxed);
        let done = before + amount;
        if before / REPORT_EVERY != done / REPORT_EVERY {
            (self.control.progress)(Progress { stage: self.stage, done, total: self.total });
        }
    }
}
