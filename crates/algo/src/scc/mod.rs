//! Strongly connected components.
//!
//! **Returns** for every vertex the vertex with the smallest id in its component; two vertices are
//! in one component if a path of edges leads from each to the other. On an undirected graph these
//! are the connected components, and [`crate::wcc`] finds them.
//!
//! **Source.** Forward-backward search for the giant component (Fleischer, Hendrickson and Pinar,
//! 2000), trimming, then colouring (Orzan, 2004), as Slota, Rajamanickam and Madduri put them
//! together (Multistep, IPDPS 2014); Tarjan (1972) in memory for the residual graph.
//!
//! **Trick.** Out-lists do, so in-edges are not needed: the backward search asks each vertex
//! whether an edge leads into what is known of the giant, in passes in which whatever joins counts
//! at once (where passes add little and there are in-edges, they lead to the rest). The same
//! passes keep the residual graph in memory: the lists of vertices that did not join, without
//! targets that can be on no cycle with them. As soon as it fits, one serial search in memory
//! finishes it all ([`in_memory`]): the giant is then one vertex in it, so the backward search need
//! not have ended. Small graphs go there at once.
//!
//! **Bound.** Where the residual graph does not fit, each pass must shrink it: by joining the
//! giant, by trimming vertices without successors, or by a round of colouring, which finds every
//! component that no other component in it leads into. A long chain of components beyond the budget
//! may take as many rounds as the chain is long.

mod in_memory;
mod known;
mod rounds;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    Assembled, Bitmap, Direction, EngineConfig, Frontier, Graph, HugeVec, Needs, VertexId,
};

use crate::estimate::{Estimate, Reads, engine_for, plan_for};
use crate::groups::{Groups, Labels};
use crate::report::{AlgoError, Result, Run, pages};
use crate::wcc;
use rounds::Rounds;
pub use verify::verify;

const NAME: &str = "scc";

/// Components of a graph.
#[derive(Debug)]
#[non_exhaustive]
pub struct Scc {
    groups: Groups,
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The label of the largest component, the smallest by id if several are largest; `None` in a
    /// graph without vertices.
    pub largest_label: Option<VertexId>,
    /// Components of one vertex.
    pub single: u64,
    /// What the run did.
    pub run: Run,
}

impl Scc {
    /// The vertex with the smallest id in the component of `v`.
    pub fn label(&self, v: VertexId) -> VertexId {
        self.groups.labels[v as usize]
    }

    /// The labels of all vertices.
    pub fn labels(&self) -> &[VertexId] {
        &self.groups.labels
    }
}

/// Memory: 4 bytes a vertex for labels, six sets; what the budget has left holds lists. At the
/// end component sizes take 4 bytes a vertex where the lists were.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    if !graph.is_directed() {
        return Needs { what: NAME, ..wcc::needs(graph, config) };
    }
    let n = graph.vertices();
    let sets = 4 * Bitmap::bytes_for(n) + 2 * Frontier::bytes_for(n, config.threads);
    Needs {
        what: NAME,
        state_bytes: 8 * n as u64 + sets + Assembled::bytes_for(graph, config),
        scratch_bytes: in_memory::bytes_for(graph),
    }
}

/// What a run will need.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    if !graph.is_directed() {
        return wcc::estimate(graph, config);
    }
    let plan = plan_for(graph, config, |config| needs(graph, config))?;
    let pass = pages(graph, Direction::Out) as f64;
    let (reads, because) = if plan.1.scratch_bytes >= in_memory::bytes_for(graph) {
        (Reads::about(pass), "one pass over the pages: all lists fit in memory")
    } else {
        // Of social and generated graphs, whose giant is most of what is on cycles.
        let likely = pass * (1.0 + 3.9 * (1.0 - plan.1.cached_fraction(graph)));
        let because = "a search and two passes, about five times the pages, less what is cached";
        (Reads::between(pass, likely, 2.0 * likely), because)
    };
    let reads = reads.filling(0.2, 0.5).sparing(Assembled::bytes_for(graph, config));
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Finds the components.
pub fn run(graph: &Arc<Graph>, config: EngineConfig) -> Result<Scc> {
    if !graph.is_directed() {
        let components = wcc::run(graph, config)?;
        return Ok(found(components.groups, components.run));
    }
    let engine = engine_for(graph, config, |config| needs(graph, config))?;
    engine.install(|| {
        let labels = Rounds::new(&engine)?.labels()?;
        let sizes = HugeVec::zeroed(labels.len())?;
        Ok(found(Groups::new(graph, Labels::Members, labels, sizes)?, Run::of(&engine)))
    })
}

fn found(groups: Groups, run: Run) -> Scc {
    let Groups { count, single, largest, largest_label, .. } = groups;
    Scc { groups, components: count, largest, largest_label, single, run }
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
