//! Partitions edges: maps them to keys and writes the keys of each range to blocks of its own.
//!
//! The key of an edge is its source above its target, each in as many bits as vertices take. The
//! records of a range have as few bytes as its width requires. The bounds of the ranges come from a
//! sample, so that all hold about as many keys; a hub may span several ranges.

use cenote_device::Buffer;

use crate::error::Result;
use crate::spill::{Extent, SpillFile, SpillWriter};
use cenote_store::VertexId;

/// Bits of the index into the table from keys to ranges.
const TABLE_BITS: u32 = 14;
/// Bytes written for each record, whatever its size.
const SLACK: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct KeySpace {
    id_bits: u32,
}

impl KeySpace {
    pub fn new(vertices: u64) -> Self {
        Self { id_bits: bits(vertices.saturating_sub(1)).max(1) }
    }

    #[inline]
    pub fn key(self, source: VertexId, target: VertexId) -> u64 {
        u64::from(source) << self.id_bits | u64::from(target)
    }

    #[inline]
    pub fn source(self, key: u64) -> VertexId {
        (key >> self.id_bits) as VertexId
    }

    #[inline]
    pub fn target(self, key: u64) -> VertexId {
        (key & ((1 << self.id_bits) - 1)) as VertexId
    }

    pub fn last(self) -> u64 {
        u64::MAX >> (64 - 2 * self.id_bits)
    }
}

pub(super) fn bits(number: u64) -> u32 {
    64 - number.leading_zeros()
}

/// A range of keys, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub low: u64,
    pub last: u64,
}

impl Range {
    /// Bytes of a key above the low end of the range.
    pub fn key_bytes(self) -> usize {
        (bits(self.last - self.low) as usize).div_ceil(8).max(1)
    }
}

#[derive(Debug)]
pub(super) struct Ranges {
    ranges: Vec<Range>,
    /// First range of each slice of the keys.
    table: Vec<u32>,
    low: u64,
    shift: u32,
}

impl Ranges {
    /// About `count` ranges with equal shares of the sample.
    pub fn balanced(whole: Range, mut sample: Vec<u64>, count: usize) -> Self {
        sample.sort_unstable();
        let splitters = (1..count as u64)
            .filter_map(|i| sample.get((i * sample.len() as u64 / count as u64) as usize).copied());
        Self::split_at(whole, splitters)
    }

    /// About `count` ranges of equal width.
    pub fn even(whole: Range, count: usize) -> Self {
        let step = ((whole.last - whole.low) / count as u64).max(1);
        Self::split_at(whole, (1..count as u64).map_while(|i| whole.low.checked_add(i * step)))
    }

    fn split_at(whole: Range, splitters: impl Iterator<Item = u64>) -> Self {
        let mut ranges = Vec::new();
        let mut low = whole.low;
        for splitter in splitters {
            if splitter > low && splitter <= whole.last {
                ranges.push(Range { low, last: splitter - 1 });
                low = splitter;
            }
        }
        ranges.push(Range { low, last: whole.last });
        let shift = bits(whole.last - whole.low).saturating_sub(TABLE_BITS);
        let slices = ((whole.last - whole.low) >> shift) + 1;
        let mut at = 0;
        let table = (0..slices)
            .map(|slice| {
                while ranges[at].last - whole.low < slice << shift {
                    at += 1;
                }
                at as u32
            })
            .collect();
        Self { ranges, table, low: whole.low, shift }
    }

    pub fn as_slice(&self) -> &[Range] {
        &self.ranges
    }

    #[inline]
    fn route(&self, key: u64) -> usize {
        let mut at = self.table[((key - self.low) >> self.shift) as usize] as usize;
        while key > self.ranges[at].last {
            at += 1;
        }
        at
    }
}

#[derive(Debug)]
pub(super) struct RangeBlocks {
    pub extents: Vec<Vec<Extent>>,
}

impl RangeBlocks {
    pub fn new(ranges: usize) -> Self {
        Self { extents: vec![Vec::new(); ranges] }
    }

    pub fn keys(&self) -> u64 {
        self.extents.iter().map(|extents| count(extents)).sum()
    }

    pub fn keys_of_largest_range(&self) -> u64 {
        self.extents.iter().map(|extents| count(extents)).max().unwrap_or(0)
    }

    pub fn add(&mut self, other: RangeBlocks) {
        for (mine, theirs) in self.extents.iter_mut().zip(other.extents) {
            mine.extend(theirs);
        }
    }
}

pub(super) fn count(extents: &[Extent]) -> u64 {
    extents.iter().map(|extent| u64::from(extent.records)).sum()
}

/// Writes records to the blocks of their ranges, for one worker.
pub(super) struct RangeWriter<'a> {
    ranges: &'a Ranges,
    spill: SpillWriter<'a>,
    open: Vec<Open>,
    range_blocks: RangeBlocks,
    /// Bytes of a weight after each key: 0 unless weights are imported.
    weight_bytes: usize,
}

struct Open {
    block: Option<Buffer>,
    at: usize,
    key_bytes: usize,
}

impl<'a> RangeWriter<'a> {
    pub fn new(
        ranges: &'a Ranges,
        file: &'a SpillFile,
        block_bytes: usize,
        weight_bytes: usize,
    ) -> Result<Self> {
        let count = ranges.ranges.len();
        let spill = SpillWriter::new(file, count, block_bytes)?;
        let open = ranges.ranges.iter().map(|range| {
            let key_bytes = range.key_bytes();
            Open { block: None, at: 0, key_bytes }
        });
        let (open, range_blocks) = (open.collect(), RangeBlocks::new(count));
        Ok(Self { ranges, spill, open, range_blocks, weight_bytes })
    }

    pub fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }

    /// Adds a key, and a weight if weights are imported.
    #[inline]
    pub fn push(&mut self, key: u64, weight: u64) -> Result<()> {
        let place = self.ranges.route(key);
        let record = (key - self.ranges.ranges[place].low).to_le_bytes();
        if self.weight_bytes > 0 {
            return self.push_weighted(place, record, weight.to_le_bytes());
        }
        let open = &mut self.open[place];
        if let Some(block) = &mut open.block
            && let Some(room) = block.get_mut(open.at..open.at + SLACK)
        {
            room.copy_from_slice(&record);
            open.at += open.key_bytes;
            return Ok(());
        }
        self.push_to_new_block(place, record)
    }

    /// Writes the weight over the slack of the key, with slack of its own.
    #[inline]
    fn push_weighted(&mut self, place: usize, key: [u8; SLACK], weight: [u8; SLACK]) -> Result<()> {
        let open = &self.open[place];
        let room = open.block.as_ref().map_or(0, |block| block.len() - open.at);
        if room < 2 * SLACK {
            self.flush(place)?;
            let block = self.spill.take()?;
            let open = &mut self.open[place];
            (open.block, open.at) = (Some(block), 0);
        }
        let open = &mut self.open[place];
        let block = open.block.as_mut().expect("a block was opened");
        block[open.at..open.at + SLACK].copy_from_slice(&key);
        let at = open.at + open.key_bytes;
        block[at..at + SLACK].copy_from_slice(&weight);
        open.at = at + self.weight_bytes;
        Ok(())
    }

    #[cold]
    fn push_to_new_block(&mut self, place: usize, record: [u8; SLACK]) -> Result<()> {
        self.flush(place)?;
        let mut block = self.spill.take()?;
        block[..SLACK].copy_from_slice(&record);
        let open = &mut self.open[place];
        open.at = open.key_bytes;
        open.block = Some(block);
        Ok(())
    }

    fn flush(&mut self, place: usize) -> Result<()> {
        let open = &mut self.open[place];
        if let Some(block) = open.block.take() {
            // Write the slack too, so that every key and weight can be read as 8 bytes.
            let bytes = (open.at + SLACK).min(block.len());
            let records = open.at / (open.key_bytes + self.weight_bytes);
            self.range_blocks.extents[place].push(self.spill.put(block, bytes, records)?);
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<RangeBlocks> {
        for place in 0..self.open.len() {
            self.flush(place)?;
        }
        self.spill.finish()?;
        Ok(self.range_blocks)
    }
}

/// Calls `each` with every record of a block: a key above the low end of its range.
#[inline]
pub(super) fn records(bytes: &[u8], key_bytes: usize, count: u32, mut each: impl FnMut(u64)) {
    for record in 0..count as usize {
        each(field(bytes, record * key_bytes, key_bytes));
    }
}

/// As [`records`], with the weight of each key.
#[inline]
pub(super) fn weighted_records(
    bytes: &[u8],
    key_bytes: usize,
    weight_bytes: usize,
    count: u32,
    mut each: impl FnMut(u64, u64),
) {
    for record in 0..count as usize {
        let at = record * (key_bytes + weight_bytes);
        let weight = field(bytes, at + key_bytes, weight_bytes);
        each(field(bytes, at, key_bytes), weight);
    }
}

/// Reads a number of 1 to 8 bytes that is followed by slack.
#[inline]
fn field(bytes: &[u8], at: usize, len: usize) -> u64 {
    let word = bytes[at..at + SLACK].try_into().map(u64::from_le_bytes);
    word.expect("eight bytes") & (u64::MAX >> (64 - 8 * len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_routed_to_the_range_that_holds_it() {
        let whole = Range { low: 5, last: 1 << 40 };
        let sample = (0..1000u64).map(|i| 5 + i * i * i).collect();
        for ranges in [
            Ranges::balanced(whole, sample, 64),
            Ranges::balanced(whole, vec![7; 100], 8),
            Ranges::balanced(whole, Vec::new(), 8),
            Ranges::even(whole, 13),
            Ranges::even(Range { low: 5, last: 5 }, 4),
            Ranges::even(Range { low: 0, last: u64::MAX }, 256),
        ] {
            let list = ranges.as_slice();
            for pair in list.windows(2) {
                assert_eq!(pair[0].last + 1, pair[1].low);
            }
            for (place, range) in list.iter().enumerate() {
                for key in [range.low, range.last, range.low.midpoint(range.last)] {
                    assert_eq!(ranges.route(key), place);
                }
            }
        }
    }

    #[test]
    fn keys_give_back_their_ends() {
        for vertices in [1, 2, 3, 1000, 1 << 24, (1 << 32) - 2] {
            let space = KeySpace::new(vertices);
            let last = (vertices - 1) as u32;
            for (source, target) in [(0, last), (last, 0), (last, last), (last / 2, last / 3)] {
                let key = space.key(source, target);
                assert!(key <= space.last());
                assert_eq!((space.source(key), space.target(key)), (source, target));
            }
        }
    }
}
