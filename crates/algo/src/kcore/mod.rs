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
//! an estimate of at least h; when none falls any more, the estimates are the core numbers.
//!
//! **Trick.** Each vertex counts its support, the neighbours whose estimate is at least its own;
//! only vertices whose support is below their estimate are visited again. Here many threads do so
//! concurrently and see each other's estimates at once ([`Estimates`]). Estimates start at the
//! degree or at what all degrees allow: a k-core has more than k vertices of degree k or more.

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

/// Parameters of the k-core decomposition.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct KcoreConfig {
    /// Limits core numbers to this value, which is faster and still gives the members of that core.
    pub k: Option<u32>,
}

impl KcoreConfig {
    setters! { k: Option<u32> }
}

/// The result of the k-core decomposition.
#[derive(Debug)]
#[non_exhaustive]
pub struct Kcore {
    cores: HugeVec<u32>,
    /// The limit, [`KcoreConfig::k`].
    pub k: Option<u32>,
    /// The largest core number; at most [`KcoreConfig::k`].
    pub degeneracy: u32,
    /// The core numbers that occur, ascending, each with its number of vertices.
    pub shells: Vec<(u32, u64)>,
    /// Passes over lists.
    pub rounds: u64,
    /// Statistics of the run.
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

/// Memory: 8 bytes a vertex for estimate and support, sets, and a histogram per thread.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    let n = graph.vertices();
    let (lists, scratch_bytes) = neighbourhood::bytes_for(graph, config);
    let sets = Bitmap::bytes_for(n) + Frontier::bytes_for(n, config.threads);
    let histograms = (config.threads as u64 + 1) * Histogram::bytes_for(bound_max(graph));
    Needs { what: NAME, state_bytes: 8 * n as u64 + sets + histograms + lists, scratch_bytes }
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig, kcore: &KcoreConfig) -> Result<Estimate> {
    demand_in_edges(graph, NAME)?;
    let plan = plan_for(graph, config, |config| needs(graph, config))?;
    let pass = graph_pages(graph) as f64;
    // On social and generated graphs; with a small k few estimates fall.
    let more = if kcore.k.is_some_and(|k| k < 8) { 2.0 } else { 10.0 };
    let missing = 1.0 - plan.1.cached_fraction(graph);
    let passes = |more: f64| pass * (1.0 + more * missing);
    let reads = Reads::between(passes(more / 5.0), passes(more), passes(5.0 * more))
        .visiting(pass * (1.0 + more));
    let because = "a pass over the pages and about the equivalent of ten more, less what is \
                   cached; many more if cores are chains";
    let reads = neighbourhood::using(graph, config, &plan.1, reads);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Computes the core numbers.
///
/// # Errors
/// A directed graph without in-edges; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, kcore: &KcoreConfig) -> Result<Kcore> {
    demand_in_edges(graph, NAME)?;
    let engine = engine_for(graph, config, |config| needs(graph, config))?;
    engine.install(|| {
        let n = graph.vertices();
        let estimates = Estimates::of_degrees(graph, kcore.k)?;
        let decline = Decline { estimates: &estimates, active: Bitmap::new(n)? };
        let rounds = decline.run(&engine)?;
        let shells = estimates.shells(graph.deleted().len() as u64);
        let degeneracy = shells.last().map_or(0, |&(core, _)| core);
        let cores = estimates.of.into_plain();
        Ok(Kcore { cores, k: kcore.k, degeneracy, shells, rounds, run: Run::of(&engine) })
    })
}

/// Lowers estimates until each has enough support.
struct Decline<'a> {
    estimates: &'a Estimates,
    /// Vertices whose estimate has less support than it needs.
    active: Bitmap,
}

impl Decline<'_> {
    /// Returns the number of rounds.
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
        // From here on a thread that lowers its support makes it active again.
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
