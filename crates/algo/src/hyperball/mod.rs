//! Neighbourhood function and distance centralities by HyperLogLog counters.
//!
//! **Returns** estimates of what searches from every vertex would count:
//! - N(t), the ordered pairs of vertices at distance t at most, those of a vertex with itself
//!   included; from it the effective diameter (the distance within which 90% of the pairs with a
//!   path lie, interpolated) and the average distance of pairs of different vertices with a path
//! - for every vertex v, by the distances d(u, v) from the other vertices u that reach it:
//!   harmonic centrality Σ 1 / d(u, v); closeness (r - 1) / Σ d(u, v) · (r - 1) / (n - 1); and r,
//!   how many vertices reach it, itself included
//!
//! These are the definitions of NetworkX (`harmonic_centrality`, `closeness_centrality`), which
//! take distances towards the vertex on a directed graph; [`HyperballConfig::outgoing`] takes those
//! from it. Edges count 1, whatever their weights.
//!
//! **Error.** The relative standard deviation of the number of vertices within a distance of a
//! vertex is [`Hyperball::error`], at most; that of sums, such as N(t), is no larger.
//!
//! **Source.** Boldi and Vigna, "In-core computation of geometric centralities with HyperBall",
//! ICDM workshops 2013. Flajolet, Fusy, Gandouet and Meunier, "HyperLogLog", 2007, with the
//! estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", 2017.
//!
//! **Trick.** A counter is made of groups of 16 registers, whose estimates add up ([`counters`]).
//! All results are sums of such estimates, so the registers can be computed in slices: where not
//! all counters fit in memory, a run is repeated for each slice of registers, and the answer is the
//! same to the last bit. An iteration in which few counters grow reads only the lists of those that
//! grew in the one before ([`grow`]).

mod counters;
mod grow;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    Engine, EngineConfig, Frontier, Graph, MemoryPlan, Needs, Schedule, VertexId, setters,
};

use crate::estimate::{Estimate, Reads, kept};
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result, Run, pages};
use counters::{Counters, GROUP, Layout, error_of};
use grow::{Grow, Lists, Sums};
pub use verify::verify;

const NAME: &str = "hyperball";

/// The share of the pairs that the effective diameter is for.
const EFFECTIVE: f64 = 0.9;

/// Registers of a counter, at most.
const REGISTERS_MAX: u32 = 4096;

/// Parameters of HyperBall.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HyperballConfig {
    /// Registers of a counter, a byte each: a power of two from 16 to 4096.
    pub registers: u32,
    /// The most iterations: distances beyond are not counted; `None`: until no counter grows.
    pub iterations: Option<u32>,
    /// Seed of the hashes of ids.
    pub seed: u64,
    /// On a directed graph, distances from a vertex to others, not those from others to it.
    pub outgoing: bool,
}

impl Default for HyperballConfig {
    fn default() -> Self {
        Self { registers: 64, iterations: None, seed: 0, outgoing: false }
    }
}

impl HyperballConfig {
    setters! { registers: u32, iterations: Option<u32>, seed: u64, outgoing: bool }

    fn check(&self) -> Result<()> {
        let is_possible = (GROUP as u32..=REGISTERS_MAX).contains(&self.registers);
        if !is_possible || !self.registers.is_power_of_two() {
            return Err(AlgoError::Parameter {
                parameter: "registers",
                given: self.registers.to_string(),
                expected: format!("a power of two from {GROUP} to {REGISTERS_MAX} is needed"),
            });
        }
        Ok(())
    }
}

/// The result of HyperBall.
#[derive(Debug)]
#[non_exhaustive]
pub struct Hyperball {
    sums: Sums,
    ids: Ranks,
    live: u64,
    /// N(t), for t from 0 on. Beyond the last it does not grow, unless iterations ended early.
    pub neighborhood: Vec<f64>,
    /// The distance within which 90% of the pairs with a path lie, interpolated.
    pub effective_diameter: f64,
    /// The average distance of pairs of different vertices with a path; `None` without any.
    pub average_distance: Option<f64>,
    /// The relative standard deviation of the number of vertices within a distance of a vertex.
    pub error: f64,
    /// The largest distance that was seen: at most the longest one.
    pub iterations: u32,
    /// Whether the last iteration changed nothing, so that all distances were counted.
    pub converged: bool,
    /// The runs over the lists, each for a part of the registers.
    pub slices: u32,
    /// Statistics of the run.
    pub run: Run,
}

impl Hyperball {
    /// The sum of the reciprocal distances of the others.
    pub fn harmonic(&self, v: VertexId) -> f64 {
        self.sums.harmonic(v)
    }

    /// As NetworkX defines it; 0 if no other vertex reaches `v`.
    pub fn closeness(&self, v: VertexId) -> f64 {
        let (others, distances) = (self.sums.others(v), self.sums.distances(v));
        if others <= 0.0 || distances <= 0.0 {
            return 0.0;
        }
        others / distances * others / (self.live - 1).max(1) as f64
    }

    /// How many vertices reach `v`, itself included.
    pub fn reachable(&self, v: VertexId) -> f64 {
        1.0 + self.sums.others(v)
    }

    /// The `count` vertices of highest harmonic centrality, highest first; ties in the order of
    /// ids.
    pub fn top(&self, count: usize) -> Vec<(VertexId, f64)> {
        let n = self.sums.len() as VertexId;
        self.ids.top(count, (0..n).map(|v| (v, self.harmonic(v))))
    }
}

/// Memory: 24 bytes a vertex for its sums, two counters of a byte for each register, and two sets;
/// 4 bytes if the graph is not in the order of its ids. Where that does not fit, counters have only
/// a half, a quarter.. of the registers at a time, 16 at least.
fn needs(graph: &Graph, config: &EngineConfig, layout: Layout) -> Needs {
    let n = graph.vertices();
    let sets = 2 * Frontier::bytes_for(n, config.threads);
    let state_bytes =
        Sums::bytes_for(n) + 2 * Counters::bytes_for(n, layout) + sets + Ranks::bytes_for(graph);
    Needs { what: NAME, state_bytes, scratch_bytes: 0 }
}

/// How the registers are divided, and what is read.
struct Plan {
    layout: Layout,
    needs: Needs,
    engine: (Schedule, MemoryPlan),
    /// In pages: at least, likely, and at most.
    reads: [f64; 3],
    /// Pages of lists that are visited, with those in memory.
    visited: f64,
}

impl Plan {
    fn new(
        graph: &Graph,
        config: &EngineConfig,
        (hyperball, layout): (&HyperballConfig, Layout),
    ) -> Result<Self> {
        let needs = needs(graph, config, layout);
        let engine = Engine::plan(graph, config, &needs)?;
        let lists = Lists::of(graph, hyperball.outgoing)?;
        let pass = pages(graph, lists.direction());
        let missing = 1.0 - kept(graph, &engine.1, pass);
        // Most counters grow until the effective diameter, which is from 4 to 7 on social graphs.
        let most = hyperball.iterations.map_or(f64::INFINITY, f64::from);
        let passes = [4.0, 7.0, 30.0].map(|passes: f64| passes.min(most));
        let slices = f64::from(layout.slices());
        let pass = pass as f64;
        let reads = passes.map(|passes| {
            let visited = slices * passes * pass;
            visited.min(pass) + (visited - pass).max(0.0) * missing
        });
        Ok(Self { layout, needs, engine, reads, visited: slices * passes[1] * pass })
    }

    /// The layout that reads least; of equal ones that with the fewest slices.
    fn best(graph: &Graph, config: &EngineConfig, hyperball: &HyperballConfig) -> Result<Self> {
        hyperball.check()?;
        let mut best: Option<Self> = None;
        for layout in Layout::all(hyperball.registers) {
            match (Self::new(graph, config, (hyperball, layout)), &best) {
                (Ok(plan), Some(best)) if plan.reads[1] >= best.reads[1] => {}
                (Ok(plan), _) => best = Some(plan),
                // Smaller slices need less.
                (Err(error), None) if layout.is_last() => return Err(error),
                (Err(_), _) => {}
            }
        }
        best.ok_or_else(|| wrong("no layout of the registers".to_owned()))
    }
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// As [`run`].
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    hyperball: &HyperballConfig,
) -> Result<Estimate> {
    let plan = Plan::best(graph, config, hyperball)?;
    let slices = plan.layout.slices();
    let because = format!(
        "a pass over the pages per iteration, less what is cached, until few counters grow; {}",
        match slices {
            1 => "all registers at once".to_owned(),
            slices => format!("all that {slices} times, each for a part of the registers"),
        }
    );
    let [at_least, likely, at_most] = plan.reads;
    let reads = Reads::between(at_least, likely, at_most).visiting(plan.visited);
    Ok(Estimate::new(graph, plan.engine, reads, because))
}

/// Computes the estimates.
///
/// # Errors
/// A parameter out of range; any error of the engine.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    hyperball: &HyperballConfig,
) -> Result<Hyperball> {
    let Plan { layout, needs, .. } = Plan::best(graph, &config, hyperball)?;
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let ids = Ranks::load(graph)?;
        let lists = Lists::of(graph, hyperball.outgoing)?;
        let mut grow = Grow::new(&engine, lists, layout)?;
        let (mut iterations, mut converged) = (0, true);
        for slice in 0..layout.slices() {
            grow.begin(slice, |v| counters::hash(hyperball.seed, &ids, v));
            let most = hyperball.iterations.unwrap_or(u32::MAX);
            let (done, ended) = grow.finish(most)?;
            iterations = iterations.max(done);
            converged &= ended;
        }
        let live = graph.live_vertices() as u64;
        let (sums, gained) = grow.into_sums();
        let neighborhood = neighborhood(live, &gained);
        Ok(Hyperball {
            effective_diameter: effective_diameter(&neighborhood),
            average_distance: average_distance(&neighborhood),
            sums,
            ids,
            live,
            neighborhood,
            error: error_of(hyperball.registers),
            iterations,
            converged,
            slices: layout.slices(),
            run: Run::of(&engine),
        })
    })
}

/// N(t) by what it gained at each distance from 1 on.
fn neighborhood(live: u64, gained: &[i128]) -> Vec<f64> {
    let mut sum = i128::from(live) << counters::FRACTION;
    let mut pairs = vec![live as f64];
    for gain in gained {
        sum += gain;
        pairs.push(sum as f64 / (1u64 << counters::FRACTION) as f64);
    }
    pairs
}

fn effective_diameter(pairs: &[f64]) -> f64 {
    let enough = EFFECTIVE * pairs.last().copied().unwrap_or(0.0);
    match pairs.iter().position(|&pairs| pairs >= enough) {
        None | Some(0) => 0.0,
        Some(t) => (t - 1) as f64 + (enough - pairs[t - 1]) / (pairs[t] - pairs[t - 1]),
    }
}

fn average_distance(pairs: &[f64]) -> Option<f64> {
    let gains = pairs.windows(2).map(|pair| pair[1] - pair[0]);
    let all: f64 = gains.clone().sum();
    let sum: f64 = (1..).zip(gains).map(|(t, gain)| f64::from(t) * gain).sum();
    (all > 0.0).then(|| sum / all)
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
