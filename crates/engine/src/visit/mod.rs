//! Visits: each active list or page is passed to a kernel once.
//!
//! - [`flow`]: the work of one worker: planned extents, single pages, pages in memory
//! - [`by_vertex`]: the strategy `vertex`, where each vertex submits its pages
//! - [`dispatch`]: passes pages to a kernel, or to copies that wait for weights
//! - [`copies`]: copies and their limits; [`weighted_lists`], [`weighted_pages`]: of lists, of
//!   pages
//!
//! The weights of a list lie in pages of their own. The active part of a list waits in a copy until
//! its weights arrive, so adjacency and weights stream through the same buffers in separate
//! requests, and no buffer waits for another. If both are in memory nothing is copied.

mod by_vertex;
mod copies;
mod dispatch;
mod flow;
mod weighted_lists;
mod weighted_pages;

use std::ops::Range;

use cenote_pool::PageId;
use cenote_store::{Adjacency, Direction, Graph, UnpackedPages, WeightColumn};

use crate::config::{EngineConfig, Strategy};
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::frontier::ActiveSet;
use crate::kernel::Kernel;
use crate::read_ahead::Ahead;
use crate::tasks::{NamedPages, PageTask, TaskSource};
use crate::workers::Step;
use copies::Copies;
use dispatch::Plain;
use weighted_lists::{ListCopies, WeightedLists};
use weighted_pages::{PageCopies, WeightedPages};

/// Bytes of a weighted visit of a direction beside the engine's buffers, to be counted in the state
/// bytes of [`Needs`](crate::Needs); 0 without weights. Loads the weight index, which then counts
/// as memory of the graph.
///
/// # Errors
/// The weight index cannot be read.
pub fn weighted_bytes_for(
    graph: &Graph,
    config: &EngineConfig,
    direction: Direction,
) -> Result<u64> {
    bytes_for::<ListCopies>(graph, config, direction)
}

/// As [`weighted_bytes_for`], for [`Engine::visit_weighted_pages`].
///
/// # Errors
/// As [`weighted_bytes_for`].
pub fn weighted_pages_bytes_for(
    graph: &Graph,
    config: &EngineConfig,
    direction: Direction,
) -> Result<u64> {
    // Each worker has one more buffer for decoded pages.
    let decoded = graph.adjacency(direction).map_or(0, Adjacency::decoded_bytes);
    Ok(bytes_for::<PageCopies>(graph, config, direction)? + config.threads as u64 * decoded as u64)
}

fn bytes_for<C: Copies>(graph: &Graph, config: &EngineConfig, direction: Direction) -> Result<u64> {
    let column = graph.load_weights(direction)?;
    let (Some(adjacency), Some(column)) = (graph.adjacency(direction), column) else {
        return Ok(0);
    };
    Ok(config.threads as u64 * copies::bytes_max::<C>(adjacency, column))
}

/// One visit, shared by its workers.
pub(crate) struct Visit<'a> {
    engine: &'a Engine,
    adjacency: &'a Adjacency,
    /// In visits with weights.
    column: Option<&'a WeightColumn>,
    source: TaskSource<'a>,
    /// The most bytes of copies that wait in one worker.
    copies_max: u64,
    keeps: Keeps,
}

/// Which pages that are read stay in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    Nothing,
    /// Those that find an empty frame, so that later passes find a fixed part of their pages.
    First,
    /// Those that were read last, also those beside the pages asked for.
    Last,
}

/// What pages hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Lists,
    Weights,
}

/// The pages of a step are few if they fit in memory this many times. Else those that the next step
/// needs would be evicted before it begins.
const SMALL_STEP_SHARE: usize = 2;

impl Engine {
    /// Passes every list of the `active` set to the kernel and returns the workers' locals.
    /// `label` names the step in the records.
    ///
    /// # Errors
    /// A page that cannot be read or is damaged; [`EngineError::Missing`] if the graph has no lists
    /// of the direction; [`EngineError::Busy`] from within a visit; [`EngineError::ActiveSet`] if
    /// the set was made for another number of vertices.
    pub fn visit<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        active: ActiveSet<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let adjacency = self.adjacency(direction)?;
        let source = self.pages_of_set(adjacency, active)?;
        let keeps = self.keeps_of_set(&source);
        let visit = Visit::of_lists(self, adjacency, source, keeps);
        if self.config.strategy != Strategy::Vertex {
            return visit.plain(label.into(), active, kernel);
        }
        self.on_workers(visit.step(label.into()), |reads| {
            let mut plain = Plain::new(active, kernel);
            by_vertex::run(&visit, active, &mut |list| plain.list(list), reads)?;
            kernel.end(&mut plain.local);
            Ok(plain.local)
        })
    }

    /// Passes each of these pages to the kernel once and returns the workers' locals. The strategy
    /// `vertex` reads as `block` does; with `auto`, [`NamedPages`] says what stays in memory.
    ///
    /// # Errors
    /// As [`Engine::visit`]; [`EngineError::Tasks`] if the pages do not ascend or are beyond the
    /// adjacency.
    pub fn visit_pages<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        pages: NamedPages<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let adjacency = self.adjacency(direction)?;
        let source = self.named_pages(adjacency, pages.tasks)?;
        let visit = Visit::of_lists(self, adjacency, source, self.keeps_of(pages));
        visit.plain(label.into(), ActiveSet::All, kernel)
    }

    /// As [`Engine::visit`], with the weights of each list's entries. The strategy `vertex` reads
    /// as `block` does.
    ///
    /// # Errors
    /// As [`Engine::visit`]; [`EngineError::Missing`] if the graph has no weights.
    pub fn visit_weighted<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        active: ActiveSet<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        self.weighted(label.into(), direction, active, kernel, false)
    }

    /// As [`Engine::visit_weighted`], for lists that the run visits only once: with `auto` their
    /// pages do not stay in memory, so that those of later visits find room there.
    ///
    /// # Errors
    /// As [`Engine::visit_weighted`].
    pub fn visit_weighted_once<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        active: ActiveSet<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        self.weighted(label.into(), direction, active, kernel, true)
    }

    fn weighted<K: Kernel>(
        &self,
        label: String,
        direction: Direction,
        active: ActiveSet<'_>,
        kernel: &K,
        is_once: bool,
    ) -> Result<Vec<K::Local>> {
        let (adjacency, column) = (self.adjacency(direction)?, self.column(direction)?);
        let source = self.pages_of_set(adjacency, active)?;
        let keeps = if is_once { Keeps::Nothing } else { self.keeps_of_set(&source) };
        let copies_max = *self.copies_max.lists[direction as usize]
            .get_or_init(|| copies::bytes_max::<ListCopies>(adjacency, column));
        let all = Some(column);
        let visit = Visit { engine: self, adjacency, column: all, source, copies_max, keeps };
        self.on_workers(visit.step(label), |reads| {
            let mut lists = WeightedLists::new(column, active, kernel);
            flow::run(&visit, &mut lists, reads)?;
            kernel.end(&mut lists.local);
            Ok(lists.local)
        })
    }

    /// As [`Engine::visit_pages`], with the weights of the entries that [`Kernel::entries`] names.
    ///
    /// # Errors
    /// As [`Engine::visit_pages`] and [`Engine::visit_weighted`].
    pub fn visit_weighted_pages<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        pages: NamedPages<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let (adjacency, column) = (self.adjacency(direction)?, self.column(direction)?);
        let source = self.named_pages(adjacency, pages.tasks)?;
        let copies_max = *self.copies_max.pages[direction as usize]
            .get_or_init(|| copies::bytes_max::<PageCopies>(adjacency, column));
        let all = Some(column);
        let visit = Visit {
            engine: self,
            adjacency,
            column: all,
            source,
            copies_max,
            keeps: self.keeps_of(pages),
        };
        self.on_workers(visit.step(label.into()), |reads| {
            let mut pages = WeightedPages::new(adjacency, column, kernel);
            flow::run(&visit, &mut pages, reads)?;
            kernel.end(&mut pages.local);
            Ok(pages.local)
        })
    }

    /// Frames of the cache.
    fn frames(&self) -> usize {
        self.pages.as_ref().map_or(0, |pool| pool.config().frames)
    }

    /// What a visit of named pages keeps.
    fn keeps_of(&self, pages: NamedPages<'_>) -> Keeps {
        let is_step = pages.is_step && self.are_few(pages.tasks.len() as u64);
        if is_step { Keeps::Last } else { Keeps::First }
    }

    /// What a visit of a set keeps: of a small frontier the pages that were read last, in a run
    /// whose visits are of few pages.
    fn keeps_of_set(&self, source: &TaskSource<'_>) -> Keeps {
        let is_step = source.listed().is_some_and(|pages| self.are_few(pages));
        if self.config.few_pages && is_step { Keeps::Last } else { Keeps::First }
    }

    fn are_few(&self, pages: u64) -> bool {
        pages as usize * SMALL_STEP_SHARE <= self.frames()
    }

    fn pages_of_set<'a>(
        &self,
        adjacency: &'a Adjacency,
        active: ActiveSet<'a>,
    ) -> Result<TaskSource<'a>> {
        self.check_active_set(&active)?;
        Ok(TaskSource::new(adjacency, active, self.schedule.chunks(adjacency)))
    }

    fn named_pages<'a>(
        &self,
        adjacency: &'a Adjacency,
        tasks: &'a [PageTask],
    ) -> Result<TaskSource<'a>> {
        TaskSource::of_tasks(adjacency, tasks, self.schedule.chunks(adjacency))
    }

    fn column(&self, direction: Direction) -> Result<&WeightColumn> {
        self.graph.load_weights(direction)?.ok_or(EngineError::Missing { what: "weights" })
    }
}

impl<'a> Visit<'a> {
    /// A visit without weights.
    fn of_lists(
        engine: &'a Engine,
        adjacency: &'a Adjacency,
        source: TaskSource<'a>,
        keeps: Keeps,
    ) -> Self {
        Self { engine, adjacency, column: None, source, copies_max: 0, keeps }
    }

    /// A visit without weights, on all workers.
    fn plain<K: Kernel>(
        &self,
        label: String,
        active: ActiveSet<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        self.engine.on_workers(self.step(label), |reads| {
            let mut plain = Plain::new(active, kernel);
            flow::run(self, &mut plain, reads)?;
            kernel.end(&mut plain.local);
            Ok(plain.local)
        })
    }

    fn step(&self, label: String) -> Step {
        let source = &self.source;
        let (pages, raw_pages) = (source.listed(), source.listed_raw());
        Step { label, frontier: source.frontier(), pages, raw_pages }
    }

    /// The physical number of a page.
    fn physical(&self, section: Section, page: u64) -> PageId {
        let first_page = match section {
            Section::Lists => self.adjacency.first_page(),
            Section::Weights => self.weights().first_page(),
        };
        self.engine.graph.physical(first_page + page)
    }

    fn weights(&self) -> &'a WeightColumn {
        self.column.expect("only visits with weights have pages of weights")
    }

    /// Number of pages.
    fn pages_of(&self, section: Section) -> u64 {
        match section {
            Section::Lists => self.adjacency.pages(),
            Section::Weights => self.weights().pages(),
        }
    }

    /// Verifies a page as it was read.
    fn verify(&self, section: Section, page: u64, bytes: &[u8]) -> Result<()> {
        match section {
            Section::Lists => self.adjacency.verify(page, bytes)?,
            Section::Weights => self.weights().parse(page, bytes).map(drop)?,
        }
        Ok(())
    }

    /// The pages to read beside those of a request of a small step.
    fn ahead(&self, section: Section, request: Range<PageId>, tasks: &[PageTask]) -> Ahead {
        let (Some(first), Some(last)) = (tasks.first(), tasks.last()) else {
            return Ahead::default();
        };
        let room = self.engine.schedule.request_pages().saturating_sub(request.end - request.start);
        let follows = |i| {
            last.page + i < self.pages_of(section)
                && self.physical(section, last.page + i) == request.end - 1 + i
        };
        let precedes =
            |i| i <= first.page && self.physical(section, first.page - i) + i == request.start;
        let limits = (room, self.engine.frames() as u64);
        self.engine.read_ahead.extend(&request, limits, follows, precedes)
    }

    /// Whether pages in memory are visited before others of their chunk: then pages are visited
    /// more nearly in order, so that delta runs that do not stay in memory are read about once.
    fn is_in_order(&self) -> bool {
        self.adjacency.run_reads().pages_again > 0
    }

    /// The pages that stay unpacked, in visits that gain by them.
    fn unpacked(&self) -> Option<&UnpackedPages> {
        let Self { engine, source, .. } = self;
        (engine.unpacked_in_passes || !source.is_whole_pass()).then_some(&engine.unpacked)
    }

    /// Whether to cache a page that was read. Full passes cache as many pages as a request reads,
    /// here and there, so that the next pass always has pages to read beside those in memory, in
    /// full requests; whole chunks, where pages are visited in order.
    fn is_kept(&self, section: Section, page: u64) -> bool {
        if self.keeps == Keeps::Nothing {
            return false;
        }
        if !self.source.is_whole_pass() {
            return true;
        }
        let frames = self.engine.frames() as u128;
        let place = match section {
            Section::Lists => page,
            Section::Weights => self.adjacency.pages() + page,
        };
        let schedule = &self.engine.schedule;
        let group =
            if self.is_in_order() { schedule.chunk_pages() } else { schedule.request_pages() };
        let group = u128::from(place / group);
        let pages = self.adjacency.pages() + self.column.map_or(0, WeightColumn::pages);
        let pages = u128::from(pages.max(1));
        frames >= pages || (group + 1) * frames / pages != group * frames / pages
    }
}
