//! Distances as the search part by part ([`parts`](crate::parts)) lowers them.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{Graph, VertexId};

use super::length::{add_float, add_integer};
use crate::parts::Distances;

/// How weights are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    /// Not at all: edges have length 1.
    Ones,
    Integers,
    /// As `f32`.
    Narrow,
    /// As `f64`.
    Wide,
}

impl Stored {
    pub fn of(graph: &Graph) -> Self {
        match graph.superblock().weights.map(|weights| weights.kind()) {
            None => Self::Ones,
            Some(kind) if kind.is_integer() => Self::Integers,
            Some(kind) if kind.bytes() == 4 => Self::Narrow,
            Some(_) => Self::Wide,
        }
    }

    /// The length of a path of length `before` and an edge whose weight has these bits.
    #[inline(always)]
    pub fn longer(self, before: u64, weight: u64) -> u64 {
        match self {
            Self::Ones => add_integer(before, 1),
            Self::Integers => add_integer(before, weight),
            Self::Narrow => add_float(before, f32::from_bits(weight as u32).into()),
            Self::Wide => add_float(before, f64::from_bits(weight)),
        }
    }
}

/// The distances of a search, and how paths grow.
pub(super) struct Paths<'a> {
    distances: &'a [AtomicU64],
    stored: Stored,
}

impl<'a> Paths<'a> {
    pub fn new(graph: &Graph, distances: &'a [AtomicU64]) -> Self {
        Self { distances, stored: Stored::of(graph) }
    }
}

impl Distances for Paths<'_> {
    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.distances[v as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn lower(&self, v: VertexId, to: u64) -> bool {
        let distance = &self.distances[v as usize];
        to < distance.load(Ordering::Relaxed) && to < distance.fetch_min(to, Ordering::Relaxed)
    }

    #[inline(always)]
    fn longer(&self, before: u64, weight: u64) -> u64 {
        self.stored.longer(before, weight)
    }
}
