//! What a walk remembers beside where it is: nothing, or what node2vec needs.

use std::fmt::Debug;

use cenote_engine::VertexId;

use super::rule::NONE;

/// A walk's memory.
pub(super) trait Past: Copy + Debug + Default + Send + Sync {
    /// Whether such walks ask for edges.
    const ASKS: bool;

    /// The vertex before, [`NONE`] at the start.
    fn before(&self) -> VertexId;

    /// Which proposal of this step is next.
    fn trial(&self) -> u32;

    /// The candidate whose edge to the vertex before is asked for, and whether in its own list.
    fn question(&self) -> Option<(VertexId, bool)>;

    /// Notes a candidate whose edge to the vertex before is to be looked up.
    fn ask(&mut self, candidate: VertexId, at_candidate: bool);

    /// The proposal was refused.
    fn refuse(&mut self);

    /// A step leads on from `at`.
    fn leave(&mut self, at: VertexId);
}

/// Steps depend on where the walk is, no more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forgets;

impl Past for Forgets {
    const ASKS: bool = false;

    #[inline]
    fn before(&self) -> VertexId {
        NONE
    }

    #[inline]
    fn trial(&self) -> u32 {
        0
    }

    #[inline]
    fn question(&self) -> Option<(VertexId, bool)> {
        None
    }

    fn ask(&mut self, _: VertexId, _: bool) {
        unreachable!("a walk without a past takes every proposal");
    }

    fn refuse(&mut self) {
        unreachable!("a walk without a past takes every proposal");
    }

    #[inline]
    fn leave(&mut self, _: VertexId) {}
}

/// Steps depend on the vertex before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remembers {
    before: VertexId,
    candidate: VertexId,
    /// Twice the number of refusals; odd where the candidate's own list is asked.
    trial: u32,
}

impl Default for Remembers {
    fn default() -> Self {
        Self { before: NONE, candidate: NONE, trial: 0 }
    }
}

impl Past for Remembers {
    const ASKS: bool = true;

    #[inline]
    fn before(&self) -> VertexId {
        self.before
    }

    #[inline]
    fn trial(&self) -> u32 {
        self.trial / 2
    }

    #[inline]
    fn question(&self) -> Option<(VertexId, bool)> {
        (self.candidate != NONE).then_some((self.candidate, self.trial % 2 == 1))
    }

    #[inline]
    fn ask(&mut self, candidate: VertexId, at_candidate: bool) {
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
