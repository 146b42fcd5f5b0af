//! Core numbers.
//!
//! **Returns** for every vertex its core number: the largest k such that the vertex is in the
//! k-core, the largest subgraph in which every vertex has at least k neighbours. Edges count in
//! both directions: an edge is a neighbour at both its ends, two edges between the same vertices
//! (also one each way, on a directed graph) are two neighbours, self-loops are none.
//!
//! **Source.** Batagelj and Zaveršnik, "An O(m) algorithm for cores decomposition of networks",
//! 2003, for lists in memory; for others bounds as by Montresor et al. (2013), used from the inner
//! cores outward as by Cheng et al. (EMcore, ICDE 2011).
//!
//! **Trick.** Three ways, each by passes over pages and not by rounds over the graph's depth:
//! - [`load`]: what remains fits in memory: one pass loads it, and it is peeled there ([`peel`])
//! - [`inner`], with hubs, unless edges lead nearby: the lists of the innermost vertices, as many
//!   as fit, are peeled; then the next
//! - [`outer`]: trees by counting, then shell after shell by pages, until what remains fits
//!
//! With less memory, bounds lie in a file, in bands of vertices: [`bands`].

mod bands;
mod bounds;
mod inner;
mod load;
mod outer;
mod peel;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    Bitmap, Engine, EngineConfig, Graph, Needs, StateArray, Strategy, VertexId, setters,
};

use crate::estimate::{Estimate, Reads, engine_for, plan_for};
use crate::kind::has_hubs;
use crate::near::leads_nearby;
use crate::neighbourhood::{self, directions};
use crate::report::{AlgoError, Result, Run, demand_in_edges, graph_pages};
use crate::worklist::for_steps;
use bounds::{Bounds, bound_max, entries};
use inner::Histogram;
use outer::{Lists, Outer};
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
    cores: StateArray<u32>,
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

    /// Gives the memory of core numbers in a state file back, until they are used again.
    pub fn release(&self) {
        self.cores.release();
    }

    fn with(
        cores: StateArray<u32>,
        k: Option<u32>,
        shells: Vec<(u32, u64)>,
        rounds: u64,
        run: Run,
    ) -> Self {
        let degeneracy = shells.last().map_or(0, |&(core, _)| core);
        Self { cores, k, degeneracy, shells, rounds, run }
    }

    /// Vertices whose core number is `k` or more.
    pub fn members(&self, k: u32) -> u64 {
        self.shells.iter().filter(|&&(core, _)| core >= k).map(|&(_, vertices)| vertices).sum()
    }
}

/// Memory: 8 bytes a vertex for bounds and counts, sets, worklists of pages, and histograms;
/// optionally all lists.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    let (lists, scratch_bytes) = neighbourhood::bytes_for(graph, config);
    let histograms = (config.threads as u64 + 2) * Histogram::bytes_for(bound_max(graph));
    let state_bytes = Bounds::bytes_for(graph.vertices())
        .saturating_add(histograms + lists)
        .saturating_add(outer::bytes_for(graph));
    Needs { what: NAME, state_bytes, scratch_bytes: scratch_bytes + all_bytes(graph) }
}

/// Bytes of all lists in memory.
fn all_bytes(graph: &Graph) -> u64 {
    load::bytes_for(graph, graph.vertices() as u64, entries(graph))
}

/// Lists in memory are worth more than cached pages: of these `1 / CACHE_SHARE` is left where lists
/// do not fit, but are taken from the inner cores outward, and all where rounds visit few pages.
fn with_room(graph: &Graph, mut config: EngineConfig) -> Result<EngineConfig> {
    const CACHE_SHARE: u64 = 8;
    if config.strategy == Strategy::Auto {
        let needs = needs(graph, &config);
        let (_, memory) = plan_for(graph, &config, |config| self::needs(graph, config))?;
        let left = memory.scratch_bytes + memory.cache_bytes;
        let cache = match left.checked_sub(needs.scratch_bytes) {
            Some(cache) => cache,
            None if has_hubs(graph) => left / CACHE_SHARE,
            None if config.few_pages => left,
            None => return Ok(config),
        };
        config.cache_bytes = Some(config.cache_bytes.map_or(cache, |set| set.min(cache)));
    }
    Ok(config)
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig, kcore: &KcoreConfig) -> Result<Estimate> {
    demand_in_edges(graph, NAME)?;
    let config = &for_steps(graph, config.clone());
    if let Err(AlgoError::Engine(refused)) = plan_for(graph, config, |config| needs(graph, config))
    {
        let plan = bands::choose(graph, config, kcore, refused)?;
        return Ok(bands::estimate(plan, graph, kcore));
    }
    let config = &with_room(graph, config.clone())?;
    let plan = plan_for(graph, config, |config| needs(graph, config))?;
    let pass = graph_pages(graph) as f64;
    if room_bytes(graph, config, plan.1.scratch_bytes) >= all_bytes(graph) {
        let because = "one pass over the pages: all lists fit in memory";
        let reads = neighbourhood::using(graph, config, &plan.1, Reads::about(pass));
        return Ok(Estimate::new(graph, plan, reads, because));
    }
    // As measured on Kronecker and social graphs. With a small k few lists are left.
    let room_bytes = room_bytes(graph, config, plan.1.scratch_bytes);
    let (passes, because) = if takes_inner_cores(graph, room_bytes) {
        let parts = all_bytes(graph) as f64 / room_bytes as f64;
        (
            2.0 + parts / 2.0,
            "two passes, and one for every two parts of the lists that fit in memory; if edges \
             lead nearby in the file, pages again for each core",
        )
    } else {
        let passes = if has_hubs(graph) { OUTER_PASSES } else { OUTER_PASSES_WITHOUT_HUBS };
        (passes, "pages are read again for each core that has lists in them")
    };
    let because = format!("{because}; many more if cores are chains");
    let passes = if kcore.k.is_some_and(|k| k < 8) { passes.min(3.0) } else { passes };
    let missing = 1.0 - plan.1.cached_fraction(graph);
    let most = 4.0 * passes.max(OUTER_PASSES);
    let reads = Reads::between(pass, pass * (1.0 + (passes - 1.0) * missing), pass * most)
        .visiting(pass * passes);
    let reads = neighbourhood::using(graph, config, &plan.1, reads);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Memory for lists, of the optional memory that a run was given; the rest, at most a quarter, is
/// for [`neighbourhood`].
fn room_bytes(graph: &Graph, config: &EngineConfig, scratch_bytes: u64) -> u64 {
    scratch_bytes - neighbourhood::bytes_for(graph, config).1.min(scratch_bytes / 4)
}

/// Computes the core numbers.
///
/// # Errors
/// A directed graph without in-edges; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, kcore: &KcoreConfig) -> Result<Kcore> {
    demand_in_edges(graph, NAME)?;
    let config = for_steps(graph, config);
    if let Err(AlgoError::Engine(refused)) = plan_for(graph, &config, |config| needs(graph, config))
    {
        let plan = bands::choose(graph, &config, kcore, refused)?;
        return bands::run(graph, config, kcore, &plan);
    }
    let config = with_room(graph, config)?;
    let engine = engine_for(graph, config, |config| needs(graph, config))?;
    engine.install(|| {
        let (mut bounds, entries) = Bounds::of_degrees(graph, kcore.k, engine.config().threads)?;
        let lists = graph.vertices() as u64;
        let room_bytes = room_bytes(graph, engine.config(), engine.memory().scratch_bytes);
        let mut search = Search { engine: &engine, bounds: &mut bounds, room_bytes, rounds: 0 };
        search.run(Lists { lists, entries })?;
        let rounds = search.rounds;
        let shells = bounds.shells(graph.deleted().len() as u64);
        let cores = bounds.of.into_plain().into();
        Ok(Kcore::with(cores, kcore.k, shells, rounds, Run::of(&engine)))
    })
}

/// A graph of at most this many entries per vertex may be deep: trees are removed first.
const SPARSE_ENTRIES: u64 = 8;

/// Inner cores are taken from a graph with hubs if memory holds `1 / INNER_PASSES` of all lists:
/// the other way reads Kronecker graphs about as often. Without hubs most vertices are in the
/// innermost cores, and passes over lists that do not fit are in vain.
const INNER_PASSES: u64 = 24;

/// Passes within which inner cores must take an eighth of the entries. The first ones may not: with
/// the degrees as bounds, too many vertices seem to be innermost. Nor may those that meet more
/// vertices of one bound than fit in memory, until enough of these bounds have fallen.
const POOR_PASSES: u32 = 6;

/// Whether inner cores are taken where not all lists fit. If edges lead nearby, which only a look
/// at pages says, they are not: shells then take few pages each.
fn takes_inner_cores(graph: &Graph, room_bytes: u64) -> bool {
    has_hubs(graph) && all_bytes(graph) <= INNER_PASSES.saturating_mul(room_bytes)
}

/// What core by core reads of graphs whose lists do not fit in memory, in passes.
const OUTER_PASSES: f64 = 30.0;

/// The same for graphs without hubs: 9 to 11 on a uniform graph, 8 to 13 on a grid.
const OUTER_PASSES_WITHOUT_HUBS: f64 = 10.0;

/// The way from the first bounds to the core numbers.
struct Search<'a> {
    engine: &'a Engine,
    bounds: &'a mut Bounds,
    /// Memory for lists.
    room_bytes: u64,
    rounds: u64,
}

impl Search<'_> {
    fn run(&mut self, all: Lists) -> Result<()> {
        if all.entries == 0 || self.bounds.most == 0 {
            return Ok(());
        }
        if self.fits(all) {
            return self.load();
        }
        let is_sparse = all.entries <= SPARSE_ENTRIES * all.lists;
        let takes_inner =
            takes_inner_cores(self.engine.graph(), self.room_bytes) && !leads_nearby(self.engine)?;
        let mut remaining = None;
        if is_sparse || !takes_inner {
            remaining = self.trees()?;
            if remaining.is_none() {
                return Ok(());
            }
        }
        if takes_inner {
            if self.inner()? {
                return Ok(());
            }
            // Those whose core numbers were found are left out too.
            remaining = self.trees()?;
        }
        remaining.map_or(Ok(()), |remaining| self.outer(remaining))
    }

    /// Removes trees; returns what remains if it does not fit in memory.
    fn trees(&mut self) -> Result<Option<Lists>> {
        self.rounds += 1;
        let remaining = outer::trees(self.engine, self.bounds)?;
        if self.bounds.ceiling <= self.bounds.lowest + 1 {
            return Ok(None);
        }
        if self.fits(remaining) {
            self.load()?;
            return Ok(None);
        }
        Ok(Some(remaining))
    }

    fn fits(&self, remaining: Lists) -> bool {
        fits(self.engine.graph(), self.room_bytes, remaining)
    }

    fn load(&mut self) -> Result<()> {
        self.rounds += 1;
        load::finish(self.engine, self.bounds, self.room_bytes)
    }

    /// Finds core numbers from the innermost outward; false if it would take too many passes.
    fn inner(&mut self) -> Result<bool> {
        let (mut open, mut poor) = (u64::MAX, 0);
        while poor < POOR_PASSES {
            self.rounds += 1;
            let label = format!("inner cores {}", self.rounds);
            let left = inner::pass(self.engine, &label, self.bounds, self.room_bytes)?;
            if self.bounds.is_finished() {
                return Ok(true);
            }
            poor += 1;
            if left <= open / 8 * 7 {
                (open, poor) = (left, 0);
            }
        }
        Ok(false)
    }

    /// Finds core numbers from the outermost inward.
    fn outer(&mut self, remaining: Lists) -> Result<()> {
        let graph = self.engine.graph();
        let n = graph.vertices();
        let active = directions(graph.is_directed()).iter().map(|_| Bitmap::new(n));
        let active = active.collect::<std::result::Result<Vec<_>, _>>()?;
        let mut outer = Outer::new(self.engine, self.bounds, remaining, &active)?;
        let level = outer.run(|remaining| fits(graph, self.room_bytes, remaining))?;
        self.rounds += outer.rounds;
        match level {
            Some(level) => {
                self.bounds.lowest = level + 1;
                self.load()
            }
            None => Ok(()),
        }
    }
}

fn fits(graph: &Graph, room_bytes: u64, remaining: Lists) -> bool {
    load::bytes_for(graph, remaining.lists, remaining.entries) <= room_bytes
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
