//! The packed codec: an adjacency page whose entries are gaps of few bits.
//!
//! - [`widths`]: the four bit widths that a run of numbers is stored with
//! - [`page`]: collects lists for one page and knows at any time what they will take
//! - [`decode`]: back to entries and starts, with every number of the page bounded
//!
//! A page stores two runs of numbers: the lengths of its lists, and its entries (the first of a
//! list as it is or relative to its own vertex, the others as gaps). Each number has a code of two
//! bits that chooses one of four widths, which are the best four for this page: as in the patched
//! frame of reference (Zukowski, Heman, Nes, Boncz: Super-scalar RAM-CPU cache compression, ICDE
//! 2006) a few large numbers do not widen the others, and without exceptions to be patched. Where a
//! number lies follows from the codes before it, so one list can be had without the others.

pub(crate) mod decode;
pub(crate) mod page;
pub(crate) mod widths;

use bytemuck::{Pod, Zeroable};

use crate::error::{PageFault, at_most};
use crate::format::{HEADER_BYTES, payload_bytes};

/// Bytes of [`Fields`].
pub(crate) const FIELDS_BYTES: usize = size_of::<Fields>();
/// Readers take eight bytes at a time: so many at the end of a page hold nothing.
pub(crate) const SLACK_BYTES: usize = 8;
/// Codes in a byte.
const CODES_PER_BYTE: usize = 4;
/// Bits of a vertex.
pub(crate) const ENTRY_BITS_MAX: u8 = 32;
/// Bits of the length of a piece.
pub(crate) const LENGTH_BITS_MAX: u8 = 16;

/// Most lists, and most entries, of a packed page: each takes two bits at least, and offsets inside
/// a page are 16 bits.
pub(crate) const fn items_max(page_bytes: usize) -> usize {
    let codes = (payload_bytes(page_bytes) - FIELDS_BYTES - SLACK_BYTES) * CODES_PER_BYTE;
    if codes < u16::MAX as usize { codes } else { u16::MAX as usize }
}

/// What the first entry of a list is stored as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Base {
    /// The entry itself.
    Zero = 0,
    /// Its distance from the list's own vertex, zig-zag: 0, -1, 1, -2, ...
    Vertex = 1,
}

/// The first bytes of the payload, as they are in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Fields {
    pub entry_widths: [u8; 4],
    pub length_widths: [u8; 4],
    pub length_bits: u32,
    /// A [`Base`].
    pub base: u8,
    /// What is added to every gap: 1 where no entry repeats.
    pub step: u8,
    pub zero: [u8; 2],
}

impl Fields {
    fn read(bytes: &[u8]) -> Self {
        bytemuck::pod_read_unaligned(&bytes[HEADER_BYTES..HEADER_BYTES + FIELDS_BYTES])
    }

    fn check(&self) -> Result<(), PageFault> {
        widths::check("a width of entries", self.entry_widths, ENTRY_BITS_MAX)?;
        widths::check("a width of lengths", self.length_widths, LENGTH_BITS_MAX)?;
        at_most("the base of first entries", self.base.into(), 1)?;
        at_most("the step of gaps", self.step.into(), 1)?;
        at_most("a field that should be zero", (self.zero[0] | self.zero[1]).into(), 0)
    }
}

/// Where the parts of a packed page begin, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub length_codes: usize,
    pub entry_codes: usize,
    pub lengths: usize,
    pub entries: usize,
}

impl Places {
    /// The parts of a page of so many lists and entries.
    pub fn new(lists: usize, entries: usize, length_bits: usize) -> Self {
        let length_codes = HEADER_BYTES + FIELDS_BYTES;
        // The last list ends with the entries: its length is not stored.
        let entry_codes = length_codes + lists.saturating_sub(1).div_ceil(CODES_PER_BYTE);
        let lengths = entry_codes + entries.div_ceil(CODES_PER_BYTE);
        Self { length_codes, entry_codes, lengths, entries: lengths + length_bits.div_ceil(8) }
    }

    /// Bytes of a page that ends in so many bits of entries, the slack included.
    pub fn bytes(&self, entry_bits: usize) -> usize {
        self.entries + entry_bits.div_ceil(8) + SLACK_BYTES
    }
}

/// Small numbers for what is near zero on either side. Modulo 2^32: no distance between two
/// vertices is lost.
#[inline]
fn zigzag(distance: u32) -> u32 {
    (distance << 1) ^ ((distance as i32) >> 31) as u32
}

#[inline]
fn unzigzag(stored: u32) -> u32 {
    (stored >> 1) ^ 0u32.wrapping_sub(stored & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_take_sixteen_bytes_as_documented() {
        assert_eq!(FIELDS_BYTES, 16);
        assert_eq!(items_max(4096), 16_096);
        assert_eq!(items_max(65_536), 65_535);
    }

    #[test]
    fn distances_between_any_two_vertices_come_back() {
        for distance in [0, 1, u32::MAX, 7, 1 << 31, (1 << 31) - 1, (1 << 31) + 1, u32::MAX - 6] {
            assert_eq!(unzigzag(zigzag(distance)), distance);
        }
        assert_eq!([0, u32::MAX, 1, u32::MAX - 1].map(zigzag), [0, 1, 2, 3]);
    }
}
