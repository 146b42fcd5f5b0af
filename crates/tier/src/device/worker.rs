//! A thread that moves blocks as a policy says, beside the users of the device.
//!
//! It hears of every access up to a size: larger requests belong to passes over everything, which
//! say nothing about any block, so a full pass never moves any. While it is paused it goes on
//! listening and moves nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use cenote_device::Device;

use super::error::{Result, TieredError};
use super::migrate::{Migrator, Outcome};
use super::state::State;
use super::tiered::TieredDevice;
use crate::placement::{Move, Placement};
use crate::policy::{Access, Context, Policy, PolicySpec};
use crate::spec::TierSpec;

/// How long it sleeps when nothing was asked for.
const NAP: Duration = Duration::from_millis(1);

/// How blocks move.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Who decides.
    pub policy: PolicySpec,
    /// What the tiers can do for requests of a block, from the fastest.
    pub tiers: Vec<TierSpec>,
    /// Blocks that are copied at once, beside what users do.
    pub batch: usize,
    /// Requests of more bytes are a pass's.
    pub heard_bytes_max: u64,
    /// For policies that draw lots.
    pub seed: u64,
    /// What [`Worker::stop`] returned the last time.
    pub state: Option<Vec<u8>>,
}

/// What moved so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Accesses that the policy heard of.
    pub accesses: u64,
    /// Blocks that moved.
    pub moved: u64,
    /// Moves that were dropped: the block was written meanwhile, or there was no room.
    pub dropped: u64,
    /// Moves that a device's fault prevented.
    pub failed: u64,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    paused: AtomicBool,
    accesses: AtomicU64,
    moved: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// The thread. Dropping it ends it after the batch that is under way.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    device: TieredDevice,
    thread: Option<JoinHandle<Result<Vec<u8>>>>,
}

impl Worker {
    /// Begins to listen and to move. Blocks that the device gets later are not moved.
    ///
    /// # Errors
    /// [`TieredError::Options`] for a device without blocks or a policy that does not suit it;
    /// [`TieredError::State`] for a state that was damaged, or is another's: begin without it.
    pub fn start(device: &TieredDevice, config: WorkerConfig) -> Result<Self> {
        let placement = device.placement()?;
        let context = Context {
            tiers: &config.tiers,
            placement: &placement,
            seed: config.seed,
            oracle: None,
        };
        if config.tiers.len() != placement.tiers() {
            let (found, expected) = (config.tiers.len(), placement.tiers());
            return Err(TieredError::Options(format!("{found} described, there are {expected}")));
        }
        let (set, name) = (device.core.header.id, config.policy.name().to_owned());
        if let Some(bytes) = &config.state {
            State::decode(bytes, &set, &name, placement.pages())?;
        }
        let options = |error: crate::TierError| TieredError::Options(error.to_string());
        let policy = config.policy.build(&context).map_err(options)?;
        let shared = Arc::new(Shared::default());
        device.core.heard_bytes_max.store(config.heard_bytes_max, Ordering::Relaxed);
        let (own, theirs) = (device.clone(), Arc::clone(&shared));
        let batch = config.batch;
        let spawned = std::thread::Builder::new().name("tier-worker".into()).spawn(move || {
            let migrator = Migrator::new(&own, batch)?;
            let mut labour = Labour::new(&own, &theirs, placement, policy, migrator);
            labour.run()?;
            let map = labour.placement.map().to_vec();
            Ok(State { policy: name, map, knowledge: Vec::new() }.encode(&set))
        });
        let thread = spawned.map_err(|e| TieredError::Options(format!("no thread: {e}")))?;
        Ok(Self { shared, device: device.clone(), thread: Some(thread) })
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
        }
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
        let outcome = thread.join();
        self.device.core.heard_bytes_max.store(0, Ordering::Relaxed);
        outcome.unwrap_or_else(|_| Err(TieredError::Options("the worker panicked".into())))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// What the thread works with.
struct Labour<'a> {
    device: &'a TieredDevice,
    shared: &'a Shared,
    placement: Placement,
    policy: Box<dyn Policy>,
    migrator: Migrator,
    wanted: Vec<Move>,
}

impl<'a> Labour<'a> {
    fn new(
        device: &'a TieredDevice,
        shared: &'a Shared,
        placement: Placement,
        policy: Box<dyn Policy>,
        migrator: Migrator,
    ) -> Self {
        Self { device, shared, placement, policy, migrator, wanted: Vec::new() }
    }

    fn run(&mut self) -> Result<()> {
        let clock = self.device.clock();
        let (mut heard, mut moves, mut now_ns) = (Vec::new(), Vec::new(), 0);
        while !self.shared.stop.load(Ordering::SeqCst) {
            self.device.core.take_heard(&mut heard);
            now_ns = clock.now_ns().max(now_ns);
            for access in &heard {
                let (page, write) = (access & !(1 << 63), access >> 63 == 1);
                let page = u32::try_from(page).unwrap_or(u32::MAX);
                if page >= self.placement.pages() {
                    continue;
                }
                let access = Access { page, write, now_ns, queued: &[] };
                moves.clear();
                self.policy.access(&access, &self.placement, &mut moves);
                if !moves.is_empty() && !self.shared.paused.load(Ordering::SeqCst) {
                    self.want(&moves)?;
                }
            }
            self.shared.accesses.fetch_add(heard.len() as u64, Ordering::SeqCst);
            self.carry_out()?;
            if heard.is_empty() {
                std::thread::sleep(NAP);
            }
        }
        Ok(())
    }

    /// Keeps moves for the next batch. The policy goes on as if they were done.
    fn want(&mut self, moves: &[Move]) -> Result<()> {
        let again = |step: &Move| self.wanted.iter().any(|other| other.page == step.page);
        if moves.iter().any(again) || self.wanted.len() + moves.len() > self.migrator.batch() {
            self.carry_out()?;
        }
        let Self { placement, policy, wanted, .. } = self;
        if placement.carry_out(moves, |page, from, to| policy.moved(page, from, to)).is_ok() {
            wanted.extend_from_slice(moves);
        }
        Ok(())
    }

    fn carry_out(&mut self) -> Result<()> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        let wanted = std::mem::take(&mut self.wanted);
        let outcomes = self.migrator.carry_out(&wanted)?;
        let count = |what| outcomes.iter().filter(|outcome| **outcome == what).count() as u64;
        self.shared.moved.fetch_add(count(Outcome::Moved), Ordering::SeqCst);
        self.shared.dropped.fetch_add(count(Outcome::Dropped), Ordering::SeqCst);
        self.shared.failed.fetch_add(count(Outcome::Failed), Ordering::SeqCst);
        if outcomes.iter().all(|outcome| *outcome == Outcome::Moved) {
            return Ok(());
        }
        self.correct()
    }

    /// What did not move lies where it lay, whatever the policy was told.
    fn correct(&mut self) -> Result<()> {
        let found = self.device.placement()?;
        if found.pages() < self.placement.pages() {
            return Err(TieredError::Options("the device was cut under the policy".into()));
        }
        for page in 0..self.placement.pages() {
            let (from, to) = (self.placement.tier_of(page), found.tier_of(page));
            if from != to {
                self.policy.moved(page, from, to);
            }
        }
        if found.pages() == self.placement.pages() {
            self.placement = found;
        }
        Ok(())
    }
}
