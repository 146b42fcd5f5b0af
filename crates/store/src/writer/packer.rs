//! Packs lists into pages in one pass, in vertex order.
//!
//! A list follows the previous one. A short list never spans two pages: if it does not fit, it
//! starts a new page. A long list starts in the remaining part of a page if a few of its entries
//! fit, continues through whole pages and shares its last one. Lists may be longer than memory,
//! since they can be pushed in pieces.

use std::ops::Range;

use super::GraphSpec;
use crate::VertexId;
use crate::degrees::DegreePages;
use crate::error::Result;
use crate::format::{self, Codec, HEAD_ENTRIES_MIN, HEADER_BYTES, PageKind};
use crate::header::PageHeader;
use crate::index;
use crate::packed::page::PackedPage;
use crate::sink::PageTarget;

/// Sums over the lists of one direction.
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
    /// Bytes of a page that stay free.
    free_bytes: usize,
    vertices: u32,
    duplicates_kept: bool,
    self_loops_kept: bool,
    page: Filling,
    header: PageHeader,
    starts_from: VertexId,
    /// Vertex of the open list, or of the next one.
    next_vertex: VertexId,
    open: Option<OpenList>,
    /// A page of so many lists and entries takes no more, unless a short list is open.
    items_max: usize,
    index: Vec<u64>,
    /// Not gathered while only some pages are packed.
    degrees: Option<DegreePages>,
    totals: Totals,
}

enum Filling {
    /// Filled in place; the field is the number of entries.
    Raw(usize),
    Packed(Box<PackedFilling>),
}

struct PackedFilling {
    page: PackedPage,
    /// The first entries of the open list, until it is known on which page it starts.
    head: Vec<u32>,
    /// Whether `head` was placed.
    started: bool,
}

struct OpenList {
    degree: u64,
    /// Entries before the first that is given, and before the first that is not.
    skip: u64,
    end: u64,
    done: u64,
    last: Option<u32>,
}

/// How far pages are filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    /// A page of so many lists and entries takes no more, unless a short list is open.
    pub items_max: usize,
    /// Percent of a page that stay free.
    pub free_space: u32,
}

pub(crate) struct Packed {
    pub index: Vec<u64>,
    pub degrees: DegreePages,
    pub totals: Totals,
}

impl Packer {
    pub fn new(spec: &GraphSpec, codec: Codec, free_space: u32) -> Self {
        let free_bytes = format::free_bytes(spec.page_bytes, free_space);
        let page = match codec {
            Codec::Raw => Filling::Raw(0),
            Codec::Packed => Filling::Packed(Box::new(PackedFilling {
                page: PackedPage::new(spec.page_bytes, spec.duplicates_kept, free_bytes),
                head: Vec::new(),
                started: true,
            })),
        };
        Self {
            page_bytes: spec.page_bytes,
            free_bytes,
            vertices: spec.vertices as u32,
            duplicates_kept: spec.duplicates_kept,
            self_loops_kept: spec.self_loops_kept,
            page,
            header: PageHeader::new(PageKind::Adjacency),
            starts_from: 0,
            next_vertex: 0,
            open: None,
            items_max: usize::MAX,
            index: Vec::new(),
            degrees: Some(DegreePages::new(spec.page_bytes)),
            totals: Totals::default(),
        }
    }

    /// Whether no list was packed.
    pub fn is_new(&self) -> bool {
        self.next_vertex == 0 && self.open.is_none()
    }

    pub fn memory_bytes(&self) -> usize {
        let page = match &self.page {
            Filling::Raw(_) => 0,
            Filling::Packed(filling) => filling.page.memory_bytes(),
        };
        let degrees = self.degrees.as_ref().map_or(0, DegreePages::memory_bytes);
        self.index.capacity() * 8 + degrees + page
    }

    #[inline]
    pub fn begin(&mut self, degree: u64, sink: &mut impl PageTarget) -> Result<()> {
        self.begin_piece(degree, 0..degree, sink)
    }

    /// [`Packer::begin`] for a part of a list: the entries before and behind it are in other pages.
    #[inline]
    pub fn begin_piece(
        &mut self,
        degree: u64,
        part: Range<u64>,
        sink: &mut impl PageTarget,
    ) -> Result<()> {
        let Range { start: skip, end } = part;
        assert!(self.open.is_none(), "the list before is still open");
        assert!(self.next_vertex < self.vertices, "all vertices have their list");
        assert!(skip == 0 || self.header.lists == 0, "only a page begins within a list");
        self.open = Some(OpenList { degree, skip, end, done: skip, last: None });
        match &mut self.page {
            Filling::Raw(entries) => {
                let entries = *entries;
                if self.header.lists > 0 && !self.may_start(entries, degree) {
                    self.close_page(sink)?;
                }
                self.open_piece(skip);
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

    /// Bytes between the entries of a raw page and its offset table, without those that stay free.
    #[inline]
    fn free(&self, entries: usize) -> usize {
        let used = entries * 4 + usize::from(self.header.lists) * 2;
        (format::payload_bytes(self.page_bytes) - self.free_bytes).saturating_sub(used)
    }

    /// Whether the next list may start in the remaining part of a raw page.
    #[inline]
    fn may_start(&self, entries: usize, degree: u64) -> bool {
        let Some(room) = self.free(entries).checked_sub(2) else { return false };
        if entries + usize::from(self.header.lists) + HEAD_ENTRIES_MIN >= self.items_max {
            return false;
        }
        let is_long = self.is_long(degree);
        degree <= (room / 4) as u64 || (is_long && room / 4 >= HEAD_ENTRIES_MIN)
    }

    /// Whether a list of this length may run over several pages.
    #[inline]
    fn is_long(&self, degree: u64) -> bool {
        degree > format::short_list_max(self.page_bytes) as u64
    }

    /// Entries that the page may still take of the open list, by the limit of its items.
    #[inline]
    fn allowed(&self, entries: usize) -> usize {
        let degree = self.open.as_ref().expect("a list is open").degree;
        if !self.is_long(degree) {
            return usize::MAX;
        }
        self.items_max.saturating_sub(entries + usize::from(self.header.lists))
    }

    /// Starts a piece of the open list, from its entry `skip` on.
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

    /// Writes where the last list of a raw page starts.
    #[inline]
    fn write_start<T: PageTarget>(&mut self, sink: &mut T) {
        if !T::KEEPS {
            return;
        }
        let at = self.page_bytes - 2 * usize::from(self.header.lists);
        let start = self.entries() as u16;
        sink.page()[at..at + 2].copy_from_slice(&start.to_le_bytes());
    }

    #[inline]
    pub fn extend<T: PageTarget>(&mut self, targets: &[u32], sink: &mut T) -> Result<()> {
        if T::KEEPS {
            self.check_targets(targets);
        }
        match self.page {
            Filling::Raw(entries) => self.extend_raw(targets, entries, sink),
            Filling::Packed(_) => self.extend_packed(targets, sink),
        }
    }

    fn extend_raw<T: PageTarget>(
        &mut self,
        targets: &[u32],
        mut entries: usize,
        sink: &mut T,
    ) -> Result<()> {
        let mut rest = targets;
        while !rest.is_empty() {
            let mut room = (self.free(entries) / 4).min(self.allowed(entries));
            if room == 0 {
                self.continue_list(sink)?;
                self.write_start(sink);
                entries = 0;
                room = (self.free(entries) / 4).min(self.allowed(entries));
            }
            let (now, later) = rest.split_at(room.min(rest.len()));
            if T::KEEPS {
                let at = HEADER_BYTES + entries * 4;
                sink.page()[at..at + now.len() * 4].copy_from_slice(bytemuck::cast_slice(now));
            }
            entries += now.len();
            self.page = Filling::Raw(entries);
            self.open.as_mut().expect("checked above").done += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    fn extend_packed(&mut self, targets: &[u32], sink: &mut impl PageTarget) -> Result<()> {
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
            if self.allowed(self.entries()) == 0 || !self.packed().page.push(*target) {
                self.continue_list(sink)?;
                let vertex = self.next_vertex;
                let begun = self.packed().page.begin(vertex, &[*target]);
                assert!(begun, "an empty page has room for an entry");
            }
            self.open.as_mut().expect("checked above").done += 1;
        }
        Ok(())
    }

    /// Number of entries at the start of the open list that must be on one page.
    fn head_entries(&self) -> usize {
        let OpenList { degree, skip, end, .. } = *self.open.as_ref().expect("a list is open");
        let entries = (end - skip) as usize;
        if self.is_long(degree) { entries.min(HEAD_ENTRIES_MIN) } else { entries }
    }

    fn packed(&mut self) -> &mut PackedFilling {
        match &mut self.page {
            Filling::Packed(filling) => filling,
            Filling::Raw(_) => unreachable!("the pages of this graph are packed"),
        }
    }

    /// Puts the first entries of the open list into the current page or the next one.
    fn start_packed(&mut self, sink: &mut impl PageTarget) -> Result<()> {
        let (vertex, skip) = (self.next_vertex, self.open.as_ref().expect("a list is open").skip);
        if self.header.lists > 0
            && self.entries() + usize::from(self.header.lists) >= self.items_max
        {
            self.close_page(sink)?;
        }
        let filling = self.packed();
        let done = filling.head.len() as u64;
        filling.started = true;
        if !filling.page.begin(vertex, &filling.head) {
            self.close_page(sink)?;
            let filling = self.packed();
            let begun = filling.page.begin(vertex, &filling.head);
            assert!(begun, "an empty page has room for a short list");
        }
        self.open_piece(skip);
        self.open.as_mut().expect("a list is open").done = skip + done;
        Ok(())
    }

    /// Asserts that entries respect the flags and counts of the graph.
    #[inline]
    fn check_targets(&mut self, targets: &[u32]) {
        let vertex = self.next_vertex;
        let open = self.open.as_mut().expect("a list is open");
        assert!(targets.len() as u64 <= open.end - open.done, "more entries than were announced");
        let (Some(&first), Some(&last)) = (targets.first(), targets.last()) else { return };
        let pairs = targets.iter().zip(&targets[1..]);
        let before = open.last;
        // Several pairs are compared at a time.
        let (ascends, follows) = match self.duplicates_kept {
            true => (
                pairs.fold(true, |all, (a, b)| all & (a <= b)),
                before.is_none_or(|before| before <= first),
            ),
            false => (
                pairs.fold(true, |all, (a, b)| all & (a < b)),
                before.is_none_or(|before| before < first),
            ),
        };
        assert!(ascends & follows, "the list of vertex {vertex} does not ascend");
        assert!(last < self.vertices, "vertex {vertex} has the entry {last}, which is no vertex");
        open.last = Some(last);
        let loops = &targets[targets.partition_point(|target| *target < vertex)..];
        let loops = loops.iter().take_while(|target| **target == vertex).count() as u64;
        assert!(loops == 0 || self.self_loops_kept, "vertex {vertex} stands in its own list");
        self.totals.self_loops += loops;
    }

    /// Closes the full page and continues the open list in the next one.
    fn continue_list(&mut self, sink: &mut impl PageTarget) -> Result<()> {
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

    fn close_page<T: PageTarget>(&mut self, sink: &mut T) -> Result<()> {
        let continues = self.header.head_skip > 0;
        let entries = self.entries();
        self.index.push(index::word(self.starts_from, continues, entries));
        let mut header = std::mem::replace(&mut self.header, PageHeader::new(PageKind::Adjacency));
        header.entries = entries as u32;
        match &mut self.page {
            Filling::Raw(entries) => *entries = 0,
            Filling::Packed(filling) => {
                header.codec = Codec::Packed as u8;
                match T::KEEPS {
                    true => filling.page.write(sink.page()),
                    false => filling.page.clear(),
                }
            }
        }
        sink.seal(header)
    }

    #[inline]
    pub fn end(&mut self) {
        // Field by field: to move all at once stalls on the stores of single fields just before.
        let &OpenList { degree, done, .. } = self.open.as_ref().expect("a list is open");
        self.open = None;
        assert_eq!(done, degree, "the list is shorter than was announced");
        let vertex = self.next_vertex;
        if let Some(degrees) = &mut self.degrees {
            degrees.push(vertex, degree);
        }
        self.totals.stored += degree;
        if degree > self.totals.degree_max {
            self.totals.degree_max = degree;
            self.totals.degree_max_vertex = vertex;
        }
        self.next_vertex += 1;
    }

    /// Ends a part of a list that goes on in other pages.
    #[inline]
    pub fn end_piece(&mut self) {
        let open = self.open.as_ref().expect("a list is open");
        assert_eq!(open.done, open.end, "the part is shorter than was announced");
        if open.done == open.degree { self.end() } else { self.open = None }
    }

    /// Packs only some pages: the next list is that of `vertex`, and a page is full when it has
    /// this many lists and entries, or so many percent of it are free.
    pub fn seek(&mut self, vertex: VertexId, fill: Fill) {
        assert!(self.open.is_none() && self.header.lists == 0, "the page before is closed");
        (self.next_vertex, self.items_max, self.degrees) = (vertex, fill.items_max, None);
        self.free_bytes = format::free_bytes(self.page_bytes, fill.free_space);
        if let Filling::Packed(filling) = &mut self.page {
            filling.page.leave_free(self.free_bytes);
        }
    }

    /// Closes the page that is being filled. The index words of the pages since the last call.
    pub fn take_index(&mut self, sink: &mut impl PageTarget) -> Result<Vec<u64>> {
        assert!(self.open.is_none(), "the last list is still open");
        if self.header.lists > 0 {
            self.close_page(sink)?;
        }
        Ok(std::mem::take(&mut self.index))
    }

    pub fn finish(mut self, sink: &mut impl PageTarget) -> Result<Packed> {
        assert!(self.open.is_none(), "the last list is still open");
        let (vertices, found) = (self.vertices, self.next_vertex);
        assert_eq!(found, vertices, "every vertex has a list, maybe an empty one");
        if self.header.lists > 0 {
            self.close_page(sink)?;
        }
        let Self { index, degrees, totals, .. } = self;
        let degrees = degrees.expect("they are gathered where all lists are packed");
        Ok(Packed { index, degrees, totals })
    }
}
