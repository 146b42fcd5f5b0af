//! Runs a visit on all workers and records what they read.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::Engine;
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Fetcher, Reads};

/// A visit of at most this many pages runs on one worker: waking the others would cost more.
const INLINE_PAGES_MAX: u64 = 24;

impl Engine {
    /// Runs `work` on every worker as one visit, and records it. `frontier`: vertices in the
    /// frontier, `pages`: how many pages are visited, where that is known.
    pub(crate) fn on_workers<L: Send>(
        &self,
        label: String,
        frontier: Option<u64>,
        pages: Option<u64>,
        work: impl Fn(&mut Reads<'_>) -> Result<L> + Sync,
    ) -> Result<Vec<L>> {
        let _busy = self.begin()?;
        let started_ns = self.clock.now_ns();
        let failed = AtomicBool::new(false);
        let part = || -> Result<(L, Counts)> {
            // What look-ups of this thread have read before is not of this visit.
            let _ = cenote_store::take_run_reads();
            let mut fetcher = Fetcher::take(self);
            let mut reads = fetcher.reads(self, &failed);
            let worked = work(&mut reads).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            let mut counts = reads.counts;
            let (requests, bytes) = cenote_store::take_run_reads();
            counts.requests += requests;
            counts.bytes += bytes;
            fetcher.put_back(self);
            Ok((worked, counts))
        };
        let inline = pages.is_some_and(|pages| pages <= INLINE_PAGES_MAX);
        let outcomes: Vec<Result<(L, Counts)>> = if inline {
            self.workers.install(|| vec![part()])
        } else {
            self.workers.broadcast(|_| part())
        };
        let mut counts = Counts::default();
        let mut locals = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            let (local, counted) = outcome?;
            locals.push(local);
            counts += counted;
        }
        self.check_cancel()?;
        self.record(label, frontier, counts, started_ns);
        Ok(locals)
    }
}
