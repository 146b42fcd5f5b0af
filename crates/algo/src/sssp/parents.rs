//! Parents, when all distances are known.
//!
//! The parent of `v` is the smallest `u` whose distance and the weight of whose edge give that of
//! `v` exactly, among those at a smaller distance. Where there is none (all such edges have weight
//! 0, or one that rounding swallows), `v` gets a parent at its own distance: level by level from
//! those that have one, the smallest of the level before. So parents never lead in a circle.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{Bitmap, Engine, Frontier, FrontierPart, HugeVec, VertexId};

use super::length::{Lengths, UNREACHED};
use super::relax::{Sums, visit};
use crate::report::Result;

pub const NO_PARENT: u32 = u32::MAX;

/// What parents are found from.
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
) -> Result<HugeVec<AtomicU32>> {
    let parents = HugeVec::<AtomicU32>::zeroed(found.distances.len())?;
    parents.iter().for_each(|parent| parent.store(NO_PARENT, Ordering::Relaxed));
    for &source in found.sources {
        parents[source as usize].store(source, Ordering::Relaxed);
    }
    let reached = |v: &VertexId| distance(found, *v) != UNREACHED;
    fill(frontier, (0..found.distances.len() as VertexId).filter(reached));
    next.clear();
    let kernel = Shorter { found, parents: &parents, tied: next };
    let parts = visit(found.engine, "parents".to_owned(), frontier, &kernel)?;
    next.seal(parts);
    open.clear();
    let is_open = |v: &VertexId| {
        distance(found, *v) != UNREACHED
            && parents[*v as usize].load(Ordering::Relaxed) == NO_PARENT
    };
    let mut left = 0u64;
    for v in (0..found.distances.len() as VertexId).filter(is_open) {
        open.insert(v);
        left += 1;
    }
    // Of the vertices with edges to others at their own distance, those that have a parent.
    fill(frontier, next.bits().iter().filter(|v| !open.contains(*v)));
    while left > 0 && !frontier.is_empty() {
        next.clear();
        let kernel = Tied { found, parents: &parents, open, next };
        let parts = visit(found.engine, "parents without way".to_owned(), frontier, &kernel)?;
        next.seal(parts);
        next.bits().iter().for_each(|v| open.remove(v));
        left -= next.count();
        std::mem::swap(frontier, next);
    }
    Ok(parents)
}

/// Makes a frontier of these ascending vertices.
pub fn fill(frontier: &mut Frontier, vertices: impl Iterator<Item = VertexId>) {
    frontier.clear();
    let mut part = FrontierPart::default();
    for v in vertices {
        frontier.add(v, &mut part);
    }
    frontier.seal([part]);
}

fn distance(found: &Found<'_>, v: VertexId) -> u64 {
    found.distances[v as usize].load(Ordering::Relaxed)
}

/// Parents at a smaller distance.
struct Shorter<'a> {
    found: &'a Found<'a>,
    parents: &'a [AtomicU32],
    /// Vertices with an edge to another at their own distance.
    tied: &'a Frontier,
}

impl Sums for Shorter<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn distances(&self) -> &[AtomicU64] {
        self.found.distances
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
            self.parents[v as usize].fetch_min(source, Ordering::Relaxed);
        }
    }
}

/// Parents at the same distance, of vertices that have none.
struct Tied<'a> {
    found: &'a Found<'a>,
    parents: &'a [AtomicU32],
    open: &'a Bitmap,
    next: &'a Frontier,
}

impl Sums for Tied<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn distances(&self) -> &[AtomicU64] {
        self.found.distances
    }

    fn lengths(&self) -> Lengths {
        self.found.lengths
    }

    fn path(&self, part: &mut FrontierPart, source: VertexId, _: u64, v: VertexId, sum: u64) {
        if self.open.contains(v) && sum == distance(self.found, v) {
            self.parents[v as usize].fetch_min(source, Ordering::Relaxed);
            self.next.add(v, part);
        }
    }
}
