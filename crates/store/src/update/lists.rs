//! Rewrites the pages of the lists that a batch changes.
//!
//! Pages that share a changed list form a group. The lists of a group are packed anew; the first
//! and the last may be parts of lists that go on in pages outside, which stay. A group that no
//! longer fits its pages is spread evenly over more of them, so that each has room for more. In a
//! graph with free space in its pages, groups keep that as long as they can: before they are
//! spread over more pages they fill the free space of theirs, all alike.

use std::ops::Range;

use cenote_pool::Handle;

use super::Answer;
use super::ahead::{Ahead, Group};
use super::degrees::DegreeEdit;
use super::edits::Edit;
use super::group_lists::{GroupLists, PackedPages};
use super::moved::NewPages;
use super::one_direction::{Lists, Rewritten};
use super::weights::ColumnEdit;
use crate::error::Result;
use crate::gallop::{Cursor, gallop};
use crate::packed::decode::Decoded;
use crate::store::draft::{Draft, SectionEdit};
use crate::writer::GraphSpec;
use crate::writer::packer::Packer;
use crate::{Adjacency, VertexId};

/// Neighbouring groups are packed together up to so many pages: where all pages of a graph change a
/// little, each would become two otherwise.
const JOINED_PAGES_MAX: u64 = 64;

/// A group whose lists were edited.
struct RewrittenGroup {
    lists: GroupLists,
    /// Index words and pages, if they are to take the place of those of the group.
    packed: Option<(Vec<u64>, PackedPages)>,
}

impl<'g> Lists<'g> {
    /// Rewrites what changes and puts the section together.
    pub fn rewrite(&self, draft: &mut Draft<'_>, answers: &mut [Answer]) -> Result<Rewritten<'g>> {
        let groups = self.groups(PagesWithDelta::of(self.adjacency))?;
        let mut rewritten =
            Rewritten { stored: self.adjacency.stored_edges(), ..Rewritten::default() };
        let touched = groups.iter().map(|group| group.pages.clone());
        let mut column =
            ColumnEdit::begin(self.graph, self.direction, touched, self.changes.weights)?;
        let ahead = Ahead {
            graph: self.graph,
            adjacency: self.adjacency,
            column: self.graph.load_weights(self.direction)?,
            groups: &groups,
        };
        let pages = groups.iter().map(|group| group.pages.end - group.pages.start).sum();
        draft.expect_pages(pages);
        let threads = draft.threads_for(pages);
        if !groups.is_empty() {
            rewritten.degrees = Some(DegreeEdit::begin(self.graph, self.direction)?);
        }
        let mut new_pages = draft.is_beside().then(NewPages::default);
        let mut section = SectionEdit::new(draft)?;
        let mut kept_to = 0;
        let begin = || Ok((Decoded::new(), self.packer()));
        let make = |worker: &mut (Decoded, Packer), handle: &Handle, group: &Group| {
            self.rewrite_group(worker, handle, group)
        };
        ahead.in_order(threads, begin, make, |group, RewrittenGroup { lists, packed }| {
            let Group { pages, .. } = group;
            rewritten.pages_read += pages.end - pages.start;
            lists.add_to(&mut rewritten, answers);
            let is_changed = packed.is_some();
            if let Some((words, packed)) = packed {
                section.keep(kept_to..pages.start);
                kept_to = pages.end;
                packed.write(&mut section)?;
                if let Some(new_pages) = &mut new_pages {
                    new_pages.push(pages.clone(), words.clone(), lists.page_parts(&words));
                }
                rewritten.groups.push((pages.clone(), words));
            }
            if let Some(degrees) = &mut rewritten.degrees {
                let all = group.has_delta && degrees.goes_on();
                degrees.set(section.draft(), lists.lengths(all, self.base()))?;
            }
            section.draft().advance(pages.end - pages.start)?;
            let Some(column) = &mut column else { return Ok(()) };
            column.follow(lists.swaps());
            let draft = section.draft();
            match rewritten.groups.last().filter(|_| is_changed) {
                Some((_, words)) => column.replace(draft, pages, words, &lists.weights()),
                None => lists.reweigh(|weights, at| column.reweigh(draft, pages, weights, at)),
            }
        })?;
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

    /// Reads the lists of a group, makes their edits, and packs them into pages in memory if
    /// something changes.
    fn rewrite_group(
        &self,
        (decoded, packer): &mut (Decoded, Packer),
        handle: &Handle,
        group: &Group,
    ) -> Result<RewrittenGroup> {
        let mut lists = GroupLists::read(self, handle, group.pages.clone(), decoded)?;
        lists.add_new(self.base(), self.vertices_of(group));
        let is_changed = lists.edit(self, group) || group.has_delta;
        if !is_changed {
            return Ok(RewrittenGroup { lists, packed: None });
        }
        let free_space = self.graph.superblock().free_space();
        let mut packed = PackedPages::new(self.graph.page_bytes());
        let before = group.pages.end - group.pages.start;
        let words = lists.pack(packer, &mut packed, (before, free_space))?;
        Ok(RewrittenGroup { lists, packed: Some((words, packed)) })
    }

    fn packer(&self) -> Packer {
        let free_space = self.graph.superblock().free_space();
        Packer::new(&self.spec(), self.adjacency.codec(), free_space)
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
        let (mut next, cursor) = (0, Cursor::default());
        while let Some(Edit { owner, .. }) = self.edits.get(next).filter(|edit| edit.owner < base) {
            let (start, end) = self.adjacency.pages_near(*owner, &cursor).into_inner();
            // Behind the last list that lies in the same page as this one, or is this one.
            let behind = match start == end {
                true => self.adjacency.whole_in(start).end.min(base),
                false => owner + 1,
            };
            let edits = next..next + gallop(&self.edits[next..], |edit| edit.owner < behind);
            while let Some(page) = delta.filter(|page| *page <= start) {
                add(page..page + 1, next..next, true);
                delta = with_delta.next()?;
            }
            next = edits.end;
            add(start..end + 1, edits, false);
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
