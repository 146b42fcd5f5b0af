//! Visits that bring weights beside the lists.
//!
//! The weights of a list lie in other pages, which are read too. A list waits in a copy of what is
//! wanted of it until its weights arrive: so adjacency and weights stream through the same buffers
//! in requests of their own, and no buffer waits for another. Where both are in memory nothing is
//! copied.
//!
//! - [`batch`]: the copies, and how they meet their weights
//! - [`extents`]: the strategy `auto`
//! - [`single`]: the strategies `block` and `vertex`: single pages through the pool

mod batch;
mod extents;
mod single;

use std::sync::atomic::{AtomicBool, Ordering};

use cenote_store::{Adjacency, Direction, Graph, List, Page, WeightColumn, Weights};

use crate::config::{EngineConfig, Strategy};
use crate::engine::Engine;
use crate::error::Result;
use crate::frontier::Wanted;
use crate::tasks::{PageTask, TaskSource};
use crate::worker::Counts;
pub(crate) use extents::forget_buffers;

/// An algorithm's step over lists with weights. Shared by the workers; each has a
/// [`WeightedKernel::Local`] of its own.
///
/// As with [`Kernel`](crate::Kernel), lists come in no fixed order, from many threads, and in
/// pieces: wherever the list or its weights run over a page. Lists without entries do not come.
pub trait WeightedKernel: Sync {
    /// What a worker gathers by itself during a visit, given back at its end.
    type Local: Send;

    /// A fresh local for one worker.
    fn local(&self) -> Self::Local;

    /// Takes a wanted list, or a piece of it, and as many weights: one for each entry.
    fn list(&self, local: &mut Self::Local, list: &List<'_>, weights: Weights<'_>);
}

/// Bytes that a weighted visit of a direction takes beside the engine's buffers, to be counted in
/// the state bytes of [`Needs`](crate::Needs). The graph's ordinals are in its own memory, once
/// [`Graph::load_weights`] was called.
///
/// # Panics
/// If the weights of the direction are not loaded.
pub fn weighted_bytes_for(graph: &Graph, config: &EngineConfig, direction: Direction) -> u64 {
    let (Some(adjacency), Some(column)) = (graph.adjacency(direction), graph.weights(direction))
    else {
        return 0;
    };
    config.threads as u64 * batch::bytes_max(adjacency, column)
}

/// One weighted visit as its workers see it.
pub(crate) struct WeightedVisit<'a, K> {
    pub engine: &'a Engine,
    pub adjacency: &'a Adjacency,
    pub column: &'a WeightColumn,
    pub wanted: Wanted<'a>,
    pub kernel: &'a K,
    pub source: TaskSource<'a>,
    pub failed: AtomicBool,
    /// Bytes of copies that a worker may have waiting.
    pub copies_max: u64,
}

impl<'a, K: WeightedKernel> WeightedVisit<'a, K> {
    /// A visit of a direction whose weights are loaded.
    pub fn new(
        engine: &'a Engine,
        (adjacency, column): (&'a Adjacency, &'a WeightColumn),
        wanted: Wanted<'a>,
        kernel: &'a K,
    ) -> Self {
        let schedule = &engine.schedule;
        let threads = engine.config.threads;
        let source = TaskSource::new(adjacency, wanted, schedule.chunk_pages(), threads);
        let copies_max = batch::bytes_max(adjacency, column);
        let failed = AtomicBool::new(false);
        Self { engine, adjacency, column, wanted, kernel, source, failed, copies_max }
    }

    /// One worker's part, on its own thread.
    pub fn work(&self) -> Result<(K::Local, Counts)> {
        let mut local = self.kernel.local();
        let mut counts = Counts::default();
        let outcome = match self.engine.config.strategy {
            Strategy::Auto => self.by_extent(&mut local, &mut counts),
            Strategy::Block | Strategy::Vertex => self.by_page(&mut local, &mut counts),
        };
        if let Err(error) = outcome {
            self.failed.store(true, Ordering::Relaxed);
            return Err(error);
        }
        Ok((local, counts))
    }

    fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.engine.config.cancel.is_raised()
    }

    /// Calls `each` with every wanted list of a page that has entries, and with the ordinal of its
    /// first.
    fn for_each_wanted(
        &self,
        page: &Page<'_>,
        task: PageTask,
        mut each: impl FnMut(&List<'_>, u64) -> Result<()>,
    ) -> Result<()> {
        let first = self.column.ordinals_of(task.page).start;
        let mut give = |list: &List<'_>, start: usize| {
            if list.targets.is_empty() { Ok(()) } else { each(list, first + start as u64) }
        };
        if let Some(vertices) = self.wanted.list() {
            for &v in &vertices[task.from as usize..task.to as usize] {
                let place = (v - page.first_vertex()) as usize;
                give(&page.list(place), page.start(place))?;
            }
            return Ok(());
        }
        let mut start = 0;
        for list in page.lists() {
            if self.wanted.contains(list.vertex) {
                give(&list, start)?;
            }
            start += list.targets.len();
        }
        Ok(())
    }

    /// Counts a request of so many pages, of which `wanted` were asked for.
    fn count(&self, counts: &mut Counts, pages: u64, wanted: u64) {
        counts.requests += 1;
        counts.bytes += pages * self.adjacency.page_bytes() as u64;
        counts.pages_read += wanted;
        counts.pages_fetched += pages;
    }
}

impl Engine {
    /// As [`Engine::visit`], with weights: brings every list that is `wanted` to the kernel, and
    /// the weights of its entries. With the strategy `vertex` pages come as with `block`.
    ///
    /// # Panics
    /// If the graph has no weights or no lists of the direction, or they were not loaded
    /// ([`Graph::load_weights`]).
    pub fn visit_weighted<K: WeightedKernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        wanted: Wanted<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let adjacency = self.adjacency(direction);
        let column = self.graph.weights(direction).expect("the algorithm asked for weights");
        let frontier = match wanted {
            Wanted::In(frontier) => Some(frontier.count()),
            _ => None,
        };
        let visit = WeightedVisit::new(self, (adjacency, column), wanted, kernel);
        self.on_workers(label.into(), frontier, visit.source.listed(), || visit.work())
    }
}
