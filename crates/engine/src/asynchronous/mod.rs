//! Asynchronous visits: the lists that a kernel activates are visited without steps.
//!
//! [`Engine::visit_asynchronously`] continues with the vertices that [`Kernel::expand`] adds until
//! none is left. Worklists are stacks. A stack waits for the page on its top while others go on; a
//! stack above a threshold is split as long as more stacks are allowed; a worker without stacks
//! gets one from another worker. So up to the depth, each stack has a read in flight.
//!
//! - [`by_vertex`]: strategy `vertex`, as in the paper: stacks of vertices, each fetching one page
//!   of one vertex at a time
//! - [`by_page`]: strategies `auto` and `block`: stacks of pages; a page that has arrived is
//!   processed for all its active vertices, whichever stack added them
//! - [`stack`], [`queue`]: stacks, and the queue that shares them among workers
//! - [`flags`], [`residual`]: active vertices and pages, and the lists kept in memory (`auto`)
//!
//! Source: the CAVE paper, Algorithm 6. Its loop over a large stack spins while no stack is free;
//! here such a stack is not split.

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
use crate::workers::Step;
use flags::Flags;
use queue::{EndsOthers, WorkQueue};
use residual::Residual;
use stack::Links;

/// Entries above which a stack is split, as in the paper's code.
pub const SPLIT_THRESHOLD: u64 = 8;

/// Default stacks per request in flight with `auto`: some are processed while others wait.
const STACKS_PER_REQUEST: usize = 2;

/// How an asynchronous visit divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AsynchronousConfig {
    /// A stack of more entries is split.
    pub threshold: u64,
    /// The most stacks, each with at most one request in flight; unset: from the depth.
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
    /// Bytes of [`Engine::visit_asynchronously`], to be counted in an algorithm's `state_bytes`.
    /// With `auto` it also uses the `scratch_bytes`, up to [`Engine::residual_bytes`], so that it
    /// need not read pages again.
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

    /// Bytes of all lists of `graph` if a visit keeps them in memory.
    pub fn residual_bytes(graph: &Graph, direction: Direction) -> u64 {
        let lists = graph.adjacency(direction);
        let (pages, entries) = lists.map_or((0, 0), |lists| (lists.pages(), lists.stored_edges()));
        Residual::bytes_of(graph.vertices() as u64, pages, entries)
    }

    /// Passes the lists of `sources`, and of all vertices that [`Kernel::expand`] adds, to the
    /// kernel, and returns the workers' locals. `label` names the visit in the records.
    ///
    /// # Errors
    /// As [`Engine::visit`]; [`EngineError::Vertex`](crate::EngineError::Vertex) if a source is not
    /// in the graph.
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
        let step = Step { label: label.into(), frontier: None, pages: None, raw_pages: None };
        if self.config.strategy == Strategy::Vertex {
            let (shared, first) = by_vertex::Shared::new(&plan, sources)?;
            let queue = WorkQueue::new(workers, stacks, first);
            return self.on_workers(step, |reads| {
                let worker = by_vertex::Worker::new(&plan, &shared, &queue);
                Ok(run(&queue, reads, worker)?.local)
            });
        }
        let (shared, first) = by_page::Shared::new(&plan, sources)?;
        let queue = WorkQueue::new(workers, stacks, first);
        self.on_workers(step, |reads| {
            let worker = by_page::Worker::new(&plan, &shared, &queue, reads);
            Ok(run(&queue, reads, worker)?.local)
        })
    }
}

/// Arguments that all workers of one visit share.
struct Plan<'a, K> {
    engine: &'a Engine,
    adjacency: &'a Adjacency,
    kernel: &'a K,
    how: AsynchronousConfig,
}

impl<K> Plan<'_, K> {
    /// The physical number of a page of lists.
    fn physical(&self, page: u64) -> u64 {
        self.engine.graph.physical(self.adjacency.first_page() + page)
    }
}

/// Runs a worker; if it fails, the others end too.
fn run<W: Work>(queue: &WorkQueue, reads: &mut Reads<'_>, mut worker: W) -> Result<W> {
    let ends_others = EndsOthers(queue);
    // The number of active lists limits a visit more than the drive: other depths only cost time.
    reads.keep_depth();
    reads.run(&mut worker)?;
    std::mem::forget(ends_others);
    Ok(worker)
}
