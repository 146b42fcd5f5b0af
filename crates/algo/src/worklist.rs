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

use crate::kind::is_lattice;
use crate::report::{Result, pages};

/// The priority of a page without active lists.
pub(crate) const IDLE: u64 = u64::MAX;

/// Below this many pages a round leaves the drive idle: the next takes more priorities.
const ROUND_PAGES_MIN: usize = 64;

/// Above this many pages a round does work that smaller priorities will undo: the next takes fewer.
const ROUND_PAGES_MAX: usize = 1024;

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
}

impl<'a> Worklist<'a> {
    /// Bytes beside a set of vertices; `u64::MAX` for more than 2^32 pages.
    pub fn bytes_for(pages: u64) -> u64 {
        match u32::try_from(pages) {
            Ok(pages) => {
                let pages = u64::from(pages);
                8 * pages + Bitmap::bytes_for(pages as usize) + round_bytes(pages)
            }
            Err(_) => u64::MAX,
        }
    }

    /// An empty worklist. `active` is an empty set over the vertices.
    pub fn new(adjacency: &'a Adjacency, active: &'a Bitmap) -> Result<Self> {
        let pages = usize::try_from(adjacency.pages()).expect("an index of the pages is in memory");
        let first = HugeVec::<AtomicU64>::zeroed(pages)?;
        first.iter().for_each(|priority| priority.store(IDLE, Ordering::Relaxed));
        Ok(Self { adjacency, active, pieces: Bitmap::new(pages)?, first })
    }

    /// Makes the list of `v` active.
    pub fn activate(&self, v: VertexId, priority: u64) {
        let pages = self.adjacency.pages_of(v);
        // A thread that takes the vertex out of the set sees what was stored before.
        fence(Ordering::Release);
        self.active.insert(v);
        self.first[*pages.start() as usize].fetch_min(priority, Ordering::Release);
        self.activate_pieces(pages.start() + 1..pages.end() + 1, priority);
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
            self.first[page as usize].fetch_min(priority, Ordering::Release);
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
        self.first.iter_mut().for_each(|priority| *priority.get_mut() = IDLE);
        self.pieces.clear();
        self.active.take_in(0..self.active.len() as VertexId, |_| {});
    }

    /// The smallest priority.
    pub fn first(&self) -> u64 {
        self.first.iter().map(|priority| priority.load(Ordering::Relaxed)).min().unwrap_or(IDLE)
    }

    /// The pages with priorities of at most `last`, as many as a round may have.
    pub fn up_to(&self, last: u64) -> Vec<PageTask> {
        let last = last.min(IDLE - 1);
        let is_active = |page: &u64| self.first[*page as usize].load(Ordering::Relaxed) <= last;
        let active = (0..self.first.len() as u64).filter(is_active);
        round_of(active.clone().count(), active)
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

/// How far the priorities of a round may lie apart: it follows the number of pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slack(u64);

impl Slack {
    /// Initially this far.
    pub fn new(slack: u64) -> Self {
        Self(slack.max(1))
    }

    /// The next round: its pages, of priorities below `end`.
    pub fn next_round(&mut self, worklist: &Worklist<'_>, end: u64) -> Vec<PageTask> {
        let first = worklist.first();
        if first >= end {
            return Vec::new();
        }
        let tasks = worklist.up_to(first.saturating_add(self.0).min(end.saturating_sub(1)));
        if tasks.len() > ROUND_PAGES_MAX {
            self.0 = self.0.div_ceil(2);
        } else if tasks.len() < ROUND_PAGES_MIN {
            self.0 = self.0.saturating_mul(2);
        }
        tasks
    }
}

/// Counts the cost of small steps, to decide when a search goes on without them: in memory, where
/// the remaining lists fit, otherwise by a [`Worklist`]. At worst, if the search would end with the
/// next step, the pass that loads the lists doubles the time.
#[derive(Debug)]
pub(crate) struct StepBudget {
    steps_small: u32,
    pages_seen: u64,
    pages_max: u64,
}

impl StepBudget {
    /// `lists_fit`: whether all lists fit in memory. On a graph that looks like a lattice that is
    /// faster than many more steps, which are to be expected unless the search is in one of its
    /// small components.
    pub fn new(graph: &Graph, lists_fit: bool) -> Self {
        let share = if lists_fit && is_lattice(graph) { LATTICE_PAGES_SHARE } else { PAGES_SHARE };
        Self { steps_small: 0, pages_seen: 0, pages_max: pages(graph, Direction::Out) / share }
    }

    /// Counts the next step; true if to go on without steps is now the better choice.
    pub fn is_exhausted(
        &mut self,
        graph: &Graph,
        frontier: &Frontier,
        frontier_pages: u64,
    ) -> bool {
        let small = frontier.count() * VERTICES_SHARE < graph.vertices() as u64;
        self.steps_small = if small { self.steps_small + 1 } else { 0 };
        self.pages_seen += frontier_pages;
        self.steps_small > STEPS_SMALL_MIN && self.pages_seen > self.pages_max
    }
}

/// Whether a run may go on without steps. The papers' strategies never do.
pub(crate) fn goes_without_steps(config: &EngineConfig) -> bool {
    config.strategy == Strategy::Auto
}

/// Before a search without steps, which visits each page by itself: brings all pages into memory in
/// one pass of large requests, where the cache holds them all.
pub(crate) fn fill_cache(engine: &Engine) -> Result<()> {
    if engine.cached_fraction() < 1.0 {
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
    loop {
        let tasks = worklist.up_to(IDLE);
        if tasks.is_empty() {
            return Ok(());
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
