//! A list with its changes.

use super::gather::{EntryOrder, PageEdit, are_added};
use crate::VertexId;
use crate::error::{PageFault, other};

/// The fault of a change that contradicts the list.
pub(super) const TWICE: &str = "a change adds an entry that is there, or deletes one that is not";

/// Writes a list with its changes to the start of `out`, and returns its length.
pub(super) fn put_together(
    list: &[VertexId],
    edits: &[PageEdit],
    order: EntryOrder,
    out: &mut [VertexId],
) -> Result<usize, PageFault> {
    if order == EntryOrder::Ascending || !are_added(edits) {
        return merge_list(list, edits, out);
    }
    let (same, rest) = out.split_at_mut(list.len());
    same.copy_from_slice(list);
    rest.iter_mut().zip(edits).for_each(|(entry, edit)| *entry = edit.other());
    Ok(list.len() + edits.len())
}

/// As [`put_together`], ascending.
fn merge_list(
    list: &[VertexId],
    edits: &[PageEdit],
    out: &mut [VertexId],
) -> Result<usize, PageFault> {
    let (mut rest, mut len) = (list, 0);
    for edit in edits {
        let before = copy_below(rest, edit.other(), &mut out[len..]);
        (rest, len) = (&rest[before..], len + before);
        let is_there = rest.first() == Some(&edit.other());
        if is_there == edit.is_added() {
            return Err(other(TWICE));
        }
        rest = &rest[usize::from(is_there)..];
        if edit.is_added() {
            out[len] = edit.other();
            len += 1;
        }
    }
    out[len..len + rest.len()].copy_from_slice(rest);
    Ok(len + rest.len())
}

/// Copies the entries below a bound from the start of an ascending list, and returns how many. May
/// write behind them, up to the length of the list.
#[inline]
fn copy_below(list: &[VertexId], bound: VertexId, out: &mut [VertexId]) -> usize {
    /// Entries that are compared at a time, and at most so many of which the last is.
    const BLOCK: usize = 8;
    const FAR: usize = 64;
    let mut at = 0;
    while let Some(far) = list[at..].first_chunk::<FAR>()
        && far[FAR - 1] < bound
    {
        out[at..at + FAR].copy_from_slice(far);
        at += FAR;
    }
    while let Some(block) = list[at..].first_chunk::<BLOCK>() {
        out[at..at + BLOCK].copy_from_slice(block);
        let below: u32 = block.iter().map(|entry| u32::from(*entry < bound)).sum();
        at += below as usize;
        if (below as usize) < BLOCK {
            return at;
        }
    }
    for entry in &list[at..] {
        if *entry >= bound {
            break;
        }
        out[at] = *entry;
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edits: &[(VertexId, bool)], order: EntryOrder) -> Vec<VertexId> {
        let list = [2, 5, 7, 11];
        let edits: Vec<_> =
            edits.iter().map(|&(other, is_added)| PageEdit::new(0, other, is_added)).collect();
        let mut out = vec![0; list.len() + edits.len()];
        let len = put_together(&list, &edits, order, &mut out).unwrap();
        out.truncate(len);
        out
    }

    #[test]
    fn what_is_added_follows_or_is_put_in_order() {
        let added = [(0, true), (6, true), (20, true)];
        assert_eq!(found(&added, EntryOrder::Ascending), [0, 2, 5, 6, 7, 11, 20]);
        assert_eq!(found(&added, EntryOrder::Any), [2, 5, 7, 11, 0, 6, 20]);
    }

    #[test]
    fn deleted_entries_are_gone_in_any_order() {
        for order in [EntryOrder::Ascending, EntryOrder::Any] {
            assert_eq!(found(&[(5, false), (6, true), (11, false)], order), [2, 6, 7]);
            assert_eq!(found(&[], order), [2, 5, 7, 11]);
        }
    }
}
