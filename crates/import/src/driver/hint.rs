//! Computes the memory that would suffice for an import that had too little.
//!
//! A refused request only says what was missing at that point; later steps take memory too, some of
//! them shares of the budget. So the needs of all steps are computed for larger and larger budgets
//! until one covers its own needs. After the first pass the number suffices; before its end the
//! ids still to come are estimated from the part of the input that was parsed.

use std::sync::atomic::Ordering;

use cenote_store::GraphWriter;
use cenote_store::order::Order;

use super::gather::block_bytes;
use super::partition::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN};
use super::write::{SET_KEYS_MIN, long_list_entries};
use super::{Import, Known};
use crate::blocks;
use crate::build::BuildSizes;
use crate::error::ImportError;
use crate::ids::integers::IntegerSet;
use crate::long_list::LongList;
use crate::order;
use crate::spill::SpillReader;

/// The buffers of a graph writer, without and with weights.
const WRITER_BYTES: [usize; 2] = [6 << 20, 12 << 20];
/// Most memory for the ids in a byte of text: names of one letter, with their table entries.
const IDS_PER_BYTE: f64 = 32.0;

/// Bytes of memory of the last pass, without the buffers of its sorts.
struct Writing {
    /// The graph writer with the index and the degrees that it collects.
    writer: usize,
    blocks: usize,
    reversed: usize,
    list: usize,
}

impl Import<'_> {
    /// Replaces the missing memory in an error by a budget that suffices.
    pub(super) fn with_sufficient_memory(&self, error: ImportError) -> ImportError {
        let ImportError::Memory { input, given, needed, what } = error else { return error };
        let known = self.known.get().copied().unwrap_or_else(|| self.estimate(needed));
        let mut limit = needed.max(1 << 20);
        while self.need(limit, known) > limit {
            limit += limit / 8;
        }
        // Rounded to whole MiB.
        let needed = limit.next_multiple_of(1 << 20);
        ImportError::Memory { input, given, needed, what }
    }

    /// Estimates the result of the first pass, which had requested `needed` bytes in all.
    fn estimate(&self, needed: usize) -> Known {
        let [read, unpacked, parsed] = self.meter.read();
        let total = self.input_bytes().map_or(4.0, |bytes| bytes as f64 / read.max(1.0));
        // Bytes of the whole input after decompression.
        let bytes = unpacked.max(1.0) * total.max(1.0);
        let most = bytes * IDS_PER_BYTE;
        let is_sample = parsed > 8.0 * block_bytes(self.budget.limit(), 1) as f64;
        let linear = if is_sample { 2.0 * needed as f64 * bytes / parsed } else { most };
        let ids_bytes = linear.min(most) as usize;
        let (vertices, edges) = (ids_bytes as u64 / 16, bytes as u64 / 4);
        Known {
            vertices,
            edges,
            ids_bytes: ids_bytes.max(needed),
            bitmap_bytes: IntegerSet::bitmap_bytes(vertices as usize),
            sort_bytes: ids_bytes,
        }
    }

    /// Bytes of the budget that are kept for the last pass while keys are partitioned.
    pub(super) fn write_reserve(&self, vertices: u64, keys_max: u64, range_keys: usize) -> usize {
        let workers = self.config.workers();
        let Writing { writer, blocks, reversed, list } =
            self.writing(self.budget.limit(), vertices, keys_max as usize);
        // Ranges are not quite equal.
        let set_keys = range_keys + range_keys / 4;
        let key_bytes = BuildSizes::bytes_per_key(self.config.weight_bytes());
        let sets = BuildSizes::sets(workers) * key_bytes * set_keys;
        writer + blocks + reversed + list + sets
    }

    fn writing(&self, limit: usize, vertices: u64, keys: usize) -> Writing {
        let config = self.config;
        let (workers, weighted) = (config.workers(), config.weight_bytes() > 0);
        let page = config.page_bytes as usize;
        let index = keys * 4 / page * 9 + vertices as usize * 3;
        Writing {
            writer: WRITER_BYTES[usize::from(weighted)] + 16 * page + index,
            blocks: (workers * SpillReader::memory(BLOCK_BYTES_MAX)).min(limit / 5 * 3),
            reversed: if config.in_edges { limit / 5 } else { 0 },
            list: LongList::memory(long_list_entries(limit), weighted),
        }
    }

    /// Bytes of memory that an import with a budget of `limit` bytes takes at most.
    fn need(&self, limit: usize, known: Known) -> usize {
        let Known { vertices, edges, ids_bytes, bitmap_bytes, sort_bytes } = known;
        let config = self.config;
        let (workers, weight_bytes) = (config.workers(), config.weight_bytes());
        let vertices_usize = vertices as usize;
        let sizes = self.collector_sizes(limit);
        let pages = self.meter.pages.load(Ordering::Relaxed);
        let stored = self.stored_pass_bytes();
        let pass = blocks::pass_memory(workers, block_bytes(limit, workers)) + pages + stored;
        let ids = ids_bytes + bitmap_bytes.min(limit / 2);
        let gather = ids + sort_bytes + workers * sizes.memory() + pass;
        // An order that is chosen may be the one that takes more.
        let order = if config.auto_order { Order::Degree } else { config.order };
        let placed = if order == Order::Natural { 0 } else { 4 * vertices_usize };
        let ids = ids + placed;
        let reading = pass.max(workers * SpillReader::memory(sizes.spill_block));
        let partition = ids + reading + workers * 8 * BLOCK_BYTES_MIN;
        let keys = if config.directed { edges } else { 2 * edges } as usize;
        let Writing { writer, blocks, reversed, list } = self.writing(limit, vertices, keys);
        let sets =
            BuildSizes::sets(workers) * BuildSizes::bytes_per_key(weight_bytes) * SET_KEYS_MIN;
        let sort = ids + writer + blocks + reversed + list + sets;
        let pages = keys as u64 * 5 / u64::from(config.page_bytes) + 1;
        let hubs = ids + writer + GraphWriter::hub_neighbours_bytes(pages, workers);
        let ranks = ids + writer + 2 * placed + stored;
        let order = ids + order::memory(order, vertices_usize, keys * 5 + vertices_usize * 16);
        let most = [gather, partition, sort, hubs, ranks, order].into_iter().max().unwrap_or(0);
        most + self.streams_bytes
    }
}
