//! The changes of a page, from the delta runs and from the log.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::spans::Span;
use crate::VertexId;
use crate::error::{PageFault, Result, other};
use crate::runs::page::{RawEdit, RawSpan};
use crate::runs::read::{ListRuns, RunCursor};

/// In which order the entries of lists with changes are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryOrder {
    /// As on the device.
    #[default]
    Ascending,
    /// Any, which is faster: what is added follows the other entries.
    Any,
}

pub(super) const BEYOND: &str = "a change of a list that the page cannot have";

/// A change of a list of a page: a number that ascends by the owner of the list, counted from the
/// first vertex of the page, and then by the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageEdit(u64);

impl PageEdit {
    const OWNER_SHIFT: u32 = 33;

    /// # Panics
    /// In debug builds, if `owner` has more than 31 bits.
    pub fn new(owner: u32, other: VertexId, is_added: bool) -> Self {
        debug_assert!(owner < 1 << 31, "a page has fewer lists");
        let place = u64::from(owner) << Self::OWNER_SHIFT;
        Self(place | u64::from(other) << 1 | u64::from(is_added))
    }

    #[inline]
    pub fn owner(self) -> u32 {
        (self.0 >> Self::OWNER_SHIFT) as u32
    }

    #[inline]
    pub fn other(self) -> VertexId {
        (self.0 >> 1) as VertexId
    }

    #[inline]
    pub fn is_added(self) -> bool {
        self.0 & 1 != 0
    }

    /// Owner and entry.
    #[inline]
    fn key(self) -> u64 {
        self.0 >> 1
    }
}

impl From<RawEdit> for PageEdit {
    #[inline]
    fn from(edit: RawEdit) -> Self {
        Self::new(edit.owner(), edit.other, edit.is_added())
    }
}

impl From<PageEdit> for RawEdit {
    fn from(edit: PageEdit) -> Self {
        Self::new(edit.owner(), edit.other(), edit.is_added())
    }
}

/// Whether no change deletes an entry.
pub(super) fn are_added(edits: &[PageEdit]) -> bool {
    // Without an early end it is vectorised.
    edits.iter().fold(true, |all, edit| all & edit.is_added())
}

/// The delta runs of one direction, from one of them on.
#[derive(Clone, Debug)]
pub(crate) struct RunsFrom {
    pub runs: Arc<ListRuns>,
    pub from: usize,
}

/// What the changes of a page are gathered in; it may be used for any page.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeltaRoom {
    /// First the changes of each source, where they end, then those of the page.
    pub edits: Vec<PageEdit>,
    ends: Vec<usize>,
    spare: Vec<PageEdit>,
    /// Where the changes of each owner go.
    places: Vec<u32>,
    pub spans: Vec<Span>,
    /// The parts of runs that were read last.
    pub cursors: Vec<RunCursor>,
}

impl DeltaRoom {
    /// Bytes for a page of at most so many changes and lists.
    pub const fn bytes_for(edits: usize, lists: usize) -> usize {
        2 * edits * size_of::<PageEdit>() + lists * size_of::<u32>()
    }

    pub fn clear(&mut self) {
        self.edits.clear();
        self.ends.clear();
        self.spans.clear();
    }

    /// Adds the changes of a page from runs, of the lists of some owners, counted from the first
    /// vertex of the page.
    pub fn add_runs(
        &mut self,
        runs: &RunsFrom,
        page: u64,
        owners: &RangeInclusive<u32>,
    ) -> Result<()> {
        let Self { edits, ends, spans, cursors, .. } = self;
        runs.runs.of_page(runs.from, page, cursors, &mut |group| {
            for span in group.spans {
                let RawSpan { owner, before, whole, .. } = *span;
                spans.push(Span { page, owner, before, whole });
            }
            let mut own = group.edits;
            if *owners != (0..=u32::MAX) {
                let from = own.partition_point(|edit| edit.owner() < *owners.start());
                let to = own.partition_point(|edit| edit.owner() <= *owners.end());
                own = &own[from..to];
            }
            let start = edits.len();
            edits.extend(own.iter().map(|edit| PageEdit::from(*edit)));
            end_source(edits, ends, start);
            Ok(())
        })
    }

    /// Adds later changes.
    pub fn add(&mut self, edits: impl Iterator<Item = PageEdit>, spans: &[Span]) {
        let start = self.edits.len();
        self.edits.extend(edits);
        end_source(&self.edits, &mut self.ends, start);
        self.spans.extend_from_slice(spans);
    }

    /// Puts the changes in order, once all are added: of one entry an addition and a deletion
    /// cancel each other out. Where there are only additions and entries may be in any order, they
    /// are in that of their owners. Entries are to be of so many `vertices`, owners of so many
    /// `lists`. Returns whether there are only additions.
    pub fn finish(
        &mut self,
        vertices: VertexId,
        lists: u32,
        order: EntryOrder,
    ) -> Result<bool, PageFault> {
        self.check_entries(vertices)?;
        let are_added = are_added(&self.edits);
        // The changes of one source ascend.
        let mut starts = 0;
        for &end in &self.ends {
            let last = self.edits[starts..end].last();
            if last.is_some_and(|edit| edit.owner() >= lists) {
                return Err(other(BEYOND));
            }
            starts = end;
        }
        let several = self.ends.len() > 1;
        let in_order = order == EntryOrder::Ascending || !are_added;
        if several && !in_order {
            self.group_by_owner();
        }
        while in_order && self.ends.len() > 1 {
            self.merge_pairs();
        }
        if several && in_order && self.edits.windows(2).any(|pair| pair[0].key() == pair[1].key()) {
            self.cancel()?;
        }
        if self.spans.len() > 1 {
            self.add_up_spans();
        }
        Ok(are_added)
    }

    /// Checks that entries are of so many vertices.
    fn check_entries(&self, vertices: VertexId) -> Result<(), PageFault> {
        // Without an early end, and by a sign instead of a maximum, it is vectorised.
        let left = |edit: &PageEdit| i64::from(vertices) - 1 - i64::from(edit.other());
        if self.edits.iter().fold(0, |all, edit| all | left(edit)) >= 0 {
            return Ok(());
        }
        let found = self.edits.iter().map(|edit| edit.other()).max().unwrap_or(0);
        Err(PageFault::Target { found, vertices })
    }

    /// Puts the changes of each owner together.
    fn group_by_owner(&mut self) {
        let Self { edits, spare, places, .. } = self;
        let owners = edits.iter().map(|edit| edit.owner() as usize + 1).max().unwrap_or(0);
        places.clear();
        places.resize(owners, 0);
        edits.iter().for_each(|edit| places[edit.owner() as usize] += 1);
        let mut place = 0;
        for of_owner in &mut *places {
            (*of_owner, place) = (place, place + *of_owner);
        }
        spare.resize(edits.len(), PageEdit(0));
        for edit in &*edits {
            let place = &mut places[edit.owner() as usize];
            spare[*place as usize] = *edit;
            *place += 1;
        }
        std::mem::swap(edits, spare);
    }

    /// Merges each two neighbouring sources into one.
    fn merge_pairs(&mut self) {
        let Self { edits, ends, spare, .. } = self;
        spare.resize(edits.len(), PageEdit(0));
        let (mut start, mut kept) = (0, 0);
        for pair in 0..ends.len().div_ceil(2) {
            let middle = ends[2 * pair];
            let end = ends.get(2 * pair + 1).copied().unwrap_or(middle);
            merge(&edits[start..middle], &edits[middle..end], &mut spare[start..end]);
            (ends[kept], start) = (end, end);
            kept += 1;
        }
        ends.truncate(kept);
        std::mem::swap(edits, spare);
    }

    /// Of the changes of each entry keeps what they come to.
    fn cancel(&mut self) -> Result<(), PageFault> {
        let (mut kept, mut next) = (0, 0);
        while let Some(&edit) = self.edits.get(next) {
            let rest = &self.edits[next..];
            let same = rest.iter().take_while(|other| other.key() == edit.key()).count();
            if rest[..same].windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(other("an entry is added or deleted twice"));
            }
            if same % 2 == 1 {
                self.edits[kept] = self.edits[next + same - 1];
                kept += 1;
            }
            next += same;
        }
        self.edits.truncate(kept);
        Ok(())
    }

    fn add_up_spans(&mut self) {
        self.spans.sort_by_key(|span| span.owner);
        self.spans.dedup_by(|next, span| {
            let is_same = next.owner == span.owner;
            if is_same {
                span.before = span.before.saturating_add(next.before);
                span.whole = span.whole.saturating_add(next.whole);
            }
            is_same
        });
    }
}

/// Ends a source, of which the changes from `start` on are. What comes behind all of the source
/// before, as a part of a run in its next page does, belongs to that.
fn end_source(edits: &[PageEdit], ends: &mut Vec<usize>, start: usize) {
    let (before, own) = edits.split_at(start);
    match (before.last(), own.first(), ends.last_mut()) {
        (_, None, _) => {}
        (Some(last), Some(first), Some(end)) if last.key() < first.key() => *end = edits.len(),
        _ => ends.push(edits.len()),
    }
}

/// Merges the changes of two sources; those of the earlier one come first among equal ones.
fn merge(earlier: &[PageEdit], later: &[PageEdit], out: &mut [PageEdit]) {
    let (mut i, mut j) = (0, 0);
    // Without a branch that depends on the order: it could not be predicted.
    while i < earlier.len() && j < later.len() {
        let is_later = later[j].key() < earlier[i].key();
        out[i + j] = if is_later { later[j] } else { earlier[i] };
        i += usize::from(!is_later);
        j += usize::from(is_later);
    }
    let rest = &mut out[i + j..];
    rest[..earlier.len() - i].copy_from_slice(&earlier[i..]);
    rest[earlier.len() - i..].copy_from_slice(&later[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(sources: &[&[(u32, VertexId, bool)]], order: EntryOrder) -> Vec<PageEdit> {
        let mut room = DeltaRoom::default();
        for source in sources {
            room.add(
                source.iter().map(|&(owner, other, add)| PageEdit::new(owner, other, add)),
                &[],
            );
        }
        room.finish(100, 10, order).unwrap();
        room.edits
    }

    #[test]
    fn additions_of_several_sources_come_by_owner_if_any_order_will_do() {
        let [a, b, c] = [
            &[(0, 7, true), (0, 9, true), (5, 1, true)][..],
            &[(2, 30, true), (5, 0, true)],
            &[(0, 2, true), (9, 4, true)],
        ];
        let mut any = finished(&[a, b, c], EntryOrder::Any);
        assert_eq!(any.iter().map(|edit| edit.owner()).collect::<Vec<_>>(), [0, 0, 0, 2, 5, 5, 9]);
        any.sort_unstable_by_key(|edit| edit.key());
        assert_eq!(any, finished(&[a, b, c], EntryOrder::Ascending));
    }

    #[test]
    fn a_source_goes_on_with_what_is_behind_all_of_it() {
        let ends = |sources: &[&[(u32, VertexId)]]| {
            let mut room = DeltaRoom::default();
            for source in sources {
                room.add(source.iter().map(|&(owner, of)| PageEdit::new(owner, of, true)), &[]);
            }
            room.ends
        };
        assert_eq!(ends(&[&[(0, 7), (5, 1)], &[(5, 2), (6, 0)], &[]]), [4]);
        assert_eq!(ends(&[&[], &[(0, 7), (5, 1)], &[(5, 1)]]), [2, 3]);
        assert_eq!(ends(&[&[(0, 7), (5, 1)], &[(4, 9)], &[(4, 10)]]), [2, 4]);
    }

    #[test]
    fn what_is_deleted_later_is_gone_in_any_order() {
        let sources = [&[(1, 5, true), (1, 8, true)][..], &[(1, 2, true), (1, 8, false)]];
        for order in [EntryOrder::Any, EntryOrder::Ascending] {
            let expected = [2, 5].map(|other| PageEdit::new(1, other, true));
            assert_eq!(finished(&sources, order), expected);
        }
    }

    #[test]
    fn owners_beyond_all_lists_are_a_fault_of_any_source() {
        for order in [EntryOrder::Any, EntryOrder::Ascending] {
            let mut room = DeltaRoom::default();
            for owner in [10, 3] {
                room.add([PageEdit::new(owner, 1, true)].into_iter(), &[]);
            }
            assert!(room.finish(100, 10, order).is_err());
        }
    }
}
