//! Closures for progress and cancellation of merges and large commits.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cenote_store::{Store, UpdateProgress};

use super::Update;
use crate::error::{Error, Result};
use crate::watch::PERIOD;

type CancelFn = Arc<dyn Fn() -> bool + Send + Sync>;
type ProgressFn = Arc<dyn Fn(UpdateProgress) + Send + Sync>;

#[derive(Clone, Default)]
pub(super) struct UpdateWatch {
    cancel: Option<CancelFn>,
    progress: Option<ProgressFn>,
}

impl fmt::Debug for UpdateWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateWatch").finish_non_exhaustive()
    }
}

impl UpdateWatch {
    /// Returns [`Error::Cancelled`] once the caller cancels.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel())
    }
}

impl Update {
    /// Ends commits, merges, snapshots and the reading of edges with [`Error::Cancelled`] soon
    /// after `cancel` returns true; the graph is then as before, and the changes of the batch wait
    /// for the next commit.
    /// What goes to the log is too short to be cancelled.
    pub fn cancel(&mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) {
        self.watch.cancel = Some(Arc::new(cancel));
    }

    /// Calls `progress` at most ten times a second while a commit, a merge or a snapshot rewrites
    /// lists, or finds the places of a large batch in them.
    pub fn progress(&mut self, progress: impl Fn(UpdateProgress) + Send + Sync + 'static) {
        self.watch.progress = Some(Arc::new(progress));
    }

    /// Does what the caller watches.
    pub(super) fn watched<T>(
        &self,
        work: impl FnOnce(&Store, cenote_store::Watch<'_>) -> cenote_store::Result<T>,
    ) -> cenote_store::Result<T> {
        let (began, next) = (Instant::now(), AtomicU64::new(0));
        work(&self.store, &|now: UpdateProgress| {
            let elapsed = began.elapsed().as_millis() as u64;
            let is_last = now.pages_done == now.pages_total;
            if let Some(progress) = &self.watch.progress
                && (elapsed >= next.load(Ordering::Relaxed) || is_last)
            {
                next.store(elapsed + PERIOD.as_millis() as u64, Ordering::Relaxed);
                progress(now);
            }
            self.watch.is_cancelled()
        })
    }
}
