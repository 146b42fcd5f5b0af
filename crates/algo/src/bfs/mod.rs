//! Breadth-first search from one source or several.
//!
//! **Returns** for every vertex its level (least number of edges from the nearest source) and,
//! where asked for, its parent: of the vertices of the level before that have an edge to it the one
//! with the smallest id. A source has level 0 and is its own parent; an unreached vertex has neither. With targets the
//! search ends with the level on which the last of them is reached; vertices of further levels
//! then count as unreached.
//!
//! **Source.** Top-down: the CAVE paper's Algorithm 2. Bottom-up: Beamer, Asanovic and Patterson,
//! SC 2012.
//!
//! **Trick.** The pages of a large frontier are nearly all pages. The step is then done bottom-up
//! (each unvisited vertex looks for a neighbour in the frontier and stops at the first), and what
//! it does not find is kept: the lists of the vertices that stay unvisited are few and short, and
//! with them in memory ([`stash`]) the rest of the search reads nothing. A directed graph is
//! searched so where it was stored with its in-edges. Where the graph stores hub neighbours (of each vertex
//! the neighbours of largest degree), they are asked first ([`hub_neighbours`]), and hardly any lists are
//! left to be read.
//!
//! A search of many small levels is brought to its end in memory too ([`rest`]), or without a
//! barrier a level where that does not fit ([`asynchronous`]).
//!
//! Steps: [`top_down`](TopDown), [`bottom_up`](BottomUp), [`hub_neighbours`], [`stash`], [`rest`],
//! [`asynchronous`].

mod asynchronous;
mod hub_neighbours;
mod rest;
mod stash;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    Bitmap, Direction, Engine, EngineConfig, Frontier, FrontierPart, Graph, HugeVec, Kernel, List,
    Needs, Strategy, VertexId, Wanted, for_each_list,
};
use rayon::prelude::*;

use crate::estimate::{Estimate, Reads, kept};
use crate::ranks::{NO_PARENT, Parents, Ranks, default_source, sort_by_id};
use crate::report::{AlgoError, Result, Run, check_vertices, pages};
use asynchronous::Asynchronous;
use hub_neighbours::BottomUpHubNeighbours;
use rest::{Patience, Rest};
use stash::{Stash, StashPart};

const NAME: &str = "bfs";

/// The level of a vertex that was not reached.
pub const UNREACHED: u32 = u32::MAX;

/// A bottom-up step is tried where the frontier's pages are at least this share of the pages of
/// all unvisited vertices.
const BOTTOM_UP_SHARE: f64 = 0.5;

/// Hub neighbours are asked where the frontier has so many times their pages, since they do not answer for
/// all, and at least this part of all pages: of a small frontier they know little.
const HEADS_TIMES: u64 = 2;
const HEADS_PART: u64 = 4;

/// In memory every list left is looked at where so many times the last level's vertices are as many
/// lists; else those of the last level are looked up.
const SCAN_SHARE: usize = 8;

/// Vertices between two looks at whether the user wants the run to end.
const CANCEL_VERTICES: usize = 1 << 16;

/// What is searched for.
#[derive(Clone, Debug, Default)]
pub struct BfsConfig {
    /// Where the search starts; from the vertex of largest degree where none is given.
    pub sources: Vec<VertexId>,
    /// The search ends when all of these are reached; where none is given, when nothing is left.
    pub targets: Vec<VertexId>,
    /// Whether parents are found too (4 bytes a vertex).
    pub parents: bool,
}

impl BfsConfig {
    /// Searches everything from `source`.
    pub fn from(source: VertexId) -> Self {
        Self { sources: vec![source], ..Self::default() }
    }
}

/// A finished search.
#[derive(Debug)]
#[non_exhaustive]
pub struct Bfs {
    /// Where it started, in the order of the ids.
    pub sources: Vec<VertexId>,
    /// Whether all targets were reached: what is behind the last of them was not looked at.
    pub ended_early: bool,
    levels: HugeVec<u32>,
    parents: Option<HugeVec<VertexId>>,
    /// Vertices reached, the sources among them.
    pub reached: u64,
    /// The largest level.
    pub depth: u32,
    /// What the run did.
    pub run: Run,
}

impl Bfs {
    /// Level of `v`, if it was reached.
    pub fn level(&self, v: VertexId) -> Option<u32> {
        Some(self.levels[v as usize]).filter(|level| *level != UNREACHED)
    }

    /// The levels of all vertices, [`UNREACHED`] where there is none.
    pub fn levels(&self) -> &[u32] {
        &self.levels
    }

    /// The parents of all vertices, [`NO_PARENT`] where there is none; `None` where they were not
    /// asked for.
    pub fn parents(&self) -> Option<&[VertexId]> {
        self.parents.as_deref()
    }

    /// Parent of `v`, if it was reached; `None` for all where parents were not asked for.
    pub fn parent(&self, v: VertexId) -> Option<VertexId> {
        Some(self.parents()?[v as usize]).filter(|parent| *parent != NO_PARENT)
    }

    /// The vertices from a source to `v`, by parents; `None` where `v` was not reached or parents
    /// were not asked for.
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

    /// Whether parents were asked for.
    pub fn has_parents(&self) -> bool {
        self.parents.is_some()
    }
}

/// Memory: 4 bytes a vertex for levels, 4 for parents (8 where the graph is not in the order of its
/// ids), 3 sets; up to 16 bytes a vertex more are
/// used where the budget has them, and on a graph of few edges a vertex as much as its lists take.
pub fn needs(graph: &Graph, config: &EngineConfig, bfs: &BfsConfig) -> Needs {
    let n = graph.vertices();
    let parents = if bfs.parents { Parents::bytes_for(graph) } else { 0 };
    let settled =
        if asks_hub_neighbours(graph, config.strategy, bfs) { Bitmap::bytes_for(n) } else { 0 };
    let sets = Bitmap::bytes_for(n) + 2 * Frontier::bytes_for(n, config.threads) + settled;
    let stash_bytes = if stashes(graph, config.strategy) { 16 * n as u64 } else { 0 };
    let rest_bytes = if keeps_rest(graph, config.strategy) { rest::bytes_for(graph) } else { 0 };
    let scratch_bytes = stash_bytes.max(rest_bytes);
    Needs { what: NAME, state_bytes: 4 * n as u64 + parents + sets, scratch_bytes }
}

fn stashes(graph: &Graph, strategy: Strategy) -> bool {
    strategy == Strategy::Auto && graph.adjacency(Direction::In).is_some()
}

/// Hub neighbours do not tell who the smallest of all possible parents is.
fn asks_hub_neighbours(graph: &Graph, strategy: Strategy, bfs: &BfsConfig) -> bool {
    strategy == Strategy::Auto && graph.superblock().has_hub_neighbours() && !bfs.parents
}

fn keeps_rest(graph: &Graph, strategy: Strategy) -> bool {
    strategy == Strategy::Auto && rest::is_worth_room(graph)
}

/// Where the lists of a graph of few edges a vertex fit, cached pages make room for them.
fn with_room(graph: &Graph, mut config: EngineConfig, needs: &Needs) -> Result<EngineConfig> {
    if keeps_rest(graph, config.strategy) {
        let (_, memory) = Engine::plan(graph, &config, needs)?;
        let left = memory.scratch_bytes + memory.cache_bytes;
        if let Some(cache) = left.checked_sub(needs.scratch_bytes) {
            config.cache_bytes = Some(config.cache_bytes.map_or(cache, |asked| asked.min(cache)));
        }
    }
    Ok(config)
}

/// What a run will need.
pub fn estimate(graph: &Graph, config: &EngineConfig, bfs: &BfsConfig) -> Result<Estimate> {
    let needs = needs(graph, config, bfs);
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
    let filled = if keeps_rest(graph, config.strategy) { 1.0 } else { 0.5 };
    let reads = Reads::between(1.0, likely, at_most).filling(0.0, filled);
    Ok(Estimate::new(graph, plan, reads.by(config.strategy), because))
}

/// Searches.
///
/// # Errors
/// A source that is not a vertex; whatever keeps the engine from running.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, bfs: &BfsConfig) -> Result<Bfs> {
    let mut sources = bfs.sources.clone();
    if sources.is_empty() {
        sources.push(default_source(graph)?);
    }
    check_vertices(graph, "--source", &sources)?;
    check_vertices(graph, "--target", &bfs.targets)?;
    sort_by_id(graph, &mut sources)?;
    let needs = needs(graph, &config, bfs);
    let config = with_room(graph, config, &needs)?;
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let mut search = Search::new(&engine, sources, bfs)?;
        search.run()?;
        search.finish()
    })
}

/// The state of a search between steps.
struct Search<'e> {
    engine: &'e Engine,
    sources: Vec<VertexId>,
    goal: Goal,
    levels: HugeVec<AtomicU32>,
    parents: Option<Parents>,
    visited: Bitmap,
    frontier: Frontier,
    next: Frontier,
    level: u32,
    reached: u64,
    /// Pages of unvisited vertices below which a bottom-up step may be tried again; a step whose
    /// leftovers did not fit in memory halves it.
    stash_pages_max: u64,
    patience: Patience,
    /// Vertices that a bottom-up step need not ask for more than their hub neighbours; `None` where hub neighbours
    /// are not asked.
    settled: Option<Bitmap>,
}

impl<'e> Search<'e> {
    fn new(engine: &'e Engine, sources: Vec<VertexId>, bfs: &BfsConfig) -> Result<Self> {
        let n = engine.graph().vertices();
        let levels = HugeVec::<AtomicU32>::zeroed(n)?;
        levels.par_iter().for_each(|level| level.store(UNREACHED, Ordering::Relaxed));
        let search = Self {
            engine,
            goal: Goal((!bfs.targets.is_empty()).then(|| bfs.targets.clone())),
            levels,
            parents: if bfs.parents { Some(Parents::new(engine.graph())?) } else { None },
            visited: Bitmap::new(n)?,
            frontier: Frontier::new(n)?,
            next: Frontier::new(n)?,
            level: 0,
            reached: sources.len() as u64,
            stash_pages_max: u64::MAX,
            patience: Patience::default(),
            settled: match asks_hub_neighbours(engine.graph(), engine.config().strategy, bfs) {
                true => Some(Bitmap::new(n)?),
                false => None,
            },
            sources,
        };
        for &source in &search.sources {
            search.levels[source as usize].store(0, Ordering::Relaxed);
            set(search.parents.as_ref(), source, source);
            search.visited.insert(source);
        }
        Ok(search)
    }

    fn run(&mut self) -> Result<()> {
        self.frontier.set(&self.sources);
        while !self.frontier.is_empty() && !self.goal.is_reached(&self.levels) {
            let frontier_pages = self.frontier_pages();
            if self.finish_with_rest(frontier_pages)? {
                return Ok(());
            }
            if self.hub_neighbours_are_worth_it(frontier_pages) {
                let stash = self.bottom_up_by_hub_neighbours(frontier_pages)?;
                self.advance();
                if let Some(stash) = stash {
                    return self.finish_in_memory(&stash);
                }
                continue;
            }
            match self.stash_pages_if_worth_it(frontier_pages) {
                Some(pages) => {
                    let stash = self.bottom_up()?;
                    self.advance();
                    match stash {
                        Some(stash) => return self.finish_in_memory(&stash),
                        None => self.stash_pages_max = pages / 2,
                    }
                }
                None => {
                    self.top_down()?;
                    self.advance();
                }
            }
        }
        Ok(())
    }

    /// Takes the next frontier.
    fn advance(&mut self) {
        self.reached += self.next.count();
        self.level += u32::from(!self.next.is_empty());
        self.frontier.clear();
        std::mem::swap(&mut self.frontier, &mut self.next);
    }

    /// Pages of the frontier; 0 where it does not matter because there is no memory to save steps.
    fn frontier_pages(&self) -> u64 {
        match self.engine.memory().scratch_bytes {
            0 => 0,
            _ => self.engine.pages_wanted(Direction::Out, &Wanted::In(&self.frontier)),
        }
    }

    /// The pages of all unvisited vertices, where the step is to be done bottom-up.
    fn stash_pages_if_worth_it(&self, frontier_pages: u64) -> Option<u64> {
        if frontier_pages == 0 || !stashes(self.engine.graph(), self.engine.config().strategy) {
            return None;
        }
        // Counting the unvisited asks every page: only where the answer may matter.
        let all_pages = pages(self.engine.graph(), Direction::Out);
        if frontier_pages * 16 < all_pages {
            return None;
        }
        let unvisited_pages =
            self.engine.pages_wanted(Direction::In, &Wanted::NotIn(&self.visited));
        let worth = frontier_pages as f64 >= BOTTOM_UP_SHARE * unvisited_pages as f64;
        (worth && unvisited_pages <= self.stash_pages_max).then_some(unvisited_pages)
    }

    /// After many small steps: fetches all lists that are left, if they fit in memory, and ends
    /// the search there. False where the search is to go on as it did.
    fn finish_with_rest(&mut self, frontier_pages: u64) -> Result<bool> {
        let graph = self.engine.graph();
        if frontier_pages == 0 || !self.patience.is_lost(graph, &self.frontier, frontier_pages) {
            return Ok(false);
        }
        let bytes_max = self.engine.memory().scratch_bytes;
        // The frontier's own lists are still to be followed.
        self.frontier.bits().iter().for_each(|v| self.visited.remove(v));
        let rest = Rest::load(self.engine, &self.visited, bytes_max)?;
        self.frontier.bits().iter().for_each(|v| {
            self.visited.insert(v);
        });
        match rest {
            Some(rest) => self.reached += self.queue_in_memory(&rest)?,
            None if bytes_max >= asynchronous::bytes_for(pages(graph, Direction::Out)) => {
                self.finish_asynchronously()?;
            }
            None => {
                self.patience = Patience::endless();
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn finish_asynchronously(&mut self) -> Result<()> {
        let search = Asynchronous::new(self.engine, &self.levels, self.next.bits())?;
        self.frontier.bits().iter().for_each(|v| search.activate(v, self.level));
        search.run(|| self.goal.level_max(&self.levels))?;
        let level_max = self.goal.level_max(&self.levels);
        // From here on the set of those that were not reached.
        self.visited.clear();
        (self.reached, self.level) = (0, 0);
        for (v, cell) in self.levels.iter().enumerate() {
            let level = cell.load(Ordering::Relaxed);
            if level != UNREACHED && level <= level_max {
                self.reached += 1;
                self.level = self.level.max(level);
            } else {
                cell.store(UNREACHED, Ordering::Relaxed);
                self.visited.insert(VertexId::try_from(v).expect("vertex ids are u32"));
            }
        }
        match &self.parents {
            Some(parents) => {
                asynchronous::find_parents(self.engine, &self.levels, parents, &self.visited)
            }
            None => Ok(()),
        }
    }

    /// Searches on from the frontier, one vertex after another; how many were reached.
    fn queue_in_memory(&mut self, rest: &Rest) -> Result<u64> {
        let parents = self.parents.as_ref();
        let level_of = |v: VertexId| self.levels[v as usize].load(Ordering::Relaxed);
        let mut queue = Vec::with_capacity(self.levels.len());
        queue.extend(self.frontier.bits().iter());
        let (started, mut head, mut level_now) = (queue.len(), 0, self.level);
        while let Some(&v) = queue.get(head) {
            if level_of(v) > level_now {
                // The level is complete, as after a step.
                level_now += 1;
                if self.goal.is_reached(&self.levels) {
                    break;
                }
            }
            head += 1;
            if head % CANCEL_VERTICES == 0 {
                self.engine.check_cancel()?;
            }
            let next = level_of(v) + 1;
            for target in rest.list(v) {
                let target = target.load(Ordering::Relaxed);
                let level = level_of(target);
                if level == UNREACHED {
                    self.levels[target as usize].store(next, Ordering::Relaxed);
                    queue.push(target);
                }
                if level >= next {
                    set(parents, target, v);
                }
            }
        }
        self.level = queue.last().map_or(self.level, |&v| level_of(v));
        Ok((queue.len() - started) as u64)
    }

    fn hub_neighbours_are_worth_it(&self, frontier_pages: u64) -> bool {
        let hub_neighbours =
            self.engine.graph().hub_neighbours().filter(|_| self.settled.is_some());
        let all_pages = pages(self.engine.graph(), Direction::Out);
        let least =
            |hub_neighbours: u64| (HEADS_TIMES * hub_neighbours).max(all_pages / HEADS_PART);
        hub_neighbours.is_some_and(|hub_neighbours| frontier_pages >= least(hub_neighbours.pages()))
    }

    /// One step that asks the hub neighbours first, and then whichever is fewer: the lists of vertices that
    /// they do not lead to, or those of the frontier. Gives the leftover lists if all of them fit
    /// in memory.
    fn bottom_up_by_hub_neighbours(&mut self, frontier_pages: u64) -> Result<Option<Stash>> {
        let mut settled = self.settled.take().expect("hub neighbours are asked");
        settled.clear();
        settled.merge(&self.visited);
        // The step that follows has the other half.
        let stash_words = self.stash_words() / 2;
        let kernel = BottomUpHubNeighbours {
            visited: &self.visited,
            frontier: &self.frontier,
            next: &self.next,
            settled: &settled,
            levels: &self.levels,
            level: self.level + 1,
            stash_words,
            symmetric: !self.engine.graph().is_directed(),
        };
        let label = format!("level {} by hub neighbours", self.level + 1);
        let locals = self.engine.visit_hub_neighbours(label, &kernel)?;
        let (mut parts, mut stashes): (Vec<_>, Vec<_>) = locals.into_iter().unzip();
        let rest = Wanted::NotIn(&settled);
        let is_rest_less = self.engine.pages_wanted(Direction::In, &rest) <= frontier_pages;
        if is_rest_less {
            let (more, more_stashes) = self.bottom_up_visit(rest, stash_words)?;
            parts.extend(more);
            stashes.extend(more_stashes);
            self.next.seal(parts);
            self.visited.merge(self.next.bits());
        } else {
            self.visited.merge(self.next.bits());
            parts.extend(self.top_down_visit()?);
            self.next.seal(parts);
        }
        self.settled = Some(settled);
        let visited = |v| self.visited.contains(v);
        Ok(if is_rest_less { Stash::of(stashes, visited) } else { None })
    }

    /// Words of 4 bytes that each worker may keep.
    fn stash_words(&self) -> u64 {
        self.engine.memory().scratch_bytes / 4 / self.engine.config().threads as u64
    }

    fn top_down(&mut self) -> Result<()> {
        let parts = self.top_down_visit()?;
        self.next.seal(parts);
        Ok(())
    }

    fn top_down_visit(&self) -> Result<Vec<FrontierPart>> {
        let kernel = TopDown {
            levels: &self.levels,
            parents: self.parents.as_ref(),
            visited: &self.visited,
            next: &self.next,
            level: self.level + 1,
        };
        let label = format!("level {} top-down", self.level + 1);
        Ok(self.engine.visit(label, Direction::Out, Wanted::In(&self.frontier), &kernel)?)
    }

    /// One step; gives the leftover lists if all of them fit in memory.
    fn bottom_up(&mut self) -> Result<Option<Stash>> {
        let unvisited = Wanted::NotIn(&self.visited);
        let (parts, stashes) = self.bottom_up_visit(unvisited, self.stash_words())?;
        self.next.seal(parts);
        self.visited.merge(self.next.bits());
        Ok(Stash::of(stashes, |v| self.visited.contains(v)))
    }

    fn bottom_up_visit(
        &self,
        wanted: Wanted<'_>,
        stash_words: u64,
    ) -> Result<(Vec<FrontierPart>, Vec<StashPart>)> {
        let kernel = BottomUp {
            levels: &self.levels,
            parents: self.parents.as_ref(),
            visited: &self.visited,
            frontier: &self.frontier,
            next: &self.next,
            level: self.level + 1,
            symmetric: !self.engine.graph().is_directed(),
            stash_words,
        };
        let label = format!("level {} bottom-up", self.level + 1);
        let locals = self.engine.visit(label, Direction::In, wanted, &kernel)?;
        Ok(locals.into_iter().unzip())
    }

    /// The rest of the search: every unvisited vertex's list is in the stash.
    fn finish_in_memory(&mut self, stash: &Stash) -> Result<()> {
        if self.goal.is_reached(&self.levels) {
            return Ok(());
        }
        // Nobody that is in the stash is reached yet but, perhaps, the frontier.
        let mut newly = if stash.lists() > 0 {
            self.adjacent_in_memory(stash)
        } else {
            self.expand_in_memory(stash, self.frontier.bits().iter())
        };
        while !newly.is_empty() {
            self.engine.check_cancel()?;
            self.level += 1;
            self.reached += newly.len() as u64;
            for &v in &newly {
                self.levels[v as usize].store(self.level, Ordering::Relaxed);
            }
            if self.goal.is_reached(&self.levels) {
                break;
            }
            newly = if newly.len() * SCAN_SHARE >= stash.lists() && stash.lists() > 0 {
                self.adjacent_in_memory(stash)
            } else {
                self.expand_in_memory(stash, newly.iter().copied())
            };
        }
        Ok(())
    }

    /// The unreached vertices of the stash next to the present level.
    fn adjacent_in_memory(&self, stash: &Stash) -> Vec<VertexId> {
        let level_of = |v: VertexId| self.levels[v as usize].load(Ordering::Relaxed);
        let (open, frontier) = (|v| level_of(v) == UNREACHED, |v| level_of(v) == self.level);
        stash.select(|v, list| open(v) && joins(self.parents.as_ref(), v, list, frontier))
    }

    fn expand_in_memory(
        &self,
        stash: &Stash,
        vertices: impl Iterator<Item = VertexId>,
    ) -> Vec<VertexId> {
        let mut next = Vec::new();
        let parents = self.parents.as_ref();
        for v in vertices {
            stash.for_each_target(v, |target| {
                let level = self.levels[target as usize].load(Ordering::Relaxed);
                if level == UNREACHED {
                    // Marked at once so that it is found once; its level is set by the caller.
                    self.levels[target as usize].store(self.level + 1, Ordering::Relaxed);
                    next.push(target);
                    set(parents, target, v);
                } else if level == self.level + 1 {
                    set(parents, target, v);
                }
            });
        }
        next
    }

    fn finish(mut self) -> Result<Bfs> {
        let graph = self.engine.graph();
        Ok(Bfs {
            ended_early: self.goal.is_reached(&self.levels),
            sources: self.sources,
            levels: self.levels.into_plain(),
            parents: self.parents.map(|parents| parents.finish(graph)).transpose()?,
            reached: self.reached,
            depth: self.level,
            run: Run::of(self.engine),
        })
    }
}

/// Targets that may not be reached yet; `None` where the search is for everything.
struct Goal(Option<Vec<VertexId>>);

impl Goal {
    /// Whether there were targets and all of them are reached.
    fn is_reached(&mut self, levels: &[AtomicU32]) -> bool {
        let Some(targets) = &mut self.0 else { return false };
        let reached = |&v: &VertexId| levels[v as usize].load(Ordering::Relaxed) != UNREACHED;
        while targets.last().is_some_and(reached) {
            targets.pop();
        }
        targets.is_empty()
    }

    /// The level of the furthest of these targets: none further matters.
    fn level_max(&self, levels: &[AtomicU32]) -> u32 {
        let level = |&v: &VertexId| levels[v as usize].load(Ordering::Relaxed);
        self.0.iter().flatten().map(level).max().unwrap_or(UNREACHED)
    }
}

/// Makes `parent` the parent of `v` unless one with a smaller id is known.
#[inline(always)]
fn set(parents: Option<&Parents>, v: VertexId, parent: VertexId) {
    if let Some(parents) = parents {
        parents.propose(v, parent);
    }
}

/// Whether one of the `candidates`, which ascend, is in the frontier; those that are may become
/// the parent of `v`.
#[inline(always)]
fn joins(
    parents: Option<&Parents>,
    v: VertexId,
    candidates: &[VertexId],
    in_frontier: impl Fn(VertexId) -> bool,
) -> bool {
    let mut found = candidates.iter().copied().filter(|&candidate| in_frontier(candidate));
    let Some(first) = found.next() else { return false };
    if let Some(parents) = parents {
        parents.propose_all(v, std::iter::once(first).chain(found));
    }
    true
}

/// Each frontier vertex marks its unvisited neighbours.
struct TopDown<'a> {
    levels: &'a [AtomicU32],
    parents: Option<&'a Parents>,
    visited: &'a Bitmap,
    next: &'a Frontier,
    level: u32,
}

impl Kernel for TopDown<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        match self.parents {
            None => {
                for &target in list.targets {
                    if !self.visited.contains(target) && self.visited.insert(target) {
                        self.levels[target as usize].store(self.level, Ordering::Relaxed);
                        self.next.add(target, part);
                    }
                }
            }
            Some(_) => {
                for &target in list.targets {
                    self.mark_with_parent(target, list.vertex, part);
                }
            }
        }
    }
}

impl TopDown<'_> {
    /// The level itself decides who is a candidate: it is unset or this step's, whoever marks it
    /// first, so the least parent wins whatever the order.
    #[inline(always)]
    fn mark_with_parent(&self, target: VertexId, parent: VertexId, part: &mut FrontierPart) {
        let cell = &self.levels[target as usize];
        let mut level = cell.load(Ordering::Relaxed);
        if level == UNREACHED {
            level = match cell.compare_exchange(
                UNREACHED,
                self.level,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.visited.insert(target);
                    self.next.add(target, part);
                    self.level
                }
                Err(level) => level,
            };
        }
        if level == self.level {
            set(self.parents, target, parent);
        }
    }
}

/// Each unvisited vertex looks for its smallest in-neighbour in the frontier.
struct BottomUp<'a> {
    levels: &'a [AtomicU32],
    parents: Option<&'a Parents>,
    visited: &'a Bitmap,
    frontier: &'a Frontier,
    next: &'a Frontier,
    level: u32,
    symmetric: bool,
    stash_words: u64,
}

impl Kernel for BottomUp<'_> {
    type Local = (FrontierPart, StashPart);

    fn local(&self) -> Self::Local {
        (FrontierPart::default(), StashPart::with_words(self.stash_words, self.symmetric))
    }

    fn list(&self, (part, stash): &mut Self::Local, list: &List<'_>) {
        if !joins(self.parents, list.vertex, list.targets, |v| self.frontier.contains(v)) {
            stash.keep(list, self.visited);
        } else if self.next.add(list.vertex, part) {
            self.levels[list.vertex as usize].store(self.level, Ordering::Relaxed);
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Asserts, in one serial pass over the edges: only sources have level 0; no edge leads from a
/// reached vertex to one that is unreached or more than one level further, but from the last level
/// of a search that ended early; every other reached vertex has an edge from the level before; its
/// parent is the one with the smallest id; the counts follow from the levels. Takes 4 bytes a vertex.
pub fn verify(graph: &Graph, bfs: &Bfs) -> Result<()> {
    let n = graph.vertices();
    let ranks = Ranks::load(graph)?;
    let mut least_parent = vec![NO_PARENT; n];
    let mut fault = None;
    for_each_list(graph, Direction::Out, |list| {
        let Some(level) = bfs.level(list.vertex) else { return };
        for &target in list.targets {
            match bfs.level(target) {
                Some(further) if further == level + 1 => {
                    let least = &mut least_parent[target as usize];
                    if *least == NO_PARENT || ranks.of(list.vertex) < ranks.of(*least) {
                        *least = list.vertex;
                    }
                }
                Some(further) if further <= level => {}
                None if bfs.ended_early && level == bfs.depth => {}
                other => {
                    fault.get_or_insert_with(|| {
                        format!("edge {} (level {level}) to {target} ({other:?})", list.vertex)
                    });
                }
            }
        }
    })?;
    match fault {
        Some(fault) => Err(wrong(fault)),
        None => verify_vertices(n, bfs, &least_parent),
    }
}

fn verify_vertices(n: usize, bfs: &Bfs, least_parent: &[u32]) -> Result<()> {
    let (mut reached, mut depth) = (0, 0);
    let mut is_source = vec![false; n];
    bfs.sources.iter().for_each(|&source| is_source[source as usize] = true);
    for v in 0..n as VertexId {
        let Some(level) = bfs.level(v) else { continue };
        reached += 1;
        depth = depth.max(level);
        let is_source = is_source[v as usize];
        let expected = if is_source { v } else { least_parent[v as usize] };
        if (level == 0) != is_source || expected == NO_PARENT {
            return Err(wrong(format!("vertex {v} has level {level} without a parent")));
        }
        if bfs.has_parents() && bfs.parent(v) != Some(expected) {
            return Err(wrong(format!("the parent of {v} is {:?}, not {expected}", bfs.parent(v))));
        }
    }
    if (bfs.reached, bfs.depth) != (reached, depth) {
        return Err(wrong(format!(
            "{} reached to depth {}, not {reached} to {depth}",
            bfs.reached, bfs.depth
        )));
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
