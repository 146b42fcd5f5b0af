//! Finds the places of the edits of a batch in the lists, in one pass over the pages concerned.
//!
//! As [`super::lists`], but the lists stay as they are: what changes is for a delta run.

use std::ops::Range;

use cenote_pool::Handle;

use super::Answer;
use super::ahead::{Ahead, Group};
use super::answers::Answers;
use super::edits::Edit;
use super::lists::PagesWithDelta;
use super::one_direction::Lists;
use crate::VertexId;
use crate::degrees::longer;
use crate::delta::{PAGE_ENTRIES_MAX, PlacedEdit};
use crate::error::Result;
use crate::gallop::{Cursor, gallop};
use crate::header::PageHeader;
use crate::packed::decode::Decoded;
use crate::page::List;
use crate::store::draft::Draft;

/// What a batch changes in the lists of one direction.
#[derive(Debug)]
pub(super) struct Placed {
    /// Those edits that have an effect, ascending.
    pub edits: Vec<PlacedEdit>,
    /// The longest list and its smallest vertex; `None` if it may have become shorter.
    pub longest: Option<(u64, VertexId)>,
    pub pages_read: u64,
}

/// What a batch changes in the lists of a group.
#[derive(Debug, Default)]
struct PlacedGroup {
    edits: Vec<PlacedEdit>,
    longest: Option<(u64, VertexId)>,
    answers: Answers,
    /// The pages that were read, and their entries without the edits.
    entries: Vec<(u64, i64)>,
    /// Whether a part of a long list would keep no entry.
    empties_part: bool,
}

/// Finds the places of the edits of a group.
struct Pass<'a> {
    lists: &'a Lists<'a>,
    handle: &'a Handle,
    decoded: &'a mut Decoded,
    cursor: &'a Cursor,
    placed: PlacedGroup,
    /// The longest list before the batch.
    longest_before: (u64, VertexId),
}

impl Lists<'_> {
    /// Places the edits and records the answers. `None` if the lists have to be rewritten: pages
    /// would have too many entries, or a part of a long list none.
    pub fn place(&self, draft: &mut Draft<'_>, answers: &mut [Answer]) -> Result<Option<Placed>> {
        let groups = self.groups(PagesWithDelta::none(self.adjacency))?;
        let (graph, adjacency) = (self.graph, self.adjacency);
        let ahead = Ahead { graph, adjacency, column: None, groups: &groups };
        let superblock = graph.superblock();
        let longest_before = (superblock.degree_max, superblock.degree_max_vertex);
        let edits = Vec::with_capacity(self.edits.len());
        let mut placed = Placed { edits, longest: Some(longest_before), pages_read: 0 };
        let mut entries = Vec::new();
        let pages = groups.iter().map(|group| group.pages.end - group.pages.start).sum();
        draft.expect_pages(pages);
        let find = |(decoded, cursor): &mut (Decoded, Cursor), handle: &Handle, group: &Group| {
            let own = PlacedGroup { longest: Some(longest_before), ..PlacedGroup::default() };
            let mut pass =
                Pass { lists: self, handle, decoded, cursor, placed: own, longest_before };
            pass.group(group)?;
            Ok(pass.placed)
        };
        let mut empties_part = false;
        let begin = || Ok((Decoded::new(), Cursor::default()));
        ahead.in_order(draft.threads_for(pages), begin, find, |group, own| {
            let pages = group.pages.end - group.pages.start;
            placed.pages_read += pages;
            placed.edits.extend_from_slice(&own.edits);
            let both = placed.longest.zip(own.longest);
            placed.longest = both.map(|(longest, own)| longer(longest, own));
            own.answers.copy_to(answers);
            entries.extend_from_slice(&own.entries);
            empties_part |= own.empties_part;
            draft.advance(pages)
        })?;
        let is_whole = !empties_part && has_room(&mut entries, &placed.edits);
        Ok(is_whole.then_some(placed))
    }
}

impl Pass<'_> {
    fn group(&mut self, group: &Group) -> Result<()> {
        let lists = self.lists;
        let all = &lists.edits[group.edits.clone()];
        // Lists that lie in one page are read together.
        let (mut together, mut page) = (0..0, u64::MAX);
        let mut at = 0;
        for of_list in all.chunk_by(|a, b| a.owner == b.owner) {
            let own = at..at + of_list.len();
            at = own.end;
            let (start, end) = self.pages_of(of_list[0].owner);
            if start != page || start != end {
                self.within(page, &all[std::mem::take(&mut together)])?;
                together = own.start..own.start;
                page = start;
            }
            if start == end {
                together.end = own.end;
                continue;
            }
            self.long(start..end + 1, of_list)?;
            (together, page) = (own.end..own.end, u64::MAX);
        }
        self.within(page, &all[together])
    }

    /// The first and the last page of a list.
    fn pages_of(&self, owner: VertexId) -> (u64, u64) {
        let adjacency = self.lists.adjacency;
        match owner < self.lists.base() {
            true => adjacency.pages_near(owner, self.cursor).into_inner(),
            false => (adjacency.pages() - 1, adjacency.pages() - 1),
        }
    }

    /// Places the edits of lists that lie within a page.
    fn within(&mut self, page: u64, edits: &[Edit]) -> Result<()> {
        if edits.is_empty() {
            return Ok(());
        }
        let base = self.lists.base();
        let (stored, new) = edits.split_at(edits.partition_point(|edit| edit.owner < base));
        let mut owners: Vec<VertexId> = stored.iter().map(|edit| edit.owner).collect();
        owners.dedup();
        let mut of_lists = stored.chunk_by(|a, b| a.owner == b.owner);
        self.read(page, &owners, |pass, list| {
            let net = pass.list(list, of_lists.next().expect("one for each owner"));
            pass.follow_longest(list.vertex, list.degree, net);
        })?;
        for of_list in new.chunk_by(|a, b| a.owner == b.owner) {
            let list = List::empty(of_list[0].owner, self.lists.adjacency.first_page() + page);
            let net = self.list(&list, of_list);
            self.follow_longest(list.vertex, 0, net);
        }
        Ok(())
    }

    /// Places the edits of a list of several pages: each in the last one that begins with a smaller
    /// entry, else in the first one.
    fn long(&mut self, pages: Range<u64>, edits: &[Edit]) -> Result<()> {
        let owner = [edits[0].owner];
        let mut firsts = Vec::with_capacity((pages.end - pages.start) as usize);
        for page in pages.clone() {
            self.read(page, &owner, |_, list| firsts.push(list.targets.first().copied()))?;
        }
        let (mut rest, mut degree, mut whole) = (edits, 0, 0);
        for (i, page) in pages.enumerate() {
            let next = firsts.get(i + 1).copied().flatten();
            let own = gallop(rest, |edit| next.is_none_or(|next| edit.other < next));
            let (own, behind) = rest.split_at(own);
            rest = behind;
            if own.is_empty() {
                continue;
            }
            self.read(page, &owner, |pass, list| {
                let net = pass.list(list, own);
                degree = list.degree;
                whole += net;
                // A part without an entry could not be told from its beginning.
                pass.placed.empties_part |= list.targets.len() as i64 + net <= 0;
            })?;
        }
        self.follow_longest(owner[0], degree, whole);
        Ok(())
    }

    /// Calls `take` with some lists of a page, or their parts in it.
    fn read(
        &mut self,
        page: u64,
        owners: &[VertexId],
        mut take: impl FnMut(&mut Self, &List<'_>),
    ) -> Result<()> {
        let Lists { graph, adjacency, .. } = *self.lists;
        let bytes = graph.pages.pin(self.handle, adjacency.first_page() + page)?;
        let mut decoded = std::mem::take(self.decoded);
        if self.placed.entries.last().is_none_or(|(last, _)| *last != page) {
            let stored = i64::from(PageHeader::read(&bytes).entries);
            self.placed.entries.push((page, stored + adjacency.page_net(page, &mut decoded)?));
        }
        adjacency
            .reparse_lists(page, &bytes, owners, &mut decoded, &mut |list| take(self, list))?;
        *self.decoded = decoded;
        Ok(())
    }

    /// Places the edits of a list, or of its part in a page. Returns by how much it grows.
    fn list(&mut self, list: &List<'_>, edits: &[Edit]) -> i64 {
        let page = list.page - self.lists.adjacency.first_page();
        let (mut rest, mut net) = (list.targets, 0);
        for of_entry in edits.chunk_by(|a, b| a.other == b.other) {
            let other = of_entry[0].other;
            rest = &rest[gallop(rest, |entry| *entry < other)..];
            let was_there = rest.first() == Some(&other);
            let (is_there, _) =
                self.lists.changes.settle(of_entry, (was_there, None), &mut self.placed.answers);
            if is_there != was_there {
                let edit = PlacedEdit::new(list.vertex, other, page, is_there);
                net += edit.net();
                self.placed.edits.push(edit);
            }
        }
        net
    }

    /// Keeps the longest list up to date when a list grows.
    fn follow_longest(&mut self, vertex: VertexId, degree: u64, net: i64) {
        let longest = &mut self.placed.longest;
        if net < 0 && vertex == self.longest_before.1 {
            *longest = None;
        }
        *longest =
            longest.map(|longest| longer(longest, (degree.saturating_add_signed(net), vertex)));
    }
}

/// Whether all pages, of so many entries each without the edits, can be read with them.
fn has_room(entries: &mut [(u64, i64)], edits: &[PlacedEdit]) -> bool {
    entries.sort_unstable();
    let mut entries = entries.iter();
    let fits = |of_page: &[PlacedEdit]| {
        let page = of_page[0].page();
        let (_, stored) = entries.find(|(read, _)| *read == page).expect("it was read");
        stored + of_page.iter().map(PlacedEdit::net).sum::<i64>() <= PAGE_ENTRIES_MAX as i64
    };
    edits.chunk_by(|a, b| a.page() == b.page()).all(fits)
}
