//! Algorithms over shards: each shard's part of a superstep.
//!
//! A shard has the lists of a range of vertices, its *own* ones, and the other ends of their edges,
//! its *boundary*, which other shards own ([`Part`]). All shards do a superstep, exchange values of
//! boundary vertices, and do the next. Here is what one shard does: [`ShardRun::step`] takes what
//! the others sent, and returns what is to be sent to each of them, and a report. From the reports
//! of all shards the caller computes the *shared* values of the next superstep, such as the mass of
//! vertices without out-edges: every shard gets the same.
//!
//! - [`Part`], [`ShardRun`], [`ShardAlgorithm`]: a shard, a run on it, what is run
//! - [`program`]: what an algorithm has to implement
//! - [`exchange`]: [`Message`], [`Received`]: values of boundary vertices, from and to owners
//! - [`state`]: arrays of a run, for checkpoints and answers
//! - [`pagerank`], [`wcc`], [`bfs`], [`sssp`], [`cdlp`], [`kcore`], [`degrees`]: a module each
//!
//! Answers do not depend on how many shards there are, and are those of one machine to the last
//! bit. A superstep is a pure function of the state and of what it is given, so it can be repeated
//! from a checkpoint.

mod bfs;
mod cdlp;
mod degrees;
mod exchange;
mod kcore;
mod pagerank;
mod program;
mod run;
mod sssp;
mod state;
mod wcc;

use std::ops::Range;
use std::sync::Arc;

use cenote_engine::{ActiveSet, Bitmap, Direction, Graph, VertexId};

use crate::parallel;

pub use exchange::{Message, Received};
pub use program::Step;
pub use run::{ShardAlgorithm, ShardRun};
pub use state::Values;

/// A shard: its graph file, and which of its vertices other shards know.
#[derive(Clone, Debug)]
pub struct Part {
    /// The file. It is directed; that of an undirected graph has the lists as out-lists.
    pub graph: Arc<Graph>,
    /// Whether the graph that was cut is directed.
    pub is_directed: bool,
    /// Which shard it is.
    pub index: usize,
    /// Vertices of all shards.
    pub vertices_total: u64,
    /// The number of each vertex of the file, ascending: its place among the vertices of all
    /// shards.
    pub numbers: Arc<Vec<u64>>,
    /// For each shard the vertices of the file that it owns.
    pub runs: Vec<Range<VertexId>>,
    /// For each shard the vertices of this one in its boundary, counted from the first own vertex.
    pub mirrored: Vec<Vec<u32>>,
}

impl Part {
    /// The vertices that it owns.
    pub fn own(&self) -> Range<VertexId> {
        self.runs[self.index].clone()
    }

    /// How many vertices it owns.
    pub fn own_count(&self) -> usize {
        self.own().len()
    }

    /// The vertices of the file, own and boundary.
    pub fn places(&self) -> usize {
        self.numbers.len()
    }

    /// All boundary vertices, and all vertices in boundaries of others: as many values are sent or
    /// received at most.
    pub fn exchanged(&self) -> u64 {
        let mirrored: usize = self.mirrored.iter().map(Vec::len).sum();
        (self.boundary_count() + mirrored) as u64
    }

    fn boundary_count(&self) -> usize {
        self.places() - self.own_count()
    }

    /// The boundary vertex at a place among all of them.
    #[inline(always)]
    fn boundary_vertex(&self, at: usize) -> VertexId {
        let own = &self.runs[self.index];
        let is_below = at < own.start as usize;
        at as VertexId + if is_below { 0 } else { own.end - own.start }
    }

    /// The boundary vertices that a shard owns.
    fn boundary_of(&self, owner: usize) -> Range<VertexId> {
        if owner == self.index { 0..0 } else { self.runs[owner].clone() }
    }

    /// Calls `take` with all boundary vertices, from all threads.
    fn for_each_boundary(&self, take: impl Fn(VertexId) + Sync) {
        parallel::for_each(self.boundary_count(), |at| take(self.boundary_vertex(at)));
    }

    /// Adds all boundary vertices to a set.
    fn insert_boundary(&self, set: &Bitmap) {
        let (own, end) = (self.own(), self.places() as VertexId);
        for range in [0..own.start, own.end..end] {
            parallel::insert_where(set, range, |_| true);
        }
    }

    /// What `of` gives for all own vertices, in their order.
    fn of_own<T: Copy + Default + Send>(&self, of: impl Fn(VertexId) -> T + Sync) -> Vec<T> {
        let first = self.own().start;
        parallel::collect(self.own_count(), |at| of(first + at as VertexId))
    }

    /// How many own vertices have a property.
    fn count_own(&self, has: impl Fn(VertexId) -> bool + Sync) -> usize {
        let first = self.own().start;
        parallel::count(self.own_count(), |at| has(first + at as VertexId))
    }

    /// The vertex of the file with a number, if it has it.
    pub fn vertex_of(&self, number: u64) -> Option<VertexId> {
        self.numbers.binary_search(&number).ok().map(|v| v as VertexId)
    }

    /// The own vertices among some, by their numbers.
    fn own_of(&self, numbers: &[u64]) -> Vec<VertexId> {
        let own = self.own();
        numbers.iter().filter_map(|&n| self.vertex_of(n)).filter(|v| own.contains(v)).collect()
    }

    fn own_set(&self) -> ActiveSet<'static> {
        let own = self.own();
        ActiveSet::Within { from: own.start, to: own.end }
    }

    /// Whether the file has the hub neighbours of the vertices that it owns.
    fn has_hub_neighbours(&self) -> bool {
        self.graph.superblock().hub_neighbours_of_part().is_some()
    }

    /// The direction of lists with the in-neighbours; `None` where the file has none.
    fn inward(&self) -> Option<Direction> {
        match (self.is_directed, self.graph.has_in_edges()) {
            (false, _) => Some(Direction::Out),
            (true, true) => Some(Direction::In),
            (true, false) => None,
        }
    }
}
