//! Breadth-first search from one source or several.
//!
//! **Returns** for every vertex its level (least number of edges from the nearest source) and,
//! optionally, its parent: the in-neighbour on the level before with the smallest id. A source has
//! level 0 and is its own parent; an unreached vertex has neither. With targets the search ends on
//! the level of the last of them; vertices of further levels then count as unreached.
//!
//! **Source.** Top-down: the CAVE paper's Algorithm 2. Bottom-up: Beamer, Asanovic and Patterson,
//! SC 2012.
//!
//! **Trick.** A large frontier needs nearly all pages, so its step runs bottom-up: each unvisited
//! vertex looks for a neighbour in the frontier and stops at the first. The lists of the vertices
//! that stay unvisited are few and short; they are kept in memory ([`unvisited`]), and the search
//! ends without further reads. A directed graph needs in-edges for this. If the graph stores hub
//! neighbours they are tried first ([`hub_neighbours`]), which leaves hardly any lists to read.
//!
//! A search of many small levels also ends in memory ([`csr`]), or, if the lists do not fit, runs
//! without a barrier per level ([`asynchronous`]), along chains in memory ([`chains`]). Where edges
//! lead nearby (`near`) a search goes on so after six levels.
//!
//! With less memory, levels lie in a file: [`bands`].
//!
//! - [`search`]: the search, step after step; [`step`], [`hub_neighbours`]: one step
//! - [`unvisited`], [`csr`]: the residual graph in memory, after a bottom-up step and as a whole
//! - [`asynchronous`], [`chains`]: without a barrier per level
//! - [`verify`](mod@verify): a plain serial verifier

mod asynchronous;
mod bands;
mod chains;
mod csr;
mod hub_neighbours;
mod search;
mod step;
mod unvisited;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    Bitmap, Direction, Engine, EngineConfig, Frontier, Graph, Needs, StateArray, Strategy,
    VertexId, setters,
};

use crate::csr::is_worth_room;
use crate::estimate::{Estimate, Reads, kept};
use crate::ranks::{NO_PARENT, Parents, default_source, sort_by_id};
use crate::report::{AlgoError, Result, Run, check_vertices, pages};
use crate::worklist::{Worklist, for_steps};
pub(crate) use asynchronous::Asynchronous;
use asynchronous::Levels;
use chains::Chains;
use search::Search;
pub use verify::verify;

const NAME: &str = "bfs";

/// The level of a vertex that was not reached.
pub const UNREACHED: u32 = u32::MAX;

/// Parameters of breadth-first search.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BfsConfig {
    /// Sources; empty: the vertex of largest degree.
    pub sources: Vec<VertexId>,
    /// The search ends when all of these are reached; empty: when no vertex is left.
    pub targets: Vec<VertexId>,
    /// Whether to find parents (4 bytes a vertex).
    pub parents: bool,
}

impl BfsConfig {
    setters! { sources: Vec<VertexId>, targets: Vec<VertexId>, parents: bool }

    /// A full search from `source`.
    pub fn from(source: VertexId) -> Self {
        Self { sources: vec![source], ..Self::default() }
    }
}

/// The result of a breadth-first search.
#[derive(Debug)]
#[non_exhaustive]
pub struct Bfs {
    /// The sources, in the order of their ids.
    pub sources: Vec<VertexId>,
    /// Whether all targets were reached; further levels were then not searched.
    pub ended_early: bool,
    levels: StateArray<u32>,
    parents: Option<StateArray<VertexId>>,
    /// Vertices reached, including the sources.
    pub reached: u64,
    /// The largest level.
    pub depth: u32,
    /// Statistics of the run.
    pub run: Run,
}

impl Bfs {
    /// Level of `v`, if it was reached.
    pub fn level(&self, v: VertexId) -> Option<u32> {
        Some(self.levels[v as usize]).filter(|level| *level != UNREACHED)
    }

    /// The levels of all vertices, [`UNREACHED`] for those not reached.
    pub fn levels(&self) -> &[u32] {
        &self.levels
    }

    /// The parents of all vertices, [`NO_PARENT`] for those not reached; `None` without
    /// [`BfsConfig::parents`].
    pub fn parents(&self) -> Option<&[VertexId]> {
        self.parents.as_deref()
    }

    /// Parent of `v`, if it was reached; `None` without [`BfsConfig::parents`].
    pub fn parent(&self, v: VertexId) -> Option<VertexId> {
        Some(self.parents()?[v as usize]).filter(|parent| *parent != NO_PARENT)
    }

    /// The vertices from a source to `v`, by parents; `None` if `v` was not reached or without
    /// [`BfsConfig::parents`].
    pub fn path_to(&self, v: VertexId) -> Option<Vec<VertexId>> {
        let mut path = vec![v];
        let mut last = v;
        for _ in 0..self.level(v)? {
            last = self.parent(last)?;
            path.push(last);
        }
        path.reverse();
        self.has_parents().then_some(path)
    }

    /// Gives the memory of answers in a state file back, until they are used again.
    pub fn release(&self) {
        self.levels.release();
        self.parents.iter().for_each(StateArray::release);
    }

    /// Whether parents were found.
    pub fn has_parents(&self) -> bool {
        self.parents.is_some()
    }
}

/// Memory: 4 bytes a vertex for levels, 4 for parents (8 if the graph is not in the order of its
/// ids), 3 sets, with `auto` a worklist of pages, and on a graph of chains the end of one for
/// 256 vertices; optionally 16 bytes a vertex, and on a graph of few edges per vertex its lists.
pub fn needs(graph: &Graph, config: &EngineConfig, bfs: &BfsConfig) -> Needs {
    let n = graph.vertices();
    let parents = if bfs.parents { Parents::bytes_for(graph) } else { 0 };
    let settled =
        if asks_hub_neighbours(graph, config.strategy, bfs) { Bitmap::bytes_for(n) } else { 0 };
    let sets = Bitmap::bytes_for(n) + 2 * Frontier::bytes_for(n, config.threads) + settled;
    let kept_bytes = if keeps_unvisited(graph, config.strategy) { 16 * n as u64 } else { 0 };
    let csr_bytes = if loads_csr(graph, config.strategy) { csr::bytes_for(graph) } else { 0 };
    let scratch_bytes = kept_bytes.max(csr_bytes);
    let worklist = match config.strategy {
        Strategy::Auto => Worklist::bytes_for(pages(graph, Direction::Out))
            .saturating_add(Chains::bytes_for(graph)),
        Strategy::Block | Strategy::Vertex => 0,
    };
    let state_bytes = (4 * n as u64 + parents + sets).saturating_add(worklist);
    Needs { what: NAME, state_bytes, scratch_bytes }
}

fn keeps_unvisited(graph: &Graph, strategy: Strategy) -> bool {
    strategy == Strategy::Auto && graph.adjacency(Direction::In).is_some()
}

/// Not with parents: hub neighbours do not decide which possible parent is the smallest.
fn asks_hub_neighbours(graph: &Graph, strategy: Strategy, bfs: &BfsConfig) -> bool {
    strategy == Strategy::Auto && graph.superblock().has_hub_neighbours() && !bfs.parents
}

fn loads_csr(graph: &Graph, strategy: Strategy) -> bool {
    strategy == Strategy::Auto && is_worth_room(graph)
}

/// The cache gives memory to the lists of a graph of few edges per vertex, if they fit. If not, it
/// gets all where steps visit few pages.
fn with_room(graph: &Graph, mut config: EngineConfig, needs: &Needs) -> Result<EngineConfig> {
    if loads_csr(graph, config.strategy) {
        let (_, memory) = Engine::plan(graph, &config, needs)?;
        let left = memory.scratch_bytes + memory.cache_bytes;
        let cache = match left.checked_sub(needs.scratch_bytes) {
            Some(cache) => cache,
            None if config.few_pages => left,
            None => return Ok(config),
        };
        config.cache_bytes = Some(config.cache_bytes.map_or(cache, |set| set.min(cache)));
    }
    Ok(config)
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig, bfs: &BfsConfig) -> Result<Estimate> {
    let config = &for_steps(graph, config.clone());
    let needs = needs(graph, config, bfs);
    if let Err(refused) = Engine::plan(graph, config, &needs) {
        let plan = bands::choose(graph, config, bfs, refused)?;
        return Ok(bands::estimate(plan, graph, config, bfs));
    }
    let config = &with_room(graph, config.clone(), &needs)?;
    let plan = Engine::plan(graph, config, &needs)?;
    let all = pages(graph, Direction::Out);
    let missing = 1.0 - kept(graph, &plan.1, all);
    let (all, single) = (all as f64, graph.vertices() as f64 * missing);
    let (likely, at_most, because) = match config.strategy {
        Strategy::Auto if asks_hub_neighbours(graph, config.strategy, bfs) => {
            let hub_neighbours =
                graph.hub_neighbours().map_or(0, |hub_neighbours| hub_neighbours.pages()) as f64;
            let because = "the hub neighbours, and the pages of vertices that they do not lead to";
            (1.6 * hub_neighbours, 3.0 * all, because)
        }
        Strategy::Auto if graph.adjacency(Direction::In).is_none() && missing > 0.0 => {
            let because = "each level reads its pages again, about 1.6 times in all";
            (1.6 * all, 3.0 * all, because)
        }
        Strategy::Auto => {
            (all, 3.0 * all, "the pages of all reachable vertices, about once on a social graph")
        }
        _ => {
            let because = "each level reads its pages again: a page a vertex at most";
            (all * (1.0 + 0.8 * missing), all + single, because)
        }
    };
    let filled = if loads_csr(graph, config.strategy) { 1.0 } else { 0.5 };
    let reads = Reads::between(1.0, likely, at_most).filling(0.0, filled);
    Ok(Estimate::new(graph, plan, reads.by(config.strategy), because))
}

/// Runs the search.
///
/// # Errors
/// A source that is not a vertex; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, bfs: &BfsConfig) -> Result<Bfs> {
    let mut sources = bfs.sources.clone();
    if sources.is_empty() {
        sources.push(default_source(graph)?);
    }
    check_vertices(graph, "source", &sources)?;
    check_vertices(graph, "target", &bfs.targets)?;
    sort_by_id(graph, &mut sources)?;
    let config = for_steps(graph, config);
    let needs = needs(graph, &config, bfs);
    if let Err(refused) = Engine::plan(graph, &config, &needs) {
        let plan = bands::choose(graph, &config, bfs, refused)?;
        return bands::run(graph, config, (sources, bfs), &plan);
    }
    let config = with_room(graph, config, &needs)?;
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let mut search = Search::new(&engine, sources, bfs)?;
        search.run()?;
        search.finish()
    })
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
