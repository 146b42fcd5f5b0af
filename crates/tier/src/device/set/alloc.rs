//! Allocates slots for new blocks and for migrations.

use std::sync::atomic::Ordering;

use cenote_device::IoFault;

use super::Core;
use crate::device::entry::{Entry, Place, Stage};
use crate::device::error::ENOSPC;
use crate::device::io;
use crate::device::reclaim::DeferredFrees;
use crate::device::slots::Slots;

/// Slots by which a tier's file grows at least.
const GROWTH_SLOTS: u64 = 64;

/// The allocation state, under one lock.
#[derive(Debug)]
pub(in crate::device) struct Alloc {
    pub(in crate::device) slots: Vec<Slots>,
    pub(in crate::device) deferred: DeferredFrees,
    /// Slots taken by moves under way.
    pub(in crate::device) reserved: usize,
    /// Blocks that are not on stable storage yet.
    pub(super) dirty: Vec<u32>,
    /// Bytes of each tier's file.
    pub(super) file_bytes: Vec<u64>,
}

impl Alloc {
    pub(super) fn memory_bytes(&self) -> usize {
        let slots: usize = self.slots.iter().map(Slots::memory_bytes).sum();
        slots + self.dirty.capacity() * 4 + self.deferred.memory_bytes()
    }
}

impl Core {
    /// Allocates a zeroed slot for a block, since the write to it may fail. False if there will be
    /// room after the moves under way.
    pub(in crate::device) fn allocate(&self, block: u32) -> std::result::Result<bool, IoFault> {
        let mut alloc = self.alloc();
        if self.map.get(block).place().is_some() {
            return Ok(true);
        }
        self.free_deferred(&mut alloc);
        let before = block.checked_sub(1).and_then(|before| self.map.get(before).place());
        for tier in 0..self.tiers.len() {
            let wanted = self.wanted(tier, block, before);
            let Some(slot) = alloc.slots[tier].take(wanted, self.tiers[tier].spare) else {
                continue;
            };
            let place = Place { tier: tier as u8, slot };
            match self.prepare(&mut alloc, place, true) {
                Ok(()) => {}
                Err(fault) => {
                    alloc.slots[tier].release(slot);
                    if fault.errno != ENOSPC {
                        return Err(fault);
                    }
                    // Another tier may have room where this one's drive is full.
                    continue;
                }
            }
            // Writes that were in flight at a truncation of the block are still counted.
            let fresh = |entry: Entry| Some(entry.at(place).staged(Stage::Idle).fresh(true));
            let _ = self.map.update(block, fresh);
            alloc.dirty.push(block);
            return Ok(true);
        }
        if alloc.reserved > 0 || !alloc.deferred.is_empty() {
            return Ok(false);
        }
        Err(IoFault { errno: ENOSPC })
    }

    /// The preferred slot of a block: its own on the slowest tier, the one after its neighbour's on
    /// the others.
    fn wanted(&self, tier: usize, block: u32, before: Option<Place>) -> u32 {
        if tier + 1 == self.tiers.len() {
            return block % self.tiers[tier].slots;
        }
        let before = before.filter(|place| usize::from(place.tier) == tier);
        before.map_or(u32::MAX, |place| place.slot.saturating_add(1))
    }

    /// Allocates a slot for a migration; none while a write waits for a slot.
    pub(in crate::device) fn take_for_move(&self, block: u32, tier: usize) -> Option<Place> {
        let mut alloc = self.alloc();
        self.free_deferred(&mut alloc);
        if self.waiting_writers.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let before = block.checked_sub(1).and_then(|before| self.map.get(before).place());
        let slot = alloc.slots[tier].take(self.wanted(tier, block, before), 0)?;
        let place = Place { tier: tier as u8, slot };
        if self.prepare(&mut alloc, place, false).is_err() {
            alloc.slots[tier].release(slot);
            return None;
        }
        alloc.reserved += 1;
        Some(place)
    }

    /// Free slots of a tier, with the spare ones.
    pub(in crate::device) fn room(&self, tier: usize) -> u32 {
        let mut alloc = self.alloc();
        self.free_deferred(&mut alloc);
        alloc.slots[tier].free()
    }

    /// Whether slots wait for their readers.
    pub(in crate::device) fn is_waiting_for_readers(&self) -> bool {
        let mut alloc = self.alloc();
        self.free_deferred(&mut alloc);
        !alloc.deferred.is_empty()
    }

    fn free_deferred(&self, alloc: &mut Alloc) {
        let Alloc { slots, deferred, .. } = alloc;
        deferred.poll(&self.readers, |place| slots[usize::from(place.tier)].release(place.slot));
    }

    /// Grows the file over the slot, and zeroes the slot if `zeros` is set.
    fn prepare(
        &self,
        alloc: &mut Alloc,
        place: Place,
        zeros: bool,
    ) -> std::result::Result<(), IoFault> {
        let tier = usize::from(place.tier);
        let device = &self.tiers[tier].device;
        self.tiers[tier].set_written();
        let end = self.offset_of(place) + self.block_bytes();
        if alloc.file_bytes[tier] < end {
            let slots = (u64::from(place.slot) + 1).next_multiple_of(GROWTH_SLOTS);
            let slots = slots.min(self.tiers[tier].slots.into());
            let bytes = self.header.data_start() + slots * self.block_bytes();
            device.set_len(bytes).map_err(|error| error.fault())?;
            alloc.file_bytes[tier] = bytes;
        }
        if alloc.slots[tier].touch(place.slot) && zeros {
            let zeros = vec![0; self.header.block_bytes as usize];
            let written = io::write(device.as_ref(), &self.buffer, self.offset_of(place), &zeros);
            written.map_err(|error| error.fault())?;
        }
        Ok(())
    }
}
