//! State of a batch of searches, and the sums of all batches.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{HugeVec, VertexId};

use crate::parallel::{self, fill};
use crate::report::Result;

/// The most searches in a batch.
pub(super) const LANES_MAX: usize = 32;

pub(super) const UNREACHED: u32 = u32::MAX;

/// Vertices that a thread processes at a time.
const CHUNK: usize = 1 << 13;

/// Bytes per vertex and lane.
pub(super) const LANE_BYTES: u64 = 4 + 8;

/// Levels and values of a batch of searches, one lane each; the lanes of a vertex are adjacent.
pub(super) struct Lanes {
    vertices: usize,
    count: usize,
    levels: HugeVec<AtomicU32>,
    /// Negative if the vertex has a successor: a neighbour on the next level. Its absolute value is
    /// the number of shortest paths from the source; after the backward sweep, for a vertex with
    /// successors, (1 + dependency) / paths.
    values: HugeVec<AtomicU64>,
}

impl Lanes {
    pub fn new(vertices: usize, count: usize) -> Result<Self> {
        assert!((1..=LANES_MAX).contains(&count), "lanes fit a mask");
        Ok(Self {
            vertices,
            count,
            levels: HugeVec::zeroed(vertices * count)?,
            values: HugeVec::zeroed(vertices * count)?,
        })
    }

    /// From here on there are so many lanes, at most as many as at first.
    pub fn divide(&mut self, count: usize) {
        assert!(self.vertices * count <= self.levels.len(), "lanes have memory");
        self.count = count;
    }

    /// Starts a search in each lane.
    pub fn start(&self, sources: &[VertexId]) {
        fill(self.levels(), UNREACHED);
        for (lane, &source) in sources.iter().enumerate() {
            let at = self.at(source) + lane;
            self.set_level(at, 0);
            self.set_value(at, 1.0);
        }
    }

    /// The index of the first lane of `v`.
    #[inline(always)]
    pub fn at(&self, v: VertexId) -> usize {
        v as usize * self.count
    }

    #[inline(always)]
    pub fn level(&self, at: usize) -> u32 {
        self.levels[at].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn set_level(&self, at: usize, level: u32) {
        self.levels[at].store(level, Ordering::Relaxed);
    }

    #[inline(always)]
    pub fn value(&self, at: usize) -> f64 {
        f64::from_bits(self.values[at].load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub fn set_value(&self, at: usize, value: f64) {
        self.values[at].store(value.to_bits(), Ordering::Relaxed);
    }

    /// The levels of all lanes, to prefetch from.
    #[inline(always)]
    pub fn levels(&self) -> &[AtomicU32] {
        &self.levels[..self.vertices * self.count]
    }

    /// Makes a value negative. Other threads may do so at the same time.
    #[inline(always)]
    pub fn negate(&self, at: usize) {
        self.values[at].fetch_or((-0f64).to_bits(), Ordering::Relaxed);
    }

    /// The lanes in which `v` is on `level`.
    #[inline(always)]
    pub fn on_level(&self, v: VertexId, level: u32) -> Active {
        let at = self.at(v);
        let mut active = Active { lanes: [0; LANES_MAX], count: 0 };
        for (lane, of_lane) in self.levels[at..at + self.count].iter().enumerate() {
            active.lanes[active.count] = lane as u8;
            active.count += usize::from(of_lane.load(Ordering::Relaxed) == level);
        }
        active
    }

    /// The vertices with a successor that are on `level` in any lane, as parts of a frontier.
    pub fn with_successors<P: Default + Send>(
        &self,
        level: u32,
        add: impl Fn(VertexId, &mut P) + Sync,
    ) -> Vec<P> {
        parallel::collect_of_blocks(CHUNK, self.vertices, |range| {
            let mut part = P::default();
            let levels = &self.levels[range.start * self.count..range.end * self.count];
            for (v, lanes) in range.zip(levels.chunks_exact(self.count)) {
                if lanes.iter().any(|of_lane| of_lane.load(Ordering::Relaxed) == level)
                    && self.has_successor(v as VertexId, level)
                {
                    add(v as VertexId, &mut part);
                }
            }
            part
        })
    }

    /// Whether `v` is on `level` and has a successor, in any lane.
    pub fn has_successor(&self, v: VertexId, level: u32) -> bool {
        let at = self.at(v);
        (at..at + self.count).any(|at| self.level(at) == level && self.value(at) < 0.0)
    }
}

/// A subset of the lanes.
pub(super) struct Active {
    lanes: [u8; LANES_MAX],
    count: usize,
}

impl Active {
    #[inline(always)]
    pub fn lanes(&self) -> &[u8] {
        &self.lanes[..self.count]
    }

    /// Keeps the lanes that pass.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = 0;
        for i in 0..self.count {
            self.lanes[kept] = self.lanes[i];
            kept += usize::from(keep(usize::from(self.lanes[i])));
        }
        self.count = kept;
    }
}

/// For each vertex a sum of dependencies in 64.64 fixed point, which does not depend on the order
/// of its terms, nor on the size of a batch. A dependency is below 2^32, and so is the number of
/// sources.
pub(super) struct Sums {
    whole: HugeVec<AtomicU64>,
    parts: HugeVec<AtomicU64>,
}

/// 2^64.
const ONE: f64 = 18_446_744_073_709_551_616.0;

impl Sums {
    /// Bytes a vertex.
    pub const BYTES: u64 = 16;

    pub fn new(vertices: usize) -> Result<Self> {
        Ok(Self { whole: HugeVec::zeroed(vertices)?, parts: HugeVec::zeroed(vertices)? })
    }

    /// Adds to the sum of `v`. Only one thread at a time may add for a `v`.
    #[inline(always)]
    pub fn add(&self, v: VertexId, dependency: f64) {
        let whole = dependency.trunc();
        let part = ((dependency - whole) * ONE) as u64;
        let (sum, carry) = self.parts[v as usize].load(Ordering::Relaxed).overflowing_add(part);
        self.parts[v as usize].store(sum, Ordering::Relaxed);
        let more = (whole as u64).wrapping_add(u64::from(carry));
        let sum = self.whole[v as usize].load(Ordering::Relaxed).wrapping_add(more);
        self.whole[v as usize].store(sum, Ordering::Relaxed);
    }

    pub fn len(&self) -> usize {
        self.whole.len()
    }

    pub fn get(&self, v: VertexId) -> f64 {
        let whole = self.whole[v as usize].load(Ordering::Relaxed) as f64;
        whole + self.parts[v as usize].load(Ordering::Relaxed) as f64 / ONE
    }
}

impl std::fmt::Debug for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sums({} vertices)", self.whole.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_does_not_depend_on_the_order_of_its_terms() {
        let terms = [0.75, 1e9 + 0.1, 0.5, 3.999_999_999, 1e-15, 0.25, 7.0, 1.0 / 3.0];
        let (forward, backward) = (Sums::new(1).unwrap(), Sums::new(1).unwrap());
        terms.iter().for_each(|&term| forward.add(0, term));
        terms.iter().rev().for_each(|&term| backward.add(0, term));
        assert_eq!(forward.get(0).to_bits(), backward.get(0).to_bits());
        let expected: f64 = terms.iter().sum();
        assert!((forward.get(0) - expected).abs() <= 1e-15 * expected);
    }

    #[test]
    fn carries_reach_the_whole_part() {
        let sums = Sums::new(2).unwrap();
        for _ in 0..3 {
            sums.add(1, 0.5);
        }
        assert_eq!((sums.get(0), sums.get(1)), (0.0, 1.5));
    }
}
