//! A visit's work on all workers: each takes its fetcher, does its part, and what they read becomes
//! one record.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::Engine;
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Fetcher, Reads};

/// A visit of so few listed pages is done by the calling thread: waking others costs more.
const INLINE_PAGES_MAX: u64 = 24;

impl Engine {
    /// Every worker's part of a visit, and its record; `frontier` is its size, `pages` how many
    /// pages it names.
    pub(crate) fn on_workers<L: Send>(
        &self,
        label: String,
        frontier: Option<u64>,
        pages: Option<u64>,
        work: impl Fn(&mut Reads<'_>) -> Result<L> + Sync,
    ) -> Result<Vec<L>> {
        let _turn = self.begin()?;
        let started_ns = self.clock.now_ns();
        let failed = AtomicBool::new(false);
        let part = || -> Result<(L, Counts)> {
            let mut fetcher = Fetcher::take(self);
            let mut reads = fetcher.reads(self, &failed);
            let worked = work(&mut reads).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            let counts = reads.counts;
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
