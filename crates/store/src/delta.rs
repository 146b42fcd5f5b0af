//! Changes in memory that the lists on the device do not have: pages are read with them.

use std::ops::RangeInclusive;

use crate::error::{PageFault, other};
use crate::log::Pending;
use crate::packed::decode::Merged;
use crate::page::{List, Page, PageEnds};
use crate::{Direction, VertexId};

/// Most entries of a page with its changes: the starts of its lists are 16-bit numbers.
pub(crate) const PAGE_ENTRIES_MAX: usize = u16::MAX as usize;

/// One change of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edit {
    owner: VertexId,
    other: VertexId,
    /// The page with the place of the entry, and whether the entry is added.
    place: u64,
}

/// Bit of [`Edit::place`]: the entry is added, else deleted.
const ADDED: u64 = 1 << 63;

impl Edit {
    fn page(&self) -> u64 {
        self.place & !ADDED
    }

    fn is_added(&self) -> bool {
        self.place & ADDED != 0
    }

    fn net(&self) -> i64 {
        if self.is_added() { 1 } else { -1 }
    }
}

/// How a list of several pages changes, as one of its pages must know.
#[derive(Clone, Copy, Debug)]
struct Span {
    page: u64,
    owner: VertexId,
    /// Change of the length of the list in the pages before, and of its whole length.
    before: i64,
    whole: i64,
}

/// Where the lists of a direction lie, by their page index.
pub(crate) struct ListPages<'i> {
    pub vertices: VertexId,
    pub pages: u64,
    pub pages_of: &'i dyn Fn(VertexId) -> RangeInclusive<u64>,
}

/// The changes of the lists of one direction.
#[derive(Debug)]
pub(crate) struct ListDelta {
    /// Ascending by owner and entry, and so by page.
    edits: Vec<Edit>,
    /// Ascending by page and owner.
    spans: Vec<Span>,
    /// Vertices of the lists on the device, and those with the new ones.
    pub base: VertexId,
    pub vertices: VertexId,
    last_page: u64,
    /// Entries of all lists, more than on the device.
    pub net: i64,
    /// Largest number of entries that are added to a page.
    pub page_added_max: u64,
}

/// The changes of the lists of one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageDelta<'d> {
    edits: &'d [Edit],
    spans: &'d [Span],
    /// Lists that follow those of the page on the device.
    new: VertexId,
}

impl ListDelta {
    /// The changes of one direction. An error where they contradict the page index.
    pub fn new(
        pending: &Pending,
        direction: Direction,
        directed: bool,
        lists: &ListPages<'_>,
    ) -> Result<Self, PageFault> {
        let base = lists.vertices;
        let mut edits = Vec::with_capacity(pending.edges.len() * if directed { 1 } else { 2 });
        for (&(source, target), edge) in &pending.edges {
            let added = if edge.is_added { ADDED } else { 0 };
            let [of_source, of_target] = edge.pages.map(|page| page | added);
            if !directed || direction == Direction::Out {
                edits.push(Edit { owner: source, other: target, place: of_source });
            }
            let is_loop = !directed && source == target;
            if (!directed || direction == Direction::In) && !is_loop {
                edits.push(Edit { owner: target, other: source, place: of_target });
            }
        }
        edits.sort_unstable();
        let mut delta = Self {
            net: edits.iter().map(Edit::net).sum(),
            edits,
            spans: Vec::new(),
            base,
            vertices: pending.counts.vertices as VertexId,
            last_page: lists.pages.wrapping_sub(1),
            page_added_max: 0,
        };
        delta.check(lists)?;
        delta.spans = spans(&delta.edits, lists);
        let added = |of_page: &[Edit]| of_page.iter().filter(|edit| edit.is_added()).count() as u64;
        let pages = delta.edits.chunk_by(|a, b| a.page() == b.page());
        delta.page_added_max = pages.map(added).max().unwrap_or(0);
        Ok(delta)
    }

    /// Checks that each change lies in a page of its list, and that pages ascend.
    fn check(&self, lists: &ListPages<'_>) -> Result<(), PageFault> {
        if lists.pages == 0 && self.vertices > 0 {
            return Err(other("it changes a graph without pages"));
        }
        let mut before = 0;
        for edit in &self.edits {
            let pages = match edit.owner < self.base {
                true => (lists.pages_of)(edit.owner),
                false => self.last_page..=self.last_page,
            };
            if !pages.contains(&edit.page()) || edit.page() < before {
                let (owner, page) = (edit.owner, edit.page());
                return Err(other(format!("page {page} has no place in the list of {owner}")));
            }
            before = edit.page();
        }
        Ok(())
    }

    pub fn memory_bytes(&self) -> usize {
        self.edits.capacity() * size_of::<Edit>() + self.spans.capacity() * size_of::<Span>()
    }

    /// The changes of a page, if it has any.
    #[inline]
    pub fn of_page(&self, page: u64) -> Option<PageDelta<'_>> {
        let edits = run(&self.edits, page, Edit::page);
        let spans = run(&self.spans, page, |span| span.page);
        let new = if page == self.last_page { self.vertices - self.base } else { 0 };
        let is_changed = !edits.is_empty() || !spans.is_empty() || new > 0;
        is_changed.then_some(PageDelta { edits, spans, new })
    }

    /// Whether a page has other entries or lists than on the device, not only other places of them.
    pub fn changes_entries(&self, page: u64) -> bool {
        let is_extended = page == self.last_page && self.vertices > self.base;
        is_extended || !run(&self.edits, page, Edit::page).is_empty()
    }

    /// The change of the length of each list that has changes, ascending by vertex.
    pub fn lengths(&self) -> impl Iterator<Item = (VertexId, i64)> {
        let of_list = self.edits.chunk_by(|a, b| a.owner == b.owner);
        of_list.map(|edits| (edits[0].owner, edits.iter().map(Edit::net).sum()))
    }
}

/// The items of a page among those that ascend by page.
fn run<T>(items: &[T], page: u64, page_of: impl Fn(&T) -> u64) -> &[T] {
    let start = items.partition_point(|item| page_of(item) < page);
    let len = items[start..].iter().take_while(|item| page_of(item) == page).count();
    &items[start..start + len]
}

/// The pages of the changed lists that have several.
fn spans(edits: &[Edit], lists: &ListPages<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    for of_list in edits.chunk_by(|a, b| a.owner == b.owner) {
        let owner = of_list[0].owner;
        if owner >= lists.vertices {
            continue;
        }
        let pages = (lists.pages_of)(owner);
        if pages.start() == pages.end() {
            continue;
        }
        let whole = of_list.iter().map(Edit::net).sum();
        let (mut before, mut rest) = (0, of_list);
        for page in pages {
            spans.push(Span { page, owner, before, whole });
            let (own, behind) = rest.split_at(rest.partition_point(|edit| edit.page() <= page));
            before += own.iter().map(Edit::net).sum::<i64>();
            rest = behind;
        }
    }
    spans.sort_unstable_by_key(|span| (span.page, span.owner));
    spans
}

impl PageDelta<'_> {
    /// Puts the lists of the page together with the changes.
    pub fn merge(&self, page: &Page<'_>, merged: &mut Merged) -> Result<PageEnds, PageFault> {
        let Merged { entries, starts } = merged;
        entries.clear();
        starts.clear();
        let mut edits = self.edits;
        let lists = page.lists().map(|list| (list.vertex, list.targets));
        let first_new = page.first_vertex() + page.list_count() as VertexId;
        let new = (first_new..first_new + self.new).map(|vertex| (vertex, &[][..]));
        for (vertex, list) in lists.chain(new) {
            let start = u16::try_from(entries.len());
            starts.push(start.map_err(|_| too_many())?);
            let (own, rest) = edits.split_at(edits.partition_point(|edit| edit.owner <= vertex));
            edits = rest;
            merge_list(list, own, entries)?;
        }
        if !edits.is_empty() {
            return Err(other("the log has changes of lists that are not in the page"));
        }
        if entries.len() > PAGE_ENTRIES_MAX {
            return Err(too_many());
        }
        let second = starts.get(1).map_or(entries.len(), |start| usize::from(*start));
        let last = entries.len() - starts.last().map_or(0, |start| usize::from(*start));
        starts.reverse();
        self.ends(page, second as u64, last as u64)
    }

    /// Puts one list of the page together with its changes.
    pub fn merge_list<'m>(
        &self,
        list: &List<'m>,
        merged: &'m mut Merged,
    ) -> Result<List<'m>, PageFault> {
        let start = self.edits.partition_point(|edit| edit.owner < list.vertex);
        let edits = &self.edits[start..];
        let edits = &edits[..edits.partition_point(|edit| edit.owner == list.vertex)];
        let span = self.spans.iter().find(|span| span.owner == list.vertex);
        if edits.is_empty() && span.is_none() {
            return Ok(*list);
        }
        merged.entries.clear();
        merge_list(list.targets, edits, &mut merged.entries)?;
        let (skip, degree) = match span {
            Some(span) => (add(list.skip, span.before)?, add(list.degree, span.whole)?),
            None => (list.skip, merged.entries.len() as u64),
        };
        Ok(List { skip, degree, targets: &merged.entries, ..*list })
    }

    /// Place and length of the first list and length of the last one, given how many of their
    /// entries are in the page now.
    fn ends(&self, page: &Page<'_>, first: u64, last: u64) -> Result<PageEnds, PageFault> {
        let mut ends = page.ends();
        let span = |owner| self.spans.iter().find(|span| span.owner == owner);
        let degree = |list: &List<'_>, in_page: u64| match span(list.vertex) {
            Some(span) => add(list.degree, span.whole),
            None if list.is_whole() => Ok(in_page),
            // It goes on in other pages and has not changed.
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
    let negative = || other("the log deletes more of a list than it has");
    number.checked_add_signed(change).ok_or_else(negative)
}

fn too_many() -> PageFault {
    other(format!("with the changes of the log it has more than {PAGE_ENTRIES_MAX} entries"))
}

/// Appends a list with its changes.
fn merge_list(list: &[VertexId], edits: &[Edit], out: &mut Vec<VertexId>) -> Result<(), PageFault> {
    let mut rest = list;
    for edit in edits {
        let (before, behind) = rest.split_at(rest.partition_point(|entry| *entry < edit.other));
        out.extend_from_slice(before);
        let is_there = behind.first() == Some(&edit.other);
        if is_there == edit.is_added() {
            return Err(other("the log adds an entry that is there, or deletes one that is not"));
        }
        rest = &behind[usize::from(is_there)..];
        if edit.is_added() {
            out.push(edit.other);
        }
    }
    out.extend_from_slice(rest);
    Ok(())
}
