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
use crate::delta::{ChangedList, DeltaRoom, PAGE_ENTRIES_MAX, PlacedEdit};
use crate::error::{PageFault, Result};
use crate::gallop::{Cursor, gallop};
use crate::header::PageHeader;
use crate::packed::decode::Decoded;
use crate::page::List;
use crate::runs::page::RunGroups;
use crate::runs::write::RunWriter;
use crate::store::draft::Draft;

/// What a batch changes in the lists of one direction.
#[derive(Debug)]
pub(super) struct Placed {
    /// Those edits that have an effect, ascending, if they are kept.
    pub edits: Vec<PlacedEdit>,
    /// By how many entries the lists become longer.
    pub net: i64,
    pub is_changed: bool,
    /// The longest list and its smallest vertex; `None` if it may have become shorter.
    pub longest: Option<(u64, VertexId)>,
    pub pages_read: u64,
}

/// What becomes of placed edits.
pub(super) enum PlacedTo<'t, 'd, 's> {
    /// They are kept; the draft is for the progress.
    Kept(&'t mut Draft<'s>),
    /// They are written as the changes of a run, and kept too if the flag is set.
    Run(&'t mut RunWriter<'d, 's>, bool),
}

impl<'s> PlacedTo<'_, '_, 's> {
    fn draft(&mut self) -> &mut Draft<'s> {
        match self {
            Self::Kept(draft) => draft,
            Self::Run(writer, _) => writer.draft(),
        }
    }
}

/// What a batch changes in the lists of a group.
#[derive(Debug, Default)]
struct PlacedGroup {
    edits: Vec<PlacedEdit>,
    /// The edits as those of a run, if they are written.
    of_run: RunGroups,
    net: i64,
    is_changed: bool,
    longest: Option<(u64, VertexId)>,
    answers: Answers,
    /// The pages that may have too many entries with the edits, and what they have without.
    entries: Vec<(u64, i64)>,
    /// Whether a page would have too many entries, or a part of a long list none.
    has_no_room: bool,
}

/// Finds the places of the edits of a group.
struct Pass<'a> {
    lists: &'a Lists<'a>,
    handle: &'a Handle,
    decoded: &'a mut Decoded,
    cursor: &'a Cursor,
    placed: PlacedGroup,
    /// Most entries that runs and the edits of the group add to a page.
    added_max: i64,
    /// The vertex of the longest list before the batch.
    longest_before: Option<VertexId>,
}

impl Lists<'_> {
    /// Places the edits and records the answers. `None` if the lists have to be rewritten: pages
    /// would have too many entries, or a part of a long list none.
    pub fn place(
        &self,
        mut to: PlacedTo<'_, '_, '_>,
        answers: &mut [Answer],
    ) -> Result<Option<Placed>> {
        let groups = self.groups(PagesWithDelta::none(self.adjacency))?;
        let (graph, adjacency) = (self.graph, self.adjacency);
        let ahead = Ahead { graph, adjacency, column: None, groups: &groups };
        let superblock = graph.superblock();
        let longest = Some((superblock.degree_max, superblock.degree_max_vertex));
        let (is_written, is_kept) = match to {
            PlacedTo::Kept(_) => (false, true),
            PlacedTo::Run(_, is_kept) => (true, is_kept),
        };
        let edits = Vec::with_capacity(if is_kept { self.edits.len() } else { 0 });
        let mut placed = Placed { edits, net: 0, is_changed: false, longest, pages_read: 0 };
        let pages = groups.iter().map(|group| group.pages.end - group.pages.start).sum();
        to.draft().expect_pages(pages);
        let threads = to.draft().threads_for(pages);
        let mut has_room = true;
        let begin = || Ok(Worker::default());
        let find = |worker: &mut Worker, handle: &Handle, group: &Group| {
            let placed = self.place_group((handle, worker), group, longest)?;
            if is_written { self.for_run(placed, group, worker, is_kept) } else { Ok(placed) }
        };
        ahead.in_order(threads, begin, find, |group, own| {
            let pages = group.pages.end - group.pages.start;
            placed.pages_read += pages;
            placed.edits.extend_from_slice(&own.edits);
            placed.net += own.net;
            placed.is_changed |= own.is_changed;
            let both = placed.longest.zip(own.longest);
            placed.longest = both.map(|(longest, own)| longer(longest, own));
            own.answers.copy_to(answers);
            has_room &= !own.has_no_room;
            if let PlacedTo::Run(writer, _) = &mut to {
                own.of_run.for_each(&mut |group| writer.group(group))?;
            }
            to.draft().advance(pages)
        })?;
        Ok(has_room.then_some(placed))
    }

    fn place_group(
        &self,
        (handle, worker): (&Handle, &mut Worker),
        group: &Group,
        longest: Option<(u64, VertexId)>,
    ) -> Result<PlacedGroup> {
        let runs_added_max = self.adjacency.delta().map_or(0, |delta| delta.page_added_max);
        let mut pass = Pass {
            lists: self,
            handle,
            decoded: &mut worker.decoded,
            cursor: &worker.cursor,
            placed: PlacedGroup { longest, ..PlacedGroup::default() },
            added_max: (runs_added_max + group.edits.len() as u64) as i64,
            longest_before: longest.map(|(_, vertex)| vertex),
        };
        pass.group(group)?;
        let mut placed = pass.placed;
        placed.has_no_room |= !has_room(&mut placed.entries, &placed.edits);
        placed.net = placed.edits.iter().map(PlacedEdit::net).sum();
        placed.is_changed = !placed.edits.is_empty();
        Ok(placed)
    }

    /// The edits of a group as the changes of a run.
    fn for_run(
        &self,
        mut placed: PlacedGroup,
        group: &Group,
        worker: &mut Worker,
        is_kept: bool,
    ) -> Result<PlacedGroup> {
        let lists = self.adjacency;
        let edits = if is_kept { placed.edits.clone() } else { std::mem::take(&mut placed.edits) };
        let delta = lists.with_edits(None, edits, self.vertices);
        let first_of = |page| lists.vertices_in(page).start;
        delta.for_each_group(group.pages.clone(), &first_of, &mut worker.room, &mut |group| {
            placed.of_run.push(group);
            Ok(())
        })?;
        Ok(placed)
    }
}

/// What a thread uses for one group after the other.
#[derive(Default)]
struct Worker {
    decoded: Decoded,
    cursor: Cursor,
    room: DeltaRoom,
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
            let net = pass.list(list, of_lists.next().expect("one for each owner"))?;
            pass.follow_longest(list.list.vertex, list.list.degree, net);
            Ok(())
        })?;
        for of_list in new.chunk_by(|a, b| a.owner == b.owner) {
            let list = List::empty(of_list[0].owner, self.lists.adjacency.first_page() + page);
            let net = self.list(&ChangedList::unchanged(list), of_list);
            let net = net.map_err(|fault| self.lists.adjacency.fault(page, fault))?;
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
            self.read(page, &owner, |_, list| {
                firsts.push(list.first()?);
                Ok(())
            })?;
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
                let net = pass.list(list, own)?;
                degree = list.list.degree;
                whole += net;
                // A part without an entry could not be told from its beginning.
                pass.placed.has_no_room |= list.len() + net <= 0;
                Ok(())
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
        mut take: impl FnMut(&mut Self, &ChangedList<'_>) -> Result<(), PageFault>,
    ) -> Result<()> {
        let Lists { graph, adjacency, .. } = *self.lists;
        let bytes = graph.pages.pin(self.handle, adjacency.first_page() + page)?;
        let mut decoded = std::mem::take(self.decoded);
        let stored = i64::from(PageHeader::read(&bytes).entries);
        let is_known = self.placed.entries.last().is_some_and(|(last, _)| *last == page);
        if stored + self.added_max > PAGE_ENTRIES_MAX as i64 && !is_known {
            self.placed.entries.push((page, stored + adjacency.page_net(page, &mut decoded)?));
        }
        adjacency
            .changed_lists(page, &bytes, owners, &mut decoded, &mut |list| take(self, list))?;
        *self.decoded = decoded;
        Ok(())
    }

    /// Places the edits of a list, or of its part in a page. Returns by how much it grows.
    fn list(&mut self, list: &ChangedList<'_>, edits: &[Edit]) -> Result<i64, PageFault> {
        let List { vertex, page, .. } = list.list;
        let page = page - self.lists.adjacency.first_page();
        let (mut search, mut net) = (list.search(), 0);
        for of_entry in edits.chunk_by(|a, b| a.other == b.other) {
            let other = of_entry[0].other;
            let was_there = search.has(other)?;
            let (is_there, _) =
                self.lists.changes.settle(of_entry, (was_there, None), &mut self.placed.answers);
            if is_there != was_there {
                let edit = PlacedEdit::new(vertex, other, page, is_there);
                net += edit.net();
                self.placed.edits.push(edit);
            }
        }
        Ok(net)
    }

    /// Keeps the longest list up to date when a list grows.
    fn follow_longest(&mut self, vertex: VertexId, degree: u64, net: i64) {
        let longest = &mut self.placed.longest;
        if net < 0 && Some(vertex) == self.longest_before {
            *longest = None;
        }
        *longest =
            longest.map(|longest| longer(longest, (degree.saturating_add_signed(net), vertex)));
    }
}

/// Whether the pages that may have too many entries, each with those it has without the edits, can
/// be read with them.
fn has_room(entries: &mut [(u64, i64)], edits: &[PlacedEdit]) -> bool {
    entries.sort_unstable();
    let mut rest = edits;
    entries.iter().all(|&(page, stored)| {
        rest = &rest[rest.partition_point(|edit| edit.page() < page)..];
        let own = rest.iter().take_while(|edit| edit.page() == page);
        stored + own.map(PlacedEdit::net).sum::<i64>() <= PAGE_ENTRIES_MAX as i64
    })
}
