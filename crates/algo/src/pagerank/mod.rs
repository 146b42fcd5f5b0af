//! PageRank by power iteration.
//!
//! **Returns** for every vertex the probability that a random surfer is there: with probability
//! `damping` it follows a random edge of its vertex (from a vertex without out-edges it goes to a
//! random vertex), otherwise it goes to a random vertex. Ranks sum to 1. An undirected edge can be
//! followed both ways. Iteration starts from 1/n everywhere.
//!
//! Personalised ([`PageRankConfig::personalize`]), "a random vertex" is one of the given vertices,
//! and the surfer starts there. Vertices that cannot be reached from them have rank 0.
//!
//! By weight ([`PageRankConfig::weighted`]), the surfer follows an edge with a probability in
//! proportion to its weight; repeated edges add up, and a vertex whose weights are all 0 is one
//! without out-edges.
//!
//! [`Variant::Cave`] is the CAVE paper's Algorithm 4: no division by n, and the mass of vertices
//! without out-edges is lost; every vertex starts with 1. Vertices without edges, for which the
//! paper's code divides by 0, get 1 - damping.
//!
//! **Source.** Page, Brin, Motwani and Winograd, 1999; dangling mass spread evenly as in Langville
//! and Meyer, 2004, and to the given vertices if personalised, as NetworkX does.
//!
//! **Trick.** [`pull`]: each vertex keeps rank / degree, so an entry costs one prefetched load and
//! two integer additions, which may be grouped by pages in any way; only the vertex's own result is
//! written; pages of [`short_lists`] are summed many lists at a time. It needs in-lists: undirected
//! graphs, and directed ones with in-edges. [`push`] is for the others: ranks are added to the
//! targets in fixed point, because integer sums do not depend on the order. [`weighted`] does both
//! by weight.
//!
//! Ranks are the same to the last bit for any number of threads, strategy, depth, device, codec or
//! order of the vertices.

mod bands;
mod fixed;
mod gather;
mod pull;
mod push;
mod restart;
mod short_lists;
mod weighted;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    Direction, Engine, EngineConfig, Graph, HugeVec, MemoryPlan, Needs, Schedule, StateArray,
    Strategy, VertexId, WeightColumn, for_each_list, for_each_weighted_list, setters,
};

use crate::estimate::{Estimate, Reads, kept};
use crate::parallel;
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result, Run, check_weights, pages};
pub(crate) use fixed::{WideSum, from_fixed, to_fixed};
pub(crate) use gather::{PREFETCH_ENTRIES, gather};
use pull::StepNeeds;
pub(crate) use pull::{Masses, rank, share};
use restart::Restart;
use weighted::Weighted;

const NAME: &str = "pagerank";

/// Ranks that a thread sums at a time.
const SUM_CHUNK: usize = 1 << 16;

/// The definition of PageRank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// A probability distribution.
    #[default]
    Standard,
    /// As in the CAVE paper: n times as large, without the mass that reaches vertices without
    /// out-edges.
    Cave,
}

/// Parameters of PageRank.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageRankConfig {
    /// Probability to follow an edge, 0 to 1.
    pub damping: f64,
    /// Iterations; with a tolerance, the most that are done.
    pub iterations: u32,
    /// Stop when the ranks' change in one iteration, summed over all vertices, is below this.
    pub tolerance: Option<f64>,
    /// Vertices where the surfer starts and goes when it follows no edge; empty: all. Duplicates
    /// count once.
    pub personalize: Vec<VertexId>,
    /// A weight of each of them, of which its share of the surfer's starts follows; empty: equal
    /// shares. Those of duplicates add up.
    pub personalize_weights: Vec<f64>,
    /// Whether an edge is followed in proportion to its weight.
    pub weighted: bool,
    /// The definition.
    pub variant: Variant,
}

impl Default for PageRankConfig {
    fn default() -> Self {
        Self {
            damping: 0.85,
            iterations: 10,
            tolerance: None,
            personalize: Vec::new(),
            personalize_weights: Vec::new(),
            weighted: false,
            variant: Variant::Standard,
        }
    }
}

impl PageRankConfig {
    setters! {
        damping: f64,
        iterations: u32,
        tolerance: Option<f64>,
        personalize: Vec<VertexId>,
        personalize_weights: Vec<f64>,
        weighted: bool,
        variant: Variant,
    }

    /// The factor from probabilities to ranks.
    fn scale(&self, vertices: usize) -> f64 {
        match self.variant {
            Variant::Standard => 1.0,
            Variant::Cave => vertices as f64,
        }
    }

    /// What is needed of an iteration.
    fn needs_of(&self, iteration: u32) -> StepNeeds {
        let is_last = iteration == self.iterations;
        StepNeeds { change: is_last || self.tolerance.is_some(), ranks: is_last }
    }

    fn check(&self, graph: &Graph) -> Result<()> {
        let bad = |parameter, given: f64, expected: &str| {
            Err(AlgoError::Parameter {
                parameter,
                given: format!("{given:?}"),
                expected: expected.to_string(),
            })
        };
        if !(0.0..=1.0).contains(&self.damping) {
            return bad("damping", self.damping, "a probability from 0 to 1 is needed");
        }
        match self.tolerance {
            Some(t) if !(t > 0.0 && t.is_finite()) => {
                bad("tolerance", t, "a positive number is needed, such as 1e-6")
            }
            _ if self.weighted => self.check_weighted(graph),
            _ => Ok(()),
        }
    }

    fn check_weighted(&self, graph: &Graph) -> Result<()> {
        if self.variant == Variant::Cave {
            return Err(AlgoError::Parameter {
                parameter: "variant",
                given: "cave".to_owned(),
                expected: "the CAVE paper's variant has no weights, use the standard one"
                    .to_owned(),
            });
        }
        if !graph.is_weighted() {
            return Err(AlgoError::Unsupported {
                what: "`weighted`",
                needs: "a graph with weights",
                remedy: "import it with `weights` of f32, f64, u32 or i64, or leave `weighted` out",
            });
        }
        check_weights(graph, "ranks by weight need weights that are not negative")
    }
}

/// The result of PageRank.
#[derive(Debug)]
#[non_exhaustive]
pub struct PageRank {
    /// The bits of `f64`.
    ranks: StateArray<u64>,
    ids: Ranks,
    /// Iterations done.
    pub iterations: u32,
    /// Whether the last change was below the tolerance; `None` without a tolerance.
    pub converged: Option<bool>,
    /// Change of the ranks in the last iteration, summed over all vertices; `None` without any.
    pub change: Option<f64>,
    /// Statistics of the run.
    pub run: Run,
}

impl PageRank {
    /// Rank of `v`.
    pub fn rank(&self, v: VertexId) -> f64 {
        self.ranks()[v as usize]
    }

    /// The ranks of all vertices.
    pub fn ranks(&self) -> &[f64] {
        bytemuck::cast_slice(&self.ranks)
    }

    /// Gives the memory of ranks in a state file back, until they are used again.
    pub fn release(&self) {
        self.ranks.release();
        self.ids.release();
    }

    /// The `count` vertices of highest rank, highest first; ties in the order of ids.
    pub fn top(&self, count: usize) -> Vec<(VertexId, f64)> {
        self.ids.top(count, (0..).zip(self.ranks().iter().copied()))
    }
}

#[inline(always)]
pub(crate) fn load(cell: &AtomicU64) -> f64 {
    f64::from_bits(cell.load(Ordering::Relaxed))
}

#[inline(always)]
pub(crate) fn store(cell: &AtomicU64, value: f64) {
    cell.store(value.to_bits(), Ordering::Relaxed);
}

/// The result of one iteration.
struct Step {
    /// By how much ranks change in all, where that is needed.
    change: f64,
}

fn pulls(graph: &Graph) -> bool {
    !graph.is_directed() || graph.has_in_edges()
}

/// The lists that are pulled over.
fn pull_direction(graph: &Graph) -> Direction {
    if graph.is_directed() { Direction::In } else { Direction::Out }
}

/// Memory: 16 bytes a vertex; to pull over in-edges of a directed graph, 4 more for the
/// out-degrees; 24 bytes a page for the sums of lists that span pages, and 18 KB a thread for those
/// of short lists; if personalised, or if vertices are deleted, a bit a vertex. By weight
/// 24 bytes a vertex, and the memory of visits with weights twice.
///
/// # Errors
/// An index of weights that cannot be read.
pub fn needs(graph: &Graph, config: &EngineConfig, pagerank: &PageRankConfig) -> Result<Needs> {
    let restart = Restart::bytes_for(graph, pagerank);
    if pagerank.weighted {
        let state_bytes = weighted::bytes_for(graph, config)? + restart;
        return Ok(Needs { what: NAME, state_bytes, scratch_bytes: 0 });
    }
    let n = graph.vertices() as u64;
    let degrees = if graph.is_directed() && pulls(graph) { 4 * n } else { 0 };
    let scratch = if pulls(graph) { config.threads * short_lists::SCRATCH_BYTES } else { 0 };
    let pieces = pull::PIECE_BYTES * pages(graph, pull_direction(graph)) + scratch as u64;
    let extra = pieces + degrees + restart;
    Ok(Needs { what: NAME, state_bytes: 16 * n + extra, scratch_bytes: 0 })
}

/// Pages of weights are cached as pages of lists are.
fn with_weights(config: EngineConfig, pagerank: &PageRankConfig) -> EngineConfig {
    config.weighted(pagerank.weighted)
}

/// Where the state of a run lies.
enum Plan {
    InMemory(Box<(Schedule, MemoryPlan)>),
    InBands(Box<bands::BandPlan>),
}

/// In memory if it fits; else in bands.
fn plan(graph: &Graph, config: &EngineConfig, pagerank: &PageRankConfig) -> Result<Plan> {
    let of_passes = config.clone().passes(true);
    match Engine::plan(graph, &of_passes, &needs(graph, config, pagerank)?) {
        Ok(plan) => Ok(Plan::InMemory(Box::new(plan))),
        Err(refused) => {
            let plan = bands::choose(graph, config, pagerank, refused)?;
            Ok(Plan::InBands(Box::new(plan)))
        }
    }
}

/// Estimates the memory and reads of a run.
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    pagerank: &PageRankConfig,
) -> Result<Estimate> {
    pagerank.check(graph)?;
    let config = &with_weights(config.clone(), pagerank);
    let plan = match plan(graph, config, pagerank)? {
        Plan::InMemory(plan) => *plan,
        Plan::InBands(plan) => return Ok(plan.estimate(graph, pagerank)),
    };
    let direction = if pulls(graph) { pull_direction(graph) } else { Direction::Out };
    let pass = pages_of(graph, direction, pagerank);
    let cached = kept(graph, &plan.1, pass);
    // By weight, the weights of out-lists are added up before the first iteration.
    let (first, repeated, before) = match (pagerank.weighted, direction) {
        (false, _) => (0, 0.0, ""),
        (true, Direction::Out) => (0, 1.0, " and one before them"),
        (true, Direction::In) => {
            (pages_of(graph, Direction::Out, pagerank), 0.0, " and one over out-lists")
        }
    };
    let iterations = f64::from(pagerank.iterations);
    let visits = iterations + repeated;
    let (passes, because) = match config.strategy {
        Strategy::Auto => (
            visits - (visits - 1.0).max(0.0) * cached,
            format!(
                "{iterations} passes{before}, {:.1}% of the pages stay in memory",
                100.0 * cached
            ),
        ),
        _ => (visits, format!("{iterations} passes{before}")),
    };
    let (pass, first) = (pass as f64, first as f64);
    let reads = Reads::about(first + pass * passes).visiting(first + pass * visits);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Pages of a pass over lists, and over their weights if they are read.
fn pages_of(graph: &Graph, direction: Direction, pagerank: &PageRankConfig) -> u64 {
    let column = graph.weights(direction).filter(|_| pagerank.weighted);
    pages(graph, direction) + column.map_or(0, WeightColumn::pages)
}

/// Computes the ranks.
///
/// # Errors
/// A parameter out of range; by weight, a graph without weights, with a negative one, or with sums
/// of them that are too large or too small; any error of the engine.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    pagerank: &PageRankConfig,
) -> Result<PageRank> {
    pagerank.check(graph)?;
    let config = with_weights(config, pagerank);
    if let Plan::InBands(plan) = plan(graph, &config, pagerank)? {
        return bands::run(graph, config, pagerank, &plan);
    }
    let needs = needs(graph, &config, pagerank)?;
    let engine = Engine::new(Arc::clone(graph), config.passes(true), &needs)?;
    engine.install(|| {
        let restart = Restart::new(graph, pagerank)?;
        let scale = pagerank.scale(graph.live_vertices());
        if pagerank.weighted {
            let mut weighted = Weighted::new(&engine, pagerank.damping, restart)?;
            let (iterations, change) = iterate(pagerank, scale, |i| weighted.step(i))?;
            finish(pagerank, weighted.ranks(), iterations, change, &engine)
        } else if pulls(graph) {
            let mut pull = pull::Pull::new(&engine, pagerank.damping, restart)?;
            let step = |i| pull.step(i, pagerank.needs_of(i));
            let (iterations, change) = iterate(pagerank, scale, step)?;
            let ranks = pull.ranks()?;
            finish(pagerank, ranks, iterations, change, &engine)
        } else {
            let mut push = push::Push::new(&engine, pagerank.damping, restart)?;
            let (iterations, change) = iterate(pagerank, scale, |i| push.step(i))?;
            finish(pagerank, push.ranks(), iterations, change, &engine)
        }
    })
}

fn iterate(
    pagerank: &PageRankConfig,
    scale: f64,
    mut step: impl FnMut(u32) -> Result<Step>,
) -> Result<(u32, Option<f64>)> {
    let mut change = None;
    for iteration in 1..=pagerank.iterations {
        let found = scale * step(iteration)?.change;
        change = Some(found);
        if pagerank.tolerance.is_some_and(|tolerance| found < tolerance) {
            return Ok((iteration, change));
        }
    }
    Ok((pagerank.iterations, change))
}

/// Rounding is far smaller: only lists that contradict the degrees create or lose mass.
fn check_sum(graph: &Graph, pagerank: &PageRankConfig, sum: f64) -> Result<()> {
    let least = if pagerank.variant == Variant::Cave { 0.0 } else { 1.0 };
    if graph.live_vertices() == 0 || (least - 1e-6..1.0 + 1e-6).contains(&sum) {
        return Ok(());
    }
    Err(AlgoError::Contradiction {
        file: graph.file().to_string(),
        fault: format!("the ranks sum to {sum}, not 1"),
    })
}

fn finish(
    pagerank: &PageRankConfig,
    ranks: HugeVec<AtomicU64>,
    iterations: u32,
    change: Option<f64>,
    engine: &Engine,
) -> Result<PageRank> {
    let sum_of = |range: Range<usize>| ranks[range].iter().map(load).sum::<f64>();
    let sum = parallel::collect_of_blocks(SUM_CHUNK, ranks.len(), sum_of).into_iter().sum();
    check_sum(engine.graph(), pagerank, sum)?;
    let scale = pagerank.scale(engine.graph().live_vertices());
    if scale != 1.0 {
        parallel::for_each_of(&ranks, |_, rank| store(rank, scale * load(rank)));
    }
    let converged =
        pagerank.tolerance.map(|tolerance| change.is_some_and(|change| change < tolerance));
    let (ranks, ids) = (ranks.into_plain().into(), Ranks::load(engine.graph())?);
    Ok(PageRank { ranks, ids, iterations, converged, change, run: Run::of(engine) })
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Iterates again serially by the definition, and asserts that every rank agrees to within one part
/// in 10^9 (or 10^-15, if personalised or weighted), and that the ranks of the standard variant sum
/// to 1 within 10^-9. Takes 32 bytes a vertex.
pub fn verify(graph: &Graph, config: &PageRankConfig, pagerank: &PageRank) -> Result<()> {
    if graph.live_vertices() == 0 {
        return Ok(());
    }
    let ranks = ranks_by_definition(graph, config, pagerank.iterations)?;
    // Far from the given vertices, and behind small weights, fixed point has few digits for ranks.
    let floor = if config.personalize.is_empty() && !config.weighted { 0.0 } else { 1e-15 };
    let mut sum = 0.0;
    for (v, &expected) in ranks.iter().enumerate() {
        let found = pagerank.rank(VertexId::try_from(v).expect("vertex ids are u32"));
        sum += found;
        if (found - expected).abs() > 1e-9 * expected + floor {
            return Err(wrong(format!("the rank of vertex {v} is {found}, not {expected}")));
        }
    }
    if config.variant == Variant::Standard && (sum - 1.0).abs() > 1e-9 {
        return Err(wrong(format!("the ranks sum to {sum}, not 1")));
    }
    Ok(())
}

fn ranks_by_definition(
    graph: &Graph,
    config: &PageRankConfig,
    iterations: u32,
) -> Result<Vec<f64>> {
    let n = graph.vertices();
    let totals = totals_by_definition(graph, config)?;
    let cave = config.variant == Variant::Cave;
    let mut restart = vec![if cave { 1.0 } else { 1.0 / graph.live_vertices() as f64 }; n];
    graph.deleted().iter().for_each(|&v| restart[v as usize] = 0.0);
    if !config.personalize.is_empty() {
        restart.fill(0.0);
        for (at, &v) in config.personalize.iter().enumerate() {
            match config.personalize_weights.get(at) {
                None => restart[v as usize] = 1.0,
                Some(weight) => restart[v as usize] += weight,
            }
        }
        let count: f64 = restart.iter().sum();
        restart.iter_mut().for_each(|mass| *mass /= count);
    }
    let mut ranks = restart.clone();
    for _ in 0..iterations {
        let dangling: f64 = (0..n).filter(|&v| totals[v] == 0.0).map(|v| ranks[v]).sum();
        let dangling = if cave { 0.0 } else { dangling };
        let mass = 1.0 - config.damping + config.damping * dangling;
        let mut next: Vec<f64> = restart.iter().map(|part| mass * part).collect();
        for_each_edge(graph, config, |v, target, weight| {
            if totals[v] > 0.0 {
                next[target] += config.damping * ranks[v] / totals[v] * weight;
            }
        })?;
        ranks = next;
    }
    Ok(ranks)
}

/// The sum of the weights of each out-list, each 1 unless ranks are by weight.
fn totals_by_definition(graph: &Graph, config: &PageRankConfig) -> Result<Vec<f64>> {
    let mut totals = vec![0.0; graph.vertices()];
    if config.weighted {
        for_each_edge(graph, config, |v, _, weight| totals[v] += weight)?;
        return Ok(totals);
    }
    graph.degrees(Direction::Out, &mut |first, degrees| {
        let totals = totals[first as usize..].iter_mut();
        totals.zip(degrees).for_each(|(total, &degree)| *total = degree as f64);
    })?;
    Ok(totals)
}

/// Calls `visit` with both ends of each entry, and its weight.
fn for_each_edge(
    graph: &Graph,
    config: &PageRankConfig,
    mut visit: impl FnMut(usize, usize, f64),
) -> Result<()> {
    if config.weighted {
        return Ok(for_each_weighted_list(graph, Direction::Out, |list, weights| {
            let weights = weights.expect("it was checked that the graph has weights");
            for (i, &target) in list.targets.iter().enumerate() {
                visit(list.vertex as usize, target as usize, weights.get(i).to_f64());
            }
        })?);
    }
    Ok(for_each_list(graph, Direction::Out, |list| {
        for &target in list.targets {
            visit(list.vertex as usize, target as usize, 1.0);
        }
    })?)
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
