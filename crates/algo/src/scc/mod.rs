//! Strongly connected components.
//!
//! **Returns** for every vertex the vertex with the smallest id in its component; two vertices are
//! in one component if a path leads from each to the other. On an undirected graph these are the
//! connected components ([`crate::wcc`]).
//!
//! **Source.** Forward-backward search for the giant component (Fleischer, Hendrickson and Pinar,
//! 2000), trimming, then colouring (Orzan, 2004), combined as by Slota, Rajamanickam and Madduri
//! (Multistep, IPDPS 2014); Tarjan (1972) in memory for the residual graph.
//!
//! **Trick.** Out-lists suffice: the backward search checks for each vertex whether an edge leads
//! into the known part of the giant component, in passes where a vertex that joins counts at once.
//! (When passes add little, in-edges are used if the graph has them.) The same passes keep the
//! residual graph: the lists of the other vertices, without targets that are on no cycle with them.
//! As soon as it fits in memory, one serial search ([`in_memory`]) finishes it, with the giant
//! component as one vertex, even if the backward search has not ended. Small graphs start there.
//! Long paths are trimmed by counts ([`trim`]), and searches of many small steps, or where edges
//! lead nearby (`near`), go on by a [`Worklist`] of pages.
//!
//! **Bound.** While the residual graph does not fit, each pass shrinks it: by vertices that join
//! the giant component, by trimming vertices without successors or predecessors, or by a round of
//! colouring, which finds every component without edges from other components. A long chain of
//! components of several vertices beyond the budget may take as many rounds as it is long.

mod in_memory;
mod known;
mod rounds;
mod trim;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    Assembled, Bitmap, Direction, EngineConfig, Frontier, Graph, HugeVec, Needs, VertexId,
};

use crate::estimate::{Estimate, Reads, engine_for, plan_for};
use crate::groups::{Groups, Labels};
use crate::report::{AlgoError, Result, Run, pages};
use crate::wcc;
use crate::worklist::Worklist;
use rounds::Rounds;
pub use verify::verify;

const NAME: &str = "scc";

/// The strongly connected components of a graph.
#[derive(Debug)]
#[non_exhaustive]
pub struct Scc {
    groups: Groups,
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The label of the largest component, of several the smallest by id; `None` in a graph without
    /// vertices.
    pub largest_label: Option<VertexId>,
    /// Components of one vertex.
    pub single: u64,
    /// Statistics of the run.
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

    /// Gives the memory of labels in a state file back, until they are used again.
    pub fn release(&self) {
        self.groups.labels.release();
    }
}

/// Memory: 4 bytes a vertex for labels, six sets, a worklist of pages, and 4 bytes a vertex for
/// counts of in-edges while trimming, at the end for component sizes; the remaining budget holds
/// lists.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    if !graph.is_directed() {
        return Needs { what: NAME, ..wcc::needs(graph, config) };
    }
    let n = graph.vertices();
    let sets = 4 * Bitmap::bytes_for(n) + 2 * Frontier::bytes_for(n, config.threads);
    let worklist = |direction| Worklist::bytes_for(pages(graph, direction));
    let worklist = worklist(Direction::Out).max(worklist(Direction::In));
    let state_bytes = 8 * n as u64 + sets + Assembled::bytes_for(graph, config);
    Needs {
        what: NAME,
        state_bytes: state_bytes.saturating_add(worklist),
        scratch_bytes: in_memory::bytes_for(graph),
    }
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    if !graph.is_directed() {
        return wcc::estimate(graph, config);
    }
    let plan = plan_for(graph, config, |config| needs(graph, config))?;
    let pass = pages(graph, Direction::Out) as f64;
    let (reads, because) = if plan.1.scratch_bytes >= in_memory::bytes_for(graph) {
        (Reads::about(pass), "one pass over the pages: all lists fit in memory")
    } else {
        // On social and generated graphs, where most vertices on cycles are in the giant component.
        let likely = pass * (1.0 + 3.9 * (1.0 - plan.1.cached_fraction(graph)));
        let because = "a search and two passes, about five times the pages, less what is cached";
        (Reads::between(pass, likely, 2.0 * likely), because)
    };
    let reads = reads.filling(0.2, 0.5).sparing(Assembled::bytes_for(graph, config));
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Computes the components.
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
