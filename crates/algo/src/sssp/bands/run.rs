//! Buckets of delta-stepping, band by band.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, EngineConfig, Frontier, Graph, Messages, NamedPages,
    StateFile, VertexId,
};

use super::super::length::{Lengths, OVERFLOW, UNREACHED};
use super::super::relax::visit;
use super::super::{Sssp, SsspConfig, default_delta, overflow};
use super::band::Band;
use super::bounds::Bounds;
use super::finish::finish;
use super::follow::Follow;
use super::lists::Lists;
use super::parents::{Found, Sets, propose};
use super::plan::Plan;
use super::relax::{MESSAGE_BYTES, Relax, Waiting, parts};
use crate::bands::parents::{self, Pairs, Proposals};
use crate::bands::{BandPlan, list_max};
use crate::parallel;
use crate::parts::Room;
use crate::report::{Result, Run};
use crate::worklist::goes_without_steps;

/// Runs the search from these sources, in the order of their ids.
pub(in super::super) fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    (sources, sssp): (Vec<VertexId>, &SsspConfig),
    plan: &Plan,
) -> Result<Sssp> {
    let engine = Engine::new(Arc::clone(graph), config, &plan.steps.needs)?;
    engine.install(|| {
        let lists = plan.with_lists.as_ref().map(|plan| Lists::new(&engine, &plan.layout));
        let lists = lists.transpose()?.flatten();
        let plan = plan.with_lists.as_ref().filter(|_| lists.is_some()).unwrap_or(&plan.steps);
        let layout = &plan.layout;
        let file = engine.state_file(layout.buffer_bytes)?;
        let messages = Messages::new(&engine, &file, layout.bands, layout.block_bytes);
        let delta = sssp.delta.unwrap_or_else(|| default_delta(graph));
        let mut search = Search::new(&engine, (plan, &file, &messages), (&sources, sssp), delta)?;
        search.lists = lists;
        search.run()?;
        search.lists = None;
        let (lengths, bound, buckets) = (search.lengths, search.bound(), search.buckets);
        let (place, stored) = (search.place, search.stored);
        let (mut active, mut band) = (search.active, search.band.distances);
        let (bounds, mut frontier) = (search.bounds, search.frontier);
        let found = engine.step("distances", || {
            finish(graph, layout, (&file, place, &stored), bound, (&mut band, &mut active))
        })?;
        let farthest = found.farthest.unwrap_or((sources[0], 0));
        overflow(lengths, farthest.1)?;
        drop((messages, band));
        let pairs = Pairs::new(&engine, &file, layout.bands, layout.block_bytes);
        let parents = match sssp.parents {
            false => None,
            true => Some(engine.step("parents", || {
                let (engine, file, bounds, sources) = (&engine, &file, &bounds, &sources);
                let found = Found { engine, layout, file, place, lengths, sources, bounds };
                let set = || Bitmap::new(layout.vertices);
                let sets = Sets { open: active, tied: set()?, next: set()? };
                let proposals = Proposals::new(engine, layout, &pairs);
                propose(&found, sets, &mut frontier, &proposals)?;
                drop(proposals);
                parents::write(engine, (file, layout), pairs)
            })?),
        };
        drop((bounds, frontier));
        let sealed = file.seal();
        let parents = parents.map(|place| sealed.array(place, layout.vertices)).transpose()?;
        let distances = sealed.array(place, layout.vertices)?;
        let run = Run { bands: Some(plan.report.clone()), ..Run::of(&engine) };
        let parts = (lengths, bound, delta);
        Ok(Sssp::with(sources, (buckets, found.reached, farthest), parts, distances, parents, run))
    })
}

/// All lists of a band are read once small steps have visited one page in so many: some bands have
/// but a few vertices that are reached.
const STEPS_SHARE: u64 = 4;

/// The state of a search between visits of bands.
struct Search<'a> {
    engine: &'a Engine,
    plan: &'a BandPlan,
    file: &'a StateFile,
    messages: &'a Messages<'a, MESSAGE_BYTES>,
    sources: &'a [VertexId],
    lengths: Lengths,
    delta: f64,
    /// Place of the distances.
    place: u64,
    band: Band,
    /// Whether the distances of each band are in the file.
    stored: Vec<bool>,
    /// Vertices whose distance fell since their list was last visited.
    active: Bitmap,
    frontier: Frontier,
    bounds: Bounds,
    /// Room for the lists of a band, where these are in memory.
    lists: Option<Lists>,
    /// Messages that wait for each band.
    waiting: Vec<Waiting>,
    /// Of each band, the least distance of an active vertex.
    nearest: Vec<u64>,
    /// Targets with their distances as known.
    targets: Vec<(VertexId, u64)>,
    buckets: u64,
}

impl<'a> Search<'a> {
    fn new(
        engine: &'a Engine,
        (plan, file, messages): (&'a BandPlan, &'a StateFile, &'a Messages<'a, MESSAGE_BYTES>),
        (sources, sssp): (&'a [VertexId], &SsspConfig),
        delta: f64,
    ) -> Result<Self> {
        let (graph, layout) = (engine.graph(), &plan.layout);
        let n = layout.vertices;
        let lengths = Lengths::of(graph);
        let waiting: Vec<_> = (0..layout.bands).map(|_| Waiting::new()).collect();
        sources.iter().for_each(|&source| waiting[layout.band_of(source)].add(0));
        Ok(Self {
            engine,
            plan,
            file,
            messages,
            sources,
            lengths,
            delta,
            place: file.reserve(8 * n as u64),
            band: Band::new(layout)?,
            stored: vec![false; layout.bands],
            active: Bitmap::new(n)?,
            frontier: Frontier::with_list_max(n, list_max(n))?,
            bounds: Bounds::new(n, lengths, delta)?,
            lists: None,
            waiting,
            nearest: vec![UNREACHED; layout.bands],
            targets: sssp.targets.iter().map(|&target| (target, UNREACHED)).collect(),
            buckets: 0,
        })
    }

    fn run(&mut self) -> Result<()> {
        loop {
            let bound = self.bound().min(OVERFLOW - 1);
            let first = (0..self.nearest.len()).map(|band| self.first(band)).min();
            let Some(first) = first.filter(|first| *first <= bound) else { return Ok(()) };
            let end = self.lengths.bucket_end(first, self.delta);
            self.buckets += 1;
            // Round by round, as bands send each other lengths within the bucket.
            while let Some(band) = self.next_band(0, end) {
                let mut next = Some(band);
                while let Some(band) = next {
                    self.engine.check_cancel()?;
                    let label = format!("bucket {}, band {}", self.buckets, band + 1);
                    self.engine.step(label, || self.band(band, end))?;
                    next = self.next_band(band + 1, end);
                }
            }
        }
    }

    /// The least length of a path that is to be followed from a band.
    fn first(&self, band: usize) -> u64 {
        self.nearest[band].min(self.waiting[band].least())
    }

    /// The first band from `from` on with a path shorter than `end`.
    fn next_band(&self, from: usize, end: u64) -> Option<usize> {
        (from..self.nearest.len()).find(|&band| self.first(band) < end)
    }

    /// The distance of the farthest target; larger distances are not searched.
    fn bound(&self) -> u64 {
        let farthest = self.targets.iter().map(|&(_, distance)| distance).max();
        farthest.unwrap_or(UNREACHED - 1).min(UNREACHED - 1)
    }

    /// Follows all paths from a band that are shorter than `end`, and longer ones while their lists
    /// are less than the distances that are read and written for them. Where few vertices are to be
    /// followed, each further bucket is twice as wide: many small ones would cost more than what is
    /// followed in vain.
    fn band(&mut self, band: usize, mut end: u64) -> Result<()> {
        self.load(band)?;
        let (range, place) = (self.band.range.clone(), self.place_of(band));
        let (moved, page_bytes) = (2 * self.band.bytes(), self.engine.graph().page_bytes());
        let in_steps = self.in_steps_max(band);
        let (mut visited, mut width, mut few_end) = (0, self.delta, end);
        loop {
            if visited >= in_steps && self.active.iter_in(range.clone()).next().is_some() {
                self.search_in_memory()?;
                self.nearest[band] = UNREACHED;
                break;
            }
            if let Some(pages) = self.follow(few_end)? {
                visited += pages as u64 * page_bytes as u64;
                continue;
            }
            if self.take_near(end) {
                (width, few_end) = (self.delta, end);
                let active = ActiveSet::In(&self.frontier);
                visited += self.engine.active_pages(Direction::Out, &active) * page_bytes as u64;
                self.relax()?;
                continue;
            }
            let near = self.active.iter_in(range.clone()).map(|v| self.band.distance(v));
            self.nearest[band] = near.min().unwrap_or(UNREACHED);
            let bound = self.bound().min(OVERFLOW - 1);
            if self.nearest[band] > bound || visited >= moved {
                break;
            }
            width *= 2.0;
            end = self.lengths.bucket_end(self.nearest[band], self.delta);
            few_end = self.lengths.bucket_end(self.nearest[band], width).max(end);
        }
        for part in self.band.parts() {
            let first = range.start as usize + part.start;
            parallel::for_each_of(&self.band.distances[part], |at, cell| {
                match cell.load(Ordering::Relaxed) {
                    UNREACHED => {}
                    length => self.bounds.set((first + at) as VertexId, length),
                }
            });
        }
        self.band.write((self.file, place))?;
        self.stored[band] = true;
        Ok(())
    }

    /// How many bytes of lists are visited in steps before all of a band are read into memory.
    fn in_steps_max(&self, band: usize) -> u64 {
        let graph = self.engine.graph();
        let adjacency = graph.adjacency(Direction::Out).expect("all graphs have out-lists");
        let may = self.lists.as_ref().is_some_and(|lists| lists.fit(band));
        match may && self.band.is_whole() {
            true => {
                let pages = Room::pages_of(adjacency, &self.band.range).count() as u64;
                pages * graph.page_bytes() as u64 / STEPS_SHARE
            }
            false => u64::MAX,
        }
    }

    /// Follows all paths from the band that are within the bound, with its lists in memory.
    fn search_in_memory(&mut self) -> Result<()> {
        let mut lists = self.lists.take().expect("only where there is room");
        let sent = lists.search(self.engine, &self.edges())?;
        self.messages.post([sent])?;
        self.lists = Some(lists);
        self.see_targets();
        Ok(())
    }

    /// Makes the active vertices of the band that are nearer than `end` the frontier; false if
    /// there are none.
    fn take_near(&mut self, end: u64) -> bool {
        let range = self.band.range.clone();
        let near = self.active.iter_in(range.clone());
        self.frontier.set(near.filter(|&v| self.band.distance(v) < end));
        match self.frontier.list() {
            Some(list) => list.iter().for_each(|&v| self.active.remove(v)),
            None => self.frontier.bits().iter_in(range).for_each(|v| self.active.remove(v)),
        }
        self.see_targets();
        !self.frontier.is_empty()
    }

    /// Relaxes the edges of the frontier.
    fn relax(&mut self) -> Result<()> {
        let sent = visit(self.engine, "relax".to_owned(), &self.frontier, &self.edges())?;
        Ok(self.messages.post(sent)?)
    }

    fn edges(&self) -> Relax<'_> {
        Relax {
            layout: &self.plan.layout,
            lengths: self.lengths,
            band: &self.band,
            active: &self.active,
            bounds: &self.bounds,
            messages: self.messages,
            waiting: &self.waiting,
            bound: self.bound(),
        }
    }

    /// Follows the active vertices of the band that are nearer than `end`, page by page, if they
    /// are few; returns the number of pages, and `None` if there are none or many of them.
    fn follow(&mut self, end: u64) -> Result<Option<usize>> {
        let graph = self.engine.graph();
        let adjacency = graph.adjacency(Direction::Out).expect("all graphs have out-lists");
        let follow = Follow { relax: self.edges(), adjacency, end };
        let tasks = match goes_without_steps(self.engine.config()) {
            true => follow.pages().filter(|pages| !pages.is_empty()),
            false => None,
        };
        let Some(tasks) = tasks else { return Ok(None) };
        let (engine, out, pages) = (self.engine, Direction::Out, NamedPages::of_step(&tasks));
        let locals = match graph.is_weighted() {
            true => engine.visit_weighted_pages("follow", out, pages, &follow)?,
            false => engine.visit_pages("follow", out, pages, &follow)?,
        };
        self.messages.post(locals.into_iter().map(|local| local.sent))?;
        self.see_targets();
        Ok(Some(tasks.len()))
    }

    fn place_of(&self, band: usize) -> u64 {
        self.place + 8 * u64::from(self.plan.layout.range(band).start)
    }

    /// Reads the distances of a band, of few vertices only theirs, and takes the messages that wait
    /// for it.
    fn load(&mut self, band: usize) -> Result<()> {
        let (range, place) = (self.plan.layout.range(band), self.place_of(band));
        let waiting = &self.waiting[band];
        let few = |search: &Self| {
            let left = search.active.iter_in(range.clone()).take(search.band.sparse_max() + 1);
            search.stored[band] && left.count() + waiting.count() <= search.band.sparse_max()
        };
        if few(self) {
            let list = Mutex::new(Vec::with_capacity(waiting.count()));
            self.messages.take(band, |message| {
                list.lock().unwrap_or_else(PoisonError::into_inner).push(parts(message));
            })?;
            let list = list.into_inner().unwrap_or_else(PoisonError::into_inner);
            let taken = list.iter().map(|&(v, _)| v);
            let only: Vec<_> = self.active.iter_in(range.clone()).chain(taken).collect();
            self.band.read(range, (self.file, place), Some(&only))?;
            list.into_iter().for_each(|(v, length)| self.band.shorten(v, length, &self.active));
        } else {
            if self.stored[band] {
                self.band.read(range, (self.file, place), None)?;
            } else {
                self.band.begin(range.clone());
                for &source in self.sources.iter().filter(|&source| range.contains(source)) {
                    self.band.shorten(source, 0, &self.active);
                }
            }
            self.messages.take(band, |message| {
                let (v, length) = parts(message);
                self.band.shorten(v, length, &self.active);
            })?;
        }
        self.waiting[band].clear();
        Ok(())
    }

    /// Notes the distances of targets that are in memory.
    fn see_targets(&mut self) {
        for (target, known) in self.targets.iter_mut().filter(|(v, _)| self.band.has(*v)) {
            *known = self.band.distance(*target);
        }
    }
}
