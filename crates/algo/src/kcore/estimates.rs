//! Upper bounds of core numbers, which many threads lower concurrently.
//!
//! Invariant: while no thread works, the support of a vertex is at most the number of neighbours
//! whose estimate is at least its own. (If it is less, the vertex is visited needlessly and its
//! support is counted anew.) Why this holds if a neighbour u of v falls from above v's estimate to
//! below it while v is being lowered:
//!
//! - u stores its estimate, then subtracts one from v's support, in an atomic operation with
//!   acquire-release order. If that comes before v resets its support, v sees u's new estimate and
//!   does not count u. If it comes after, it is subtracted from what v adds at the end.
//! - u does not subtract if it still reads v's old estimate, which was above its own old one. But v
//!   stores its new estimate, passes a fence and reads u's, and u does the same: of two threads
//!   that each store, fence and load, one sees the other's store. So v sees u's new estimate.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering, fence};

use cenote_engine::{Direction, Graph, HugeVec, VertexId};
use rayon::prelude::*;

use crate::report::Result;

/// A histogram of neighbours by estimate, up to a bound.
#[derive(Debug)]
pub(super) struct Histogram(Vec<u32>);

impl Histogram {
    pub fn new(bound: u32) -> Self {
        Self(vec![0; bound as usize + 1])
    }

    pub fn bytes_for(bound: u32) -> u64 {
        4 * (u64::from(bound) + 1)
    }
}

/// Estimates of core numbers, and their supports.
#[derive(Debug)]
pub(super) struct Estimates {
    /// The estimate of each vertex.
    pub of: HugeVec<AtomicU32>,
    support: HugeVec<AtomicI32>,
    /// No estimate is larger.
    pub bound: u32,
}

/// The most edges that may join the same two vertices; `None` without a limit.
fn multiplicity(graph: &Graph) -> Option<u64> {
    let superblock = graph.superblock();
    (!superblock.duplicates_kept).then_some(if superblock.directed { 2 } else { 1 })
}

/// An upper bound of all core numbers, whatever the degrees: a k-core in which two vertices share
/// at most m edges has at least k/m vertices of degree k.
pub(super) fn bound_max(graph: &Graph) -> u32 {
    let superblock = graph.superblock();
    let entries = superblock.stored_out * if superblock.directed { 2 } else { 1 };
    let root = |m: u64| (m * entries).isqrt() + m;
    let most = multiplicity(graph).map_or(u64::MAX, root).min(entries);
    u32::try_from(most).unwrap_or(u32::MAX - 1)
}

impl Estimates {
    /// Starts with the degrees, limited by [`bound_of_degrees`] and by `k`.
    pub fn of_degrees(graph: &Graph, k: Option<u32>) -> Result<Self> {
        let n = graph.vertices();
        let mut of: HugeVec<AtomicU32> = HugeVec::zeroed(n)?;
        let both = [Direction::Out, Direction::In];
        for direction in &both[..if graph.is_directed() { 2 } else { 1 }] {
            graph.degrees(*direction, &mut |first, degrees| {
                for (estimate, &degree) in of[first as usize..].iter_mut().zip(degrees) {
                    let degree = u32::try_from(degree).unwrap_or(u32::MAX);
                    *estimate.get_mut() = estimate.get_mut().saturating_add(degree);
                }
            })?;
        }
        let mut bound = bound_max(graph);
        if let Some(m) = multiplicity(graph) {
            bound = bound_of_degrees(&of, bound, m);
        }
        bound = bound.min(k.unwrap_or(u32::MAX));
        of.par_iter_mut().for_each(|estimate| {
            *estimate.get_mut() = bound.min(*estimate.get_mut());
        });
        Ok(Self { of, support: HugeVec::zeroed(n)?, bound })
    }

    /// Lowers the estimate of `v` to what its neighbours' estimates allow and counts its support;
    /// calls `lost` for each neighbour that now has too little support. Returns whether `v` has too
    /// little support by now. Only one thread at a time may call it for a `v`.
    #[inline]
    pub fn lower(
        &self,
        v: VertexId,
        neighbours: &[&[VertexId]],
        histogram: &mut Histogram,
        lost: impl Fn(VertexId),
    ) -> bool {
        let before = self.get(v);
        self.support[v as usize].swap(0, Ordering::AcqRel);
        let (now, mut support) = self.allowed(v, before, neighbours, histogram);
        if now < before {
            self.of[v as usize].store(now, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            support = 0;
            for &u in neighbours.iter().copied().flatten().filter(|&&u| u != v) {
                let estimate = self.get(u);
                support = support.saturating_add(i32::from(estimate >= now));
                if now < estimate && estimate <= before {
                    let left = self.support[u as usize].fetch_sub(1, Ordering::AcqRel) - 1;
                    if i64::from(left) < i64::from(estimate) {
                        lost(u);
                    }
                }
            }
        }
        let support = self.support[v as usize].fetch_add(support, Ordering::AcqRel) + support;
        i64::from(support) < i64::from(now)
    }

    #[inline(always)]
    fn get(&self, v: VertexId) -> u32 {
        self.of[v as usize].load(Ordering::Relaxed)
    }

    /// The largest h up to `most` such that h neighbours have an estimate of at least h, and how
    /// many have.
    #[inline]
    fn allowed(
        &self,
        v: VertexId,
        most: u32,
        neighbours: &[&[VertexId]],
        histogram: &mut Histogram,
    ) -> (u32, i32) {
        let counts = &mut histogram.0[..=most as usize];
        counts.fill(0);
        for &u in neighbours.iter().copied().flatten().filter(|&&u| u != v) {
            counts[self.get(u).min(most) as usize] += 1;
        }
        let mut h = most;
        let mut support = counts[h as usize];
        while support < h {
            h -= 1;
            support = support.saturating_add(counts[h as usize]);
        }
        (h, i32::try_from(support).unwrap_or(i32::MAX))
    }

    /// The core numbers that occur, each with its number of vertices, without the deleted ones.
    pub fn shells(&self, deleted: u64) -> Vec<(u32, u64)> {
        let mut counts = vec![0u64; self.bound as usize + 1];
        self.of.iter().for_each(|core| counts[core.load(Ordering::Relaxed) as usize] += 1);
        // Deleted vertices have no neighbours.
        counts[0] -= deleted;
        (0..).zip(counts).filter(|&(_, vertices)| vertices > 0).collect()
    }
}

/// The largest k up to `bound` such that enough vertices have degree k for a k-core.
fn bound_of_degrees(degrees: &[AtomicU32], bound: u32, multiplicity: u64) -> u32 {
    let mut counts = vec![0u32; bound as usize + 1];
    for degree in degrees {
        counts[degree.load(Ordering::Relaxed).min(bound) as usize] += 1;
    }
    let mut vertices = 0;
    for k in (1..=bound).rev() {
        vertices += u64::from(counts[k as usize]);
        if vertices * multiplicity >= u64::from(k) + multiplicity {
            return k;
        }
    }
    0
}
