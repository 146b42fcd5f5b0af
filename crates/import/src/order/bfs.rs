//! The order in which a breadth-first search meets the vertices.
//!
//! A search with a queue would look lists up in the order of the queue, all over the file. This one
//! goes level by level and takes the lists of a level in file order. What a vertex of the next
//! level has to know is the place of the first vertex that would have met it: the smallest of all
//! on this level that lead to it. Sorted by that place, and equals by rank, the next level has the
//! order that the queue would have given it.

use std::ops::Range;

use cenote_pool::Handle;

use crate::error::{ImportError, Result};
use crate::report::Progress;
use cenote_store::page::List;
use cenote_store::{Direction, Graph, VertexId};

/// A rank that was not met.
const NONE: u32 = u32::MAX;

/// A search, level by level.
pub(super) struct Search<'a> {
    graph: &'a Graph,
    handle: &'a Handle,
    /// Of every rank its vertex, which is the place at which it was met; of a rank of the next
    /// level the smallest place that leads to it.
    vertex_of: Vec<VertexId>,
    /// Ranks in the order in which they were met.
    met: Vec<VertexId>,
    /// The ranks of the next level, one bit each.
    is_next: Vec<u64>,
    progress: &'a dyn Progress,
}

impl<'a> Search<'a> {
    /// Memory beside that which [`Search::new`] is given.
    pub fn memory(vertices: usize) -> usize {
        // The ranks met, and a bit for each.
        vertices * size_of::<VertexId>() + vertices.div_ceil(64) * 8
    }

    /// A search that has met nothing. `memory` is as long as there are vertices.
    pub fn new(
        (graph, handle): (&'a Graph, &'a Handle),
        mut memory: Vec<u32>,
        progress: &'a dyn Progress,
    ) -> Self {
        let vertices = graph.vertices();
        assert_eq!(memory.len(), vertices, "one place for each vertex");
        memory.fill(NONE);
        let is_next = vec![0; vertices.div_ceil(64)];
        let met = Vec::with_capacity(vertices);
        Self { graph, handle, vertex_of: memory, met, is_next, progress }
    }

    /// Starts at the first of `starts` that was not met, until all are; only the lists of the first
    /// `joined` of them have entries. The vertex of every rank.
    pub fn run(mut self, starts: &[VertexId], joined: usize) -> Result<Vec<VertexId>> {
        for (number, &start) in starts.iter().enumerate() {
            if self.vertex_of[start as usize] != NONE {
                continue;
            }
            let mut level = self.met.len();
            self.meet(start, level as u32);
            if number >= joined {
                self.place(level);
                continue;
            }
            while level < self.met.len() {
                level = self.level(level)?;
            }
        }
        Ok(self.vertex_of)
    }

    /// Takes the lists of the level that begins at a place; returns where the next one begins.
    fn level(&mut self, start: usize) -> Result<usize> {
        if self.progress.cancelled() {
            return Err(ImportError::Cancelled);
        }
        let end = self.met.len();
        self.place(start);
        let pages = self.graph.adjacency(Direction::Out).map_or(0, |lists| lists.pages());
        // A list of a small level lies on a page or two of its own, as a rule.
        let is_large = (end - start) as u64 > pages / 2;
        if is_large { self.scan(start..end) } else { self.look_up(start..end) }?;
        Ok(end)
    }

    /// Puts the ranks met from `start` on into order, now that all that lead to them are known.
    fn place(&mut self, start: usize) {
        let Self { vertex_of, met, is_next, .. } = self;
        met[start..].sort_unstable_by_key(|&rank| (vertex_of[rank as usize], rank));
        for (&rank, place) in met[start..].iter().zip(start as u32..) {
            vertex_of[rank as usize] = place;
            is_next[rank as usize / 64] &= !(1 << (rank % 64));
        }
    }

    /// A rank that the vertex at a place leads to.
    #[inline]
    fn meet(&mut self, rank: VertexId, place: u32) {
        let found = self.vertex_of[rank as usize];
        if found == NONE {
            self.vertex_of[rank as usize] = place;
            self.is_next[rank as usize / 64] |= 1 << (rank % 64);
            self.met.push(rank);
        } else if place < found && self.is_of_next_level(rank) {
            self.vertex_of[rank as usize] = place;
        }
    }

    #[inline]
    fn is_of_next_level(&self, rank: VertexId) -> bool {
        self.is_next[rank as usize / 64] >> (rank % 64) & 1 != 0
    }

    /// A large level: one pass over all lists.
    fn scan(&mut self, level: Range<usize>) -> Result<()> {
        let places = level.start as u32..level.end as u32;
        let graph = self.graph;
        graph.scan(Direction::Out, &mut |_, page| {
            for List { vertex, targets, .. } in page.lists() {
                let place = self.vertex_of[vertex as usize];
                if places.contains(&place) && !self.is_of_next_level(vertex) {
                    targets.iter().for_each(|&target| self.meet(target, place));
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// A small level: its lists alone.
    fn look_up(&mut self, level: Range<usize>) -> Result<()> {
        let mut ranks = self.met[level].to_vec();
        ranks.sort_unstable();
        let (graph, handle) = (self.graph, self.handle);
        for rank in ranks {
            let place = self.vertex_of[rank as usize];
            graph.look_up(handle, Direction::Out, rank, &mut |targets| {
                targets.iter().for_each(|&target| self.meet(target, place));
            })?;
        }
        Ok(())
    }
}
