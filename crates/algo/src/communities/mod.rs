//! Communities of high modularity: Leiden and Louvain.
//!
//! **Returns** for every vertex of an undirected graph the vertex with the smallest id in its
//! community, and the modularity of the communities,
//!
//! > Q = sum over communities of (2 in / 2m - resolution (deg / 2m)^2),
//!
//! where m is the weight of all edges, `in` that of the edges within the community and `deg` the
//! sum of the degrees of its vertices; a self-loop counts twice in a degree, and edges of a graph
//! without weights weigh 1. A vertex whose edges weigh nothing is a community by itself. Weights
//! must not be negative. No two communities can be joined without loss, and those of Leiden are
//! connected. To find communities of the highest modularity is NP-hard; both methods find good
//! ones. They are the same in every run, whatever the threads and the order of the vertices.
//!
//! **Source.** Blondel, Guillaume, Lambiotte and Lefebvre, "Fast unfolding of communities in large
//! networks", 2008 (Louvain). Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing
//! well-connected communities", Scientific Reports 2019: section "Leiden algorithm" and Algorithm
//! A.2, with the best candidate in place of a random one in the refinement. The resolution is that
//! of Reichardt and Bornholdt, 2006.
//!
//! **Trick.** The lists on the device are visited in rounds in which half of the vertices move at
//! once, by a hash ([`moves`]), as parallel Louvain does (Lu, Halappanavar and Kalyanaraman, 2015),
//! and a round visits only vertices with a neighbour that has moved. Leiden then divides the
//! communities into connected subsets ([`refine`]). What these or the communities are between each
//! other is a graph in memory ([`gather`]), where nodes move one after another ([`levels`]). A
//! small graph is in memory from the start, since few vertices that move at once hinder each other.
//! Each iteration starts from the communities of the one before, in another order. All weights are
//! integers, so no sum depends on an order ([`lists`]).
//!
//! **Memory.** The graph between subsets must fit: 96 bytes for each subset, 24 for each pair of
//! adjacent ones, beside a table of up to 20 while it is made. A run with too small a budget for it
//! ends with an error that names one that suffices for any communities ([`budget`]).

mod budget;
mod gather;
mod level;
mod levels;
mod lists;
mod moves;
mod partition;
mod refine;
mod tally;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    Adjacency, Direction, Engine, EngineConfig, Graph, HugeVec, Needs, VertexId, setters,
};

use crate::estimate::{Estimate, Reads, kept};
use crate::groups::{Groups, Labels};
use crate::parallel::{self, copy, fill};
use crate::ranks::{Ranks, for_each_by_id};
use crate::report::{AlgoError, Result, Run, pages};
use gather::Numbers;
use level::Room;
use levels::Levels;
use lists::Scale;
use partition::{ISOLATED, Partition, get};
use tally::Tally;
pub use verify::verify;

/// An iteration gains nothing if modularity grows by no more than this.
const GAIN_MIN: f64 = 1e-7;

/// So many iterations in a row that gain nothing are the last.
const PATIENCE: u32 = 2;

/// A graph of at most so many entries is in memory from the start.
const SMALL_ENTRIES_MAX: u64 = 1 << 17;

/// A method to find communities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Leiden: with a refinement, so communities are connected.
    Leiden,
    /// Louvain: without one.
    Louvain,
}

impl Method {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Leiden => "leiden",
            Method::Louvain => "louvain",
        }
    }
}

/// Parameters of Leiden and Louvain.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CommunitiesConfig {
    /// The method.
    pub method: Method,
    /// The resolution, above 0: with larger ones communities are smaller.
    pub resolution: f64,
    /// The most iterations, 1 or more; fewer if two in a row gain nothing.
    pub iterations: u32,
    /// A graph of at most so many entries is in memory from the start. Part of the definition:
    /// another number may give other communities.
    #[doc(hidden)]
    pub small_entries: u64,
}

impl CommunitiesConfig {
    /// The defaults of a method: resolution 1, three iterations.
    pub fn of(method: Method) -> Self {
        Self { method, resolution: 1.0, iterations: 3, small_entries: SMALL_ENTRIES_MAX }
    }

    setters! { resolution: f64, iterations: u32, small_entries: u64 }

    fn check(&self) -> Result<()> {
        if !(self.resolution > 0.0 && self.resolution <= f64::from(u32::MAX)) {
            return Err(AlgoError::Parameter {
                parameter: "resolution",
                given: format!("{:?}", self.resolution),
                expected: format!("above 0, and at most {}", u32::MAX),
            });
        }
        if self.iterations == 0 {
            return Err(AlgoError::Parameter {
                parameter: "iterations",
                given: "0".to_owned(),
                expected: "1 or more".to_owned(),
            });
        }
        Ok(())
    }
}

/// Communities.
#[derive(Debug)]
#[non_exhaustive]
pub struct Communities {
    groups: Groups,
    /// Their modularity, by the resolution that was given; 0 in a graph without edges.
    pub modularity: f64,
    /// Iterations done.
    pub iterations: u32,
    /// Whether the last two iterations gained nothing.
    pub converged: bool,
    /// Levels of the last iteration, that of the vertices included.
    pub levels: u64,
    /// The number of communities.
    pub communities: u64,
    /// Communities of one vertex.
    pub single: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// Its label, of several the smallest by id; `None` in a graph without vertices.
    pub largest_label: Option<VertexId>,
    /// Statistics of the run.
    pub run: Run,
}

impl Communities {
    /// The vertex with the smallest id in the community of `v`.
    pub fn label(&self, v: VertexId) -> VertexId {
        self.groups.labels[v as usize]
    }

    /// The labels of all vertices.
    pub fn labels(&self) -> &[VertexId] {
        &self.groups.labels
    }
}

/// Memory: 28 bytes a vertex for labels and weights, four sets; 4 bytes if the graph is not in the
/// order of its ids; per thread up to 48 bytes for each entry of the longest list; the memory of
/// visits. Optionally the graph between subsets.
///
/// # Errors
/// An index of weights that cannot be read.
pub fn needs(
    graph: &Graph,
    config: &EngineConfig,
    communities: &CommunitiesConfig,
) -> Result<Needs> {
    let visits = lists::bytes_for(graph, config)?;
    Ok(needs_with(graph, config, communities, visits))
}

fn needs_with(
    graph: &Graph,
    config: &EngineConfig,
    communities: &CommunitiesConfig,
    visits: u64,
) -> Needs {
    let n = graph.vertices();
    let longest = graph.adjacency(Direction::Out).map_or(0, Adjacency::list_entries_bound);
    let state_bytes = partition::bytes_for(n, config.threads)
        + Ranks::bytes_for(graph)
        + visits
        + config.threads as u64 * Tally::bytes_for(longest)
        + 2 * Numbers::bytes_for(n)
        + gather::least_bytes();
    let scratch_bytes = budget::scratch_bytes(graph);
    Needs { what: communities.method.name(), state_bytes, scratch_bytes }
}

/// The needs for a configuration, once those for another could be computed.
fn needs_of<'a>(
    graph: &'a Graph,
    communities: &'a CommunitiesConfig,
) -> impl Fn(&EngineConfig) -> Needs + 'a {
    |config| {
        let visits = lists::bytes_for(graph, config).unwrap_or(u64::MAX / 4);
        needs_with(graph, config, communities, visits)
    }
}

/// Weights are cached as lists are.
fn with_weights(graph: &Graph, config: EngineConfig) -> EngineConfig {
    config.weighted(graph.is_weighted())
}

fn check(graph: &Graph, communities: &CommunitiesConfig) -> Result<()> {
    communities.check()?;
    if graph.is_directed() {
        return Err(AlgoError::Unsupported {
            what: communities.method.name(),
            needs: "an undirected graph",
            remedy: "import it as undirected",
        });
    }
    Ok(())
}

/// Estimates the memory and reads of a run. How large the graph between subsets is, and so whether
/// it fits, depends on the communities; the reason names a budget with which it does.
///
/// # Errors
/// As [`run`].
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    communities: &CommunitiesConfig,
) -> Result<Estimate> {
    check(graph, communities)?;
    Scale::of(graph)?;
    let config = &with_weights(graph, config.clone());
    needs(graph, config, communities)?;
    let plan = budget::plan(graph, config, needs_of(graph, communities))?;
    let column = graph.weights(Direction::Out).map_or(0, |column| column.pages());
    let total = pages(graph, Direction::Out) + column;
    let pass = total as f64;
    let missing = 1.0 - kept(graph, &plan.1, total);
    let iterations = f64::from(communities.iterations.min(20));
    // Rounds of moves and of refinement, degrees, and what is between subsets.
    let (least, likely, most) = match communities.method {
        Method::Leiden => (6.0, 16.0, 42.0),
        Method::Louvain => (4.0, 11.0, 34.0),
    };
    let passes = |each: f64| pass * (1.0 + missing * (each * iterations - 1.0));
    let sufficient = budget::sufficient(graph, config, needs_of(graph, communities))? >> 20;
    let because = format!(
        "rounds over the lists of vertices whose neighbours have moved: in each iteration about a \
         dozen passes over the pages, less what is cached; whether the graph between communities \
         fits shows during the run, with {sufficient}MiB as `memory` any does"
    );
    let visits = lists::bytes_for(graph, config)?;
    let reads = Reads::between(passes(least), passes(likely), passes(most))
        .visiting(pass * likely * iterations)
        .sparing(visits)
        .filling(0.05, 0.3);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Finds communities.
///
/// # Errors
/// A directed graph; a negative weight; weights too large for exact sums; a resolution or a number
/// of iterations out of range; a budget that the graph between subsets exceeds; any error of the
/// engine.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    communities: &CommunitiesConfig,
) -> Result<Communities> {
    check(graph, communities)?;
    let scale = Scale::of(graph)?;
    let config = with_weights(graph, config);
    needs(graph, &config, communities)?;
    let of = needs_of(graph, communities);
    let engine = budget::engine(graph, config.clone(), &of)?;
    let sufficient = budget::sufficient(graph, &config, &of)?;
    engine.install(|| {
        let partition = Partition::new(&engine, scale, communities.resolution)?;
        let best = HugeVec::zeroed(graph.vertices())?;
        Search { engine: &engine, config: communities, sufficient, partition, best }.run()
    })
}

/// The state between iterations.
struct Search<'e> {
    engine: &'e Engine,
    config: &'e CommunitiesConfig,
    /// A budget that suffices for any communities.
    sufficient: u64,
    partition: Partition<'e>,
    /// The labels of the highest modularity so far.
    best: HugeVec<AtomicU32>,
}

impl Search<'_> {
    fn run(mut self) -> Result<Communities> {
        let (mut modularity, mut levels) = (f64::NEG_INFINITY, 0);
        let (mut iterations, mut idle) = (0, 0);
        while iterations < self.config.iterations && idle < PATIENCE {
            iterations += 1;
            self.partition.iteration = iterations;
            let (found, of_iteration) = self.iterate()?;
            levels = of_iteration;
            idle = if found > modularity + GAIN_MIN { 0 } else { idle + 1 };
            if found > modularity {
                modularity = found;
                copy(&self.partition.labels, &self.best);
            }
        }
        let run = Run::of(self.engine);
        let converged = idle == PATIENCE;
        let groups = self.name()?;
        let Groups { count, single, largest, largest_label, .. } = groups;
        Ok(Communities {
            groups,
            modularity,
            iterations,
            converged,
            levels,
            communities: count,
            single,
            largest,
            largest_label,
            run,
        })
    }

    /// Moves, refines and aggregates; returns the modularity and the number of levels.
    fn iterate(&mut self) -> Result<(f64, u64)> {
        let stored = match self.engine.graph().superblock().stored_out > self.config.small_entries {
            true => self.move_stored()?,
            false => {
                let Partition { other, ranks, .. } = &self.partition;
                self.partition.for_each_connected(|v, _| {
                    other[v as usize].store(ranks.of(v), Ordering::Relaxed);
                });
                0
            }
        };
        // The memory of degrees and totals is that of levels now.
        let n = self.partition.labels.len();
        let room = Room {
            what: self.config.method.name(),
            bytes: self.engine.memory().scratch_bytes + budget::freed_bytes(n),
            bytes_most: gather::most_bytes(n, self.engine.graph().superblock().stored_out),
            budget: self.engine.config().memory_bytes,
            sufficient: self.sufficient,
        };
        let (nodes, labels) = self.number()?;
        let partition = &mut self.partition;
        let level = partition.gather(nodes, &room)?;
        let levels = Levels {
            engine: self.engine,
            method: self.config.method,
            total: partition.total,
            density: partition.density,
            iteration: partition.iteration,
        };
        let clustered = levels.cluster(level, labels)?;
        partition.for_each_connected(|v, _| {
            let label = clustered.labels[get(&partition.other, v) as usize];
            partition.labels[v as usize].store(label, Ordering::Relaxed);
        });
        let modularity =
            verify::modularity(clustered.within, clustered.squares, partition.total, self.config);
        Ok((modularity, clustered.levels + stored))
    }

    /// Moves vertices on the stored lists, and makes nodes of subsets of communities, or of these.
    /// Returns how many levels that were.
    fn move_stored(&mut self) -> Result<u64> {
        let partition = &mut self.partition;
        let degrees = partition.degrees()?;
        let totals = partition.totals(&degrees)?;
        partition.move_vertices(&degrees, &totals)?;
        match self.config.method {
            Method::Leiden => partition.refine(&totals, &degrees)?,
            Method::Louvain => copy(&partition.labels, &partition.other),
        }
        Ok(1)
    }

    /// Replaces the labels of subsets by numbers of nodes; returns how many there are, and their
    /// communities.
    fn number(&mut self) -> Result<(usize, HugeVec<u32>)> {
        let Partition { labels, other, .. } = &self.partition;
        parallel::for_each_of(labels, |v, label| {
            if label.load(Ordering::Relaxed) == ISOLATED {
                other[v].store(ISOLATED, Ordering::Relaxed);
            }
        });
        let (nodes, communities) = (Numbers::of(other)?, Numbers::of(labels)?);
        let labels: HugeVec<AtomicU32> = HugeVec::zeroed(nodes.count as usize)?;
        self.partition.for_each_connected(|v, label| {
            let node = nodes.number(get(other, v));
            other[v as usize].store(node, Ordering::Relaxed);
            labels[node as usize].store(communities.number(label), Ordering::Relaxed);
        });
        Ok((nodes.count as usize, labels.into_plain()))
    }

    /// Names every community by its vertex with the smallest id.
    fn name(self) -> Result<Groups> {
        let Partition { engine, other: names, .. } = self.partition;
        fill(&names, ISOLATED);
        let labels = self.best;
        for_each_by_id(engine.graph(), |v| {
            let label = get(&labels, v);
            let name = match label {
                ISOLATED => v,
                _ => match get(&names, label) {
                    ISOLATED => v,
                    name => name,
                },
            };
            if label != ISOLATED {
                names[label as usize].store(name, Ordering::Relaxed);
            }
            labels[v as usize].store(name, Ordering::Relaxed);
        })?;
        fill(&names, 0);
        Groups::new(engine.graph(), Labels::Members, labels, names)
    }
}
