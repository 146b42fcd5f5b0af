//! Computes the memory that an import needs, before it runs or after it was refused.
//!
//! Some buffers are shares of the budget. So the needs of all steps are computed for larger and
//! larger budgets until one covers its own needs.

use cenote_store::order::Order;
use cenote_store::{GraphWriter, hub_neighbours::HubNeighboursChoice};

use crate::blocks;
use crate::build::BuildSizes;
use crate::collect::CollectorSizes;
use crate::config::ImportConfig;
use crate::ids::memory::IdsMemory;
use crate::ids::strings::Dictionary;
use crate::long_list::LongList;
use crate::order::{self, sample::Sample};
use crate::partition::RangeWriter;
use crate::rows::STREAM_MEMORY;
use crate::spill::SpillReader;
use crate::stored::{StoredIds, StoredSource};

/// Keys in the range that sorts fastest: 16 MiB, the cache of a core or two.
const RANGE_KEYS_BEST: usize = 2 << 20;
const RANGES_MAX: usize = 4096;
const BLOCK_BYTES_MIN: usize = 4 << 10;
const BLOCK_BYTES_MAX: usize = 128 << 10;
/// Edges are not sampled in less memory: it has no room for clusters of as many vertices as are
/// worth it.
const SAMPLE_LIMIT_MIN: usize = 24 << 20;
/// Samples of edges take at most this share of the memory.
const SAMPLE_SHARE: usize = 4;
pub(super) const SET_KEYS_MIN: usize = 1 << 12;

/// What is known of the edges of an import: the result of the first pass, or a count or an estimate
/// of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub vertices: u64,
    pub edges: u64,
    pub ids: IdsMemory,
}

impl Known {
    /// What is known of a stored graph before its edges are read. Its ids are the ranks.
    pub fn of_stored(stored: &StoredSource<'_>) -> Self {
        let StoredIds { vertices, edges, .. } = *stored.ids;
        let chunks = vertices as usize / (1 << 16) + 1;
        let mut ids = IdsMemory::of_integers(vertices, chunks, 0);
        ids.held += stored.held_bytes;
        Self { vertices, edges, ids }
    }
}

/// How keys are partitioned.
pub(super) struct Plan {
    pub(super) ranges: usize,
    /// Keys of a range, if the sample is fair.
    pub(super) range_keys: usize,
    pub(super) block_bytes: usize,
    pub(super) memory: usize,
}

/// What the memory of an import depends on, beside its edges.
#[derive(Clone, Copy)]
pub(crate) struct Sizing<'a> {
    pub config: &'a ImportConfig,
    /// Whether the inputs are read twice instead of being spilled.
    pub rereads: bool,
    /// Memory of copies and of inputs that are no files, during the whole import.
    pub streams_bytes: usize,
    /// Memory of a pass over the stored graph, if that is what is imported.
    pub stored_pass_bytes: usize,
    /// Memory of reading that depends on the files: pages of Parquet, windows, long lines.
    pub files_bytes: usize,
}

impl Sizing<'_> {
    /// A budget of whole MiB that suffices, from `least` on.
    pub fn sufficient(&self, known: &Known, least: usize) -> usize {
        let mut limit = least.max(1 << 20).next_multiple_of(1 << 20);
        while self.need(limit, known) > limit {
            limit = (limit + limit / 16).next_multiple_of(1 << 20);
        }
        limit
    }

    /// Bytes of memory that an import with a budget of `limit` bytes needs.
    fn need(&self, limit: usize, known: &Known) -> usize {
        let gather = self.gather(limit, known);
        let mut ids = self.ids(limit, known);
        let order = self.config.order;
        let keys = self.keys(known);
        // The graph in natural order that an order needs is written before.
        let writing = self.partition(limit, ids, keys).max(self.write(limit, ids, known));
        let vertices = known.vertices as usize;
        let ordering = ids + order::memory(order, vertices, keys * 5 + vertices * 16);
        let placed = if order == Order::Natural { 0 } else { 4 * vertices };
        ids += placed;
        let placed_writing = self.partition(limit, ids, keys).max(self.write(limit, ids, known));
        let ranks = ids + self.writer(known) + placed + self.stored_pass_bytes;
        let most = [gather, writing, ordering, placed_writing, ranks].into_iter().max();
        most.unwrap_or(0) + self.streams_bytes
    }

    fn keys(&self, known: &Known) -> usize {
        let ends = if self.config.directed { 1 } else { 2 };
        known.edges as usize * ends
    }

    pub fn collectors(&self, limit: usize) -> CollectorSizes {
        let workers = self.config.workers();
        CollectorSizes {
            spill_block: share(limit, 64 * workers, 4 << 10, 256 << 10),
            sample: share(limit / 16, 64 * workers, 1 << 9, 1 << 16),
            weight_bytes: self.config.weight_bytes(),
            chooses_order: self.config.auto_order
                && limit >= SAMPLE_LIMIT_MIN
                && workers * Sample::BYTES <= limit / SAMPLE_SHARE,
        }
    }

    /// A pass over the inputs.
    fn pass(&self, limit: usize) -> usize {
        let workers = self.config.workers();
        blocks::pass_memory(workers, block_bytes(limit, workers))
            + self.stored_pass_bytes
            + self.files_bytes
    }

    fn collecting(&self, limit: usize) -> usize {
        self.config.workers() * self.collectors(limit).memory() + self.pass(limit)
    }

    fn gather(&self, limit: usize, known: &Known) -> usize {
        self.ids(limit, known) + known.ids.collecting + self.collecting(limit)
    }

    /// The ids during the whole import.
    fn ids(&self, limit: usize, known: &Known) -> usize {
        let IdsMemory { held, bitmap, beside_bitmap, collecting } = known.ids;
        let taken = held + collecting + self.collecting(limit) + self.streams_bytes;
        // As `IntegerSet::new` decides.
        let room = limit.saturating_sub(taken) / 2;
        if bitmap <= room { held + bitmap } else { held + room + beside_bitmap }
    }

    /// The spilled pairs, or the inputs, that the second pass reads.
    pub fn reading(&self, limit: usize) -> usize {
        let workers = self.config.workers();
        let pass = blocks::pass_memory(workers, block_bytes(limit, workers));
        let spilled = workers * SpillReader::memory(self.collectors(limit).spill_block);
        pass.max(spilled) + self.stored_pass_bytes
    }

    fn partition(&self, limit: usize, ids: usize, keys: usize) -> usize {
        let plan = Plan::new(self, limit, limit.saturating_sub(ids), keys as u64);
        ids + plan.memory + if self.rereads { self.pass(limit) } else { 0 }
    }

    /// The graph writer with the index and the degrees that it collects.
    fn writer(&self, known: &Known) -> usize {
        let config = self.config;
        let page = config.page_bytes as usize;
        let index = self.keys(known) * 4 / page * 9 + known.vertices as usize * 3;
        GraphWriter::bytes_for(page, config.codec, config.weights.is_some()) + index
    }

    /// The third pass.
    fn write(&self, limit: usize, ids: usize, known: &Known) -> usize {
        let (config, workers, keys) = (self.config, self.config.workers(), self.keys(known));
        let weight_bytes = config.weight_bytes();
        let writer = self.writer(known);
        let free = limit.saturating_sub(ids);
        let plan = Plan::new(self, limit, free, keys as u64);
        let free = free.saturating_sub(writer);
        let reversed = Plan::new(self, limit, free, keys as u64);
        let reversed_block = reversed.reversed_block_bytes();
        let reversed = match config.in_edges {
            true => workers * RangeWriter::memory(reversed.ranges, reversed_block),
            false => 0,
        };
        let list = LongList::memory(long_list_entries(limit), weight_bytes > 0);
        let blocks = workers * SpillReader::memory(plan.block_bytes.max(reversed_block));
        let sets =
            BuildSizes::sets(workers) * BuildSizes::bytes_per_key(weight_bytes) * SET_KEYS_MIN;
        let sort = blocks + reversed + list + sets;
        ids + writer + sort.max(self.hub_neighbours(known))
    }

    fn hub_neighbours(&self, known: &Known) -> usize {
        let (config, keys) = (self.config, self.keys(known) as u64);
        // Repeated edges and self-loops may make the lists too short for them.
        if config.hub_neighbours == HubNeighboursChoice::No
            || !config.hub_neighbours.is_made(known.vertices, keys)
        {
            return 0;
        }
        let filled = u64::from(100 - config.free_space);
        let pages = keys * 5 * 100 / filled / u64::from(config.page_bytes) + 1;
        GraphWriter::hub_neighbours_bytes(pages, 1)
    }

    /// Bytes of the budget that are kept for the last pass while keys are partitioned.
    pub(super) fn write_reserve(
        &self,
        limit: usize,
        (vertices, keys_max): (u64, u64),
        plan: &Plan,
    ) -> usize {
        let workers = self.config.workers();
        let ends = if self.config.directed { 1 } else { 2 };
        let known = Known { vertices, edges: keys_max / ends, ids: IdsMemory::default() };
        let list = LongList::memory(long_list_entries(limit), self.config.weights.is_some());
        let blocks = workers * SpillReader::memory(plan.block_bytes);
        let reversed = if self.config.in_edges { limit / 5 } else { 0 };
        // Ranges are not quite equal.
        let set_keys = plan.range_keys + plan.range_keys / 4;
        let key_bytes = BuildSizes::bytes_per_key(self.config.weight_bytes());
        let sets = BuildSizes::sets(workers) * key_bytes * set_keys;
        self.writer(&known) + blocks + reversed + list + sets
    }
}

impl Plan {
    /// The plan for so many keys, where `free` bytes of the budget are not in use.
    pub(super) fn new(sizing: &Sizing<'_>, limit: usize, free: usize, keys_max: u64) -> Self {
        let workers = sizing.config.workers();
        let sets = BuildSizes::sets(workers);
        // Half of what a set of sort buffers can hold, since the sample may be skewed.
        let weight_bytes = sizing.config.weight_bytes();
        let key_bytes = BuildSizes::bytes_per_key(weight_bytes);
        let fits = (free / 2 / sets / key_bytes).clamp(1, RANGE_KEYS_BEST) as u64;
        let reading = sizing.reading(limit);
        let for_blocks = free.saturating_sub(reading) / 4 * 3 / workers;
        let most = (for_blocks / BLOCK_BYTES_MIN).saturating_sub(4).clamp(1, RANGES_MAX);
        let ranges = keys_max.div_ceil(fits).clamp(1, most as u64) as usize;
        let block_bytes = share(for_blocks, ranges + 4, BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let memory = workers * RangeWriter::memory(ranges, block_bytes)
            + if sizing.rereads { 0 } else { reading };
        let range_keys = (keys_max / ranges as u64) as usize;
        Self { ranges, range_keys, block_bytes, memory }
    }

    /// Bytes of a block of reversed edges, which leave memory for the sort buffers.
    pub(super) fn reversed_block_bytes(&self) -> usize {
        (self.block_bytes / 4).next_multiple_of(4096).max(BLOCK_BYTES_MIN)
    }
}

/// Edges and vertices that iterators will give, for [`ImportConfig::memory_for`].
#[derive(Clone, Copy, Debug)]
pub struct Streamed {
    /// Iterators of edges or vertices.
    pub streams: usize,
    /// Most distinct vertices.
    pub vertices: u64,
    /// Most edges.
    pub edges: u64,
    /// Their ids.
    pub ids: StreamedIds,
}

/// The ids of [`Streamed`].
#[derive(Clone, Copy, Debug)]
pub enum StreamedIds {
    /// Integers, none larger than this one.
    Integers(u64),
    /// Names, with so many bytes in all.
    Names(u64),
}

impl ImportConfig {
    /// A budget in bytes that suffices to import what iterators will give.
    pub fn memory_for(&self, streamed: &Streamed) -> usize {
        let Streamed { streams, vertices, edges, ids } = *streamed;
        let ids = match ids {
            StreamedIds::Names(bytes) => Dictionary::memory(vertices, bytes as usize),
            StreamedIds::Integers(largest) => {
                let high = vertices.min(largest.saturating_sub(u64::from(u32::MAX)));
                let chunks = (largest >> 16).min(u64::from(u16::MAX)) + 1;
                IdsMemory::of_integers(vertices, chunks as usize, high)
            }
        };
        let sizing = Sizing {
            config: self,
            rereads: false,
            streams_bytes: streams * STREAM_MEMORY,
            stored_pass_bytes: 0,
            files_bytes: 0,
        };
        sizing.sufficient(&Known { vertices, edges, ids }, 0)
    }
}

pub(crate) fn block_bytes(limit: usize, workers: usize) -> usize {
    share(limit, 64 * workers, 16 << 10, 1 << 20)
}

/// Entries of a long list that are kept in memory.
pub(super) fn long_list_entries(limit: usize) -> usize {
    share(limit, 128, 1 << 16, 64 << 20) / 4
}

/// `whole / parts` rounded down to a power of two, within bounds.
fn share(whole: usize, parts: usize, least: usize, most: usize) -> usize {
    let part = whole / parts;
    let power = if part == 0 { 1 } else { 1 << part.ilog2() };
    power.clamp(least, most)
}
