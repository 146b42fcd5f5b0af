//! Rewrites the pages of the lists that a batch changes.
//!
//! Pages that share a changed list form a group. The lists of a group are packed anew; the first
//! and the last may be parts of lists that go on in pages outside, which stay. A group that no
//! longer fits its pages is spread evenly over more of them, so that each has room for more. In a
//! graph with free space in its pages, groups keep that as long as they can: before they are
//! spread over more pages they fill the free space of theirs, all alike.

use std::ops::Range;

use cenote_device::Buffer;
use cenote_pool::Handle;

use super::Answer;
use super::ahead::{Ahead, Group, Windows};
use super::edited::EditedLists;
use super::edits::{Changes, Edit};
use super::moved::{NewPages, PagePart};
use super::weights::{ColumnEdit, EditedColumn};
use crate::error::Result;
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::packed::decode::Decoded;
use crate::sink::PageTarget;
use crate::store::draft::{Draft, SectionEdit};
use crate::writer::GraphSpec;
use crate::writer::packer::{Fill, Packer};
use crate::{Adjacency, Direction, VertexId};

/// Of so many pages that take the place of fewer, one is added so that each has room for more. Of
/// fewer pages each has room anyway.
const FREE_SHARE: u64 = 10;

/// Neighbouring groups are packed together up to so many pages: where all pages of a graph change a
/// little, each would become two otherwise.
const JOINED_PAGES_MAX: u64 = 64;

/// What happened to the lists of one direction.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    /// The pages that were packed anew, ascending, by their numbers before, and the index words of
    /// those that take their place.
    pub groups: Vec<(Range<u64>, Vec<u64>)>,
    /// The vertices whose lists the batch changes or makes, ascending, and the lengths of the
    /// lists.
    pub degrees: Vec<(VertexId, u64)>,
    /// Entries of all lists.
    pub stored: u64,
    /// By how many the edges that repeat another have become more.
    pub repeats: i64,
    pub pages_read: u64,
    /// `None` if no weight changed.
    pub column: Option<EditedColumn>,
}

/// The lists of one direction, and what a batch changes in them.
pub(super) struct Lists<'a> {
    pub graph: &'a Graph,
    pub direction: Direction,
    pub adjacency: &'a Adjacency,
    pub edits: &'a [Edit],
    pub changes: Changes<'a>,
    /// Vertices after the batch.
    pub vertices: u32,
}

/// A list, or the part of it that lies in a group.
struct Piece {
    vertex: VertexId,
    skip: u64,
    degree: u64,
    /// In the entries of the group, or in those that were changed.
    at: Range<usize>,
    is_changed: bool,
}

impl Lists<'_> {
    /// Rewrites what changes and puts the section together.
    pub fn rewrite(&self, draft: &mut Draft<'_>, answers: &mut [Answer]) -> Result<Rewritten> {
        let groups = self.groups(PagesWithDelta::of(self.adjacency))?;
        let ahead = Ahead {
            graph: self.graph,
            adjacency: self.adjacency,
            column: self.graph.load_weights(self.direction)?,
            groups: &groups,
        };
        std::thread::scope(|scope| self.rewrite_groups(ahead.begin(scope)?, draft, answers))
    }

    fn rewrite_groups(
        &self,
        mut ahead: Windows<'_>,
        draft: &mut Draft<'_>,
        answers: &mut [Answer],
    ) -> Result<Rewritten> {
        let mut rewritten =
            Rewritten { stored: self.adjacency.stored_edges(), ..Rewritten::default() };
        let groups = ahead.groups;
        let handle = self.graph.handle()?;
        let touched = groups.iter().map(|group| group.pages.clone());
        let mut column = ColumnEdit::begin(self.graph, self.direction, touched)?;
        draft.expect_pages(groups.iter().map(|group| group.pages.end - group.pages.start).sum());
        let mut new_pages = draft.is_beside().then(NewPages::default);
        let mut section = SectionEdit::new(draft)?;
        let free_space = self.graph.superblock().free_space();
        let mut packer = Packer::new(&self.spec(), self.adjacency.codec(), free_space);
        let (mut kept_to, mut loaded) = (0, 0);
        for (i, group) in groups.iter().enumerate() {
            if i == loaded {
                loaded = ahead.next(&handle, loaded)?;
            }
            let Group { pages, .. } = group;
            rewritten.pages_read += pages.end - pages.start;
            let mut lists = GroupLists::default();
            lists.read(self, &handle, column.as_ref(), pages.clone())?;
            lists.add_new(self.base(), self.vertices_of(group));
            let is_changed = lists.edit(self, group, answers, &mut rewritten) || group.has_delta;
            rewritten.repeats += lists.changed.repeats;
            if is_changed {
                section.keep(kept_to..pages.start);
                kept_to = pages.end;
                let words = lists.pack(&mut packer, &mut section, (pages, free_space))?;
                if let Some(new_pages) = &mut new_pages {
                    new_pages.push(pages.clone(), words.clone(), lists.page_parts(&words));
                }
                rewritten.groups.push((pages.clone(), words));
            }
            section.draft().advance(pages.end - pages.start)?;
            let Some(column) = &mut column else { continue };
            column.follow(&lists.changed.swaps);
            let draft = section.draft();
            match rewritten.groups.last().filter(|_| is_changed) {
                Some((_, words)) => column.replace(draft, pages, words, &lists.weights())?,
                None if lists.reweighed.is_empty() => {}
                None => column.reweigh(draft, pages, &lists.weights, &lists.reweighed)?,
            }
        }
        section.keep(kept_to..self.adjacency.pages());
        let is_changed = !rewritten.groups.is_empty();
        if is_changed {
            let (kind, codec) = (self.adjacency.kind(), self.adjacency.codec());
            section.finish(kind, codec, rewritten.stored);
        }
        if let Some(new_pages) = new_pages {
            draft.made.lists.push((self.direction, new_pages));
        }
        if let Some(column) = column {
            rewritten.column = column.finish(draft, rewritten.stored)?;
        }
        Ok(rewritten)
    }

    fn spec(&self) -> GraphSpec {
        let superblock = self.graph.superblock();
        GraphSpec {
            page_bytes: superblock.page_bytes as usize,
            vertices: self.vertices.into(),
            directed: superblock.directed,
            in_edges: superblock.in_edges,
            duplicates_kept: superblock.duplicates_kept,
            self_loops_kept: superblock.self_loops_kept,
            salt: superblock.salt,
        }
    }

    /// Vertices before the batch.
    pub fn base(&self) -> u32 {
        self.graph.vertices() as u32
    }

    /// The groups of lists with edits, ascending, and of pages with changes of runs.
    pub fn groups(&self, mut with_delta: PagesWithDelta<'_>) -> Result<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut add = |pages: Range<u64>, edits: Range<usize>, has_delta| match groups.last_mut() {
            Some(last)
                if pages.start < last.pages.end
                    || (pages.start == last.pages.end
                        && last.pages.end - last.pages.start < JOINED_PAGES_MAX) =>
            {
                last.pages.end = last.pages.end.max(pages.end);
                last.edits.end = edits.end;
                last.has_delta |= has_delta;
            }
            _ => groups.push(Group { pages, edits, has_delta }),
        };
        let mut delta = with_delta.next()?;
        let base = self.base();
        let mut next = 0;
        for of_list in self.edits.chunk_by(|a, b| a.owner == b.owner) {
            let edits = next..next + of_list.len();
            if of_list[0].owner >= base {
                break;
            }
            let (start, end) = self.adjacency.pages_of(of_list[0].owner).into_inner();
            while let Some(page) = delta.filter(|page| *page <= start) {
                add(page..page + 1, next..next, true);
                delta = with_delta.next()?;
            }
            add(start..end + 1, edits.clone(), false);
            next = edits.end;
        }
        while let Some(page) = delta {
            add(page..page + 1, next..next, true);
            delta = with_delta.next()?;
        }
        if self.vertices > base {
            let pages = self.adjacency.pages();
            add(pages.saturating_sub(1)..pages, next..self.edits.len(), false);
            if pages == 0 {
                let edits = 0..self.edits.len();
                return Ok(vec![Group { pages: 0..0, edits, has_delta: false }]);
            }
        }
        Ok(groups)
    }

    /// The vertices whose lists come behind those of the pages of a group.
    fn vertices_of(&self, group: &Group) -> Range<VertexId> {
        match group.pages.end == self.adjacency.pages() {
            true => self.base()..self.vertices,
            false => 0..0,
        }
    }
}

/// The pages that have changes in delta runs, ascending.
pub(super) struct PagesWithDelta<'a> {
    adjacency: &'a Adjacency,
    next: u64,
    decoded: Decoded,
}

impl<'a> PagesWithDelta<'a> {
    fn of(adjacency: &'a Adjacency) -> Self {
        Self { adjacency, next: 0, decoded: Decoded::new() }
    }

    /// As if there were none.
    pub fn none(adjacency: &'a Adjacency) -> Self {
        Self { next: adjacency.pages(), ..Self::of(adjacency) }
    }

    fn next(&mut self) -> Result<Option<u64>> {
        while self.next < self.adjacency.pages() {
            self.next += 1;
            if self.adjacency.is_changed(self.next - 1, &mut self.decoded)? {
                return Ok(Some(self.next - 1));
            }
        }
        Ok(None)
    }
}

/// The lists of a group.
#[derive(Default)]
struct GroupLists {
    pieces: Vec<Piece>,
    entries: Vec<VertexId>,
    /// Ordered bits, one for each entry; none in a graph without weights.
    weights: Vec<u64>,
    /// The entries of lists that stay, but for their weights.
    reweighed: Vec<usize>,
    changed: EditedLists,
}

impl GroupLists {
    fn read(
        &mut self,
        lists: &Lists<'_>,
        handle: &Handle,
        column: Option<&ColumnEdit<'_>>,
        pages: Range<u64>,
    ) -> Result<()> {
        let mut decoded = Decoded::new();
        for number in pages {
            let before = self.entries.len();
            self.read_page(lists, handle, number, &mut decoded)?;
            if let Some(column) = column {
                column.read(number, self.entries.len() - before, &mut self.weights)?;
            }
        }
        Ok(())
    }

    fn read_page(
        &mut self,
        lists: &Lists<'_>,
        handle: &Handle,
        number: u64,
        decoded: &mut Decoded,
    ) -> Result<()> {
        let adjacency = lists.adjacency;
        let bytes = lists.graph.pages.pin(handle, adjacency.first_page() + number)?;
        let page = adjacency.reparse(number, &bytes, decoded)?;
        for list in page.lists() {
            let from = self.entries.len();
            self.entries.extend_from_slice(list.targets);
            let to = self.entries.len();
            match self.pieces.last_mut() {
                Some(last) if last.vertex == list.vertex => last.at.end = to,
                _ => self.pieces.push(Piece {
                    vertex: list.vertex,
                    skip: list.skip,
                    degree: list.degree,
                    at: from..to,
                    is_changed: false,
                }),
            }
        }
        Ok(())
    }

    /// Empty lists of vertices that are new.
    fn add_new(&mut self, base: u32, vertices: Range<VertexId>) {
        debug_assert!(vertices.is_empty() || vertices.start == base, "they follow the others");
        let new = |vertex| Piece { vertex, skip: 0, degree: 0, at: 0..0, is_changed: false };
        self.pieces.extend(vertices.map(new));
    }

    /// Makes the edits; false if they change no list.
    fn edit(
        &mut self,
        lists: &Lists<'_>,
        group: &Group,
        answers: &mut [Answer],
        rewritten: &mut Rewritten,
    ) -> bool {
        let base = lists.base();
        let mut edits = &lists.edits[group.edits.clone()];
        let mut is_changed = false;
        let GroupLists { pieces, entries, weights, reweighed, changed } = self;
        for piece in pieces {
            let (own, rest) = edits.split_at(edits.partition_point(|e| e.owner <= piece.vertex));
            edits = rest;
            let (from, weights_from) = (changed.entries.len(), changed.weights.len());
            if !own.is_empty() {
                let list = &entries[piece.at.clone()];
                assert_eq!(list.len() as u64, piece.degree, "the whole list is in its group");
                let own_weights = weights.get(piece.at.clone()).unwrap_or(&[]);
                changed.push((list, own_weights), own, lists.changes, answers);
                if changed.entries[from..] == *list {
                    for (at, after) in piece.at.clone().zip(changed.weights.drain(weights_from..)) {
                        if std::mem::replace(&mut weights[at], after) != after {
                            reweighed.push(at);
                        }
                    }
                    changed.entries.truncate(from);
                } else {
                    let degree = (changed.entries.len() - from) as u64;
                    rewritten.stored = rewritten.stored - piece.degree + degree;
                    piece.degree = degree;
                    piece.at = from..changed.entries.len();
                    piece.is_changed = true;
                }
            }
            if piece.is_changed || piece.vertex >= base {
                rewritten.degrees.push((piece.vertex, piece.degree));
                is_changed = true;
            }
        }
        assert!(edits.is_empty(), "every edit has its list in the group");
        is_changed
    }

    /// The weights of all lists as they are now; none in a graph without weights.
    fn weights(&self) -> Vec<u64> {
        let mut all = Vec::with_capacity(self.weights.len());
        for piece in &self.pieces {
            let weights = if piece.is_changed { &self.changed.weights } else { &self.weights };
            all.extend_from_slice(&weights[piece.at.clone()]);
        }
        all
    }

    /// Which entries lie in which of the pages that the lists were packed into.
    fn page_parts(&self, words: &[u64]) -> Vec<PagePart> {
        let entries = self.pieces.iter().map(|piece| match piece.is_changed {
            true => &self.changed.entries[piece.at.clone()],
            false => &self.entries[piece.at.clone()],
        });
        PagePart::of_pages(words, entries)
    }

    /// Packs the lists into new pages. Returns their index words.
    fn pack(
        &self,
        packer: &mut Packer,
        section: &mut SectionEdit<'_, '_>,
        (pages, free_space): (&Range<u64>, u32),
    ) -> Result<Vec<u64>> {
        let page_bytes = section.page_bytes();
        let fill = self.fill(packer, page_bytes, (pages.end - pages.start, free_space))?;
        self.pack_into(packer, fill, section)
    }

    /// How far to fill the pages that take the place of so many.
    fn fill(
        &self,
        packer: &mut Packer,
        page_bytes: usize,
        (before, free_space): (u64, u32),
    ) -> Result<Fill> {
        let mut count = PageCount(Buffer::new(page_bytes)?, 0);
        let mut pages_with = |free_space| {
            count.1 = 0;
            let fill = Fill { items_max: usize::MAX, free_space };
            self.pack_into(packer, fill, &mut count).map(|_| (fill, count.1))
        };
        let before = before.max(1);
        let (fill, with_space) = pages_with(free_space)?;
        if with_space <= before {
            return Ok(fill);
        }
        let mut without = with_space;
        if free_space > 0 {
            let (mut fits, count) = pages_with(0)?;
            without = count;
            // The most free space with which the lists fit.
            let mut too_much = if without <= before { free_space } else { 0 };
            while fits.free_space + 1 < too_much {
                let (fill, count) = pages_with(fits.free_space.midpoint(too_much))?;
                match count <= before {
                    true => fits = fill,
                    false => too_much = fill.free_space,
                }
            }
            if too_much > 0 {
                return Ok(fits);
            }
        }
        let now = with_space.max(without + without / FREE_SHARE);
        let items: usize = self.pieces.iter().map(|piece| piece.at.len() + 1).sum();
        Ok(Fill { items_max: items.div_ceil(now as usize).max(ITEMS_MIN), free_space })
    }

    fn pack_into(
        &self,
        packer: &mut Packer,
        fill: Fill,
        target: &mut impl PageTarget,
    ) -> Result<Vec<u64>> {
        let first = self.pieces.first().expect("a page has a list");
        packer.seek(first.vertex, fill);
        for piece in &self.pieces {
            let entries = if piece.is_changed { &self.changed.entries } else { &self.entries };
            let entries = &entries[piece.at.clone()];
            let part = piece.skip..piece.skip + entries.len() as u64;
            packer.begin_piece(piece.degree, part, target)?;
            packer.extend(entries, target)?;
            packer.end_piece();
        }
        packer.take_index(target)
    }
}

/// The fewest lists and entries of a page after a split.
const ITEMS_MIN: usize = 64;

/// Counts pages and keeps none of them.
struct PageCount(Buffer, u64);

impl PageTarget for PageCount {
    fn page_bytes(&self) -> usize {
        self.0.len()
    }

    fn page(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn seal(&mut self, _: PageHeader) -> Result<()> {
        self.1 += 1;
        Ok(())
    }
}
