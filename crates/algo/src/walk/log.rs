//! Records of walks: counts, a fingerprint, and the cells of the corpus.

use std::iter::Sum;
use std::ops::Add;

use cenote_engine::VertexId;

use super::corpus::{Corpus, Stage};
use crate::mix::{GOLDEN, mix};
use crate::ranks::Ranks;

/// Counts over walks, which do not depend on the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Steps along edges.
    pub steps: u64,
    /// Steps back to the start.
    pub restarts: u64,
    /// Walks that ended at a vertex without a neighbour.
    pub dead_ends: u64,
    /// Sum of a hash of every (walk, step, rank of the vertex).
    pub fingerprint: u64,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            restarts: self.restarts + other.restarts,
            dead_ends: self.dead_ends + other.dead_ends,
            fingerprint: self.fingerprint.wrapping_add(other.fingerprint),
        }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Self::add)
    }
}

/// Records the walks of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log<'a> {
    /// Number of the batch's first walk.
    pub first: u64,
    /// The corpus, if there is one.
    pub corpus: Option<&'a Corpus>,
    /// For the fingerprint.
    pub ranks: &'a Ranks,
}

/// One worker's part of a log.
#[derive(Debug, Default)]
pub(super) struct LogPart {
    pub tally: Tally,
    stage: Stage,
}

impl Log<'_> {
    /// A part for one worker.
    pub fn part(&self) -> LogPart {
        let stage = self.corpus.map_or_else(Stage::default, Corpus::stage);
        LogPart { tally: Tally::default(), stage }
    }

    /// Records that walk number `row` of the batch is at `vertex` after `step` steps.
    #[inline]
    pub fn at(&self, part: &mut LogPart, row: u32, step: u32, vertex: VertexId) {
        let place = u64::from(step) << 32 ^ u64::from(self.ranks.of(vertex));
        let walk = mix((self.first + u64::from(row)).wrapping_add(GOLDEN));
        let hash = mix((walk ^ place).wrapping_add(GOLDEN));
        part.tally.fingerprint = part.tally.fingerprint.wrapping_add(hash);
        if let Some(corpus) = self.corpus {
            corpus.put(&mut part.stage, row, step, vertex);
        }
    }

    /// Closes a part and returns its counts.
    pub fn close(&self, mut part: LogPart) -> Tally {
        if let Some(corpus) = self.corpus {
            corpus.flush(&mut part.stage);
        }
        part.tally
    }
}
