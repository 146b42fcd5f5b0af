//! The migration loop of a worker: passes recorded accesses to the policy and moves blocks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use cenote_device::Device;

use super::error::{Result, TieredError};
use super::lock::lock;
use super::migrate::{Migrator, Outcome};
use super::recorded::Response;
use super::speeds::Speeds;
use super::state::State;
use super::tiered::TieredDevice;
use super::worker_policy::{WorkerConfig, adopt, begin};
use crate::placement::{Move, Placement};
use crate::policy::{Access, Policy};
use crate::spec::TierSpec;

/// Sleep between two rounds, and after [`IDLE_ROUNDS`] without accesses.
const PAUSE: Duration = Duration::from_millis(1);
const LONG_PAUSE: Duration = Duration::from_millis(10);
const IDLE_ROUNDS: u32 = 100;

/// Rounds without growth after which new blocks are added to the policy.
const CALM_ROUNDS: u32 = 100;

/// Rounds for which a batch waits until readers have left the slots that it needs.
const READER_ROUNDS: u32 = 20;

/// Rounds without moves after a batch that moved nothing: at first, and at most.
const BACKOFF_ROUNDS: u32 = 8;
const BACKOFF_ROUNDS_MAX: u32 = 1024;

/// Rounds between two measurements of the policy's memory.
const MEASURE_ROUNDS: u32 = 256;

/// Commands and counters that the thread and its owner share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) stop: AtomicBool,
    pub(super) paused: AtomicBool,
    pub(super) accesses: AtomicU64,
    pub(super) moved: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) memory_bytes: AtomicUsize,
    /// The tiers as the policy knows them; none until it has learned about them.
    pub(super) speeds: Mutex<Vec<TierSpec>>,
}

pub(super) struct MigrationLoop<'a> {
    device: &'a TieredDevice,
    config: &'a WorkerConfig,
    shared: &'a Shared,
    placement: Placement,
    /// Capacities of the tiers, without corrections.
    capacities: Vec<u64>,
    policy: Box<dyn Policy>,
    migrator: Migrator,
    planned: Vec<Move>,
    backoff: Backoff,
    growth: Growth,
    speeds: Speeds,
    responses: Vec<Response>,
}

/// Exponential backoff after batches that moved nothing.
struct Backoff {
    left: u32,
    next: u32,
}

impl Backoff {
    fn after(&mut self, moved: bool) {
        (self.left, self.next) = if moved {
            (0, BACKOFF_ROUNDS)
        } else {
            (self.next, (2 * self.next).min(BACKOFF_ROUNDS_MAX))
        };
    }
}

/// The last number of blocks, and the rounds since it changed.
#[derive(Default)]
struct Growth {
    blocks: u32,
    calm: u32,
}

impl Growth {
    /// Whether the policy should be adapted to the number of blocks.
    fn is_over(&mut self, blocks: u32, pages: u32) -> bool {
        self.calm = if blocks == self.blocks { self.calm + 1 } else { 0 };
        self.blocks = blocks;
        let is_much = blocks / 2 > pages;
        blocks > 0 && (blocks < pages || blocks > pages && (is_much || self.calm > CALM_ROUNDS))
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
            planned: Vec::new(),
            backoff: Backoff { left: 0, next: BACKOFF_ROUNDS },
            growth: Growth::default(),
            speeds: Speeds::new(&config.tiers, &config.models, device.core.header.block_bytes),
            responses: Vec::new(),
        })
    }

    /// Runs until `stop` is set; returns the state to save.
    pub(super) fn run(mut self) -> Result<Vec<u8>> {
        let clock = self.device.clock();
        let (mut accesses, mut now_ns, mut idle) = (Vec::new(), 0, 0);
        for round in 0u32.. {
            // A run may be shorter than a pause: its accesses go to the policy before the state is
            // saved.
            let is_last = self.is_stopped();
            self.follow_growth()?;
            self.device.core.recorded.take(&mut accesses, &mut self.responses);
            now_ns = clock.now_ns().max(now_ns);
            self.learn(now_ns);
            self.decide(&accesses, now_ns)?;
            if is_last {
                break;
            }
            self.carry_out()?;
            if round % MEASURE_ROUNDS == 0 {
                self.measure();
            }
            idle = if accesses.is_empty() { idle + 1 } else { 0 };
            std::thread::sleep(if idle > IDLE_ROUNDS { LONG_PAUSE } else { PAUSE });
            self.backoff.left = self.backoff.left.saturating_sub(1);
        }
        Ok(self.state()?.encode(&self.device.core.header.id))
    }

    fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::SeqCst)
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

    /// Adapts the policy to the number of blocks: after growth with its state, after truncation
    /// with a new state.
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
        self.policy.set_speeds(self.speeds.reported());
        self.placement = placement;
        self.measure();
        Ok(())
    }

    /// Passes response times and changed speeds of the tiers to the policy.
    fn learn(&mut self, now_ns: u64) {
        let Self { policy, speeds, responses, .. } = self;
        let wants_responses = policy.wants_responses();
        for response in &*responses {
            speeds.count(response);
            let Response { tier, latency_ns, .. } = *response;
            if wants_responses {
                policy.responded(tier, now_ns.saturating_sub(latency_ns), latency_ns);
            }
        }
        if let Some(tiers) = speeds.changed() {
            policy.set_speeds(tiers);
            *lock(&self.shared.speeds) = tiers.to_vec();
        }
    }

    /// Passes accesses to the policy and collects its moves.
    fn decide(&mut self, accesses: &[u64], now_ns: u64) -> Result<()> {
        let mut moves = Vec::new();
        let in_flight = self.device.core.tiers.iter();
        let in_flight = in_flight.map(|tier| tier.in_flight.load(Ordering::Relaxed));
        let queued = self.speeds.waiting(in_flight);
        for access in accesses {
            let (page, write) = (access & !(1 << 63), access >> 63 == 1);
            if page >= u64::from(self.placement.pages()) {
                continue;
            }
            let access = Access { page: page as u32, write, now_ns, queued: &queued };
            moves.clear();
            self.policy.access(&access, &self.placement, &mut moves);
            let is_paused = self.shared.paused.load(Ordering::SeqCst);
            let is_idle = self.backoff.left > 0 || is_paused || self.is_stopped();
            if !moves.is_empty() && !is_idle {
                self.plan(&moves)?;
            }
        }
        self.shared.accesses.fetch_add(accesses.len() as u64, Ordering::SeqCst);
        Ok(())
    }

    /// Adds moves to the next batch. Placement and policy count them as done.
    fn plan(&mut self, moves: &[Move]) -> Result<()> {
        let again = |step: &Move| self.planned.iter().any(|other| other.page == step.page);
        if moves.iter().any(again) || self.planned.len() + moves.len() > self.migrator.batch() {
            self.carry_out()?;
        }
        let Self { placement, policy, planned, .. } = self;
        if placement.carry_out(moves, |page, from, to| policy.moved(page, from, to)).is_ok() {
            planned.extend_from_slice(moves);
        }
        Ok(())
    }

    fn carry_out(&mut self) -> Result<()> {
        let planned = std::mem::take(&mut self.planned);
        let mut rest = &planned[..];
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
        if !planned.is_empty() {
            self.backoff.after(moved > 0);
        }
        Ok(())
    }

    /// Counts outcomes; returns how many blocks moved.
    fn count(&self, outcomes: &[Outcome]) -> u64 {
        let count = |what| outcomes.iter().filter(|outcome| **outcome == what).count() as u64;
        let moved = count(Outcome::Moved);
        self.shared.moved.fetch_add(moved, Ordering::SeqCst);
        self.shared.dropped.fetch_add(count(Outcome::Dropped), Ordering::SeqCst);
        self.shared.failed.fetch_add(count(Outcome::Failed), Ordering::SeqCst);
        moved
    }

    /// Corrects placement and policy for a block that did not move.
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

/// How many of these moves fit together, at least one. Waits for the readers of slots if none does.
fn fitting(device: &TieredDevice, moves: &[Move]) -> usize {
    for _ in 0..READER_ROUNDS {
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
        std::thread::sleep(PAUSE);
    }
    1
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cenote_device::backend::sim::{SimConfig, SimDevice};
    use cenote_device::model::preset::Preset;
    use cenote_device::{Buffer, Op, QueueConfig, Request};

    use super::*;
    use crate::device::{SetConfig, TierPart};
    use crate::placement::Tier;

    const BLOCK: usize = 4096;

    /// Keeps what it is called with.
    #[derive(Clone, Debug, Default)]
    struct Calls(Arc<Mutex<(Vec<Tier>, Vec<TierSpec>)>>);

    impl Policy for Calls {
        fn access(&mut self, access: &Access<'_>, placement: &Placement, _: &mut Vec<Move>) {
            assert_eq!(access.queued.len(), placement.tiers());
        }

        fn responded(&mut self, tier: Tier, _: u64, response_ns: u64) {
            assert!(response_ns > 0);
            lock(&self.0).0.push(tier);
        }

        fn wants_responses(&self) -> bool {
            true
        }

        fn set_speeds(&mut self, tiers: &[TierSpec]) {
            lock(&self.0).1 = tiers.to_vec();
        }

        fn memory_bytes(&self) -> usize {
            0
        }

        fn save(&self) -> crate::Result<Vec<u8>> {
            Ok(Vec::new())
        }

        fn heat(&self, _: u32) -> Option<f64> {
            None
        }
    }

    #[test]
    fn a_policy_gets_response_times_and_changed_speeds() {
        let sim = || Arc::new(SimDevice::new(SimConfig::new(Preset::all()[0].model())));
        let part = |name: &str| TierPart {
            device: sim(),
            name: name.into(),
            capacity_bytes: (64 << 10) + 300 * BLOCK as u64,
        };
        let set = SetConfig::new([7; 16]).block_bytes(BLOCK as u32).journal_pages(4);
        let device = TieredDevice::create(sim(), vec![part("a"), part("b")], &set).unwrap();
        let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
        let mut buffer = Some(Buffer::new(BLOCK).unwrap());
        let mut transfer = |op, block: u64| {
            let (offset, buffer_of) = (block * BLOCK as u64, buffer.take().unwrap());
            queue.push(Request { tag: 0, op, offset, len: BLOCK, buffer: buffer_of });
            let mut completions = Vec::new();
            queue.reap(1, &mut completions).unwrap();
            let done = completions.pop().unwrap();
            assert!(done.result.is_ok());
            buffer = Some(done.buffer);
        };
        let blocks = 0..400;
        blocks.clone().for_each(|block| transfer(Op::Write, block));
        // Only now: the writes are not for the policy.
        assert!(device.core.recorded.begin(BLOCK as u64));
        blocks.clone().for_each(|block| transfer(Op::Read, block));
        drop(queue);
        let config = WorkerConfig::new("static".parse().unwrap(), TierSpec::text()[..2].to_vec());
        let (shared, calls) = (Shared::default(), Calls::default());
        shared.stop.store(true, Ordering::SeqCst);
        let built = (device.placement().unwrap(), Box::new(calls.clone()) as Box<dyn Policy>);
        MigrationLoop::new(&device, &config, &shared, built).unwrap().run().unwrap();
        let (responses, speeds) = &*lock(&calls.0);
        let tiers: Vec<Tier> = blocks.filter_map(|block| device.tier_of(block as u32)).collect();
        assert_eq!(*responses, tiers, "not each response of each tier");
        assert!(tiers.contains(&0) && tiers.contains(&1));
        assert_ne!(speeds[0].read_ns, config.tiers[0].read_ns);
        assert_eq!(*speeds, *lock(&shared.speeds));
    }
}
