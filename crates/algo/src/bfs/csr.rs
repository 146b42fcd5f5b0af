//! The residual graph of a search of many levels: the lists of all vertices that the search may
//! still need, loaded in one pass as compressed sparse rows.
//!
//! **Trick.** On a grid or road network a level has few vertices, each on a page of its own, and
//! there are thousands of levels. The cost is the step itself: its barrier, its sorting of pages,
//! and a page for each list. So once the search has visited half as many pages as the graph has
//! ([`StepBudget`](crate::worklist::StepBudget)), and the remaining lists fit in the memory left,
//! one pass loads them, and the search ends in memory.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Adjacency, Bitmap, Direction, Engine, Graph, HugeVec, Kernel, List, VertexId,
};

use crate::report::Result;

/// The most edges per vertex at which the lists take memory from cached pages. Networks of many
/// levels have few edges per vertex; for social networks the cache is worth more.
const DEGREE_MEAN_MAX: u64 = 8;

/// Bytes of the lists of the whole graph, and of the queue of a search through them.
pub(super) fn bytes_for(graph: &Graph) -> u64 {
    fixed_bytes(graph.vertices()) + 4 * entries(graph)
}

fn entries(graph: &Graph) -> u64 {
    graph.adjacency(Direction::Out).map_or(0, Adjacency::stored_edges)
}

/// Whether the lists should take memory from cached pages.
pub(super) fn is_worth_room(graph: &Graph) -> bool {
    entries(graph) <= DEGREE_MEAN_MAX * graph.vertices() as u64
}

/// Bytes of the starts and the queue.
fn fixed_bytes(vertices: usize) -> u64 {
    8 * (vertices as u64 + 1)
}

/// Adjacency lists as compressed sparse rows.
pub(super) struct Csr {
    /// The start of each vertex's list, and the end of the last.
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
                // May wrap if there are too many, which is refused below.
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

/// Copies lists to their places.
struct Copy<'a>(&'a Csr);

impl Kernel for Copy<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        // A wrong degree must not write beyond the list; `check` reports it.
        let places = self.0.list(list.vertex).iter().skip(list.skip as usize);
        for (place, &target) in places.zip(list.targets) {
            place.store(target, Ordering::Relaxed);
        }
    }
}
