//! Parallel pseudo-DFS.
//!
//! **Returns** which vertices can be reached from the source, and whether each target can. With
//! targets the search ends as soon as all are reached; what else it had seen by then depends on
//! which page arrived first and is not reported.
//!
//! **Source.** The CAVE paper, section 4.7 and Algorithm 6; unordered DFS with stack splitting:
//! Acar, Chargueraud and Rainey, SC 2015.
//!
//! **Trick.** The order is free, so a page that has come is for all vertices that wait for it,
//! whichever stack they are on, and what it leaves is kept in memory: a page is read once as a
//! rule. Strategy `vertex` is the paper's way: each stack fetches one page of one vertex at a time.
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

/// What is searched for.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PseudoDfsConfig {
    /// Where the search starts; the vertex of largest degree where it is not set.
    pub source: Option<VertexId>,
    /// The search ends when all of these are reached; where none is given, when nothing is left.
    pub targets: Vec<VertexId>,
    /// When stacks are split, and how many there may be.
    pub asynchronous: AsynchronousConfig,
}

impl PseudoDfsConfig {
    setters! { source: Option<VertexId>, targets: Vec<VertexId>, asynchronous: AsynchronousConfig }
}

/// A finished search.
#[derive(Debug)]
#[non_exhaustive]
pub struct PseudoDfs {
    /// Where it started.
    pub source: VertexId,
    visited: Bitmap,
    /// Whether all targets were reached, and the search ended there.
    pub ended_early: bool,
    /// What the run did.
    pub run: Run,
}

impl PseudoDfs {
    /// Whether `v` was reached: of a search that ended early only to be asked of its targets.
    pub fn is_reached(&self, v: VertexId) -> bool {
        self.visited.contains(v)
    }

    /// Vertices that can be reached, the source among them; `None` where the search ended early.
    pub fn reached(&self) -> Option<u64> {
        (!self.ended_early).then(|| self.visited.count())
    }
}

/// Memory: two bits a vertex and 17 bytes a page, or 4 bytes a vertex with strategy `vertex`. With
/// `auto` what the budget has left goes to what pages leave, up to all lists.
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

/// Residual lists go before cached pages: they are the part of pages that may become active again.
pub(crate) fn with_room(
    graph: &Graph,
    mut config: EngineConfig,
    needs: &Needs,
) -> Result<EngineConfig> {
    if config.strategy == Strategy::Auto {
        let (_, memory) = Engine::plan(graph, &config, needs)?;
        let left = memory.scratch_bytes + memory.cache_bytes;
        let cache = left.saturating_sub(needs.scratch_bytes);
        config.cache_bytes = Some(config.cache_bytes.map_or(cache, |asked| asked.min(cache)));
    }
    Ok(config)
}

/// What a run will need.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    let needs = needs(graph, config);
    let config = &with_room(graph, config.clone(), &needs)?;
    let plan = Engine::plan(graph, config, &needs)?;
    let all = pages(graph, Direction::Out);
    let missing = 1.0 - kept(graph, &plan.1, all);
    let (all, single) = (all as f64, graph.vertices() as f64 * missing);
    // Pages leave few lists behind that were not active yet: a fourteenth of all on Kronecker
    // graphs and on the grid, half of them on the web graph. The pages themselves are not kept.
    let by_leftovers = || Reads::between(1.0, 1.05 * all, 1.3 * all).filling(0.0, 0.1).uncached();
    let (reads, because) = match config.strategy {
        Strategy::Auto => (by_leftovers(), "the pages of all reachable vertices, about once"),
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

/// Searches.
///
/// # Errors
/// A source or target that is not a vertex; whatever keeps the engine from running.
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

/// The vertices reached from `source` until all targets are, or nothing is left.
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

/// Each vertex that comes pushes its unvisited neighbours.
struct Visit<'a> {
    visited: &'a Bitmap,
    targets: &'a [VertexId],
}

impl Kernel for Visit<'_> {
    /// Targets that are known to be reached: the first so many.
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

/// Asserts, by a serial search over the whole graph in memory (4 bytes an entry): each target is
/// reached where it can be; where the search did not end early, exactly those vertices are reached
/// that can be; where it did, no others.
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
