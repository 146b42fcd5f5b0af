//! A thread that moves blocks by a policy while the device is used.
//!
//! The policy sees every access up to a size; larger requests belong to full passes, which carry no
//! information about single blocks. While the worker is paused the policy still sees accesses, and
//! nothing moves. After batches that moved nothing the worker backs off exponentially, up to about
//! a second.
//!
//! Requests that end show how fast the tiers are; the worker passes that to the policy
//! ([`super::speeds`]).
//!
//! A policy has a fixed number of blocks. When the device has grown and is stable again, or has
//! more than twice the blocks, the policy continues with the new blocks; when the device was
//! truncated, it starts anew.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use super::error::{Result, TieredError};
use super::lock::lock;
use super::migrate::BATCH_MAX;
use super::migration_loop::{MigrationLoop, Shared};
use super::recorded::Recorded;
use super::tiered::TieredDevice;
use super::worker_policy::{WorkerConfig, build};
use crate::spec::TierSpec;

/// Bytes by which a policy's lists may grow for each block on the faster tiers.
const LIST_BYTES: usize = 64;

/// Counters of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Accesses that the policy saw.
    pub accesses: u64,
    /// Blocks that were moved.
    pub moved: u64,
    /// Moves that were dropped because the block was written meanwhile or there was no room.
    pub dropped: u64,
    /// Moves that failed by a fault of a device.
    pub failed: u64,
    /// Accesses that were dropped because too many waited for the policy.
    pub missed: u64,
    /// Bytes of the policy, its map and the migration's buffers.
    pub memory_bytes: usize,
}

/// The worker thread. Dropping it ends it after the batch under way.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    device: TieredDevice,
    missed_before: u64,
    thread: Option<JoinHandle<Result<Vec<u8>>>>,
}

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`TieredError::Options`] for a device without blocks, a policy that does not fit it, or a
    /// second worker; [`TieredError::State`] for a damaged or foreign state: start without it.
    pub fn start(device: &TieredDevice, config: WorkerConfig) -> Result<Self> {
        let built = build(device, &config)?;
        let recording = Recording::begin(device, config.recorded_bytes_max)?;
        let shared = Arc::new(Shared::default());
        let (theirs, missed_before) = (Arc::clone(&shared), device.missed());
        let spawned = std::thread::Builder::new()
            .name("tier-worker".into())
            .spawn(move || MigrationLoop::new(&recording.device, &config, &theirs, built)?.run());
        let thread = spawned.map_err(|e| TieredError::Options(format!("no thread: {e}")))?;
        Ok(Self { shared, device: device.clone(), missed_before, thread: Some(thread) })
    }

    /// Most bytes that a worker with this policy needs on this device:
    /// [`WorkerReport::memory_bytes`] and the accesses that wait for the policy.
    ///
    /// # Errors
    /// Those of [`Worker::start`].
    pub fn needs(device: &TieredDevice, config: &WorkerConfig) -> Result<usize> {
        let (placement, policy) = build(device, config)?;
        let above: u64 = device.capacities().iter().rev().skip(1).sum();
        let above = above.min(placement.pages().into()) as usize;
        // Policies keep lists of the blocks on the faster tiers, which grow until a cleanup.
        let policy = policy.memory_bytes() + above * LIST_BYTES;
        let migration = config.batch.clamp(1, BATCH_MAX) * device.header().block_bytes as usize;
        Ok(policy + placement.memory_bytes() + migration + Recorded::BYTES_MAX)
    }

    /// Stops moves until [`Worker::resume`], after the batch under way.
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::SeqCst);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.shared.paused.store(false, Ordering::SeqCst);
    }

    /// The counters so far.
    pub fn report(&self) -> WorkerReport {
        let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        WorkerReport {
            accesses: count(&self.shared.accesses),
            moved: count(&self.shared.moved),
            dropped: count(&self.shared.dropped),
            failed: count(&self.shared.failed),
            missed: self.device.missed() - self.missed_before,
            memory_bytes: self.shared.memory_bytes.load(Ordering::Relaxed),
        }
    }

    /// The tiers as requests of one block have shown them; `None` while the policy has the
    /// configured ones.
    pub fn speeds(&self) -> Option<Vec<TierSpec>> {
        Some(lock(&self.shared.speeds).clone()).filter(|tiers| !tiers.is_empty())
    }

    /// Whether the thread has ended by an error, which [`Worker::stop`] returns.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the thread. Returns the counters, and the state to save for the next run.
    ///
    /// # Errors
    /// The error that ended the thread before, if any.
    pub fn stop(mut self) -> Result<(WorkerReport, Vec<u8>)> {
        let state = self.end()?;
        Ok((self.report(), state))
    }

    fn end(&mut self) -> Result<Vec<u8>> {
        self.shared.stop.store(true, Ordering::SeqCst);
        let Some(thread) = self.thread.take() else { return Ok(Vec::new()) };
        thread.join().unwrap_or_else(|panic| Err(TieredError::Options(message_of(panic.as_ref()))))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Records accesses for this worker until it is dropped.
struct Recording {
    device: TieredDevice,
}

impl Recording {
    fn begin(device: &TieredDevice, bytes_max: u64) -> Result<Self> {
        if !device.core.recorded.begin(bytes_max) {
            return Err(TieredError::Options("a worker moves its blocks already".into()));
        }
        Ok(Self { device: device.clone() })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.device.core.recorded.end();
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the worker panicked: {}", text.unwrap_or_else(|| "no message".into()))
}
