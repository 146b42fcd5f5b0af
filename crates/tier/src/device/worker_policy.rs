//! Builds the policy of a worker, new or from a saved state.

use cenote_device::model::DeviceModel;
use cenote_device::setters;

use super::error::{Result, TieredError};
use super::state::State;
use super::tiered::TieredDevice;
use crate::placement::Placement;
use crate::policy::{Context, Policy, PolicySpec};
use crate::spec::TierSpec;

/// Configuration of a worker.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerConfig {
    /// Decides which blocks move.
    pub policy: PolicySpec,
    /// Performance of the tiers for requests of a block, from the fastest.
    pub tiers: Vec<TierSpec>,
    /// Performance of the tiers for requests of any size. Without, only requests of exactly one
    /// block show how fast the tiers are.
    pub models: Vec<DeviceModel>,
    /// Blocks that are copied at once.
    pub batch: usize,
    /// Requests of more bytes belong to a full pass and are not recorded.
    pub recorded_bytes_max: u64,
    /// Seed of random choices.
    pub seed: u64,
    /// The state that [`Worker::stop`](super::Worker::stop) returned in the last run.
    pub state: Option<Vec<u8>>,
}

impl WorkerConfig {
    /// Blocks are copied 64 at once, and requests of up to 32 KiB are recorded.
    pub fn new(policy: PolicySpec, tiers: Vec<TierSpec>) -> Self {
        Self {
            policy,
            tiers,
            models: Vec::new(),
            batch: 64,
            recorded_bytes_max: 32 << 10,
            seed: 1,
            state: None,
        }
    }

    setters! {
        policy: PolicySpec,
        tiers: Vec<TierSpec>,
        models: Vec<DeviceModel>,
        batch: usize,
        recorded_bytes_max: u64,
        seed: u64,
        state: Option<Vec<u8>>,
    }
}

/// The device's placement, and a policy for it, new or from the configured state.
pub(super) fn build(
    device: &TieredDevice,
    config: &WorkerConfig,
) -> Result<(Placement, Box<dyn Policy>)> {
    let placement = device.placement()?;
    if config.tiers.len() != placement.tiers() {
        let (found, expected) = (config.tiers.len(), placement.tiers());
        return Err(TieredError::Options(format!("{found} described, there are {expected}")));
    }
    if !config.models.is_empty() && config.models.len() != placement.tiers() {
        let (found, expected) = (config.models.len(), placement.tiers());
        return Err(TieredError::Options(format!("{found} models of tiers, there are {expected}")));
    }
    let policy = match &config.state {
        Some(bytes) => {
            let (set, name) = (&device.core.header.id, config.policy.name());
            adopt(device, config, &placement, State::decode(bytes, set, name, placement.pages())?)?
        }
        None => begin(config, &placement)?,
    };
    Ok((placement, policy))
}

pub(super) fn begin(config: &WorkerConfig, placement: &Placement) -> Result<Box<dyn Policy>> {
    let context = Context { tiers: &config.tiers, placement, seed: config.seed, oracle: None };
    config.policy.build(&context).map_err(|error| TieredError::Options(error.to_string()))
}

/// A policy restored from a state, and notified of the blocks that have moved since.
pub(super) fn adopt(
    device: &TieredDevice,
    config: &WorkerConfig,
    placement: &Placement,
    mut state: State,
) -> Result<Box<dyn Policy>> {
    let wrong = |error: crate::TierError| TieredError::State { reason: error.to_string() };
    if let Some(&tier) = state.map.iter().find(|&&tier| usize::from(tier) >= placement.tiers()) {
        return Err(TieredError::State { reason: format!("it names tier {tier}") });
    }
    state.map.extend_from_slice(&placement.map()[state.map.len()..]);
    let before = device.placement_of(state.map).map_err(wrong)?;
    let context =
        Context { tiers: &config.tiers, placement: &before, seed: config.seed, oracle: None };
    let mut policy = config.policy.restore(&context, &state.knowledge).map_err(wrong)?;
    for page in 0..placement.pages() {
        let (from, to) = (before.tier_of(page), placement.tier_of(page));
        if from != to {
            policy.moved(page, from, to);
        }
    }
    Ok(policy)
}
