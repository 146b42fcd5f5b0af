//! Reachability: can each target be reached from the source?
//!
//! **Returns** yes or no for each target; `bfs` finds distances.
//!
//! **Source.** Bidirectional search, Pohl 1971.
//!
//! **Trick.** With in-lists the search runs forward from the source and backward from the target,
//! each time one level on the side whose frontier has fewer pages, until the sides meet or one is
//! exhausted: on social networks after some thousand pages instead of nearly all. Vertices reached
//! forward stay known for the next target; so do vertices that lead only to unreachable targets.
//! Without in-lists one pseudo-DFS ([`pseudo::search`]) looks for all targets at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_engine::{
    ActiveSet, AsynchronousConfig, Bitmap, Direction, Engine, EngineConfig, Frontier, FrontierPart,
    Graph, Kernel, List, Needs, VertexId, setters,
};

use crate::dfs::pseudo;
use crate::estimate::{Estimate, Reads};
use crate::plain::Lists;
use crate::ranks::default_source;
use crate::report::{AlgoError, Result, Run, check_vertices, graph_pages, pages};

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

/// Memory: three sets and four frontiers with in-lists, otherwise that of pseudo-DFS.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    if !is_bidirectional(graph) {
        return Needs { what: NAME, ..pseudo::needs(graph, config) };
    }
    let n = graph.vertices();
    let state_bytes = 3 * Bitmap::bytes_for(n) + 4 * Frontier::bytes_for(n, config.threads);
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
    check_vertices(graph, "--source", &[source])?;
    check_vertices(graph, "--target", &reach.targets)?;
    if reach.targets.is_empty() {
        return Err(AlgoError::Parameter {
            parameter: "--target",
            given: "missing".to_owned(),
            expected: "name at least one vertex".to_owned(),
        });
    }
    let needs = needs(graph, &config);
    let bidirectional = is_bidirectional(graph);
    let config = if bidirectional { config } else { pseudo::with_room(graph, config, &needs)? };
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    let reachable = engine.install(|| match bidirectional {
        true => Search::new(&engine, source)?.all(&reach.targets),
        false => {
            let found =
                pseudo::search(&engine, source, &reach.targets, AsynchronousConfig::default())?;
            Ok(reach.targets.iter().map(|&target| found.contains(target)).collect())
        }
    })?;
    Ok(Reach { source, reachable, bidirectional, run: Run::of(&engine) })
}

/// One direction of the search.
struct Side {
    direction: Direction,
    visited: Bitmap,
    frontier: Frontier,
    next: Frontier,
}

impl Side {
    fn new(n: usize, direction: Direction) -> Result<Self> {
        Ok(Self {
            direction,
            visited: Bitmap::new(n)?,
            frontier: Frontier::new(n)?,
            next: Frontier::new(n)?,
        })
    }

    fn start(&mut self, v: VertexId) {
        self.visited.clear();
        self.visited.insert(v);
        self.frontier.set([v]);
    }

    fn pages(&self, engine: &Engine) -> u64 {
        engine.active_pages(self.direction, &ActiveSet::In(&self.frontier))
    }

    /// Expands one level; returns whether it met `other`.
    fn step(&mut self, engine: &Engine, other: &Bitmap) -> Result<bool> {
        let met = AtomicBool::new(false);
        let (visited, next) = (&self.visited, &self.next);
        let label = match self.direction {
            Direction::Out => "forward",
            Direction::In => "backward",
        };
        let kernel = Expand { visited, next, other, met: &met };
        let parts = engine.visit(label, self.direction, ActiveSet::In(&self.frontier), &kernel)?;
        self.frontier.advance(&mut self.next, parts);
        Ok(met.into_inner())
    }
}

/// The searches for one target after another.
struct Search<'e> {
    engine: &'e Engine,
    forward: Side,
    backward: Side,
    /// Vertices known to be unreachable: those from which an unreachable target can be reached.
    unreachable: Bitmap,
}

impl<'e> Search<'e> {
    fn new(engine: &'e Engine, source: VertexId) -> Result<Self> {
        let n = engine.graph().vertices();
        let mut forward = Side::new(n, Direction::Out)?;
        forward.start(source);
        let backward = Side::new(n, Direction::In)?;
        Ok(Self { engine, forward, backward, unreachable: Bitmap::new(n)? })
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
        while !self.forward.frontier.is_empty() && !self.backward.frontier.is_empty() {
            let forward_pages = self.forward.pages(self.engine);
            let met = if forward_pages <= self.backward.pages(self.engine) {
                self.forward.step(self.engine, &self.backward.visited)?
            } else {
                self.backward.step(self.engine, &self.forward.visited)?
            };
            if met {
                return Ok(true);
            }
        }
        self.unreachable.merge(&self.backward.visited);
        Ok(false)
    }
}

/// Marks the unvisited neighbours of the frontier, and sets `met` if the other side had one.
struct Expand<'a> {
    visited: &'a Bitmap,
    next: &'a Frontier,
    other: &'a Bitmap,
    met: &'a AtomicBool,
}

impl Kernel for Expand<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        for &target in list.targets {
            if !self.visited.contains(target) && self.visited.insert(target) {
                self.next.add(target, part);
                if self.other.contains(target) {
                    self.met.store(true, Ordering::Relaxed);
                }
            }
        }
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
