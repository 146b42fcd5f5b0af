//! Verified views of adjacency pages.
//!
//! [`Adjacency::parse`](crate::Adjacency::parse) runs on every page that is read from the device,
//! so it allocates nothing: it verifies the checksum, compares the header with the index, tests
//! that offsets ascend, and bounds every entry in one vectorised pass.

use bytemuck::try_cast_slice;

use crate::VertexId;
use crate::error::{PageFault, equal, other};
use crate::format::{self, Codec, HEADER_BYTES, PageKind};
use crate::header::{self, Identity, PageHeader};
use crate::packed;
use crate::packed::decode::{self, Decoded};

pub(crate) const MISSING: &str = "the index led to a page with the vertex";

/// Most entries, and most lists, that a page can hold.
pub(crate) fn items_max(page_bytes: usize, codec: Codec) -> (usize, usize) {
    match codec {
        Codec::Raw => (format::entries_per_page(page_bytes), format::payload_bytes(page_bytes) / 2),
        Codec::Packed => {
            let items = packed::items_max(page_bytes);
            (items, items)
        }
    }
}

/// What the index and the superblock say about a page before it is read.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Identity of the page.
    pub identity: Identity,
    /// Its logical number.
    pub page: u64,
    /// Codec of the section.
    pub codec: Codec,
    /// Vertex of list 0.
    pub first: VertexId,
    /// Lists with a piece in the page.
    pub lists: u64,
    /// Whether the page begins in the middle of list 0.
    pub continues: bool,
    /// Vertices of the graph.
    pub vertices: u32,
}

/// A verified adjacency page: pieces of the lists of consecutive vertices.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    entries: &'a [u32],
    /// Where each list starts, in reverse: list 0 is last.
    starts: &'a [u16],
    number: u64,
    first: VertexId,
    head_skip: u64,
    head_degree: u64,
    tail_degree: u64,
}

/// What a [`Page`] says of its lists beside their entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageEnds {
    pub number: u64,
    pub first: VertexId,
    pub head_skip: u64,
    pub head_degree: u64,
    pub tail_degree: u64,
}

impl PageEnds {
    /// A page of these lists.
    pub fn page<'a>(self, (entries, starts): Parts<'a>) -> Page<'a> {
        let Self { number, first, head_skip, head_degree, tail_degree } = self;
        Page { entries, starts, number, first, head_skip, head_degree, tail_degree }
    }
}

/// The piece of a vertex's list that lies in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List<'a> {
    /// Vertex of the list.
    pub vertex: VertexId,
    /// Logical number of the page.
    pub page: u64,
    /// Position of `targets[0]` within the whole list.
    pub skip: u64,
    /// Length of the whole list.
    pub degree: u64,
    /// The entries that lie in this page, ascending.
    pub targets: &'a [u32],
}

impl List<'_> {
    /// The list of a vertex without edges.
    pub(crate) fn empty(vertex: VertexId, page: u64) -> Self {
        Self { vertex, page, skip: 0, degree: 0, targets: &[] }
    }

    /// Whether the page holds the whole list.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.targets.len() as u64 == self.degree
    }
}

impl<'a> Page<'a> {
    /// Verifies a page against its checksum and the expected header. Decodes a packed page into
    /// `decoded`.
    ///
    /// # Panics
    /// If `bytes` is not a whole page or not aligned to 4 bytes.
    pub fn parse(
        bytes: &'a [u8],
        expected: &Expected,
        decoded: &'a mut Decoded,
    ) -> Result<Self, PageFault> {
        let header = Self::verify_header(bytes, expected)?;
        match expected.codec {
            Codec::Raw => Self::verified_raw(bytes, &header, expected),
            Codec::Packed => Self::unpack(bytes, &header, expected, decoded),
        }
    }

    /// Verifies a page as far as [`Page::reparse`] does not.
    ///
    /// # Panics
    /// As [`Page::parse`].
    pub fn verify(bytes: &[u8], expected: &Expected) -> Result<(), PageFault> {
        let header = Self::verify_header(bytes, expected)?;
        match expected.codec {
            Codec::Raw => Page::verified_raw(bytes, &header, expected).map(drop),
            Codec::Packed => check_place(&header, expected),
        }
    }

    /// The view of a page in memory that [`Page::parse`] or [`Page::verify`] has accepted. Skips
    /// the two passes over a raw page; verifies all but the checksum of a packed page, which costs
    /// little beside decoding.
    ///
    /// # Panics
    /// As [`Page::parse`]. Methods of the view panic if the page was never accepted.
    #[inline]
    pub fn reparse(
        bytes: &'a [u8],
        expected: &Expected,
        decoded: &'a mut Decoded,
    ) -> Result<Self, PageFault> {
        assert!(format::is_page_size(bytes.len() as u64), "a page is parsed as a whole");
        let header = PageHeader::read(bytes);
        match expected.codec {
            Codec::Raw => {
                let (entries, starts) = split(bytes, &header, expected)?;
                Ok(Self::from_parts(entries, starts, &header, expected.page))
            }
            Codec::Packed => Self::unpack(bytes, &header, expected, decoded),
        }
    }

    fn verify_header(bytes: &[u8], expected: &Expected) -> Result<PageHeader, PageFault> {
        assert!(format::is_page_size(bytes.len() as u64), "a page is parsed as a whole");
        let Expected { identity, codec, .. } = expected;
        header::verify_codec(bytes, identity, PageKind::Adjacency, *codec)
    }

    fn verified_raw(
        bytes: &'a [u8],
        header: &PageHeader,
        expected: &Expected,
    ) -> Result<Self, PageFault> {
        let (entries, starts) = split(bytes, header, expected)?;
        check_starts(starts, entries.len())?;
        let page = Self::from_parts(entries, starts, header, expected.page);
        page.check_ends(header, expected)?;
        check_targets(page.entries, expected.vertices)?;
        Ok(page)
    }

    /// Calls `take` with the pieces of some lists of an accepted page, one after the other. Decodes
    /// little more of a packed page than these.
    ///
    /// # Panics
    /// As [`Page::reparse`], and if the page has no piece of one of the lists.
    pub(crate) fn reparse_lists(
        bytes: &[u8],
        expected: &Expected,
        vertices: &[VertexId],
        decoded: &mut Decoded,
        take: &mut dyn FnMut(&List<'_>),
    ) -> Result<(), PageFault> {
        if expected.codec == Codec::Raw || vertices.len() as u64 * 2 > expected.lists {
            let page = Page::reparse(bytes, expected, decoded)?;
            vertices.iter().for_each(|vertex| take(&page.list_of(*vertex).expect(MISSING)));
            return Ok(());
        }
        Self::decode_lists(bytes, expected, vertices, decoded, take)
    }

    fn decode_lists(
        bytes: &[u8],
        expected: &Expected,
        vertices: &[VertexId],
        decoded: &mut Decoded,
        take: &mut dyn FnMut(&List<'_>),
    ) -> Result<(), PageFault> {
        assert!(format::is_page_size(bytes.len() as u64), "a page is parsed as a whole");
        let header = PageHeader::read(bytes);
        check_place(&header, expected)?;
        let mut opened = decode::open(bytes, &header, decoded)?;
        for &vertex in vertices {
            let i = vertex.checked_sub(header.first).map(|i| i as usize);
            let i = i.filter(|i| *i < opened.lists()).expect(MISSING);
            let targets = opened.list(i, decoded)?;
            check_targets(targets, expected.vertices)?;
            let degree = check_piece(&header, expected, i, targets.len())?;
            let skip = if i == 0 { header.head_skip } else { 0 };
            take(&List { vertex, page: expected.page, skip, degree, targets });
        }
        Ok(())
    }

    fn unpack(
        bytes: &[u8],
        header: &PageHeader,
        expected: &Expected,
        decoded: &'a mut Decoded,
    ) -> Result<Self, PageFault> {
        check_place(header, expected)?;
        decode::open(bytes, header, decoded)?.decode(decoded)?;
        let (entries, starts) = decoded.parts(header.entries as usize, usize::from(header.lists));
        let page = Self::from_parts(entries, starts, header, expected.page);
        page.check_ends(header, expected)?;
        check_targets(page.entries, expected.vertices)?;
        Ok(page)
    }

    fn from_parts(entries: &'a [u32], starts: &'a [u16], header: &PageHeader, number: u64) -> Self {
        let PageHeader { first, head_skip, head_degree, tail_degree, .. } = *header;
        Self { entries, starts, number, first, head_skip, head_degree, tail_degree }
    }

    /// What the page says of its lists beside their entries.
    pub(crate) fn ends(&self) -> PageEnds {
        let Self { number, first, head_skip, head_degree, tail_degree, .. } = *self;
        PageEnds { number, first, head_skip, head_degree, tail_degree }
    }

    /// Checks the lengths of the first and the last list against their pieces.
    fn check_ends(&self, header: &PageHeader, expected: &Expected) -> Result<(), PageFault> {
        let last = self.list_count() - 1;
        check_piece(header, expected, 0, self.piece(0).len())?;
        if last > 0 {
            check_piece(header, expected, last, self.piece(last).len())?;
        }
        Ok(())
    }

    /// Vertex of list 0.
    #[inline]
    pub fn first_vertex(&self) -> VertexId {
        self.first
    }

    /// Number of lists with a piece in the page, including empty ones; at least 1.
    #[inline]
    pub fn list_count(&self) -> usize {
        self.starts.len()
    }

    /// All entries of the page, list after list.
    #[inline]
    pub fn entries(&self) -> &'a [u32] {
        self.entries
    }

    /// Position within list 0 of the page's first entry; 0 where list 0 starts here.
    #[inline]
    pub fn head_skip(&self) -> u64 {
        self.head_skip
    }

    /// Where list `i` starts within [`Page::entries`].
    #[inline]
    pub fn start(&self, i: usize) -> usize {
        usize::from(self.starts[self.starts.len() - 1 - i])
    }

    /// The entries, and the table of starts.
    #[inline]
    pub(crate) fn parts(&self) -> Parts<'a> {
        (self.entries, self.starts)
    }

    /// Where list `i` ends within [`Page::entries`].
    #[inline]
    pub fn end(&self, i: usize) -> usize {
        if i + 1 == self.starts.len() { self.entries.len() } else { self.start(i + 1) }
    }

    #[inline]
    fn piece(&self, i: usize) -> &'a [u32] {
        &self.entries[self.start(i)..self.end(i)]
    }

    /// The `i`-th list of the page.
    ///
    /// # Panics
    /// If the page has no such list.
    #[inline]
    pub fn list(&self, i: usize) -> List<'a> {
        self.list_between(i, self.start(i), self.end(i))
    }

    #[inline]
    fn list_between(&self, i: usize, start: usize, end: usize) -> List<'a> {
        let targets = &self.entries[start..end];
        let skip = if i == 0 { self.head_skip } else { 0 };
        let degree = if i == 0 {
            self.head_degree
        } else if i + 1 == self.starts.len() {
            self.tail_degree
        } else {
            targets.len() as u64
        };
        List { vertex: self.first + i as VertexId, page: self.number, skip, degree, targets }
    }

    /// All lists of the page in vertex order.
    #[inline]
    pub fn lists(&self) -> Lists<'a> {
        Lists { page: *self, next: 0, start: 0 }
    }

    /// The piece of a vertex's list, if the page has one.
    #[inline]
    pub fn list_of(&self, vertex: VertexId) -> Option<List<'a>> {
        let i = vertex.checked_sub(self.first)? as usize;
        (i < self.list_count()).then(|| self.list(i))
    }
}

/// The lists of a page, one after the other.
#[derive(Clone, Debug)]
pub struct Lists<'a> {
    page: Page<'a>,
    next: usize,
    start: usize,
}

impl<'a> Iterator for Lists<'a> {
    type Item = List<'a>;

    #[inline]
    fn next(&mut self) -> Option<List<'a>> {
        let (i, start) = (self.next, self.start);
        if i == self.page.list_count() {
            return None;
        }
        self.start = self.page.end(i);
        self.next += 1;
        Some(self.page.list_between(i, start, self.start))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rest = self.page.list_count() - self.next;
        (rest, Some(rest))
    }
}

impl ExactSizeIterator for Lists<'_> {}

/// Returns the length of list `i`, which has `entries` in the page. The first and the last list,
/// which may span pages, must agree with the header.
fn check_piece(
    header: &PageHeader,
    expected: &Expected,
    i: usize,
    entries: usize,
) -> Result<u64, PageFault> {
    let (entries, last) = (entries as u64, usize::from(header.lists) - 1);
    if i > 0 && i < last {
        return Ok(entries);
    }
    if i > 0 {
        let limit = header.tail_degree;
        if entries > limit || (entries == 0 && limit > 0) {
            let what = "piece of the last list";
            return Err(PageFault::Limit { what, found: entries, limit });
        }
        return Ok(limit);
    }
    if (header.head_skip != 0) != expected.continues {
        let [found, expected] = [header.head_skip != 0, expected.continues].map(u64::from);
        return Err(PageFault::Index { what: "continuation", found, expected });
    }
    if expected.continues && entries == 0 {
        return Err(other("it continues a list without an entry of it"));
    }
    let limit = header.head_degree;
    let Some(end) = header.head_skip.checked_add(entries).filter(|end| *end <= limit) else {
        return Err(PageFault::Limit { what: "end of list 0", found: entries, limit });
    };
    if last == 0 {
        equal("length of the last list", header.tail_degree, limit)?;
    } else {
        equal("length of list 0", limit, end)?;
    }
    Ok(limit)
}

type Parts<'a> = (&'a [u32], &'a [u16]);

/// Checks that the page holds the lists that the index says.
#[inline]
fn check_place(header: &PageHeader, expected: &Expected) -> Result<(), PageFault> {
    if header.first != expected.first {
        let (found, expected) = (u64::from(header.first), u64::from(expected.first));
        return Err(PageFault::Index { what: "first vertex", found, expected });
    }
    let lists = u64::from(header.lists);
    if lists != expected.lists || lists == 0 {
        let expected = expected.lists;
        return Err(PageFault::Index { what: "number of lists", found: lists, expected });
    }
    Ok(())
}

/// Splits a page into entries and offset table, whose sizes must fit and agree with the index.
#[inline]
fn split<'a>(
    bytes: &'a [u8],
    header: &PageHeader,
    expected: &Expected,
) -> Result<Parts<'a>, PageFault> {
    check_place(header, expected)?;
    let payload = &bytes[HEADER_BYTES..];
    let table_bytes = usize::from(header.lists) * 2;
    let room = payload.len().saturating_sub(table_bytes) / 4;
    let entries = header.entries as usize;
    if table_bytes > payload.len() || entries > room {
        let (found, limit) = (u64::from(header.entries), room as u64);
        return Err(PageFault::Limit { what: "number of entries", found, limit });
    }
    let entries = &payload[..entries * 4];
    let starts = &payload[payload.len() - table_bytes..];
    let entries = try_cast_slice(entries).expect("pages lie in aligned buffers");
    let starts = try_cast_slice(starts).expect("pages lie in aligned buffers");
    Ok((entries, starts))
}

/// Checks that offsets ascend from 0 to at most the number of entries. Vectorises, since it has no
/// early exit.
fn check_starts(starts: &[u16], entries: usize) -> Result<(), PageFault> {
    let (Some(&top), Some(&bottom)) = (starts.first(), starts.last()) else {
        return Err(other("it has no list"));
    };
    let falls = starts.iter().zip(&starts[1..]).fold(0u16, |bad, (a, b)| bad | u16::from(a < b));
    if falls != 0 || bottom != 0 || usize::from(top) > entries {
        return Err(other("its table of offsets is not in order"));
    }
    Ok(())
}

/// Checks that every entry is a vertex. Baseline x86-64 has no unsigned vector maximum, so the test
/// collects sign bits instead: `last - x` borrows exactly where `x > last`.
fn check_targets(entries: &[u32], vertices: u32) -> Result<(), PageFault> {
    let last = vertices.wrapping_sub(1);
    let bad = if last >> 31 == 0 {
        entries.iter().fold(0, |bad, &x| bad | x | last.wrapping_sub(x))
    } else {
        let borrow = |x: u32| (!last & x) | ((!last | x) & last.wrapping_sub(x));
        entries.iter().fold(0, |bad, &x| bad | borrow(x))
    };
    if bad >> 31 == 0 && vertices > 0 {
        return Ok(());
    }
    match entries.iter().find(|x| **x >= vertices) {
        Some(&found) => Err(PageFault::Target { found, vertices }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_check_finds_the_only_bad_entry_whatever_the_bound() {
        for vertices in [1, 2, 1000, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX] {
            for bad in [vertices, vertices.saturating_add(1), u32::MAX] {
                for at in [0, 5, 1011] {
                    let mut entries = vec![vertices - 1; 1012];
                    assert_eq!(check_targets(&entries, vertices), Ok(()));
                    entries[at] = bad;
                    let fault = Err(PageFault::Target { found: bad, vertices });
                    assert_eq!(check_targets(&entries, vertices), fault, "at {at}");
                }
            }
        }
    }

    #[test]
    fn offsets_out_of_order_are_a_fault() {
        assert!(check_starts(&[5, 3, 3, 0], 5).is_ok());
        assert!(check_starts(&[6, 3, 3, 0], 5).is_err(), "beyond the entries");
        assert!(check_starts(&[3, 5, 0], 5).is_err(), "not ascending");
        assert!(check_starts(&[5, 3, 1], 5).is_err(), "list 0 does not start at 0");
        assert!(check_starts(&[], 0).is_err(), "no list");
    }
}
