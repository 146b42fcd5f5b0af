//! Changes that the pages of the lists do not have: those of the log, which are in memory, and
//! those of delta runs. Pages are read with them.
//!
//! - [`ListDelta`]: the changes of one direction; [`PageDelta`]: those of a page, which puts them
//!   together with its lists
//! - `gather`: the changes of a page from all runs and the log
//! - `merged`: the lists of a page with its changes
//! - `list`: a list with its changes; `changed`: beside them, for look-ups
//! - `lengths`: how much longer lists have become; `spans`: those that have several pages
//! - `weights`: where the weights of a page with its changes are

mod changed;
pub(crate) mod gather;
mod lengths;
mod list;
pub(crate) mod merged;
mod spans;
mod weights;

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use crate::error::{PageFault, Result, other};
use crate::gallop::gallop;
use crate::log::{EdgeOp, Pending};
use crate::page::{List, Page, PageEnds};
use crate::runs::page::{RawEdit, RawSpan, RunGroup};
use crate::{Direction, VertexId};
pub(crate) use changed::ChangedList;
pub(crate) use gather::DeltaRoom;
pub use gather::EntryOrder;
use gather::{PageEdit, RunsFrom, are_added};
pub(crate) use lengths::Lengths;
use list::put_together;
use merged::Merged;
pub(crate) use spans::{Span, spans_of};
use weights::LoggedWeights;
pub use weights::{WeightPlace, WeightRun};

/// A change of a list, and the page in which the entry has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlacedEdit {
    pub owner: VertexId,
    pub other: VertexId,
    /// The page, and what becomes of the entry.
    place: u64,
}

/// Bits of [`PlacedEdit::place`]: the entry is added; it only gets another weight. Else it is
/// deleted.
const ADDED: u64 = 1 << 63;
const REWEIGHED: u64 = 1 << 62;

impl PlacedEdit {
    pub fn new(owner: VertexId, other: VertexId, page: u64, is_added: bool) -> Self {
        Self { owner, other, place: page | if is_added { ADDED } else { 0 } }
    }

    fn of_op(owner: VertexId, other: VertexId, page: u64, op: EdgeOp) -> Self {
        match op {
            EdgeOp::Set => Self { owner, other, place: page | REWEIGHED },
            op => Self::new(owner, other, page, op == EdgeOp::Add),
        }
    }

    pub fn page(&self) -> u64 {
        self.place & !(ADDED | REWEIGHED)
    }

    pub fn is_added(&self) -> bool {
        self.place & ADDED != 0
    }

    /// Whether the list has the entry before and after.
    fn is_reweighed(&self) -> bool {
        self.place & REWEIGHED != 0
    }

    fn op(&self) -> EdgeOp {
        match (self.is_added(), self.is_reweighed()) {
            (_, true) => EdgeOp::Set,
            (true, _) => EdgeOp::Add,
            _ => EdgeOp::Delete,
        }
    }

    pub fn net(&self) -> i64 {
        self.op().entries()
    }
}

/// Most entries of a page with its changes: the starts of its lists are 16-bit numbers.
pub(crate) const PAGE_ENTRIES_MAX: usize = u16::MAX as usize;

/// Most lists of a page on the device: its header counts them in 16 bits.
const PAGE_LISTS_MAX: VertexId = u16::MAX as VertexId;

/// Where the lists of a direction lie, by their page index.
pub(crate) struct ListPages<'i> {
    pub vertices: VertexId,
    pub pages: u64,
    pub pages_of: &'i dyn Fn(VertexId) -> RangeInclusive<u64>,
}

/// The changes of the lists of one direction.
#[derive(Debug)]
pub(crate) struct ListDelta {
    /// Those before the changes of the log.
    runs: Option<RunsFrom>,
    /// Of the log, or others that come last: ascending by owner and entry, and so by page.
    edits: Vec<PlacedEdit>,
    /// The weights of these, in a graph with weights.
    weights: Option<LoggedWeights>,
    /// Ascending by page and owner.
    spans: Vec<Span>,
    /// Vertices of the lists on the device, and those with the new ones.
    pub base: VertexId,
    pub vertices: VertexId,
    last_page: u64,
    /// Entries of all lists that the log adds.
    pub net: i64,
    /// Largest number of entries that are added to a page, by the log and in all.
    log_added_max: u64,
    pub page_added_max: u64,
}

/// The changes of the lists of one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageDelta<'d> {
    /// Ascending by owner, and but for [`EntryOrder::Any`] by entry.
    edits: &'d [PageEdit],
    spans: &'d [Span],
    /// First vertex of the page.
    first: VertexId,
    /// Lists that follow those of the page on the device.
    new: VertexId,
    /// Whether the changes are known to delete no entry.
    are_added: bool,
}

impl ListDelta {
    /// The changes of one direction: those of runs, then those of the log. An error where the
    /// latter contradict the page index.
    pub fn of_log(
        runs: Option<RunsFrom>,
        pending: &Pending,
        direction: Direction,
        directed: bool,
        lists: &ListPages<'_>,
    ) -> Result<Self, PageFault> {
        let mut edits = Vec::with_capacity(pending.edges.len() * if directed { 1 } else { 2 });
        for (&(source, target), edge) in &pending.edges {
            let pages = edge.pages();
            let edit = |owner, other, page| {
                (PlacedEdit::of_op(owner, other, page, edge.op()), edge.weight)
            };
            if !directed || direction == Direction::Out {
                edits.push(edit(source, target, pages[0]));
            }
            let is_loop = !directed && source == target;
            if (!directed || direction == Direction::In) && !is_loop {
                edits.push(edit(target, source, pages[1]));
            }
        }
        edits.sort_unstable();
        let weights = pending
            .weight_type()
            .map(|kind| LoggedWeights::new(kind, edits.iter().map(|(_, weight)| *weight)));
        let edits: Vec<_> = edits.into_iter().map(|(edit, _)| edit).collect();
        let vertices = pending.counts.vertices as VertexId;
        check(&edits, vertices, lists)?;
        Ok(Self { weights, ..Self::new(runs, edits, vertices, lists) })
    }

    /// The changes of one direction: those of runs, then `edits`, in a graph of so many vertices.
    ///
    /// # Panics
    /// In debug builds, if the edits do not ascend or do not lie in pages of their lists.
    pub fn of_placed(
        runs: Option<RunsFrom>,
        edits: Vec<PlacedEdit>,
        vertices: VertexId,
        lists: &ListPages<'_>,
    ) -> Self {
        debug_assert_eq!(check(&edits, vertices, lists).err().map(|fault| fault.to_string()), None);
        Self::new(runs, edits, vertices, lists)
    }

    fn new(
        runs: Option<RunsFrom>,
        edits: Vec<PlacedEdit>,
        vertices: VertexId,
        lists: &ListPages<'_>,
    ) -> Self {
        let mut log_added_max = 0;
        for of_page in edits.chunk_by(|a, b| a.page() == b.page()) {
            let added = of_page.iter().filter(|edit| edit.is_added()).count();
            log_added_max = log_added_max.max(added as u64);
        }
        let runs_added_max = runs.as_ref().map_or(0, |runs| runs.runs.added_max());
        Self {
            runs,
            net: edits.iter().map(PlacedEdit::net).sum(),
            spans: spans::of_edits(&edits, lists),
            edits,
            weights: None,
            base: lists.vertices,
            vertices,
            last_page: lists.pages.wrapping_sub(1),
            log_added_max,
            page_added_max: log_added_max + runs_added_max,
        }
    }

    /// An upper bound of the entries that are added to any so many pages together.
    pub fn added_max_of(&self, pages: u64) -> u64 {
        let logged = (pages * self.log_added_max).min(self.edits.len() as u64);
        logged + self.runs.as_ref().map_or(0, |runs| runs.runs.added_max_of(pages))
    }

    /// Whether a page surely has the same changes as one of another state of the graph.
    pub fn is_same(&self, page: u64, other: &Self, twin: u64) -> bool {
        let logged = |delta: &Self, page| !run(&delta.edits, page, PlacedEdit::page).is_empty();
        let places = |delta: &Self, page| {
            delta.runs.as_ref().map_or_else(Vec::new, |runs| runs.runs.places(page))
        };
        !logged(self, page)
            && !logged(other, twin)
            && (self.base, self.vertices) == (other.base, other.vertices)
            && places(self, page) == places(other, twin)
    }

    /// The delta runs, from one of them on.
    pub fn runs_from(&self, from: usize) -> Option<RunsFrom> {
        self.runs.as_ref().map(|RunsFrom { runs, .. }| RunsFrom { runs: Arc::clone(runs), from })
    }

    /// Bytes of memory without what is kept of delta runs.
    pub fn memory_bytes(&self) -> usize {
        let runs = self.runs.as_ref().map_or(0, |runs| runs.runs.index_bytes());
        let spans = self.spans.capacity() * size_of::<Span>();
        let weights = self.weights.as_ref().map_or(0, LoggedWeights::memory_bytes);
        runs + self.edits.capacity() * size_of::<PlacedEdit>() + weights + spans
    }

    /// The changes of the log in a page, by their places among all of them.
    fn edits_of(&self, page: u64) -> Range<usize> {
        let start = self.edits.partition_point(|edit| edit.page() < page);
        let len = self.edits[start..].iter().take_while(|edit| edit.page() == page).count();
        start..start + len
    }

    /// Bytes of a [`DeltaRoom`] that fits every page of at most so many entries and lists, without
    /// the chunks of runs that its cursors hold.
    pub fn room_bytes(&self, entries_max: usize, lists_max: usize) -> usize {
        // What is deleted was there or was added.
        let edits = entries_max + 2 * self.page_added_max as usize;
        DeltaRoom::bytes_for(edits, lists_max)
    }

    /// The changes of a page, if it has any.
    #[inline]
    pub fn of_page<'d>(
        &'d self,
        page: u64,
        first: VertexId,
        room: &'d mut DeltaRoom,
    ) -> Result<Option<PageDelta<'d>>> {
        self.of_page_in(page, first, EntryOrder::Ascending, room)
    }

    /// The changes of a page, for lists of which the entries are in this order.
    #[inline]
    pub fn of_page_in<'d>(
        &'d self,
        page: u64,
        first: VertexId,
        order: EntryOrder,
        room: &'d mut DeltaRoom,
    ) -> Result<Option<PageDelta<'d>>> {
        self.of_parts((page, first), (0..=VertexId::MAX, order), self.logged(page), room)
    }

    /// The changes of the log in a page.
    fn logged(&self, page: u64) -> (&[PlacedEdit], &[Span]) {
        (run(&self.edits, page, PlacedEdit::page), run(&self.spans, page, |span| span.page))
    }

    /// The changes of a page, of the runs only those of some lists.
    #[inline]
    pub fn of_lists<'d>(
        &'d self,
        page: u64,
        first: VertexId,
        owners: RangeInclusive<VertexId>,
        room: &'d mut DeltaRoom,
    ) -> Result<Option<PageDelta<'d>>> {
        let in_order = (owners, EntryOrder::Ascending);
        self.of_parts((page, first), in_order, self.logged(page), room)
    }

    /// The changes of some lists of a page, of which `edits` and `spans` are those of the log.
    fn of_parts<'d>(
        &'d self,
        (page, first): (u64, VertexId),
        (owners, order): (RangeInclusive<VertexId>, EntryOrder),
        (edits, spans): (&[PlacedEdit], &[Span]),
        room: &'d mut DeltaRoom,
    ) -> Result<Option<PageDelta<'d>>> {
        let new = self.new_lists(page);
        room.clear();
        if let Some(runs) = &self.runs {
            // Owners lie in a page from its first vertex on.
            let [start, end] = [owners.start(), owners.end()].map(|v| v.saturating_sub(first));
            let of_all = owners == (0..=VertexId::MAX);
            let within = if of_all { 0..=u32::MAX } else { start..=end };
            room.add_runs(runs, page, &within)?;
        }
        if !edits.is_empty() || !spans.is_empty() {
            let from = edits.partition_point(|edit| edit.owner < *owners.start());
            let to = edits.partition_point(|edit| edit.owner <= *owners.end());
            let edits = edits[from..to].iter().filter(|edit| !edit.is_reweighed());
            let of_page =
                |edit: &PlacedEdit| PageEdit::new(edit.owner - first, edit.other, edit.is_added());
            room.add(edits.map(of_page), spans);
        }
        let are_added = match &self.runs {
            None => are_added(&room.edits),
            Some(RunsFrom { runs, .. }) => {
                let lists = self.lists_max(page, first);
                let finished = room.finish(self.vertices, lists, order);
                finished.map_err(|fault| runs.fault(page, fault))?
            }
        };
        let DeltaRoom { edits, spans, .. } = room;
        let is_changed = !edits.is_empty() || !spans.is_empty() || new > 0;
        Ok(is_changed.then_some(PageDelta { edits, spans, first, new, are_added }))
    }

    /// Lists that follow those of a page on the device.
    fn new_lists(&self, page: u64) -> VertexId {
        if page == self.last_page { self.vertices - self.base } else { 0 }
    }

    /// Lists that a page may have at most, which begins with that of `first`.
    fn lists_max(&self, page: u64, first: VertexId) -> VertexId {
        let of_page = PAGE_LISTS_MAX.saturating_add(self.new_lists(page));
        self.vertices.saturating_sub(first).min(of_page)
    }

    /// Whether a page has changes. Puts those of several runs together only where they may cancel
    /// each other out.
    pub fn is_changed(&self, page: u64, first: VertexId, room: &mut DeltaRoom) -> Result<bool> {
        if page == self.last_page && self.vertices > self.base {
            return Ok(true);
        }
        if let (Some(RunsFrom { runs, from }), true) = (&self.runs, self.edits.is_empty()) {
            let (mut groups, mut are_added) = (0, true);
            runs.of_page(*from, page, &mut room.cursors, &mut |group| {
                groups += usize::from(!group.edits.is_empty());
                are_added &= group.edits.iter().all(|edit| edit.is_added());
                Ok(())
            })?;
            if groups > 0 && (groups == 1 || are_added) {
                return Ok(true);
            }
        }
        Ok(self.of_page(page, first, room)?.is_some())
    }

    /// How many entries more a page has with its changes.
    pub fn page_net(&self, page: u64, room: &mut DeltaRoom) -> Result<i64> {
        let mut net = run(&self.edits, page, PlacedEdit::page).iter().map(PlacedEdit::net).sum();
        let Some(RunsFrom { runs, from }) = &self.runs else { return Ok(net) };
        runs.of_page(*from, page, &mut room.cursors, &mut |group| {
            let deleted = group.edits.iter().filter(|edit| !edit.is_added()).count() as i64;
            net += group.edits.len() as i64 - 2 * deleted;
            Ok(())
        })?;
        Ok(net)
    }

    /// Pages of the lists, without those of new vertices.
    pub fn pages(&self) -> u64 {
        self.last_page.wrapping_add(1)
    }

    /// Changes of the log, or others that come last.
    pub fn edits(&self) -> usize {
        self.edits.len()
    }

    /// Passes on the changes of some pages, ascending by page, as they are in a run.
    pub fn for_each_group(
        &self,
        pages: Range<u64>,
        first_of: &dyn Fn(u64) -> VertexId,
        room: &mut DeltaRoom,
        visit: &mut dyn FnMut(&RunGroup<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut spans, mut edits) = (Vec::new(), Vec::new());
        let first = self.edits.partition_point(|edit| edit.page() < pages.start);
        let first_span = self.spans.partition_point(|span| span.page < pages.start);
        let (mut own_edits, mut own_spans) = (&self.edits[first..], &self.spans[first_span..]);
        for page in pages {
            let of_edits = split_front(&mut own_edits, |edit| edit.page() == page);
            let of_spans = split_front(&mut own_spans, |span| span.page == page);
            let own = (of_edits, of_spans);
            let of_page = (page, first_of(page));
            let all = (0..=VertexId::MAX, EntryOrder::Ascending);
            let Some(delta) = self.of_parts(of_page, all, own, room)? else { continue };
            (spans, edits) = (cleared(spans), cleared(edits));
            spans.extend(
                delta.spans.iter().filter(|span| (span.before, span.whole) != (0, 0)).map(
                    |&Span { owner, before, whole, .. }| RawSpan { owner, zero: 0, before, whole },
                ),
            );
            edits.extend(delta.edits.iter().map(|edit| RawEdit::from(*edit)));
            visit(&RunGroup { page, spans: &spans, edits: &edits })?;
        }
        Ok(())
    }
}

fn cleared<T>(mut items: Vec<T>) -> Vec<T> {
    items.clear();
    items
}

/// The items of a page among those that ascend by page.
fn run<T>(items: &[T], page: u64, page_of: impl Fn(&T) -> u64) -> &[T] {
    let start = items.partition_point(|item| page_of(item) < page);
    split_front(&mut &items[start..], |item| page_of(item) == page)
}

/// Takes the first items, as far as they are wanted.
fn split_front<'i, T>(items: &mut &'i [T], is_wanted: impl Fn(&T) -> bool) -> &'i [T] {
    let (front, rest) = items.split_at(gallop(items, is_wanted));
    *items = rest;
    front
}

/// Checks that each change lies in a page of its list, and that pages ascend.
fn check(edits: &[PlacedEdit], vertices: VertexId, lists: &ListPages<'_>) -> Result<(), PageFault> {
    if lists.pages == 0 && vertices > 0 {
        return Err(other("it changes a graph without pages"));
    }
    let mut before = 0;
    for of_list in edits.chunk_by(|a, b| a.owner == b.owner) {
        let owner = of_list[0].owner;
        let pages = match owner < lists.vertices {
            true => (lists.pages_of)(owner),
            false => lists.pages.wrapping_sub(1)..=lists.pages.wrapping_sub(1),
        };
        for edit in of_list {
            let page = edit.page();
            if !pages.contains(&page) || page < before {
                return Err(other(format!("page {page} has no place in the list of {owner}")));
            }
            before = page;
        }
    }
    Ok(())
}

impl PageDelta<'_> {
    /// Whether there are other entries or lists than on the device, not only other places of them.
    pub fn changes_entries(&self) -> bool {
        self.new > 0 || !self.edits.is_empty()
    }

    /// Puts the lists of the page together with the changes, in this order of their entries.
    pub fn merge(
        &self,
        page: &Page<'_>,
        order: EntryOrder,
        merged: &mut Merged,
    ) -> Result<PageEnds, PageFault> {
        merged.clear(page.entries().len() + self.edits.len());
        let stored = page.list_count();
        let lists = stored + self.new as usize;
        if self.edits.last().is_some_and(|edit| edit.owner() as usize >= lists) {
            return Err(other("there are changes of lists that are not in the page"));
        }
        if order == EntryOrder::Any && self.are_added {
            merged.fill(page.parts(), lists, self.edits);
        } else {
            let mut next = 0;
            for edits in self.edits.chunk_by(|a, b| a.owner() == b.owner()) {
                let owner = edits[0].owner() as usize;
                copy_lists(page, next..owner, merged);
                let list = if owner < stored { page.list(owner).targets } else { &[] };
                merged.push_list(|out| put_together(list, edits, order, out))?;
                next = owner + 1;
            }
            copy_lists(page, next..lists, merged);
        }
        let [first, last] = merged.finish()?;
        self.ends(page, first, last)
    }

    /// Place and length of the first list and length of the last one, given how many of their
    /// entries are in the page now.
    fn ends(&self, page: &Page<'_>, first: u64, last: u64) -> Result<PageEnds, PageFault> {
        let mut ends = page.ends();
        let span = |owner| self.spans.iter().find(|span| span.owner == owner);
        let degree = |list: &List<'_>, in_page: u64| match span(list.vertex) {
            Some(span) => add(list.degree, span.whole),
            None if list.is_whole() => Ok(in_page),
            // It goes on in other pages, and its length has not changed.
            None => Ok(list.degree),
        };
        let (head, lists) = (page.list(0), page.list_count());
        if let Some(span) = span(head.vertex) {
            ends.head_skip = add(head.skip, span.before)?;
        }
        ends.head_degree = degree(&head, first)?;
        ends.tail_degree = match (self.new, lists) {
            (0, 1) => ends.head_degree,
            (0, _) => degree(&page.list(lists - 1), last)?,
            _ => last,
        };
        Ok(ends)
    }
}

fn add(number: u64, change: i64) -> Result<u64, PageFault> {
    let negative = || other("changes delete more of a list than it has");
    number.checked_add_signed(change).ok_or_else(negative)
}

/// Appends lists of a page as they are; those behind its last one are empty.
fn copy_lists(page: &Page<'_>, lists: Range<usize>, merged: &mut Merged) {
    let stored = lists.start.min(page.list_count())..lists.end.min(page.list_count());
    if !stored.is_empty() {
        let from = page.start(stored.start);
        let entries = &page.entries()[from..page.end(stored.end - 1)];
        merged.copy(entries, stored.clone().map(|list| page.start(list) - from));
    }
    merged.copy(&[], std::iter::repeat_n(0, lists.len() - stored.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_at_most_the_lists_that_its_header_can_count_and_the_new_ones() {
        let pages_of = |vertex: VertexId| u64::from(vertex / 1000)..=u64::from(vertex / 1000);
        let lists = ListPages { vertices: 3_000_000, pages: 3000, pages_of: &pages_of };
        let delta = ListDelta::new(None, Vec::new(), 3_000_100, &lists);
        assert_eq!(delta.lists_max(0, 0), 65_535);
        assert_eq!(delta.lists_max(2998, 2_998_000), 2_100);
        assert_eq!(delta.lists_max(2999, 2_900_000), 65_635);
    }
}
