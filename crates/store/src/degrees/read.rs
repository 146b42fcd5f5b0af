//! Reads the degrees section.

use std::ops::Range;

use super::take_varint;
use crate::VertexId;
use crate::error::{PageFault, Result, at_most, equal, other, zero_behind};
use crate::format::HEADER_BYTES;
use crate::header::PageHeader;
use crate::pages::Pages;
use crate::stream::{Ahead, PageStream};
use crate::superblock::Section;

pub(crate) struct DegreeReader<'a> {
    pages: &'a Pages,
    section: Section,
    stream: PageStream,
    /// `None` before the first page of a reader that begins within the section.
    next_vertex: Option<u64>,
    degrees: Vec<u64>,
}

impl<'a> DegreeReader<'a> {
    pub fn new(pages: &'a Pages, section: Section, ahead: Ahead) -> Result<Self> {
        Self::of_part(pages, section, 0..section.pages, ahead)
    }

    /// A reader of some of the pages of the section, which are counted from its first. Behind them
    /// the caller verifies that the next part begins where this one ends.
    pub fn of_part(
        pages: &'a Pages,
        section: Section,
        part: Range<u64>,
        ahead: Ahead,
    ) -> Result<Self> {
        let next_vertex = (part.start == 0).then_some(0);
        let numbers = section.first_page + part.start..section.first_page + part.end;
        let stream = pages.stream(numbers, ahead)?;
        Ok(Self { pages, section, stream, next_vertex, degrees: Vec::new() })
    }

    /// The next vertex and the degrees from it on, or `None` after the last.
    pub fn next(&mut self) -> Result<Option<(VertexId, &[u64])>> {
        let (layout, section) = (&self.pages.layout, self.section);
        let vertices = layout.committed.listed_vertices;
        let bad = |page| move |fault| layout.fault(page, section.kind.name(), fault);
        let is_whole = self.stream.next_page() == section.range().end;
        let Some((number, bytes)) = self.stream.next()? else {
            let found = self.next_vertex.unwrap_or(0);
            let ends = if is_whole { equal("number of degrees", found, vertices) } else { Ok(()) };
            return ends.map(|()| None).map_err(bad(section.first_page));
        };
        let header = layout.verify(section, number, bytes)?;
        let first = self.next_vertex.unwrap_or(header.first.into());
        decode(bytes, &header, first, vertices, &mut self.degrees).map_err(bad(number))?;
        self.next_vertex = Some(first + self.degrees.len() as u64);
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
    at_most("first vertex of a page of degrees", first, vertices)?;
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
