//! The degrees section: the lengths of all lists as LEB128 numbers, a few per cent of the graph's
//! bytes. Algorithms that need degrees first read it instead of the lists.

use crate::VertexId;
use crate::error::{PageFault, Result, equal, other, zero_behind};
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::PageHeader;
use crate::pages::Pages;
use crate::sink::PageTarget;
use crate::stream::{Ahead, PageStream};
use crate::superblock::Section;

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

pub(crate) struct DegreeReader<'a> {
    pages: &'a Pages,
    section: Section,
    stream: PageStream,
    next_vertex: u64,
    degrees: Vec<u64>,
}

impl<'a> DegreeReader<'a> {
    pub fn new(pages: &'a Pages, section: Section, ahead: Ahead) -> Result<Self> {
        let stream = pages.stream(section.range(), ahead)?;
        Ok(Self { pages, section, stream, next_vertex: 0, degrees: Vec::new() })
    }

    /// The next vertex and the degrees from it on, or `None` after the last.
    pub fn next(&mut self) -> Result<Option<(VertexId, &[u64])>> {
        let (layout, section) = (&self.pages.layout, self.section);
        let vertices = layout.committed.listed_vertices;
        let bad = |page| move |fault| layout.fault(page, section.kind.name(), fault);
        let Some((number, bytes)) = self.stream.next()? else {
            equal("number of degrees", self.next_vertex, vertices)
                .map_err(bad(section.first_page))?;
            return Ok(None);
        };
        let header = layout.verify(section, number, bytes)?;
        let first = self.next_vertex;
        decode(bytes, &header, first, vertices, &mut self.degrees).map_err(bad(number))?;
        self.next_vertex += self.degrees.len() as u64;
        Ok(Some((first as VertexId, &self.degrees)))
    }

    /// [`DegreeReader::next`] into a buffer of the caller's.
    pub fn next_into(&mut self, degrees: &mut Vec<u64>) -> Result<Option<VertexId>> {
        let first = self.next()?.map(|(first, _)| first);
        std::mem::swap(degrees, &mut self.degrees);
        Ok(first)
    }
}

/// Decodes a verified page of degrees into `out`. It must start with vertex `first`, and hold at
/// least one degree and none beyond `vertices`.
fn decode(
    bytes: &[u8],
    header: &PageHeader,
    first: u64,
    vertices: u64,
    out: &mut Vec<u64>,
) -> Result<(), PageFault> {
    out.clear();
    equal("first vertex of a page of degrees", header.first.into(), first)?;
    let payload = &bytes[HEADER_BYTES..];
    let limit = (vertices - first).min(payload.len() as u64);
    if header.entries == 0 || u64::from(header.entries) > limit {
        let (what, found) = ("number of degrees", u64::from(header.entries));
        return Err(PageFault::Limit { what, found, limit });
    }
    let mut rest = payload;
    for _ in 0..header.entries {
        let degree = take_varint(&mut rest);
        out.push(degree.ok_or_else(|| other("a degree is cut short"))?);
    }
    zero_behind("degree", rest)
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
