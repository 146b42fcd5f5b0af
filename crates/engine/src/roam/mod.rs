//! Work without steps: lists that make other lists wanted, followed as they arrive.
//!
//! Where a visit brings the lists of one frontier and ends, [`Engine::roam`] goes on with whatever
//! a [`Roamer`] pushes, until nothing is left. What is to be done lies on many stacks. A stack
//! waits for the page on its top while the others go on; one that has grown over a threshold is
//! split while there may be more; who has none is given one. So as many reads are in flight as
//! there are stacks, up to the depth.
//!
//! - [`by_vertex`]: strategy `vertex`, the paper's way: a stack holds vertices and fetches one
//!   page of one vertex at a time
//! - [`by_page`]: strategies `auto` and `block`: a stack holds the pages on which pushed vertices
//!   wait, and a page that has come serves all of them, whichever stack pushed them
//! - [`stack`], [`board`]: stacks, and where workers exchange them
//! - [`flags`], [`leftovers`]: what is wanted of a page, and what it leaves in memory (`auto`)
//!
//! Source: the CAVE paper, Algorithm 6, whose loop over a stack that is too large does not end
//! while no stack is free; here such a stack stays whole and work goes on.

mod board;
mod by_page;
mod by_vertex;
mod flags;
mod leftovers;
mod stack;

use std::sync::atomic::{AtomicU32, AtomicU64};

use cenote_store::{Adjacency, Direction, Graph, List, VertexId};

use crate::config::Strategy;
use crate::engine::Engine;
use crate::error::Result;
use crate::worker::Counts;
use board::{Board, EndsOthers};
use flags::Flags;
use leftovers::Leftovers;
use stack::Links;

/// Entries above which a stack is split, as in the paper's code.
pub const SPLIT_THRESHOLD: u64 = 8;

/// Stacks for each request in flight by default, with `auto`: some are worked at while others wait.
const STACKS_PER_REQUEST: usize = 2;

/// What an algorithm does with the lists that it pushed. Shared by the workers; each has a
/// [`Roamer::Local`] of its own.
///
/// Lists come in no fixed order, from many threads, long ones in pieces. A vertex that is pushed
/// again before its list has come comes once; one that is pushed again later comes again.
pub trait Roamer: Sync {
    /// What a worker gathers by itself, given back at the end.
    type Local: Send;

    /// A fresh local for one worker.
    fn local(&self) -> Self::Local;

    /// Takes the list of a vertex, or a piece of it, and adds to `next` those vertices whose lists
    /// are wanted now.
    fn list(&self, local: &mut Self::Local, list: &List<'_>, next: &mut Vec<VertexId>);

    /// Whether `v` may be pushed later on: then its list is kept if it passes by.
    fn may_come(&self, v: VertexId) -> bool;

    /// Whether what was looked for is found: then nothing more is read. Asked between pages.
    fn is_done(&self, _: &mut Self::Local) -> bool {
        false
    }
}

/// How to roam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoamConfig {
    /// A stack of more entries is split.
    pub threshold: u64,
    /// Stacks at most, each with at most one request in flight; from the depth where not set.
    pub stacks: Option<usize>,
}

impl Default for RoamConfig {
    fn default() -> Self {
        Self { threshold: SPLIT_THRESHOLD, stacks: None }
    }
}

/// Bytes that roaming over `graph` takes, beside leftovers.
pub(crate) fn bytes_for(graph: &Graph, strategy: Strategy, direction: Direction) -> u64 {
    let n = graph.vertices() as u64;
    let pages = graph.adjacency(direction).map_or(0, Adjacency::pages);
    let by_page =
        Flags::bytes_for(n) + 3 * Flags::bytes_for(pages) + Links::<AtomicU64>::bytes_for(pages);
    match strategy {
        Strategy::Auto => by_page + Leftovers::bytes_for(pages),
        Strategy::Block => by_page,
        Strategy::Vertex => Flags::bytes_for(n) + Links::<AtomicU32>::bytes_for(n),
    }
}

impl Engine {
    /// Bytes that [`Engine::roam`] takes: part of an algorithm's `state_bytes`. With `auto` it also
    /// uses all of its `scratch_bytes`, up to [`Engine::leftover_bytes`], not to read a page again.
    pub fn roam_bytes(graph: &Graph, strategy: Strategy, direction: Direction) -> u64 {
        bytes_for(graph, strategy, direction)
    }

    /// Bytes that all lists of `graph` take when they are kept in memory to be roamed over.
    pub fn leftover_bytes(graph: &Graph, direction: Direction) -> u64 {
        let lists = graph.adjacency(direction);
        let (pages, entries) = lists.map_or((0, 0), |lists| (lists.pages(), lists.stored_edges()));
        Leftovers::bytes_of(graph.vertices() as u64, pages, entries)
    }

    /// Brings the lists of `sources`, and of all vertices that the roamer pushes, to the roamer,
    /// and gives back what each worker gathered. `label` names it in the records.
    ///
    /// # Panics
    /// If `direction` is [`Direction::In`] on a directed graph without in-edges.
    pub fn roam<R: Roamer>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        sources: &[VertexId],
        how: RoamConfig,
        roamer: &R,
    ) -> Result<Vec<R::Local>> {
        self.check_cancel()?;
        let adjacency = self.adjacency(direction);
        let started_ns = self.clock.now_ns();
        let per_request =
            if self.config.strategy == Strategy::Auto { STACKS_PER_REQUEST } else { 1 };
        let stacks = how.stacks.unwrap_or(self.schedule.depth * per_request);
        let plan = Plan { engine: self, adjacency, roamer, how };
        let outcomes = match (self.config.strategy, &self.pages) {
            (Strategy::Vertex, Some(pool)) => {
                let (shared, first) = by_vertex::Shared::new(&plan, sources)?;
                let board = Board::new(self.config.threads, stacks, first);
                self.workers.broadcast(|_| {
                    guarded(&board, || by_vertex::work(&plan, &shared, &board, &pool.handle()))
                })
            }
            (strategy, pool) => {
                let (shared, first) = by_page::Shared::new(&plan, sources)?;
                let board = Board::new(self.config.threads, stacks, first);
                self.workers.broadcast(|_| {
                    let handle = pool.as_ref().map(cenote_pool::Pool::handle);
                    guarded(&board, || match (strategy, &handle) {
                        (Strategy::Block, Some(handle)) => {
                            by_page::Worker::new(&plan, &shared, &board).by_single(handle)
                        }
                        _ => {
                            by_page::Worker::new(&plan, &shared, &board).by_extent(handle.as_ref())
                        }
                    })
                })
            }
        };
        let mut counts = Counts::default();
        let mut locals = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            let (local, counted) = outcome?;
            locals.push(local);
            counts += counted;
        }
        self.check_cancel()?;
        self.record(label.into(), None, counts, started_ns);
        Ok(locals)
    }
}

/// What all workers of one roaming are told.
struct Plan<'a, R> {
    engine: &'a Engine,
    adjacency: &'a Adjacency,
    roamer: &'a R,
    how: RoamConfig,
}

/// Counts a page that was asked for: whether it had to be read.
pub(crate) fn count_single(counts: &mut Counts, read: bool, adjacency: &Adjacency) {
    let read = u64::from(read);
    counts.pages_cached += 1 - read;
    counts.requests += read;
    counts.bytes += read * adjacency.page_bytes() as u64;
    counts.pages_read += read;
    counts.pages_fetched += read;
}

/// A worker's work; if it fails, the others end too.
fn guarded<T>(board: &Board, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let ends_others = EndsOthers(board);
    let done = work()?;
    std::mem::forget(ends_others);
    Ok(done)
}
