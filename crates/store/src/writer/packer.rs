//! Packs lists into pages, in vertex order, in one pass that never reads back.
//!
//! A list goes next to the one before it. A short list never straddles two pages: where it does
//! not fit, a new page starts. A long list starts in the rest of a page if that holds at least a
//! few of its entries, runs on through whole pages and shares its last one. Lists may be longer
//! than memory: they can be given in pieces.

use super::GraphSpec;
use crate::VertexId;
use crate::degrees::DegreePages;
use crate::error::Result;
use crate::format::{self, Codec, HEAD_ENTRIES_MIN, HEADER_BYTES, PageKind};
use crate::header::PageHeader;
use crate::index;
use crate::packed::page::PackedPage;
use crate::sink::{PageSink, PageTarget};

/// What the lists of one direction add up to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    pub stored: u64,
    pub self_loops: u64,
    pub degree_max: u64,
    pub degree_max_vertex: VertexId,
}

/// The pages of one direction's lists.
pub(crate) struct Packer {
    page_bytes: usize,
    vertices: u32,
    duplicates_kept: bool,
    self_loops_kept: bool,
    /// The page that is being filled.
    page: Filling,
    header: PageHeader,
    starts_from: VertexId,
    /// The list that is being filled.
    next_vertex: VertexId,
    open: Option<OpenList>,
    index: Vec<u64>,
    degrees: DegreePages,
    totals: Totals,
}

/// How a page is filled.
enum Filling {
    /// In place. So many entries.
    Raw(usize),
    Packed(Box<PackedFilling>),
}

/// A page whose lists wait until it is full.
struct PackedFilling {
    page: PackedPage,
    /// The first entries of the open list, which decide on which page it starts.
    head: Vec<u32>,
    /// Whether that is decided.
    started: bool,
}

struct OpenList {
    degree: u64,
    done: u64,
    last: Option<u32>,
}

/// What remains when all lists are in their pages.
pub(crate) struct Packed {
    pub index: Vec<u64>,
    pub degrees: DegreePages,
    pub totals: Totals,
}

impl Packer {
    pub fn new(spec: &GraphSpec, codec: Codec) -> Self {
        let page = match codec {
            Codec::Raw => Filling::Raw(0),
            Codec::Packed => Filling::Packed(Box::new(PackedFilling {
                page: PackedPage::new(spec.page_bytes, spec.duplicates_kept),
                head: Vec::new(),
                started: true,
            })),
        };
        Self {
            page_bytes: spec.page_bytes,
            vertices: spec.vertices as u32,
            duplicates_kept: spec.duplicates_kept,
            self_loops_kept: spec.self_loops_kept,
            page,
            header: PageHeader::new(PageKind::Adjacency),
            starts_from: 0,
            next_vertex: 0,
            open: None,
            index: Vec::new(),
            degrees: DegreePages::new(spec.page_bytes),
            totals: Totals::default(),
        }
    }

    pub fn memory_bytes(&self) -> usize {
        let page = match &self.page {
            Filling::Raw(_) => 0,
            Filling::Packed(filling) => filling.page.memory_bytes(),
        };
        self.index.capacity() * 8 + self.degrees.memory_bytes() + page
    }

    #[inline]
    pub fn begin(&mut self, degree: u64, sink: &mut PageSink) -> Result<()> {
        assert!(self.open.is_none(), "the list before is still open");
        assert!(self.next_vertex < self.vertices, "all vertices have their list");
        self.open = Some(OpenList { degree, done: 0, last: None });
        match &mut self.page {
            Filling::Raw(entries) => {
                let entries = *entries;
                if self.header.lists > 0 && !self.may_start(entries, degree) {
                    self.close_page(sink)?;
                }
                self.open_piece(0);
                self.write_start(sink);
                Ok(())
            }
            Filling::Packed(filling) => {
                filling.head.clear();
                filling.started = false;
                if degree == 0 { self.start_packed(sink) } else { Ok(()) }
            }
        }
    }

    /// Bytes between the entries of a raw page and its offset table.
    #[inline]
    fn free(&self, entries: usize) -> usize {
        let used = entries * 4 + usize::from(self.header.lists) * 2;
        format::payload_bytes(self.page_bytes) - used
    }

    /// Whether the next list may start in what is left of a raw page.
    #[inline]
    fn may_start(&self, entries: usize, degree: u64) -> bool {
        let Some(room) = self.free(entries).checked_sub(2) else { return false };
        let is_long = degree > format::short_list_max(self.page_bytes) as u64;
        degree <= (room / 4) as u64 || (is_long && room / 4 >= HEAD_ENTRIES_MIN)
    }

    /// A piece of the open list, from `skip` on, starts where the entries of the page end.
    #[inline]
    fn open_piece(&mut self, skip: u64) {
        let degree = self.open.as_ref().expect("a list is open").degree;
        if self.header.lists == 0 {
            self.starts_from = self.next_vertex + u32::from(skip > 0);
            self.header.first = self.next_vertex;
            self.header.head_skip = skip;
            self.header.head_degree = degree;
        }
        self.header.lists += 1;
        self.header.tail_degree = degree;
    }

    /// Where the last list of a raw page starts.
    #[inline]
    fn write_start(&mut self, sink: &mut PageSink) {
        let at = self.page_bytes - 2 * usize::from(self.header.lists);
        let start = self.entries() as u16;
        sink.page()[at..at + 2].copy_from_slice(&start.to_le_bytes());
    }

    #[inline]
    pub fn extend(&mut self, targets: &[u32], sink: &mut PageSink) -> Result<()> {
        self.check_targets(targets);
        match self.page {
            Filling::Raw(entries) => self.extend_raw(targets, entries, sink),
            Filling::Packed(_) => self.extend_packed(targets, sink),
        }
    }

    fn extend_raw(
        &mut self,
        targets: &[u32],
        mut entries: usize,
        sink: &mut PageSink,
    ) -> Result<()> {
        let mut rest = targets;
        while !rest.is_empty() {
            let mut room = self.free(entries) / 4;
            if room == 0 {
                self.continue_list(sink)?;
                self.write_start(sink);
                entries = 0;
                room = self.free(entries) / 4;
            }
            let (now, later) = rest.split_at(room.min(rest.len()));
            let at = HEADER_BYTES + entries * 4;
            sink.page()[at..at + now.len() * 4].copy_from_slice(bytemuck::cast_slice(now));
            entries += now.len();
            self.page = Filling::Raw(entries);
            self.open.as_mut().expect("checked above").done += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    fn extend_packed(&mut self, targets: &[u32], sink: &mut PageSink) -> Result<()> {
        let head_entries = self.head_entries();
        let filling = self.packed();
        let mut rest = targets;
        if !filling.started {
            let now;
            (now, rest) = rest.split_at(rest.len().min(head_entries - filling.head.len()));
            filling.head.extend_from_slice(now);
            if filling.head.len() < head_entries {
                return Ok(());
            }
            self.start_packed(sink)?;
        }
        for target in rest {
            if !self.packed().page.push(*target) {
                self.continue_list(sink)?;
                let vertex = self.next_vertex;
                let begun = self.packed().page.begin(vertex, &[*target]);
                assert!(begun, "an empty page has room for an entry");
            }
            self.open.as_mut().expect("checked above").done += 1;
        }
        Ok(())
    }

    /// So many entries of the open list, at its start, lie on one page.
    fn head_entries(&self) -> usize {
        let degree = self.open.as_ref().expect("a list is open").degree;
        let short_max = format::short_list_max(self.page_bytes);
        if degree <= short_max as u64 { degree as usize } else { HEAD_ENTRIES_MIN }
    }

    fn packed(&mut self) -> &mut PackedFilling {
        match &mut self.page {
            Filling::Packed(filling) => filling,
            Filling::Raw(_) => unreachable!("the pages of this graph are packed"),
        }
    }

    /// Puts the first entries of the open list, which wait, into the page or onto the next one.
    fn start_packed(&mut self, sink: &mut PageSink) -> Result<()> {
        let vertex = self.next_vertex;
        let filling = self.packed();
        let done = filling.head.len() as u64;
        filling.started = true;
        if !filling.page.begin(vertex, &filling.head) {
            self.close_page(sink)?;
            let filling = self.packed();
            let begun = filling.page.begin(vertex, &filling.head);
            assert!(begun, "an empty page has room for a short list");
        }
        self.open_piece(0);
        self.open.as_mut().expect("a list is open").done = done;
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
        let done = self.open.as_ref().expect("a list is open").done;
        self.open_piece(done);
        Ok(())
    }

    fn entries(&self) -> usize {
        match &self.page {
            Filling::Raw(entries) => *entries,
            Filling::Packed(filling) => filling.page.entries(),
        }
    }

    fn close_page(&mut self, sink: &mut PageSink) -> Result<()> {
        let continues = self.header.head_skip > 0;
        let entries = self.entries();
        self.index.push(index::word(self.starts_from, continues, entries));
        let mut header = std::mem::replace(&mut self.header, PageHeader::new(PageKind::Adjacency));
        header.entries = entries as u32;
        match &mut self.page {
            Filling::Raw(entries) => *entries = 0,
            Filling::Packed(filling) => {
                header.codec = Codec::Packed as u8;
                filling.page.write(sink.page());
            }
        }
        sink.seal(header)
    }

    #[inline]
    pub fn end(&mut self) {
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

    pub fn finish(mut self, sink: &mut PageSink) -> Result<Packed> {
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
