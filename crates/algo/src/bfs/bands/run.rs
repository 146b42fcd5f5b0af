//! The steps of a search in bands.

use std::sync::Arc;

use cenote_engine::{
    ActiveSet, Bitmap, BlockRef, Blocks, Direction, Engine, EngineConfig, Frontier, FrontierPart,
    Graph, Kernel, VertexId,
};

use super::super::{Bfs, BfsConfig, asks_hub_neighbours};
use super::kernels::{BottomUp, BottomUpHubNeighbours, TopDown};
use super::log::{Log, write_levels};
use super::window::Window;
use crate::bands::parents::{self, Pairs, Proposals, Propose};
use crate::bands::{BandPlan, list_max};
use crate::report::{Result, Run, pages};
use crate::worklist::StepBudget;

/// A bottom-up step is tried only if the frontier has at least one page in so many: counting the
/// pages of unvisited vertices looks at every page.
const BOTTOM_UP_PART: u64 = 16;

/// Hub neighbours are tried under the same conditions as in memory.
const HUB_NEIGHBOURS_TIMES: u64 = 2;
const HUB_NEIGHBOURS_PART: u64 = 4;

/// Runs the search from these sources, in the order of their ids.
pub(in super::super) fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    (sources, bfs): (Vec<VertexId>, &BfsConfig),
    (plan, has_window): &(BandPlan, bool),
) -> Result<Bfs> {
    let engine = Engine::new(Arc::clone(graph), config, &plan.needs)?;
    engine.install(|| {
        let layout = &plan.layout;
        let file = engine.state_file(layout.buffer_bytes)?;
        let blocks = Blocks::new(&engine, &file, layout.bands, layout.block_bytes);
        let pairs = Pairs::new(&engine, &file, layout.bands, layout.block_bytes);
        let proposals = bfs.parents.then(|| Proposals::new(&engine, layout, &pairs));
        let (log, has) = (Log::new(layout, &blocks), (bfs, *has_window));
        let mut search = Search::new(&engine, log, proposals.as_ref(), has)?;
        search.run(&sources)?;
        let (depth, reached, ended_early) = (search.level, search.reached, search.is_done(bfs));
        // The sets are not needed any more.
        let refs = search.finish()?;
        let levels = engine.step("levels", || write_levels(layout, (&file, &blocks), &refs))?;
        drop((blocks, proposals));
        let write = || parents::write(&engine, (&file, layout), pairs);
        let parents = bfs.parents.then(|| engine.step("parents", write)).transpose()?;
        let sealed = file.seal();
        let array = |place| sealed.array(place, layout.vertices);
        let (levels, parents) = (array(levels)?, parents.map(array).transpose()?);
        let run = Run { bands: Some(plan.report.clone()), ..Run::of(&engine) };
        Ok(Bfs { sources, ended_early, levels, parents, reached, depth, run })
    })
}

/// The state of a search between steps.
struct Search<'a, 'p> {
    engine: &'a Engine,
    bfs: &'a BfsConfig,
    log: Log<'a>,
    /// Of parents, if they are asked for.
    proposals: Option<&'a Proposals<'p>>,
    visited: Bitmap,
    frontier: Frontier,
    next: Frontier,
    /// Vertices that a step need not read beyond their hub neighbours.
    settled: Option<Bitmap>,
    /// Where memory has room for it, and steps may be many.
    window: Option<Window>,
    step_budget: StepBudget,
    /// Whether there were many small steps.
    is_deep: bool,
    level: u32,
    reached: u64,
}

impl<'a, 'p> Search<'a, 'p> {
    fn new(
        engine: &'a Engine,
        log: Log<'a>,
        proposals: Option<&'a Proposals<'p>>,
        (bfs, has_window): (&'a BfsConfig, bool),
    ) -> Result<Self> {
        let n = engine.graph().vertices();
        let settled = asks_hub_neighbours(engine.graph(), engine.config().strategy, bfs);
        Ok(Self {
            engine,
            bfs,
            log,
            proposals,
            visited: Bitmap::new(n)?,
            frontier: Frontier::with_list_max(n, list_max(n))?,
            next: Frontier::with_list_max(n, list_max(n))?,
            settled: if settled { Some(Bitmap::new(n)?) } else { None },
            window: if has_window { Some(Window::new(engine.graph())?) } else { None },
            step_budget: StepBudget::new(engine.graph(), has_window),
            is_deep: false,
            level: 0,
            reached: 0,
        })
    }

    /// Whether there were targets and all of them are reached.
    fn is_done(&self, bfs: &BfsConfig) -> bool {
        !bfs.targets.is_empty() && bfs.targets.iter().all(|&v| self.visited.contains(v))
    }

    fn run(&mut self, sources: &[VertexId]) -> Result<()> {
        self.next.set(sources);
        sources.iter().for_each(|&source| _ = self.visited.insert(source));
        if let Some(proposals) = self.proposals {
            proposals.propose_sources(sources)?;
        }
        self.advance()?;
        while !self.frontier.is_empty() && !self.is_done(self.bfs) {
            if self.is_deep
                && let Some(window) = self.window.take()
            {
                self.window = self.step_of_many(window)?;
                continue;
            }
            self.window.iter_mut().for_each(Window::forget);
            self.level += 1;
            self.step()?;
            self.advance()?;
        }
        // The last step found nothing.
        self.level -= u32::from(self.level > 0 && self.frontier.is_empty());
        Ok(())
    }

    /// Takes the next frontier, and logs it.
    fn advance(&mut self) -> Result<()> {
        self.reached += self.next.count();
        match self.next.list() {
            Some(list) => list.iter().try_for_each(|&v| self.log.push(v, self.level))?,
            None => self.next.bits().iter().try_for_each(|v| self.log.push(v, self.level))?,
        }
        self.frontier.clear();
        std::mem::swap(&mut self.frontier, &mut self.next);
        Ok(())
    }

    /// Finds the levels of a window, and the frontier on its last level. Returns the window if
    /// another is worth its while.
    fn step_of_many(&mut self, mut window: Window) -> Result<Option<Window>> {
        let first = (&self.frontier, self.level);
        let sets = (&self.visited, self.next.bits());
        let last = window.search(self.engine, first, sets, &self.bfs.targets)?;
        let (mut deepest, mut part) = (self.level, FrontierPart::default());
        let is_worth = window.take(|v, level| {
            if level <= last {
                self.visited.insert(v);
                self.reached += 1;
                deepest = deepest.max(level);
                self.log.push(v, level)?;
            }
            if level == last {
                self.next.add(v, &mut part);
            }
            Ok(())
        })?;
        self.next.seal([part]);
        self.frontier.clear();
        std::mem::swap(&mut self.frontier, &mut self.next);
        // As a step that finds nothing leaves it.
        self.level = deepest + u32::from(self.frontier.is_empty());
        Ok(is_worth.then_some(window))
    }

    /// Finds the next frontier, by whatever reads least.
    fn step(&mut self) -> Result<()> {
        let frontier_pages =
            self.engine.active_pages(Direction::Out, &ActiveSet::In(&self.frontier));
        let graph = self.engine.graph();
        self.is_deep = self.step_budget.is_exhausted(graph, &self.frontier, frontier_pages);
        let all_pages = pages(graph, Direction::Out);
        let hubs = self.engine.graph().hub_neighbours().filter(|_| self.settled.is_some());
        let least = hubs
            .map(|hubs| (HUB_NEIGHBOURS_TIMES * hubs.pages()).max(all_pages / HUB_NEIGHBOURS_PART));
        let parts = match self.settled.take() {
            Some(settled) if least.is_some_and(|least| frontier_pages >= least) => {
                self.by_hub_neighbours(settled, frontier_pages)?
            }
            settled => {
                self.settled = settled;
                self.by_lists(frontier_pages, all_pages)?
            }
        };
        self.next.seal(parts);
        match self.next.list() {
            Some(list) => list.iter().for_each(|&v| _ = self.visited.insert(v)),
            None => self.visited.merge(self.next.bits()),
        }
        Ok(())
    }

    fn by_lists(&mut self, frontier_pages: u64, all_pages: u64) -> Result<Vec<FrontierPart>> {
        let unvisited = ActiveSet::NotIn(&self.visited);
        let may_be_bottom_up = self.engine.graph().adjacency(Direction::In).is_some()
            && frontier_pages * BOTTOM_UP_PART >= all_pages
            && frontier_pages > 1;
        match may_be_bottom_up
            && self.engine.active_pages(Direction::In, &unvisited) <= frontier_pages
        {
            true => self.bottom_up(unvisited),
            false => self.top_down(),
        }
    }

    fn top_down(&self) -> Result<Vec<FrontierPart>> {
        match self.proposals {
            None => self.top_down_with(()),
            Some(proposals) => self.top_down_with(proposals),
        }
    }

    fn top_down_with<P: Propose>(&self, parents: P) -> Result<Vec<FrontierPart>> {
        let kernel = TopDown { parents, visited: &self.visited, next: &self.next };
        self.visit("top-down", Direction::Out, ActiveSet::In(&self.frontier), parents, &kernel)
    }

    fn bottom_up(&self, active: ActiveSet<'_>) -> Result<Vec<FrontierPart>> {
        match self.proposals {
            None => self.bottom_up_with((), active),
            Some(proposals) => self.bottom_up_with(proposals, active),
        }
    }

    fn bottom_up_with<P: Propose>(
        &self,
        parents: P,
        active: ActiveSet<'_>,
    ) -> Result<Vec<FrontierPart>> {
        let kernel = BottomUp { parents, frontier: &self.frontier, next: &self.next };
        self.visit("bottom-up", Direction::In, active, parents, &kernel)
    }

    fn visit<P: Propose>(
        &self,
        kind: &str,
        direction: Direction,
        active: ActiveSet<'_>,
        parents: P,
        kernel: &impl Kernel<Local = (FrontierPart, P::Sender)>,
    ) -> Result<Vec<FrontierPart>> {
        let label = format!("level {} {kind}", self.level);
        let locals = self.engine.visit(label, direction, active, kernel)?;
        parents.check()?;
        Ok(locals.into_iter().map(|(part, _)| part).collect())
    }

    /// One step over hub neighbours, and then over whichever has fewer pages: the lists of the
    /// vertices that stay unsettled, or those of the frontier.
    fn by_hub_neighbours(
        &mut self,
        mut settled: Bitmap,
        frontier_pages: u64,
    ) -> Result<Vec<FrontierPart>> {
        settled.clear();
        settled.merge(&self.visited);
        let kernel = BottomUpHubNeighbours {
            visited: &self.visited,
            frontier: &self.frontier,
            next: &self.next,
            settled: &settled,
        };
        let label = format!("level {} by hub neighbours", self.level);
        let mut parts = self.engine.visit_hub_neighbours(label, &kernel)?;
        let open = ActiveSet::NotIn(&settled);
        if self.engine.active_pages(Direction::In, &open) <= frontier_pages {
            parts.extend(self.bottom_up(open)?);
        } else {
            self.visited.merge(self.next.bits());
            parts.extend(self.top_down()?);
        }
        self.settled = Some(settled);
        Ok(parts)
    }

    /// The blocks of the log, by band.
    fn finish(self) -> Result<Vec<Vec<BlockRef>>> {
        self.proposals.map_or(Ok(()), Proposals::close)?;
        self.log.finish()
    }
}
