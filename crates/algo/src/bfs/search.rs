//! The search, step by step: top-down, bottom-up, or finished in memory.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, Frontier, FrontierPart, HugeVec, Strategy, VertexId,
};

use super::asynchronous::{self, Asynchronous};
use super::chains;
use super::csr;
use super::hub_neighbours::BottomUpHubNeighbours;
use super::step::{BottomUp, KeepParents, TopDown, joins, set};
use super::unvisited::{Keep, Unvisited, UnvisitedPart};
use super::{Bfs, BfsConfig, UNREACHED, asks_hub_neighbours, keeps_unvisited};
use crate::csr::Csr;
use crate::kind::{is_clustered, is_lattice};
use crate::near::leads_nearby;
use crate::parallel::fill;
use crate::ranks::Parents;
use crate::report::{Result, Run, pages};
use crate::worklist::{StepBudget, fill_cache};

/// A bottom-up step is tried if the frontier has at least this fraction of the pages of all
/// unvisited vertices.
const BOTTOM_UP_SHARE: f64 = 0.5;

/// Hub neighbours are tried if the frontier has at least this many times their pages, and at least
/// `1 / HUB_NEIGHBOURS_PART` of all pages: few vertices have hub neighbours in a small frontier.
const HUB_NEIGHBOURS_TIMES: u64 = 2;
const HUB_NEIGHBOURS_PART: u64 = 4;

/// Behind them the step goes on bottom-up, which leaves the search in memory, if top-down would
/// save at most `1 / BOTTOM_UP_GAIN` of its pages.
const BOTTOM_UP_GAIN: u64 = 16;

/// In memory, all lists are scanned if the level has at least `1 / SCAN_SHARE` as many vertices as
/// there are lists; otherwise the lists of the level are looked up. The first look-up sorts all
/// lists, which takes longer than some scans: so many levels are found by scans before it.
const SCAN_SHARE: usize = 8;
const SCANS: u32 = 4;

/// On a directed graph all arcs are looked at if they are at most so many times the vertices of the
/// level: to search them for a vertex takes longer.
const ARCS_SCANNED: usize = 16;

/// A search that comes to this level goes on page by page where edges lead nearby. On a web graph
/// of 35 levels that takes two thirds of the time of steps; networks with hubs have fewer levels.
const LEVEL_NEAR: u32 = 6;

/// Vertices between two checks for cancellation.
const CANCEL_VERTICES: usize = 1 << 16;

/// The state of a search between steps.
pub(super) struct Search<'e> {
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
    /// The most pages of unvisited vertices for a bottom-up step. A step whose unvisited lists did
    /// not fit in memory halves it.
    bottom_up_pages_max: u64,
    step_budget: StepBudget,
    /// Vertices that a bottom-up step need not read beyond their hub neighbours; `None` if hub
    /// neighbours are not used.
    settled: Option<Bitmap>,
}

impl<'e> Search<'e> {
    pub fn new(engine: &'e Engine, sources: Vec<VertexId>, bfs: &BfsConfig) -> Result<Self> {
        let n = engine.graph().vertices();
        let levels = HugeVec::<AtomicU32>::zeroed(n)?;
        fill(&levels, UNREACHED);
        let lists_fit = engine.memory().scratch_bytes >= csr::bytes_for(engine.graph());
        let may_end_soon =
            lists_fit || chains::are_likely(engine.graph()) || is_clustered(engine.graph());
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
            bottom_up_pages_max: u64::MAX,
            step_budget: StepBudget::new(engine.graph(), may_end_soon),
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

    pub fn run(&mut self) -> Result<()> {
        self.frontier.set(&self.sources);
        while !self.frontier.is_empty() && !self.goal.is_reached(&self.levels) {
            let frontier_pages = self.frontier_pages();
            if self.finish_in_csr(frontier_pages)? {
                return Ok(());
            }
            if self.goes_by_page(frontier_pages)? {
                return self.finish_asynchronously();
            }
            if self.hub_neighbours_are_worth_it(frontier_pages) {
                let unvisited = self.bottom_up_by_hub_neighbours(frontier_pages)?;
                self.advance();
                if let Some(unvisited) = unvisited {
                    return self.finish_in_memory(&unvisited);
                }
                continue;
            }
            match self.bottom_up_pages(frontier_pages) {
                Some(pages) => {
                    let unvisited = self.bottom_up()?;
                    self.advance();
                    match unvisited {
                        Some(unvisited) => return self.finish_in_memory(&unvisited),
                        None => self.bottom_up_pages_max = pages / 2,
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

    /// Pages of the frontier; 0 where it does not matter: the papers' strategies go step by step.
    fn frontier_pages(&self) -> u64 {
        match self.engine.config().strategy {
            Strategy::Block | Strategy::Vertex => 0,
            Strategy::Auto => {
                self.engine.active_pages(Direction::Out, &ActiveSet::In(&self.frontier))
            }
        }
    }

    /// The pages of all unvisited vertices, if the step is to be done bottom-up.
    fn bottom_up_pages(&self, frontier_pages: u64) -> Option<u64> {
        if self.engine.memory().scratch_bytes == 0
            || frontier_pages == 0
            || !keeps_unvisited(self.engine.graph(), self.engine.config().strategy)
        {
            return None;
        }
        // Counting unvisited pages looks at every page, so a small frontier is excluded first.
        let all_pages = pages(self.engine.graph(), Direction::Out);
        if frontier_pages * 16 < all_pages {
            return None;
        }
        let unvisited_pages =
            self.engine.active_pages(Direction::In, &ActiveSet::NotIn(&self.visited));
        let worth = frontier_pages as f64 >= BOTTOM_UP_SHARE * unvisited_pages as f64;
        (worth && unvisited_pages <= self.bottom_up_pages_max).then_some(unvisited_pages)
    }

    /// After many small steps: loads all remaining lists, if they fit in memory, and ends the
    /// search there, or without steps. False if the search is to go on step by step.
    fn finish_in_csr(&mut self, frontier_pages: u64) -> Result<bool> {
        let graph = self.engine.graph();
        if frontier_pages == 0
            || !self.step_budget.is_exhausted(graph, &self.frontier, frontier_pages)
        {
            return Ok(false);
        }
        let bytes_max = self.engine.memory().scratch_bytes;
        // The frontier's own lists are still to be followed.
        self.frontier.bits().iter().for_each(|v| self.visited.remove(v));
        let csr = csr::load(self.engine, &self.visited, bytes_max)?;
        self.frontier.bits().iter().for_each(|v| {
            self.visited.insert(v);
        });
        match csr {
            Some(csr) => self.reached += self.queue_in_memory(&csr)?,
            None => self.finish_asynchronously()?,
        }
        Ok(true)
    }

    /// Whether the search goes on page by page, since edges lead nearby. On a lattice whose lists
    /// fit it ends in memory soon.
    fn goes_by_page(&self, frontier_pages: u64) -> Result<bool> {
        let (graph, room) = (self.engine.graph(), self.engine.memory().scratch_bytes);
        let ends_in_memory = is_lattice(graph) && room >= csr::bytes_for(graph);
        Ok(self.level == LEVEL_NEAR
            && frontier_pages > 0
            && !ends_in_memory
            && leads_nearby(self.engine)?)
    }

    fn finish_asynchronously(&mut self) -> Result<()> {
        fill_cache(self.engine)?;
        let mut search = Asynchronous::new(self.engine, &*self.levels, self.next.bits())?;
        self.frontier.bits().iter().for_each(|v| search.activate(v, self.level));
        search.run_with_chains(|| self.goal.level_max(&self.levels))?;
        let level_max = self.goal.level_max(&self.levels);
        // From here on `visited` is the set of the unreached.
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

    /// Searches from the frontier with a queue; returns how many vertices were reached.
    fn queue_in_memory(&mut self, csr: &Csr) -> Result<u64> {
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
            for target in csr.list(v) {
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
        let least = |hub_neighbours: u64| {
            (HUB_NEIGHBOURS_TIMES * hub_neighbours).max(all_pages / HUB_NEIGHBOURS_PART)
        };
        let has_room = self.engine.memory().scratch_bytes > 0;
        has_room
            && hub_neighbours
                .is_some_and(|hub_neighbours| frontier_pages >= least(hub_neighbours.pages()))
    }

    /// One step over hub neighbours, and then over whichever has fewer pages, by
    /// [`BOTTOM_UP_GAIN`]: the lists of the vertices that stay unsettled, or those of the frontier.
    /// Returns the lists of the vertices that stay unvisited if all fit in memory.
    fn bottom_up_by_hub_neighbours(&mut self, frontier_pages: u64) -> Result<Option<Unvisited>> {
        let mut settled = self.settled.take().expect("hub neighbours are asked");
        settled.clear();
        settled.merge(&self.visited);
        // The bottom-up visit that may follow gets the other half.
        let room = self.engine.memory().scratch_bytes / 2;
        let keep = self.keep(room)?;
        let kernel = BottomUpHubNeighbours {
            visited: &self.visited,
            frontier: &self.frontier,
            next: &self.next,
            settled: &settled,
            levels: &self.levels,
            level: self.level + 1,
            keep: &keep,
        };
        let label = format!("level {} by hub neighbours", self.level + 1);
        let locals = self.engine.visit_hub_neighbours(label, &kernel)?;
        let (mut parts, mut kept): (Vec<_>, Vec<_>) = locals.into_iter().unzip();
        let rest = ActiveSet::NotIn(&settled);
        let rest_pages = self.engine.active_pages(Direction::In, &rest);
        let goes_bottom_up = rest_pages - rest_pages / BOTTOM_UP_GAIN <= frontier_pages;
        if goes_bottom_up {
            let (more, more_kept) = self.bottom_up_visit(rest, room)?;
            parts.extend(more);
            kept.extend(more_kept);
            self.next.seal(parts);
            self.visited.merge(self.next.bits());
        } else {
            self.visited.merge(self.next.bits());
            parts.extend(self.top_down_visit()?);
            self.next.seal(parts);
        }
        self.settled = Some(settled);
        Ok(if goes_bottom_up { Unvisited::of(kept) } else { None })
    }

    /// Space of `bytes` for the lists that a bottom-up step leaves unvisited.
    fn keep(&self, bytes: u64) -> Result<Keep> {
        Keep::new(bytes, self.engine.config().threads, !self.engine.graph().is_directed())
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
        Ok(self.engine.visit(label, Direction::Out, ActiveSet::In(&self.frontier), &kernel)?)
    }

    /// One step; returns the lists of the vertices that stay unvisited if all fit in memory.
    fn bottom_up(&mut self) -> Result<Option<Unvisited>> {
        let unvisited = ActiveSet::NotIn(&self.visited);
        let room = self.engine.memory().scratch_bytes;
        let (parts, kept) = self.bottom_up_visit(unvisited, room)?;
        self.next.seal(parts);
        self.visited.merge(self.next.bits());
        Ok(Unvisited::of(kept))
    }

    fn bottom_up_visit(
        &self,
        active: ActiveSet<'_>,
        bytes: u64,
    ) -> Result<(Vec<FrontierPart>, Vec<UnvisitedPart>)> {
        match &self.parents {
            None => self.bottom_up_visit_with((), active, bytes),
            Some(parents) => self.bottom_up_visit_with(parents, active, bytes),
        }
    }

    fn bottom_up_visit_with(
        &self,
        parents: impl KeepParents,
        active: ActiveSet<'_>,
        bytes: u64,
    ) -> Result<(Vec<FrontierPart>, Vec<UnvisitedPart>)> {
        let keep = self.keep(bytes)?;
        let kernel = BottomUp {
            levels: &self.levels,
            parents,
            visited: &self.visited,
            frontier: &self.frontier,
            next: &self.next,
            level: self.level + 1,
            keep: &keep,
        };
        let label = format!("level {} bottom-up", self.level + 1);
        let locals = self.engine.visit(label, Direction::In, active, &kernel)?;
        Ok(locals.into_iter().unzip())
    }

    /// The rest of the search, with the lists of all unvisited vertices in memory.
    fn finish_in_memory(&mut self, unvisited: &Unvisited) -> Result<()> {
        if self.goal.is_reached(&self.levels) {
            return Ok(());
        }
        // Of the vertices whose lists are kept, only those of the frontier may have been reached.
        let mut newly = if unvisited.lists() > 0 {
            self.adjacent_in_memory(unvisited)
        } else if are_scanned(unvisited, self.frontier.count() as usize) {
            self.adjacent_by_arcs(unvisited)
        } else {
            self.expand_in_memory(unvisited, self.frontier.bits().iter())
        };
        let mut scans = 0;
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
            let is_large = newly.len() * SCAN_SHARE >= unvisited.lists();
            let scan = is_large || (scans < SCANS && !unvisited.is_indexed());
            newly = if scan && unvisited.lists() > 0 {
                scans += 1;
                self.frontier.set(&newly);
                self.adjacent_in_memory(unvisited)
            } else if are_scanned(unvisited, newly.len()) {
                self.frontier.set(&newly);
                self.adjacent_by_arcs(unvisited)
            } else {
                self.expand_in_memory(unvisited, newly.iter().copied())
            };
        }
        Ok(())
    }

    /// The unreached vertices adjacent to the frontier. Its bits fit a processor's cache where the
    /// levels of all vertices do not.
    fn adjacent_in_memory(&self, unvisited: &Unvisited) -> Vec<VertexId> {
        let open = |v: VertexId| self.levels[v as usize].load(Ordering::Relaxed) == UNREACHED;
        let in_frontier = |v| self.frontier.contains(v);
        unvisited.select(|v, list| open(v) && joins(self.parents.as_ref(), v, list, in_frontier))
    }

    /// The same on a directed graph: marked at once, so that each is found once.
    fn adjacent_by_arcs(&self, unvisited: &Unvisited) -> Vec<VertexId> {
        let (parents, next) = (self.parents.as_ref(), self.level + 1);
        unvisited
            .select_arcs(|source, target| {
                if !self.frontier.contains(source) {
                    return false;
                }
                let relaxed = Ordering::Relaxed;
                let level = &self.levels[target as usize];
                let found = level.compare_exchange(UNREACHED, next, relaxed, relaxed);
                if found.is_ok() || found == Err(next) {
                    set(parents, target, source);
                }
                found.is_ok()
            })
            .collect()
    }

    fn expand_in_memory(
        &self,
        unvisited: &Unvisited,
        vertices: impl Iterator<Item = VertexId>,
    ) -> Vec<VertexId> {
        let mut next = Vec::new();
        let parents = self.parents.as_ref();
        for v in vertices {
            unvisited.for_each_target(v, |target| {
                let level = self.levels[target as usize].load(Ordering::Relaxed);
                if level == UNREACHED {
                    // Marked at once, so that it is found once.
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

    pub fn finish(mut self) -> Result<Bfs> {
        let graph = self.engine.graph();
        Ok(Bfs {
            ended_early: self.goal.is_reached(&self.levels),
            sources: self.sources,
            levels: self.levels.into_plain().into(),
            parents: self.parents.map(|found| found.finish(graph)).transpose()?.map(Into::into),
            reached: self.reached,
            depth: self.level,
            run: Run::of(self.engine),
        })
    }
}

/// Whether all arcs of a directed graph are looked at for a level of so many vertices, rather than
/// to search them for each of these.
fn are_scanned(unvisited: &Unvisited, vertices: usize) -> bool {
    unvisited.lists() == 0 && vertices.saturating_mul(ARCS_SCANNED) >= unvisited.arcs()
}

/// Targets not known to be reached; `None` for a full search.
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

    /// The highest level of these targets: higher levels do not matter.
    fn level_max(&self, levels: &[AtomicU32]) -> u32 {
        let level = |&v: &VertexId| levels[v as usize].load(Ordering::Relaxed);
        self.0.iter().flatten().map(level).max().unwrap_or(UNREACHED)
    }
}
