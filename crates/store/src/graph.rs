//! Opens a stored graph and reads it.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::Device;
use cenote_pool::check::PageCheck;
use cenote_pool::{Handle, PageId};

use crate::commit::Commit;
use crate::degrees::DegreeReader;
use crate::error::{PageError, Result};
use crate::format::PageKind;
use crate::header;
use crate::hub_neighbours::HubNeighboursSection;
use crate::ids::Ids;
use crate::index::Adjacency;
use crate::lookup::{Lookup, Pieces};
use crate::packed::decode::Decoded;
use crate::page::{List, Page};
use crate::pages::{Layout, LookupConfig, Pages};
use crate::readers::Pin;
use crate::stream::{Ahead, PageStream};
use crate::superblock::{Section, SectionKind, Superblock, slot_fault};
use crate::table::{PageRun, PageTable, SectionPages};
use crate::weights::{Weight, WeightColumn};
use crate::words::{Words, words};
use crate::{Direction, VertexId};

/// A list of at most so many pages is looked up through the pool; a longer one is streamed, in
/// large requests, and washes nothing out.
const LOOKUP_PAGES_MAX: u64 = 4;

/// A stored graph as of one epoch. Later commits do not disturb it if it comes from a
/// [`Store`](crate::Store), which keeps its pages until it is dropped. In memory: its superblock
/// and page indexes, and, once a list or an id was looked up, the few pages read last.
#[derive(Debug)]
pub struct Graph {
    pub(crate) pages: Arc<Pages>,
}

impl Graph {
    /// Verifies superblock and indexes and loads them.
    pub fn open(device: Arc<dyn Device>) -> Result<Self> {
        Self::open_with(device, |_| LookupConfig::default())
    }

    /// [`Graph::open`] for one who looks up many lists, as `plan` says when it knows the graph.
    pub fn open_with(
        device: Arc<dyn Device>,
        plan: impl FnOnce(&Superblock) -> LookupConfig,
    ) -> Result<Self> {
        let file: Arc<str> = device.name().into();
        let commit = Commit::read(device.as_ref(), &file)?;
        Self::of_commit(device, file, commit, plan, None)
    }

    /// The graph as a commit has it.
    pub(crate) fn of_commit(
        device: Arc<dyn Device>,
        file: Arc<str>,
        Commit { superblock, extents, other_slot }: Commit,
        plan: impl FnOnce(&Superblock) -> LookupConfig,
        pin: Option<Pin>,
    ) -> Result<Self> {
        let table = Arc::new(PageTable::new(extents.table));
        let pages = |kind| {
            let (file, table) = (Arc::clone(&file), Arc::clone(&table));
            let (page_bytes, salt) = (superblock.page_bytes as usize, superblock.salt);
            let section = *superblock.section(kind)?;
            Some(SectionPages { file, section, page_bytes, salt, table })
        };
        let vertices = superblock.vertices as u32;
        let load = |lists, index| match (pages(lists), pages(index)) {
            (Some(lists), Some(index)) => {
                load_index(device.as_ref(), lists, &index, vertices).map(Some)
            }
            _ => Ok(None),
        };
        let out = load(SectionKind::OutAdjacency, SectionKind::OutIndex)?;
        let out = out.expect("the superblock was checked");
        let back = load(SectionKind::InAdjacency, SectionKind::InIndex)?;
        let column =
            |kind| Some(WeightColumn::new(pages(kind)?, superblock.weights.as_ref()?.kind));
        let out_weights = column(SectionKind::OutWeights);
        let back_weights = column(SectionKind::InWeights);
        let lookups = plan(&superblock);
        let layout =
            Layout { file, superblock, other_slot, table, out, back, out_weights, back_weights };
        Ok(Self { pages: Arc::new(Pages::new(device, layout, lookups, pin)) })
    }

    /// Where the graph lies.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.pages.device
    }

    /// How errors name the file.
    pub fn file(&self) -> &Arc<str> {
        &self.layout().file
    }

    fn layout(&self) -> &Layout {
        &self.pages.layout
    }

    /// What the first page says.
    pub fn superblock(&self) -> &Superblock {
        &self.layout().superblock
    }

    /// What is wrong with the commit slot that is not in use, if anything: a newer commit may have
    /// been in it.
    pub fn other_slot_fault(&self) -> Option<PageError> {
        let Layout { file, superblock, other_slot, .. } = self.layout();
        let (slot, page_bytes) = (superblock.other_slot(), self.page_bytes());
        Some(slot_fault(file, slot, page_bytes, other_slot.clone()?))
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.superblock().vertices as usize
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.pages.page_bytes()
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.superblock().directed
    }

    /// Whether lists of sources can be had: always on an undirected graph.
    pub fn has_in_edges(&self) -> bool {
        self.adjacency(Direction::In).is_some()
    }

    /// The lists of a direction. On an undirected graph both are the same; on a directed graph
    /// without in-edges there are no lists of sources.
    pub fn adjacency(&self, direction: Direction) -> Option<&Adjacency> {
        self.layout().adjacency(direction)
    }

    /// Whether edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.superblock().weights.is_some()
    }

    /// The weights of a direction's lists. On an undirected graph both directions are the same.
    pub fn weights(&self, direction: Direction) -> Option<&WeightColumn> {
        self.layout().weights(direction)
    }

    /// The hub neighbours, where the graph has them: from the lists of sources, which on an
    /// undirected graph are all lists.
    pub fn hub_neighbours(&self) -> Option<HubNeighboursSection> {
        let section = *self.superblock().hub_neighbours()?;
        Some(HubNeighboursSection::new(self.section_pages(section)))
    }

    fn section_pages(&self, section: Section) -> SectionPages {
        let Layout { file, superblock, table, .. } = self.layout();
        let (page_bytes, salt) = (superblock.page_bytes as usize, superblock.salt);
        let (file, table) = (Arc::clone(file), Arc::clone(table));
        SectionPages { file, section, page_bytes, salt, table }
    }

    /// The physical page that holds a logical one: its place on the device, in pages, and its
    /// number in a pool over the device. Sections, indexes and errors speak of logical pages.
    ///
    /// # Panics
    /// If the page is in no section of the graph.
    #[inline]
    pub fn physical(&self, page: PageId) -> PageId {
        self.layout().table.physical(page)
    }

    /// The logical page that a physical one holds.
    ///
    /// # Panics
    /// If it holds none of this graph's.
    #[inline]
    pub fn logical(&self, physical: PageId) -> PageId {
        self.layout().table.logical(physical).expect("a page of the graph")
    }

    /// Where consecutive logical pages of a section lie: as few runs as possible, in logical order.
    /// A request must not reach from one run into the next.
    pub fn extents(&self, pages: Range<PageId>) -> impl Iterator<Item = PageRun> {
        self.layout().table.runs(pages)
    }

    /// What verifies any page of the graph as it comes from the device, for a pool over it. It
    /// refuses with a [`StoreError`](crate::StoreError). A graph that is read changes no page, so
    /// it seals none.
    pub fn page_check(&self) -> Arc<dyn PageCheck> {
        Arc::clone(&self.pages.layout) as Arc<dyn PageCheck>
    }

    /// Memory that the loaded indexes take, the device beside its queues, and the pages that
    /// look-ups keep, once there were any.
    pub fn memory_bytes(&self) -> usize {
        let Layout { out, back, out_weights, back_weights, .. } = self.layout();
        let indexes = out.memory_bytes() + back.as_ref().map_or(0, Adjacency::memory_bytes);
        let columns = [out_weights, back_weights].into_iter().flatten();
        let weights: usize = columns.map(WeightColumn::memory_bytes).sum();
        let table = self.layout().table.memory_bytes();
        indexes + weights + table + self.pages.memory_bytes() + self.pages.device.memory_bytes()
    }

    /// Streams the lengths of all lists in vertex order: `out(v, [degree of v, of v + 1, ..])`.
    /// Where the graph has no degrees, or those of other lists, it reads the lists themselves.
    /// Nothing is passed on for a direction that the graph does not have.
    pub fn degrees(
        &self,
        direction: Direction,
        out: &mut dyn FnMut(VertexId, &[u64]),
    ) -> Result<()> {
        let kind = match direction {
            Direction::In if self.is_directed() => SectionKind::InDegrees,
            _ => SectionKind::OutDegrees,
        };
        if let Some(&section) = self.superblock().fresh(kind) {
            let mut reader = DegreeReader::new(&self.pages, section, Ahead::FAR)?;
            while let Some((first, degrees)) = reader.next()? {
                out(first, degrees);
            }
            return Ok(());
        }
        self.degrees_from_lists(direction, out)
    }

    /// [`Graph::degrees`] by a pass over the lists.
    pub(crate) fn degrees_from_lists(
        &self,
        direction: Direction,
        out: &mut dyn FnMut(VertexId, &[u64]),
    ) -> Result<()> {
        let mut degrees = Vec::new();
        self.scan(direction, &mut |_, page| {
            let begun = page.lists().filter(|list| list.skip == 0);
            degrees.clear();
            degrees.extend(begun.map(|list| list.degree));
            if !degrees.is_empty() {
                out(page.first_vertex() + VertexId::from(page.head_skip() > 0), &degrees);
            }
            Ok(())
        })
    }

    /// The user's vertex ids.
    pub fn ids(&self) -> Result<Ids> {
        Ids::open(&self.pages)
    }

    /// Appends the list of one vertex to `out`.
    pub fn read_list(
        &self,
        direction: Direction,
        vertex: VertexId,
        out: &mut Vec<VertexId>,
    ) -> Result<()> {
        self.layout().check_vertex(vertex)?;
        let Some(adjacency) = self.adjacency(direction) else { return Ok(()) };
        let (start, end) = adjacency.pages_of(vertex).into_inner();
        let mut pieces = Pieces { adjacency, last_page: end, start: out.len(), out };
        if end - start >= LOOKUP_PAGES_MAX {
            return self.scan_pages(adjacency, start..end + 1, &mut |n, page| {
                let list = page.list_of(vertex).expect("the index agrees with the page");
                pieces.take(n, &list)
            });
        }
        let handle = self.pages.handle()?;
        let mut decoded = Decoded::new();
        for number in start..=end {
            let bytes = self.pages.pin(&handle, adjacency.first_page() + number)?;
            let mut taken = Ok(());
            adjacency.reparse_lists(number, &bytes, &[vertex], &mut decoded, |list| {
                taken = pieces.take(number, list);
            })?;
            taken?;
        }
        Ok(())
    }

    /// The calling thread's way to many lists at random.
    pub fn lookup(&self) -> Result<Lookup<'_>> {
        Lookup::new(&self.pages)
    }

    /// A way to the pages that look-ups keep, for [`Graph::look_up`].
    pub fn handle(&self) -> Result<Handle> {
        self.pages.handle()
    }

    /// Passes the pieces of one list on, one after the other.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    pub fn look_up(
        &self,
        handle: &Handle,
        direction: Direction,
        vertex: VertexId,
        visit: &mut dyn FnMut(&[VertexId]),
    ) -> Result<()> {
        let Some(adjacency) = self.adjacency(direction) else { return Ok(()) };
        let mut decoded = Decoded::new();
        for number in adjacency.pages_of(vertex) {
            let bytes = self.pages.pin(handle, adjacency.first_page() + number)?;
            let take = |list: &List<'_>| visit(list.targets);
            adjacency.reparse_lists(number, &bytes, &[vertex], &mut decoded, take)?;
        }
        Ok(())
    }

    /// Makes ready for weighted visits of a direction: loads the weight index, which tells where
    /// the weights of each page of lists are, and keeps it ([`WeightColumn::bytes_for`]).
    pub fn load_weights(&self, direction: Direction) -> Result<Option<&WeightColumn>> {
        let Some(column) = self.weights(direction) else { return Ok(None) };
        if column.words().get().is_none() {
            let kind = column.index_kind();
            let mut stream = Words::new(&self.pages, kind)?;
            let mut words = Vec::with_capacity(stream.len());
            while let Some((page, word)) = stream.next()? {
                let bad = |fault| self.layout().fault(page, kind.name(), fault);
                column.check_word(word).map_err(bad)?;
                words.push(word);
            }
            // Another thread may have been first, with the same.
            let _ = column.words().set(words);
        }
        Ok(Some(column))
    }

    /// Appends the weights of one vertex's list to `out`, in the order of
    /// [`Graph::read_list`]. Nothing on a graph without weights.
    pub fn read_weights(
        &self,
        direction: Direction,
        vertex: VertexId,
        out: &mut Vec<Weight>,
    ) -> Result<()> {
        self.layout().check_vertex(vertex)?;
        let Some(adjacency) = self.adjacency(direction) else { return Ok(()) };
        let Some(column) = self.load_weights(direction)? else { return Ok(()) };
        let handle = self.pages.handle()?;
        let (per_page, mut decoded) = (column.per_page() as u64, Decoded::new());
        for page in adjacency.pages_of(vertex) {
            let wanted = {
                let bytes = self.pages.pin(&handle, adjacency.first_page() + page)?;
                let view = adjacency.reparse(page, &bytes, &mut decoded)?;
                let list = (vertex - view.first_vertex()) as usize;
                let first = column.addresses_of(page).start;
                first + view.start(list) as u64..first + view.end(list) as u64
            };
            for page in column.pages_of(wanted.clone()) {
                let bytes = self.pages.pin(&handle, column.first_page() + page)?;
                let weights = column.reparse(page, &bytes);
                let first = page * per_page;
                let within = wanted.start.max(first)..wanted.end.min(first + weights.len() as u64);
                out.extend(within.map(|address| weights.get((address - first) as usize)));
            }
        }
        Ok(())
    }

    /// Reads all pages of a direction in order and passes each on, verified.
    pub fn scan(
        &self,
        direction: Direction,
        visit: &mut dyn FnMut(u64, Page<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.adjacency(direction) {
            Some(adjacency) => self.scan_pages(adjacency, 0..adjacency.pages(), visit),
            None => Ok(()),
        }
    }

    fn scan_pages(
        &self,
        adjacency: &Adjacency,
        pages: Range<u64>,
        visit: &mut dyn FnMut(u64, Page<'_>) -> Result<()>,
    ) -> Result<()> {
        let first = adjacency.first_page();
        let pages = first + pages.start..first + pages.end;
        let mut stream = self.pages.stream(pages, Ahead::FAR)?;
        let mut decoded = Decoded::new();
        while let Some((number, bytes)) = stream.next()? {
            visit(number - first, adjacency.parse(number - first, bytes, &mut decoded)?)?;
        }
        Ok(())
    }
}

fn load_index(
    device: &dyn Device,
    lists: SectionPages,
    index: &SectionPages,
    vertices: u32,
) -> Result<Adjacency> {
    let mut load = Adjacency::load(lists, vertices);
    let pages = index.range();
    let mut stream = PageStream::new(device, &index.table, index.page_bytes, pages, Ahead::FAR)?;
    let mut rest = index.section.items;
    while let Some((number, bytes)) = stream.next()? {
        let page = number - index.section.first_page;
        let bad = |fault| index.fault(page, fault);
        let header = header::verify(bytes, &index.identity(page), PageKind::Index).map_err(bad)?;
        let words = words(bytes, &header, rest).map_err(bad)?;
        rest -= words.len() as u64;
        for word in words {
            load.push(*word).map_err(bad)?;
        }
    }
    let last = index.section.pages.saturating_sub(1);
    load.finish().map_err(|fault| index.fault(last, fault))
}
