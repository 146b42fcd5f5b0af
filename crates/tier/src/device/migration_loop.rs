//! The migration loop of a worker: hands recorded accesses to the policy and moves blocks.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use cenote_device::Device;

use super::error::{Result, TieredError};
use super::migrate::{Migrator, Outcome};
use super::state::State;
use super::tiered::TieredDevice;
use super::worker_policy::{WorkerConfig, adopt, begin};
use crate::placement::{Move, Placement};
use crate::policy::{Access, Policy};

/// How long it sleeps between two rounds; longer after a while without accesses.
const NAP: Duration = Duration::from_millis(1);
const LONG_NAP: Duration = Duration::from_millis(10);
const IDLE_NAPS: u32 = 100;

/// Naps without growth after which the policy takes in the new blocks.
const CALM_NAPS: u32 = 100;

/// Naps for which it waits for readers to leave the slots that it needs.
const READER_NAPS: u32 = 20;

/// Naps for which nothing moves after a batch that moved nothing: at first, and at most.
const BACKOFF_NAPS: u32 = 8;
const BACKOFF_NAPS_MAX: u32 = 1024;

/// Naps between two looks at the policy's memory.
const MEASURE_NAPS: u32 = 256;

/// What the thread and its owner share: commands and counters.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) stop: AtomicBool,
    pub(super) paused: AtomicBool,
    pub(super) accesses: AtomicU64,
    pub(super) moved: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) memory_bytes: AtomicUsize,
}

/// The loop's state.
pub(super) struct MigrationLoop<'a> {
    device: &'a TieredDevice,
    config: &'a WorkerConfig,
    shared: &'a Shared,
    placement: Placement,
    /// What the tiers may hold, whatever was found there.
    capacities: Vec<u64>,
    policy: Box<dyn Policy>,
    migrator: Migrator,
    wanted: Vec<Move>,
    backoff: Backoff,
    growth: Growth,
}

/// Pauses after batches that moved nothing, each twice as long as the one before.
struct Backoff {
    left: u32,
    next: u32,
}

impl Backoff {
    fn after(&mut self, moved: bool) {
        (self.left, self.next) = if moved {
            (0, BACKOFF_NAPS)
        } else {
            (self.next, (2 * self.next).min(BACKOFF_NAPS_MAX))
        };
    }
}

/// How many blocks there were, and for how many naps.
#[derive(Default)]
struct Growth {
    blocks: u32,
    calm: u32,
}

impl Growth {
    /// Whether it is time to take in blocks that came, or leave out those that went.
    fn is_over(&mut self, blocks: u32, pages: u32) -> bool {
        self.calm = if blocks == self.blocks { self.calm + 1 } else { 0 };
        self.blocks = blocks;
        let is_much = blocks / 2 > pages;
        blocks > 0 && (blocks < pages || blocks > pages && (is_much || self.calm > CALM_NAPS))
    }
}

impl<'a> MigrationLoop<'a> {
    pub(super) fn new(
        device: &'a TieredDevice,
        config: &'a WorkerConfig,
        shared: &'a Shared,
        (placement, policy): (Placement, Box<dyn Policy>),
    ) -> Result<Self> {
        Ok(Self {
            device,
            config,
            shared,
            placement,
            capacities: device.capacities(),
            policy,
            migrator: Migrator::new(device, config.batch)?,
            wanted: Vec::new(),
            backoff: Backoff { left: 0, next: BACKOFF_NAPS },
            growth: Growth::default(),
        })
    }

    /// Runs until `stop` is set; returns the state to save.
    pub(super) fn run(mut self) -> Result<Vec<u8>> {
        let clock = self.device.clock();
        let (mut accesses, mut now_ns, mut idle) = (Vec::new(), 0, 0);
        for round in 0u32.. {
            if self.shared.stop.load(Ordering::SeqCst) {
                break;
            }
            self.follow_growth()?;
            self.device.core.take_accesses(&mut accesses);
            now_ns = clock.now_ns().max(now_ns);
            self.decide(&accesses, now_ns)?;
            self.carry_out()?;
            if round % MEASURE_NAPS == 0 {
                self.measure();
            }
            idle = if accesses.is_empty() { idle + 1 } else { 0 };
            std::thread::sleep(if idle > IDLE_NAPS { LONG_NAP } else { NAP });
            self.backoff.left = self.backoff.left.saturating_sub(1);
        }
        Ok(self.state()?.encode(&self.device.core.header.id))
    }

    fn measure(&self) {
        let own = self.policy.memory_bytes()
            + self.placement.memory_bytes()
            + self.migrator.memory_bytes();
        self.shared.memory_bytes.store(own, Ordering::Relaxed);
    }

    fn state(&self) -> Result<State> {
        let wrong = |error: crate::TierError| TieredError::State { reason: error.to_string() };
        let knowledge = self.policy.save().map_err(wrong)?;
        let policy = self.config.policy.name().to_owned();
        Ok(State { policy, map: self.placement.map().to_vec(), knowledge })
    }

    /// A policy knows a fixed number of blocks. Where the device grew, the policy goes on with
    /// more; where it shrank, it begins anew.
    fn follow_growth(&mut self) -> Result<()> {
        let (blocks, pages) = (self.device.blocks(), self.placement.pages());
        if blocks == pages || !self.growth.is_over(blocks, pages) {
            return Ok(());
        }
        let placement = self.device.placement()?;
        self.policy = if placement.pages() < pages {
            begin(self.config, &placement)?
        } else {
            adopt(self.device, self.config, &placement, self.state()?)?
        };
        self.placement = placement;
        self.measure();
        Ok(())
    }

    /// Hands accesses to the policy and collects the moves that it wants.
    fn decide(&mut self, accesses: &[u64], now_ns: u64) -> Result<()> {
        let mut moves = Vec::new();
        for access in accesses {
            let (page, write) = (access & !(1 << 63), access >> 63 == 1);
            if page >= u64::from(self.placement.pages()) {
                continue;
            }
            let access = Access { page: page as u32, write, now_ns, queued: &[] };
            moves.clear();
            self.policy.access(&access, &self.placement, &mut moves);
            let is_idle = self.backoff.left > 0 || self.shared.paused.load(Ordering::SeqCst);
            if !moves.is_empty() && !is_idle {
                self.want(&moves)?;
            }
        }
        self.shared.accesses.fetch_add(accesses.len() as u64, Ordering::SeqCst);
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
        let wanted = std::mem::take(&mut self.wanted);
        let mut rest = &wanted[..];
        let mut moved = 0;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(fitting(self.device, rest));
            let outcomes = self.migrator.carry_out(part)?;
            moved += self.count(&outcomes);
            for (step, outcome) in part.iter().zip(outcomes) {
                if outcome != Outcome::Moved {
                    self.correct(step.page);
                }
            }
            rest = after;
        }
        if !wanted.is_empty() {
            self.backoff.after(moved > 0);
        }
        Ok(())
    }

    /// Counts outcomes; how many moved.
    fn count(&self, outcomes: &[Outcome]) -> u64 {
        let count = |what| outcomes.iter().filter(|outcome| **outcome == what).count() as u64;
        let moved = count(Outcome::Moved);
        self.shared.moved.fetch_add(moved, Ordering::SeqCst);
        self.shared.dropped.fetch_add(count(Outcome::Dropped), Ordering::SeqCst);
        self.shared.failed.fetch_add(count(Outcome::Failed), Ordering::SeqCst);
        moved
    }

    /// A block that did not move lies where it lay, although the policy assumed the move.
    fn correct(&mut self, page: u32) {
        let slowest = self.placement.tiers() as u8 - 1;
        let to = self.device.tier_of(page).unwrap_or(slowest);
        let from = self.placement.tier_of(page);
        if from != to {
            self.placement.correct(Move { page, to }, &self.capacities);
            self.policy.moved(page, from, to);
        }
    }
}

/// How many of these moves, one at least, find room together. Slots whose readers are about to
/// leave are waited for.
fn fitting(device: &TieredDevice, moves: &[Move]) -> usize {
    for _ in 0..READER_NAPS {
        let tiers = 0..device.core.tiers.len();
        let mut room: Vec<u32> = tiers.map(|tier| device.core.room(tier)).collect();
        let mut count = 0;
        for step in moves {
            match room.get_mut(usize::from(step.to)) {
                Some(room) if *room > 0 => *room -= 1,
                _ => break,
            }
            count += 1;
        }
        if count > 0 {
            return count;
        }
        if !device.core.is_waiting_for_readers() {
            break;
        }
        std::thread::sleep(NAP);
    }
    1
}
