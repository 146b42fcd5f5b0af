//! Moves blocks: copy, sync, journal, sync, switch, free.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use cenote_device::{Arena, Buffer, Completion, Op, Queue, QueueConfig, Request};

use super::entry::{Entry, Place, Stage};
use super::error::{Result, TieredError};
use super::layout::{RECORDS, Record};
use super::set::Core;
use super::tiered::TieredDevice;
use crate::placement::Move;

/// Most blocks in a batch.
pub(super) const BATCH_MAX: usize = 1024;

/// The outcome of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The block was moved, durably.
    Moved,
    /// The block stays: there was no room, it was written meanwhile, or it does not exist.
    Dropped,
    /// The block stays because a device failed.
    Failed,
}

/// Moves blocks of one device in batches, on the thread that created it. Only one migrator of a
/// device runs at a time.
pub struct Migrator {
    core: Arc<Core>,
    queues: Vec<Box<dyn Queue>>,
    buffers: Vec<Buffer>,
    completions: Vec<Completion>,
    batch: usize,
    /// A queue failed with requests in flight.
    broken: bool,
}

#[derive(Clone, Copy)]
struct Migration {
    block: u32,
    from: Place,
    to: Place,
    outcome: Option<Outcome>,
}

impl Migrator {
    /// A migrator that copies up to `batch` blocks at once.
    ///
    /// # Errors
    /// [`TieredError::Device`] if queues or buffers are refused.
    pub fn new(device: &TieredDevice, batch: usize) -> Result<Self> {
        let core = Arc::clone(&device.core);
        // All records of a batch must fit into one journal: a checkpoint before the entries are
        // switched would hold the old places.
        let batch = batch.clamp(1, core.header.journal_pages as usize * RECORDS).min(BATCH_MAX);
        let (arena, buffers) = Arena::carve(core.header.block_bytes as usize, batch)?;
        let config = QueueConfig::with_depth(batch).arenas(vec![arena]);
        let queues = core.tiers.iter().map(|tier| tier.device.queue(&config));
        let queues = queues.collect::<cenote_device::Result<Vec<_>>>()?;
        Ok(Self { core, queues, buffers, completions: Vec::new(), batch, broken: false })
    }

    /// Blocks in a batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Bytes of the buffers.
    pub fn memory_bytes(&self) -> usize {
        self.batch * self.core.header.block_bytes as usize
    }

    /// Carries out moves in batches, while users read and write; returns the outcome of each.
    ///
    /// # Errors
    /// [`TieredError::Frozen`] or the journal's error, after which no block moves. The failure of a
    /// tier is an [`Outcome::Failed`].
    pub fn carry_out(&mut self, moves: &[Move]) -> Result<Vec<Outcome>> {
        let core = Arc::clone(&self.core);
        let _alone = super::lock::lock(&core.migrator);
        if self.broken {
            return Err(TieredError::Options("a queue of the migration broke: open anew".into()));
        }
        let mut outcomes = Vec::with_capacity(moves.len());
        core.before_change()?;
        for part in moves.chunks(self.batch()) {
            let mut migrations: Vec<Migration> = Vec::with_capacity(part.len());
            for step in part {
                migrations.push(self.begin(*step));
            }
            if migrations.iter().all(|m| m.outcome.is_some()) {
                outcomes.extend(migrations.iter().filter_map(|m| m.outcome));
                continue;
            }
            let done = self.guarded(&mut migrations);
            outcomes.extend(migrations.iter().map(|m| m.outcome.unwrap_or(Outcome::Failed)));
            done?;
        }
        Ok(outcomes)
    }

    /// Takes a slot for a block and marks the block as being copied.
    fn begin(&self, step: Move) -> Migration {
        let nowhere = Place { tier: 0, slot: u32::MAX };
        let dropped = Migration {
            block: step.page,
            from: nowhere,
            to: nowhere,
            outcome: Some(Outcome::Dropped),
        };
        let core = &self.core;
        let entry = core.map.get(step.page);
        let Some(from) = entry.place() else { return dropped };
        if from.tier == step.to || usize::from(step.to) >= core.tiers.len() {
            return dropped;
        }
        let Some(to) = core.take_for_move(step.page, usize::from(step.to)) else { return dropped };
        let is_calm = |entry: Entry| {
            let calm = entry.stage() == Stage::Idle && entry.writers() == 0;
            (calm && entry.place() == Some(from)).then(|| entry.staged(Stage::Copying))
        };
        if core.map.update(step.page, is_calm).is_err() {
            let mut alloc = core.alloc();
            alloc.reserved -= 1;
            alloc.slots[usize::from(to.tier)].release(to.slot);
            return dropped;
        }
        Migration { block: step.page, from, to, outcome: None }
    }

    /// Moves a batch. After a panic of a device no user waits for a block.
    fn guarded(&mut self, migrations: &mut [Migration]) -> Result<()> {
        let batch = AssertUnwindSafe(|| self.batch_of(migrations));
        catch_unwind(batch).unwrap_or_else(|panic| {
            self.broken = true;
            let mut journal = self.core.journal();
            for migration in migrations.iter().filter(|m| m.to.slot != u32::MAX) {
                let left = self.core.map.update(migration.block, |entry| match entry.stage() {
                    Stage::Committing => Some(entry.staged(Stage::Doubtful)),
                    Stage::Copying => Some(entry.staged(Stage::Idle)),
                    Stage::Idle | Stage::Doubtful => None,
                });
                if left.is_ok_and(|before| before.stage() == Stage::Committing) {
                    journal.frozen = true;
                }
            }
            drop(journal);
            self.core.alloc().reserved = 0;
            self.core.end_commit();
            resume_unwind(panic)
        })
    }

    fn batch_of(&mut self, migrations: &mut [Migration]) -> Result<()> {
        for op in [Op::Read, Op::Write] {
            if let Err(error) = self.transfer(migrations, op) {
                // Requests in flight may still write to the new slots, so these stay taken.
                self.broken = true;
                self.forget(migrations);
                return Err(error);
            }
        }
        self.sync_targets(migrations);
        let committed = self.commit(migrations);
        if committed.is_ok() {
            self.release(migrations);
        }
        self.core.end_commit();
        committed
    }

    /// Reads the blocks from their old places, or writes them to their new ones.
    fn transfer(&mut self, migrations: &mut [Migration], op: Op) -> Result<()> {
        let len = self.core.header.block_bytes as usize;
        let mut held: Vec<Option<Buffer>> = self.buffers.drain(..).map(Some).collect();
        let mut wanted = vec![0; self.queues.len()];
        for (tag, migration) in migrations.iter().enumerate().filter(|(_, m)| m.outcome.is_none()) {
            let place = if op == Op::Read { migration.from } else { migration.to };
            let buffer = held[tag].take().expect("a buffer for each of the batch");
            let offset = self.core.offset_of(place);
            let tier = usize::from(place.tier);
            self.queues[tier].push(Request { tag: tag as u64, op, offset, len, buffer });
            wanted[tier] += 1;
        }
        let mut outcome = self.queues.iter_mut().try_for_each(|queue| queue.submit());
        for (queue, wanted) in self.queues.iter_mut().zip(wanted) {
            if outcome.is_ok() {
                outcome = queue.reap(wanted, &mut self.completions);
            }
        }
        for completion in self.completions.drain(..) {
            let migration = &mut migrations[completion.tag as usize];
            if completion.result != Ok(len) {
                migration.outcome = Some(Outcome::Failed);
            }
            held[completion.tag as usize] = Some(completion.buffer);
        }
        self.buffers.extend(held.into_iter().flatten());
        Ok(outcome?)
    }

    /// Syncs the target tiers; the moves to a tier whose sync fails have failed.
    fn sync_targets(&self, migrations: &mut [Migration]) {
        for tier in 0..self.core.tiers.len() {
            let goes = |m: &Migration| m.outcome.is_none() && usize::from(m.to.tier) == tier;
            if !migrations.iter().any(goes) || self.core.sync_tier(tier).is_ok() {
                continue;
            }
            let failed = migrations.iter_mut().filter(|m| goes(m));
            failed.for_each(|migration| migration.outcome = Some(Outcome::Failed));
        }
    }

    fn commit(&self, migrations: &mut [Migration]) -> Result<()> {
        let core = &self.core;
        let mut journal = core.journal();
        if journal.frozen {
            let file = core.map_device.name();
            drop(journal);
            self.abandon(migrations);
            return Err(TieredError::Frozen { file });
        }
        let len_bytes = core.len_bytes();
        let blocks = core.blocks_of(len_bytes);
        // A block that was written meanwhile stays, and so does one beyond the end of the device.
        for migration in migrations.iter_mut().filter(|m| m.outcome.is_none()) {
            let still = |entry: Entry| {
                let still = entry.stage() == Stage::Copying && migration.block < blocks;
                still.then(|| entry.staged(Stage::Committing))
            };
            if core.map.update(migration.block, still).is_err() {
                migration.outcome = Some(Outcome::Dropped);
            }
        }
        let moving = migrations.iter().filter(|m| m.outcome.is_none());
        let records: Vec<Record> = moving.map(|m| Record { block: m.block, place: m.to }).collect();
        if records.is_empty() {
            return Ok(());
        }
        let committed = core.commit(&mut journal, len_bytes, &records);
        if committed.is_ok() {
            for migration in migrations.iter_mut().filter(|m| m.outcome.is_none()) {
                let arrived = |entry: Entry| Some(entry.at(migration.to).staged(Stage::Idle));
                let _ = core.map.update(migration.block, arrived);
                migration.outcome = Some(Outcome::Moved);
            }
            return Ok(());
        }
        let in_doubt = journal.frozen;
        drop(journal);
        for migration in migrations.iter_mut().filter(|m| m.outcome.is_none()) {
            let stage = if in_doubt { Stage::Doubtful } else { Stage::Copying };
            let _ = core.map.update(migration.block, |entry| Some(entry.staged(stage)));
        }
        if in_doubt {
            self.forget(migrations);
        } else {
            self.abandon(migrations);
        }
        committed
    }

    /// Leaves the new slots of this batch taken until the device is opened again.
    fn forget(&self, migrations: &[Migration]) {
        let taken = migrations.iter().filter(|m| m.to.slot != u32::MAX).count();
        self.core.alloc().reserved -= taken;
    }

    /// Fails the moves of this batch.
    fn abandon(&self, migrations: &mut [Migration]) {
        for migration in migrations.iter_mut().filter(|m| m.outcome.is_none()) {
            migration.outcome = Some(Outcome::Failed);
        }
        self.release(migrations);
    }

    /// Frees the old slots of blocks that moved, and the new slots of the others.
    fn release(&self, migrations: &[Migration]) {
        let mut alloc = self.core.alloc();
        for migration in migrations.iter().filter(|m| m.to.slot != u32::MAX) {
            alloc.reserved -= 1;
            if migration.outcome == Some(Outcome::Moved) {
                alloc.deferred.push(migration.from);
                continue;
            }
            let idle =
                |entry: Entry| (entry.stage() == Stage::Copying).then(|| entry.staged(Stage::Idle));
            let _ = self.core.map.update(migration.block, idle);
            alloc.slots[usize::from(migration.to.tier)].release(migration.to.slot);
        }
    }
}
