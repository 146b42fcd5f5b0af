//! A thread that moves blocks as a policy decides, beside the users of the device.
//!
//! The policy sees every access up to a size: larger requests belong to passes over everything,
//! which say nothing about any block, so a full pass never moves any. While the worker is paused
//! the policy still sees accesses and nothing moves. After a batch in which nothing moved comes a
//! pause, each twice as long as the one before, up to a second.
//!
//! A policy knows a fixed number of blocks. Where the device grows, the policy keeps what it has
//! learned and takes in the new blocks, once the growth has come to rest or made them three times
//! as many. Where the device shrinks, the policy begins anew.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use super::error::{Result, TieredError};
use super::migrate::BATCH_MAX;
use super::migration_loop::{MigrationLoop, Shared};
use super::set::ACCESSES_MAX;
use super::tiered::TieredDevice;
use super::worker_policy::{WorkerConfig, build};

/// Bytes by which the lists of a policy may grow for each block on the faster tiers.
const LIST_BYTES: usize = 64;

/// What moved so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Accesses that the policy saw.
    pub accesses: u64,
    /// Blocks that moved.
    pub moved: u64,
    /// Moves that were dropped: the block was written meanwhile, or there was no room.
    pub dropped: u64,
    /// Moves that a device's fault prevented.
    pub failed: u64,
    /// Accesses that the policy did not see, because more came than it could follow.
    pub missed: u64,
    /// Bytes of the policy and of the migration's buffers.
    pub memory_bytes: usize,
}

/// The thread. Dropping it ends it after the batch that is under way.
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
    /// [`TieredError::Options`] for a device without blocks or a policy that does not suit it, or
    /// where a worker is there already; [`TieredError::State`] for a state that was damaged, or is
    /// another's: begin without it.
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

    /// Most bytes that a worker with this policy takes on this device: what its
    /// [`WorkerReport::memory_bytes`] will say, and the accesses that wait for the policy.
    ///
    /// # Errors
    /// Those of [`Worker::start`].
    pub fn needs(device: &TieredDevice, config: &WorkerConfig) -> Result<usize> {
        let (placement, policy) = build(device, config)?;
        let above: u64 = device.capacities().iter().rev().skip(1).sum();
        let above = above.min(placement.pages().into()) as usize;
        // Policies keep lists of what lies on the faster tiers, which grow until they are cleaned.
        let policy = policy.memory_bytes() + above * LIST_BYTES;
        let migration = config.batch.clamp(1, BATCH_MAX) * device.header().block_bytes as usize;
        // One list is filled while the policy sees the other.
        Ok(policy + placement.memory_bytes() + migration + 2 * ACCESSES_MAX * size_of::<u64>())
    }

    /// Moves nothing until [`Worker::resume`]; a batch that is under way comes to its end.
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::SeqCst);
    }

    /// Moves again.
    pub fn resume(&self) {
        self.shared.paused.store(false, Ordering::SeqCst);
    }

    /// What moved so far.
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

    /// Whether it has ended by itself: something went wrong, and [`Worker::stop`] returns it.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the thread. Returns what moved, and the state to keep for the next run.
    ///
    /// # Errors
    /// The one that ended it before, if any: then nothing moved since.
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

/// While it lives accesses are recorded for this worker alone.
struct Recording {
    device: TieredDevice,
}

impl Recording {
    fn begin(device: &TieredDevice, bytes_max: u64) -> Result<Self> {
        if device.core.is_recording.swap(true, Ordering::SeqCst) {
            return Err(TieredError::Options("a worker moves its blocks already".into()));
        }
        device.core.recorded_bytes_max.store(bytes_max, Ordering::Relaxed);
        Ok(Self { device: device.clone() })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let core = &self.device.core;
        core.recorded_bytes_max.store(0, Ordering::Relaxed);
        core.take_accesses(&mut Vec::new());
        core.is_recording.store(false, Ordering::SeqCst);
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the worker panicked: {}", text.unwrap_or_else(|| "no message".into()))
}
