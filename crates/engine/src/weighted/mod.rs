//! Visits that bring weights beside the lists.
//!
//! The weights of a list lie in other pages, which are read too. A list waits in a copy of what is
//! wanted of it until its weights arrive: so adjacency and weights stream through the same buffers
//! in requests of their own, and no buffer waits for another. Where both are in memory nothing is
//! copied.
//!
//! - [`serve`]: what a visit does with pages, and the copies that wait
//! - [`batch`]: copies of lists, and how they meet their weights
//! - [`pages`]: copies of whole pages
//! - [`extents`]: the strategy `auto`
//! - [`single`]: the strategies `block` and `vertex`: single pages through the pool

mod batch;
mod extents;
mod pages;
mod serve;
mod single;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_store::{Adjacency, Direction, Graph, List, Page, WeightColumn, Weights};

use crate::config::{EngineConfig, Strategy};
use crate::engine::Engine;
use crate::error::Result;
use crate::frontier::Wanted;
use crate::tasks::{PageTask, TaskSource};
use crate::worker::Counts;
pub(crate) use extents::forget_buffers;
use pages::Pages;
pub use pages::WeightedPageKernel;
use serve::{Arrival, Lists, Serve};

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
/// the state bytes of [`Needs`](crate::Needs). The graph's weight index is in its own memory, once
/// [`Graph::load_weights`] was called.
///
/// # Panics
/// If the weights of the direction are not loaded.
pub fn weighted_bytes_for(graph: &Graph, config: &EngineConfig, direction: Direction) -> u64 {
    bytes_for::<Lists<'_, NoLists>>(graph, config, direction)
}

/// The same of a visit by pages.
///
/// # Panics
/// As [`weighted_bytes_for`].
pub fn weighted_pages_bytes_for(graph: &Graph, config: &EngineConfig, direction: Direction) -> u64 {
    // Beside its copies each worker has one more place for decoded pages.
    let decoded = graph.adjacency(direction).map_or(0, Adjacency::decoded_bytes);
    bytes_for::<Pages<'_, NoPages>>(graph, config, direction)
        + config.threads as u64 * decoded as u64
}

fn bytes_for<S: Serve>(graph: &Graph, config: &EngineConfig, direction: Direction) -> u64 {
    let (Some(adjacency), Some(column)) = (graph.adjacency(direction), graph.weights(direction))
    else {
        return 0;
    };
    config.threads as u64 * serve::bytes_max::<S>(adjacency, column)
}

/// Stand for kernels where only costs are asked for.
enum NoLists {}
enum NoPages {}

impl WeightedKernel for NoLists {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), _: &List<'_>, _: Weights<'_>) {}
}

impl WeightedPageKernel for NoPages {
    type Local = ();

    fn local(&self) {}

    fn entries(&self, _: &Page<'_>, _: PageTask) -> std::ops::Range<usize> {
        0..0
    }

    fn page(
        &self,
        (): &mut (),
        _: &Page<'_>,
        _: std::ops::Range<usize>,
        _: Weights<'_>,
        _: PageTask,
    ) {
    }
}

/// Bytes of copies that a worker may have waiting, by kind of visit and direction: found once, as
/// all pages have to be looked at.
#[derive(Debug, Default)]
pub(crate) struct CopiesMax {
    lists: [OnceLock<u64>; 2],
    pages: [OnceLock<u64>; 2],
}

/// One weighted visit as its workers see it.
pub(crate) struct WeightedVisit<'a, S> {
    pub engine: &'a Engine,
    pub adjacency: &'a Adjacency,
    pub column: &'a WeightColumn,
    pub serve: S,
    pub source: TaskSource<'a>,
    pub failed: AtomicBool,
    /// Bytes of copies that a worker may have waiting.
    pub copies_max: u64,
}

impl<S: Serve> WeightedVisit<'_, S> {
    /// One worker's part, on its own thread.
    pub fn work(&self) -> Result<(S::Local, Counts)> {
        let mut local = self.serve.local();
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

    /// A page of lists as it is to be taken.
    fn arrival<'p>(&self, page: &'p Page<'p>, bytes: &'p [u8], task: PageTask) -> Arrival<'p> {
        Arrival { page, bytes, task, ordinal: self.column.addresses_of(task.page).start }
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
        let (adjacency, chunk) = (self.adjacency(direction), self.schedule.chunk_pages());
        let source = TaskSource::new(adjacency, wanted, chunk, self.config.threads);
        let frontier = match wanted {
            Wanted::In(frontier) => Some(frontier.count()),
            _ => None,
        };
        let copies = &self.copies_max.lists[direction as usize];
        self.serve_weighted(label.into(), direction, frontier, source, copies, |_| Lists {
            wanted,
            kernel,
        })
    }

    /// As [`Engine::visit_pages`], with weights: brings each page of `tasks` to the kernel once,
    /// with the weights of those of its entries that the kernel asks for.
    ///
    /// # Panics
    /// As [`Engine::visit_pages`] and [`Engine::visit_weighted`].
    pub fn visit_weighted_pages<K: WeightedPageKernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        tasks: &[PageTask],
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let (adjacency, chunk) = (self.adjacency(direction), self.schedule.chunk_pages());
        let source = TaskSource::of_tasks(adjacency, tasks, chunk, self.config.threads);
        let copies = &self.copies_max.pages[direction as usize];
        let locals =
            self.serve_weighted(label.into(), direction, None, source, copies, |column| Pages {
                adjacency,
                column,
                kernel,
            })?;
        Ok(locals.into_iter().map(|page| page.local).collect())
    }

    fn serve_weighted<'a, S: Serve>(
        &'a self,
        label: String,
        direction: Direction,
        frontier: Option<u64>,
        source: TaskSource<'a>,
        copies: &OnceLock<u64>,
        serve: impl FnOnce(&'a WeightColumn) -> S,
    ) -> Result<Vec<S::Local>> {
        let adjacency = self.adjacency(direction);
        let column = self.graph.weights(direction).expect("the algorithm asked for weights");
        let copies_max = *copies.get_or_init(|| serve::bytes_max::<S>(adjacency, column));
        let (serve, failed) = (serve(column), AtomicBool::new(false));
        let visit =
            WeightedVisit { engine: self, adjacency, column, serve, source, failed, copies_max };
        self.on_workers(label, frontier, visit.source.listed(), || visit.work())
    }
}
