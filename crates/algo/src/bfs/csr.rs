//! The residual graph of a search of many levels: the lists of all vertices that the search may
//! still need, loaded in one pass as compressed sparse rows.
//!
//! **Trick.** On a grid or road network a level has few vertices, each on a page of its own, and
//! there are thousands of levels. The cost is the step itself: its barrier, its sorting of pages,
//! and a page for each list. So once the search has visited half as many pages as the graph has
//! ([`StepBudget`](crate::worklist::StepBudget)), and the remaining lists fit in the memory left,
//! one pass loads them, and the search ends in memory.

use cenote_engine::{ActiveSet, Bitmap, Direction, Engine, Graph, Kernel, List};

use crate::csr::{Csr, entries};
use crate::report::Result;

/// Bytes of the lists of the whole graph, and of the queue of a search through them.
pub(super) fn bytes_for(graph: &Graph) -> u64 {
    fixed_bytes(graph.vertices()) + 4 * entries(graph)
}

/// Bytes of the starts and the queue.
fn fixed_bytes(vertices: usize) -> u64 {
    8 * (vertices as u64 + 1)
}

/// The lists of all vertices outside `settled`; `None` where they take more than `bytes_max`.
pub(super) fn load(engine: &Engine, settled: &Bitmap, bytes_max: u64) -> Result<Option<Csr>> {
    let graph = engine.graph();
    let Some(left) = bytes_max.checked_sub(fixed_bytes(graph.vertices())) else { return Ok(None) };
    let needed = |v| !settled.contains(v);
    let Some(csr) = Csr::with_room(graph, needed, left / 4)? else { return Ok(None) };
    engine.visit("residual graph", Direction::Out, ActiveSet::NotIn(settled), &Copy(&csr))?;
    Ok(Some(csr))
}

/// Copies lists to their places.
struct Copy<'a>(&'a Csr);

impl Kernel for Copy<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        self.0.copy(list);
    }
}
