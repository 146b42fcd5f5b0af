//! Reachability: can each target be reached from the source?
//!
//! **Returns** yes or no for each target; `bfs` finds distances.
//!
//! **Source.** Bidirectional search, Pohl 1971.
//!
//! **Trick.** With in-lists the search runs forward from the source and backward from the target,
//! each time on the side with fewer active pages, until the sides meet or one is exhausted: on
//! social networks after some thousand pages instead of nearly all. Levels do not matter, so a page
//! is searched until nothing new is found on it ([`Worklist`]): a path costs a visit a page.
//! Vertices reached forward stay known for the next target; so do vertices that lead only to
//! unreachable targets.
//! Without in-lists one pseudo-DFS ([`pseudo::search`]) looks for all targets at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_engine::{
    AsynchronousConfig, Bitmap, Direction, Engine, EngineConfig, Graph, NamedPages, Needs,
    PageTask, VertexId, setters,
};

use crate::dfs::pseudo;
use crate::estimate::{Estimate, Reads};
use crate::plain::Lists;
use crate::ranks::default_source;
use crate::report::{AlgoError, Result, Run, check_vertices, graph_pages, pages};
use crate::worklist::{Follow, Following, IDLE, Worklist};

const NAME: &str = "reach";

/// Parameters of a reachability search.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReachConfig {
    /// The source; unset: the vertex of largest degree.
    pub source: Option<VertexId>,
    /// The targets, at least one.
    pub targets: Vec<VertexId>,
}

impl ReachConfig {
    setters! { source: Option<VertexId>, targets: Vec<VertexId> }
}

/// The result of a reachability search.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reach {
    /// The source.
    pub source: VertexId,
    /// For each target, in the given order, whether it can be reached.
    pub reachable: Vec<bool>,
    /// Whether the search also ran backward from targets.
    pub bidirectional: bool,
    /// Statistics of the run.
    pub run: Run,
}

fn is_bidirectional(graph: &Graph) -> bool {
    graph.adjacency(Direction::In).is_some()
}

/// Memory: five sets and two worklists of pages with in-lists, otherwise that of pseudo-DFS.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    if !is_bidirectional(graph) {
        return Needs { what: NAME, ..pseudo::needs(graph, config) };
    }
    let n = graph.vertices();
    let worklist = |direction| Worklist::bytes_for(pages(graph, direction));
    let state_bytes = (5 * Bitmap::bytes_for(n))
        .saturating_add(worklist(Direction::Out))
        .saturating_add(worklist(Direction::In));
    Needs { what: NAME, state_bytes, scratch_bytes: 0 }
}

/// Estimates the memory and, at most, the reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    if !is_bidirectional(graph) {
        return pseudo::estimate(graph, config);
    }
    let plan = Engine::plan(graph, config, &needs(graph, config))?;
    let (once, all) = (pages(graph, Direction::Out) as f64, graph_pages(graph) as f64);
    let because = "at most about every page once; far less if a path is found";
    Ok(Estimate::new(graph, plan, Reads::between(0.0, once, all), because))
}

/// Runs the search.
///
/// # Errors
/// A source or target that is not a vertex; no target; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, reach: &ReachConfig) -> Result<Reach> {
    let source = reach.source.map_or_else(|| default_source(graph), Ok)?;
    check_vertices(graph, "source", &[source])?;
    check_vertices(graph, "target", &reach.targets)?;
    if reach.targets.is_empty() {
        return Err(AlgoError::Parameter {
            parameter: "target",
            given: "missing".to_owned(),
            expected: "name at least one vertex".to_owned(),
        });
    }
    let needs = needs(graph, &config);
    let bidirectional = is_bidirectional(graph);
    let config = if bidirectional { config } else { pseudo::with_room(graph, config, &needs)? };
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    let reachable = engine.install(|| match bidirectional {
        true => {
            let n = graph.vertices();
            let active = [Bitmap::new(n)?, Bitmap::new(n)?];
            Search::new(&engine, source, &active)?.all(&reach.targets)
        }
        false => {
            let found =
                pseudo::search(&engine, source, &reach.targets, AsynchronousConfig::default())?;
            Ok(reach.targets.iter().map(|&target| found.contains(target)).collect())
        }
    })?;
    Ok(Reach { source, reachable, bidirectional, run: Run::of(&engine) })
}

/// One direction of the search.
struct Side<'e> {
    direction: Direction,
    visited: Bitmap,
    /// The lists of visited vertices that are still to be followed.
    worklist: Worklist<'e>,
}

impl<'e> Side<'e> {
    /// `active` is an empty set over the vertices.
    fn new(engine: &'e Engine, direction: Direction, active: &'e Bitmap) -> Result<Self> {
        let adjacency = engine.graph().adjacency(direction).expect("both have lists");
        let visited = Bitmap::new(engine.graph().vertices())?;
        Ok(Self { direction, visited, worklist: Worklist::new(adjacency, active)? })
    }

    fn start(&mut self, v: VertexId) {
        self.visited.clear();
        self.visited.insert(v);
        self.worklist.clear();
        self.worklist.activate(v, 0);
    }

    fn pages(&self) -> Vec<PageTask> {
        self.worklist.up_to(IDLE)
    }

    /// Visits these pages; returns whether it met `other`.
    fn step(&self, engine: &Engine, pages: &[PageTask], other: &Bitmap) -> Result<bool> {
        let label = match self.direction {
            Direction::Out => "forward",
            Direction::In => "backward",
        };
        let search = Expand { visited: &self.visited, other, met: AtomicBool::new(false) };
        let kernel = Following { worklist: &self.worklist, search: &search };
        engine.visit_pages(label, self.direction, NamedPages::of_step(pages), &kernel)?;
        Ok(search.met.into_inner())
    }
}

/// The searches for one target after another.
struct Search<'e> {
    engine: &'e Engine,
    forward: Side<'e>,
    backward: Side<'e>,
    /// Vertices known to be unreachable: those from which an unreachable target can be reached.
    unreachable: Bitmap,
}

impl<'e> Search<'e> {
    fn new(engine: &'e Engine, source: VertexId, active: &'e [Bitmap; 2]) -> Result<Self> {
        let [forward, backward] = active;
        let mut forward = Side::new(engine, Direction::Out, forward)?;
        forward.start(source);
        let backward = Side::new(engine, Direction::In, backward)?;
        let unreachable = Bitmap::new(engine.graph().vertices())?;
        Ok(Self { engine, forward, backward, unreachable })
    }

    fn all(mut self, targets: &[VertexId]) -> Result<Vec<bool>> {
        targets.iter().map(|&target| self.is_reachable(target)).collect()
    }

    fn is_reachable(&mut self, target: VertexId) -> Result<bool> {
        if self.forward.visited.contains(target) {
            return Ok(true);
        }
        if self.unreachable.contains(target) {
            return Ok(false);
        }
        self.backward.start(target);
        loop {
            let (forward, backward) = (self.forward.pages(), self.backward.pages());
            if forward.is_empty() || backward.is_empty() {
                break;
            }
            let met = if forward.len() <= backward.len() {
                self.forward.step(self.engine, &forward, &self.backward.visited)?
            } else {
                self.backward.step(self.engine, &backward, &self.forward.visited)?
            };
            if met {
                return Ok(true);
            }
        }
        self.unreachable.merge(&self.backward.visited);
        Ok(false)
    }
}

/// Marks the unvisited neighbours of active vertices, and sets `met` if the other side had one.
struct Expand<'a> {
    visited: &'a Bitmap,
    other: &'a Bitmap,
    met: AtomicBool,
}

impl Follow for Expand<'_> {
    #[inline(always)]
    fn edge(&self, _: VertexId, target: VertexId) -> Option<VertexId> {
        if self.visited.contains(target) || !self.visited.insert(target) {
            return None;
        }
        if self.other.contains(target) {
            self.met.store(true, Ordering::Relaxed);
        }
        Some(target)
    }
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Asserts each answer, by a serial search over the whole graph in memory (4 bytes an entry).
pub fn verify(graph: &Graph, config: &ReachConfig, reach: &Reach) -> Result<()> {
    let reachable = Lists::outward(graph)?.reachable_from(reach.source);
    for (&target, &answer) in config.targets.iter().zip(&reach.reachable) {
        if answer != reachable[target as usize] {
            let fault = format!("vertex {target} is said to be reachable: {answer}");
            return Err(AlgoError::Wrong { what: NAME, fault });
        }
    }
    Ok(())
}
