//! Brings every block to the tier where it belongs, at once: the hottest up, or all in the order
//! in which a file would be laid over the tiers.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::error::{Result, TieredError};
use super::migrate::{Migrator, Outcome};
use super::tiered::TieredDevice;
use super::worker_policy::{WorkerConfig, build};
use crate::placement::{Move, Tier};

/// How often a block that did not move is tried again.
const TRIES: u32 = 3;

/// How long it sleeps while readers hold the slots that it needs.
const NAP: Duration = Duration::from_millis(1);

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Moves that were planned.
    pub planned: u64,
    /// Blocks that moved.
    pub moved: u64,
    /// Blocks that stay: they were written again and again meanwhile, or cut off, or readers held
    /// the slots that they needed.
    pub dropped: u64,
    /// Blocks that a device's fault keeps where they are.
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
    /// The blocks of the greatest heat on the fastest tiers, as many as these hold beside their
    /// spare slots. Blocks of the least heat of all stay where there is room. Among equals those
    /// that lie on faster tiers come first, then those of lower numbers.
    ///
    /// # Errors
    /// [`TieredError::State`] without a state of the policy; [`TieredError::Options`] where the
    /// policy does not rank blocks.
    pub fn by_heat(device: &TieredDevice, config: &WorkerConfig) -> Result<Self> {
        if config.state.is_none() {
            return Err(TieredError::State { reason: "there is none".into() });
        }
        let (_, policy) = build(device, config)?;
        let mut ranked = Vec::new();
        for (block, tier) in lying(device) {
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

    /// The first blocks on the fastest tier, the next on the next, as a fresh import lays them.
    pub fn in_file_order(device: &TieredDevice) -> Self {
        let mut plan = Plan::new(device);
        for (block, tier) in lying(device) {
            plan.put(block, tier, 0);
        }
        Self { moves: plan.moves }
    }

    /// The moves, in the order of the blocks' claims.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Carries the plan out, up to `batch` blocks at once, while users go on. `progress` is called
    /// after every batch and may stop it; what has moved until then stays moved.
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
        // By tier, what goes there.
        let mut waiting: Vec<Waiting> = vec![Waiting::new(); device.core.tiers.len()];
        for step in &self.moves {
            waiting[usize::from(step.to)].push_back((*step, TRIES));
        }
        let mut naps = 0;
        while waiting.iter().any(|moves| !moves.is_empty()) {
            let part = next_batch(device, &mut waiting, migrator.batch());
            if part.is_empty() {
                // Readers hold the slots; if they never leave, nothing more moves.
                naps += 1;
                if naps > 5_000 {
                    break;
                }
                std::thread::sleep(NAP);
                continue;
            }
            naps = 0;
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

/// Blocks that have a slot, and on which tier.
fn lying(device: &TieredDevice) -> impl Iterator<Item = (u32, Tier)> {
    (0..device.blocks()).filter_map(|block| Some((block, device.tier_of(block)?)))
}

/// Moves that find room now; none while a write waits for a slot. Those to the slowest tiers come
/// first: they make room above.
///
/// There always are some while any is left and no reader holds a slot: a tier holds no more than
/// its slots without the spare ones in the end, so not all tiers that wait for blocks are full.
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

/// Blocks find their tiers one after the other.
struct Plan {
    room: Vec<u64>,
    moves: Vec<Move>,
}

impl Plan {
    fn new(device: &TieredDevice) -> Self {
        Self { room: device.capacities(), moves: Vec::new() }
    }

    /// A block goes to the first tier from `first` on that has room, or else to the slowest that
    /// has.
    fn put(&mut self, block: u32, from: Tier, first: Tier) {
        let below = (usize::from(first)..self.room.len()).find(|&tier| self.room[tier] > 0);
        let above = || (0..usize::from(first)).rev().find(|&tier| self.room[tier] > 0);
        // Blocks are never more than the room.
        let Some(to) = below.or_else(above) else { return };
        self.room[to] -= 1;
        if to != usize::from(from) {
            self.moves.push(Move { page: block, to: to as Tier });
        }
    }
}
