//! The lists of a group of pages: read, edited, and packed into pages in memory.

use std::ops::Range;

use cenote_pool::Handle;

use super::Answer;
use super::ahead::Group;
use super::answers::Answers;
use super::edited::EditedLists;
use super::moved::PagePart;
use super::one_direction::{Lists, Rewritten};
use super::weights::ColumnOf;
use crate::VertexId;
use crate::error::Result;
use crate::gallop::gallop;
use crate::header::PageHeader;
use crate::packed::decode::Decoded;
use crate::sink::PageTarget;
use crate::store::draft::SectionEdit;
use crate::writer::packer::{Fill, Packer};

/// Of so many pages that take the place of fewer, one is added so that each has room for more. Of
/// fewer pages each has room anyway.
const FREE_SHARE: u64 = 10;

/// A list, or the part of it that lies in a group.
struct Piece {
    vertex: VertexId,
    skip: u64,
    degree: u64,
    /// In the entries of the group, or in those that were changed.
    at: Range<usize>,
    is_changed: bool,
}

/// The lists of a group, as they were and as edits make them.
#[derive(Default)]
pub(super) struct GroupLists {
    pieces: Vec<Piece>,
    entries: Vec<VertexId>,
    /// Ordered bits, one for each entry; none in a graph without weights.
    weights: Vec<u64>,
    /// The entries of lists that stay, but for their weights.
    reweighed: Vec<usize>,
    changed: EditedLists,
    /// By how many entries the lists become longer.
    grown: i64,
    answers: Answers,
}

impl GroupLists {
    /// Reads the lists of some pages.
    pub fn read(
        lists: &Lists<'_>,
        handle: &Handle,
        pages: Range<u64>,
        decoded: &mut Decoded,
    ) -> Result<Self> {
        let mut own = Self::default();
        let column = lists.graph.load_weights(lists.direction)?;
        for number in pages {
            let before = own.entries.len();
            own.read_page(lists, handle, number, decoded)?;
            if let Some(column) = column {
                let column = ColumnOf { graph: lists.graph, adjacency: lists.adjacency, column };
                column.read(handle, number, own.entries.len() - before, &mut own.weights)?;
            }
        }
        Ok(own)
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
    pub fn add_new(&mut self, base: u32, vertices: Range<VertexId>) {
        debug_assert!(vertices.is_empty() || vertices.start == base, "they follow the others");
        let new = |vertex| Piece { vertex, skip: 0, degree: 0, at: 0..0, is_changed: false };
        self.pieces.extend(vertices.map(new));
    }

    /// Makes the edits; false if they change no list.
    pub fn edit(&mut self, lists: &Lists<'_>, group: &Group) -> bool {
        let base = lists.base();
        let mut edits = &lists.edits[group.edits.clone()];
        let mut is_changed = false;
        let Self { pieces, entries, weights, reweighed, changed, grown, answers } = self;
        for piece in pieces {
            let (own, rest) = edits.split_at(gallop(edits, |edit| edit.owner <= piece.vertex));
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
                    *grown += degree as i64 - piece.degree as i64;
                    piece.degree = degree;
                    piece.at = from..changed.entries.len();
                    piece.is_changed = true;
                }
            }
            is_changed |= piece.is_changed || piece.vertex >= base;
        }
        assert!(edits.is_empty(), "every edit has its list in the group");
        is_changed
    }

    /// Adds what the edits did to that of the groups before.
    pub fn add_to(&self, rewritten: &mut Rewritten<'_>, answers: &mut [Answer]) {
        rewritten.stored = rewritten.stored.strict_add_signed(self.grown);
        rewritten.repeats += self.changed.repeats;
        self.answers.copy_to(answers);
    }

    /// The lengths of lists, ascending: of all of them, or of those that the edits change or make:
    /// the latter are those from `base` on.
    pub fn lengths(&self, all: bool, base: VertexId) -> impl Iterator<Item = (VertexId, u64)> {
        let is_wanted = move |piece: &&Piece| all || piece.is_changed || piece.vertex >= base;
        self.pieces.iter().filter(is_wanted).map(|piece| (piece.vertex, piece.degree))
    }

    /// The weights of entries before and after the edits, where they differ.
    pub fn swaps(&self) -> &[[Option<u64>; 2]] {
        &self.changed.swaps
    }

    /// Calls `set` with the weights of all entries and the places of those that change, if there
    /// are any, where the lists stay.
    pub fn reweigh(&self, set: impl FnOnce(&[u64], &[usize]) -> Result<()>) -> Result<()> {
        if self.reweighed.is_empty() { Ok(()) } else { set(&self.weights, &self.reweighed) }
    }

    /// The weights of all lists as they are now; none in a graph without weights.
    pub fn weights(&self) -> Vec<u64> {
        let mut all = Vec::with_capacity(self.weights.len());
        for piece in &self.pieces {
            let weights = if piece.is_changed { &self.changed.weights } else { &self.weights };
            all.extend_from_slice(&weights[piece.at.clone()]);
        }
        all
    }

    /// Which entries lie in which of the pages that the lists were packed into.
    pub fn page_parts(&self, words: &[u64]) -> Vec<PagePart> {
        let entries = self.pieces.iter().map(|piece| match piece.is_changed {
            true => &self.changed.entries[piece.at.clone()],
            false => &self.entries[piece.at.clone()],
        });
        PagePart::of_pages(words, entries)
    }

    /// Packs the lists into pages, which take the place of so many. Returns their index words.
    pub fn pack(
        &self,
        packer: &mut Packer,
        target: &mut impl PageTarget,
        (before, free_space): (u64, u32),
    ) -> Result<Vec<u64>> {
        let fill = self.fill(packer, target.page_bytes(), (before, free_space))?;
        self.pack_into(packer, fill, target)
    }

    /// How far to fill the pages that take the place of so many.
    fn fill(
        &self,
        packer: &mut Packer,
        page_bytes: usize,
        (before, free_space): (u64, u32),
    ) -> Result<Fill> {
        let mut pages_with = |free_space| {
            let mut count = PageCount { page_bytes, pages: 0 };
            let fill = Fill { items_max: usize::MAX, free_space };
            self.pack_into(packer, fill, &mut count).map(|_| (fill, count.pages))
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
struct PageCount {
    page_bytes: usize,
    pages: u64,
}

impl PageTarget for PageCount {
    const KEEPS: bool = false;

    fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    fn page(&mut self) -> &mut [u8] {
        unreachable!("no page is kept")
    }

    fn seal(&mut self, _: PageHeader) -> Result<()> {
        self.pages += 1;
        Ok(())
    }
}

/// Pages that are packed and not written yet.
pub(super) struct PackedPages {
    page_bytes: usize,
    headers: Vec<PageHeader>,
    /// The pages, and one that is being filled.
    bytes: Vec<u8>,
}

impl PackedPages {
    /// No pages of so many bytes each.
    pub fn new(page_bytes: usize) -> Self {
        Self { page_bytes, headers: Vec::new(), bytes: vec![0; page_bytes] }
    }

    /// Writes them to a section.
    pub fn write(mut self, section: &mut SectionEdit<'_, '_>) -> Result<()> {
        let mut pages = self.bytes.chunks_exact_mut(self.page_bytes);
        self.headers
            .into_iter()
            .zip(&mut pages)
            .try_for_each(|(header, page)| section.write(header, page))
    }
}

impl PageTarget for PackedPages {
    fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    fn page(&mut self) -> &mut [u8] {
        let begin = self.bytes.len() - self.page_bytes;
        &mut self.bytes[begin..]
    }

    fn seal(&mut self, header: PageHeader) -> Result<()> {
        self.headers.push(header);
        self.bytes.resize(self.bytes.len() + self.page_bytes, 0);
        Ok(())
    }
}
