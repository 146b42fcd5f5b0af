//! The sparse page index in memory: one `u32` and one bit per page.
//!
//! After GraphSSD's graph translation table, without page numbers because pages lie in vertex
//! order: entry `p` is the smallest vertex whose list starts in page `p` or later.

mod counts;
mod views;

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use cenote_device::Device;
use cenote_pool::PageId;

use crate::delta::gather::{DeltaRoom, RunsFrom};
use crate::delta::merged::Merged;
use crate::delta::{
    EntryOrder, Lengths, ListDelta, ListPages, PAGE_ENTRIES_MAX, PageDelta, PlacedEdit,
};
use crate::error::{PageFault, Result, StoreError, at_most, equal, other};
use crate::format::{self, Codec};
use crate::gallop::Cursor;
use crate::log::Pending;
use crate::packed::decode::Decoded;
use crate::page;
use crate::runs::RunReads;
use crate::runs::read::ListRuns;
use crate::stream::{Ahead, PageStream};
use crate::superblock::{Section, SectionKind};
use crate::table::SectionPages;
use crate::{Direction, VertexId};
use counts::EntryCounts;

/// Flag of an index word: its page begins in the middle of a list.
pub(crate) const CONTINUES: u64 = 1 << 63;

/// Encodes the index word of a page. Bits 48 to 62 are zero.
pub(crate) fn word(starts_from: VertexId, continues: bool, entries: usize) -> u64 {
    let continues = if continues { CONTINUES } else { 0 };
    assert!(entries <= usize::from(u16::MAX), "a page has 65,535 entries at most");
    u64::from(starts_from) | (entries as u64) << 32 | continues
}

/// Number of entries by an index word.
pub(crate) fn word_entries(word: u64) -> u64 {
    (word & !CONTINUES) >> 32
}

/// The lists of one direction: their page index, and how to read a page. Pages are numbered within
/// the section, `0..pages()`.
#[derive(Debug)]
pub struct Adjacency {
    pages: SectionPages,
    /// Vertices of the pages, without those that the runs and the log add.
    vertices: u32,
    /// One per page, followed by the number of vertices, with those that are added.
    starts: Vec<VertexId>,
    /// One bit per page.
    continues: Vec<u64>,
    /// Entries of all lists, without the changes of the log.
    entries: u64,
    /// How many entries pages have, without the changes of runs and log.
    counts: EntryCounts,
    /// Largest number of entries, and of lists, of a page.
    entries_max: u64,
    lists_max: u64,
    /// Changes of the delta runs and of the log.
    delta: Option<Box<ListDelta>>,
}

impl Adjacency {
    /// Starts an empty index, to be filled by [`IndexLoad::push`].
    pub(crate) fn load(pages: SectionPages, vertices: u32) -> IndexLoad {
        let count = pages.section.pages as usize;
        let starts = Vec::with_capacity(count + 1);
        let continues = vec![0; count.div_ceil(64)];
        let entries = pages.section.items;
        let adjacency = Self {
            pages,
            vertices,
            starts,
            continues,
            entries,
            counts: EntryCounts::new(),
            entries_max: 0,
            lists_max: 0,
            delta: None,
        };
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

    /// Number of entries of all lists.
    #[inline]
    pub fn stored_edges(&self) -> u64 {
        let net = self.delta.as_ref().map_or(0, |delta| delta.net);
        self.entries.saturating_add_signed(net)
    }

    /// Vertices of the pages, without those that the runs and the log add.
    pub(crate) fn stored_vertices(&self) -> VertexId {
        self.vertices
    }

    /// Lets pages be read with changes of runs, which make the lists have so many `entries`, and of
    /// the log. An error where those of the log contradict the index.
    pub(crate) fn set_delta(
        &mut self,
        runs: Option<(RunsFrom, u64)>,
        pending: &Pending,
        direction: Direction,
        directed: bool,
    ) -> Result<(), PageFault> {
        if let Some((_, entries)) = runs {
            self.entries = entries;
        }
        // With the vertices of the log, for their lists are in the last page.
        *self.starts.last_mut().expect("the index ends with the number of vertices") =
            pending.counts.vertices as VertexId;
        let delta = self.with_log(runs.map(|(runs, _)| runs), pending, direction, directed)?;
        let room = PAGE_ENTRIES_MAX as u64;
        self.entries_max = (self.entries_max + delta.page_added_max).min(room);
        self.lists_max += u64::from(delta.vertices - delta.base);
        self.delta = Some(Box::new(delta));
        Ok(())
    }

    /// The changes of some runs, then those of the log.
    pub(crate) fn with_log(
        &self,
        runs: Option<RunsFrom>,
        pending: &Pending,
        direction: Direction,
        directed: bool,
    ) -> Result<ListDelta, PageFault> {
        self.with_pages(|lists| ListDelta::of_log(runs, pending, direction, directed, lists))
    }

    /// The changes of some runs, then others, which ascend and lie in pages of their lists, in a
    /// graph of so many vertices.
    pub(crate) fn with_edits(
        &self,
        runs: Option<RunsFrom>,
        edits: Vec<PlacedEdit>,
        vertices: VertexId,
    ) -> ListDelta {
        self.with_pages(|lists| ListDelta::of_placed(runs, edits, vertices, lists))
    }

    fn with_pages<T>(&self, of: impl FnOnce(&ListPages<'_>) -> T) -> T {
        let (vertices, pages, last) = (self.vertices, self.pages(), Cursor::default());
        of(&ListPages { vertices, pages, pages_of: &|vertex| self.pages_near(vertex, &last) })
    }

    /// Whether a page has other entries or lists than on the device, not only other places of them.
    pub(crate) fn changes_entries(&self, page: u64, decoded: &mut Decoded) -> Result<bool> {
        Ok(self
            .delta_of(page, EntryOrder::Ascending, &mut decoded.room)?
            .is_some_and(|delta| delta.changes_entries()))
    }

    /// Whether a page surely has the same changes as one of another state of the graph.
    pub(crate) fn has_same_changes(&self, page: u64, other: &Self, twin: u64) -> bool {
        match (&self.delta, &other.delta) {
            (None, None) => true,
            (Some(mine), Some(theirs)) => mine.is_same(page, theirs, twin),
            _ => false,
        }
    }

    /// The changes of runs and log, if there are any.
    pub(crate) fn delta(&self) -> Option<&ListDelta> {
        self.delta.as_deref()
    }

    /// Whether a page is read with changes.
    pub(crate) fn is_changed(&self, page: u64, decoded: &mut Decoded) -> Result<bool> {
        match &self.delta {
            None => Ok(false),
            Some(delta) => delta.is_changed(page, self.vertices_in(page).start, &mut decoded.room),
        }
    }

    /// Pages of lists that log and runs change: a merge writes them anew. Reads the runs.
    ///
    /// # Errors
    /// Errors of reading, and damaged runs.
    pub fn dirty_pages(&self) -> Result<u64> {
        if self.delta.is_none() {
            return Ok(0);
        }
        let mut decoded = Decoded::new();
        let mut dirty = 0;
        for page in 0..self.pages() {
            dirty += u64::from(self.is_changed(page, &mut decoded)?);
        }
        Ok(dirty)
    }

    /// How many entries more a page has with its changes.
    pub(crate) fn page_net(&self, page: u64, decoded: &mut Decoded) -> Result<i64> {
        self.delta.as_ref().map_or(Ok(0), |delta| delta.page_net(page, &mut decoded.room))
    }

    /// The delta runs, from one of them on.
    pub(crate) fn runs_from(&self, from: usize) -> Option<RunsFrom> {
        self.delta.as_ref()?.runs_from(from)
    }

    #[inline]
    fn delta_of<'d>(
        &'d self,
        page: u64,
        order: EntryOrder,
        room: &'d mut DeltaRoom,
    ) -> Result<Option<PageDelta<'d>>> {
        match &self.delta {
            None => Ok(None),
            Some(delta) => delta.of_page_in(page, self.vertices_in(page).start, order, room),
        }
    }

    /// The change of the length of each list, if there are changes.
    pub(crate) fn lengths(&self) -> Option<Lengths<'_>> {
        self.lengths_from(0)
    }

    /// The change of the length of each list from that of a vertex on, if there are changes.
    pub(crate) fn lengths_from(&self, vertex: VertexId) -> Option<Lengths<'_>> {
        let delta = self.delta.as_ref()?;
        let first_of = |page| self.vertices_in(page).start;
        let page = match vertex < self.stored_vertices() {
            true => *self.pages_of(vertex).start(),
            // Its changes are those of the last page.
            false => self.pages().saturating_sub(1),
        };
        Some(Lengths::new(delta, first_of, (page, vertex)))
    }

    /// Vertices of the graph, with those that the log adds.
    #[inline]
    fn vertices(&self) -> VertexId {
        self.starts[self.starts.len() - 1]
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

    /// Largest number of entries of a page.
    pub fn page_entries_max(&self) -> u64 {
        self.entries_max
    }

    /// An upper bound of the entries that any so many pages have together.
    pub fn entries_max_of(&self, pages: u64) -> u64 {
        let added = self.delta.as_ref().map_or(0, |delta| delta.added_max_of(pages));
        (self.counts.of_fullest(pages) + added).min(pages * self.entries_max)
    }

    /// Bytes of a [`Decoded`] that fits every page, without the pages of delta runs that it holds
    /// ([`Graph::run_bytes_with`](crate::Graph::run_bytes_with)); 0 for raw pages without changes.
    pub fn decoded_bytes(&self) -> usize {
        let (entries, lists) = (self.entries_max as usize, self.lists_max as usize);
        let merged = self.delta.as_ref().map_or(0, |delta| {
            Merged::bytes_for(entries, lists) + delta.room_bytes(entries, lists)
        });
        match self.codec() {
            Codec::Raw => merged,
            Codec::Packed => Decoded::bytes_for(entries, lists) + merged,
        }
    }

    /// What a pass over the lists reads of delta runs, beside the pages of the lists, with the
    /// pages of runs that may be kept now.
    pub fn run_reads(&self) -> RunReads {
        self.runs().map_or_else(RunReads::default, |runs| runs.reads())
    }

    /// Has the parts of delta runs read that belong to some pages, all of which the caller is about
    /// to read; it need not wait for them.
    pub fn read_runs_for(&self, pages: Range<u64>) {
        if let Some(runs) = self.runs() {
            runs.read_for_pass(pages);
        }
    }

    /// The delta runs.
    pub(crate) fn runs(&self) -> Option<Arc<ListRuns>> {
        self.runs_from(0).map(|runs| runs.runs)
    }

    /// Bytes of memory of the index and of the changes of runs and log, without the pages of runs
    /// that are kept.
    pub fn memory_bytes(&self) -> usize {
        let delta = self.delta.as_ref().map_or(0, |delta| delta.memory_bytes());
        delta + self.starts.capacity() * size_of::<VertexId>() + self.continues.capacity() * 8
    }

    /// The pages that hold the list of `vertex`.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    #[inline]
    pub fn pages_of(&self, vertex: VertexId) -> RangeInclusive<u64> {
        let vertices = self.vertices();
        assert!(vertex < vertices, "vertex {vertex} of {vertices}");
        let start = self.starts.partition_point(|first| *first <= vertex) - 1;
        start as u64..=self.last_page_of(vertex, start) as u64
    }

    /// As [`Adjacency::pages_of`]; fast if `vertex` is a little behind the one before.
    ///
    /// # Panics
    /// As [`Adjacency::pages_of`].
    #[inline]
    pub(crate) fn pages_near(&self, vertex: VertexId, cursor: &Cursor) -> RangeInclusive<u64> {
        let vertices = self.vertices();
        assert!(vertex < vertices, "vertex {vertex} of {vertices}");
        let start = cursor.last_up_to(&self.starts, vertex);
        start as u64..=self.last_page_of(vertex, start) as u64
    }

    /// The last page of a list that starts in page `start`. Searches only if the list continues in
    /// the next page, since most lists end where they start.
    #[inline]
    fn last_page_of(&self, vertex: VertexId, start: usize) -> usize {
        let next = start + 1;
        let pages = self.starts.len() - 1;
        if next == pages || !self.continues_at(next) || self.starts[next] != vertex + 1 {
            return start;
        }
        let tail = &self.starts[next..pages];
        let last = next + tail.partition_point(|first| *first <= vertex + 1) - 1;
        // The list may end exactly at the end of its page.
        if self.continues_at(last) { last } else { last - 1 }
    }

    /// An upper bound of the length of a list: the entries of all pages that one lies on.
    pub fn list_entries_bound(&self) -> u64 {
        let EntryCounts { of_list, list_pages, .. } = self.counts;
        let added = self.delta.as_ref().map_or(0, |delta| delta.added_max_of(list_pages));
        (of_list + added).min(self.stored_edges())
    }

    /// Smallest vertex whose list starts in `page` or later; the number of vertices if none does.
    #[inline]
    pub fn starts_from(&self, page: u64) -> VertexId {
        self.starts[page as usize]
    }

    /// Vertices whose list starts in `page`.
    #[inline]
    pub fn starting_in(&self, page: u64) -> Range<VertexId> {
        self.starts[page as usize]..self.starts[page as usize + 1]
    }

    /// The vertex whose list starts in `page` and runs on behind it.
    #[inline]
    pub fn runs_on(&self, page: u64) -> Option<VertexId> {
        let starting = self.starting_in(page);
        let runs_on = page + 1 < self.pages() && self.continues(page + 1);
        (runs_on && !starting.is_empty()).then(|| starting.end - 1)
    }

    /// Vertices whose whole list lies in `page`.
    #[inline]
    pub fn whole_in(&self, page: u64) -> Range<VertexId> {
        let starting = self.starting_in(page);
        starting.start..starting.end - VertexId::from(self.runs_on(page).is_some())
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

    /// Vertices with a piece of their list in `page`, including a continued one and empty lists.
    #[inline]
    pub fn vertices_in(&self, page: u64) -> Range<VertexId> {
        let continued = VertexId::from(self.continues(page));
        self.starts[page as usize] - continued..self.starts[page as usize + 1]
    }

    #[cold]
    pub(crate) fn fault(&self, page: u64, fault: PageFault) -> StoreError {
        self.pages.fault(page, fault)
    }

    pub(crate) fn stream(
        &self,
        device: &dyn Device,
        pages: Range<PageId>,
        ahead: Ahead,
    ) -> Result<PageStream> {
        PageStream::new(device, &self.pages.table, self.pages.page_bytes, pages, ahead)
    }

    /// Kind of the section.
    pub fn kind(&self) -> SectionKind {
        self.pages.section.kind
    }
}

pub(crate) struct IndexLoad {
    adjacency: Adjacency,
    entries: u64,
    last_word: Option<u64>,
}

impl IndexLoad {
    /// Appends the word of the next page, which must be consistent with the words before.
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
        // The list at the start of this page began in the page before, or runs through that.
        let runs_through = self.adjacency.starts.last() == Some(&starts_from);
        self.adjacency.counts.push(word_entries(word), continues, continues && runs_through);
        self.adjacency.starts.push(starts_from);
        self.entries += word_entries(word);
        self.last_word = Some(word);
        Ok(())
    }

    /// Checks that a page holds at least one list, that its entries and offsets fit, and that a
    /// continued page has an entry.
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

    /// Checks and returns the complete index.
    pub fn finish(mut self) -> Result<Adjacency, PageFault> {
        if let Some(last) = self.last_word {
            self.check_page(last, self.adjacency.vertices)?;
        }
        let Section { pages, items, .. } = self.adjacency.pages.section;
        assert_eq!(self.adjacency.starts.len() as u64, pages, "one word per page was pushed");
        equal("entries of all pages", self.entries, items)?;
        self.adjacency.starts.push(self.adjacency.vertices);
        self.adjacency.entries_max = self.adjacency.counts.most;
        Ok(self.adjacency)
    }
}
