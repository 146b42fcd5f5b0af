//! Runs the third pass: sorts the ranges and writes the graph.

use std::io;
use std::sync::Arc;

use cenote_device::Device;
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::order::Tables;
use cenote_store::{Counts, GraphSpec, GraphWriter, IdsSource};

use super::Import;
use super::partition::Partitioned;
use super::sizing::{SET_KEYS_MIN, long_list_entries};
use crate::budget::Held;
use crate::build::{self, BuildSizes, Built, Reversed, Source};
use crate::collect::Collected;
use crate::error::{ImportError, Result};
use crate::ids::map::{IdMap, Placed, RankMap};
use crate::long_list::LongList;
use crate::order;
use crate::partition::{Range, RangeBlocks, RangeWriter, Ranges};
use crate::report::Phase;
use crate::spill::{SpillFile, SpillReader};

const RANKS: &str = "the ranks of all vertices";
/// Counts in a sort are `u32`.
const SET_KEYS_MAX: usize = 1 << 30;

pub(crate) struct Written {
    pub(super) edges: u64,
    pub(super) stored: u64,
    pub(super) duplicates: u64,
    pub(crate) output_bytes: u64,
    pub(crate) spill_bytes: u64,
}

impl Import<'_> {
    /// Runs the third pass: writes the graph to `output`.
    pub(crate) fn write(
        &self,
        ids: &IdMap<'_>,
        collected: &Collected,
        parts: &Partitioned,
        output: Arc<dyn Device>,
    ) -> Result<Written> {
        let config = self.config;
        let mut writer = self.writer(ids, parts, output)?;
        let mut held = self.budget.hold(writer.memory_bytes(), "writing the graph")?;
        let keys: u64 = parts.keys();
        // The index, the degrees and their classes, which the writer collects.
        let classes = if config.hub_neighbours.is_made(ids.len(), keys) { ids.len() } else { 0 };
        let ahead = keys * 4 / u64::from(config.page_bytes) * 9 + ids.len() * 2 + classes;
        held.grow(ahead as usize, "the index of the graph")?;
        // Held again at the end; fails here if it would fail there.
        drop(self.budget.hold(ids.ranks_bytes(), RANKS)?);
        let reversed = config.in_edges.then(|| self.reversed(ids, collected, parts)).transpose()?;
        let (built, backward) = {
            self.progress.begin(Phase::Write, Some(keys * 8));
            let reversed = reversed.as_ref().map(|r| Reversed {
                file: &r.file,
                ranges: &r.ranges,
                block_bytes: r.block_bytes,
            });
            let source = parts.source(config.keep_duplicates);
            let extra = reversed.as_ref().map_or(0, |r| {
                config.workers() * RangeWriter::memory(r.ranges.as_slice().len(), r.block_bytes)
            });
            self.build(source, reversed, extra, parts.block_bytes, &mut writer, ids.len())?
        };
        let mut stored = built.stored;
        let mut spill_bytes = 0;
        if let (Some(mut reversed), Some(range_blocks)) = (reversed, backward) {
            reversed.range_blocks = range_blocks;
            spill_bytes += reversed.file.device_bytes();
            writer.begin_in()?;
            self.progress.begin(Phase::WriteIn, Some(built.stored * 8));
            let source = reversed.source(config.keep_duplicates);
            let vertices = ids.len();
            let block_bytes = reversed.block_bytes;
            stored += self.build(source, None, 0, block_bytes, &mut writer, vertices)?.0.stored;
        }
        writer.end_lists()?;
        self.write_hub_neighbours(&mut writer, built.stored, &mut held)?;
        let counts = self.counts(&built, parts);
        let superblock = self.finish(writer, ids, counts)?;
        Ok(Written {
            edges: counts.edges,
            stored,
            duplicates: counts.duplicates,
            output_bytes: superblock.pages_total * u64::from(config.page_bytes),
            spill_bytes,
        })
    }

    fn writer(
        &self,
        ids: &IdMap<'_>,
        parts: &Partitioned,
        output: Arc<dyn Device>,
    ) -> Result<GraphWriter> {
        let config = self.config;
        let spec = GraphSpec {
            page_bytes: config.page_bytes as usize,
            vertices: ids.len(),
            directed: config.directed,
            in_edges: config.in_edges,
            duplicates_kept: config.keep_duplicates,
            self_loops_kept: config.keep_self_loops,
            salt: parts.salt,
        };
        let writer = match config.weights {
            Some(kind) => {
                let scratch = self.workspace.spill()?;
                GraphWriter::create_weighted(output, spec, (config.codec, kind), scratch)?
            }
            None => GraphWriter::create_with_codec(output, spec, config.codec)?,
        };
        let writer = writer.with_free_space(config.free_space);
        Ok(writer.with_hub_neighbours(if self.temporary {
            HubNeighboursChoice::No
        } else {
            config.hub_neighbours
        }))
    }

    /// Writes the hub neighbours of a graph with `entries` in the lists of a direction.
    fn write_hub_neighbours(
        &self,
        writer: &mut GraphWriter,
        entries: u64,
        held: &mut Held,
    ) -> Result<()> {
        if !writer.wants_hub_neighbours() {
            return Ok(());
        }
        let filled = u64::from(100 - self.config.free_space);
        let pages = entries * 5 * 100 / filled / u64::from(self.config.page_bytes) + 1;
        let bytes = |workers| GraphWriter::hub_neighbours_bytes(pages, workers);
        // Each has buffers of its own: a small budget is for few of them.
        let fits = |workers: &usize| bytes(*workers) <= self.budget.free();
        let workers = (1..=self.config.workers()).rev().find(fits).unwrap_or(1);
        let before = held.bytes();
        held.grow(bytes(workers), "finding hub neighbours (`hub_neighbours` can be left out)")?;
        self.progress.begin(Phase::HubNeighbours, Some(entries * 4));
        let go_on = &mut |bytes| {
            self.progress.advance(bytes);
            !self.progress.cancelled()
        };
        if writer.write_hub_neighbours(workers, go_on)? {
            held.shrink_to(before);
            Ok(())
        } else {
            Err(ImportError::Cancelled)
        }
    }

    fn counts(&self, built: &Built, parts: &Partitioned) -> Counts {
        let (edges, repeated) = if self.config.directed {
            (built.stored, built.repeated)
        } else {
            ((built.stored + built.loops) / 2, built.repeated / 2)
        };
        let duplicates = repeated + built.repeated_loops;
        Counts { edges, duplicates, self_loops: parts.loops }
    }

    /// Writes ids and order; a temporary graph has none.
    fn finish(
        &self,
        writer: GraphWriter,
        ids: &IdMap<'_>,
        counts: Counts,
    ) -> Result<cenote_store::Superblock> {
        if self.temporary {
            return Ok(writer.finish(IdsSource::Dense, counts)?);
        }
        let _memory = self.budget.hold(ids.ranks_bytes(), RANKS)?;
        let ranks = ids.placed.as_ref().map(|placed| order::inverse(&placed.vertex_of));
        let tables = ids.placed.as_ref().zip(ranks.as_ref());
        let tables = tables.map(|(Placed { order, vertex_of, .. }, rank_of)| Tables {
            order: *order,
            vertex_of,
            rank_of,
        });
        if let Some(stored) = self.stored {
            let _pass = self.hold_stored_pass()?;
            let write = |ids: IdsSource<'_>| Ok(writer.finish_in_order(ids, tables, counts)?);
            return stored.ids.stream(write);
        }
        let ended = || io::Error::other("ids end early");
        let superblock = match &ids.ranks {
            RankMap::Integers(map) if map.is_identity() => {
                writer.finish_in_order(IdsSource::Dense, tables, counts)?
            }
            RankMap::Integers(map) => {
                let mut all = map.ids();
                let mut next = || all.next().ok_or_else(ended);
                writer.finish_in_order(IdsSource::Integers(&mut next), tables, counts)?
            }
            RankMap::Strings(map) => {
                let mut rank = 0;
                let mut next = |name: &mut Vec<u8>| {
                    name.extend_from_slice(map.name(rank));
                    rank += 1;
                    Ok(())
                };
                writer.finish_in_order(IdsSource::Strings(&mut next), tables, counts)?
            }
        };
        Ok(superblock)
    }

    /// Chooses ranges for the lists of sources by the sample.
    fn reversed(
        &self,
        ids: &IdMap<'_>,
        collected: &Collected,
        parts: &Partitioned,
    ) -> Result<Partitioned> {
        let space = parts.space;
        let sample = &collected.sample;
        let sample = sample.iter().map(|&(s, t)| space.key(ids.dense(t), ids.dense(s))).collect();
        let plan = self.plan(parts.keys());
        let whole = Range { low: 0, last: space.last() };
        let ranges = Ranges::balanced(whole, sample, plan.ranges);
        let block_bytes = plan.reversed_block_bytes();
        let record = 8 + self.config.weight_bytes() as u64;
        // The buffers of the sort are held by then.
        let (needed, reserve) = (parts.keys() * record, self.budget.limit() / 16);
        let file = SpillFile::new(self.workspace.spill()?, needed, self.budget, reserve);
        let range_blocks = RangeBlocks::new(0);
        Ok(Partitioned { space, file, ranges, range_blocks, block_bytes, loops: 0, salt: 0 })
    }

    fn build(
        &self,
        source: Source<'_>,
        reversed: Option<Reversed<'_>>,
        extra: usize,
        block_bytes: usize,
        writer: &mut GraphWriter,
        vertices: u64,
    ) -> Result<(Built, Option<RangeBlocks>)> {
        let workers = self.config.workers();
        let entries = long_list_entries(self.budget.limit());
        let weight_bytes = self.config.weight_bytes();
        let weighted = weight_bytes > 0;
        let lists = LongList::memory(entries, weighted);
        let fixed = extra + lists + workers * SpillReader::memory(block_bytes);
        let _fixed = self.budget.hold(fixed, "sorting the edges")?;
        let largest = source.range_blocks.keys_of_largest_range();
        let set_bytes = BuildSizes::sets(workers) * BuildSizes::bytes_per_key(weight_bytes);
        let most = (self.budget.free() / set_bytes).min(SET_KEYS_MAX);
        let set_keys = (largest.max(1) as usize).min(most);
        let needed = set_bytes * SET_KEYS_MIN;
        if most < SET_KEYS_MIN {
            let refused = self.budget.hold(needed, "sorting the edges").err();
            return Err(refused.unwrap_or(ImportError::Cancelled));
        }
        let _sets = self.budget.hold(set_bytes * set_keys, "sorting the edges")?;
        let sizes = BuildSizes { workers, set_keys, block_bytes, weight_bytes };
        let long_list = LongList::new(self.workspace, entries, weighted);
        build::build(source, reversed, sizes, writer, long_list, vertices, self.progress)
    }
}
