//! What is known of the core numbers: bounds from above, and vertices whose number is final.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Bitmap, Graph, HugeVec, VertexId, prefetch_of_many};

use crate::neighbourhood::directions;
use crate::parallel;
use crate::report::Result;

/// Lists shorter than this many neighbours in the remaining graph are those of leaves and isolated
/// vertices: their core numbers are known without a search.
pub(super) const TRIVIAL: u32 = 2;

/// Bounds of core numbers.
#[derive(Debug)]
pub(super) struct Bounds {
    /// No core number is larger; of vertices in `done` it is the core number. While lists are
    /// peeled in memory, the place of each vertex among them.
    pub of: HugeVec<AtomicU32>,
    /// A count of neighbours, as each step says.
    pub count: HugeVec<AtomicU32>,
    /// Vertices whose core number is final.
    pub done: Bitmap,
    /// No core number is larger.
    pub most: u32,
    /// The core numbers of all vertices that are not done are at least this, less one.
    pub lowest: u32,
    /// Vertices with bounds from here on are done.
    pub ceiling: u32,
    multiplicity: Option<u64>,
}

/// The most edges that may join the same two vertices; `None` without a limit.
fn multiplicity(graph: &Graph) -> Option<u64> {
    let superblock = graph.superblock();
    (!superblock.duplicates_kept).then_some(if superblock.directed { 2 } else { 1 })
}

/// Entries of all lists.
pub(super) fn entries(graph: &Graph) -> u64 {
    graph.superblock().stored_out * directions(graph.is_directed()).len() as u64
}

/// An upper bound of all core numbers, whatever the degrees: a k-core in which two vertices share
/// at most m edges has at least k/m vertices of degree k.
pub(super) fn bound_max(graph: &Graph) -> u32 {
    let entries = entries(graph);
    let root = |m: u64| (m * entries).isqrt() + m;
    let most = multiplicity(graph).map_or(u64::MAX, root).min(entries);
    u32::try_from(most).unwrap_or(u32::MAX - 2)
}

impl Bounds {
    /// Memory over `n` vertices.
    pub fn bytes_for(n: usize) -> u64 {
        8 * n as u64 + Bitmap::bytes_for(n)
    }

    /// Starts with the degrees, limited by what all degrees allow and by `k`. Returns the sum of
    /// the degrees too.
    pub fn of_degrees(graph: &Graph, k: Option<u32>, threads: usize) -> Result<(Self, u64)> {
        let n = graph.vertices();
        let of: HugeVec<AtomicU32> = HugeVec::zeroed(n)?;
        let take = |entries: &mut u64, first: VertexId, degrees: &[u64]| {
            for (bound, &degree) in of[first as usize..].iter().zip(degrees) {
                *entries += degree;
                let degree = u32::try_from(degree).unwrap_or(u32::MAX);
                // One thread has the vertex.
                let before = bound.load(Ordering::Relaxed);
                bound.store(before.saturating_add(degree), Ordering::Relaxed);
            }
        };
        let mut entries = 0;
        for direction in directions(graph.is_directed()) {
            entries += graph.degrees_on(threads, *direction, &take)?.iter().sum::<u64>();
        }
        let most = bound_max(graph).min(k.unwrap_or(u32::MAX));
        let multiplicity = multiplicity(graph);
        let (count, done) = (HugeVec::zeroed(n)?, Bitmap::new(n)?);
        let mut bounds = Self { of, count, done, most, lowest: 0, ceiling: most + 1, multiplicity };
        bounds.limit();
        Ok((bounds, entries))
    }

    /// Limits all bounds by what they allow together: a k-core has enough vertices of degree k.
    pub fn limit(&mut self) {
        if let Some(multiplicity) = self.multiplicity {
            self.most = most_of(&self.of, self.most, multiplicity);
        }
        self.ceiling = self.ceiling.min(self.most + 1);
        let most = self.most;
        parallel::for_each_of(&self.of, |_, bound| {
            if bound.load(Ordering::Relaxed) > most {
                bound.store(most, Ordering::Relaxed);
            }
        });
    }

    #[inline(always)]
    pub fn get(&self, v: VertexId) -> u32 {
        self.of[v as usize].load(Ordering::Relaxed)
    }

    /// Loads bounds that are needed soon.
    #[inline(always)]
    pub fn prefetch(&self, vertices: &[VertexId]) {
        prefetch_of_many(&self.of, vertices);
    }

    #[inline(always)]
    pub fn set(&self, v: VertexId, bound: u32) {
        self.of[v as usize].store(bound, Ordering::Relaxed);
    }

    #[inline(always)]
    pub fn count(&self, v: VertexId) -> u32 {
        self.count[v as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn set_count(&self, v: VertexId, count: u32) {
        self.count[v as usize].store(count, Ordering::Relaxed);
    }

    /// Whether a list in memory needs its entries to a vertex with this bound.
    #[inline(always)]
    pub fn is_open(&self, bound: u32) -> bool {
        (self.lowest..self.ceiling).contains(&bound)
    }

    /// All bounds are the core numbers.
    pub fn finish(&mut self) {
        self.ceiling = self.lowest;
    }

    /// Whether all core numbers are known.
    pub fn is_finished(&self) -> bool {
        self.ceiling <= self.lowest
    }

    /// The core numbers that occur, each with its number of vertices, without the deleted ones.
    pub fn shells(&self, deleted: u64) -> Vec<(u32, u64)> {
        let mut counts = count_values(&self.of, self.most);
        // Deleted vertices have no neighbours.
        counts[0] -= deleted;
        (0..).zip(counts).filter(|&(_, vertices)| vertices > 0).collect()
    }
}

/// The largest k up to `most` such that enough vertices have degree k for a k-core.
fn most_of(degrees: &[AtomicU32], most: u32, multiplicity: u64) -> u32 {
    let counts = count_values(degrees, most);
    let mut vertices = 0;
    for k in (1..=most).rev() {
        vertices += counts[k as usize];
        if vertices * multiplicity >= u64::from(k) + multiplicity {
            return k;
        }
    }
    0
}

/// How often each value up to `most` occurs; greater ones count as that.
fn count_values(values: &[AtomicU32], most: u32) -> Vec<u64> {
    let block = values.len().div_ceil(rayon::current_num_threads()).max(parallel::BLOCK);
    let counts = parallel::collect_of_blocks(block, values.len(), |range| {
        let mut counts = vec![0u32; most as usize + 1];
        for value in &values[range] {
            counts[value.load(Ordering::Relaxed).min(most) as usize] += 1;
        }
        counts
    });
    let mut all = vec![0; most as usize + 1];
    for of_block in counts {
        all.iter_mut().zip(of_block).for_each(|(sum, count)| *sum += u64::from(count));
    }
    all
}
