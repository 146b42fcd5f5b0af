//! The background cleaner: what InnoDB and LeanStore do, to compare ACE with.
//!
//! It looks at the cold end of the policy's order and writes the dirty pages there in batches of a
//! fixed size, whatever the device's concurrency, so that victims are clean when their turn comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::config::Writer;
use crate::error::{PoolError, Result};
use crate::handle::Handle;
use crate::pool::Pool;

/// Frames at the cold end, in batches, that are kept clean.
const REACH_BATCHES: usize = 4;

/// How long the thread sleeps when there is too little to write.
const NAP: Duration = Duration::from_micros(200);

/// Writes batches of dirty pages ahead of the victims. Belongs to the thread that made it.
#[derive(Debug)]
pub struct Cleaner {
    handle: Handle,
    batch: usize,
}

impl Cleaner {
    /// A cleaner for a pool whose writer is [`Writer::Cleaner`].
    ///
    /// # Errors
    /// [`PoolError::Config`] where the writer is another.
    pub fn new(pool: &Arc<Pool>) -> Result<Self> {
        let Writer::Cleaner { batch } = pool.config().writer else {
            let reason = format!("the writer is {}, which has no cleaner", pool.config().writer);
            return Err(PoolError::Config { reason });
        };
        Ok(Self { handle: pool.handle(), batch })
    }

    /// Starts a batch if none is on its way and half of one is dirty at the cold end; never waits.
    /// Pages that it started to write.
    ///
    /// # Errors
    /// A queue that broke. Pages that could not be written stay dirty.
    pub fn step(&mut self) -> Result<usize> {
        if self.handle.writes_pending()? > 0 {
            return Ok(0);
        }
        let pool = self.handle.pool();
        let mut claimed = Vec::with_capacity(self.batch);
        pool.with_policy_locked(|policy| {
            pool.claim_dirty(policy, self.batch, REACH_BATCHES * self.batch, &mut claimed);
        });
        if claimed.is_empty() {
            return Ok(0);
        }
        self.handle.start_write_back(&claimed)?;
        Ok(claimed.len())
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
            while !stopped.load(Ordering::Relaxed) {
                if cleaner.step()? == 0 {
                    std::thread::sleep(NAP);
                } else {
                    cleaner.finish()?;
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
