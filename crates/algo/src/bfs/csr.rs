//! The residual graph of a search of many levels, brought into memory in one pass: the lists of all
//! vertices whose list the search may still need, side by side.
//!
//! **Trick.** On a grid or a road network a level has few vertices, each on a page of its own, and
//! there are thousands of levels: what costs is neither the drive nor the edges but the step, with
//! its barrier, its sorting of pages and its look at a page for one list. So once the search has
//! looked at about as many pages as the graph has ([`Patience`]), and the lists that it may still
//! need fit in what the budget leaves, one pass puts these side by side in the order of their
//! vertices, and the search goes on there, edge by edge.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Adjacency, Bitmap, Direction, Engine, Frontier, Graph, HugeVec, Kernel, List,
    VertexId,
};

use crate::report::{Result, pages};

/// Steps of few vertices, one after the other, that let many more expect.
const STEPS_SMALL_MIN: u32 = 8;

/// A step has few vertices if they are less than this part of the graph's.
const VERTICES_SHARE: u64 = 64;

/// Most edges a vertex, on average, of a graph for whose lists cached pages make room. Networks of
/// many levels have few; of a social network every page would rather stay.
const DEGREE_MEAN_MAX: u64 = 8;

/// Decides when the steps so far have cost what the pass would cost: at worst, that of a search
/// which would have ended with the next level, the time is doubled.
#[derive(Debug, Default)]
pub(super) struct Patience {
    steps_small: u32,
    pages_seen: u64,
    endless: bool,
}

impl Patience {
    /// One that is never lost: the lists do not fit.
    pub fn endless() -> Self {
        Self { endless: true, ..Self::default() }
    }

    /// Counts a step that is about to be done; true where all lists that are left had better be
    /// read at once.
    pub fn is_lost(&mut self, graph: &Graph, frontier: &Frontier, frontier_pages: u64) -> bool {
        let small = frontier.count() * VERTICES_SHARE < graph.vertices() as u64;
        let all_pages = pages(graph, Direction::Out);
        self.steps_small = if small { self.steps_small + 1 } else { 0 };
        self.pages_seen += frontier_pages;
        !self.endless && self.steps_small > STEPS_SMALL_MIN && self.pages_seen > all_pages / 2
    }
}

/// Bytes that the lists of the whole graph take here, and the queue of a search through them.
pub(super) fn bytes_for(graph: &Graph) -> u64 {
    fixed_bytes(graph.vertices()) + 4 * entries(graph)
}

fn entries(graph: &Graph) -> u64 {
    graph.adjacency(Direction::Out).map_or(0, Adjacency::stored_edges)
}

/// Whether pages in the cache should make room for the lists.
pub(super) fn is_worth_room(graph: &Graph) -> bool {
    entries(graph) <= DEGREE_MEAN_MAX * graph.vertices() as u64
}

/// Starts and queue.
fn fixed_bytes(vertices: usize) -> u64 {
    8 * (vertices as u64 + 1)
}

/// Lists side by side (compressed sparse rows).
pub(super) struct Csr {
    /// Where each vertex's list starts, and the end of the last.
    starts: HugeVec<AtomicU32>,
    targets: HugeVec<AtomicU32>,
}

impl Csr {
    /// The lists of all vertices outside `settled`; `None` where they take more than `bytes_max`.
    pub fn load(engine: &Engine, settled: &Bitmap, bytes_max: u64) -> Result<Option<Self>> {
        let graph = engine.graph();
        let n = graph.vertices();
        let Some(left) = bytes_max.checked_sub(fixed_bytes(n)) else { return Ok(None) };
        let entries_max = (left / 4).min(u64::from(u32::MAX));
        let starts: HugeVec<AtomicU32> = HugeVec::zeroed(n + 1)?;
        let mut entries = 0u64;
        graph.degrees(Direction::Out, &mut |first, degrees| {
            for (v, degree) in (first..).zip(degrees) {
                entries = entries.saturating_add(if settled.contains(v) { 0 } else { *degree });
                // Too many are refused below; until then any number does.
                starts[v as usize + 1].store(entries as u32, Ordering::Relaxed);
            }
        })?;
        if entries > entries_max {
            return Ok(None);
        }
        let targets = HugeVec::zeroed(entries as usize)?;
        let csr = Self { starts, targets };
        engine.visit("residual graph", Direction::Out, ActiveSet::NotIn(settled), &Copy(&csr))?;
        Ok(Some(csr))
    }

    /// The list of `v`; empty if it was settled.
    #[inline(always)]
    pub fn list(&self, v: VertexId) -> &[AtomicU32] {
        let start = self.starts[v as usize].load(Ordering::Relaxed) as usize;
        let end = self.starts[v as usize + 1].load(Ordering::Relaxed) as usize;
        &self.targets[start..end]
    }
}

/// Copies lists, or pieces of them, to their places.
struct Copy<'a>(&'a Csr);

impl Kernel for Copy<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        // A degree that contradicts the list is found by `check`; here it must not reach further.
        let places = self.0.list(list.vertex).iter().skip(list.skip as usize);
        for (place, &target) in places.zip(list.targets) {
            place.store(target, Ordering::Relaxed);
        }
    }
}
