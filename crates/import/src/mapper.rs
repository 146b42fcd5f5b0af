//! Maps pairs of ids to keys: a worker of the second pass.

use cenote_device::mix;

use crate::batch::{BATCH, Batch};
use crate::blocks::Worker;
use crate::collect::fingerprint;
use crate::error::Result;
use crate::ids::map::IdMap;
use crate::parse::{Fault, Sink};
use crate::partition::{KeySpace, RangeBlocks, RangeWriter};
use cenote_store::VertexId;

#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub space: KeySpace,
    pub directed: bool,
    pub loops: bool,
}

impl Rule {
    #[inline]
    pub fn keys(self, source: u32, target: u32, mut each: impl FnMut(u64)) {
        if source != target {
            each(self.space.key(source, target));
            if !self.directed {
                each(self.space.key(target, source));
            }
        } else if self.loops {
            each(self.space.key(source, target));
        }
    }

    pub fn keys_max(self, edges: u64) -> u64 {
        if self.directed { edges } else { edges * 2 }
    }
}

pub(super) struct Mapper<'a> {
    ids: &'a IdMap<'a>,
    last: u32,
    rule: Rule,
    batch: Batch,
    /// The vertices of the ids of a batch.
    vertices: Box<[VertexId; 2 * BATCH]>,
    range_writer: RangeWriter<'a>,
    weight_bytes: usize,
    loops: u64,
    /// Sum of hashed keys, which does not depend on the order of the edges.
    sum: u64,
    /// As that of [`Collected`](crate::collect::Collected).
    fingerprint: u64,
}

pub(super) struct Mapped {
    pub range_blocks: RangeBlocks,
    pub loops: u64,
    pub sum: u64,
    pub fingerprint: u64,
}

impl<'a> Mapper<'a> {
    pub fn new(ids: &'a IdMap<'a>, last: u32, rule: Rule, range_writer: RangeWriter<'a>) -> Self {
        let weight_bytes = range_writer.weight_bytes();
        let (batch, vertices) = (Batch::new(weight_bytes > 0), Box::new([0; 2 * BATCH]));
        let (loops, sum, fingerprint) = (0, 0, 0);
        Self {
            ids,
            last,
            rule,
            batch,
            vertices,
            range_writer,
            weight_bytes,
            loops,
            sum,
            fingerprint,
        }
    }

    #[inline]
    fn add(&mut self, source: u64, target: u64, weight: u64) -> Result<()> {
        if self.batch.push(source, target, weight) { self.map_batch() } else { Ok(()) }
    }

    /// Maps and partitions the edges of the batch.
    #[inline(never)]
    fn map_batch(&mut self) -> Result<()> {
        let ids = self.batch.ids();
        let vertices = &mut self.vertices[..ids.len()];
        self.ids.dense_all(ids, vertices);
        let (rule, weighted) = (self.rule, self.weight_bytes > 0);
        for (edge, pair) in vertices.as_chunks::<2>().0.iter().enumerate() {
            // An input that changed between the passes may contain ids that are not in the map.
            let [source, target] = pair.map(|vertex| vertex.min(self.last));
            let weight = self.batch.weight(edge);
            self.loops += u64::from(source == target);
            let key = rule.space.key(source, target);
            let back = rule.space.key(target, source);
            let known = if rule.directed { key } else { key.min(back) };
            let mixed = if weighted { mix(mix(known) ^ weight) } else { mix(known) };
            self.sum = self.sum.wrapping_add(mixed);
            if source != target {
                self.range_writer.push(key, weight)?;
                if !rule.directed {
                    self.range_writer.push(back, weight)?;
                }
            } else if rule.loops {
                self.range_writer.push(key, weight)?;
            }
        }
        self.batch.clear();
        Ok(())
    }

    pub fn spilled(&mut self, bytes: &[u8], records: u32, wide: bool) -> Result<()> {
        if self.weight_bytes > 0 {
            return self.spilled_weighted(bytes, records, wide);
        }
        let words = bytes.as_chunks::<8>().0;
        if wide {
            for pair in words.as_chunks::<2>().0.iter().take(records as usize) {
                self.add(u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]), 0)?;
            }
        } else {
            for pair in &words[..records as usize] {
                let pair = u64::from_le_bytes(*pair);
                self.add(pair & u64::from(u32::MAX), pair >> 32, 0)?;
            }
        }
        Ok(())
    }

    fn spilled_weighted(&mut self, bytes: &[u8], records: u32, wide: bool) -> Result<()> {
        let id_bytes = if wide { 8 } else { 4 };
        let record = 2 * id_bytes + self.weight_bytes;
        for record in bytes.chunks_exact(record).take(records as usize) {
            let (source, rest) = record.split_at(id_bytes);
            let (target, weight) = rest.split_at(id_bytes);
            self.add(number(source), number(target), number(weight))?;
        }
        Ok(())
    }
}

impl Sink for Mapper<'_> {
    const INTEGERS: bool = true;

    fn id(&mut self, _: &[u8]) -> std::result::Result<u64, Fault> {
        unreachable!("only pairs are read twice")
    }

    #[inline]
    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        Ok(id)
    }

    #[inline]
    fn edge(&mut self, source: u64, target: u64, weight: u64) -> std::result::Result<(), Fault> {
        let number = fingerprint(source, target, weight);
        self.fingerprint = self.fingerprint.wrapping_add(number);
        Ok(self.add(source, target, weight)?)
    }

    fn vertex(&mut self, _: u64) -> std::result::Result<(), Fault> {
        Ok(())
    }
}

impl Worker for Mapper<'_> {
    type Output = Mapped;

    fn finish(mut self) -> Result<Mapped> {
        self.map_batch()?;
        let Self { loops, sum, fingerprint, .. } = self;
        Ok(Mapped { range_blocks: self.range_writer.finish()?, loops, sum, fingerprint })
    }
}

#[inline]
fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
