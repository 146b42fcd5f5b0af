//! The background cleaner: it writes dirty pages before their turn to leave comes.
//!
//! With [`Writer::Cleaner`] it does what InnoDB and LeanStore do, to compare ACE with: it keeps the
//! cold end of the policy's order clean in batches of a fixed size, whatever the device's
//! concurrency. With [`Writer::AceBackground`] it does what ACE does when a victim is dirty, before
//! its frame is needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::config::Writer;
use crate::error::{PoolError, Result};
use crate::handle::Handle;
use crate::policy::{FrameId, Frames as _, HitRecording, Policy};
use crate::pool::Pool;

/// Frames at the cold end, in batches, that a fixed-batch cleaner looks at.
const REACH_BATCHES: usize = 4;

/// How long the thread sleeps when there is nothing to write: at first, and at most when that
/// stays so.
const NAP: Duration = Duration::from_micros(100);
const NAP_MAX: Duration = Duration::from_millis(2);

/// Writes batches of dirty pages ahead of the victims. Belongs to the thread that made it.
#[derive(Debug)]
pub struct Cleaner {
    handle: Handle,
    writer: Writer,
}

impl Cleaner {
    /// A cleaner for a pool whose writer has one.
    ///
    /// # Errors
    /// [`PoolError::Config`] where the writer has none.
    pub fn new(pool: &Arc<Pool>) -> Result<Self> {
        let writer = pool.config().writer;
        if !writer.has_cleaner() {
            let reason = format!("the writer is {writer}: only cleaner and ace-bg have a cleaner");
            return Err(PoolError::Config { reason });
        }
        Ok(Self { handle: pool.handle(), writer })
    }

    /// Starts a batch if none is on its way and one is due; never waits. Pages that it started to
    /// write.
    ///
    /// # Errors
    /// A queue that broke. Pages that could not be written stay dirty.
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
                    pool.leaving_dirty(policy, n_w, pool.reach())
                }
                Some(_) => Vec::new(),
                // A batch is worth its while when at least half of it is there.
                None => {
                    let leaving = pool.leaving_dirty(policy, batch, REACH_BATCHES * batch);
                    if 2 * leaving.len() >= batch { leaving } else { Vec::new() }
                }
            };
            leaving.retain(|&frame| pool.claim(frame));
            leaving
        })
    }

    /// Whether a page that will leave soon is dirty. A list is asked for its next victim: it may
    /// have clean pages to give before, or spare a dirty one once more. A hand would forget uses
    /// each time it is asked, so there the next few frames are looked at.
    fn is_victim_dirty(&self, policy: &mut dyn Policy, n_w: usize) -> bool {
        let pool = self.handle.pool();
        match pool.hit_recording() {
            HitRecording::Ordered => {
                policy.victim(&pool.frames).is_some_and(|frame| pool.frames.is_dirty(frame))
            }
            HitRecording::Counted { .. } => !pool.leaving_dirty(policy, 1, n_w).is_empty(),
        }
    }

    /// Waits until what [`Cleaner::step`] started is written.
    ///
    /// # Errors
    /// A queue that broke.
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
    /// Starts it.
    ///
    /// # Errors
    /// A thread that cannot be had.
    pub fn spawn(pool: &Arc<Pool>) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (pool, stopped) = (Arc::clone(pool), Arc::clone(&stop));
        let clean = move || {
            let mut cleaner = Cleaner::new(&pool)?;
            let mut nap = NAP;
            while !stopped.load(Ordering::Relaxed) {
                if cleaner.step()? == 0 {
                    std::thread::sleep(nap);
                    nap = NAP_MAX.min(nap * 2);
                } else {
                    cleaner.finish()?;
                    nap = NAP;
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
