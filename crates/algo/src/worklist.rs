//! Worklists of pages, for algorithms of many small steps: without a barrier per step, without a
//! search for active vertices, and with as few visits of each page as its priority allows.
//!
//! **Source.** Asynchronous block-priority scheduling as in ACGraph (SIGMOD 2026).
//!
//! **Trick.** A kernel follows all active lists of a page, also those that become active on the
//! way, so neighbours on one page cost one visit, not one per step. A round visits the pages with
//! the smallest priorities: in a search their vertices are mostly final.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use cenote_engine::{
    ActiveSet, Adjacency, Bitmap, Direction, Engine, EngineConfig, Frontier, Graph, HugeVec,
    Kernel, NamedPages, Page, PageTask, Purpose, Strategy, VertexId,
};

use crate::kind::{is_clustered, is_lattice};
use crate::page_of::PageOf;
use crate::report::{Result, pages};

/// The priority of a page without active lists.
pub(crate) const IDLE: u64 = u64::MAX;

/// Priorities are looked through in blocks of so many pages.
const BLOCK_PAGES: usize = 64;

/// Below this many pages a round leaves the drive idle: the next takes more priorities.
const ROUND_PAGES_MIN: usize = 64;

/// Above this many pages a round does work that smaller priorities will undo: the next takes fewer.
const ROUND_PAGES_MAX: usize = 1024;

/// A round takes fewer priorities if so many lists were followed for each vertex reached. It is
/// about 5 on grids and roads, where a wider spread saves rounds. On a chain of cliques each wave
/// of distances sets out before the one ahead is final, and without a bound it was 150.
const FOLLOWED_MAX: u64 = 20;

/// That is counted over about so many rounds.
const RECENT_ROUNDS: u64 = 8;

/// The most pages of a round, so that the list of them takes at most 1 MiB. Others follow in the
/// next round: to read so many takes far longer than to begin a round.
const ROUND_PAGES_LISTED: usize = 1 << 16;

/// After this many consecutive small steps, many more are expected.
const STEPS_SMALL_MIN: u32 = 8;

/// Small steps are many once they have visited a share of the pages: one of this many.
const PAGES_SHARE: u64 = 2;

/// The same for a lattice.
pub(crate) const LATTICE_PAGES_SHARE: u64 = 64;

/// A step is small if it has less than `1 / VERTICES_SHARE` of the graph's vertices.
const VERTICES_SHARE: u64 = 64;

/// How far apart the levels of a round lie at most where vertices lie in the order of clusters. The
/// pages that a wave crosses then mostly fit in memory, and rounds of few pages do not leave the
/// drive idle.
pub(crate) const APART_CLUSTERED: u64 = 16;

const PAGES: &str = "bytes_for() refuses more pages";

/// The active lists of one direction, by page.
#[derive(Debug)]
pub(crate) struct Worklist<'a> {
    adjacency: &'a Adjacency,
    /// Vertices whose list is active from its first piece on.
    active: &'a Bitmap,
    /// Pages that begin with an active piece of a list from an earlier page.
    pieces: Bitmap,
    /// For each page the smallest priority of its active lists.
    first: HugeVec<AtomicU64>,
    /// For each [`BLOCK_PAGES`] of these at most the smallest. It may be less, since taking lists
    /// does not raise it; [`Worklist::first`] does.
    blocks: HugeVec<AtomicU64>,
}

impl<'a> Worklist<'a> {
    /// Bytes beside a set of vertices; `u64::MAX` for more than 2^32 pages.
    pub fn bytes_for(pages: u64) -> u64 {
        match u32::try_from(pages) {
            Ok(pages) => {
                let pages = u64::from(pages);
                let blocks = pages.div_ceil(BLOCK_PAGES as u64);
                8 * (pages + blocks) + Bitmap::bytes_for(pages as usize) + round_bytes(pages)
            }
            Err(_) => u64::MAX,
        }
    }

    /// An empty worklist. `active` is an empty set over the vertices.
    pub fn new(adjacency: &'a Adjacency, active: &'a Bitmap) -> Result<Self> {
        let pages = usize::try_from(adjacency.pages()).expect("an index of the pages is in memory");
        let idle = |count: usize| -> Result<_> {
            let all = HugeVec::<AtomicU64>::zeroed(count)?;
            all.iter().for_each(|priority| priority.store(IDLE, Ordering::Relaxed));
            Ok(all)
        };
        let (first, blocks) = (idle(pages)?, idle(pages.div_ceil(BLOCK_PAGES))?);
        Ok(Self { adjacency, active, pieces: Bitmap::new(pages)?, first, blocks })
    }

    /// Makes the list of `v` active.
    pub fn activate(&self, v: VertexId, priority: u64) {
        let pages = self.adjacency.pages_of(v);
        // A thread that takes the vertex out of the set sees what was stored before.
        fence(Ordering::Release);
        self.active.insert(v);
        self.raise(*pages.start(), priority);
        self.activate_pieces(pages.start() + 1..pages.end() + 1, priority);
    }

    /// [`Worklist::activate`] between rounds, for vertices that ascend; `page` is that of the one
    /// before, the default at first.
    pub fn activate_next(&self, v: VertexId, priority: u64, page: &mut PageOf) {
        let before = page.clone();
        let number = page.find(self.adjacency, v);
        self.active.insert(v);
        if *page != before {
            self.raise(number, priority);
        }
        if self.runs_on(number) == Some(v) {
            self.activate_further(v, priority);
        }
    }

    /// Makes the pieces of the list of `v` behind its first active, if there are any.
    pub fn activate_further(&self, v: VertexId, priority: u64) {
        let pages = self.adjacency.pages_of(v);
        fence(Ordering::Release);
        self.activate_pieces(pages.start() + 1..pages.end() + 1, priority);
    }

    fn activate_pieces(&self, pages: Range<u64>, priority: u64) {
        for page in pages {
            self.pieces.insert(VertexId::try_from(page).expect(PAGES));
            self.raise(page, priority);
        }
    }

    /// Gives a page at least this priority.
    fn raise(&self, page: u64, priority: u64) {
        let page = page as usize;
        if self.first[page].fetch_min(priority, Ordering::Release) > priority {
            self.blocks[page / BLOCK_PAGES].fetch_min(priority, Ordering::Relaxed);
        }
    }

    /// The vertices whose lists start on a page.
    pub fn starting(&self, page: u64) -> Range<VertexId> {
        self.adjacency.starting_in(page)
    }

    /// The vertex whose list runs on behind this page, if it starts here.
    pub fn runs_on(&self, page: u64) -> Option<VertexId> {
        self.adjacency.runs_on(page)
    }

    /// Takes the active lists of a page. A list that is activated later is either taken now or
    /// makes the page active again.
    pub fn take(&self, number: u64, page: &Page<'_>, mut each: impl FnMut(VertexId)) {
        self.first[number as usize].swap(IDLE, Ordering::Acquire);
        self.active.take_in(self.starting(number), &mut each);
        let piece = VertexId::try_from(number).expect(PAGES);
        if self.pieces.contains(piece) {
            self.pieces.remove(piece);
            each(page.first_vertex());
        }
        fence(Ordering::Acquire);
    }

    /// Makes no list active any more.
    pub fn clear(&mut self) {
        let all = self.first.iter_mut().chain(self.blocks.iter_mut());
        all.for_each(|priority| *priority.get_mut() = IDLE);
        self.pieces.clear();
        self.active.take_in(0..self.active.len() as VertexId, |_| {});
    }

    /// The smallest priority; between rounds.
    pub fn first(&self) -> u64 {
        let mut smallest = IDLE;
        for (block, pages) in self.blocks.iter().zip(self.first.chunks(BLOCK_PAGES)) {
            if block.load(Ordering::Relaxed) < smallest {
                let priorities = pages.iter().map(|priority| priority.load(Ordering::Relaxed));
                let first = priorities.min().unwrap_or(IDLE);
                block.store(first, Ordering::Relaxed);
                smallest = smallest.min(first);
            }
        }
        smallest
    }

    /// The pages with priorities of at most `last`, as many as a round may have; between rounds.
    pub fn up_to(&self, last: u64) -> Vec<PageTask> {
        let last = last.min(IDLE - 1);
        let is_within = |priority: &AtomicU64| priority.load(Ordering::Relaxed) <= last;
        let blocks = self.blocks.iter().enumerate().filter(|(_, block)| is_within(block));
        let active = blocks.flat_map(|(block, _)| {
            let first = block * BLOCK_PAGES;
            let pages = first..self.first.len().min(first + BLOCK_PAGES);
            pages.filter(|&page| is_within(&self.first[page])).map(|page| page as u64)
        });
        round_of(active.clone().count(), active)
    }

    /// Whether a page has a priority above `last`; between rounds.
    fn goes_beyond(&self, last: u64) -> bool {
        let blocks = self.blocks.iter().zip(self.first.chunks(BLOCK_PAGES));
        let mut waiting = blocks.filter(|(block, _)| block.load(Ordering::Relaxed) != IDLE);
        waiting.any(|(_, pages)| {
            pages
                .iter()
                .any(|priority| (last + 1..IDLE).contains(&priority.load(Ordering::Relaxed)))
        })
    }
}

/// Bytes of the list of a round's pages, of so many.
pub(crate) fn round_bytes(pages: u64) -> u64 {
    pages.min(ROUND_PAGES_LISTED as u64) * size_of::<PageTask>() as u64
}

/// The first of so many ascending pages, as many as a round may have.
pub(crate) fn round_of(count: usize, pages: impl Iterator<Item = u64>) -> Vec<PageTask> {
    let count = count.min(ROUND_PAGES_LISTED);
    let mut tasks = Vec::with_capacity(count);
    tasks.extend(pages.take(count).map(|page| PageTask { page, from: 0, to: 0 }));
    tasks
}

/// How far the priorities of a round may lie apart: farther while its pages are too few, less far
/// while they are too many, or most lists are followed again because they were followed too early.
#[derive(Debug)]
pub(crate) struct Slack {
    apart: u64,
    apart_max: u64,
    /// Of the last rounds, older ones counting less.
    followed: u64,
    reached: u64,
}

/// What has been done since the last round.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    followed: AtomicU64,
    reached: AtomicU64,
}

impl Progress {
    /// Adds the lists followed on a page, and the vertices reached for the first time.
    pub fn add(&self, followed: u64, reached: u64) {
        self.followed.fetch_add(followed, Ordering::Relaxed);
        self.reached.fetch_add(reached, Ordering::Relaxed);
    }
}

impl Slack {
    /// Initially this far.
    pub fn new(apart: u64) -> Self {
        Self { apart: apart.max(1), apart_max: u64::MAX, followed: 0, reached: 0 }
    }

    /// Never farther than this.
    pub fn at_most(mut self, apart_max: u64) -> Self {
        self.apart_max = apart_max;
        self
    }

    /// How far.
    pub fn apart(&self) -> u64 {
        self.apart
    }

    /// The next round: its pages, of priorities below `end`. `progress` is that of the last, and
    /// begins anew.
    pub fn next_round(
        &mut self,
        worklist: &Worklist<'_>,
        end: u64,
        progress: &Progress,
    ) -> Vec<PageTask> {
        let first = worklist.first();
        if first >= end {
            return Vec::new();
        }
        let last = first.saturating_add(self.apart).min(end.saturating_sub(1));
        let tasks = worklist.up_to(last);
        let recent = |sum: u64, last: &AtomicU64| {
            sum - sum / RECENT_ROUNDS + last.swap(0, Ordering::Relaxed)
        };
        self.followed = recent(self.followed, &progress.followed);
        self.reached = recent(self.reached, &progress.reached);
        // Few lists are no waste, as at the end of a search, when all vertices are reached.
        let is_wasteful = self.followed > FOLLOWED_MAX * self.reached.max(RECENT_ROUNDS);
        if is_wasteful || tasks.len() > ROUND_PAGES_MAX {
            self.apart = self.apart.div_ceil(2);
        } else if tasks.len() < ROUND_PAGES_MIN && worklist.goes_beyond(last) {
            self.apart = self.apart.saturating_mul(2).min(self.apart_max);
        }
        tasks
    }
}

/// Counts the cost of small steps, to decide when a search goes on without them: in memory, where
/// the remaining lists fit, part by part ([`parts`](crate::parts)), or by a [`Worklist`]. At worst,
/// if the search would end with the next step, the pass that loads the lists doubles the time.
#[derive(Debug)]
pub(crate) struct StepBudget {
    steps_small: u32,
    pages_seen: u64,
    pages_max: u64,
    pages_max_near: u64,
}

impl StepBudget {
    /// `may_end_soon`: whether the search can end in memory, all lists at once or part by part, or
    /// with neighbours on the same pages. On a graph that looks like a lattice that is faster than
    /// many more steps, which are to be expected unless the search is in one of its small
    /// components.
    pub fn new(graph: &Graph, may_end_soon: bool) -> Self {
        let ends_soon = may_end_soon && is_lattice(graph);
        let share = if ends_soon { LATTICE_PAGES_SHARE } else { PAGES_SHARE };
        let all = pages(graph, Direction::Out);
        let (pages_max, pages_max_near) = (all / share, all / LATTICE_PAGES_SHARE);
        Self { steps_small: 0, pages_seen: 0, pages_max, pages_max_near }
    }

    /// As [`StepBudget::is_exhausted`] was with the last step, for a graph whose edges lead nearby.
    pub fn is_exhausted_if_near(&self) -> bool {
        self.steps_small > STEPS_SMALL_MIN && self.pages_seen > self.pages_max_near
    }

    /// Counts the next step; true if to go on without steps is now the better choice.
    pub fn is_exhausted(
        &mut self,
        graph: &Graph,
        frontier: &Frontier,
        frontier_pages: u64,
    ) -> bool {
        self.count(frontier.count() * VERTICES_SHARE < graph.vertices() as u64, frontier_pages)
    }

    /// The same for a round of so many pages.
    pub fn is_exhausted_by_round(&mut self, graph: &Graph, round_pages: u64) -> bool {
        self.count(round_pages * VERTICES_SHARE < pages(graph, Direction::Out), round_pages)
    }

    fn count(&mut self, is_small: bool, pages: u64) -> bool {
        self.steps_small = if is_small { self.steps_small + 1 } else { 0 };
        self.pages_seen += pages;
        self.steps_small > STEPS_SMALL_MIN && self.pages_seen > self.pages_max
    }
}

/// Whether a run may go on without steps. The papers' strategies never do.
pub(crate) fn goes_without_steps(config: &EngineConfig) -> bool {
    config.strategy == Strategy::Auto
}

/// The configuration for an algorithm of many small steps: on a lattice in the order of clusters
/// each visits few pages. In another order it may not: on a sparse graph of chance, which looks
/// like a lattice, searches took twice as long with small buffers.
pub(crate) fn for_steps(graph: &Graph, config: EngineConfig) -> EngineConfig {
    let few_pages = is_lattice(graph) && is_clustered(graph) && goes_without_steps(&config);
    config.few_pages(few_pages)
}

/// Before a search without steps, which visits each page by itself: brings all pages into memory in
/// one pass of large requests, where the cache holds them all. In the order of clusters a search
/// reads neighbouring pages together anyway, and the pass would only be work more.
pub(crate) fn fill_cache(engine: &Engine) -> Result<()> {
    if engine.cached_fraction() < 1.0 || engine.config().few_pages {
        return Ok(());
    }
    let (label, out, all) = ("pages".to_owned(), Direction::Out, ActiveSet::All);
    match engine.config().weighted {
        true => engine.visit_weighted(label, out, all, &Nothing)?,
        false => engine.visit(label, out, all, &Nothing)?,
    };
    Ok(())
}

/// Only has pages read.
struct Nothing;

impl Kernel for Nothing {
    type Local = ();

    fn local(&self) {}
}

/// A search whose edges may be followed in any order, without levels.
pub(crate) trait Follow: Sync {
    /// Follows an edge of an active list; returns the vertex whose list becomes active by that.
    /// Each vertex becomes active once, or, if it is to be followed again, more often.
    fn edge(&self, source: VertexId, target: VertexId) -> Option<VertexId>;
}

/// Follows the active lists of a direction until none is left. Each step, with this label, visits
/// the pages that have active lists.
pub(crate) fn follow(
    engine: &Engine,
    label: &str,
    direction: Direction,
    worklist: &Worklist<'_>,
    search: &impl Follow,
) -> Result<()> {
    follow_while(engine, label, direction, worklist, search, |_| true).map(|_| ())
}

/// The same while `goes_on`, which is given the number of pages before each step; whether none is
/// left.
pub(crate) fn follow_while(
    engine: &Engine,
    label: &str,
    direction: Direction,
    worklist: &Worklist<'_>,
    search: &impl Follow,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<bool> {
    loop {
        let tasks = worklist.up_to(IDLE);
        if tasks.is_empty() {
            return Ok(true);
        }
        if !goes_on(tasks.len() as u64) {
            return Ok(false);
        }
        let pages = NamedPages::of_step(&tasks);
        engine.visit_pages(label, direction, pages, &Following { worklist, search })?;
    }
}

/// Follows the active lists of a page until none is active.
pub(crate) struct Following<'a, F> {
    pub worklist: &'a Worklist<'a>,
    pub search: &'a F,
}

impl<F: Follow> Kernel for Following<'_, F> {
    /// Vertices of a page whose lists are still to be followed.
    type Local = Vec<VertexId>;

    fn local(&self) -> Vec<VertexId> {
        Vec::new()
    }

    fn page(&self, stack: &mut Vec<VertexId>, page: &Page<'_>, purpose: &Purpose<'_>) {
        let (worklist, number) = (self.worklist, purpose.task.page);
        worklist.take(number, page, |v| stack.push(v));
        let (starting, runs_on) = (worklist.starting(number), worklist.runs_on(number));
        while let Some(v) = stack.pop() {
            let list = page.list_of(v).expect("active lists were taken from this page");
            for &target in list.targets {
                let Some(next) = self.search.edge(v, target) else { continue };
                if !starting.contains(&next) {
                    worklist.activate(next, 0);
                    continue;
                }
                stack.push(next);
                if runs_on == Some(next) {
                    worklist.activate_further(next, 0);
                }
            }
        }
    }
}
