//! Packs lists into pages, in vertex order, in one pass that never reads back.
//!
//! A list goes next to the one before it. A short list never straddles two pages: where it does
//! not fit, a new page starts. A long list starts in the rest of a page if that holds at least a
//! few of its entries, runs on through whole pages and shares its last one. Lists may be longer
//! than memory: they can be given in pieces.
//!
//! The superblock is written last, after everything else is on stable storage: a file without it
//! is not a graph.

use std::io;
use std::sync::Arc;

use cenote_device::Device;

use crate::VertexId;
use crate::degrees::DegreePages;
use crate::error::{Result, StoreError};
use crate::format::{self, HEADER_BYTES, PageHeader, PageKind};
use crate::ids;
use crate::index;
use crate::order::{self, Order, Tables};
use crate::sink::PageSink;
use crate::superblock::{IdKind, Section, SectionKind, Superblock};

/// What is known about a graph before its first list.
#[derive(Clone, Debug)]
pub struct GraphSpec {
    /// Bytes of a page: a power of two, 4 KiB to 64 KiB.
    pub page_bytes: usize,
    /// Number of vertices; every one has a list, maybe an empty one.
    pub vertices: u64,
    /// Whether edges have a direction. Without one, each edge stands in the lists of both ends (a
    /// self-loop once).
    pub directed: bool,
    /// Whether lists of sources follow the lists of targets. Only for directed graphs.
    pub in_edges: bool,
    /// Whether an entry may stand in a list more than once.
    pub duplicates_kept: bool,
    /// Whether a vertex may stand in its own list.
    pub self_loops_kept: bool,
    /// Any number that tells this graph from others; it goes into every checksum.
    pub salt: u64,
}

/// What is known about a graph after its last list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Edges as the user counts them. They must agree with what was pushed: on a directed graph the
    /// entries of all lists; else the entries plus the self-loops, halved.
    pub edges: u64,
    /// Repeated edges that were found, kept or not.
    pub duplicates: u64,
    /// Self-loops that were found, kept or not.
    pub self_loops: u64,
}

/// Where the user's vertex ids come from, strictly ascending: in vertex order, unless the graph has
/// another ([`GraphWriter::finish_in_order`]).
pub enum IdsSource<'a> {
    /// They are `0..vertices`: nothing is stored.
    Dense,
    /// Gives the next integer.
    Integers(&'a mut dyn FnMut() -> io::Result<u64>),
    /// Puts the next string into the cleared buffer. UTF-8, at most 64 KiB; strings ascend by
    /// their bytes.
    Strings(&'a mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>),
}

/// Writes a graph to a device.
///
/// Push a list for every vertex; with in-edges call [`GraphWriter::begin_in`] and push a list of
/// sources for every vertex; then [`GraphWriter::finish`]. It must stay on one thread.
pub struct GraphWriter {
    spec: GraphSpec,
    sink: PageSink,
    packer: Packer,
    sections: Vec<Section>,
    out: Option<Totals>,
    stored_in: u64,
}

/// What the lists of one direction add up to.
#[derive(Clone, Copy, Default)]
struct Totals {
    stored: u64,
    self_loops: u64,
    degree_max: u64,
    degree_max_vertex: VertexId,
}

impl GraphWriter {
    /// A graph without lists yet. What the device held is lost.
    pub fn create(device: Arc<dyn Device>, spec: GraphSpec) -> Result<Self> {
        check_spec(&device.name(), &spec)?;
        let sink = PageSink::new(device, spec.page_bytes, spec.salt)?;
        let packer = Packer::new(&spec);
        Ok(Self { spec, sink, packer, sections: Vec::new(), out: None, stored_in: 0 })
    }

    /// Memory that the writer takes: buffers, the page index (8 bytes a page) and the degrees (1 to
    /// 2 bytes a vertex) of the direction that is being written.
    pub fn memory_bytes(&self) -> usize {
        PageSink::MEMORY_BYTES + self.packer.memory_bytes()
    }

    /// The list of the next vertex, whole.
    ///
    /// # Panics
    /// As [`GraphWriter::begin_list`] and [`GraphWriter::extend`].
    #[inline]
    pub fn push_list(&mut self, targets: &[u32]) -> Result<()> {
        self.begin_list(targets.len() as u64)?;
        self.extend(targets)?;
        self.end_list();
        Ok(())
    }

    /// Starts the list of the next vertex, of which the length is known but not the entries.
    ///
    /// # Panics
    /// If a list is open or all vertices have their list.
    #[inline]
    pub fn begin_list(&mut self, degree: u64) -> Result<()> {
        self.packer.begin(degree, &mut self.sink)
    }

    /// The next entries of the open list.
    ///
    /// # Panics
    /// If no list is open, entries are more than its length, not ascending, no vertices, or of a
    /// kind (repeated, self-loop) that the graph does not keep.
    #[inline]
    pub fn extend(&mut self, targets: &[u32]) -> Result<()> {
        self.packer.extend(targets, &mut self.sink)
    }

    /// Closes the open list.
    ///
    /// # Panics
    /// If it is shorter than was said.
    #[inline]
    pub fn end_list(&mut self) {
        self.packer.end();
    }

    /// All lists of targets are there; lists of sources follow.
    ///
    /// # Panics
    /// If the graph has no in-edges, or some vertex has no list yet.
    pub fn begin_in(&mut self) -> Result<()> {
        assert!(self.spec.in_edges, "only a graph with in-edges has lists of sources");
        assert!(self.out.is_none(), "lists of sources begin once");
        let totals = self.finish_direction([
            SectionKind::OutAdjacency,
            SectionKind::OutIndex,
            SectionKind::OutDegrees,
        ])?;
        self.out = Some(totals);
        Ok(())
    }

    /// Writes index and degrees behind the lists, and is ready for the next direction.
    fn finish_direction(&mut self, kinds: [SectionKind; 3]) -> Result<Totals> {
        let packer = std::mem::replace(&mut self.packer, Packer::new(&self.spec));
        let Packed { index, degrees, totals } = packer.finish(&mut self.sink)?;
        let vertices = self.spec.vertices;
        self.add_section(kinds[0], index.len() as u64, totals.stored);
        let pages = write_words(&mut self.sink, PageKind::Index, &index)?;
        self.add_section(kinds[1], pages, index.len() as u64);
        let pages = degrees.write(&mut self.sink)?;
        self.add_section(kinds[2], pages, vertices);
        Ok(totals)
    }

    /// Notes a section that ends before the present page.
    fn add_section(&mut self, kind: SectionKind, pages: u64, items: u64) {
        let first_page = self.sink.page_number() - pages;
        self.sections.push(Section { kind, first_page, pages, items });
    }

    /// Writes index, degrees and ids, returns when they are on stable storage, and then writes the
    /// superblock that makes the file a graph.
    ///
    /// # Panics
    /// If some vertex has no list yet.
    pub fn finish(self, ids: IdsSource<'_>, counts: Counts) -> Result<Superblock> {
        self.finish_in_order(ids, None, counts)
    }

    /// [`GraphWriter::finish`] for a graph whose lists were pushed in another order than that of
    /// the ids: `tables` tell which vertex has the first id, the second, and so on.
    ///
    /// # Panics
    /// If some vertex has no list yet, or a table has not one entry for each vertex.
    pub fn finish_in_order(
        mut self,
        ids: IdsSource<'_>,
        tables: Option<Tables<'_>>,
        counts: Counts,
    ) -> Result<Superblock> {
        use SectionKind::{InAdjacency, InDegrees, InIndex, OutAdjacency, OutDegrees, OutIndex};
        let totals = match self.out {
            Some(totals) => {
                let kinds = [InAdjacency, InIndex, InDegrees];
                self.stored_in = self.finish_direction(kinds)?.stored;
                totals
            }
            None => {
                assert!(!self.spec.in_edges, "lists of sources were announced");
                self.finish_direction([OutAdjacency, OutIndex, OutDegrees])?
            }
        };
        self.check_counts(&totals, &counts)?;
        let ids = self.write_ids(ids)?;
        let order = self.write_tables(tables)?;
        let pages_total = self.sink.finish()?;
        let superblock = self.superblock((ids, order), &totals, &counts, pages_total);
        self.sink.write_first(|page| superblock.encode(page))?;
        Ok(superblock)
    }

    fn check_counts(&self, totals: &Totals, counts: &Counts) -> Result<()> {
        let edges = if self.spec.directed {
            totals.stored
        } else {
            (totals.stored + totals.self_loops) / 2
        };
        let file = self.sink.file();
        if counts.edges != edges {
            let reason = format!("its lists hold {edges} edges, but {} were counted", counts.edges);
            return Err(StoreError::Unwritable { file, reason });
        }
        if self.spec.in_edges && self.stored_in != totals.stored {
            let (out, back) = (totals.stored, self.stored_in);
            let reason = format!("its lists hold {out} targets but {back} sources");
            return Err(StoreError::Unwritable { file, reason });
        }
        Ok(())
    }

    fn write_ids(&mut self, source: IdsSource<'_>) -> Result<IdKind> {
        let vertices = self.spec.vertices;
        let (kind, section, pages) = match source {
            IdsSource::Dense => return Ok(IdKind::Dense),
            IdsSource::Integers(next) => {
                let pages = ids::write_integers(&mut self.sink, vertices, next)?;
                (IdKind::Integers, SectionKind::Integers, pages)
            }
            IdsSource::Strings(next) => {
                let pages = ids::write_strings(&mut self.sink, vertices, next)?;
                (IdKind::Strings, SectionKind::Strings, pages)
            }
        };
        self.add_section(section, pages, vertices);
        Ok(kind)
    }

    fn write_tables(&mut self, tables: Option<Tables<'_>>) -> Result<Order> {
        let Some(Tables { order, vertex_of, rank_of }) = tables else { return Ok(Order::Natural) };
        assert_ne!(order, Order::Natural, "the natural order has no tables");
        let both = [(SectionKind::VertexOfRank, vertex_of), (SectionKind::RankOfVertex, rank_of)];
        for (kind, table) in both {
            let items = table.len() as u64;
            assert_eq!(items, self.spec.vertices, "the {} is told of all", kind.name());
            let pages = order::write_table(&mut self.sink, table)?;
            self.add_section(kind, pages, items);
        }
        Ok(order)
    }

    fn superblock(
        &mut self,
        (ids, order): (IdKind, Order),
        totals: &Totals,
        counts: &Counts,
        pages_total: u64,
    ) -> Superblock {
        Superblock {
            format_version: format::FORMAT_VERSION,
            page_bytes: self.spec.page_bytes as u32,
            features_optional: 0,
            directed: self.spec.directed,
            in_edges: self.spec.in_edges,
            ids,
            order,
            duplicates_kept: self.spec.duplicates_kept,
            self_loops_kept: self.spec.self_loops_kept,
            vertices: self.spec.vertices,
            edges: counts.edges,
            stored_out: totals.stored,
            stored_in: self.stored_in,
            duplicates: counts.duplicates,
            self_loops: counts.self_loops,
            degree_max: totals.degree_max,
            degree_max_vertex: totals.degree_max_vertex,
            salt: self.spec.salt,
            generation: 1,
            pages_total,
            sections: std::mem::take(&mut self.sections),
        }
    }
}

fn check_spec(file: &str, spec: &GraphSpec) -> Result<()> {
    let reason = if !format::is_page_size(spec.page_bytes as u64) {
        let bytes = spec.page_bytes;
        format!("a page has {bytes} bytes; choose a power of two from 4096 to 65536")
    } else if spec.vertices > format::VERTICES_MAX {
        format!("it has {} vertices; at most {} are possible", spec.vertices, format::VERTICES_MAX)
    } else if spec.in_edges && !spec.directed {
        "in-edges are kept for directed graphs only".into()
    } else {
        return Ok(());
    };
    Err(StoreError::Unwritable { file: file.into(), reason })
}

/// Writes `u64` words, as many on a page as fit. The number of pages.
fn write_words(sink: &mut PageSink, kind: PageKind, words: &[u64]) -> Result<u64> {
    let per_page = format::words_per_page(sink.page_bytes());
    for chunk in words.chunks(per_page) {
        let bytes: &[u8] = bytemuck::cast_slice(chunk);
        sink.page()[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
        sink.seal(PageHeader { entries: chunk.len() as u32, ..PageHeader::new(kind) })?;
    }
    Ok(words.len().div_ceil(per_page) as u64)
}

/// The pages of one direction's lists.
struct Packer {
    page_bytes: usize,
    vertices: u32,
    duplicates_kept: bool,
    self_loops_kept: bool,
    /// The page that is being filled.
    entries: usize,
    header: PageHeader,
    starts_from: VertexId,
    /// The list that is being filled.
    next_vertex: VertexId,
    open: Option<OpenList>,
    index: Vec<u64>,
    degrees: DegreePages,
    totals: Totals,
}

struct OpenList {
    degree: u64,
    done: u64,
    last: Option<u32>,
}

/// What remains when all lists are in their pages.
struct Packed {
    index: Vec<u64>,
    degrees: DegreePages,
    totals: Totals,
}

impl Packer {
    fn new(spec: &GraphSpec) -> Self {
        Self {
            page_bytes: spec.page_bytes,
            vertices: spec.vertices as u32,
            duplicates_kept: spec.duplicates_kept,
            self_loops_kept: spec.self_loops_kept,
            entries: 0,
            header: PageHeader::new(PageKind::Adjacency),
            starts_from: 0,
            next_vertex: 0,
            open: None,
            index: Vec::new(),
            degrees: DegreePages::new(spec.page_bytes),
            totals: Totals::default(),
        }
    }

    fn memory_bytes(&self) -> usize {
        self.index.capacity() * 8 + self.degrees.memory_bytes()
    }

    /// Bytes between the entries and the offset table.
    #[inline]
    fn free(&self) -> usize {
        let used = self.entries * 4 + usize::from(self.header.lists) * 2;
        format::payload_bytes(self.page_bytes) - used
    }

    #[inline]
    fn begin(&mut self, degree: u64, sink: &mut PageSink) -> Result<()> {
        assert!(self.open.is_none(), "the list before is still open");
        assert!(self.next_vertex < self.vertices, "all vertices have their list");
        if self.header.lists > 0 && !self.may_start(degree) {
            self.close_page(sink)?;
        }
        if self.header.lists == 0 {
            self.starts_from = self.next_vertex;
        }
        self.open_piece(degree, 0, sink);
        self.open = Some(OpenList { degree, done: 0, last: None });
        Ok(())
    }

    /// Whether the next list may start in what is left of the page.
    #[inline]
    fn may_start(&self, degree: u64) -> bool {
        let Some(room) = self.free().checked_sub(2) else { return false };
        let is_long = degree > format::short_list_max(self.page_bytes) as u64;
        degree <= (room / 4) as u64 || (is_long && room / 4 >= format::HEAD_ENTRIES_MIN)
    }

    /// A piece of the next vertex's list starts where the entries of the page end.
    #[inline]
    fn open_piece(&mut self, degree: u64, skip: u64, sink: &mut PageSink) {
        if self.header.lists == 0 {
            self.header.first = self.next_vertex;
            self.header.head_skip = skip;
            self.header.head_degree = degree;
        }
        self.header.lists += 1;
        self.header.tail_degree = degree;
        let at = self.page_bytes - 2 * usize::from(self.header.lists);
        let start = self.entries as u16;
        sink.page()[at..at + 2].copy_from_slice(&start.to_le_bytes());
    }

    #[inline]
    fn extend(&mut self, targets: &[u32], sink: &mut PageSink) -> Result<()> {
        self.check_targets(targets);
        let mut rest = targets;
        while !rest.is_empty() {
            let mut room = self.free() / 4;
            if room == 0 {
                self.continue_list(sink)?;
                room = self.free() / 4;
            }
            let (now, later) = rest.split_at(room.min(rest.len()));
            let at = HEADER_BYTES + self.entries * 4;
            sink.page()[at..at + now.len() * 4].copy_from_slice(bytemuck::cast_slice(now));
            self.entries += now.len();
            self.open.as_mut().expect("checked above").done += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    /// Entries are what the graph's flags and counts promise to every reader.
    #[inline]
    fn check_targets(&mut self, targets: &[u32]) {
        let vertex = self.next_vertex;
        let open = self.open.as_mut().expect("a list is open");
        assert!(
            targets.len() as u64 <= open.degree - open.done,
            "more entries than were announced"
        );
        let (Some(&first), Some(&last)) = (targets.first(), targets.last()) else { return };
        let repeats = u32::from(self.duplicates_kept);
        let above = |a: u32, b: u32| u64::from(a) < u64::from(b) + u64::from(repeats);
        let pairs = targets.iter().zip(&targets[1..]);
        let ascends = pairs.fold(true, |ascends, (a, b)| ascends & above(*a, *b));
        let follows = open.last.is_none_or(|before| above(before, first));
        assert!(ascends & follows, "the list of vertex {vertex} does not ascend");
        assert!(last < self.vertices, "vertex {vertex} has the entry {last}, which is no vertex");
        open.last = Some(last);
        let loops = &targets[targets.partition_point(|target| *target < vertex)..];
        let loops = loops.iter().take_while(|target| **target == vertex).count() as u64;
        assert!(loops == 0 || self.self_loops_kept, "vertex {vertex} stands in its own list");
        self.totals.self_loops += loops;
    }

    /// The page is full, the list is not: it goes on in the next page.
    fn continue_list(&mut self, sink: &mut PageSink) -> Result<()> {
        self.close_page(sink)?;
        let OpenList { degree, done, .. } = *self.open.as_ref().expect("a list is open");
        self.starts_from = self.next_vertex + 1;
        self.open_piece(degree, done, sink);
        Ok(())
    }

    fn close_page(&mut self, sink: &mut PageSink) -> Result<()> {
        let continues = self.header.head_skip > 0;
        self.index.push(index::word(self.starts_from, continues, self.entries));
        let header = std::mem::replace(&mut self.header, PageHeader::new(PageKind::Adjacency));
        let entries = std::mem::take(&mut self.entries);
        sink.seal(PageHeader { entries: entries as u32, ..header })
    }

    #[inline]
    fn end(&mut self) {
        let open = self.open.take().expect("a list is open");
        assert_eq!(open.done, open.degree, "the list is shorter than was announced");
        let vertex = self.next_vertex;
        self.degrees.push(vertex, open.degree);
        self.totals.stored += open.degree;
        if open.degree > self.totals.degree_max {
            self.totals.degree_max = open.degree;
            self.totals.degree_max_vertex = vertex;
        }
        self.next_vertex += 1;
    }

    fn finish(mut self, sink: &mut PageSink) -> Result<Packed> {
        assert!(self.open.is_none(), "the last list is still open");
        let (vertices, found) = (self.vertices, self.next_vertex);
        assert_eq!(found, vertices, "every vertex has a list, maybe an empty one");
        if self.header.lists > 0 {
            self.close_page(sink)?;
        }
        let Self { index, degrees, totals, .. } = self;
        Ok(Packed { index, degrees, totals })
    }
}
