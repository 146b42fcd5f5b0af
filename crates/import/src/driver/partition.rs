//! Runs the second pass: maps pairs to keys and partitions them by ranges of keys.

use cenote_device::mix;

use super::gather::Gathered;
use super::sizing::Plan;
use super::{Import, names};
use crate::blocks::{self, Pass, PassError, Worker};
use crate::build::Source;
use crate::collect::{NARROW, WIDE};
use crate::error::{ImportError, Result};
use crate::mapper::{Mapped, Mapper, Rule};
use crate::partition::{KeySpace, Range, RangeBlocks, RangeWriter, Ranges};
use crate::report::Phase;
use crate::spill::{Extent, SpillFile, SpillReader};
use crate::workers::{self, Shared};

pub(crate) struct Partitioned {
    pub(super) space: KeySpace,
    pub(crate) file: SpillFile,
    pub(super) ranges: Ranges,
    pub(super) range_blocks: RangeBlocks,
    pub(super) block_bytes: usize,
    pub(super) loops: u64,
    /// Distinguishes this graph's checksums from those of others.
    pub(super) salt: u64,
}

impl Partitioned {
    pub(super) fn keys(&self) -> u64 {
        self.range_blocks.keys()
    }

    /// Estimated size of the graph file: the lists of one direction and all other sections.
    pub(crate) fn graph_bytes(&self, vertices: u64) -> u64 {
        self.keys() * 17 / 4 + vertices * 16
    }

    pub(super) fn source(&self, keep_duplicates: bool) -> Source<'_> {
        let Partitioned { space, file, ranges, range_blocks, .. } = self;
        Source { space: *space, file, ranges, range_blocks, keep_duplicates }
    }
}

impl Import<'_> {
    pub(crate) fn partition(&self, gathered: &Gathered<'_>) -> Result<Partitioned> {
        let ids = &gathered.ids;
        let space = KeySpace::new(ids.len());
        let rule =
            Rule { space, directed: self.config.directed, loops: self.config.keep_self_loops };
        let mut sample = Vec::new();
        for &(source, target) in &gathered.collected.sample {
            rule.keys(ids.dense(source), ids.dense(target), |key| sample.push(key));
        }
        let keys_max = rule.keys_max(gathered.collected.edges);
        let whole = Range { low: 0, last: space.last() };
        let plan = self.plan(keys_max);
        let _memory = self.budget.hold(plan.memory, "partitioning the edges")?;
        let ranges = Ranges::balanced(whole, sample, plan.ranges);
        let widest = ranges.as_slice().iter().map(|range| range.key_bytes()).max().unwrap_or(8);
        let widest = widest + self.config.weight_bytes();
        let needed = keys_max * widest as u64;
        let counts = (ids.len(), keys_max);
        let reserve = self.sizing().write_reserve(self.budget.limit(), counts, &plan);
        let file = SpillFile::new(self.workspace.spill()?, needed, self.budget, reserve);
        let outputs = self.write_ranges(gathered, rule, &ranges, &file, plan.block_bytes)?;
        let mut range_blocks = RangeBlocks::new(ranges.as_slice().len());
        let (mut loops, mut salt, mut fingerprint) = (0, 0u64, 0u64);
        for output in outputs {
            range_blocks.add(output.range_blocks);
            loops += output.loops;
            salt = salt.wrapping_add(output.sum);
            fingerprint = fingerprint.wrapping_add(output.fingerprint);
        }
        if gathered.spill.is_none() {
            self.unchanged.check()?;
            if fingerprint != gathered.collected.fingerprint {
                return Err(ImportError::Changed { input: names(self.inputs) });
            }
        }
        let block_bytes = plan.block_bytes;
        let salt = mix(salt ^ ids.len());
        Ok(Partitioned { space, file, ranges, range_blocks, block_bytes, loops, salt })
    }

    fn write_ranges(
        &self,
        gathered: &Gathered<'_>,
        rule: Rule,
        ranges: &Ranges,
        file: &SpillFile,
        block_bytes: usize,
    ) -> Result<Vec<Mapped>> {
        let ids = &gathered.ids;
        let make = || {
            let range_writer =
                RangeWriter::new(ranges, file, block_bytes, self.config.weight_bytes())?;
            let last = u32::try_from(ids.len() - 1).expect("dense ids are u32");
            Ok(Mapper::new(ids, last, rule, range_writer))
        };
        let Some(spill) = &gathered.spill else {
            self.progress.begin(Phase::Partition, self.input_bytes());
            let _stored = self.hold_stored_pass()?;
            let pass = Pass { edges_only: true, ..self.pass(false) };
            let result = blocks::run(&pass, make);
            return Ok(result.map_err(PassError::into_import)?.outputs);
        };
        self.progress.begin(Phase::Partition, Some(spill.bytes()));
        let of = |kind: usize| {
            gathered.collected.extents[kind].iter().map(move |extent| (*extent, kind == WIDE))
        };
        let extents = Shared::new(of(NARROW).chain(of(WIDE)).collect());
        let block = self.sizing().collectors(self.budget.limit()).spill_block;
        workers::on_all(self.config.workers(), || self.map_spilled(make, spill, block, &extents))
    }

    fn map_spilled<'m>(
        &self,
        make: impl Fn() -> Result<Mapper<'m>>,
        spill: &SpillFile,
        block_bytes: usize,
        extents: &Shared<(Extent, bool)>,
    ) -> Result<Mapped> {
        let mut mapper = make()?;
        // Pairs are read again behind a temporary graph.
        let mut reader = SpillReader::new(spill, block_bytes)?.releasing(!self.temporary);
        while let Some((first, wide)) = extents.next() {
            if self.progress.cancelled() {
                return Err(ImportError::Cancelled);
            }
            // Several of one kind at a time, so that reads overlap.
            let mut next = Some(first);
            let mut other = None;
            reader.for_each(
                || {
                    let now = next.take();
                    if now.is_some() {
                        next = match extents.next() {
                            Some((extent, kind)) if kind == wide => Some(extent),
                            different => {
                                other = different;
                                None
                            }
                        };
                    }
                    now
                },
                |bytes, records| {
                    if self.progress.cancelled() {
                        return Err(ImportError::Cancelled);
                    }
                    self.progress.advance(bytes.len() as u64);
                    mapper.spilled(bytes, records, wide)
                },
            )?;
            if let Some((extent, kind)) = other {
                let mut one = Some(extent);
                reader.for_each(|| one.take(), |bytes, n| mapper.spilled(bytes, n, kind))?;
            }
        }
        mapper.finish()
    }

    /// Chooses the number of ranges and the size of their blocks.
    pub(super) fn plan(&self, keys_max: u64) -> Plan {
        Plan::new(&self.sizing(), self.budget.limit(), self.budget.free(), keys_max)
    }
}
