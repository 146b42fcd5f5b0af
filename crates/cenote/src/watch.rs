//! Closures for progress and cancellation.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cenote_device::wrapper::IoBudget;
use cenote_engine::Cancel;

use crate::error::{Error, Result};

/// The least time between two calls of a progress closure.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);

type CancelFn = Arc<dyn Fn() -> bool + Send + Sync>;
type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Time since its start.
    pub elapsed: Duration,
    /// Bytes read from the graph since then, including reads of other runs on it.
    pub bytes_read: u64,
    /// Estimated bytes of the run.
    pub bytes_expected: u64,
}

/// For reading inputs: ends it when the closure returns true, and reports nothing.
pub(crate) struct CancelledBy<F>(pub F);

impl<F: Fn() -> bool + Sync> cenote_import::Progress for CancelledBy<F> {
    fn begin(&self, _: cenote_import::Phase, _: Option<u64>) {}

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        (self.0)()
    }
}

/// The caller's closures for progress and cancellation.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    cancel: Option<CancelFn>,
    progress: Option<ProgressFn>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Watch {
    pub fn set_cancel(&mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) {
        self.cancel = Some(Arc::new(cancel));
    }

    pub fn set_progress(&mut self, progress: impl Fn(Progress) + Send + Sync + 'static) {
        self.progress = Some(Arc::new(progress));
    }

    pub fn has_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Returns [`Error::Cancelled`] once the caller cancels.
    pub fn check(&self) -> Result<()> {
        match &self.cancel {
            Some(cancel) if cancel() => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }

    /// The cancellation for the engine.
    pub fn for_engine(&self) -> Cancel {
        match &self.cancel {
            Some(cancel) => {
                let cancel = Arc::clone(cancel);
                Cancel::when(move || cancel())
            }
            None => Cancel::default(),
        }
    }

    /// The cancellation for a run, which also reports progress whenever the engine checks it.
    pub fn for_run(&self, budgets: Vec<Arc<IoBudget>>, bytes_expected: u64) -> Cancel {
        let Some(progress) = self.progress.clone() else { return self.for_engine() };
        let (watch, started) = (self.clone(), Instant::now());
        let read = move || budgets.iter().map(|budget| budget.stats().reads.bytes).sum::<u64>();
        let (before, next) = (read(), AtomicU64::new(0));
        Cancel::when(move || {
            let elapsed = started.elapsed();
            let (now, due) = (elapsed.as_millis() as u64, next.load(Ordering::Relaxed));
            let then = now + PERIOD.as_millis() as u64;
            let is_due = now >= due
                && next.compare_exchange(due, then, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if is_due {
                progress(Progress { elapsed, bytes_read: read() - before, bytes_expected });
            }
            watch.check().is_err()
        })
    }
}
