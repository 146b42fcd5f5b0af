//! Parallel pseudo-DFS.
//!
//! **Returns** which vertices can be reached from the source, or whether each target can. With
//! targets the search ends as soon as all are reached; which other vertices it has reached by then
//! depends on which page arrived first and is not reported.
//!
//! **Source.** The CAVE paper, section 4.7 and Algorithm 6; unordered DFS with stack splitting:
//! Acar, Chargueraud and Rainey, SC 2015.
//!
//! **Trick.** The order is free, so a page that has arrived is processed for all its active
//! vertices, whichever stack they are on, and its residual lists stay in memory: a page is usually
//! read once. Strategy `vertex` follows the paper: each stack fetches one page of one vertex at a
//! time.
//!
//! Steps: [`Engine::visit_asynchronously`] with [`Visit`].

use std::sync::Arc;

use cenote_engine::{
    AsynchronousConfig, Bitmap, Direction, Engine, EngineConfig, Graph, Kernel, List, Needs,
    Strategy, VertexId, setters,
};

use super::{PAGE_BY_PAGE, checked_source, page_by_page};
use crate::estimate::{Estimate, Reads, kept};
use crate::plain::Lists;
use crate::report::{AlgoError, Result, Run, pages};

const NAME: &str = "dfs";

/// Parameters of a pseudo-DFS.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PseudoDfsConfig {
    /// The source; unset: the vertex of largest degree.
    pub source: Option<VertexId>,
    /// The search ends when all of these are reached; empty: when no vertex is left.
    pub targets: Vec<VertexId>,
    /// When stacks are split, and the most stacks.
    pub asynchronous: AsynchronousConfig,
}

impl PseudoDfsConfig {
    setters! { source: Option<VertexId>, targets: Vec<VertexId>, asynchronous: AsynchronousConfig }
}

/// The result of a pseudo-DFS.
#[derive(Debug)]
#[non_exhaustive]
pub struct PseudoDfs {
    /// The source.
    pub source: VertexId,
    visited: Bitmap,
    /// Whether the search ended because all targets were reached.
    pub ended_early: bool,
    /// Statistics of the run.
    pub run: Run,
}

impl PseudoDfs {
    /// Whether `v` was reached; if the search ended early, only meaningful for its targets.
    pub fn is_reached(&self, v: VertexId) -> bool {
        self.visited.contains(v)
    }

    /// Vertices that can be reached, including the source; `None` if the search ended early.
    pub fn reached(&self) -> Option<u64> {
        (!self.ended_early).then(|| self.visited.count())
    }
}

/// Memory: two bits a vertex and 17 bytes a page, or 4 bytes a vertex with strategy `vertex`. With
/// `auto` the remaining budget is used for residual lists.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    let n = graph.vertices();
    let asynchronous_bytes = Engine::asynchronous_bytes(graph, config.strategy, Direction::Out);
    let is_auto = config.strategy == Strategy::Auto;
    let lists_bytes = Engine::residual_bytes(graph, Direction::Out);
    Needs {
        what: NAME,
        state_bytes: Bitmap::bytes_for(n) + asynchronous_bytes,
        scratch_bytes: if is_auto { lists_bytes } else { 0 },
    }
}

/// Gives memory to residual lists before cached pages: only they may become active again.
pub(crate) fn with_room(
    graph: &Graph,
    mut config: EngineConfig,
    needs: &Needs,
) -> Result<EngineConfig> {
    if config.strategy == Strategy::Auto {
        let (_, memory) = Engine::plan(graph, &config, needs)?;
        let left = memory.scratch_bytes + memory.cache_bytes;
        let cache = left.saturating_sub(needs.scratch_bytes);
        config.cache_bytes = Some(config.cache_bytes.map_or(cache, |set| set.min(cache)));
    }
    Ok(config)
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    let needs = needs(graph, config);
    let config = &with_room(graph, config.clone(), &needs)?;
    let plan = Engine::plan(graph, config, &needs)?;
    let all = pages(graph, Direction::Out);
    let missing = 1.0 - kept(graph, &plan.1, all);
    let (all, single) = (all as f64, graph.vertices() as f64 * missing);
    // Residual lists are a fourteenth of all on Kronecker graphs and on the grid, half of them on
    // the web graph. The pages themselves are not kept.
    let by_residual = || Reads::between(1.0, 1.05 * all, 1.3 * all).filling(0.0, 0.1).uncached();
    let (reads, because) = match config.strategy {
        Strategy::Auto => (by_residual(), "the pages of all reachable vertices, about once"),
        Strategy::Block if missing == 0.0 => {
            (Reads::between(1.0, all, all), "every page once: all stay in memory")
        }
        Strategy::Block => (
            Reads::between(1.0, all * (1.0 + 1.15 * missing), all + single),
            "the pages of all reachable vertices, twice, less what stays in memory",
        ),
        Strategy::Vertex => (page_by_page(graph, missing), PAGE_BY_PAGE),
    };
    Ok(Estimate::new(graph, plan, reads.by(config.strategy), because))
}

/// Runs the search.
///
/// # Errors
/// A source or target that is not a vertex; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, dfs: &PseudoDfsConfig) -> Result<PseudoDfs> {
    let source = checked_source(graph, dfs.source, &dfs.targets)?;
    let needs = needs(graph, &config);
    let config = with_room(graph, config, &needs)?;
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let visited = search(&engine, source, &dfs.targets, dfs.asynchronous)?;
        let ended_early =
            !dfs.targets.is_empty() && dfs.targets.iter().all(|&v| visited.contains(v));
        Ok(PseudoDfs { source, visited, ended_early, run: Run::of(&engine) })
    })
}

/// The vertices reached from `source` until all targets are, or no vertex is left.
pub(crate) fn search(
    engine: &Engine,
    source: VertexId,
    targets: &[VertexId],
    asynchronous: AsynchronousConfig,
) -> Result<Bitmap> {
    let visited = Bitmap::new(engine.graph().vertices())?;
    visited.insert(source);
    let visit = Visit { visited: &visited, targets };
    if !visit.is_done(&mut 0) {
        engine.visit_asynchronously(
            "pseudo-DFS",
            Direction::Out,
            &[source],
            asynchronous,
            &visit,
        )?;
    }
    Ok(visited)
}

/// Adds the unvisited neighbours of each visited vertex.
struct Visit<'a> {
    visited: &'a Bitmap,
    targets: &'a [VertexId],
}

impl Kernel for Visit<'_> {
    /// How many targets, from the first on, are known to be reached.
    type Local = usize;

    fn local(&self) -> usize {
        0
    }

    fn expand(&self, _: &mut usize, list: &List<'_>, next: &mut Vec<VertexId>) {
        for &target in list.targets {
            if !self.visited.contains(target) && self.visited.insert(target) {
                next.push(target);
            }
        }
    }

    fn may_become_active(&self, v: VertexId) -> bool {
        !self.visited.contains(v)
    }

    fn is_done(&self, reached: &mut usize) -> bool {
        let is_visited = |&v: &VertexId| self.visited.contains(v);
        while self.targets.get(*reached).is_some_and(is_visited) {
            *reached += 1;
        }
        !self.targets.is_empty() && *reached == self.targets.len()
    }
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Asserts, by a serial search over the whole graph in memory (4 bytes an entry), that exactly the
/// reachable vertices are reached; if the search ended early, all targets and no unreachable
/// vertex.
pub fn verify(graph: &Graph, config: &PseudoDfsConfig, dfs: &PseudoDfs) -> Result<()> {
    let reachable = Lists::outward(graph)?.reachable_from(dfs.source);
    let all = config.targets.iter().all(|&v| reachable[v as usize]);
    if dfs.ended_early != (all && !config.targets.is_empty()) {
        return Err(wrong(format!(
            "it ended early: {}, targets reachable: {all}",
            dfs.ended_early
        )));
    }
    let mut targets = config.targets.clone();
    targets.sort_unstable();
    for (v, reachable) in (0..).zip(reachable) {
        let must = !dfs.ended_early || targets.binary_search(&v).is_ok();
        if dfs.is_reached(v) && !reachable || must && reachable && !dfs.is_reached(v) {
            return Err(wrong(format!("vertex {v} is reachable: {reachable}")));
        }
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
