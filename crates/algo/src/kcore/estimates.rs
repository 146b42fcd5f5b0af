//! Estimates of core numbers, from above, that many threads lower at once.
//!
//! The support of a vertex is never more than the number of its neighbours whose estimate is at
//! least its own, once no thread works: it may be less, then the vertex is looked at needlessly and
//! its support counted anew. Why that holds while a vertex v is looked at and its neighbour u
//! falls from above v's estimate to below it:
//!
//! - u stores its estimate, then takes one from v's support, in an atomic step that orders what
//!   was before it. If that is before v begins (sets its support to zero), v sees the new estimate
//!   and does not count u. If it is after, one is missing from what v adds at the end.
//! - u takes nothing from v if it reads v's estimate as it was before v fell, above u's old one.
//!   Then v, which stores its new estimate, passes a fence and reads u's, sees u's new estimate:
//!   of two threads that store, pass a fence and read what the other stores, one sees the other.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering, fence};

use cenote_engine::{Direction, Graph, HugeVec, VertexId};
use rayon::prelude::*;

use crate::report::Result;

/// How many neighbours have which estimate, up to a bound.
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

/// Estimates and supports.
#[derive(Debug)]
pub(super) struct Estimates {
    /// Of each vertex.
    pub of: HugeVec<AtomicU32>,
    support: HugeVec<AtomicI32>,
    /// No estimate is larger.
    pub bound: u32,
}

/// How many edges may join the same two vertices; `None` where any number may.
fn multiplicity(graph: &Graph) -> Option<u64> {
    let superblock = graph.superblock();
    (!superblock.duplicates_kept).then_some(if superblock.directed { 2 } else { 1 })
}

/// No core number of the graph is larger, whatever its degrees: a k-core in which two vertices
/// share at most m edges has at least k/m vertices of degree k.
pub(super) fn bound_max(graph: &Graph) -> u32 {
    let superblock = graph.superblock();
    let entries = superblock.stored_out * if superblock.directed { 2 } else { 1 };
    let root = |m: u64| (m * entries).isqrt() + m;
    let most = multiplicity(graph).map_or(u64::MAX, root).min(entries);
    u32::try_from(most).unwrap_or(u32::MAX - 1)
}

impl Estimates {
    /// Degrees, cut off at what the degrees allow and at `k`.
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

    /// Lowers the estimate of `v` to what its neighbours' allow and counts its support; passes
    /// `lost` each neighbour that thereby has too little. Whether `v` itself has too little by
    /// now. One thread at a time for one `v`.
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

    /// The largest h up to `most` such that h neighbours have an estimate of h or more, and how
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

    /// Core numbers that occur, with the number of vertices that have each.
    pub fn shells(&self) -> Vec<(u32, u64)> {
        let mut counts = vec![0u64; self.bound as usize + 1];
        self.of.iter().for_each(|core| counts[core.load(Ordering::Relaxed) as usize] += 1);
        (0..).zip(counts).filter(|&(_, vertices)| vertices > 0).collect()
    }
}

/// The largest k up to `bound` such that there are vertices enough of degree k for a k-core.
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
