//! Changed lists that have several pages.

use std::ops::RangeInclusive;

use super::{ListPages, PlacedEdit};
use crate::VertexId;

/// How a list of several pages changes, as one of its pages must know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub page: u64,
    pub owner: VertexId,
    /// Change of the length of the list in the pages before, and of its whole length.
    pub before: i64,
    pub whole: i64,
}

/// The pages of the changed lists that have several.
pub(super) fn of_edits(edits: &[PlacedEdit], lists: &ListPages<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    for of_list in edits.chunk_by(|a, b| a.owner == b.owner) {
        let owner = of_list[0].owner;
        if owner >= lists.vertices || of_list.iter().all(PlacedEdit::is_reweighed) {
            continue;
        }
        let pages = (lists.pages_of)(owner);
        if pages.start() == pages.end() {
            continue;
        }
        let whole = of_list.iter().map(PlacedEdit::net).sum();
        let (mut before, mut rest) = (0, of_list);
        for page in pages {
            spans.push(Span { page, owner, before, whole });
            let (own, behind) = rest.split_at(rest.partition_point(|edit| edit.page() <= page));
            before += own.iter().map(PlacedEdit::net).sum::<i64>();
            rest = behind;
        }
    }
    spans.sort_unstable_by_key(|span| (span.page, span.owner));
    spans
}

/// Those of lists of several pages, of which some become longer: by owner and page, ascending.
pub(crate) fn spans_of(
    nets: &[(VertexId, u64, i64)],
    pages_of: &dyn Fn(VertexId) -> RangeInclusive<u64>,
) -> Vec<Span> {
    let mut spans = Vec::new();
    for of_list in nets.chunk_by(|a, b| a.0 == b.0) {
        let owner = of_list[0].0;
        let whole = of_list.iter().map(|(.., net)| net).sum();
        let (mut before, mut rest) = (0, of_list.iter().peekable());
        for page in pages_of(owner) {
            if (before, whole) != (0, 0) {
                spans.push(Span { page, owner, before, whole });
            }
            while let Some((.., net)) = rest.next_if(|(_, of, _)| *of <= page) {
                before += net;
            }
        }
    }
    spans.sort_unstable_by_key(|span| (span.page, span.owner));
    spans
}
