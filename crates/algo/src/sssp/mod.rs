//! Single-source shortest paths over weighted edges.
//!
//! **Returns** for every vertex its distance from the nearest source: the least sum of weights over
//! all paths, added up from the source. Integer sums are exact (`u64`); floating-point weights are
//! added as `f64`, so a distance is the minimum over all paths of the rounded sum from left to
//! right, whatever the order of computation. Edges of a graph without weights have length 1.
//! Optionally parents: of the vertices before `v` on paths of exactly its distance, the one with
//! the smallest id ([`parents`] has the rule for edges of weight 0). A source has distance 0 and is
//! its own parent. With targets only vertices as near as the farthest target count as reached.
//! Negative weights are an error.
//!
//! **Source.** Delta-stepping: Meyer and Sanders, Journal of Algorithms 49 (2003). That the default
//! of delta is a multiple of the mean weight over the mean degree is from Davidson, Baxter, Garland
//! and Owens, IPDPS 2014 (32 times it), as are buckets that begin at the nearest remaining vertex.
//!
//! **Trick.** Pages are expensive and edges are cheap: light and heavy edges are relaxed together,
//! so no page is read again for a vertex's heavy edges. Distances that this sets too early are
//! shortened later, with the same result. One atomic minimum on 64 bits works for all weights
//! ([`length`]).
//!
//! A search of many small steps, as on a grid or a road network, goes on in memory, part by part if
//! the lists do not fit ([`parts`]), or page by page where edges lead far ([`asynchronous`]).
//!
//! With less memory, distances lie in a file, in bands of vertices: [`bands`].
//!
//! Steps: [`relax`], [`parents`].

mod asynchronous;
mod bands;
mod length;
mod parents;
mod paths;
mod relax;
mod residual;
mod search;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    Bitmap, Direction, Engine, EngineConfig, Frontier, Graph, Needs, StateArray, Strategy,
    VertexId, Weight, setters, weighted_bytes_for, weighted_pages_bytes_for,
};

use crate::estimate::{Estimate, Reads, kept};
use crate::kind::{has_hubs, is_lattice, mean_degree};
use crate::parts;
use crate::ranks::{NO_PARENT, Parents, default_source, sort_by_id};
use crate::report::{AlgoError, Result, Run, check_vertices, check_weights, pages};
use crate::worklist::{Worklist, for_steps, goes_without_steps};
pub use length::UNREACHED;
pub(crate) use length::{Lengths, OVERFLOW};
pub(crate) use relax::{Sums, keep_active, visit};
use search::Search;
pub use verify::verify;

const NAME: &str = "sssp";

/// Parameters of a shortest-path search.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SsspConfig {
    /// Sources; empty: the vertex of largest degree.
    pub sources: Vec<VertexId>,
    /// The search ends when the distances of these are known; empty: when no vertex is left.
    pub targets: Vec<VertexId>,
    /// Width of a bucket of distances; unset: from the weights.
    pub delta: Option<f64>,
    /// Whether to find parents (4 bytes a vertex, and a pass).
    pub parents: bool,
}

impl SsspConfig {
    setters! { sources: Vec<VertexId>, targets: Vec<VertexId>, delta: Option<f64>, parents: bool }
}

/// A distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distance {
    /// A sum of integers, or of edges without weights.
    Integer(u64),
    /// A sum of floating-point numbers.
    Float(f64),
}

/// The distances of all vertices, [`UNREACHED`] for those not reached.
#[derive(Clone, Copy, Debug)]
pub enum Distances<'a> {
    /// Sums of integers, or of edges without weights.
    Integers(&'a [u64]),
    /// The bits of floating-point numbers; see [`f64::from_bits`].
    FloatBits(&'a [u64]),
}

/// The result of a shortest-path search.
#[derive(Debug)]
#[non_exhaustive]
pub struct Sssp {
    /// The sources, in the order of their ids.
    pub sources: Vec<VertexId>,
    /// The bucket width.
    pub delta: f64,
    /// Buckets and rounds processed.
    pub buckets: u64,
    /// Vertices reached, including the sources.
    pub reached: u64,
    /// The largest distance and its vertex, of several the one with the smallest id.
    pub farthest: (VertexId, Distance),
    lengths: Lengths,
    distances: StateArray<u64>,
    parents: Option<StateArray<VertexId>>,
    /// The largest distance of interest.
    bound: u64,
    /// Statistics of the run.
    pub run: Run,
}

impl Sssp {
    /// Distance of `v`, if it was reached.
    pub fn distance(&self, v: VertexId) -> Option<Distance> {
        let length = self.length(v);
        (length != UNREACHED).then(|| distance(self.lengths, length))
    }

    /// Whether distances are integers.
    pub fn is_integer(&self) -> bool {
        self.lengths == Lengths::Integers
    }

    /// Parent of `v`, if it was reached; `None` without [`SsspConfig::parents`].
    pub fn parent(&self, v: VertexId) -> Option<VertexId> {
        Some(self.parents()?[v as usize]).filter(|parent| *parent != NO_PARENT)
    }

    /// The distances of all vertices.
    pub fn distances(&self) -> Distances<'_> {
        match self.lengths {
            Lengths::Integers => Distances::Integers(&self.distances),
            Lengths::Floats => Distances::FloatBits(&self.distances),
        }
    }

    /// The parents of all vertices, [`NO_PARENT`] for those not reached; `None` without
    /// [`SsspConfig::parents`].
    pub fn parents(&self) -> Option<&[VertexId]> {
        self.parents.as_deref()
    }

    /// Whether parents were found.
    pub fn has_parents(&self) -> bool {
        self.parents.is_some()
    }

    /// The vertices from a source to `v`, by parents; `None` if `v` was not reached or without
    /// [`SsspConfig::parents`].
    pub fn path_to(&self, v: VertexId) -> Option<Vec<VertexId>> {
        let mut path = vec![v];
        let mut last = v;
        loop {
            let parent = self.parent(last)?;
            if parent == last {
                path.reverse();
                return Some(path);
            }
            path.push(parent);
            last = parent;
        }
    }

    /// Gives the memory of answers in a state file back, until they are used again.
    pub fn release(&self) {
        self.distances.release();
        self.parents.iter().for_each(StateArray::release);
    }

    fn length(&self, v: VertexId) -> u64 {
        self.distances[v as usize]
    }

    /// A result of buckets, vertices reached and the farthest vertex; of lengths, bound and delta.
    fn with(
        sources: Vec<VertexId>,
        (buckets, reached, farthest): (u64, u64, (VertexId, u64)),
        (lengths, bound, delta): (Lengths, u64, f64),
        distances: StateArray<u64>,
        parents: Option<StateArray<VertexId>>,
        run: Run,
    ) -> Self {
        let farthest = (farthest.0, distance(lengths, farthest.1));
        Self { sources, delta, buckets, reached, farthest, lengths, distances, parents, bound, run }
    }
}

/// Refuses distances that do not fit.
pub(crate) fn overflow(lengths: Lengths, largest: u64) -> Result<()> {
    if largest != OVERFLOW {
        return Ok(());
    }
    let (largest, expected) = match lengths {
        Lengths::Integers => ("2^64 - 3", "use smaller weights, or import them as f64"),
        Lengths::Floats => ("the largest f64", "use smaller weights"),
    };
    Err(AlgoError::Parameter {
        parameter: "the distance of a vertex",
        given: format!("beyond {largest}"),
        expected: expected.into(),
    })
}

fn distance(lengths: Lengths, length: u64) -> Distance {
    match lengths {
        Lengths::Floats => Distance::Float(f64::from_bits(length)),
        Lengths::Integers => Distance::Integer(length),
    }
}

impl Distance {
    /// As a floating-point number; large integers are rounded.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(distance) => distance as f64,
            Self::Float(distance) => distance,
        }
    }
}

/// Memory: 8 bytes a vertex for distances, 4 for parents (8 if the graph is not in the order of its
/// ids), 3 sets; with `auto` a worklist of pages; the memory of weighted visits, and an index of
/// weights of 8 bytes a page of lists; optionally on a graph of few edges per vertex its lists, or
/// parts of them, and with weights the edges that may still shorten a path.
///
/// # Errors
/// An index that cannot be read.
pub fn needs(graph: &Graph, config: &EngineConfig, sssp: &SsspConfig) -> Result<Needs> {
    let n = graph.vertices();
    let parents = if sssp.parents { Parents::bytes_for(graph) } else { 0 };
    let sets = Bitmap::bytes_for(n) + 2 * Frontier::bytes_for(n, config.threads);
    let by_lists = weighted_bytes_for(graph, config, Direction::Out)?;
    let (worklist, by_pages) = match config.strategy {
        Strategy::Auto => (
            Worklist::bytes_for(pages(graph, Direction::Out)),
            weighted_pages_bytes_for(graph, config, Direction::Out)?,
        ),
        Strategy::Block | Strategy::Vertex => (0, 0),
    };
    let state_bytes = 8 * n as u64 + parents + sets + by_lists.max(by_pages);
    let lists = if loads_lists(graph, config) { parts::bytes_for_all(graph) } else { 0 };
    let edges =
        if residual::applies(graph, config, sssp) { residual::bytes_useful(graph) } else { 0 };
    let scratch_bytes = lists.max(edges);
    Ok(Needs { what: NAME, state_bytes: state_bytes.saturating_add(worklist), scratch_bytes })
}

/// Whether the search may have lists in memory, part by part. Not where vertices lie in the order
/// of clusters: a search page by page is faster there in any memory, even where all lists fit.
fn loads_lists(graph: &Graph, config: &EngineConfig) -> bool {
    config.strategy == Strategy::Auto && !config.few_pages && parts::is_worth_room(graph)
}

/// The cache gives memory to the lists of a graph of few edges per vertex.
fn with_room(graph: &Graph, config: EngineConfig, sssp: &SsspConfig) -> Result<EngineConfig> {
    let needs = needs(graph, &config, sssp)?;
    match needs.scratch_bytes {
        0 => Ok(config),
        _ => parts::with_room(graph, config, &needs),
    }
}

/// Pages of weights are cached as pages of lists are.
fn with_weights(graph: &Graph, config: EngineConfig) -> EngineConfig {
    for_steps(graph, config.weighted(graph.is_weighted()))
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// As [`run`].
pub fn estimate(graph: &Graph, config: &EngineConfig, sssp: &SsspConfig) -> Result<Estimate> {
    check(graph, sssp)?;
    let weighted = with_weights(graph, config.clone());
    if let Err(refused) = Engine::plan(graph, &weighted, &needs(graph, &weighted, sssp)?) {
        let plan = bands::choose(graph, &weighted, sssp, refused)?;
        return Ok(bands::estimate(plan, graph, sssp));
    }
    let config = &with_room(graph, weighted, sssp)?;
    let needs = needs(graph, config, sssp)?;
    let plan = Engine::plan(graph, config, &needs)?;
    let column = graph.weights(Direction::Out).map_or(0, |column| column.pages());
    let total = pages(graph, Direction::Out) + column;
    let pass = total as f64;
    let missing = 1.0 - kept(graph, &plan.1, total);
    let parents = f64::from(u8::from(sssp.parents));
    let reads = |visits: f64| pass * (FIRST_PASS + (visits - FIRST_PASS) * missing);
    let bytes = plan.1.scratch_bytes;
    let by_passes = residual::applies(graph, config, sssp)
        .then(|| residual::likely_passes(graph, bytes, config.threads))
        .flatten();
    let (likely, at_most, because) = if let Some((passes, fit)) = by_passes {
        let kept = match fit {
            true => ": of these, edges that may still shorten a path fit in memory",
            false => ", in passes in the order of the file",
        };
        let because = format!("all lists and their weights about {passes:.1} times{kept}");
        (reads(passes + parents), reads(visits(graph).max(2.0 * passes) + parents), because)
    } else if !is_lattice(graph) || !goes_without_steps(config) {
        let visits = visits(graph) + parents;
        let because = format!(
            "the pages of all reachable vertices and their weights, and those that do not stay \
             in memory about {visits:.0} times"
        );
        (reads(visits), 2.0 * reads(visits), because)
    } else if config.few_pages {
        let because = "page by page, about eight times what does not stay in memory".to_owned();
        (reads(VISITS_CLUSTERED + parents), reads(visits(graph) + parents), because)
    } else if loads_lists(graph, config) && plan.1.scratch_bytes >= needs.scratch_bytes {
        let because = "all pages, and some before that: the lists fit in memory".to_owned();
        (pass * (1.3 + parents * missing), pass * (2.0 + parents), because)
    } else {
        let times = parts::likely_reads(graph, plan.1.scratch_bytes);
        let because = format!(
            "part by part, about {times:.1} times where neighbours lie near each other in the \
             file; else page by page, at most as often as fronts cross a page"
        );
        (reads(times + parents), reads(visits(graph) + parents), because)
    };
    let reads = Reads::between(1.0, likely, at_most).filling(0.0, 1.0);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Passes read before the cache is filled: some pages are read in gaps before they are active.
const FIRST_PASS: f64 = 1.1;

/// About how often a page that does not stay in memory is read where vertices lie in the order of
/// clusters: a road network and a grid of 10^6 vertices with 5% of their pages in memory.
const VISITS_CLUSTERED: f64 = 9.0;

/// About how often a page is read without a cache: in how many rounds a path over one of its lists
/// is found or shortened.
///
/// Measured on generated graphs (Kronecker, uniform, preferential attachment, grid) of 10^5 to 10^6
/// vertices. A round follows the shortest paths by one edge, and hubs shorten them. If the smallest
/// weight is close to the mean, many paths are equal, and few are shortened. For lattices and roads
/// the rounds are the number of search fronts on a page.
fn visits(graph: &Graph) -> f64 {
    let superblock = graph.superblock();
    let vertices = (superblock.live_vertices() as f64).max(2.0);
    if is_lattice(graph) {
        return 0.7 * vertices.sqrt();
    }
    let degree = (superblock.stored_out as f64 / vertices).max(1.0);
    let degree_max = superblock.degree_max as f64;
    let equal = 2.8;
    let (Some(mean), Some((min, max))) = (
        superblock.weights.map(|weights| weights.mean()).filter(|mean| *mean > 0.0),
        superblock.weights.and_then(|weights| weights.min().zip(weights.max())),
    ) else {
        return equal;
    };
    let (min, max) = (min.to_f64(), max.to_f64());
    let skew = (degree_max / degree).clamp(2.0, 1024.0);
    let rounds = (1.1 - 0.057 * (skew / 2.0).log2()) * vertices.log2();
    let tail = 1.0 + 0.09 * (max / (2.0 * mean)).log2().max(0.0);
    // Weights so far apart yield no ties.
    match (mean / min).log2().max(0.0) {
        apart @ 0.0..10.0 => (rounds * tail).min(equal + 0.58 * apart),
        _ => rounds * tail,
    }
}

/// Checks the parameters and the weights before anything is read.
fn check(graph: &Graph, sssp: &SsspConfig) -> Result<()> {
    check_vertices(graph, "source", &sssp.sources)?;
    check_vertices(graph, "target", &sssp.targets)?;
    if let Some(delta) = sssp.delta.filter(|delta| !(delta.is_finite() && *delta > 0.0)) {
        return Err(AlgoError::Parameter {
            parameter: "delta",
            given: format!("{delta:?}"),
            expected: "a positive number".into(),
        });
    }
    check_weights(graph, "shortest paths are found over weights that are not negative")
}

/// The default width of buckets is this many times the mean weight over the mean degree: on a
/// uniform random graph as fast as 8 times, a sixth faster than 32 times, and much faster than 4
/// times, which leaves too little to do in a bucket.
const DELTA: f64 = 16.0;

/// The same for a graph with hubs: paths over them have few edges, so that all vertices in one
/// bucket take the fewest passes.
const DELTA_WITH_HUBS: f64 = 128.0;

/// The default width of buckets.
pub(crate) fn default_delta(graph: &Graph) -> f64 {
    let superblock = graph.superblock();
    let Some(weights) = superblock.weights else { return 1.0 };
    let times = if has_hubs(graph) { DELTA_WITH_HUBS } else { DELTA };
    let largest = weights.max().map_or(1.0, Weight::to_f64);
    let delta = times * weights.mean() / mean_degree(graph).max(1.0);
    if delta.is_finite() && delta > 0.0 { delta } else { largest.max(1.0) }
}

/// Runs the search.
///
/// # Errors
/// A source or target that is not a vertex, a delta that is not positive, a graph with negative
/// weights, distances that do not fit; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, sssp: &SsspConfig) -> Result<Sssp> {
    check(graph, sssp)?;
    let mut sources = sssp.sources.clone();
    if sources.is_empty() {
        sources.push(default_source(graph)?);
    }
    check_vertices(graph, "source", &sources)?;
    sort_by_id(graph, &mut sources)?;
    let config = with_weights(graph, config);
    if let Err(refused) = Engine::plan(graph, &config, &needs(graph, &config, sssp)?) {
        let plan = bands::choose(graph, &config, sssp, refused)?;
        return bands::run(graph, config, (sources, sssp), &plan);
    }
    let config = with_room(graph, config, sssp)?;
    let needs = needs(graph, &config, sssp)?;
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let mut search = Search::new(&engine, sources, sssp)?;
        let ends =
            residual::applies(graph, engine.config(), sssp) && residual::search(&mut search)?;
        if !ends {
            search.run()?;
        }
        search.finish(sssp.parents)
    })
}
