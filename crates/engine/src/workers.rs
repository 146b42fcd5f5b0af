//! Runs a visit on all workers and records what they read.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::Engine;
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Fetcher, Reads};

/// A visit of at most this many raw pages of 4 KiB, or of packed ones with as many entries, runs on
/// one worker: waking the others would cost more.
const INLINE_RAW_PAGES_MAX: u64 = 24;

/// A visit of at most this many pages does not read those again that are still in a buffer.
const REUSING_PAGES_MAX: u64 = 24;

/// A visit, as its records name it.
pub(crate) struct Step {
    pub label: String,
    /// Vertices in the frontier, where that is known.
    pub frontier: Option<u64>,
    /// How many pages are visited, where that is known.
    pub pages: Option<u64>,
    /// How many raw pages of 4 KiB hold their entries, where that is known.
    pub raw_pages: Option<u64>,
}

impl Engine {
    /// Runs `work` on every worker as one visit, and records it. Returns what the workers made.
    pub(crate) fn on_workers<L: Send>(
        &self,
        step: Step,
        work: impl Fn(&mut Reads<'_>) -> Result<L> + Sync,
    ) -> Result<Vec<L>> {
        self.locals(step, &work)
    }

    /// As [`Engine::on_workers`]. Compiled for each type of what workers make, not for each kernel.
    fn locals<L: Send>(
        &self,
        step: Step,
        work: &(dyn Fn(&mut Reads<'_>) -> Result<L> + Sync),
    ) -> Result<Vec<L>> {
        let slots = (0..self.config.threads).map(|_| None);
        let made: Mutex<Vec<Option<L>>> = Mutex::new(slots.collect());
        self.each_worker(step, &|worker, reads| {
            let local = work(reads)?;
            made.lock().expect("no worker panicked")[worker] = Some(local);
            Ok(())
        })?;
        let mut locals = Vec::with_capacity(self.config.threads);
        for local in made.into_inner().expect("no worker panicked") {
            locals.extend(local);
        }
        Ok(locals)
    }

    /// As [`Engine::on_workers`], with the number of the worker. Compiled once, not for each
    /// kernel.
    fn each_worker(
        &self,
        step: Step,
        work: &(dyn Fn(usize, &mut Reads<'_>) -> Result<()> + Sync),
    ) -> Result<()> {
        let _busy = self.begin()?;
        let started_ns = self.clock.now_ns();
        let is_inline = step.raw_pages.is_some_and(|pages| pages <= INLINE_RAW_PAGES_MAX);
        let reuses = step.pages.is_some_and(|pages| pages <= REUSING_PAGES_MAX);
        let failed = AtomicBool::new(false);
        let part = |worker: usize| -> Result<Counts> {
            // What look-ups of this thread have read before is not of this visit.
            let _ = cenote_store::take_run_reads();
            let mut fetcher = Fetcher::take(self);
            let mut reads = fetcher.reads(self, &failed);
            if reuses {
                reads.reuse_buffers();
            }
            work(worker, &mut reads).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            let mut counts = reads.counts;
            let (requests, bytes) = cenote_store::take_run_reads();
            counts.requests += requests;
            counts.bytes += bytes;
            fetcher.put_back(self);
            Ok(counts)
        };
        let outcomes: Vec<Result<Counts>> = if is_inline {
            self.workers.install(|| vec![part(0)])
        } else {
            self.workers.broadcast(|worker| part(worker.index()))
        };
        let mut counts = Counts::default();
        for outcome in outcomes {
            counts += outcome?;
        }
        self.check_cancel()?;
        self.record(step.label, step.frontier, counts, started_ns);
        Ok(())
    }
}
