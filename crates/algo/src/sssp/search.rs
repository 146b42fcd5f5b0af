//! The state of a search, its buckets and steps.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Bitmap, Direction, Engine, Frontier, HugeVec, VertexId};

use super::asynchronous::Asynchronous;
use super::length::{Lengths, OVERFLOW, UNREACHED};
use super::parents::{self, Found};
use super::paths::Paths;
use super::relax::{Relax, visit};
use super::{Sssp, SsspConfig, default_delta, loads_lists, overflow};
use crate::kind::is_clustered;
use crate::parallel;
use crate::parts::{Cut, PartSearch};
use crate::ranks::for_each_by_id;
use crate::report::{Result, Run};
use crate::worklist::{StepBudget, fill_cache, goes_without_steps};

/// Vertices that a thread scans at a time for the nearest remaining one.
const SCAN_VERTICES: usize = 1 << 16;

/// The state of a search between steps.
pub(super) struct Search<'e> {
    pub(super) engine: &'e Engine,
    sources: Vec<VertexId>,
    targets: Vec<VertexId>,
    pub(super) lengths: Lengths,
    pub(super) delta: f64,
    pub(super) distances: HugeVec<AtomicU64>,
    pub(super) frontier: Frontier,
    pub(super) next: Frontier,
    /// Vertices of later buckets whose distance fell since their list was last visited.
    pub(super) far: Bitmap,
    pub(super) buckets: u64,
    step_budget: StepBudget,
    /// Whether edges were found to lead far.
    is_far: bool,
}

impl<'e> Search<'e> {
    pub fn new(engine: &'e Engine, sources: Vec<VertexId>, sssp: &SsspConfig) -> Result<Self> {
        let graph = engine.graph();
        let n = graph.vertices();
        let distances = HugeVec::<AtomicU64>::zeroed(n)?;
        parallel::for_each_of(&distances, |_, distance| {
            distance.store(UNREACHED, Ordering::Relaxed);
        });
        for &source in &sources {
            distances[source as usize].store(0, Ordering::Relaxed);
        }
        let far = Bitmap::new(n)?;
        sources.iter().for_each(|&source| _ = far.insert(source));
        Ok(Self {
            engine,
            sources,
            targets: sssp.targets.clone(),
            lengths: Lengths::of(graph),
            delta: sssp.delta.unwrap_or_else(|| default_delta(graph)),
            distances,
            frontier: Frontier::new(n)?,
            next: Frontier::new(n)?,
            far,
            buckets: 0,
            step_budget: step_budget(engine),
            is_far: false,
        })
    }

    /// Searches in buckets, from the vertices in `far`.
    pub fn run(&mut self) -> Result<()> {
        self.forget_steps();
        while let Some(first) = self.first() {
            self.buckets += 1;
            let end = self.lengths.bucket_end(first, self.delta);
            self.take_bucket(end);
            while !self.frontier.is_empty() {
                if self.finish_without_steps()? {
                    return Ok(());
                }
                self.step(end)?;
            }
        }
        Ok(())
    }

    /// Where the next bucket begins: the least distance of a vertex in later buckets, if that is
    /// within the bound.
    pub(super) fn first(&self) -> Option<u64> {
        let bound = self.bound().min(OVERFLOW - 1);
        self.nearest_far().filter(|first| *first <= bound)
    }

    /// After many small steps: ends the search in memory, part by part if the lists do not fit, or
    /// without steps. False if it is to go on step by step, as the papers' strategies always do.
    pub(super) fn finish_without_steps(&mut self) -> Result<bool> {
        if !goes_without_steps(self.engine.config()) {
            return Ok(false);
        }
        let is_exhausted = self.count_step();
        let cut = if is_exhausted { Some(self.cut()?) } else { self.cut_nearby()?.map(Some) };
        cut.map_or(Ok(false), |cut| self.finish_by(cut).map(|()| true))
    }

    /// After some small steps, if edges lead nearby: ends the search in memory.
    pub(super) fn finish_nearby(&mut self) -> Result<bool> {
        self.count_step();
        self.cut_nearby()?.map_or(Ok(false), |cut| self.finish_by(Some(cut)).map(|()| true))
    }

    /// Steps before large passes do not count for [`Search::finish_without_steps`].
    pub(super) fn forget_steps(&mut self) {
        self.step_budget = step_budget(self.engine);
    }

    /// Counts the next step; whether it is better not to go on in steps.
    fn count_step(&mut self) -> bool {
        let graph = self.engine.graph();
        let active = ActiveSet::In(&self.frontier);
        let pages = self.engine.active_pages(Direction::Out, &active);
        self.step_budget.is_exhausted(graph, &self.frontier, pages)
    }

    /// How lists are cut for a search in memory; `None` if it is to go on page by page.
    fn cut(&self) -> Result<Option<Cut>> {
        match self.loads_lists() {
            true => Cut::of(self.engine, self.engine.memory().scratch_bytes),
            false => Ok(None),
        }
    }

    /// The same, if that is known to be better after few steps, since edges lead nearby.
    fn cut_nearby(&mut self) -> Result<Option<Cut>> {
        if !self.loads_lists() || self.is_far || !self.step_budget.is_exhausted_if_near() {
            return Ok(None);
        }
        // Once: whether edges lead nearby does not change.
        self.is_far = true;
        Cut::of_near(self.engine, self.engine.memory().scratch_bytes)
    }

    /// Ends the search in memory, or page by page.
    pub(super) fn finish_by(&mut self, cut: Option<Cut>) -> Result<()> {
        let (engine, graph) = (self.engine, self.engine.graph());
        self.next.clear();
        let active = self.frontier.bits().iter().chain(self.far.iter());
        if let Some(cut) = cut {
            let paths = Paths::new(graph, &self.distances);
            let search = PartSearch::new(engine, &paths, cut, self.next.bits());
            active.for_each(|v| search.activate(v));
            self.buckets += search.run(|| self.bound())?;
        } else {
            fill_cache(engine)?;
            let search =
                Asynchronous::new(engine, &self.distances, self.lengths, self.next.bits())?;
            active.for_each(|v| search.activate(v));
            let rounds = search.run(|| self.bound())?;
            drop(search);
            self.buckets += rounds;
        }
        self.far.clear();
        self.frontier.clear();
        self.next.clear();
        Ok(())
    }

    /// Visits the frontier; vertices whose distance falls within the bucket are the next frontier.
    pub(super) fn step(&mut self, end: u64) -> Result<()> {
        let kernel = Relax {
            distances: &self.distances,
            lengths: self.lengths,
            next: &self.next,
            far: &self.far,
            end,
            bound: self.bound(),
        };
        let label = format!("bucket {}", self.buckets);
        let parts = visit(self.engine, label, &self.frontier, &kernel)?;
        self.frontier.advance(&mut self.next, parts);
        Ok(())
    }

    /// The distance of the farthest target; larger distances are not searched.
    pub(super) fn bound(&self) -> u64 {
        let distance = |&v: &VertexId| self.distances[v as usize].load(Ordering::Relaxed);
        self.targets.iter().map(distance).max().unwrap_or(UNREACHED - 1).min(UNREACHED - 1)
    }

    /// The least distance of a vertex in later buckets.
    pub(super) fn nearest_far(&self) -> Option<u64> {
        let distance = |v: VertexId| self.distances[v as usize].load(Ordering::Relaxed);
        let nearest = |range: Range<usize>| {
            self.far.iter_in(range.start as VertexId..range.end as VertexId).map(distance).min()
        };
        let n = self.distances.len();
        match n.div_ceil(SCAN_VERTICES) {
            0..4 => nearest(0..n),
            _ => parallel::collect_of_blocks(SCAN_VERTICES, n, nearest).into_iter().flatten().min(),
        }
    }

    /// Whether the search may end in memory, part by part.
    pub(super) fn loads_lists(&self) -> bool {
        loads_lists(self.engine.graph(), self.engine.config())
    }

    /// Makes the vertices of the frontier those of a later bucket.
    pub(super) fn put_back(&mut self) {
        self.frontier.bits().iter().for_each(|v| _ = self.far.insert(v));
        self.frontier.clear();
    }

    /// Makes the vertices nearer than `end` of later buckets the frontier.
    pub(super) fn take_bucket(&mut self, end: u64) {
        let distance = |v: VertexId| self.distances[v as usize].load(Ordering::Relaxed);
        self.frontier.set(self.far.iter().filter(|&v| distance(v) < end));
        match self.frontier.list() {
            Some(list) => list.iter().for_each(|&v| self.far.remove(v)),
            None => self.frontier.bits().iter().for_each(|v| self.far.remove(v)),
        }
    }

    pub fn finish(mut self, with_parents: bool) -> Result<Sssp> {
        let bound = self.bound();
        let (mut reached, mut farthest) = (0, (self.sources[0], 0));
        for_each_by_id(self.engine.graph(), |v| {
            let distance = &self.distances[v as usize];
            let length = distance.load(Ordering::Relaxed);
            if length > bound {
                distance.store(UNREACHED, Ordering::Relaxed);
                return;
            }
            reached += 1;
            if length > farthest.1 {
                farthest = (v, length);
            }
        })?;
        overflow(self.lengths, farthest.1)?;
        let parents = if with_parents { Some(self.parents()?.into()) } else { None };
        let found = (self.buckets, reached, farthest);
        let parts = (self.lengths, bound, self.delta);
        let distances = self.distances.into_plain().into();
        Ok(Sssp::with(self.sources, found, parts, distances, parents, Run::of(self.engine)))
    }

    fn parents(&mut self) -> Result<HugeVec<VertexId>> {
        let Self { frontier, next, far, .. } = self;
        let found = Found {
            engine: self.engine,
            distances: &self.distances,
            lengths: self.lengths,
            sources: &self.sources,
        };
        parents::find(&found, frontier, next, far)
    }
}

fn step_budget(engine: &Engine) -> StepBudget {
    let in_memory = engine.memory().scratch_bytes > 0;
    StepBudget::new(engine.graph(), in_memory || is_clustered(engine.graph()))
}
