//! The changes of a batch as they concern the lists of one direction.

use bytemuck::Zeroable;
use cenote_device::threads::cores;

use super::answers::Record;
use super::copies::Copies;
use super::edited::EditedLists;
use super::{Answer, Batch, Change, Op};
use crate::gallop::gallop;
use crate::superblock::Superblock;
use crate::weights::Weight;
use crate::workers::on_threads;
use crate::{Direction, VertexId};

/// Most changes of a batch.
pub(super) const CHANGES_MAX: usize = 1 << 30;

/// Fewer edits are sorted at once.
const SPREAD_EDITS: usize = 1 << 16;

/// Buckets that edits are spread over, by owner, before each is sorted.
const BUCKETS: usize = 1 << 10;

/// Most threads that spread and sort.
const THREADS_MAX: usize = 16;

/// One change as one list sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Zeroable)]
pub(super) struct Edit {
    /// Whose list.
    pub owner: VertexId,
    /// The entry.
    pub other: VertexId,
    /// Which change of the batch, and in the lowest bits what it does.
    change: u32,
}

impl Edit {
    fn new(owner: VertexId, other: VertexId, at: u32, op: Op) -> Self {
        let op = match op {
            Op::Add => 0,
            Op::Delete => 1,
            Op::Set => 2,
            _ => unreachable!("a batch was planned"),
        };
        Self { owner, other, change: at << 2 | op }
    }

    /// What edits are ordered by, as one number: comparing it needs no branch.
    fn key(self) -> u128 {
        u128::from(self.owner) << 64 | u128::from(self.other) << 32 | u128::from(self.change)
    }

    /// Which change of the batch.
    fn at(self) -> usize {
        (self.change >> 2) as usize
    }

    fn op(self) -> Op {
        match self.change & 3 {
            0 => Op::Add,
            1 => Op::Delete,
            _ => Op::Set,
        }
    }
}

/// The edits of one direction's lists, ascending; of one entry in the order of the batch. All ends
/// are below `vertices`.
pub(super) fn edits_of(
    changes: &[Change],
    direction: Direction,
    directed: bool,
    vertices: u64,
) -> Vec<Edit> {
    let part = Part { first: 0, changes, direction, directed };
    if changes.len() < SPREAD_EDITS {
        let mut edits = Vec::with_capacity(2 * changes.len());
        part.for_each(|edit| edits.push(edit));
        edits.sort_unstable();
        return edits;
    }
    part.spread(vertices)
}

/// Changes of a batch, from the one with number `first` on.
#[derive(Clone, Copy)]
struct Part<'a> {
    first: u32,
    changes: &'a [Change],
    direction: Direction,
    directed: bool,
}

impl<'a> Part<'a> {
    fn for_each(&self, mut visit: impl FnMut(Edit)) {
        for (at, &Change { op, source, target }) in (self.first..).zip(self.changes) {
            let (owner, other) = match self.direction {
                Direction::Out => (source, target),
                Direction::In => (target, source),
            };
            visit(Edit::new(owner, other, at, op));
            if !self.directed && owner != other {
                visit(Edit::new(other, owner, at, op));
            }
        }
    }

    /// One for each core.
    fn split(self) -> impl Iterator<Item = Self> + Clone + 'a {
        let changes = self.changes.len().div_ceil(threads());
        let firsts = (self.first..).step_by(changes);
        let parts = firsts.zip(self.changes.chunks(changes));
        parts.map(move |(first, changes)| Self { first, changes, ..self })
    }

    /// Spreads edits over buckets by owner and sorts each: the cores' caches hold a bucket, but not
    /// all edits.
    fn spread(self, vertices: u64) -> Vec<Edit> {
        let bucket = |edit: &Edit| (u64::from(edit.owner) * BUCKETS as u64 / vertices) as usize;
        let parts = self.split();
        let mut counts = vec![[0usize; BUCKETS]; parts.clone().count()];
        let counted = parts.clone().zip(&mut counts).collect();
        on_threads(threads(), counted, &|| (), &|(), (part, counts)| {
            part.for_each(|edit| counts[bucket(&edit)] += 1);
        });
        // The threads that write to its pages first clear them, not this one.
        let all = counts.iter().flatten().sum();
        let mut edits: Vec<Edit> = bytemuck::zeroed_vec(all);
        let mut places: Vec<_> = counts.iter().map(|_| Vec::with_capacity(BUCKETS)).collect();
        let mut rest = &mut edits[..];
        for bucket in 0..BUCKETS {
            for (counts, places) in counts.iter().zip(&mut places) {
                places.push(
                    rest.split_off_mut(..counts[bucket]).expect("all were counted").iter_mut(),
                );
            }
        }
        on_threads(threads(), parts.zip(places).collect(), &|| (), &|(), (part, mut places)| {
            part.for_each(|edit| *places[bucket(&edit)].next().expect("it was counted") = edit);
        });
        let mut rest = &mut edits[..];
        let buckets = (0..BUCKETS).map(|bucket| {
            let count = counts.iter().map(|counts| counts[bucket]).sum();
            rest.split_off_mut(..count).expect("all were counted")
        });
        on_threads(threads(), buckets.collect(), &Sorter::default, &|sorter, bucket| {
            sorter.sort(bucket)
        });
        edits
    }
}

fn threads() -> usize {
    cores().min(THREADS_MAX)
}

/// Sorts edits of neighbouring owners: by owner with a counting sort, then those of each owner,
/// which are few as a rule.
#[derive(Default)]
struct Sorter {
    next: Vec<usize>,
    by_owner: Vec<Edit>,
}

impl Sorter {
    /// Owners for each edit, above which comparing edits is faster.
    const SPARSE: usize = 4;

    fn sort(&mut self, part: &mut [Edit]) {
        let owners = part.iter().map(|edit| edit.owner);
        let Some((first, last)) = owners.clone().min().zip(owners.clone().max()) else { return };
        let count = (last - first) as usize + 1;
        if count == 1 || count > part.len().saturating_mul(Self::SPARSE) {
            return part.sort_unstable_by_key(|edit| edit.key());
        }
        let Self { next, by_owner } = self;
        next.clear();
        next.resize(count + 1, 0);
        owners.for_each(|owner| next[(owner - first) as usize + 1] += 1);
        (1..=count).for_each(|i| next[i] += next[i - 1]);
        by_owner.clear();
        by_owner.resize(part.len(), Edit::default());
        for edit in &*part {
            let place = &mut next[(edit.owner - first) as usize];
            by_owner[*place] = *edit;
            *place += 1;
        }
        part.copy_from_slice(by_owner);
        for of_owner in part.chunk_by_mut(|a, b| a.owner == b.owner) {
            of_owner
                .sort_unstable_by_key(|edit| u64::from(edit.other) << 32 | u64::from(edit.change));
        }
    }
}

/// What a batch and its graph say of each change.
#[derive(Clone, Copy)]
pub(super) struct Changes<'a> {
    /// One for each change, or none at all.
    pub weights: &'a [Option<Weight>],
    pub self_loops_kept: bool,
    pub duplicates_kept: bool,
    pub directed: bool,
}

impl<'a> Changes<'a> {
    pub fn of(batch: &'a Batch, superblock: &Superblock) -> Self {
        let Superblock { self_loops_kept, duplicates_kept, directed, .. } = *superblock;
        Self { weights: &batch.weights, self_loops_kept, duplicates_kept, directed }
    }

    /// Whether an entry is there, and its weight, after its edits; records their answers.
    pub fn settle(
        &self,
        of_entry: &[Edit],
        (mut is_there, mut weight): (bool, Option<u64>),
        answers: &mut (impl Record + ?Sized),
    ) -> (bool, Option<u64>) {
        let is_loop = self.is_loop_refused(&of_entry[0]);
        let is_recorded = self.is_recorded(&of_entry[0]);
        for edit in of_entry {
            let of_other_weight =
                || self.weight(edit.at()).is_some_and(|wanted| weight != Some(wanted));
            let answer = match edit.op() {
                Op::Add if is_loop => Answer::SelfLoop,
                Op::Add if is_there => Answer::Present,
                Op::Delete | Op::Set if !is_there => Answer::Absent,
                Op::Delete if of_other_weight() => Answer::Absent,
                op => {
                    is_there = op != Op::Delete;
                    weight = if is_there { self.weight(edit.at()) } else { None };
                    Answer::Done
                }
            };
            if is_recorded {
                answers.record(edit.at(), answer);
            }
        }
        (is_there, weight)
    }

    /// The copies of an entry after its edits, where entries repeat; records their answers. Returns
    /// by how many the edges that repeat another become more.
    fn settle_copies(
        &self,
        of_entry: &[Edit],
        copies: &mut Copies<'_>,
        answers: &mut (impl Record + ?Sized),
    ) -> i64 {
        let is_loop = self.is_loop_refused(&of_entry[0]);
        let is_recorded = self.is_recorded(&of_entry[0]);
        let repeats_before = copies.repeats();
        for edit in of_entry {
            let weight = self.weight(edit.at());
            let is_done = match edit.op() {
                Op::Add if is_loop => None,
                Op::Add => Some(copies.add(weight)),
                Op::Set => Some(copies.set_all(weight)),
                _ => Some(copies.delete(weight)),
            };
            if is_recorded {
                let answer = match is_done {
                    None => Answer::SelfLoop,
                    Some(true) => Answer::Done,
                    Some(false) => Answer::Absent,
                };
                answers.record(edit.at(), answer);
            }
        }
        if is_recorded { copies.repeats() - repeats_before } else { 0 }
    }

    fn is_loop_refused(&self, edit: &Edit) -> bool {
        edit.owner == edit.other && !self.self_loops_kept
    }

    /// Whether the answer of an edit is recorded: both lists of an edge without direction have the
    /// same one.
    fn is_recorded(&self, edit: &Edit) -> bool {
        self.directed || edit.owner <= edit.other
    }

    /// Ordered bits of the weight of a change.
    fn weight(&self, at: usize) -> Option<u64> {
        self.weights.get(at)?.and_then(Weight::ordered)
    }
}

impl EditedLists {
    /// Appends the list that `edits`, all of one owner, make of `list`, and records the answers.
    /// `weights` are those of its entries, or empty in a graph without weights.
    pub fn push(
        &mut self,
        (list, weights): (&[VertexId], &[u64]),
        edits: &[Edit],
        changes: Changes<'_>,
        answers: &mut (impl Record + ?Sized),
    ) {
        let mut done = 0;
        for of_entry in edits.chunk_by(|a, b| a.other == b.other) {
            let other = of_entry[0].other;
            let place = done + gallop(&list[done..], |entry| *entry < other);
            self.copy(list, weights, done..place);
            if changes.duplicates_kept {
                done = place + gallop(&list[place..], |entry| *entry == other);
                let there = weights.get(place..done).unwrap_or(&[]);
                let mut copies = Copies::new(done - place, there);
                self.repeats += changes.settle_copies(of_entry, &mut copies, answers);
                copies.put(other, self);
                continue;
            }
            let was_there = list.get(place) == Some(&other);
            done = place + usize::from(was_there);
            let before = if was_there { weights.get(place).copied() } else { None };
            let (is_there, weight) = changes.settle(of_entry, (was_there, before), answers);
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
        let edits = edits_of(&changes, Direction::Out, true, 10);
        let (mut answers, mut out) = ([Answer::Done; 6], EditedLists::default());
        let changes = Changes {
            weights: &[],
            self_loops_kept: false,
            duplicates_kept: false,
            directed: true,
        };
        out.push((&[2, 7], &[]), &edits, changes, &mut answers[..]);
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
        // Of the deletions one has no weight, the other the one that the edge has.
        let weights = [5, 6, 7, 8, 0, 70, 90, 20];
        let weights = weights.map(|weight| (weight > 0).then_some(Weight::U32(weight)));
        let edits = edits_of(&changes, Direction::Out, true, 10);
        let (mut answers, mut out) = ([Answer::Done; 8], EditedLists::default());
        let changes = Changes {
            weights: &weights,
            self_loops_kept: true,
            duplicates_kept: false,
            directed: true,
        };
        out.push((&[2, 7, 9], &[20, 71, 90]), &edits, changes, &mut answers[..]);
        use Answer::{Absent, Done, Present};
        assert_eq!(answers, [Done, Absent, Done, Present, Done, Done, Done, Done]);
        assert_eq!((out.entries, out.weights), (vec![2, 3, 7], vec![20, 7, 70]));
        assert_eq!(out.swaps, [[None, Some(7)], [Some(71), Some(70)], [Some(90), None]]);
    }

    #[test]
    fn many_edits_are_sorted_as_few_are() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for (vertices, count) in
            [(1, SPREAD_EDITS), (90, SPREAD_EDITS), (1 << 32, 3 * SPREAD_EDITS)]
        {
            let ops = [Op::Add, Op::Delete, Op::Set];
            let mut vertex = || (random(vertices) * random(vertices) / vertices) as VertexId;
            let changes: Vec<Change> =
                (0..count).map(|i| change(ops[i % 3], vertex(), vertex())).collect();
            let edits = edits_of(&changes, Direction::In, false, vertices);
            let mut expected = Vec::new();
            for (at, &Change { op, source, target }) in (0..).zip(&changes) {
                expected.push(Edit::new(target, source, at, op));
                if source != target {
                    expected.push(Edit::new(source, target, at, op));
                }
            }
            expected.sort();
            assert!(edits == expected, "{vertices} vertices");
            let ordered = edits.iter().filter(|edit| edit.owner >= edit.other);
            assert!(ordered.clone().all(|edit| changes[edit.at()].op == edit.op()));
        }
    }

    #[test]
    fn an_edge_without_direction_is_in_the_lists_of_both_ends_and_a_loop_in_one() {
        let changes = [change(Op::Add, 3, 1), change(Op::Add, 2, 2)];
        let pairs = |direction, directed| -> Vec<_> {
            let edits = edits_of(&changes, direction, directed, 4);
            edits.iter().map(|edit| (edit.owner, edit.other)).collect()
        };
        assert_eq!(pairs(Direction::Out, false), [(1, 3), (2, 2), (3, 1)]);
        assert_eq!(pairs(Direction::Out, true), [(2, 2), (3, 1)]);
        assert_eq!(pairs(Direction::In, true), [(1, 3), (2, 2)]);
    }
}
