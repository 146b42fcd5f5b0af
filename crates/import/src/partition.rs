//! Partitions edges: maps them to keys and writes the keys of each range to blocks of its own.
//!
//! The key of an edge is its source above its target, each in as many bits as vertices take. The
//! records of a range have as few bytes as its width requires. The bounds of the ranges come from a
//! sample, so that all hold about as many keys; a hub may span several ranges.

use cenote_device::Buffer;

use crate::error::Result;
use crate::spill::{Extent, SpillFile, SpillWriter};
use cenote_store::VertexId;

/// Bits of the index into the table from keys to ranges: few enough for the nearest cache, unless
/// there are many ranges.
const TABLE_BITS: std::ops::RangeInclusive<u32> = 12..=16;
/// Slices of the table for each range, as bits.
const SLICES_OF_RANGE_BITS: u32 = 4;
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

    /// Bits of a vertex in a key.
    pub fn id_bits(self) -> u32 {
        self.id_bits
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
    table: Vec<u16>,
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
        let table_bits = bits(ranges.len() as u64) + SLICES_OF_RANGE_BITS;
        let table_bits = table_bits.clamp(*TABLE_BITS.start(), *TABLE_BITS.end());
        let shift = bits(whole.last - whole.low).saturating_sub(table_bits);
        let slices = ((whole.last - whole.low) >> shift) + 1;
        let mut at = 0;
        let table = (0..slices)
            .map(|slice| {
                while ranges[at].last - whole.low < slice << shift {
                    at += 1;
                }
                u16::try_from(at).expect("there are at most 65,536 ranges")
            })
            .collect();
        Self { ranges, table, low: whole.low, shift }
    }

    pub fn as_slice(&self) -> &[Range] {
        &self.ranges
    }

    #[inline]
    fn route(&self, key: u64) -> usize {
        let mut at = usize::from(self.table[((key - self.low) >> self.shift) as usize]);
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

/// Bytes in which the latest records of a range are gathered, before they move to its block. The
/// lines that are written to lie close together, in the nearest caches.
const STAGE_BYTES: usize = 256;

/// Writes records to the blocks of their ranges, for one worker.
pub(super) struct RangeWriter<'a> {
    ranges: &'a Ranges,
    spill: SpillWriter<'a>,
    stages: Vec<[u8; STAGE_BYTES]>,
    /// What each stage holds.
    staged: Vec<Staged>,
    open: Vec<Open>,
    range_blocks: RangeBlocks,
    /// Bytes of a weight after each key: 0 unless weights are imported.
    weight_bytes: usize,
}

#[derive(Clone, Copy)]
struct Staged {
    low: u64,
    bytes: u32,
    key_bytes: u32,
}

/// The block of a range that is being filled.
#[derive(Default)]
struct Open {
    block: Option<Buffer>,
    at: usize,
}

impl<'a> RangeWriter<'a> {
    /// Bytes of memory of a writer of so many ranges.
    pub fn memory(ranges: usize, block_bytes: usize) -> usize {
        SpillWriter::memory(ranges, block_bytes) + ranges * STAGE_BYTES
    }

    pub fn new(
        ranges: &'a Ranges,
        file: &'a SpillFile,
        block_bytes: usize,
        weight_bytes: usize,
    ) -> Result<Self> {
        let count = ranges.ranges.len();
        let spill = SpillWriter::new(file, count, block_bytes)?;
        let staged = |range: &Range| Staged {
            low: range.low,
            bytes: 0,
            key_bytes: range.key_bytes() as u32,
        };
        Ok(Self {
            ranges,
            spill,
            stages: vec![[0; STAGE_BYTES]; count],
            staged: ranges.ranges.iter().map(staged).collect(),
            open: (0..count).map(|_| Open::default()).collect(),
            range_blocks: RangeBlocks::new(count),
            weight_bytes,
        })
    }

    pub fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }

    /// Adds a key, and a weight if weights are imported.
    #[inline]
    pub fn push(&mut self, key: u64, weight: u64) -> Result<()> {
        let place = self.ranges.route(key);
        let staged = &mut self.staged[place];
        let (stage, mut at) = (&mut self.stages[place], staged.bytes as usize);
        stage[at..at + SLACK].copy_from_slice(&(key - staged.low).to_le_bytes());
        at += staged.key_bytes as usize;
        if self.weight_bytes > 0 {
            stage[at..at + SLACK].copy_from_slice(&weight.to_le_bytes());
            at += self.weight_bytes;
        }
        staged.bytes = at as u32;
        if at > STAGE_BYTES - 2 * SLACK { self.empty_stage(place) } else { Ok(()) }
    }

    /// Moves the latest records of a range to its block.
    #[inline(never)]
    fn empty_stage(&mut self, place: usize) -> Result<()> {
        let bytes = std::mem::take(&mut self.staged[place].bytes) as usize;
        let room = self.open[place].block.as_ref().map_or(0, |block| block.len());
        if room < self.open[place].at + bytes + SLACK {
            self.flush(place)?;
            let block = self.spill.take()?;
            self.open[place] = Open { block: Some(block), at: 0 };
        }
        let Open { block, at } = &mut self.open[place];
        let block = block.as_mut().expect("a block was opened");
        block[*at..*at + bytes].copy_from_slice(&self.stages[place][..bytes]);
        *at += bytes;
        Ok(())
    }

    fn flush(&mut self, place: usize) -> Result<()> {
        let open = &mut self.open[place];
        if let Some(block) = open.block.take() {
            // Write the slack too, so that every key and weight can be read as 8 bytes.
            let bytes = open.at + SLACK;
            let record = self.staged[place].key_bytes as usize + self.weight_bytes;
            let records = open.at / record;
            self.range_blocks.extents[place].push(self.spill.put(block, bytes, records)?);
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<RangeBlocks> {
        for place in 0..self.open.len() {
            if self.staged[place].bytes > 0 {
                self.empty_stage(place)?;
            }
            self.flush(place)?;
        }
        self.spill.finish()?;
        Ok(self.range_blocks)
    }
}

/// Reads the records of a block into `keys`, each above the low end of its range.
pub(super) fn read_records(bytes: &[u8], key_bytes: usize, keys: &mut [u64]) {
    let starts = (0..).step_by(key_bytes);
    keys.iter_mut().zip(starts).for_each(|(key, at)| *key = field(bytes, at, key_bytes));
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
