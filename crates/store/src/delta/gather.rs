//! The changes of a page, from the delta runs and from the log.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::VertexId;
use crate::error::{PageFault, Result, other};
use crate::runs::page::RawSpan;
use crate::runs::read::{ListRuns, RunChunk};

/// One change of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edit {
    pub owner: VertexId,
    pub other: VertexId,
    /// The page with the place of the entry, and whether the entry is added.
    pub place: u64,
}

/// Bit of [`Edit::place`]: the entry is added, else deleted.
pub(super) const ADDED: u64 = 1 << 63;

impl Edit {
    pub fn page(&self) -> u64 {
        self.place & !ADDED
    }

    pub fn is_added(&self) -> bool {
        self.place & ADDED != 0
    }

    pub fn net(&self) -> i64 {
        if self.is_added() { 1 } else { -1 }
    }
}

/// How a list of several pages changes, as one of its pages must know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub page: u64,
    pub owner: VertexId,
    /// Change of the length of the list in the pages before, and of its whole length.
    pub before: i64,
    pub whole: i64,
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
    pub edits: Vec<Edit>,
    pub spans: Vec<Span>,
    /// The parts of runs that were read last.
    pub cursors: Vec<Option<Arc<RunChunk>>>,
}

impl DeltaRoom {
    /// Gathers the changes of a page from runs, of the lists of some owners.
    pub fn gather(
        &mut self,
        runs: &RunsFrom,
        page: u64,
        first: VertexId,
        owners: &RangeInclusive<VertexId>,
    ) -> Result<()> {
        // Owners lie in a page from its first vertex on.
        let wanted = [owners.start(), owners.end()].map(|owner| owner.saturating_sub(first));
        let Self { edits, spans, cursors } = self;
        edits.clear();
        spans.clear();
        runs.runs.of_page(runs.from, page, cursors, &mut |group| {
            for span in group.spans {
                let RawSpan { owner, before, whole, .. } = *span;
                spans.push(Span { page, owner, before, whole });
            }
            let from = group.edits.partition_point(|edit| edit.owner() < wanted[0]);
            let to = group.edits.partition_point(|edit| edit.owner() <= wanted[1]);
            for edit in &group.edits[from..to] {
                let owner = first.checked_add(edit.owner());
                let owner = owner.ok_or_else(|| other("a change of a list beyond all vertices"))?;
                let added = if edit.is_added() { ADDED } else { 0 };
                edits.push(Edit { owner, other: edit.other, place: page | added });
            }
            Ok(())
        })
    }

    /// Adds later changes: of one entry an addition and a deletion cancel each other out.
    pub fn add(&mut self, edits: &[Edit], spans: &[Span]) -> Result<(), PageFault> {
        self.edits.extend_from_slice(edits);
        if !self.edits.is_sorted_by(|a, b| (a.owner, a.other) < (b.owner, b.other)) {
            // Stable: the changes of one entry stay in their order.
            self.edits.sort_by_key(|edit| (edit.owner, edit.other));
            let mut kept = 0;
            let mut next = 0;
            while next < self.edits.len() {
                let Edit { owner, other: entry, .. } = self.edits[next];
                let rest = &self.edits[next..];
                let same =
                    rest.iter().take_while(|edit| (edit.owner, edit.other) == (owner, entry));
                let same = same.count();
                if rest[..same].windows(2).any(|pair| pair[0].is_added() == pair[1].is_added()) {
                    return Err(other("an entry is added or deleted twice"));
                }
                if same % 2 == 1 {
                    self.edits[kept] = self.edits[next + same - 1];
                    kept += 1;
                }
                next += same;
            }
            self.edits.truncate(kept);
        }
        self.spans.extend_from_slice(spans);
        self.spans.sort_by_key(|span| span.owner);
        self.spans.dedup_by(|next, span| {
            let is_same = next.owner == span.owner;
            if is_same {
                span.before = span.before.saturating_add(next.before);
                span.whole = span.whole.saturating_add(next.whole);
            }
            is_same
        });
        Ok(())
    }
}
