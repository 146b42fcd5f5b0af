//! PageRank by power iteration.
//!
//! **Returns** for every vertex the probability that a random surfer is there: with probability
//! `damping` it follows an edge of its vertex, chosen evenly (from a vertex without out-edges it
//! goes anywhere), otherwise it goes to any vertex. Ranks sum to 1. An undirected edge can be
//! followed both ways. Starts from 1/n everywhere.
//!
//! **Source.** Page, Brin, Motwani and Winograd, 1999; dangling mass spread evenly as in Langville
//! and Meyer, 2004. (The CAVE paper's Algorithm 4 omits both the division by n and dangling mass.)
//!
//! **Trick.** [`pull`]: each vertex keeps rank / degree, so a list costs one load per entry,
//! prefetched; nothing is written but the vertex's own result. It wants lists of in-neighbours:
//! undirected graphs, and directed ones with in-edges. [`push`] serves the others: ranks are added
//! to the targets in fixed point, since integer addition gives one sum in any order.
//!
//! Ranks are the same to the last bit for any number of threads, strategy, depth or device.

mod fixed;
mod pull;
mod push;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    Direction, Engine, EngineConfig, Graph, HugeVec, Needs, Strategy, VertexId, for_each_list,
};

use rayon::prelude::*;

use crate::report::{AlgoError, Estimate, Result, Run, pages};

const NAME: &str = "pagerank";

/// Ranks that one thread sums at a time.
const SUM_CHUNK: usize = 1 << 16;

/// How long it iterates and how far the surfer follows edges.
#[derive(Clone, Copy, Debug)]
pub struct PageRankConfig {
    /// Probability to follow an edge, 0 to 1.
    pub damping: f64,
    /// Iterations; with a tolerance, the most that are done.
    pub iterations: u32,
    /// Stop when the ranks' change in one iteration, summed over all vertices, is below this.
    pub tolerance: Option<f64>,
}

impl Default for PageRankConfig {
    fn default() -> Self {
        Self { damping: 0.85, iterations: 10, tolerance: None }
    }
}

impl PageRankConfig {
    fn check(&self) -> Result<()> {
        let bad = |parameter, given: f64, expected: &str| {
            Err(AlgoError::Parameter {
                parameter,
                given: given.to_string(),
                expected: expected.to_string(),
            })
        };
        if !(0.0..=1.0).contains(&self.damping) {
            return bad("--damping", self.damping, "a probability from 0 to 1 is needed");
        }
        match self.tolerance {
            Some(t) if !(t > 0.0 && t.is_finite()) => {
                bad("--tolerance", t, "a positive number is needed, such as 1e-6")
            }
            _ => Ok(()),
        }
    }
}

/// Ranks of a graph.
#[derive(Debug)]
pub struct PageRank {
    ranks: HugeVec<AtomicU64>,
    /// Iterations done.
    pub iterations: u32,
    /// Whether the last change was below the tolerance; `None` where none was set.
    pub converged: Option<bool>,
    /// Change of the ranks in the last iteration, summed over all vertices; `None` before any.
    pub change: Option<f64>,
    /// What the run did.
    pub run: Run,
}

impl PageRank {
    /// Rank of `v`.
    pub fn rank(&self, v: VertexId) -> f64 {
        load(&self.ranks[v as usize])
    }

    /// The `count` vertices of highest rank, highest first, smaller vertices first among equals.
    pub fn top(&self, count: usize) -> Vec<(VertexId, f64)> {
        let mut top: Vec<(VertexId, f64)> = Vec::with_capacity(count + 1);
        for (v, rank) in self.ranks.iter().enumerate() {
            let rank = load(rank);
            if top.len() == count && top.last().is_none_or(|last| rank <= last.1) {
                continue;
            }
            let at = top.partition_point(|&(_, other)| other >= rank);
            top.insert(at, (VertexId::try_from(v).expect("vertex ids are u32"), rank));
            top.truncate(count);
        }
        top
    }
}

#[inline(always)]
fn load(cell: &AtomicU64) -> f64 {
    f64::from_bits(cell.load(Ordering::Relaxed))
}

#[inline(always)]
fn store(cell: &AtomicU64, value: f64) {
    cell.store(value.to_bits(), Ordering::Relaxed);
}

/// What one iteration found out.
struct Step {
    change: f64,
}

fn pulls(graph: &Graph) -> bool {
    !graph.is_directed() || graph.has_in_edges()
}

/// Memory: 16 bytes a vertex; pulling over in-edges of a directed graph takes 4 more for the
/// out-degrees, and 24 bytes a page hold the sums of lists that run over pages.
pub fn needs(graph: &Graph, _config: &EngineConfig) -> Needs {
    let n = graph.vertices() as u64;
    let direction = if graph.is_directed() { Direction::In } else { Direction::Out };
    let degrees = if graph.is_directed() && pulls(graph) { 4 * n } else { 0 };
    let extra = pull::PIECE_BYTES * pages(graph, direction) + degrees;
    Needs { what: NAME, state_bytes: 16 * n + extra, scratch_bytes: 0 }
}

/// What a run will need.
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    pagerank: &PageRankConfig,
) -> Result<Estimate> {
    pagerank.check()?;
    let (schedule, memory) = Engine::plan(graph, config, &needs(graph, config))?;
    let direction =
        if graph.is_directed() && pulls(graph) { Direction::In } else { Direction::Out };
    let pass = (pages(graph, direction) * graph.page_bytes() as u64) as f64;
    let cached = memory.cached_fraction(graph);
    let iterations = f64::from(pagerank.iterations);
    let (passes, because) = match config.strategy {
        Strategy::Auto => (
            iterations - (iterations - 1.0).max(0.0) * cached,
            format!("{iterations} passes, {:.1}% of the pages stay in memory", 100.0 * cached),
        ),
        _ => (iterations, format!("{iterations} passes")),
    };
    let bytes_read = (pass * passes) as u64;
    Ok(Estimate {
        memory,
        bytes_read,
        because,
        device_seconds: schedule.seconds_for_bytes(bytes_read),
    })
}

/// Ranks.
///
/// # Errors
/// A parameter that makes no sense; whatever keeps the engine from running.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    pagerank: &PageRankConfig,
) -> Result<PageRank> {
    pagerank.check()?;
    let needs = needs(graph, &config);
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        if pulls(graph) {
            let mut pull = pull::Pull::new(&engine, pagerank.damping)?;
            let (iterations, change) = iterate(pagerank, |i| pull.step(i))?;
            let ranks = pull.ranks()?;
            finish(pagerank, ranks, iterations, change, &engine)
        } else {
            let mut push = push::Push::new(&engine, pagerank.damping)?;
            let (iterations, change) = iterate(pagerank, |i| push.step(i))?;
            finish(pagerank, push.ranks(), iterations, change, &engine)
        }
    })
}

fn iterate(
    pagerank: &PageRankConfig,
    mut step: impl FnMut(u32) -> Result<Step>,
) -> Result<(u32, Option<f64>)> {
    let mut change = None;
    for iteration in 1..=pagerank.iterations {
        let found = step(iteration)?.change;
        change = Some(found);
        if pagerank.tolerance.is_some_and(|tolerance| found < tolerance) {
            return Ok((iteration, change));
        }
    }
    Ok((pagerank.iterations, change))
}

fn finish(
    pagerank: &PageRankConfig,
    ranks: HugeVec<AtomicU64>,
    iterations: u32,
    change: Option<f64>,
    engine: &Engine,
) -> Result<PageRank> {
    // Rounding is off by far less. Only lists that contradict the degrees make or lose mass.
    let sum: f64 =
        ranks.par_chunks(SUM_CHUNK).map(|chunk| chunk.iter().map(load).sum::<f64>()).sum();
    let is_whole = (sum - 1.0).abs() < 1e-6;
    if !ranks.is_empty() && !is_whole {
        return Err(AlgoError::Contradiction {
            file: engine.graph().file().to_string(),
            fault: format!("the ranks sum to {sum}, not 1"),
        });
    }
    let converged =
        pagerank.tolerance.map(|tolerance| change.is_some_and(|change| change < tolerance));
    Ok(PageRank { ranks, iterations, converged, change, run: Run::of(engine) })
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Iterates again, serially, straight from the definition, and asserts that every rank agrees to
/// within one part in 10^9 and that the ranks sum to 1 within 10^-9. Takes 24 bytes a vertex.
pub fn verify(graph: &Graph, config: &PageRankConfig, pagerank: &PageRank) -> Result<()> {
    let n = graph.vertices();
    if n == 0 {
        return Ok(());
    }
    let mut degrees = vec![0u64; n];
    graph.degrees(Direction::Out, &mut |first, some| {
        degrees[first as usize..first as usize + some.len()].copy_from_slice(some);
    })?;
    let mut ranks = vec![1.0 / n as f64; n];
    for _ in 0..pagerank.iterations {
        let dangling: f64 = (0..n).filter(|&v| degrees[v] == 0).map(|v| ranks[v]).sum();
        let base = (1.0 - config.damping + config.damping * dangling) / n as f64;
        let mut next = vec![base; n];
        for_each_list(graph, Direction::Out, |list| {
            let share =
                config.damping * ranks[list.vertex as usize] / degrees[list.vertex as usize] as f64;
            for &target in list.targets {
                next[target as usize] += share;
            }
        })?;
        ranks = next;
    }
    let mut sum = 0.0;
    for (v, &expected) in ranks.iter().enumerate() {
        let found = pagerank.rank(VertexId::try_from(v).expect("vertex ids are u32"));
        sum += found;
        if (found - expected).abs() > 1e-9 * expected {
            return Err(wrong(format!("the rank of vertex {v} is {found}, not {expected}")));
        }
    }
    if (sum - 1.0).abs() > 1e-9 {
        return Err(wrong(format!("the ranks sum to {sum}, not 1")));
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
