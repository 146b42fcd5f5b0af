//! Opens a stored graph and reads it.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::{Buffer, Device, DeviceError, Op, QueueConfig, Request};
use cenote_pool::check::PageCheck;
use cenote_pool::{Handle, PageId};

use crate::degrees;
use crate::error::{PageError, PageFault, Result, StoreError};
use crate::format::{self, HEADER_BYTES, PAGE_BYTES_MIN, PageHeader};
use crate::hub_neighbours::HubNeighboursSection;
use crate::ids::Ids;
use crate::index::{Adjacency, word_entries};
use crate::lookup::Lookup;
use crate::packed::decode::Decoded;
use crate::page::{List, Page};
use crate::pages::{Layout, LookupConfig, Pages};
use crate::stream::{Ahead, PageStream};
use crate::superblock::{Section, SectionKind, Superblock};
use crate::weights::{Weight, WeightColumn};
use crate::{Direction, VertexId};

/// A list of at most so many pages is looked up through the pool; a longer one is streamed, in
/// large requests, and washes nothing out.
const LOOKUP_PAGES_MAX: u64 = 4;

/// A stored graph. In memory: its superblock and page indexes, and, once a list or an id was looked
/// up, the few pages read last.
#[derive(Debug)]
pub struct Graph {
    pages: Arc<Pages>,
}

/// Consecutive logical pages that are also consecutive on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// The first logical page.
    pub logical: PageId,
    /// The physical page that holds it.
    pub physical: PageId,
    /// How many there are.
    pub pages: u64,
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
        let superblock = read_superblock(device.as_ref(), &file)?;
        let load = |kind, index| load_index(device.as_ref(), &file, &superblock, kind, index);
        let out = load(SectionKind::OutAdjacency, SectionKind::OutIndex)?;
        let back = if superblock.in_edges {
            Some(load(SectionKind::InAdjacency, SectionKind::InIndex)?)
        } else {
            None
        };
        let column = |kind| {
            let section = *superblock.section(kind)?;
            let (page_bytes, salt) = (superblock.page_bytes as usize, superblock.salt);
            let kind = superblock.weights.as_ref()?.kind;
            Some(WeightColumn::new(Arc::clone(&file), section, kind, page_bytes, salt))
        };
        let out_weights = column(SectionKind::OutWeights);
        let back_weights = column(SectionKind::InWeights);
        let lookups = plan(&superblock);
        let layout = Layout { file, superblock, out, back, out_weights, back_weights };
        Ok(Self { pages: Arc::new(Pages::new(device, layout, lookups)) })
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

    /// The hub neighbours, where the graph has them: from the lists of sources, which on an undirected graph
    /// are all lists.
    pub fn hub_neighbours(&self) -> Option<HubNeighboursSection> {
        let superblock = self.superblock();
        let section = [SectionKind::OutHubNeighbours, SectionKind::InHubNeighbours];
        let section = section.iter().find_map(|&kind| superblock.section(kind))?;
        let file = Arc::clone(self.file());
        Some(HubNeighboursSection::new(file, *section, self.page_bytes(), superblock.salt))
    }

    /// The physical page that holds a logical one: its place on the device, in pages, and its number
    /// in a pool over the device. Sections, indexes and errors speak of logical pages.
    #[inline]
    pub fn physical(&self, page: PageId) -> PageId {
        page
    }

    /// The logical page that a physical one holds.
    #[inline]
    pub fn logical(&self, physical: PageId) -> PageId {
        physical
    }

    /// Where consecutive logical pages lie: as few runs as possible, in logical order. A request
    /// must not reach from one run into the next.
    pub fn extents(&self, pages: Range<PageId>) -> impl Iterator<Item = PageRun> {
        let Range { start, end } = pages;
        let run = PageRun { logical: start, physical: start, pages: end.saturating_sub(start) };
        std::iter::once(run).filter(|run| run.pages > 0)
    }

    /// What verifies any page of the graph as it comes from the device, for a pool over it. What it
    /// refuses it refuses with a [`StoreError`]. A graph that is read changes no page, so it seals
    /// none.
    pub fn page_check(&self) -> Arc<dyn PageCheck> {
        Arc::clone(&self.pages.layout) as Arc<dyn PageCheck>
    }

    /// Memory that the loaded indexes take, the device beside its queues, and the pages that
    /// look-ups keep, once there were any.
    pub fn memory_bytes(&self) -> usize {
        let Layout { out, back, out_weights, back_weights, .. } = self.layout();
        let indexes = out.memory_bytes() + back.as_ref().map_or(0, Adjacency::memory_bytes);
        let columns = [out_weights, back_weights].into_iter().flatten();
        let ordinals: usize = columns.map(WeightColumn::memory_bytes).sum();
        indexes + ordinals + self.pages.memory_bytes() + self.pages.device.memory_bytes()
    }

    /// Streams the lengths of all lists in vertex order: `out(v, [degree of v, of v + 1, ..])`.
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
        let Some(&section) = self.superblock().section(kind) else { return Ok(()) };
        let mut reader = DegreeReader::new(self, section, Ahead::FAR)?;
        while let Some((first, degrees)) = reader.next()? {
            out(first, degrees);
        }
        Ok(())
    }

    /// The user's vertex ids.
    pub fn ids(&self) -> Result<Ids> {
        Ok(Ids::open(&self.pages))
    }

    /// Appends the list of one vertex to `out`.
    pub fn read_list(
        &self,
        direction: Direction,
        vertex: VertexId,
        out: &mut Vec<VertexId>,
    ) -> Result<()> {
        self.check_vertex(vertex)?;
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
            let bytes = handle.pin(adjacency.first_page() + number)?;
            let mut taken = Ok(());
            adjacency.reparse_lists(number, &bytes, &[vertex], &mut decoded, |list| {
                taken = pieces.take(number, list);
            })?;
            taken?;
        }
        Ok(())
    }

    /// A vertex of the graph, or an error that tells how many there are.
    pub(crate) fn check_vertex(&self, vertex: VertexId) -> Result<()> {
        let vertices = self.superblock().vertices;
        if u64::from(vertex) < vertices {
            return Ok(());
        }
        let (file, vertex) = (self.file().to_string(), u64::from(vertex));
        Err(StoreError::NoVertex { file, vertex, vertices })
    }

    /// The calling thread's way to many lists at random.
    pub fn lookup(&self) -> Result<Lookup<'_>> {
        Lookup::new(self)
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
            let bytes = handle.pin(adjacency.first_page() + number)?;
            let take = |list: &List<'_>| visit(list.targets);
            adjacency.reparse_lists(number, &bytes, &[vertex], &mut decoded, take)?;
        }
        Ok(())
    }

    /// Makes ready for weighted visits of a direction: finds, from the index, the ordinal of the
    /// first entry of each page of lists, and keeps it ([`WeightColumn::bytes_for`]).
    pub fn load_weights(&self, direction: Direction) -> Result<Option<&WeightColumn>> {
        let Some(column) = self.weights(direction) else { return Ok(None) };
        if column.ordinals().get().is_none() {
            let index = match column.section().kind {
                SectionKind::InWeights => SectionKind::InIndex,
                _ => SectionKind::OutIndex,
            };
            let ordinals = self.read_ordinals(index)?;
            // Another thread may have been first, with the same.
            let _ = column.ordinals().set(ordinals);
        }
        Ok(Some(column))
    }

    fn read_ordinals(&self, index: SectionKind) -> Result<Vec<u64>> {
        let section = *self.superblock().section(index).expect("the superblock was checked");
        let mut ordinals = Vec::with_capacity(section.items as usize + 1);
        ordinals.push(0);
        let mut stream = self.stream(section, Ahead::FAR)?;
        let (mut rest, mut ordinal) = (section.items, 0);
        while let Some((number, bytes)) = stream.next()? {
            let header = self.verify(section, number, bytes)?;
            let words = words(bytes, &header, rest)
                .map_err(|fault| self.fault(number, index.name(), fault))?;
            rest -= words.len() as u64;
            for word in words {
                ordinal += word_entries(*word);
                ordinals.push(ordinal);
            }
        }
        Ok(ordinals)
    }

    /// Appends the weights of one vertex's list to `out`, in the order of
    /// [`Graph::read_list`]. Nothing on a graph without weights.
    pub fn read_weights(
        &self,
        direction: Direction,
        vertex: VertexId,
        out: &mut Vec<Weight>,
    ) -> Result<()> {
        let mut list = Vec::new();
        self.read_list(direction, vertex, &mut list)?;
        let Some(adjacency) = self.adjacency(direction) else { return Ok(()) };
        let Some(column) = self.load_weights(direction)? else { return Ok(()) };
        let handle = self.pages.handle()?;
        let page = *adjacency.pages_of(vertex).start();
        let start = {
            let bytes = handle.pin(adjacency.first_page() + page)?;
            let mut decoded = Decoded::new();
            let view = adjacency.reparse(page, &bytes, &mut decoded)?;
            column.ordinals_of(page).start
                + view.start((vertex - view.first_vertex()) as usize) as u64
        };
        let wanted = start..start + list.len() as u64;
        for page in column.pages_of(wanted.clone()) {
            let bytes = handle.pin(column.first_page() + page)?;
            let weights = column.reparse(page, &bytes);
            let first = page * column.per_page() as u64;
            let within = wanted.start.max(first)..wanted.end.min(first + weights.len() as u64);
            out.extend(within.map(|ordinal| weights.get((ordinal - first) as usize)));
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

    /// A stream over a whole section.
    pub(crate) fn stream(&self, section: Section, ahead: Ahead) -> Result<PageStream> {
        let pages = section.first_page..section.first_page + section.pages;
        self.pages.stream(pages, ahead)
    }

    /// The header of a page of a section, verified.
    pub(crate) fn verify(&self, section: Section, page: u64, bytes: &[u8]) -> Result<PageHeader> {
        self.layout().verify(section, page, bytes)
    }

    /// An error that names a page.
    #[cold]
    pub(crate) fn fault(&self, page: u64, section: &'static str, fault: PageFault) -> StoreError {
        self.layout().fault(page, section, fault)
    }
}

/// The pieces of one list, put together page by page.
pub(crate) struct Pieces<'a> {
    pub adjacency: &'a Adjacency,
    /// Page that holds the last piece.
    pub last_page: u64,
    /// Where the list starts in `out`.
    pub start: usize,
    pub out: &'a mut Vec<VertexId>,
}

impl Pieces<'_> {
    /// Takes the piece of the next page.
    pub fn take(&mut self, number: u64, list: &List<'_>) -> Result<()> {
        self.expect(number, "position of a continued list", list.skip, self.len())?;
        self.out.extend_from_slice(list.targets);
        if number == self.last_page {
            self.expect(number, "length of a list", self.len(), list.degree)?;
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        (self.out.len() - self.start) as u64
    }

    fn expect(&self, number: u64, what: &'static str, found: u64, expected: u64) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        Err(self.adjacency.fault(number, PageFault::Mismatch { what, found, expected }))
    }
}

/// Pulls the lengths of lists, a page at a time.
pub(crate) struct DegreeReader<'a> {
    graph: &'a Graph,
    section: Section,
    stream: PageStream,
    next_vertex: u64,
    degrees: Vec<u64>,
}

impl<'a> DegreeReader<'a> {
    pub fn new(graph: &'a Graph, section: Section, ahead: Ahead) -> Result<Self> {
        let stream = graph.stream(section, ahead)?;
        Ok(Self { graph, section, stream, next_vertex: 0, degrees: Vec::new() })
    }

    /// The next vertex and the degrees from it on, or `None` when all have been told.
    pub fn next(&mut self) -> Result<Option<(VertexId, &[u64])>> {
        let vertices = self.graph.superblock().vertices;
        let name = self.section.kind.name();
        let fault = |number, fault| self.graph.fault(number, name, fault);
        let Some((number, bytes)) = self.stream.next()? else {
            if self.next_vertex != vertices {
                let (what, found) = ("number of degrees", self.next_vertex);
                let mismatch = PageFault::Mismatch { what, found, expected: vertices };
                return Err(fault(self.section.first_page, mismatch));
            }
            return Ok(None);
        };
        let header = self.graph.verify(self.section, number, bytes)?;
        let first = self.next_vertex;
        degrees::decode(bytes, &header, first, vertices, &mut self.degrees)
            .map_err(|f| fault(number, f))?;
        self.next_vertex += self.degrees.len() as u64;
        Ok(Some((first as VertexId, &self.degrees)))
    }
}

/// Reads page 0, whose size is not known before.
fn read_superblock(device: &dyn Device, file: &str) -> Result<Superblock> {
    let file_bytes = device.len_bytes()?;
    if file_bytes == 0 {
        return Err(StoreError::Empty { file: file.into() });
    }
    let (buffer, found) = read_start(device, file_bytes)?;
    let page_bytes = Superblock::page_bytes_of(file, &buffer[..found], file_bytes)?;
    if page_bytes == found {
        return Superblock::decode(file, &buffer, file_bytes);
    }
    let page = cenote_device::read_exact(device, 0, page_bytes, Buffer::new(page_bytes)?)?;
    Superblock::decode(file, &page, file_bytes)
}

/// Reads the first 4 KiB of a file, or all of it if it is shorter. How many bytes there are.
fn read_start(device: &dyn Device, file_bytes: u64) -> Result<(Buffer, usize)> {
    let len = PAGE_BYTES_MIN;
    let expected = file_bytes.min(len as u64) as usize;
    let mut queue = device.queue(&QueueConfig::with_depth(1))?;
    queue.push(Request { tag: 0, op: Op::Read, offset: 0, len, buffer: Buffer::new(len)? });
    let mut completions = Vec::with_capacity(1);
    queue.reap(1, &mut completions)?;
    let done = completions.pop().expect("reap(1) returns a completion");
    let (device, op, offset) = (device.name(), Op::Read, 0);
    match done.result {
        Ok(found) if found >= expected => Ok((done.buffer, expected)),
        Ok(found) => Err(DeviceError::Short { device, op, offset, expected, found }.into()),
        Err(fault) => Err(DeviceError::Io { device, op, offset, len, fault }.into()),
    }
}

fn load_index(
    device: &dyn Device,
    file: &Arc<str>,
    superblock: &Superblock,
    kind: SectionKind,
    index: SectionKind,
) -> Result<Adjacency> {
    let section = |kind| *superblock.section(kind).expect("the superblock was checked");
    let (adjacency, index) = (section(kind), section(index));
    let page_bytes = superblock.page_bytes as usize;
    let (salt, vertices) = (superblock.salt, superblock.vertices as u32);
    let fault = |page, fault| -> StoreError {
        let (file, page_bytes, section) = (file.to_string(), page_bytes as u64, index.kind.name());
        PageError { file, page, page_bytes, section, fault }.into()
    };
    let mut load = Adjacency::load(Arc::clone(file), adjacency, page_bytes, salt, vertices);
    let pages = index.first_page..index.first_page + index.pages;
    let mut stream = PageStream::new(device, page_bytes, pages, Ahead::FAR)?;
    let mut rest = index.items;
    while let Some((number, bytes)) = stream.next()? {
        let header = format::verify(bytes, salt, number, index.kind.page_kind())
            .map_err(|f| fault(number, f))?;
        let words = words(bytes, &header, rest).map_err(|f| fault(number, f))?;
        rest -= words.len() as u64;
        for word in words {
            load.push(*word).map_err(|f| fault(number, f))?;
        }
    }
    let last = (index.first_page + index.pages).saturating_sub(1);
    load.finish().map_err(|f| fault(last, f))
}

/// The `u64` items of a page that were verified, of a section that has `rest` more of them.
pub(crate) fn words<'a>(
    bytes: &'a [u8],
    header: &PageHeader,
    rest: u64,
) -> Result<&'a [u64], PageFault> {
    let count = rest.min(format::words_per_page(bytes.len()) as u64);
    let found = u64::from(header.entries);
    if found != count {
        return Err(PageFault::Mismatch { what: "number of items", found, expected: count });
    }
    let payload = &bytes[HEADER_BYTES..][..count as usize * 8];
    Ok(bytemuck::try_cast_slice(payload).expect("pages lie in aligned buffers"))
}
