//! The sparse page index in memory: one `u32` and one bit per page.
//!
//! GraphSSD's graph translation table, with page numbers left out because pages lie in vertex
//! order: entry `p` is the smallest vertex whose list starts in page `p` or later.

use std::ops::{Range, RangeInclusive};

use cenote_device::Device;
use cenote_pool::PageId;

use crate::VertexId;
use crate::error::{PageFault, Result, StoreError, at_most, equal, other};
use crate::format::{self, Codec};
use crate::packed::decode::Decoded;
use crate::page::{self, Expected, List, Page};
use crate::stream::{Ahead, PageStream};
use crate::superblock::{Section, SectionKind};
use crate::table::SectionPages;

/// An index word that says that its page begins in the middle of a list.
pub(crate) const CONTINUES: u64 = 1 << 63;

/// The word of one page in an index section. Bits 48 to 62 are zero.
pub(crate) fn word(starts_from: VertexId, continues: bool, entries: usize) -> u64 {
    let continues = if continues { CONTINUES } else { 0 };
    assert!(entries <= usize::from(u16::MAX), "a page has 65,535 entries at most");
    u64::from(starts_from) | (entries as u64) << 32 | continues
}

/// Number of entries that an index word tells.
pub(crate) fn word_entries(word: u64) -> u64 {
    (word & !CONTINUES) >> 32
}

/// One direction's lists: where each lies, and how to read a page of them. Pages are numbered
/// within the section, `0..pages()`.
#[derive(Debug)]
pub struct Adjacency {
    pages: SectionPages,
    vertices: u32,
    /// One per page, and `vertices` behind the last.
    starts: Vec<VertexId>,
    /// One bit per page.
    continues: Vec<u64>,
    /// Of the page that has the most.
    entries_max: u64,
    lists_max: u64,
}

impl Adjacency {
    /// An index without words yet; [`IndexLoad::finish`] makes it whole.
    pub(crate) fn load(pages: SectionPages, vertices: u32) -> IndexLoad {
        let count = pages.section.pages as usize;
        let starts = Vec::with_capacity(count + 1);
        let continues = vec![0; count.div_ceil(64)];
        let (entries_max, lists_max) = (0, 0);
        let adjacency = Self { pages, vertices, starts, continues, entries_max, lists_max };
        IndexLoad { adjacency, entries: 0, last_word: None }
    }

    /// First logical page of the section.
    #[inline]
    pub fn first_page(&self) -> u64 {
        self.pages.section.first_page
    }

    /// Pages of the section.
    #[inline]
    pub fn pages(&self) -> u64 {
        self.pages.section.pages
    }

    /// Entries of all lists.
    #[inline]
    pub fn stored_edges(&self) -> u64 {
        self.pages.section.items
    }

    /// Bytes of a page.
    #[inline]
    pub fn page_bytes(&self) -> usize {
        self.pages.page_bytes
    }

    /// How the lists are encoded.
    #[inline]
    pub fn codec(&self) -> Codec {
        self.pages.section.codec
    }

    /// Entries of the page that has the most of them.
    pub fn page_entries_max(&self) -> u64 {
        self.entries_max
    }

    /// Memory of one [`Decoded`] that every page was decoded into; none where pages are raw.
    pub fn decoded_bytes(&self) -> usize {
        match self.codec() {
            Codec::Raw => 0,
            Codec::Packed => Decoded::bytes_for(self.entries_max as usize, self.lists_max as usize),
        }
    }

    /// Memory that the index takes.
    pub fn memory_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<VertexId>() + self.continues.capacity() * 8
    }

    /// Pages that hold the list of `vertex`, one after the other.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    #[inline]
    pub fn pages_of(&self, vertex: VertexId) -> RangeInclusive<u64> {
        assert!(vertex < self.vertices, "vertex {vertex} of {}", self.vertices);
        let start = self.starts.partition_point(|first| *first <= vertex) - 1;
        start as u64..=self.last_page_of(vertex, start) as u64
    }

    /// Most lists end on the page where they start: only a long list that runs into the next page
    /// is searched for.
    #[inline]
    fn last_page_of(&self, vertex: VertexId, start: usize) -> usize {
        let next = start + 1;
        let pages = self.starts.len() - 1;
        if next == pages || !self.continues_at(next) || self.starts[next] != vertex + 1 {
            return start;
        }
        let tail = &self.starts[next..pages];
        let last = next + tail.partition_point(|first| *first <= vertex + 1) - 1;
        // A list that ends with its page: the page after it continues nothing.
        if self.continues_at(last) { last } else { last - 1 }
    }

    /// No list has more entries than this: as many full pages as the longest one runs over.
    pub fn list_entries_bound(&self) -> u64 {
        let pages = 0..self.starts.len() - 1;
        let (mut longest, mut run) = (0u64, 1u64);
        for page in pages {
            // The list that begins the page began in the page before, or ran through all of it.
            let runs_on = self.continues_at(page);
            run = match runs_on {
                true if run > 1 && self.starts[page] == self.starts[page - 1] => run + 1,
                true => 2,
                false => 1,
            };
            longest = longest.max(run);
        }
        (longest * self.entries_max).min(self.pages.section.items)
    }

    /// Smallest vertex whose list starts in `page` or later; the number of vertices if none does.
    #[inline]
    pub fn starts_from(&self, page: u64) -> VertexId {
        self.starts[page as usize]
    }

    /// Whether `page` begins in the middle of a list.
    #[inline]
    pub fn continues(&self, page: u64) -> bool {
        self.continues_at(page as usize)
    }

    #[inline]
    fn continues_at(&self, page: usize) -> bool {
        self.continues[page / 64] >> (page % 64) & 1 != 0
    }

    /// Vertices with a piece of their list in `page`, the continued one included; empty lists
    /// that lie there too.
    #[inline]
    pub fn vertices_in(&self, page: u64) -> Range<VertexId> {
        let continued = VertexId::from(self.continues(page));
        self.starts[page as usize] - continued..self.starts[page as usize + 1]
    }

    #[inline]
    fn expected(&self, page: u64) -> Expected {
        let vertices = self.vertices_in(page);
        Expected {
            identity: self.pages.identity(page),
            codec: self.codec(),
            first: vertices.start,
            lists: u64::from(vertices.end - vertices.start),
            continues: self.continues(page),
            vertices: self.vertices,
        }
    }

    /// Verifies a page as it was read from the device: checksum, agreement with the index, offsets
    /// and every entry. The view of a packed page lies in `decoded`.
    ///
    /// # Panics
    /// If `bytes` is no whole page or not aligned to 4 bytes, or the section has no such page.
    #[inline]
    pub fn parse<'a>(
        &self,
        page: u64,
        bytes: &'a [u8],
        decoded: &'a mut Decoded,
    ) -> Result<Page<'a>> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        let expected = self.expected(page);
        Page::parse(bytes, &expected, decoded).map_err(|fault| self.fault(page, fault))
    }

    /// Verifies a page as it was read from the device as far as [`Adjacency::reparse`] and
    /// [`Adjacency::reparse_lists`] do not: entries of packed pages are looked at there anyway.
    ///
    /// # Panics
    /// As [`Adjacency::parse`].
    pub fn verify(&self, page: u64, bytes: &[u8]) -> Result<()> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is verified as a whole");
        Page::verify(bytes, &self.expected(page)).map_err(|fault| self.fault(page, fault))
    }

    /// The view of a page that [`Adjacency::parse`] has accepted and that has stayed in memory
    /// since, without verifying its checksum again.
    ///
    /// # Panics
    /// As [`Adjacency::parse`]; and methods of the view may panic if it was never accepted.
    #[inline]
    pub fn reparse<'a>(
        &self,
        page: u64,
        bytes: &'a [u8],
        decoded: &'a mut Decoded,
    ) -> Result<Page<'a>> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        let expected = self.expected(page);
        Page::reparse(bytes, &expected, decoded).map_err(|fault| self.fault(page, fault))
    }

    /// Brings the lists of some vertices, or the pieces that lie in a page which was accepted, to
    /// `take`. Of a packed page it decodes not much more than these; it is cheapest where vertices
    /// ascend.
    ///
    /// # Panics
    /// As [`Adjacency::reparse`]; if the page has no piece of one of them.
    #[inline]
    pub fn reparse_lists(
        &self,
        page: u64,
        bytes: &[u8],
        vertices: &[VertexId],
        decoded: &mut Decoded,
        take: impl FnMut(&List<'_>),
    ) -> Result<()> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        Page::reparse_lists(bytes, &self.expected(page), vertices, decoded, take)
            .map_err(|fault| self.fault(page, fault))
    }

    /// An error that names a page of this section.
    #[cold]
    pub(crate) fn fault(&self, page: u64, fault: PageFault) -> StoreError {
        self.pages.fault(page, fault)
    }

    /// A stream over some of its logical pages.
    pub(crate) fn stream(
        &self,
        device: &dyn Device,
        pages: Range<PageId>,
        ahead: Ahead,
    ) -> Result<PageStream> {
        PageStream::new(device, &self.pages.table, self.pages.page_bytes, pages, ahead)
    }

    /// What the section holds: lists of targets or of sources.
    pub fn kind(&self) -> SectionKind {
        self.pages.section.kind
    }
}

/// An index that is being read.
pub(crate) struct IndexLoad {
    adjacency: Adjacency,
    entries: u64,
    last_word: Option<u64>,
}

impl IndexLoad {
    /// Takes the word of the next page. It must follow from the words before.
    pub fn push(&mut self, word: u64) -> Result<(), PageFault> {
        let page = self.adjacency.starts.len();
        let starts_from = word as u32;
        let continues = word & CONTINUES != 0;
        at_most("first vertex of a page", starts_from.into(), self.adjacency.vertices.into())?;
        match self.last_word {
            Some(last) => self.check_page(last, starts_from)?,
            None if continues || starts_from != 0 => {
                return Err(other("the first page does not start with vertex 0"));
            }
            None => {}
        }
        if continues {
            self.adjacency.continues[page / 64] |= 1 << (page % 64);
        }
        self.adjacency.starts.push(starts_from);
        self.entries += word_entries(word);
        self.last_word = Some(word);
        Ok(())
    }

    /// A page holds at least one list, its entries fit beside the offsets, and a continued page
    /// has an entry of what it continues.
    fn check_page(&mut self, word: u64, next: VertexId) -> Result<(), PageFault> {
        let (starts_from, continues) = (word as u32, word & CONTINUES != 0);
        if next < starts_from {
            let [found, expected] = [next, starts_from].map(u64::from);
            let what = "first vertex of a page falls";
            return Err(PageFault::Mismatch { what, found, expected });
        }
        let lists = u64::from(next - starts_from) + u64::from(continues);
        if lists == 0 || (continues && (word_entries(word) == 0 || starts_from == 0)) {
            return Err(other("a page has no list"));
        }
        self.check_room(lists, word_entries(word))?;
        self.adjacency.entries_max = self.adjacency.entries_max.max(word_entries(word));
        self.adjacency.lists_max = self.adjacency.lists_max.max(lists);
        Ok(())
    }

    fn check_room(&self, lists: u64, entries: u64) -> Result<(), PageFault> {
        let (page_bytes, codec) = (self.adjacency.pages.page_bytes, self.adjacency.codec());
        if codec == Codec::Raw {
            let room = format::payload_bytes(page_bytes) as u64;
            return at_most("bytes of the lists of a page", lists * 2 + entries * 4, room);
        }
        let (entries_max, lists_max) = page::items_max(page_bytes, codec);
        at_most("entries of a page", entries, entries_max as u64)?;
        at_most("lists of a page", lists, lists_max as u64)
    }

    /// The index is whole.
    pub fn finish(mut self) -> Result<Adjacency, PageFault> {
        if let Some(last) = self.last_word {
            self.check_page(last, self.adjacency.vertices)?;
        }
        let Section { pages, items, .. } = self.adjacency.pages.section;
        assert_eq!(self.adjacency.starts.len() as u64, pages, "one word per page was pushed");
        equal("entries of all pages", self.entries, items)?;
        self.adjacency.starts.push(self.adjacency.vertices);
        Ok(self.adjacency)
    }
}
