//! The copies of one entry, in a graph that keeps repeated edges, while edits change them.
//!
//! The copies of an entry stand together in a list, by ascending weight. Memory grows with the
//! edits, not with the copies.

use std::collections::BTreeMap;

use super::edited::EditedLists;
use crate::VertexId;

/// How many copies of each weight.
type Counts = BTreeMap<u64, usize>;

/// The copies of an entry. Weights are ordered bits; all are 0 in a graph without weights.
#[derive(Debug)]
pub(super) struct Copies<'a> {
    /// The weights of the copies at first, ascending; none in a graph without weights.
    there: &'a [u64],
    is_weighted: bool,
    /// How many there are now.
    count: usize,
    /// Of `there`, the first so many are gone.
    first: usize,
    /// And of those behind, so many of a weight.
    gone: Counts,
    /// Those that are not of `there`.
    more: Counts,
}

impl<'a> Copies<'a> {
    /// So many copies; `weights` are theirs, or none in a graph without weights.
    pub fn new(count: usize, weights: &'a [u64]) -> Self {
        assert!(weights.is_empty() || weights.len() == count, "each copy has a weight");
        let (gone, more) = (Counts::new(), Counts::new());
        Self { there: weights, is_weighted: !weights.is_empty(), count, first: 0, gone, more }
    }

    /// How many of them repeat another one.
    pub fn repeats(&self) -> i64 {
        self.count.saturating_sub(1) as i64
    }

    /// Adds a copy.
    pub fn add(&mut self, weight: Option<u64>) -> bool {
        if let Some(weight) = weight {
            self.is_weighted = true;
            *self.more.entry(weight).or_insert(0) += 1;
        }
        self.count += 1;
        true
    }

    /// Gives all copies a weight; false if there is none.
    pub fn set_all(&mut self, weight: Option<u64>) -> bool {
        let weight = weight.expect("a weight that is set was checked");
        if self.count == 0 {
            return false;
        }
        self.first = self.there.len();
        self.gone.clear();
        self.more = Counts::from([(weight, self.count)]);
        true
    }

    /// Deletes a copy of this weight, or one of the smallest; false if there is none.
    pub fn delete(&mut self, weight: Option<u64>) -> bool {
        if self.count == 0 {
            return false;
        }
        if self.is_weighted {
            match weight {
                Some(weight) if !self.delete_of(weight) => return false,
                Some(_) => {}
                None => self.delete_smallest(),
            }
        }
        self.count -= 1;
        true
    }

    fn delete_of(&mut self, weight: u64) -> bool {
        if take_one(&mut self.more, weight) {
            return true;
        }
        let rest = &self.there[self.first..];
        let rest = &rest[rest.partition_point(|other| *other < weight)..];
        let left = rest.partition_point(|other| *other == weight);
        let gone = self.gone.entry(weight).or_insert(0);
        let is_there = *gone < left;
        *gone += usize::from(is_there);
        is_there
    }

    fn delete_smallest(&mut self) {
        while let Some(weight) = self.there.get(self.first)
            && take_one(&mut self.gone, *weight)
        {
            self.first += 1;
        }
        let added = self.more.first_key_value().map(|(weight, _)| *weight);
        match (self.there.get(self.first), added) {
            (Some(there), added) if added.is_none_or(|added| *there <= added) => self.first += 1,
            (_, added) => {
                let weight = added.expect("there is a copy");
                assert!(take_one(&mut self.more, weight), "a weight of the map has a copy");
            }
        }
    }

    /// Appends the copies to a list, and how their weights differ from those at first.
    pub fn put(mut self, other: VertexId, out: &mut EditedLists) {
        out.entries.extend(std::iter::repeat_n(other, self.count));
        if !self.is_weighted {
            return;
        }
        let from = out.weights.len();
        let mut more = self.more.iter().map(|(weight, count)| (*weight, *count)).peekable();
        let mut put_more = |to: Option<u64>, weights: &mut Vec<u64>| {
            while let Some((weight, count)) =
                more.next_if(|(weight, _)| to.is_none_or(|to| *weight < to))
            {
                weights.extend(std::iter::repeat_n(weight, count));
            }
        };
        for &weight in &self.there[self.first..] {
            put_more(Some(weight), &mut out.weights);
            if !take_one(&mut self.gone, weight) {
                out.weights.push(weight);
            }
        }
        put_more(None, &mut out.weights);
        let now = &out.weights[from..];
        assert_eq!(now.len(), self.count, "each copy has a weight");
        swaps(self.there, now, &mut out.swaps);
    }
}

/// Takes one of a weight, if there is any.
fn take_one(counts: &mut Counts, weight: u64) -> bool {
    let Some(count) = counts.get_mut(&weight).filter(|count| **count > 0) else { return false };
    *count -= 1;
    if *count == 0 {
        counts.remove(&weight);
    }
    true
}

/// The weights that only one of two ascending lists has, as often as it has more of them.
fn swaps(mut before: &[u64], mut after: &[u64], out: &mut Vec<[Option<u64>; 2]>) {
    loop {
        match (before.split_first(), after.split_first()) {
            (None, None) => return,
            (Some((old, rest)), Some((new, others))) if old == new => {
                (before, after) = (rest, others);
            }
            (Some((old, rest)), new) if new.is_none_or(|(new, _)| old < new) => {
                out.push([Some(*old), None]);
                before = rest;
            }
            (_, new) => {
                let (new, others) = new.expect("one of them has a weight");
                out.push([None, Some(*new)]);
                after = others;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edits of random copies against a sorted vector.
    #[test]
    fn copies_are_those_of_a_sorted_list() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..4_000 {
            let few = 1 + random(4);
            let mut expected: Vec<u64> = (0..random(7)).map(|_| random(few)).collect();
            expected.sort_unstable();
            let there = expected.clone();
            let mut copies = Copies::new(there.len(), &there);
            for _ in 0..random(12) {
                let weight = random(few + 1);
                let at = expected.iter().position(|other| *other == weight);
                let (done, is_there) = match random(8) {
                    0..3 => {
                        expected.push(weight);
                        (copies.add(Some(weight)), true)
                    }
                    3..5 => {
                        (copies.delete(Some(weight)), at.map(|at| expected.remove(at)).is_some())
                    }
                    5 => {
                        let is_there = !expected.is_empty();
                        expected.fill(weight);
                        (copies.set_all(Some(weight)), is_there)
                    }
                    _ => {
                        let is_there = !expected.is_empty();
                        expected.drain(..usize::from(is_there));
                        (copies.delete(None), is_there)
                    }
                };
                assert_eq!(done, is_there, "round {round}");
                expected.sort_unstable();
                assert_eq!(copies.repeats(), (expected.len() as i64 - 1).max(0));
            }
            let mut out = EditedLists::default();
            copies.put(5, &mut out);
            assert_eq!(out.entries, vec![5; expected.len()], "round {round}");
            assert_eq!(out.weights, expected, "round {round}: {there:?}");
            let mut now: Vec<u64> = there;
            for [before, after] in out.swaps {
                if let Some(before) = before {
                    now.remove(now.iter().position(|weight| *weight == before).unwrap());
                }
                now.extend(after);
            }
            now.sort_unstable();
            assert_eq!(now, expected, "round {round}: swaps");
        }
    }
}
