//! Brings changes to lists that a merge beside the commits has packed anew.
//!
//! The changes were committed while lists and older runs were merged, so they name pages of the
//! lists before. A page that stayed has the same changes under another number. The changes of pages
//! that were packed anew together are put in order and get their places among those that took their
//! place: by the first entries of these, without reading them.

use std::cell::Cell;

use super::moved::{MovedPages, NewPages};
use crate::VertexId;
use crate::delta::{DeltaRoom, ListDelta, PAGE_ENTRIES_MAX, PlacedEdit, Span, spans_of};
use crate::error::Result;
use crate::index::Adjacency;
use crate::runs::page::{RawEdit, RawSpan, RunGroup};

/// Called with changes of pages that were packed anew together, or of one that stays.
type Visit<'v> = &'v mut dyn FnMut(Option<&MovedPages>, &[PlacedEdit]) -> Result<()>;

/// The changes of the lists of one direction.
pub(crate) struct Rebase<'a> {
    /// The lists before, and their changes that are not merged.
    pub before: &'a Adjacency,
    pub delta: ListDelta,
    /// The lists after the merge.
    pub after: &'a Adjacency,
    pub pages: &'a NewPages,
}

/// What has to be known of all changes before the first is written.
#[derive(Debug, Default)]
pub(crate) struct Rebased {
    pub edits: u64,
    /// Ascending by page and owner.
    spans: Vec<Span>,
}

impl Rebase<'_> {
    /// Counts the changes. `None` if the lists cannot have them as runs: a page would have too many
    /// entries, or a part of a long list none.
    pub fn plan(&self) -> Result<Option<Rebased>> {
        let is_possible = Cell::new(true);
        let (mut edits, mut nets) = (0, Vec::new());
        self.for_each_part(&mut |moved, part| {
            edits += part.len() as u64;
            for of_page in part.chunk_by(|a, b| a.page() == b.page()) {
                let page = of_page[0].page();
                let net = of_page.iter().map(PlacedEdit::net).sum::<i64>();
                let entries = moved.map_or(0, |moved| moved.entries(page)) as i64;
                let mut has_room = entries + net <= PAGE_ENTRIES_MAX as i64;
                for of_list in of_page.chunk_by(|a, b| a.owner == b.owner) {
                    let (owner, net) =
                        (of_list[0].owner, of_list.iter().map(PlacedEdit::net).sum());
                    if !self.is_long(owner) {
                        continue;
                    }
                    nets.push((owner, page, net));
                    // A page that stays keeps its entries.
                    let entries = moved.map(|moved| moved.entries_of(page, owner) as i64);
                    has_room &= entries.is_none_or(|entries| entries + net > 0);
                }
                is_possible.set(is_possible.get() && has_room);
            }
            Ok(())
        })?;
        let spans = spans_of(&nets, &|owner| self.after.pages_of(owner));
        Ok(is_possible.get().then_some(Rebased { edits, spans }))
    }

    fn is_long(&self, owner: VertexId) -> bool {
        owner < self.after.stored_vertices() && {
            let pages = self.after.pages_of(owner);
            pages.start() < pages.end()
        }
    }

    /// Passes on the changes by the pages of the lists after the merge, ascending.
    pub fn for_each_group(
        &self,
        rebased: &Rebased,
        visit: &mut dyn FnMut(&RunGroup<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut of_pages = rebased.spans.chunk_by(|a, b| a.page == b.page).peekable();
        let (mut spans, mut edits) = (Vec::new(), Vec::new());
        let mut group = |page, of_page: &[PlacedEdit], own: Option<&[Span]>| {
            spans.clear();
            edits.clear();
            spans.extend(own.unwrap_or_default().iter().map(RawSpan::from));
            let first = self.after.vertices_in(page).start;
            let raw =
                |edit: &PlacedEdit| RawEdit::new(edit.owner - first, edit.other, edit.is_added());
            edits.extend(of_page.iter().map(raw));
            visit(&RunGroup { page, spans: &spans, edits: &edits })
        };
        self.for_each_part(&mut |_, part| {
            for of_page in part.chunk_by(|a, b| a.page() == b.page()) {
                let page = of_page[0].page();
                while let Some(spans) = of_pages.next_if(|spans| spans[0].page < page) {
                    group(spans[0].page, &[], Some(spans))?;
                }
                group(page, of_page, of_pages.next_if(|spans| spans[0].page == page))?;
            }
            Ok(())
        })?;
        of_pages.try_for_each(|spans| group(spans[0].page, &[], Some(spans)))
    }

    /// Passes on the changes of each page that stays, and of those that were packed anew together,
    /// ascending; with their places after the merge.
    fn for_each_part(&self, visit: Visit<'_>) -> Result<()> {
        let first_of = |page| self.before.vertices_in(page).start;
        let mut part: Vec<PlacedEdit> = Vec::new();
        let mut last: Option<(usize, &MovedPages)> = None;
        let (pages, mut room) = (0..self.delta.pages(), DeltaRoom::default());
        self.delta.for_each_group(pages, &first_of, &mut room, &mut |group| {
            let moved = self.pages.moved(group.page);
            if last.map(|(at, _)| at) != moved.map(|(at, _)| at) {
                end_part(last, &mut part, visit)?;
            }
            last = moved;
            let first = first_of(group.page);
            // The others get their places when all of the part are there.
            let page = moved.map_or_else(|| self.pages.kept(group.page), |(_, moved)| moved.first);
            part.extend(group.edits.iter().map(|edit| {
                PlacedEdit::new(first + edit.owner(), edit.other, page, edit.is_added())
            }));
            // A page that stays is a part of its own.
            if moved.is_none() { end_part(None, &mut part, visit) } else { Ok(()) }
        })?;
        end_part(last, &mut part, visit)
    }
}

/// Passes on a part, with places among the pages that were packed anew, and begins with another.
fn end_part(
    moved: Option<(usize, &MovedPages)>,
    part: &mut Vec<PlacedEdit>,
    visit: Visit<'_>,
) -> Result<()> {
    let moved = moved.map(|(_, moved)| moved);
    if let Some(moved) = moved {
        part.sort_unstable_by_key(|edit| (edit.owner, edit.other));
        cancel(part);
        for edit in &mut *part {
            let page = moved.page_of(edit.owner, edit.other);
            *edit = PlacedEdit::new(edit.owner, edit.other, page, edit.is_added());
        }
    }
    if !part.is_empty() {
        visit(moved, part)?;
        part.clear();
    }
    Ok(())
}

/// Drops the changes of an entry that undo each other: it was deleted in one page and added again
/// in another.
fn cancel(part: &mut Vec<PlacedEdit>) {
    let is_same = |a: &PlacedEdit, b: &PlacedEdit| (a.owner, a.other) == (b.owner, b.other);
    if !part.windows(2).any(|pair| is_same(&pair[0], &pair[1])) {
        return;
    }
    let kept: Vec<PlacedEdit> = part
        .chunk_by(is_same)
        .filter_map(|of_entry| {
            let net: i64 = of_entry.iter().map(PlacedEdit::net).sum();
            of_entry.iter().find(|edit| edit.net() == net).copied()
        })
        .collect();
    *part = kept;
}

impl From<&Span> for RawSpan {
    fn from(span: &Span) -> Self {
        let Span { owner, before, whole, .. } = *span;
        Self { owner, zero: 0, before, whole }
    }
}
