//! A simulated device in virtual time: obeys a [`DeviceModel`], loses unsynced writes at a power
//! cut, and injects faults by a seeded [`FaultPlan`].
//!
//! - [`FaultPlan`]: which operation fails and how; shared with
//!   [`FaultDevice`](crate::wrapper::FaultDevice)
//! - [`MediumKind`]: whether the device keeps its contents
//! - `medium`: the contents, in two layers: a volatile cache over durable bytes
//! - `timing`: channels, latencies and [`SimClock`]
//! - `queue`: requests in virtual flight
//!
//! On one thread everything is a function of the model, the plan and the calls. If threads share
//! it, each with its own queue, the scheduler decides the order of operations.
//!
//! Time passes only in [`Queue::reap`]: computing and `sync` take no time unless the caller moves
//! the clock with [`SimClock::advance`]. Waits of several threads add up, so measure concurrency
//! with one deep queue.

mod contents;
mod fault;
mod medium;
mod queue;
mod timing;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

pub use contents::MediumKind;
pub use fault::{Effect, Fault, FaultPlan, POWER_CUT_ERRNO, Unsynced, When};
pub(crate) use fault::{Fate, FaultState, Verdict, torn_prefix_bytes};
pub use timing::SimClock;

use self::contents::Contents;
use self::queue::SimQueue;
use self::timing::Timing;
use super::check_depth;
use crate::clock::Clock;
use crate::error::{DeviceError, Result};
use crate::model::DeviceModel;
use crate::{Device, Queue, QueueConfig, setters};

/// Configuration of a simulated device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SimConfig {
    /// The performance of the device.
    pub model: DeviceModel,
    /// Required alignment: 512 or 4,096.
    pub block_bytes: usize,
    /// Every latency grows by a random share of up to this much (0.5: up to 50%), so that
    /// completions overtake each other.
    pub jitter: f64,
    /// Bytes of the volatile cache; when it is full, its oldest half becomes durable.
    pub cache_bytes: u64,
    /// The faults; the plan's seed also drives the jitter.
    pub faults: FaultPlan,
    /// Whether the contents are kept.
    pub medium: MediumKind,
}

impl SimConfig {
    /// A device without faults or jitter, with blocks of 512 bytes and 64 MiB of volatile cache.
    pub fn new(model: DeviceModel) -> Self {
        Self {
            model,
            block_bytes: 512,
            jitter: 0.0,
            cache_bytes: 64 << 20,
            faults: FaultPlan::none(),
            medium: MediumKind::Kept,
        }
    }

    /// The same without contents: the same timing, and no memory for the file.
    pub fn timing_only(model: DeviceModel) -> Self {
        Self { medium: MediumKind::Forgotten, ..Self::new(model) }
    }

    setters! {
        model: DeviceModel,
        block_bytes: usize,
        jitter: f64,
        cache_bytes: u64,
        faults: FaultPlan,
        medium: MediumKind,
    }
}

/// A simulated device, empty at first.
#[derive(Debug)]
pub struct SimDevice {
    core: Arc<Core>,
}

#[derive(Debug)]
struct Core {
    config: SimConfig,
    clock: Arc<SimClock>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    contents: Contents,
    timing: Timing,
    faults: FaultState,
}

impl Core {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Panics for a caller's fault come before any change of the state.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl SimDevice {
    /// An empty device.
    pub fn new(config: SimConfig) -> Self {
        Self::with_contents(config, &[])
    }

    /// A device that durably holds `contents`, or only their length if contents are not kept.
    pub fn with_contents(config: SimConfig, contents: &[u8]) -> Self {
        let contents = Contents::of(config.medium, contents, config.cache_bytes);
        Self::assemble(config, Arc::default(), contents)
    }

    fn assemble(config: SimConfig, clock: Arc<SimClock>, contents: Contents) -> Self {
        let block_bytes = config.block_bytes;
        assert!(
            block_bytes >= 512 && block_bytes.is_power_of_two(),
            "{block_bytes} is not a block size"
        );
        let timing = Timing::new(config.jitter, config.faults.seed);
        let faults = FaultState::new(config.faults.clone(), block_bytes);
        let state = Mutex::new(State { contents, timing, faults });
        Self { core: Arc::new(Core { config, clock, state }) }
    }

    /// A new device as it is after a power cut now, or after the plan's: synced writes are whole,
    /// each unsynced write is kept, lost or torn by the plan's seed. This device stays as it is.
    /// The new one has the faults of `faults` and continues the clock.
    pub fn restart(&self, faults: FaultPlan) -> Self {
        let state = self.core.lock();
        let contents = state.contents.after_power_cut(&self.core.config.faults);
        let config = SimConfig { faults, ..self.core.config.clone() };
        Self::assemble(config, Arc::clone(&self.core.clock), contents)
    }

    /// Number of operations so far: requests, syncs and resizes. A run without faults gives the
    /// range of operations for power cuts.
    pub fn operations(&self) -> u64 {
        self.core.lock().faults.operations()
    }

    /// Number of writes, syncs and resizes so far: the range of [`When::Change`].
    pub fn changes(&self) -> u64 {
        self.core.lock().faults.changes()
    }

    /// Whether the plan has cut the power.
    pub fn is_power_cut(&self) -> bool {
        self.core.lock().faults.is_power_cut()
    }

    /// Flips one bit of the contents, cached or durable.
    pub fn flip_bit(&self, offset: u64, bit: u32) {
        self.core.lock().contents.flip_bit(offset, bit);
    }

    /// All bytes, as a read would return them.
    pub fn contents(&self) -> Vec<u8> {
        self.core.lock().contents.bytes()
    }

    /// Bytes that were written and are not yet durable; 0 if contents are not kept.
    pub fn unsynced_bytes(&self) -> u64 {
        self.core.lock().contents.unsynced_bytes()
    }

    /// The virtual clock, which callers may advance to simulate computing time.
    pub fn sim_clock(&self) -> Arc<SimClock> {
        Arc::clone(&self.core.clock)
    }

    fn error(&self, action: &'static str, errno: i32) -> DeviceError {
        let source = io::Error::from_raw_os_error(errno);
        DeviceError::File { device: self.name(), action, source }
    }
}

impl Device for SimDevice {
    fn name(&self) -> String {
        format!("sim:{}", self.core.config.model.name)
    }

    fn backend(&self) -> &'static str {
        "sim"
    }

    fn len_bytes(&self) -> Result<u64> {
        let state = self.core.lock();
        if state.faults.is_power_cut() {
            return Err(self.error("size", POWER_CUT_ERRNO));
        }
        Ok(state.contents.len_bytes())
    }

    fn block_bytes(&self) -> usize {
        self.core.config.block_bytes
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        check_depth(&self.name(), config.depth)?;
        Ok(Box::new(SimQueue::new(Arc::clone(&self.core), config.depth)))
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.core.lock();
        state.faults.control().map_err(|errno| self.error("sync", errno))?;
        state.contents.sync();
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        let mut state = self.core.lock();
        state.faults.resize(bytes).map_err(|errno| self.error("resize", errno))?;
        state.contents.set_len(bytes);
        Ok(())
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.core.clock) as Arc<dyn Clock>
    }
}
