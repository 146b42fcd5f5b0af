//! The state of a walk besides its position: none, or that of node2vec.

use std::fmt::Debug;

use cenote_engine::VertexId;

use super::rule::NONE;

/// The history that a walk keeps.
pub(super) trait Past: Copy + Debug + Default + Send + Sync {
    /// Whether such walks test edges.
    const TESTS_EDGES: bool;

    /// The vertex before, [`NONE`] at the start.
    fn before(&self) -> VertexId;

    /// The number of the next proposal of this step.
    fn trial(&self) -> u32;

    /// The candidate whose edge to the vertex before is to be tested, and whether in its own list.
    fn edge_test(&self) -> Option<(VertexId, bool)>;

    /// Sets the candidate whose edge to the vertex before is to be tested.
    fn set_edge_test(&mut self, candidate: VertexId, at_candidate: bool);

    /// Records that the proposal was rejected.
    fn refuse(&mut self);

    /// Records a step from `at`.
    fn leave(&mut self, at: VertexId);
}

/// No history: steps depend only on the current vertex.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstOrder;

impl Past for FirstOrder {
    const TESTS_EDGES: bool = false;

    #[inline]
    fn before(&self) -> VertexId {
        NONE
    }

    #[inline]
    fn trial(&self) -> u32 {
        0
    }

    #[inline]
    fn edge_test(&self) -> Option<(VertexId, bool)> {
        None
    }

    fn set_edge_test(&mut self, _: VertexId, _: bool) {
        unreachable!("a first-order walk accepts every proposal");
    }

    fn refuse(&mut self) {
        unreachable!("a first-order walk accepts every proposal");
    }

    #[inline]
    fn leave(&mut self, _: VertexId) {}
}

/// The history of node2vec: steps depend on the vertex before.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecondOrder {
    before: VertexId,
    candidate: VertexId,
    /// Twice the number of rejections; odd if the edge is tested in the candidate's own list.
    trial: u32,
}

impl Default for SecondOrder {
    fn default() -> Self {
        Self { before: NONE, candidate: NONE, trial: 0 }
    }
}

impl Past for SecondOrder {
    const TESTS_EDGES: bool = true;

    #[inline]
    fn before(&self) -> VertexId {
        self.before
    }

    #[inline]
    fn trial(&self) -> u32 {
        self.trial / 2
    }

    #[inline]
    fn edge_test(&self) -> Option<(VertexId, bool)> {
        (self.candidate != NONE).then_some((self.candidate, self.trial % 2 == 1))
    }

    #[inline]
    fn set_edge_test(&mut self, candidate: VertexId, at_candidate: bool) {
        self.candidate = candidate;
        self.trial = self.trial & !1 | u32::from(at_candidate);
    }

    #[inline]
    fn refuse(&mut self) {
        self.candidate = NONE;
        self.trial = (self.trial & !1) + 2;
    }

    #[inline]
    fn leave(&mut self, at: VertexId) {
        *self = Self { before: at, candidate: NONE, trial: 0 };
    }
}
