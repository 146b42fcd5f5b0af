//! Triangle counting.
//!
//! **Returns** the number of triangles of the graph, ignoring edge direction, loops and repeated
//! edges; optionally the number at each vertex, which is the number of edges between its
//! neighbours. Also the transitivity: three times the triangles over the pairs of neighbours of all
//! vertices.
//!
//! **Source.** Chunks of oriented lists in memory, one pass over the graph for each: Hu, Tao and
//! Chung (SIGMOD 2013), after Chu and Cheng (KDD 2011). Ranks by degree, short ids of hubs, and bit
//! rows for edges between hubs: Koohi Esfahani, Kilpatrick and Vandierendonck, LOTUS (PPoPP 2022).
//!
//! **Trick.** An edge is kept only at its end of larger rank, and ranks go by falling degree, so no
//! list is long and nearly all entries are small numbers of two bytes. A chunk's own pages are read
//! only once for it: if all oriented lists fit, the graph is read once, otherwise once per chunk,
//! apart from pages whose lists have no edge into the chunk.
//!
//! - [`order`]: ranks, and bounds of list lengths
//! - [`lists`]: oriented lists in memory
//! - [`load`]: loads them, or passes others by them; for directed graphs the union of targets and
//!   sources
//! - [`sift`]: the neighbours of lower rank in a list
//! - [`parts`]: which lists have edges into which chunk, and how much memory lists take
//! - [`hubs`]: bit rows
//! - [`count`]: the triangles of a list
//! - [`window`]: one pass where edges lead nearby, and no vertex has many

mod count;
mod hubs;
mod lists;
mod load;
mod order;
mod parts;
mod sift;
mod verify;
mod window;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cenote_engine::{
    Assembled, Direction, Engine, EngineConfig, Graph, HugeVec, Needs, VertexId, setters,
};

use crate::estimate::{Estimate, Reads, engine_for, plan_for};
use crate::kind::is_lattice;
use crate::parallel::{self, fill};
use crate::report::{Result, Run, demand_in_edges, graph_pages, pages};
pub(crate) use count::At;
use count::{View, Workers};
use hubs::Hubs;
use lists::{Arena, NOWHERE, Shape};
use load::{Loader, Passed};
use order::{Order, out_lists};
use parts::Parts;
pub(crate) use verify::count_serially;
pub use verify::verify;

const NAME: &str = "triangles";

/// Bit rows take at most `1 / HUBS_SHARE` of the memory for lists.
const HUBS_SHARE: u64 = 4;

/// Parameters of triangle counting.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TrianglesConfig {
    /// Whether to count the triangles of each vertex (8 bytes a vertex).
    pub per_vertex: bool,
}

impl TrianglesConfig {
    setters! { per_vertex: bool }
}

/// The result of triangle counting.
#[derive(Debug)]
#[non_exhaustive]
pub struct Triangles {
    /// Triangles of the graph.
    pub triangles: u64,
    /// Pairs of neighbours, over all vertices.
    pub wedges: u128,
    /// Chunks of lists, each of which took a pass over the graph.
    pub chunks: u64,
    counted: Counted,
    /// Statistics of the run.
    pub run: Run,
}

impl Triangles {
    /// Triangles of `v`; `None` without [`TrianglesConfig::per_vertex`].
    pub fn of(&self, v: VertexId) -> Option<u64> {
        self.counted.has_counts().then(|| self.counted.count(v))
    }

    /// Whether the triangles of each vertex were counted.
    pub fn has_counts(&self) -> bool {
        self.counted.has_counts()
    }

    /// Fraction of the pairs of neighbours that are adjacent, 0 to 1; 0 without pairs.
    pub fn transitivity(&self) -> f64 {
        if self.wedges == 0 { 0.0 } else { 3.0 * self.triangles as f64 / self.wedges as f64 }
    }
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// A directed graph without in-edges; a budget that is too small.
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    triangles: &TrianglesConfig,
) -> Result<Estimate> {
    Job { name: NAME, at: at(triangles) }.estimate(graph, config)
}

/// Counts the triangles.
///
/// # Errors
/// A directed graph without in-edges; any error of the engine.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    triangles: &TrianglesConfig,
) -> Result<Triangles> {
    let (counted, run) = Job { name: NAME, at: at(triangles) }.run(graph, config)?;
    let Counted { triangles, wedges, chunks, .. } = counted;
    Ok(Triangles { triangles, wedges, chunks, counted, run })
}

fn at(triangles: &TrianglesConfig) -> At {
    if triangles.per_vertex { At::Triangles } else { At::Nowhere }
}

/// What to count, and for which algorithm.
pub(crate) struct Job {
    pub name: &'static str,
    pub at: At,
}

/// Triangles, and counts at the vertices.
#[derive(Debug)]
pub(crate) struct Counted {
    pub triangles: u64,
    /// Pairs of neighbours, over all vertices.
    pub wedges: u128,
    pub chunks: u64,
    /// Empty if the arrays below are by vertex.
    ranks: HugeVec<u32>,
    /// By rank; may be empty for [`At::Nowhere`].
    degrees: HugeVec<AtomicU32>,
    /// By rank; empty for [`At::Nowhere`].
    counts: HugeVec<AtomicU64>,
    has_counts: bool,
}

impl Counted {
    pub fn has_counts(&self) -> bool {
        self.has_counts
    }

    /// The count at `v`.
    pub fn count(&self, v: VertexId) -> u64 {
        self.counts[self.place(v)].load(Ordering::Relaxed)
    }

    /// Distinct neighbours of `v`, ignoring edge direction.
    pub fn degree(&self, v: VertexId) -> u32 {
        self.degrees[self.place(v)].load(Ordering::Relaxed)
    }

    fn place(&self, v: VertexId) -> usize {
        self.ranks.get(v as usize).map_or(v, |&rank| rank) as usize
    }
}

/// Pairs of neighbours of vertices with these degrees.
fn wedges(degrees: &[AtomicU32]) -> u128 {
    parallel::sum(degrees.len(), |v| {
        let degree = u128::from(degrees[v].load(Ordering::Relaxed));
        degree * degree.saturating_sub(1) / 2
    })
}

/// How the memory for lists is divided, in bytes.
struct Division {
    hubs: u32,
    chunk: u64,
    targets: u64,
    /// Whether all lists are expected to fit at once.
    single: bool,
}

impl Job {
    fn doubles(&self) -> bool {
        self.at == At::Edges
    }

    fn shape(&self, order: &Order) -> Shape {
        Shape { list_words_max: order.list_words_max, unit: order.unit, doubles: self.doubles() }
    }

    /// The fewest bytes of an arena: for the lists of one page.
    fn least(&self, order: &Order, workers: usize) -> u64 {
        self.shape(order).bytes_for(order.page_words_max, workers)
    }

    /// Memory: 12 bytes a vertex for ranks, places and degrees, 8 for counts, an eighth per worker
    /// for marks; optionally lists.
    fn needs(&self, graph: &Graph, config: &EngineConfig, order: &Order) -> Needs {
        let (n, workers) = (graph.vertices(), config.threads);
        let arenas = if graph.is_directed() { 2 } else { 1 };
        let counts = if self.at == At::Nowhere { 0 } else { 8 * n as u64 };
        let state_bytes = Order::bytes_for(graph)
            + 4 * n as u64
            + counts
            + Loader::bytes_for(graph, order, workers)
            + Parts::bytes_for(graph)
            + Workers::bytes_for(n, self.at, workers)
            + Assembled::bytes_for(graph, config)
            + arenas * self.least(order, workers);
        let lists = self.expected_bytes(order, workers);
        let targets = if graph.is_directed() { lists / 2 } else { 0 };
        let scratch_bytes = lists + targets + Hubs::bytes_for(order.hubs, self.doubles());
        Needs { what: self.name, state_bytes, scratch_bytes }
    }

    /// Expected bytes of an arena for all lists.
    fn expected_bytes(&self, order: &Order, workers: usize) -> u64 {
        self.shape(order).bytes_for(order.words_expected, workers)
    }

    fn divide(&self, graph: &Graph, order: &Order, workers: usize, scratch: u64) -> Division {
        let least = self.least(order, workers);
        let mut hubs = order.hubs;
        let hub_bytes = |hubs| Hubs::bytes_for(hubs, self.doubles());
        while hub_bytes(hubs) > scratch / HUBS_SHARE && hub_bytes(hubs) > 0 {
            hubs = hubs / 128 * 64;
        }
        let rest = scratch - hub_bytes(hubs).min(scratch);
        let targets = if graph.is_directed() { rest / 4 } else { 0 };
        let lists = rest - targets;
        let single = self.expected_bytes(order, workers) <= lists + least;
        Division { hubs, chunk: least + lists, targets: least + targets, single }
    }

    /// Estimates the memory and reads of a run.
    pub fn estimate(&self, graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
        demand_in_edges(graph, self.name)?;
        let config = without_cache(config.clone());
        let order = Order::new(graph, self.doubles())?;
        let plan = plan_for(graph, &config, |config| self.needs(graph, config, &order))?;
        let division = self.divide(graph, &order, config.threads, plan.1.scratch_bytes);
        let sweeps = match division.single {
            true => 1,
            false => self.expected_bytes(&order, config.threads).div_ceil(division.chunk),
        };
        let near = window::may_suit(graph, &config);
        let because = match (sweeps, near) {
            (1, _) => "one pass: all oriented lists fit in memory".to_owned(),
            (_, true) => format!(
                "one pass if edges lead nearby in the file, else at most {sweeps}, one for each \
                 part of the oriented lists in memory"
            ),
            _ => format!(
                "at most {sweeps} passes, one for each part of the oriented lists in memory, of \
                 the lists with edges into that part"
            ),
        };
        let (once, sweeps) = (graph_pages(graph) as f64, sweeps as f64);
        let (least, most) = (once, once * sweeps);
        // The division assumes the worst case. In a lattice most edges join similar ids.
        let likely = match (is_lattice(graph), near) {
            (true, true) => 1.0,
            (true, false) => 3.0,
            _ => (0.85 * sweeps).max(1.0),
        };
        let likely = once * likely.min(sweeps);
        let reads = Reads::between(least, likely, most).filling(0.3, 0.6);
        // A window needs neither ranks nor places and degrees by rank.
        let by_vertex = Order::bytes_for(graph) + 8 * graph.vertices() as u64;
        let reads = reads.idling(if near { by_vertex } else { 0 });
        Ok(Estimate::new(graph, plan, reads.sparing(Assembled::bytes_for(graph, &config)), because))
    }

    /// Counts the triangles.
    pub fn run(&self, graph: &Arc<Graph>, config: EngineConfig) -> Result<(Counted, Run)> {
        demand_in_edges(graph, self.name)?;
        let config = without_cache(config);
        if window::may_suit(graph, &config) {
            // Not the order itself, since a window does without.
            let bound = Order::bound(graph, self.doubles());
            let needs = |config: &EngineConfig| self.needs(graph, config, &bound);
            if let Ok(engine) = engine_for(graph, config.clone(), needs) {
                return match engine.install(|| window::count(self, &engine))? {
                    Some(counted) => Ok((counted, Run::of(&engine))),
                    None => self.sweep(&engine, Order::new(graph, self.doubles())?),
                };
            }
        }
        let order = Order::new(graph, self.doubles())?;
        let engine = engine_for(graph, config, |config| self.needs(graph, config, &order))?;
        self.sweep(&engine, order)
    }

    /// Counts the triangles chunk by chunk.
    fn sweep(&self, engine: &Engine, order: Order) -> Result<(Counted, Run)> {
        let counted = engine.install(|| {
            let mut sweeps = Sweeps::new(self, engine, &order)?;
            sweeps.run()?;
            sweeps.finish(self.at != At::Nowhere)
        })?;
        let counted = Counted { ranks: order.ranks, ..counted };
        Ok((counted, Run::of(engine)))
    }
}

/// Memory for lists saves whole passes; cached pages save only parts of them.
fn without_cache(config: EngineConfig) -> EngineConfig {
    let cache_bytes = config.cache_bytes.or(Some(0));
    config.cache_bytes(cache_bytes)
}

/// The state between chunks.
struct Sweeps<'e> {
    engine: &'e Engine,
    loader: Loader<'e>,
    workers: Workers,
    hubs: Hubs,
    chunk: Arena,
    /// Places of the lists in `chunk`, by rank.
    places: HugeVec<AtomicU32>,
    counts: HugeVec<AtomicU64>,
    chunks: u64,
}

impl<'e> Sweeps<'e> {
    fn new(job: &Job, engine: &'e Engine, order: &'e Order) -> Result<Self> {
        let (graph, threads) = (engine.graph(), engine.config().threads);
        let n = graph.vertices();
        let division = job.divide(graph, order, threads, engine.memory().scratch_bytes);
        let shape = job.shape(order);
        let parts = match division.single {
            true => None,
            false => Some(Parts::new(graph, division.hubs)?),
        };
        Ok(Self {
            engine,
            loader: Loader::new(engine, order, shape, division.targets, parts)?,
            workers: Workers::new(n, job.at, threads),
            hubs: Hubs::new(division.hubs, job.doubles()),
            chunk: Arena::new(shape, division.chunk)?,
            places: HugeVec::zeroed(n)?,
            counts: HugeVec::zeroed(if job.at == At::Nowhere { 0 } else { n })?,
            chunks: 0,
        })
    }

    /// One sweep per chunk: its lists are loaded and kept, then all others pass it.
    fn run(&mut self) -> Result<()> {
        let pages = pages(self.engine.graph(), Direction::Out);
        let mut from = 0;
        while from < pages {
            self.chunks += 1;
            let to = self.load_chunk(from..pages)?;
            if self.loader.is_first {
                self.hubs.fill(&self.chunk);
            }
            self.count(from..to)?;
            self.loader.is_first = false;
            from = to;
        }
        Ok(())
    }

    /// Loads the next chunk; returns the page where the one after it starts.
    fn load_chunk(&mut self, pages: Range<u64>) -> Result<u64> {
        self.chunk.clear();
        fill(&self.places, NOWHERE);
        let label = format!("chunk {}", self.chunks);
        let from = pages.start;
        let to = self.loader.fill(&label, pages, &mut self.chunk, &self.places)?;
        assert!(to > from, "an arena holds the lists of any page");
        Ok(to)
    }

    /// Counts the triangles whose middle vertex is in the chunk, which has the lists of `pages`,
    /// and once those whose middle vertex is a hub.
    fn count(&mut self, pages: Range<u64>) -> Result<()> {
        let Self { loader, workers, hubs, chunk, places, counts, chunks, .. } = self;
        let is_all = pages == (0..out_lists(self.engine.graph()).pages());
        let hub_count = hubs.count();
        // Rows are complete when every list has passed the first chunk.
        let (rows, incomplete) = match *chunks {
            1 if !is_all => (None, Some(Mutex::new(hubs))),
            1 | 2 => (Some(&*hubs), None),
            _ => (None, None),
        };
        let view = View { chunk, places, hubs: hub_count, rows, counts };
        workers.count(self.engine, chunk, &view)?;
        if !is_all {
            let passed = Passed { pages, view: &view, workers, rows: incomplete };
            loader.pass(&format!("past chunk {chunks}"), &passed)?;
        }
        Ok(())
    }

    fn finish(self, has_counts: bool) -> Result<Counted> {
        let triangles = self.workers.finish(&self.counts);
        Ok(Counted {
            triangles,
            wedges: wedges(&self.loader.degrees),
            chunks: self.chunks,
            ranks: HugeVec::zeroed(0)?,
            degrees: self.loader.degrees,
            counts: self.counts,
            has_counts,
        })
    }
}
