//! Core numbers.
//!
//! **Returns** for every vertex its core number: the largest k such that the vertex is in the
//! k-core, the largest subgraph in which every vertex has at least k neighbours. Edges count in
//! both directions: an edge is a neighbour at both its ends, two edges between the same vertices
//! (also one each way, on a directed graph) are two neighbours, self-loops are none.
//!
//! **Source.** Wen, Qin, Zhang, Lin and Yu, "I/O efficient core graph decomposition at web scale",
//! ICDE 2016 (SemiCore*), after Montresor, De Pellegrini and Miorandi, "Distributed k-core
//! decomposition", 2013: an estimate from above falls to the largest h such that h neighbours have
//! an estimate of at least h; where no estimate falls any more, estimates are core numbers.
//!
//! **Trick.** Each vertex keeps how many neighbours support its estimate, that is, have at least
//! the same one; only vertices with less support than their estimate are looked at again. Here
//! many threads do so at once, and what a thread finds counts for the others at once
//! ([`estimate`](Estimates)). Estimates start at the degree or at what the degrees allow at all:
//! a k-core has more than k vertices of degree k or more.

mod estimates;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    ActiveSet, Bitmap, Engine, EngineConfig, Frontier, Graph, HugeVec, Needs, VertexId, setters,
};

use crate::estimate::{Estimate, Reads, engine_for, plan_for};
use crate::neighbourhood::{self, Neighbourhood};
use crate::report::{AlgoError, Result, Run, demand_in_edges, graph_pages};
use estimates::{Estimates, Histogram, bound_max};
pub use verify::verify;

const NAME: &str = "kcore";

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct KcoreConfig {
    /// Core numbers only up to this one, which gives the members of that core and is found faster.
    pub k: Option<u32>,
}

impl KcoreConfig {
    setters! { k: Option<u32> }
}

/// Core numbers of a graph.
#[derive(Debug)]
#[non_exhaustive]
pub struct Kcore {
    cores: HugeVec<u32>,
    /// The k that was asked for.
    pub k: Option<u32>,
    /// The largest core number; at most [`KcoreConfig::k`].
    pub degeneracy: u32,
    /// Core numbers that occur, ascending, with the number of vertices that have each.
    pub shells: Vec<(u32, u64)>,
    /// Passes over lists.
    pub rounds: u64,
    /// What the run did.
    pub run: Run,
}

impl Kcore {
    /// The core number of `v`; at most [`KcoreConfig::k`].
    pub fn core(&self, v: VertexId) -> u32 {
        self.cores[v as usize]
    }

    /// The core numbers of all vertices.
    pub fn cores(&self) -> &[u32] {
        &self.cores
    }

    /// Vertices whose core number is `k` or more.
    pub fn members(&self, k: u32) -> u64 {
        self.shells.iter().filter(|&&(core, _)| core >= k).map(|&(_, vertices)| vertices).sum()
    }
}

/// Memory: 8 bytes a vertex for estimate and support, sets; a histogram per thread.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    let n = graph.vertices();
    let (lists, scratch_bytes) = neighbourhood::bytes_for(graph, config);
    let sets = Bitmap::bytes_for(n) + Frontier::bytes_for(n, config.threads);
    let histograms = (config.threads as u64 + 1) * Histogram::bytes_for(bound_max(graph));
    Needs { what: NAME, state_bytes: 8 * n as u64 + sets + histograms + lists, scratch_bytes }
}

/// What a run will need.
pub fn estimate(graph: &Graph, config: &EngineConfig, kcore: &KcoreConfig) -> Result<Estimate> {
    demand_in_edges(graph, NAME)?;
    let plan = plan_for(graph, config, |config| needs(graph, config))?;
    let pass = graph_pages(graph) as f64;
    // On social and generated graphs; few estimates fall where they start at a small k.
    let more = if kcore.k.is_some_and(|k| k < 8) { 2.0 } else { 10.0 };
    let missing = 1.0 - plan.1.cached_fraction(graph);
    let passes = |more: f64| pass * (1.0 + more * missing);
    let reads = Reads::between(passes(more / 5.0), passes(more), passes(5.0 * more));
    let because = "a pass over the pages and what makes about ten more, less what is cached; many \
                   more where cores are chains";
    let reads = neighbourhood::using(graph, config, &plan.1, reads);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Finds the core numbers.
///
/// # Errors
/// A directed graph without in-edges; whatever keeps the engine from running.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, kcore: &KcoreConfig) -> Result<Kcore> {
    demand_in_edges(graph, NAME)?;
    let engine = engine_for(graph, config, |config| needs(graph, config))?;
    engine.install(|| {
        let n = graph.vertices();
        let estimates = Estimates::of_degrees(graph, kcore.k)?;
        let decline = Decline { estimates: &estimates, active: Bitmap::new(n)? };
        let rounds = decline.run(&engine)?;
        let shells = estimates.shells();
        let degeneracy = shells.last().map_or(0, |&(core, _)| core);
        let cores = estimates.of.into_plain();
        Ok(Kcore { cores, k: kcore.k, degeneracy, shells, rounds, run: Run::of(&engine) })
    })
}

/// Lets estimates fall until each has its support.
struct Decline<'a> {
    estimates: &'a Estimates,
    /// Vertices whose estimate has less support than it needs.
    active: Bitmap,
}

impl Decline<'_> {
    /// Returns how many rounds it took.
    fn run(&self, engine: &Engine) -> Result<u64> {
        if engine.graph().superblock().stored_out == 0 {
            return Ok(0);
        }
        let mut frontier = Frontier::new(engine.graph().vertices())?;
        neighbourhood::visit(engine, "round 1", ActiveSet::All, self)?;
        let mut rounds = 1;
        loop {
            frontier.set(self.active.iter());
            if frontier.is_empty() {
                return Ok(rounds);
            }
            rounds += 1;
            let label = format!("round {rounds}");
            neighbourhood::visit(engine, &label, ActiveSet::In(&frontier), self)?;
        }
    }
}

impl Neighbourhood for Decline<'_> {
    type Local = Histogram;

    fn local(&self) -> Histogram {
        Histogram::new(self.estimates.bound)
    }

    fn take(&self, histogram: &mut Histogram, v: VertexId, neighbours: &[&[VertexId]]) {
        // From here on a thread that takes support away makes it active again.
        self.active.remove(v);
        let lost = |u| {
            if !self.active.contains(u) {
                self.active.insert(u);
            }
        };
        if self.estimates.lower(v, neighbours, histogram, lost) {
            self.active.insert(v);
        }
    }
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
