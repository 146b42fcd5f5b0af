//! Parents, found after all distances are known.
//!
//! The parent of `v` is, of the vertices `u` at a smaller distance whose distance plus edge weight
//! is exactly that of `v`, the one with the smallest id. If there is none (all such edges have
//! weight 0, or one that rounding swallows), `v` gets a parent at its own distance: level by level
//! from those that have one, the smallest id of the level before. So parents never form a cycle.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{Bitmap, Engine, Frontier, FrontierPart, HugeVec, VertexId};

use super::length::{Lengths, UNREACHED};
use super::relax::{Sums, visit};
use crate::ranks::Parents;
use crate::report::Result;

/// The finished distances.
pub struct Found<'a> {
    pub engine: &'a Engine,
    pub distances: &'a [AtomicU64],
    pub lengths: Lengths,
    pub sources: &'a [VertexId],
}

/// Finds the parents of all reached vertices. The frontiers are used as scratch.
pub fn find(
    found: &Found<'_>,
    frontier: &mut Frontier,
    next: &mut Frontier,
    open: &mut Bitmap,
) -> Result<HugeVec<VertexId>> {
    let parents = Parents::new(found.engine.graph())?;
    found.sources.iter().for_each(|&source| parents.propose(source, source));
    let reached = |v: &VertexId| distance(found, *v) != UNREACHED;
    frontier.set((0..found.distances.len() as VertexId).filter(reached));
    // `open` is the set of reached vertices without a parent.
    next.clear();
    let kernel = Shorter { found, parents: &parents, tied: next };
    let parts = visit(found.engine, "parents".to_owned(), frontier, &kernel)?;
    next.seal(parts);
    open.clear();
    let is_open = |v: &VertexId| distance(found, *v) != UNREACHED && !parents.has(*v);
    let mut left = 0u64;
    for v in (0..found.distances.len() as VertexId).filter(is_open) {
        open.insert(v);
        left += 1;
    }
    // Vertices that have a parent, and edges to vertices at the same distance.
    frontier.set(next.bits().iter().filter(|v| !open.contains(*v)));
    while left > 0 && !frontier.is_empty() {
        next.clear();
        let kernel = Tied { found, parents: &parents, open, next };
        let parts = visit(found.engine, "parents at no distance".to_owned(), frontier, &kernel)?;
        next.seal(parts);
        next.bits().iter().for_each(|v| open.remove(v));
        left -= next.count();
        std::mem::swap(frontier, next);
    }
    parents.finish(found.engine.graph())
}

fn distance(found: &Found<'_>, v: VertexId) -> u64 {
    found.distances[v as usize].load(Ordering::Relaxed)
}

/// Parents at a smaller distance.
struct Shorter<'a> {
    found: &'a Found<'a>,
    parents: &'a Parents,
    /// Vertices with an edge to another at their own distance.
    tied: &'a Frontier,
}

impl Sums for Shorter<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn distance(&self, v: VertexId) -> u64 {
        distance(self.found, v)
    }

    fn lengths(&self) -> Lengths {
        self.found.lengths
    }

    fn path(&self, part: &mut FrontierPart, source: VertexId, before: u64, v: VertexId, sum: u64) {
        if sum != distance(self.found, v) || source == v {
            return;
        }
        if before == sum {
            self.tied.add(source, part);
        } else {
            self.parents.propose(v, source);
        }
    }
}

/// Parents at the same distance, of vertices without a parent.
struct Tied<'a> {
    found: &'a Found<'a>,
    parents: &'a Parents,
    open: &'a Bitmap,
    next: &'a Frontier,
}

impl Sums for Tied<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn distance(&self, v: VertexId) -> u64 {
        distance(self.found, v)
    }

    fn lengths(&self) -> Lengths {
        self.found.lengths
    }

    fn path(&self, part: &mut FrontierPart, source: VertexId, _: u64, v: VertexId, sum: u64) {
        if self.open.contains(v) && sum == distance(self.found, v) {
            self.parents.propose(v, source);
            self.next.add(v, part);
        }
    }
}
