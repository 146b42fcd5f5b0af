//! Asynchronous visits: lists that make other lists active, followed as they arrive.
//!
//! Where a visit brings the lists of one frontier and ends, [`Engine::visit_asynchronously`] goes
//! on with whatever [`Kernel::expand`] adds, until nothing is left. What is to be done lies on
//! many worklists, which are stacks. A stack waits for the page on its top while the others go on;
//! one that has grown over a threshold is split while there may be more; a worker that has none is
//! given one. So as many reads are in flight as there are stacks, up to the depth.
//!
//! - [`by_vertex`]: strategy `vertex`, the paper's way: a stack holds vertices and fetches one
//!   page of one vertex at a time
//! - [`by_page`]: strategies `auto` and `block`: a stack holds the pages of active vertices, and a
//!   page that has come serves all of them, whichever stack added them
//! - [`stack`], [`queue`]: stacks, and where workers exchange them
//! - [`flags`], [`residual`]: what is active on a page, and what of it stays in memory (`auto`)
//!
//! Source: the CAVE paper, Algorithm 6, whose loop over a stack that is too large does not end
//! while no stack is free; here such a stack stays whole and work goes on.

mod by_page;
mod by_vertex;
mod flags;
mod queue;
mod residual;
mod stack;

use std::sync::atomic::{AtomicU32, AtomicU64};

use cenote_device::setters;
use cenote_store::{Adjacency, Direction, Graph, VertexId};

use crate::config::Strategy;
use crate::engine::Engine;
use crate::error::Result;
use crate::fetch::{Reads, Work};
use crate::kernel::Kernel;
use flags::Flags;
use queue::{EndsOthers, WorkQueue};
use residual::Residual;
use stack::Links;

/// Entries above which a stack is split, as in the paper's code.
pub const SPLIT_THRESHOLD: u64 = 8;

/// Stacks for each request in flight by default, with `auto`: some are worked at while others wait.
const STACKS_PER_REQUEST: usize = 2;

/// How an asynchronous visit divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AsynchronousConfig {
    /// A stack of more entries is split.
    pub threshold: u64,
    /// Stacks at most, each with at most one request in flight; from the depth where not set.
    pub stacks: Option<usize>,
}

impl Default for AsynchronousConfig {
    fn default() -> Self {
        Self { threshold: SPLIT_THRESHOLD, stacks: None }
    }
}

impl AsynchronousConfig {
    setters! { threshold: u64, stacks: Option<usize> }
}

impl Engine {
    /// Bytes that [`Engine::visit_asynchronously`] takes: part of an algorithm's `state_bytes`.
    /// With `auto` it also uses all of its `scratch_bytes`, up to [`Engine::residual_bytes`], not
    /// to read a page again.
    pub fn asynchronous_bytes(graph: &Graph, strategy: Strategy, direction: Direction) -> u64 {
        let n = graph.vertices() as u64;
        let pages = graph.adjacency(direction).map_or(0, Adjacency::pages);
        let by_page = Flags::bytes_for(n)
            + 3 * Flags::bytes_for(pages)
            + Links::<AtomicU64>::bytes_for(pages);
        match strategy {
            Strategy::Auto => by_page + Residual::bytes_for(pages),
            Strategy::Block => by_page,
            Strategy::Vertex => Flags::bytes_for(n) + Links::<AtomicU32>::bytes_for(n),
        }
    }

    /// Bytes that all lists of `graph` take when they are kept in memory during a visit.
    pub fn residual_bytes(graph: &Graph, direction: Direction) -> u64 {
        let lists = graph.adjacency(direction);
        let (pages, entries) = lists.map_or((0, 0), |lists| (lists.pages(), lists.stored_edges()));
        Residual::bytes_of(graph.vertices() as u64, pages, entries)
    }

    /// Brings the lists of `sources`, and of all vertices that [`Kernel::expand`] adds, to the
    /// kernel, and gives back what each worker gathered. `label` names it in the records.
    ///
    /// # Errors
    /// As [`Engine::visit`]; [`EngineError::Vertex`](crate::EngineError::Vertex) where a source is
    /// none of the graph's.
    pub fn visit_asynchronously<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        sources: &[VertexId],
        how: AsynchronousConfig,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let adjacency = self.adjacency(direction)?;
        sources.iter().try_for_each(|&source| self.check_vertex(source))?;
        let per_request =
            if self.config.strategy == Strategy::Auto { STACKS_PER_REQUEST } else { 1 };
        let stacks = how.stacks.unwrap_or(self.schedule.depth * per_request);
        let plan = Plan { engine: self, adjacency, kernel, how };
        let workers = self.config.threads;
        if self.config.strategy == Strategy::Vertex {
            let (shared, first) = by_vertex::Shared::new(&plan, sources)?;
            let queue = WorkQueue::new(workers, stacks, first);
            return self.on_workers(label.into(), None, None, |reads| {
                let worker = by_vertex::Worker::new(&plan, &shared, &queue);
                Ok(run(&queue, reads, worker)?.local)
            });
        }
        let (shared, first) = by_page::Shared::new(&plan, sources)?;
        let queue = WorkQueue::new(workers, stacks, first);
        self.on_workers(label.into(), None, None, |reads| {
            let worker = by_page::Worker::new(&plan, &shared, &queue, reads);
            Ok(run(&queue, reads, worker)?.local)
        })
    }
}

/// What all workers of one visit share.
struct Plan<'a, K> {
    engine: &'a Engine,
    adjacency: &'a Adjacency,
    kernel: &'a K,
    how: AsynchronousConfig,
}

impl<K> Plan<'_, K> {
    /// Where a page of lists is on the device, and in the pool.
    fn physical(&self, page: u64) -> u64 {
        self.engine.graph.physical(self.adjacency.first_page() + page)
    }
}

/// A worker's work; if it fails, the others end too.
fn run<W: Work>(queue: &WorkQueue, reads: &mut Reads<'_>, mut worker: W) -> Result<W> {
    let ends_others = EndsOthers(queue);
    reads.run(&mut worker)?;
    std::mem::forget(ends_others);
    Ok(worker)
}
