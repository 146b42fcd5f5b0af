//! Proposals and verdicts for walks in lockstep.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use cenote_engine::{HugeVec, Kernel, List, Page, PageTask, Purpose, VertexId};

use super::draw::below;
use super::rule::{Rule, Verdict};
use super::weigh::{Choice, PageWeights, Sums, Weighing, hull};

/// A walk between two steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walker {
    /// The random word that selects the entry; for weighted walks, the page of the entry.
    pub position: u64,
    pub at: VertexId,
    pub before: VertexId,
    pub candidate: VertexId,
    pub row: u32,
}

pub(super) const DEAD_END: u8 = 0;
pub(super) const TAKEN: u8 = 1;
pub(super) const REFUSED: u8 = 2;
pub(super) const TAKEN_IF_NEIGHBOUR: u8 = 3;
const TAKEN_UNLESS_NEIGHBOUR: u8 = 4;

/// The proposal to each pending walk, and the verdict on it.
pub(super) struct Replies {
    pub proposed: HugeVec<AtomicU32>,
    pub verdicts: HugeVec<AtomicU8>,
}

/// The walks of a vertex, among walks sorted by `key`.
pub(super) fn of_vertex(
    walkers: &[Walker],
    vertex: VertexId,
    key: impl Fn(&Walker) -> VertexId,
) -> Range<usize> {
    let from = walkers.partition_point(|w| key(w) < vertex);
    let len = walkers[from..].partition_point(|w| key(w) == vertex);
    from..from + len
}

/// Proposes an entry to every walk at a vertex, in whichever piece of its list the entry lies.
pub(super) struct Propose<'a> {
    pub rule: &'a Rule<'a>,
    pub first: u64,
    pub step: u32,
    pub trial: u32,
    pub walkers: &'a [Walker],
    pub replies: &'a Replies,
}

impl Kernel for Propose<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        if list.degree == 0 {
            return;
        }
        for i in of_vertex(self.walkers, list.vertex, |w| w.at) {
            let walker = &self.walkers[i];
            let position = below(walker.position, list.degree);
            let Some(&target) = position
                .checked_sub(list.skip)
                .and_then(|position| list.targets.get(position as usize))
            else {
                continue;
            };
            self.reply(i, target, list.degree);
        }
    }
}

impl Propose<'_> {
    /// Proposes `target` to a walk at a vertex of this degree.
    pub fn reply(&self, i: usize, target: VertexId, degree: u64) {
        let walker = &self.walkers[i];
        let walk = self.first + u64::from(walker.row);
        let draw = self.rule.draw(walk, self.step, self.trial);
        let verdict = match self.rule.verdict(&draw, target, walker.before, degree) {
            Verdict::Taken => TAKEN,
            Verdict::Refused => REFUSED,
            Verdict::TakenIf { neighbour: true } => TAKEN_IF_NEIGHBOUR,
            Verdict::TakenIf { neighbour: false } => TAKEN_UNLESS_NEIGHBOUR,
        };
        self.replies.proposed[i].store(target, Ordering::Relaxed);
        self.replies.verdicts[i].store(verdict, Ordering::Relaxed);
    }
}

/// Weighted proposals, to walks sorted by the page of the proposed entry.
pub(super) struct ProposeByWeight<'a> {
    pub weighing: &'a Weighing<'a>,
    pub propose: Propose<'a>,
    pub contradiction: &'a AtomicBool,
}

impl ProposeByWeight<'_> {
    fn word(&self, walker: &Walker) -> u64 {
        let Propose { rule, first, step, trial, .. } = self.propose;
        rule.draw(first + u64::from(walker.row), step, trial).position
    }
}

impl Kernel for ProposeByWeight<'_> {
    type Local = Sums;

    fn local(&self) -> Sums {
        Sums::default()
    }

    fn entries(&self, page: &Page<'_>, task: PageTask) -> Range<usize> {
        let walkers = &self.propose.walkers[task.from as usize..task.to as usize];
        let entries = |walker: &Walker| {
            self.weighing.entries(page, task.page, walker.at, || self.word(walker))
        };
        walkers.iter().map(entries).fold(0..0, hull)
    }

    fn page(&self, sums: &mut Sums, page: &Page<'_>, purpose: &Purpose<'_>) {
        let task = purpose.task;
        let Some((entries, weights)) = purpose.weights.clone() else { return };
        let mut weights = PageWeights::new(entries, weights, sums);
        for i in task.from as usize..task.to as usize {
            let walker = &self.propose.walkers[i];
            let (at, word) = (walker.at, self.word(walker));
            match self.weighing.choose(&mut weights, page, task.page, at, word) {
                Ok(Choice::Target(target)) => {
                    let degree = page.list((at - page.first_vertex()) as usize).degree;
                    self.propose.reply(i, target, degree);
                }
                // Without a reply the walk is at a dead end.
                Ok(Choice::DeadEnd) => {}
                Ok(Choice::At(_)) | Err(_) => self.contradiction.store(true, Ordering::Relaxed),
            }
        }
    }
}

/// Tests whether candidates are neighbours of the vertex before.
pub(super) struct TestEdges<'a> {
    pub walkers: &'a [Walker],
    pub replies: &'a Replies,
}

impl Kernel for TestEdges<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        for i in of_vertex(self.walkers, list.vertex, |w| w.before) {
            let candidate = self.walkers[i].candidate;
            if list.targets.binary_search(&candidate).is_ok() {
                self.replies.proposed[i].store(candidate, Ordering::Relaxed);
            }
        }
    }
}
