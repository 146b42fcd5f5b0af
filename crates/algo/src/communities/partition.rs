//! The communities of all vertices, and the passes over stored lists that change them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Bitmap, Direction, Engine, Frontier, HugeVec, VertexId};

use super::lists::{Scale, TakeList, Weigh, visit};
use crate::parallel;
use crate::ranks::Ranks;
use crate::report::Result;

/// The label of a vertex whose edges weigh nothing: it is in no community but its own.
pub(super) const ISOLATED: u32 = u32::MAX;

/// Communities of vertices: a label each, in `0..vertices`. A community may have any label.
pub(super) struct Partition<'e> {
    pub engine: &'e Engine,
    pub scale: Scale,
    pub ranks: Ranks,
    pub labels: HugeVec<AtomicU32>,
    /// The labels of vertices that move; subsets of communities during a refinement.
    pub other: HugeVec<AtomicU32>,
    /// Twice the weight of all edges.
    pub total: u64,
    /// The resolution divided by `total`.
    pub density: f64,
    /// Vertices with edges.
    pub connected: u64,
    /// From 1 on.
    pub iteration: u32,
}

/// Bytes of the state: labels, those of moves or subsets, the best ones, degrees or the weights of
/// subsets, weights of communities, sets.
pub(super) fn bytes_for(vertices: usize, threads: usize) -> u64 {
    let n = vertices as u64;
    n * (4 + 4 + 4 + 8 + 8)
        + 3 * Bitmap::bytes_for(vertices)
        + Frontier::bytes_for(vertices, threads)
}

pub(super) fn get(of: &[AtomicU32], at: u32) -> u32 {
    of[at as usize].load(Ordering::Relaxed)
}

pub(super) fn weight(of: &[AtomicU64], at: u32) -> u64 {
    of[at as usize].load(Ordering::Relaxed)
}

impl<'e> Partition<'e> {
    /// Every vertex by itself.
    pub fn new(engine: &'e Engine, scale: Scale, resolution: f64) -> Result<Self> {
        let n = engine.graph().vertices();
        let ranks = Ranks::load(engine.graph())?;
        let labels: HugeVec<AtomicU32> = HugeVec::zeroed(n)?;
        let other = HugeVec::zeroed(n)?;
        let mut partition = Self {
            engine,
            scale,
            ranks,
            labels,
            other,
            total: 0,
            density: 0.0,
            connected: 0,
            iteration: 0,
        };
        let degrees = partition.degrees()?;
        let labels = &partition.labels;
        let ranks = &partition.ranks;
        parallel::for_each_of(labels, |v, label| {
            let rank = ranks.of(v as VertexId);
            let is_isolated = weight(&degrees, rank) == 0;
            label.store(if is_isolated { ISOLATED } else { rank }, Ordering::Relaxed);
        });
        let degree = |at: usize| degrees[at].load(Ordering::Relaxed);
        partition.total = parallel::sum(n, degree);
        partition.connected = parallel::count(n, |at| degree(at) > 0) as u64;
        partition.density = resolution / partition.total.max(1) as f64;
        Ok(partition)
    }

    /// The degree of every rank: the weights of its edges, of a self-loop twice.
    pub fn degrees(&mut self) -> Result<HugeVec<AtomicU64>> {
        let graph = self.engine.graph();
        let degrees: HugeVec<AtomicU64> = HugeVec::zeroed(graph.vertices())?;
        if self.scale == Scale::One && !graph.superblock().self_loops_kept {
            graph.degrees(Direction::Out, &mut |first, some| {
                for (v, &degree) in (first..).zip(some) {
                    let rank = self.ranks.of(v) as usize;
                    degrees[rank].store(degree, Ordering::Relaxed);
                }
            })?;
            return Ok(degrees);
        }
        let sum = SumWeights { ranks: &self.ranks, degrees: &degrees };
        visit(self.engine, "degrees", ActiveSet::All, self.scale, &sum)?;
        Ok(degrees)
    }

    /// The weight of every community, from the degrees of ranks.
    pub fn totals(&self, degrees: &[AtomicU64]) -> Result<HugeVec<AtomicU64>> {
        let totals: HugeVec<AtomicU64> = HugeVec::zeroed(self.labels.len())?;
        self.for_each_connected(|v, label| {
            let degree = weight(degrees, self.ranks.of(v));
            totals[label as usize].fetch_add(degree, Ordering::Relaxed);
        });
        Ok(totals)
    }

    /// Calls `each` with all vertices that have edges, and their labels, from many threads.
    pub fn for_each_connected(&self, each: impl Fn(VertexId, u32) + Sync) {
        parallel::for_each_of(&self.labels, |v, label| {
            let label = label.load(Ordering::Relaxed);
            if label != ISOLATED {
                each(v as VertexId, label);
            }
        });
    }
}

/// Adds up the weights of lists.
struct SumWeights<'a> {
    ranks: &'a Ranks,
    degrees: &'a [AtomicU64],
}

impl TakeList for SumWeights<'_> {
    type Local = ();

    fn local(&self) {}

    fn take(&self, (): &mut (), v: VertexId, targets: &[VertexId], weights: impl Weigh) {
        let twice = |at: usize| if targets[at] == v { 2 } else { 1 };
        let degree = (0..targets.len()).map(|at| weights.of(at) * twice(at)).sum();
        self.degrees[self.ranks.of(v) as usize].store(degree, Ordering::Relaxed);
    }
}
