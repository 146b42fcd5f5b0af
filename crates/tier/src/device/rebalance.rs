//! Rebalances all blocks at once: the hottest to the fastest tiers, or all in file order.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::error::{Result, TieredError};
use super::migrate::{Migrator, Outcome};
use super::tiered::TieredDevice;
use super::worker_policy::{WorkerConfig, build};
use crate::placement::{Move, Tier};

/// How often the move of a block is tried.
const TRIES: u32 = 3;

/// Sleep while readers hold the slots that are needed.
const PAUSE: Duration = Duration::from_millis(1);

/// Progress of a rebalance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Planned moves.
    pub planned: u64,
    /// Blocks that moved.
    pub moved: u64,
    /// Blocks that stay because they were written repeatedly or truncated, or because readers held
    /// the slots.
    pub dropped: u64,
    /// Blocks that stay because of a fault of a device.
    pub failed: u64,
}

/// Moves to one tier, and how often each may be tried.
type Waiting = VecDeque<(Move, u32)>;

/// A plan: the fewest moves that bring every block to its tier.
#[derive(Clone, Debug)]
pub struct Rebalance {
    moves: Vec<Move>,
}

impl Rebalance {
    /// Plans the hottest blocks on the fastest tiers, without these tiers' spare slots. Blocks of
    /// the least heat stay if there is room. Among equals, blocks on faster tiers come first, then
    /// those with lower numbers.
    ///
    /// # Errors
    /// [`TieredError::State`] without a state of the policy; [`TieredError::Options`] if the policy
    /// does not rank blocks.
    pub fn by_heat(device: &TieredDevice, config: &WorkerConfig) -> Result<Self> {
        if config.state.is_none() {
            return Err(TieredError::State { reason: "there is none".into() });
        }
        let (_, policy) = build(device, config)?;
        let mut ranked = Vec::new();
        for (block, tier) in placed_blocks(device) {
            let Some(heat) = policy.heat(block) else {
                let name = config.policy.name();
                let reason = format!("the policy '{name}' does not rank blocks");
                return Err(TieredError::Options(reason));
            };
            ranked.push((heat, tier, block));
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let least = ranked.last().map(|last| last.0);
        let hot = ranked.iter().take_while(|(heat, ..)| Some(*heat) != least).count();
        let mut plan = Plan::new(device);
        for (at, &(_, tier, block)) in ranked.iter().enumerate() {
            plan.put(block, tier, if at < hot { 0 } else { tier });
        }
        Ok(Self { moves: plan.moves })
    }

    /// Plans the first blocks on the fastest tier, the next on the next, as after an import.
    pub fn in_file_order(device: &TieredDevice) -> Self {
        let mut plan = Plan::new(device);
        for (block, tier) in placed_blocks(device) {
            plan.put(block, tier, 0);
        }
        Self { moves: plan.moves }
    }

    /// The moves, the first blocks to be placed first.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Carries out the plan in batches of up to `batch` blocks while the device is used. `progress`
    /// is called after every batch and may stop it.
    ///
    /// # Errors
    /// Those of [`Migrator::carry_out`].
    pub fn carry_out(
        &self,
        device: &TieredDevice,
        batch: usize,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Progress> {
        let mut migrator = Migrator::new(device, batch)?;
        let mut so_far = Progress { planned: self.moves.len() as u64, ..Progress::default() };
        // By target tier.
        let mut waiting: Vec<Waiting> = vec![Waiting::new(); device.core.tiers.len()];
        for step in &self.moves {
            waiting[usize::from(step.to)].push_back((*step, TRIES));
        }
        let mut pauses = 0;
        while waiting.iter().any(|moves| !moves.is_empty()) {
            let part = next_batch(device, &mut waiting, migrator.batch());
            if part.is_empty() {
                // Readers hold the slots. If they never leave, give up.
                pauses += 1;
                if pauses > 5_000 {
                    break;
                }
                std::thread::sleep(PAUSE);
                continue;
            }
            pauses = 0;
            let steps: Vec<Move> = part.iter().map(|(step, _)| *step).collect();
            let outcomes = migrator.carry_out(&steps)?;
            for ((step, tries), outcome) in part.into_iter().zip(outcomes) {
                match outcome {
                    Outcome::Moved => so_far.moved += 1,
                    Outcome::Failed => so_far.failed += 1,
                    Outcome::Dropped if tries > 1 && device.tier_of(step.page).is_some() => {
                        waiting[usize::from(step.to)].push_back((step, tries - 1));
                    }
                    Outcome::Dropped => so_far.dropped += 1,
                }
            }
            if progress(so_far).is_break() {
                return Ok(so_far);
            }
        }
        so_far.dropped += waiting.iter().map(|moves| moves.len() as u64).sum::<u64>();
        Ok(so_far)
    }
}

/// Blocks that have a slot, with their tiers.
fn placed_blocks(device: &TieredDevice) -> impl Iterator<Item = (u32, Tier)> {
    (0..device.blocks()).filter_map(|block| Some((block, device.tier_of(block)?)))
}

/// Takes moves for which there is room now; none while a write waits for a slot. Those to the
/// slowest tiers come first, since they make room on the faster ones.
///
/// While moves are left and no reader holds a slot there always are some: the plan leaves the spare
/// slots of each tier free, so not all target tiers are full.
fn next_batch(device: &TieredDevice, waiting: &mut [Waiting], most: usize) -> Vec<(Move, u32)> {
    let mut part = Vec::new();
    if device.core.waiting_writers.load(Ordering::SeqCst) > 0 {
        return part;
    }
    for (tier, moves) in waiting.iter_mut().enumerate().rev() {
        let room = (device.core.room(tier) as usize).min(most - part.len()).min(moves.len());
        part.extend(moves.drain(..room));
    }
    part
}

/// Assigns tiers to blocks one after the other.
struct Plan {
    room: Vec<u64>,
    moves: Vec<Move>,
}

impl Plan {
    fn new(device: &TieredDevice) -> Self {
        Self { room: device.capacities(), moves: Vec::new() }
    }

    /// Assigns a block to the first tier from `first` on that has room, or else to the slowest
    /// tier before with room.
    fn put(&mut self, block: u32, from: Tier, first: Tier) {
        let below = (usize::from(first)..self.room.len()).find(|&tier| self.room[tier] > 0);
        let above = || (0..usize::from(first)).rev().find(|&tier| self.room[tier] > 0);
        // There is room for all blocks.
        let Some(to) = below.or_else(above) else { return };
        self.room[to] -= 1;
        if to != usize::from(from) {
            self.moves.push(Move { page: block, to: to as Tier });
        }
    }
}
