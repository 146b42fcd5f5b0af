//! Visits: every list or page that is active comes to a kernel once.
//!
//! - [`flow`]: a worker's way through a visit: planned extents, single pages, what is in memory
//! - [`by_vertex`]: the strategy `vertex`, where each vertex submits its pages
//! - [`dispatch`]: where pages go
//! - [`copies`]: what waits for weights, and how many bytes of it there may be;
//!   [`weighted_lists`], [`weighted_pages`]: copies of lists and of pages
//!
//! The weights of a list lie in other pages, which are read too. The active
//! part of a list waits in a copy until its weights arrive: so adjacency and weights stream through
//! the same buffers in requests of their own, and no buffer waits for another. Where both are in
//! memory nothing is copied.

mod by_vertex;
mod copies;
mod dispatch;
mod flow;
mod weighted_lists;
mod weighted_pages;

use cenote_pool::PageId;
use cenote_store::{Adjacency, Direction, Graph, WeightColumn};

use crate::config::{EngineConfig, Strategy};
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::frontier::ActiveSet;
use crate::kernel::Kernel;
use crate::tasks::{PageTask, TaskSource};
use by_vertex::ByVertex;
use copies::Copies;
use dispatch::{Dispatch, Plain};
use flow::Flow;
use weighted_lists::{ListCopies, WeightedLists};
use weighted_pages::{PageCopies, WeightedPages};

/// Bytes that a weighted visit of a direction takes beside the engine's buffers, to be counted in
/// the state bytes of [`Needs`](crate::Needs); 0 where the graph has no weights. Loads the weight
/// index, which is then part of the graph's own memory.
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

/// The same of a visit by pages.
///
/// # Errors
/// As [`weighted_bytes_for`].
pub fn weighted_pages_bytes_for(
    graph: &Graph,
    config: &EngineConfig,
    direction: Direction,
) -> Result<u64> {
    // Beside its copies each worker has one more place for decoded pages.
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

/// One visit as its workers see it.
pub(crate) struct Visit<'a, D> {
    engine: &'a Engine,
    adjacency: &'a Adjacency,
    /// Of visits with weights.
    column: Option<&'a WeightColumn>,
    source: TaskSource<'a>,
    dispatch: D,
    /// Bytes of copies that a worker may have waiting.
    copies_max: u64,
}

impl Engine {
    /// Brings every list of the `active` set to the kernel and gives back what each worker
    /// gathered. `label` names the step in the records.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged; [`EngineError::Missing`] where the graph has no
    /// lists of the direction; [`EngineError::Busy`] from within a visit;
    /// [`EngineError::ActiveSet`] where the set was made for another number of vertices.
    pub fn visit<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        active: ActiveSet<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let adjacency = self.adjacency(direction)?;
        let source = self.pages_of_set(adjacency, active)?;
        let dispatch = Plain { active, kernel };
        let visit =
            Visit { engine: self, adjacency, column: None, source, dispatch, copies_max: 0 };
        if self.config.strategy != Strategy::Vertex {
            return visit.run(label.into());
        }
        let (frontier, pages) = (visit.source.frontier(), visit.source.listed());
        self.on_workers(label.into(), frontier, pages, |reads| {
            let mut work = ByVertex::new(&visit, reads);
            reads.run(&mut work)?;
            Ok(work.finish(reads))
        })
    }

    /// Brings each page of `tasks` to the kernel once and gives back what each worker gathered.
    /// With the strategy `vertex` pages come as with `block`.
    ///
    /// # Errors
    /// As [`Engine::visit`]; [`EngineError::Tasks`] where the tasks' pages do not ascend or are
    /// none of the adjacency's.
    pub fn visit_pages<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        tasks: &[PageTask],
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let adjacency = self.adjacency(direction)?;
        let source = self.named_pages(adjacency, tasks)?;
        let dispatch = Plain { active: ActiveSet::All, kernel };
        Visit { engine: self, adjacency, column: None, source, dispatch, copies_max: 0 }
            .run(label.into())
    }

    /// As [`Engine::visit`], with weights: brings every list of the `active` set to the kernel, and
    /// the weights of its entries. With the strategy `vertex` pages come as with `block`.
    ///
    /// # Errors
    /// As [`Engine::visit`]; [`EngineError::Missing`] where the graph has no weights.
    pub fn visit_weighted<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        active: ActiveSet<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let (adjacency, column) = (self.adjacency(direction)?, self.column(direction)?);
        let source = self.pages_of_set(adjacency, active)?;
        let dispatch = WeightedLists { column, active, kernel };
        let copies_max = *self.copies_max.lists[direction as usize]
            .get_or_init(|| copies::bytes_max::<ListCopies>(adjacency, column));
        Visit { engine: self, adjacency, column: Some(column), source, dispatch, copies_max }
            .run(label.into())
    }

    /// As [`Engine::visit_pages`], with weights: brings each page of `tasks` to the kernel once,
    /// with the weights of those of its entries that the kernel names.
    ///
    /// # Errors
    /// As [`Engine::visit_pages`] and [`Engine::visit_weighted`].
    pub fn visit_weighted_pages<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        tasks: &[PageTask],
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let (adjacency, column) = (self.adjacency(direction)?, self.column(direction)?);
        let source = self.named_pages(adjacency, tasks)?;
        let dispatch = WeightedPages { adjacency, column, kernel };
        let copies_max = *self.copies_max.pages[direction as usize]
            .get_or_init(|| copies::bytes_max::<PageCopies>(adjacency, column));
        let locals =
            Visit { engine: self, adjacency, column: Some(column), source, dispatch, copies_max }
                .run(label.into())?;
        Ok(locals.into_iter().map(|page| page.local).collect())
    }

    fn pages_of_set<'a>(
        &self,
        adjacency: &'a Adjacency,
        active: ActiveSet<'a>,
    ) -> Result<TaskSource<'a>> {
        self.check_active_set(&active)?;
        let chunk_pages = self.schedule.chunk_pages();
        Ok(TaskSource::new(adjacency, active, chunk_pages, self.config.threads))
    }

    fn named_pages<'a>(
        &self,
        adjacency: &'a Adjacency,
        tasks: &'a [PageTask],
    ) -> Result<TaskSource<'a>> {
        TaskSource::of_tasks(adjacency, tasks, self.schedule.chunk_pages(), self.config.threads)
    }

    fn column(&self, direction: Direction) -> Result<&WeightColumn> {
        self.graph.load_weights(direction)?.ok_or(EngineError::Missing { what: "weights" })
    }
}

impl<D> Visit<'_, D> {
    /// Where a page of lists is on the device, and in the pool.
    fn physical(&self, page: u64) -> PageId {
        self.engine.graph.physical(self.adjacency.first_page() + page)
    }

    /// Whether a page that was read is worth a frame; `place` counts pages of lists and then those
    /// of weights. Full passes keep whole chunks spread evenly over the file, so that on the next
    /// pass there is always something to read beside what is in memory.
    fn is_kept(&self, place: u64) -> bool {
        if !self.source.is_whole_pass() {
            return true;
        }
        let frames = self.engine.pages.as_ref().map_or(0, |pool| pool.config().frames) as u128;
        let chunk = u128::from(place / self.engine.schedule.chunk_pages());
        let pages = self.adjacency.pages() + self.column.map_or(0, WeightColumn::pages);
        let pages = u128::from(pages.max(1));
        frames >= pages || (chunk + 1) * frames / pages != chunk * frames / pages
    }
}

impl<D: Dispatch> Visit<'_, D> {
    fn run(&self, label: String) -> Result<Vec<D::Local>> {
        let (frontier, pages) = (self.source.frontier(), self.source.listed());
        self.engine.on_workers(label, frontier, pages, |reads| {
            let mut flow = Flow::new(self, reads);
            reads.run(&mut flow)?;
            Ok(flow.finish(reads))
        })
    }
}
