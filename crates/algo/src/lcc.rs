//! Local clustering coefficient.
//!
//! **Returns** for every vertex `v` the number of edges between its neighbours over the number of
//! possible ones, as the LDBC Graphalytics specification defines it: the neighbours N(v) are the
//! vertices with an edge to or from `v`, without `v` itself; of the d(d - 1) directed edges between
//! d neighbours those that exist are counted, and an edge of an undirected graph runs both ways; 0
//! if d < 2.
//!
//! **Source.** LDBC Graphalytics benchmark specification, version 1.0, section 2.3.6.
//!
//! **Trick.** The edges between neighbours of `v` are those opposite to `v` in its triangles: the
//! count of [`triangles`](crate::triangles), where on a directed graph an edge that runs both ways
//! counts as two. The counts are whole numbers; each vertex is divided once.

use std::sync::Arc;

use cenote_engine::{EngineConfig, Graph, VertexId};

use crate::estimate::Estimate;
use crate::ranks::for_each_by_id;
use crate::report::{AlgoError, Result, Run};
use crate::triangles::{At, Counted, Job, count_serially};

const NAME: &str = "lcc";

/// The local clustering coefficients of a graph.
#[derive(Debug)]
#[non_exhaustive]
pub struct Lcc {
    counted: Counted,
    directed: bool,
    /// Mean over all vertices; 0 for an empty graph.
    pub mean: f64,
    /// Statistics of the run.
    pub run: Run,
}

impl Lcc {
    /// Chunks of lists, each of which took a pass over the graph.
    pub fn chunks(&self) -> u64 {
        self.counted.chunks
    }

    /// The coefficient of `v`, 0 to 1.
    pub fn coefficient(&self, v: VertexId) -> f64 {
        let (degree, edges) = (self.counted.degree(v), self.counted.count(v));
        coefficient(degree, if self.directed { edges } else { 2 * edges })
    }
}

/// The coefficient with `edges` directed edges between the neighbours.
fn coefficient(degree: u32, edges: u64) -> f64 {
    if degree < 2 {
        return 0.0;
    }
    edges as f64 / (u64::from(degree) * u64::from(degree - 1)) as f64
}

fn job(graph: &Graph) -> Job {
    Job { name: NAME, at: if graph.is_directed() { At::Edges } else { At::Triangles } }
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// A directed graph without in-edges; a budget that is too small.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    job(graph).estimate(graph, config)
}

/// Computes the coefficients.
///
/// # Errors
/// A directed graph without in-edges; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig) -> Result<Lcc> {
    let (counted, run) = job(graph).run(graph, config)?;
    let mut lcc = Lcc { counted, directed: graph.is_directed(), mean: 0.0, run };
    // In the order of the ids, because a floating-point sum depends on it.
    let mut sum = 0.0;
    for_each_by_id(graph, |v| sum += lcc.coefficient(v))?;
    lcc.mean = sum / graph.live_vertices().max(1) as f64;
    Ok(lcc)
}

/// Counts again serially and asserts that every coefficient is the same to the last bit and that
/// the mean follows from them. Takes 8 bytes an entry of the stored lists.
pub fn verify(graph: &Graph, lcc: &Lcc) -> Result<()> {
    let counts = count_serially(graph)?;
    let mut sum = 0.0;
    for v in 0..graph.vertices() {
        let edges = match graph.is_directed() {
            true => counts.edges_of_vertex[v],
            false => 2 * counts.of_vertex[v],
        };
        let expected = coefficient(counts.degrees[v], edges);
        let found = lcc.coefficient(v as VertexId);
        sum += expected;
        if found.to_bits() != expected.to_bits() {
            return Err(wrong(format!("the coefficient of vertex {v} is {found}, not {expected}")));
        }
    }
    let expected = sum / graph.live_vertices().max(1) as f64;
    if (lcc.mean - expected).abs() > 1e-12 {
        return Err(wrong(format!("the mean is {}, not {expected}", lcc.mean)));
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
