//! The changes of a batch as they concern the lists of one direction.

use std::ops::Range;

use super::{Answer, Batch, Change, Op};
use crate::weights::Weight;
use crate::{Direction, VertexId};

/// One change as one list sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edit {
    /// Whose list.
    pub owner: VertexId,
    /// The entry.
    pub other: VertexId,
    /// Which change of the batch.
    pub at: u32,
}

/// The edits of one direction's lists, ascending; of one entry in the order of the batch.
pub(super) fn edits_of(changes: &[Change], direction: Direction, directed: bool) -> Vec<Edit> {
    let both_ends = if directed { 1 } else { 2 };
    let mut edits = Vec::with_capacity(changes.len() * both_ends);
    for (at, &Change { source, target, .. }) in (0..).zip(changes) {
        let (owner, other) = match direction {
            Direction::Out => (source, target),
            Direction::In => (target, source),
        };
        edits.push(Edit { owner, other, at });
        if !directed && owner != other {
            edits.push(Edit { owner: other, other: owner, at });
        }
    }
    edits.sort_unstable();
    edits
}

/// The changes of a batch, and the weights of those that have one.
#[derive(Clone, Copy)]
pub(super) struct Changes<'a> {
    pub changes: &'a [Change],
    /// One for each change, or none at all.
    pub weights: &'a [Option<Weight>],
    pub self_loops_kept: bool,
}

impl<'a> Changes<'a> {
    pub fn of(batch: &'a Batch, self_loops_kept: bool) -> Self {
        Self { changes: &batch.changes, weights: &batch.weights, self_loops_kept }
    }

    /// Ordered bits of the weight of a change.
    fn weight(&self, at: usize) -> Option<u64> {
        self.weights.get(at)?.and_then(Weight::ordered)
    }
}

/// Lists that edits have made, one after the other.
#[derive(Debug, Default)]
pub(super) struct EditedLists {
    pub entries: Vec<VertexId>,
    /// Ordered bits, one for each entry; none in a graph without weights.
    pub weights: Vec<u64>,
    /// The weights of entries before and after, where they differ.
    pub swaps: Vec<[Option<u64>; 2]>,
}

impl EditedLists {
    fn copy(&mut self, list: &[VertexId], weights: &[u64], part: Range<usize>) {
        self.entries.extend_from_slice(&list[part.clone()]);
        if !weights.is_empty() {
            self.weights.extend_from_slice(&weights[part]);
        }
    }

    /// Appends the list that `edits`, all of one owner, make of `list`, and records the answers.
    /// `weights` are those of its entries, or empty in a graph without weights.
    pub fn push(
        &mut self,
        (list, weights): (&[VertexId], &[u64]),
        edits: &[Edit],
        changes: Changes<'_>,
        answers: &mut [Answer],
    ) {
        let mut done = 0;
        for of_entry in edits.chunk_by(|a, b| a.other == b.other) {
            let Edit { owner, other, .. } = of_entry[0];
            let place = done + list[done..].partition_point(|entry| *entry < other);
            self.copy(list, weights, done..place);
            let was_there = list.get(place) == Some(&other);
            done = place + usize::from(was_there);
            let before = if was_there { weights.get(place).copied() } else { None };
            let (mut is_there, mut weight) = (was_there, before);
            for edit in of_entry {
                let at = edit.at as usize;
                let is_loop = owner == other && !changes.self_loops_kept;
                answers[at] = match changes.changes[at].op {
                    Op::Add if is_loop => Answer::SelfLoop,
                    Op::Add if is_there => Answer::Present,
                    Op::Delete | Op::Set if !is_there => Answer::Absent,
                    op => {
                        is_there = op != Op::Delete;
                        weight = if is_there { changes.weight(at) } else { None };
                        Answer::Done
                    }
                };
            }
            if is_there {
                self.entries.push(other);
                self.weights.extend(weight);
            }
            if weight != before {
                self.swaps.push([before, weight]);
            }
        }
        self.copy(list, weights, done..list.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(op: Op, source: VertexId, target: VertexId) -> Change {
        Change { op, source, target }
    }

    #[test]
    fn each_change_of_an_edge_sees_those_before_it() {
        let changes = [
            change(Op::Add, 1, 5),
            change(Op::Delete, 1, 5),
            change(Op::Delete, 1, 5),
            change(Op::Add, 1, 9),
            change(Op::Delete, 1, 2),
            change(Op::Add, 1, 1),
        ];
        let edits = edits_of(&changes, Direction::Out, true);
        let (mut answers, mut out) = ([Answer::Done; 6], EditedLists::default());
        let changes = Changes { changes: &changes, weights: &[], self_loops_kept: false };
        out.push((&[2, 7], &[]), &edits, changes, &mut answers);
        use Answer::{Absent, Done, SelfLoop};
        assert_eq!(answers, [Done, Done, Absent, Done, Done, SelfLoop]);
        assert_eq!(out.entries, [7, 9]);
        assert!(out.weights.is_empty() && out.swaps.is_empty());
    }

    #[test]
    fn weights_follow_their_entries_and_what_comes_to_the_same_is_no_swap() {
        let changes = [
            change(Op::Set, 1, 2),
            change(Op::Set, 1, 3),
            change(Op::Add, 1, 3),
            change(Op::Add, 1, 3),
            change(Op::Delete, 1, 7),
            change(Op::Add, 1, 7),
            change(Op::Delete, 1, 9),
            change(Op::Set, 1, 2),
        ];
        let weights = [5, 6, 7, 8, 0, 70, 0, 20].map(|weight| Some(Weight::U32(weight)));
        let edits = edits_of(&changes, Direction::Out, true);
        let (mut answers, mut out) = ([Answer::Done; 8], EditedLists::default());
        let changes = Changes { changes: &changes, weights: &weights, self_loops_kept: true };
        out.push((&[2, 7, 9], &[20, 71, 90]), &edits, changes, &mut answers);
        use Answer::{Absent, Done, Present};
        assert_eq!(answers, [Done, Absent, Done, Present, Done, Done, Done, Done]);
        assert_eq!((out.entries, out.weights), (vec![2, 3, 7], vec![20, 7, 70]));
        assert_eq!(out.swaps, [[None, Some(7)], [Some(71), Some(70)], [Some(90), None]]);
    }

    #[test]
    fn an_edge_without_direction_is_in_the_lists_of_both_ends_and_a_loop_in_one() {
        let changes = [change(Op::Add, 3, 1), change(Op::Add, 2, 2)];
        let pairs = |direction, directed| -> Vec<_> {
            let edits = edits_of(&changes, direction, directed);
            edits.iter().map(|edit| (edit.owner, edit.other)).collect()
        };
        assert_eq!(pairs(Direction::Out, false), [(1, 3), (2, 2), (3, 1)]);
        assert_eq!(pairs(Direction::Out, true), [(2, 2), (3, 1)]);
        assert_eq!(pairs(Direction::In, true), [(1, 3), (2, 2)]);
    }
}
