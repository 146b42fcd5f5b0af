//! The background cleaner, which writes dirty pages before they are evicted.
//!
//! With [`Writer::Cleaner`] it keeps the cold end of the policy's order clean in batches of a fixed
//! size, as InnoDB and LeanStore do, for comparison with ACE. With [`Writer::AceBackground`] it
//! writes ACE's batches before a handle needs the victim's frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::config::Writer;
use crate::error::{PoolError, Result};
use crate::handle::Handle;
use crate::policy::{FrameId, Frames as _, HitRecording, Policy};
use crate::pool::Pool;

/// Frames at the cold end that a fixed-batch cleaner searches, in batches.
const REACH_BATCHES: usize = 4;

/// Sleep of the thread while there is nothing to write: at first, and at most.
const SLEEP: Duration = Duration::from_micros(100);
const SLEEP_MAX: Duration = Duration::from_millis(2);

/// Writes batches of dirty pages before their eviction. Belongs to the thread that created it.
#[derive(Debug)]
pub struct Cleaner {
    handle: Handle,
    writer: Writer,
}

impl Cleaner {
    /// A cleaner for a pool whose writer uses one.
    ///
    /// # Errors
    /// [`PoolError::Config`] if the writer does not.
    pub fn new(pool: &Arc<Pool>) -> Result<Self> {
        let writer = pool.config().writer;
        if !writer.has_cleaner() {
            let reason = format!("the writer is {writer}: only cleaner and ace-bg have a cleaner");
            return Err(PoolError::Config { reason });
        }
        Ok(Self { handle: pool.handle(), writer })
    }

    /// Starts a batch if none is in flight and one is due; never waits. Returns the number of
    /// pages.
    ///
    /// # Errors
    /// A broken queue. Pages that could not be written stay dirty.
    pub fn step(&mut self) -> Result<usize> {
        if self.handle.writes_pending()? > 0 {
            return Ok(0);
        }
        let claimed = self.due();
        if !claimed.is_empty() {
            self.handle.start_write_back(&claimed)?;
        }
        Ok(claimed.len())
    }

    /// Claims the pages of a batch that is due.
    fn due(&self) -> Vec<FrameId> {
        let (pool, batch) = (self.handle.pool(), self.writer.batch());
        pool.with_policy_locked(|policy| {
            let mut leaving = match self.writer.n_w() {
                // As ACE, before a handle waits.
                Some(n_w) if self.is_victim_dirty(policy, n_w) => {
                    pool.leaving_dirty(policy, n_w, pool.search_limit())
                }
                Some(_) => Vec::new(),
                // A batch is due when at least half of its pages are dirty.
                None => {
                    let leaving = pool.leaving_dirty(policy, batch, REACH_BATCHES * batch);
                    if 2 * leaving.len() >= batch { leaving } else { Vec::new() }
                }
            };
            leaving.retain(|&frame| pool.claim(frame));
            leaving
        })
    }

    /// Whether a page that will be evicted soon is dirty. Policies with a list are asked for the
    /// next victim. A policy with a hand would reset uses by that, so its next few frames are
    /// checked instead.
    fn is_victim_dirty(&self, policy: &mut dyn Policy, n_w: usize) -> bool {
        let pool = self.handle.pool();
        match pool.hit_recording() {
            HitRecording::Ordered => {
                policy.victim(&pool.frames).is_some_and(|frame| pool.frames.is_dirty(frame))
            }
            HitRecording::Counted { .. } => !pool.leaving_dirty(policy, 1, n_w).is_empty(),
        }
    }

    /// Waits for the writes that [`Cleaner::step`] started.
    ///
    /// # Errors
    /// A broken queue.
    pub fn finish(&mut self) -> Result<()> {
        self.handle.write_back(&[]).map(|_| ())
    }
}

/// A [`Cleaner`] on a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct CleanerThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl CleanerThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn spawn(pool: &Arc<Pool>) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (pool, stopped) = (Arc::clone(pool), Arc::clone(&stop));
        let clean = move || {
            let mut cleaner = Cleaner::new(&pool)?;
            let mut sleep = SLEEP;
            while !stopped.load(Ordering::Relaxed) {
                if cleaner.step()? == 0 {
                    std::thread::sleep(sleep);
                    sleep = SLEEP_MAX.min(sleep * 2);
                } else {
                    cleaner.finish()?;
                    sleep = SLEEP;
                }
            }
            cleaner.finish()
        };
        let thread = std::thread::Builder::new().name("cenote-cleaner".to_owned()).spawn(clean);
        let thread = thread
            .map_err(|e| PoolError::Config { reason: format!("no thread for the cleaner: {e}") })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for CleanerThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(fault))) => tracing::warn!("the cleaner stopped early: {fault}"),
            Some(Err(panic)) if !std::thread::panicking() => std::panic::resume_unwind(panic),
            _ => {}
        }
    }
}
