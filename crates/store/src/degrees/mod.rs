//! The degrees section: the lengths of all lists as LEB128 numbers, a few per cent of the graph's
//! bytes. Algorithms that need degrees first read it instead of the lists.
//!
//! - `read`: reads the section; `of_graph`: with the changes of delta runs and log

use crate::VertexId;
use crate::error::Result;
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::PageHeader;
use crate::sink::PageTarget;

mod of_graph;
mod read;

pub(crate) use read::DegreeReader;

/// Most bytes of a LEB128 number of 64 bits.
const VARINT_BYTES_MAX: usize = 10;

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Removes a LEB128 number from the front. `None` if it is cut short, longer than 64 bits, or
/// written with more bytes than it needs.
#[inline]
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    // Most numbers are small.
    if let [byte @ ..0x80, rest @ ..] = bytes {
        let value = u64::from(*byte);
        *bytes = rest;
        return Some(value);
    }
    take_long_varint(bytes)
}

fn take_long_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        let bits = u64::from(byte & 0x7f);
        if (i == VARINT_BYTES_MAX - 1 && bits > 1) || (i > 0 && byte == 0) {
            return None;
        }
        value |= bits << (7 * i);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(value);
        }
    }
    None
}

/// The larger of two lists, by length; of equal ones that of the smaller vertex.
pub(crate) fn longer(a: (u64, VertexId), b: (u64, VertexId)) -> (u64, VertexId) {
    if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a }
}

/// Encoded degrees that are held in memory until their section is written.
pub(crate) struct DegreePages {
    payload_bytes: usize,
    full: Vec<Payload>,
    current: Payload,
}

struct Payload {
    first: VertexId,
    count: u32,
    bytes: Vec<u8>,
}

impl Payload {
    fn new(first: VertexId, capacity: usize) -> Self {
        Self { first, count: 0, bytes: Vec::with_capacity(capacity) }
    }

    fn write(self, sink: &mut impl PageTarget) -> Result<()> {
        let Self { first, count: entries, bytes } = self;
        sink.page()[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(&bytes);
        sink.seal(PageHeader { first, entries, ..PageHeader::new(PageKind::Degrees) })
    }
}

impl DegreePages {
    pub fn new(page_bytes: usize) -> Self {
        Self::starting_at(0, page_bytes)
    }

    /// Pages of the degrees from a vertex on.
    pub fn starting_at(first: VertexId, page_bytes: usize) -> Self {
        let payload_bytes = format::payload_bytes(page_bytes);
        let current = Payload::new(first, payload_bytes);
        Self { payload_bytes, full: Vec::new(), current }
    }

    #[inline]
    pub fn push(&mut self, vertex: VertexId, degree: u64) {
        let bytes = (64 - (degree | 1).leading_zeros() as usize).div_ceil(7);
        if self.current.bytes.len() + bytes > self.payload_bytes {
            let next = Payload::new(vertex, self.payload_bytes);
            self.full.push(std::mem::replace(&mut self.current, next));
        }
        put_varint(&mut self.current.bytes, degree);
        self.current.count += 1;
    }

    pub fn memory_bytes(&self) -> usize {
        (self.full.len() + 1) * self.payload_bytes + self.full.capacity() * size_of::<Payload>()
    }

    pub fn for_each(&self, mut take: impl FnMut(u64)) {
        for Payload { bytes, .. } in self.full.iter().chain([&self.current]) {
            let mut rest = bytes.as_slice();
            while let Some(degree) = take_varint(&mut rest) {
                take(degree);
            }
        }
    }

    /// Writes all pages; returns their number.
    pub fn write(mut self, sink: &mut impl PageTarget) -> Result<u64> {
        if self.current.count > 0 {
            self.full.push(self.current);
        }
        let pages = self.full.len() as u64;
        self.full.into_iter().try_for_each(|page| page.write(sink))?;
        Ok(pages)
    }

    /// Writes the pages that are full, and holds them no longer.
    pub fn write_full(&mut self, sink: &mut impl PageTarget) -> Result<()> {
        self.full.drain(..).try_for_each(|page| page.write(sink))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_every_length_come_back() {
        for value in (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit]).chain([u64::MAX]) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut rest = bytes.as_slice();
            assert_eq!(take_varint(&mut rest), Some(value));
            assert!(rest.is_empty());
            assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None, "cut short");
        }
    }

    #[test]
    fn varints_longer_than_needed_or_than_64_bits_are_refused() {
        assert_eq!(take_varint(&mut [0x80, 0].as_slice()), None);
        assert_eq!(take_varint(&mut [0xff; 11].as_slice()), None);
        let mut too_large = [0xff; 10];
        too_large[9] = 2;
        assert_eq!(take_varint(&mut too_large.as_slice()), None);
    }
}
