//! The packed codec: adjacency pages that store gaps between entries in few bits.
//!
//! - [`widths`]: chooses the four bit widths of a run of numbers
//! - [`page`]: collects the lists of a page and encodes them
//! - [`decode`]: decodes a page into entries and starts
//!
//! A page stores two runs of numbers: the lengths of its lists, and its entries (the first of a
//! list as it is or relative to the list's vertex, the others as gaps). A code of two bits gives
//! each number one of four widths, the best four for this page. As in the patched frame of
//! reference (Zukowski, Heman, Nes, Boncz: Super-scalar RAM-CPU cache compression, ICDE 2006) a few
//! large numbers do not widen the others, but there are no exceptions to patch. The codes give the
//! position of every number, so a list can be decoded alone.

pub(crate) mod decode;
pub(crate) mod page;
pub(crate) mod widths;

use bytemuck::{Pod, Zeroable};

use crate::error::{PageFault, at_most};
use crate::format::{HEADER_BYTES, payload_bytes};

pub(crate) const FIELDS_BYTES: usize = size_of::<Fields>();
/// Unused bytes at the end of a page, since readers load eight bytes at a time.
pub(crate) const SLACK_BYTES: usize = 8;
const CODES_PER_BYTE: usize = 4;
pub(crate) const ENTRY_BITS_MAX: u8 = 32;
/// Bits of the length of a list's piece.
pub(crate) const LENGTH_BITS_MAX: u8 = 16;

/// Most lists, and most entries, of a packed page: each has a code of two bits, and offsets inside
/// a page are 16 bits.
pub(crate) const fn items_max(page_bytes: usize) -> usize {
    let codes = (payload_bytes(page_bytes) - FIELDS_BYTES - SLACK_BYTES) * CODES_PER_BYTE;
    if codes < u16::MAX as usize { codes } else { u16::MAX as usize }
}

/// How the first entry of a list is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Base {
    Zero = 0,
    /// Its distance from the list's vertex, zig-zag coded: 0, -1, 1, -2, ...
    Vertex = 1,
}

/// The first bytes of a packed page's payload, as in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Fields {
    pub entry_widths: [u8; 4],
    pub length_widths: [u8; 4],
    pub length_bits: u32,
    /// A [`Base`].
    pub base: u8,
    /// Added to every gap: 1 where no entry repeats.
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

/// Positions of the parts of a packed page, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub length_codes: usize,
    pub entry_codes: usize,
    pub lengths: usize,
    pub entries: usize,
}

impl Places {
    /// The positions in a page with these numbers of lists, entries and bits of lengths.
    pub fn new(lists: usize, entries: usize, length_bits: usize) -> Self {
        let length_codes = HEADER_BYTES + FIELDS_BYTES;
        // The length of the last list is not stored: it ends with the entries.
        let entry_codes = length_codes + lists.saturating_sub(1).div_ceil(CODES_PER_BYTE);
        let lengths = entry_codes + entries.div_ceil(CODES_PER_BYTE);
        Self { length_codes, entry_codes, lengths, entries: lengths + length_bits.div_ceil(8) }
    }

    /// Size of the page in bytes, given the bits of its entries.
    pub fn bytes(&self, entry_bits: usize) -> usize {
        self.entries + entry_bits.div_ceil(8) + SLACK_BYTES
    }
}

/// Maps distances near zero, of either sign, to small numbers. Modulo 2^32, so that every distance
/// between two vertices has a code.
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
