//! Serial depth-first search in lexicographic order.
//!
//! **Returns** the search that always continues with the unvisited neighbour of the smallest id:
//! for each vertex its preorder number (from 0), its parent (the source is its own) and its
//! postorder number (from 0). With targets it ends with the visit of the last of them; vertices on
//! the current path then have no postorder number.
//!
//! **Source.** The classical search (Tarjan 1972). A stack in which a vertex that is pushed again
//! moves to the top is equivalent to the recursive search.
//!
//! **Trick.** The classical search returns to a vertex's list and would have to read its page each
//! time. Here a vertex pushes all its unvisited neighbours when it is visited, the smallest on top,
//! so each list is read once. The stack is a doubly linked list in two arrays, so a vertex that is
//! pushed again is unlinked first: at most one entry a vertex. There is no recursion.

use std::sync::Arc;

use cenote_engine::{
    Direction, Engine, EngineConfig, Graph, HugeVec, Needs, Strategy, VertexId, setters,
};

use super::{PAGE_BY_PAGE, checked_source, page_by_page};
use crate::estimate::{Estimate, kept};
use crate::plain::Lists;
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result, Run, pages};

const NAME: &str = "lexicographic dfs";
const NONE: u32 = u32::MAX;

/// Visits between two checks for cancellation.
const CANCEL_VISITS: u64 = 1 << 10;

/// Parameters of a lexicographic depth-first search.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LexicographicConfig {
    /// The source; unset: the vertex of largest degree.
    pub source: Option<VertexId>,
    /// The search ends when all of these are visited; empty: when no vertex is left.
    pub targets: Vec<VertexId>,
}

impl LexicographicConfig {
    setters! { source: Option<VertexId>, targets: Vec<VertexId> }
}

/// The result of a lexicographic depth-first search.
#[derive(Debug)]
#[non_exhaustive]
pub struct Lexicographic {
    /// The source.
    pub source: VertexId,
    order: HugeVec<u32>,
    parents: HugeVec<u32>,
    finish: HugeVec<u32>,
    /// Vertices visited, including the source.
    pub reached: u64,
    /// The depth of the search tree, in edges.
    pub depth: u64,
    /// Whether the search ended because all targets were visited.
    pub ended_early: bool,
    /// Statistics of the run.
    pub run: Run,
}

impl Lexicographic {
    /// The preorder numbers of all vertices, `u32::MAX` for those not visited.
    pub fn orders(&self) -> &[u32] {
        &self.order
    }

    /// The parents of all vertices, [`NO_PARENT`](crate::NO_PARENT) for those not visited.
    pub fn parents(&self) -> &[VertexId] {
        &self.parents
    }

    /// The postorder numbers of all vertices, `u32::MAX` for those without one.
    pub fn finishes(&self) -> &[u32] {
        &self.finish
    }

    /// Preorder number of `v`, if it was visited.
    pub fn order(&self, v: VertexId) -> Option<u32> {
        some(self.order[v as usize])
    }

    /// Parent of `v`, if it was visited.
    pub fn parent(&self, v: VertexId) -> Option<VertexId> {
        some(self.parents[v as usize])
    }

    /// Postorder number of `v`, if it has one.
    pub fn finish(&self, v: VertexId) -> Option<u32> {
        some(self.finish[v as usize])
    }
}

fn some(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

/// Memory: 20 bytes a vertex; if the graph is not in the order of its ids, 4 more and the longest
/// list.
pub fn needs(graph: &Graph) -> Needs {
    let ordered = Ranks::bytes_for(graph) + Ranks::list_bytes(graph);
    let state_bytes = 20 * graph.vertices() as u64 + ordered;
    Needs { what: NAME, state_bytes, scratch_bytes: 0 }
}

/// The search is serial and reads single pages in an order that cannot be planned.
fn serial(config: EngineConfig) -> EngineConfig {
    let strategy = match config.strategy {
        Strategy::Auto => Strategy::Block,
        other => other,
    };
    config.strategy(strategy).threads(1)
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    let plan = Engine::plan(graph, &serial(config.clone()), &needs(graph))?;
    let missing = 1.0 - kept(graph, &plan.1, pages(graph, Direction::Out));
    let schedule = plan.0.clone();
    let estimate = Estimate::new(graph, plan, page_by_page(graph, missing), PAGE_BY_PAGE);
    let requests = estimate.bytes_read / graph.page_bytes() as u64;
    let device_seconds = schedule.seconds_predicted(requests, estimate.bytes_read);
    Ok(Estimate { device_seconds, ..estimate })
}

/// Runs the search.
///
/// # Errors
/// A source or target that is not a vertex; any error of the engine.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    dfs: &LexicographicConfig,
) -> Result<Lexicographic> {
    let source = checked_source(graph, dfs.source, &dfs.targets)?;
    let engine = Engine::new(Arc::clone(graph), serial(config), &needs(graph))?;
    engine.install(|| {
        let mut search = Search::new(&engine, source, &dfs.targets)?;
        search.run()?;
        let Search { order, mut parents, finish, visits, depth_max, .. } = search;
        let ended_early =
            !dfs.targets.is_empty() && dfs.targets.iter().all(|&v| order[v as usize] != NONE);
        if ended_early {
            // Vertices on the stack have a parent although they were not visited.
            let parents = parents.iter_mut().zip(order.iter());
            parents.filter(|(_, order)| **order == NONE).for_each(|(parent, _)| *parent = NONE);
        }
        let (reached, depth) = (visits, depth_max);
        let run = Run::of(&engine);
        Ok(Lexicographic { source, order, parents, finish, reached, depth, ended_early, run })
    })
}

/// The state of the search between two visits.
struct Search<'e> {
    engine: &'e Engine,
    /// Targets not known to be visited, and whether there were any.
    targets: Vec<VertexId>,
    is_targeted: bool,
    order: HugeVec<u32>,
    parents: HugeVec<u32>,
    finish: HugeVec<u32>,
    waiting: Waiting,
    ranks: Ranks,
    /// The current list, if vertices are not in the order of their ids.
    list: Vec<VertexId>,
    visits: u64,
    finished: u32,
    depth: u64,
    depth_max: u64,
}

impl<'e> Search<'e> {
    fn new(engine: &'e Engine, source: VertexId, targets: &[VertexId]) -> Result<Self> {
        let n = engine.graph().vertices();
        let mut search = Self {
            engine,
            targets: targets.to_vec(),
            is_targeted: !targets.is_empty(),
            order: HugeVec::filled(n, NONE)?,
            parents: HugeVec::filled(n, NONE)?,
            finish: HugeVec::filled(n, NONE)?,
            waiting: Waiting {
                top: NONE,
                above: HugeVec::filled(n, NONE)?,
                below: HugeVec::filled(n, NONE)?,
            },
            ranks: Ranks::load(engine.graph())?,
            list: Vec::new(),
            visits: 0,
            finished: 0,
            depth: 0,
            depth_max: 0,
        };
        search.parents[source as usize] = source;
        search.waiting.push(source);
        Ok(search)
    }

    fn run(&mut self) -> Result<()> {
        let mut lists = self.engine.lookup(Direction::Out)?;
        let mut last = None;
        while let Some(v) = self.waiting.pop() {
            if self.visits.is_multiple_of(CANCEL_VISITS) {
                self.engine.check_cancel()?;
            }
            if let Some(last) = last {
                self.leave(last, self.parents[v as usize]);
                self.depth += 1;
            }
            self.depth_max = self.depth_max.max(self.depth);
            // At most as many visits as vertices, which u32 numbers.
            self.order[v as usize] = self.visits as u32;
            self.visits += 1;
            last = Some(v);
            if self.is_done() {
                lists.finish("depth-first search");
                return Ok(());
            }
            let Self { order, parents, waiting, ranks, list: all, .. } = self;
            let mut push = |target: VertexId| {
                if order[target as usize] == NONE {
                    if parents[target as usize] != NONE {
                        waiting.remove(target);
                    }
                    parents[target as usize] = v;
                    waiting.push(target);
                }
            };
            if ranks.is_natural() {
                lists.list_backwards(v, |list| {
                    list.targets.iter().rev().for_each(|&target| push(target));
                })?;
            } else {
                all.clear();
                lists.list_backwards(v, |list| all.extend_from_slice(list.targets))?;
                ranks.sort(all);
                all.iter().rev().for_each(|&target| push(target));
            }
        }
        lists.finish("depth-first search");
        if let Some(last) = last {
            self.leave(last, NONE);
        }
        Ok(())
    }

    /// Leaves vertices from `v` up to `parent`, which stays on the path.
    fn leave(&mut self, mut v: VertexId, parent: VertexId) {
        while v != parent {
            self.finish[v as usize] = self.finished;
            self.finished += 1;
            let up = self.parents[v as usize];
            if up == v {
                return;
            }
            self.depth -= 1;
            v = up;
        }
    }

    fn is_done(&mut self) -> bool {
        while self.targets.last().is_some_and(|&v| self.order[v as usize] != NONE) {
            self.targets.pop();
        }
        self.is_targeted && self.targets.is_empty()
    }
}

/// The stack of vertices to visit, as a doubly linked list.
struct Waiting {
    top: u32,
    above: HugeVec<u32>,
    below: HugeVec<u32>,
}

impl Waiting {
    fn push(&mut self, v: VertexId) {
        self.below[v as usize] = self.top;
        self.above[v as usize] = NONE;
        if self.top != NONE {
            self.above[self.top as usize] = v;
        }
        self.top = v;
    }

    fn pop(&mut self) -> Option<VertexId> {
        let v = some(self.top)?;
        self.remove(v);
        Some(v)
    }

    fn remove(&mut self, v: VertexId) {
        let (above, below) = (self.above[v as usize], self.below[v as usize]);
        match above {
            NONE => self.top = below,
            above => self.below[above as usize] = below,
        }
        if below != NONE {
            self.above[below as usize] = above;
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Runs the textbook search (a path, and for each vertex on it the position in its list) serially
/// in memory and asserts the same preorder, postorder and parents. Takes 4 bytes an entry and 28 a
/// vertex.
pub fn verify(graph: &Graph, config: &LexicographicConfig, dfs: &Lexicographic) -> Result<()> {
    let n = graph.vertices();
    let mut lists = Lists::outward(graph)?;
    lists.sort(&Ranks::load(graph)?);
    let (mut order, mut finish) = (vec![NONE; n], vec![NONE; n]);
    let (mut visits, mut finished) = (0, 0);
    let mut targets: Vec<VertexId> = config.targets.clone();
    targets.sort_unstable();
    targets.dedup();
    let mut missing = targets.len();
    let mut path: Vec<(VertexId, usize)> = Vec::new();
    let mut visit = |v: VertexId, parent: VertexId, order: &mut [u32]| {
        order[v as usize] = visits;
        visits += 1;
        missing -= usize::from(targets.binary_search(&v).is_ok());
        let same = dfs.order(v) == Some(order[v as usize]) && dfs.parent(v) == Some(parent);
        let fault = || wrong(format!("visit {} is of {v} from {parent}", order[v as usize]));
        if same { Ok(missing == 0 && !targets.is_empty()) } else { Err(fault()) }
    };
    let mut ended = visit(dfs.source, dfs.source, &mut order)?;
    path.push((dfs.source, 0));
    while !ended && let Some((v, at)) = path.last_mut() {
        let rest = &lists.of_vertex(*v)[*at..];
        match rest.iter().position(|&target| order[target as usize] == NONE) {
            Some(skipped) => {
                let (parent, target) = (*v, rest[skipped]);
                *at += skipped + 1;
                ended = visit(target, parent, &mut order)?;
                path.push((target, 0));
            }
            None => {
                finish[*v as usize] = finished;
                finished += 1;
                path.pop();
            }
        }
    }
    let same = |v: VertexId| {
        dfs.order(v) == some(order[v as usize]) && dfs.finish(v) == some(finish[v as usize])
    };
    match (0..n as VertexId).find(|&v| !same(v)) {
        Some(v) => Err(wrong(format!("vertex {v} is visited or left at another moment"))),
        None if dfs.reached != u64::from(visits) || dfs.ended_early != ended => {
            Err(wrong(format!("{} visited, not {visits}", dfs.reached)))
        }
        None => Ok(()),
    }
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
