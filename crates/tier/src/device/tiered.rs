//! The tiered device.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cenote_device::{Clock, Device, Queue, QueueConfig};

use super::buffers::parts_bytes;
use super::error::{Result, TieredError};
use super::header::{Role, SetHeader};
use super::queue::TieredQueue;
use super::set::{Core, Refreshed, SetConfig, TierPart};
use crate::placement::{Placement, Tier};

/// Bytes that a queue keeps for each block of a request that is split.
const BLOCK_PART_BYTES: usize = 256;

/// Several devices as one. Shared by threads, like every device.
#[derive(Clone, Debug)]
pub struct TieredDevice {
    pub(super) core: Arc<Core>,
}

/// How full a tier is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierUse {
    /// The tier's name in the set.
    pub name: String,
    /// The file.
    pub file: String,
    /// Blocks on the tier.
    pub blocks: u64,
    /// Most blocks that it can hold.
    pub slots: u64,
    /// Slots that are reserved for migrations.
    pub spare: u64,
}

impl TieredDevice {
    /// Creates an empty set on empty devices, the fastest tier first, with the map on a device of
    /// its own. The set is durable once the first [`Device::sync`] has returned.
    ///
    /// # Errors
    /// [`TieredError::Options`] for invalid tiers, [`TieredError::Device`].
    pub fn create(map: Arc<dyn Device>, tiers: Vec<TierPart>, config: &SetConfig) -> Result<Self> {
        Ok(Self { core: Arc::new(Core::create(map, tiers, config)?) })
    }

    /// Reads the description of a set from its map file: which tiers to open.
    ///
    /// # Errors
    /// [`TieredError::Member`] if it is not a map file.
    pub fn describe(map: &dyn Device) -> Result<SetHeader> {
        let (header, role) = SetHeader::read(map)?;
        match role {
            Role::Map => Ok(header),
            Role::Tier(tier) => {
                let name = &header.tiers[usize::from(tier)].name;
                let reason = format!("it is the tier {name} of a graph, not the graph");
                Err(TieredError::Member { file: map.name(), reason })
            }
        }
    }

    /// Opens a set, with the tiers in the order of [`TieredDevice::describe`]. With a read-only map
    /// file the device is read-only.
    ///
    /// # Errors
    /// [`TieredError::Member`] names the file that is missing, truncated, of another set or in the
    /// wrong place; [`TieredError::Damaged`].
    pub fn open(map: Arc<dyn Device>, tiers: Vec<Arc<dyn Device>>) -> Result<Self> {
        let header = Self::describe(map.as_ref())?;
        if tiers.len() != header.tiers.len() {
            let (found, expected) = (tiers.len(), header.tiers.len());
            return Err(TieredError::Options(format!("{found} given, the graph has {expected}")));
        }
        Ok(Self { core: Arc::new(Core::open(map, header, tiers)?) })
    }

    /// Takes over the blocks that another process has added to the map since the device was opened
    /// or refreshed. Only for a device that changes nothing itself, while no process moves blocks.
    ///
    /// # Errors
    /// [`TieredError::Device`].
    pub fn refresh(&self) -> Result<Refreshed> {
        self.core.refresh()
    }

    /// The set's description.
    pub fn header(&self) -> &SetHeader {
        &self.core.header
    }

    /// How full each tier is, from the fastest.
    pub fn tiers(&self) -> Vec<TierUse> {
        let counts = self.counts();
        let tiers = self.core.tiers.iter().zip(counts);
        let describe = |(tier, blocks): (&super::set::TierState, u64)| TierUse {
            name: tier.name.clone(),
            file: tier.device.name(),
            blocks,
            slots: tier.slots.into(),
            spare: tier.spare.into(),
        };
        tiers.map(describe).collect()
    }

    /// Blocks by tier.
    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.core.tiers.len()];
        for block in 0..self.blocks() {
            if let Some(place) = self.core.map.get(block).place() {
                counts[usize::from(place.tier)] += 1;
            }
        }
        counts
    }

    /// Blocks that the device has now.
    pub fn blocks(&self) -> u32 {
        self.core.blocks_of(self.core.len_bytes())
    }

    /// The tier of a block; `None` if it was never written.
    pub fn tier_of(&self, block: u32) -> Option<Tier> {
        self.core.map.get(block).place().map(|place| place.tier)
    }

    /// The tiers of all blocks, for policies. Blocks that were never written count to the slowest
    /// tier.
    ///
    /// # Errors
    /// [`TieredError::Options`] if the device is empty.
    pub fn placement(&self) -> Result<Placement> {
        let slowest = (self.core.tiers.len() - 1) as Tier;
        let map: Vec<Tier> =
            (0..self.blocks()).map(|block| self.tier_of(block).unwrap_or(slowest)).collect();
        self.placement_of(map).map_err(|e| TieredError::Options(e.to_string()))
    }

    /// What the tiers may hold: the spare slots are for blocks that change places.
    pub(super) fn capacities(&self) -> Vec<u64> {
        self.core.tiers.iter().map(|tier| (tier.slots - tier.spare).into()).collect()
    }

    /// A placement by its map. A migration that lost its partner may have left a tier within its
    /// spare slots.
    pub(super) fn placement_of(&self, map: Vec<Tier>) -> crate::Result<Placement> {
        let mut capacities = self.capacities();
        for (tier, capacity) in capacities.iter_mut().enumerate() {
            let count = map.iter().filter(|&&at| usize::from(at) == tier).count() as u64;
            *capacity = count.max(*capacity);
        }
        Placement::from_map(map, &capacities)
    }

    /// Bytes between two parts of a tier that one read reads through instead of being cut in two;
    /// the size of a block unless set. Best are the bytes whose transfer takes no longer than a
    /// further request: on a device that is limited by its bytes per second these are fewer than
    /// on one that is limited by its requests. Never more than half the bytes of a request are
    /// read through.
    pub fn set_gap_bytes(&self, tier: Tier, bytes: u64) {
        self.core.tiers[usize::from(tier)].gap_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Accesses that were dropped because too many waited for the policy.
    pub fn missed(&self) -> u64 {
        self.core.recorded.missed()
    }
}

impl Device for TieredDevice {
    fn name(&self) -> String {
        self.core.map_device.name()
    }

    fn backend(&self) -> &'static str {
        self.core.tiers[0].device.backend()
    }

    fn len_bytes(&self) -> cenote_device::Result<u64> {
        Ok(self.core.len_bytes())
    }

    fn block_bytes(&self) -> usize {
        self.core.align
    }

    fn queue(&self, config: &QueueConfig) -> cenote_device::Result<Box<dyn Queue>> {
        Ok(Box::new(TieredQueue::open(&self.core, self.clock(), config)?))
    }

    fn sync(&self) -> cenote_device::Result<()> {
        self.core.sync().map_err(|error| error.into_device(self.name(), "sync"))
    }

    fn set_len(&self, bytes: u64) -> cenote_device::Result<()> {
        self.core.set_len(bytes).map_err(|error| error.into_device(self.name(), "resize"))
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.core.tiers[0].device.clock()
    }

    /// The map, free lists, recorded accesses and the journal's buffers, without queues and
    /// migrations.
    fn memory_bytes(&self) -> usize {
        self.core.memory_bytes()
    }

    /// Buffers for parts of requests over several tiers, without the tiers' queues. Requests of at
    /// most a block are assumed to be aligned to their length, as pages are, and never split.
    fn queue_bytes(&self, depth: usize, request_bytes: usize) -> usize {
        if request_bytes as u64 <= self.core.block_bytes() {
            return depth * BLOCK_PART_BYTES;
        }
        let blocks = request_bytes.div_ceil(self.core.block_bytes() as usize) + 1;
        depth * (parts_bytes(request_bytes) + blocks * BLOCK_PART_BYTES)
    }
}
