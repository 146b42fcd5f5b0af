//! The breadth-first order of the vertices.
//!
//! A search with a queue would read lists in the order of the queue, all over the file. This one
//! proceeds level by level and reads the lists of a level in file order. The place of a vertex in
//! the queue is determined by its earliest neighbour on the previous level, and by rank among the
//! neighbours of one vertex. So sorting the next level by (place of that neighbour, rank) gives the
//! order of the queue.

use std::ops::Range;

use cenote_pool::Handle;

use crate::error::{ImportError, Result};
use crate::report::Progress;
use cenote_store::page::List;
use cenote_store::{Direction, Graph, VertexId};

const NONE: u32 = u32::MAX;

pub(super) struct Search<'a> {
    graph: &'a Graph,
    handle: &'a Handle,
    /// The vertex of every rank, which is its place in the order of visits; of a rank of the next
    /// level the smallest place of a neighbour.
    vertex_of: Vec<VertexId>,
    visited: Vec<VertexId>,
    is_next: Vec<u64>,
    progress: &'a dyn Progress,
}

impl<'a> Search<'a> {
    /// Bytes of memory beside what [`Search::new`] is given.
    pub fn memory(vertices: usize) -> usize {
        // The visited ranks, and a bitmap.
        vertices * size_of::<VertexId>() + vertices.div_ceil(64) * 8
    }

    /// A new search that uses `memory`, which has a place for each vertex.
    pub fn new(
        (graph, handle): (&'a Graph, &'a Handle),
        mut memory: Vec<u32>,
        progress: &'a dyn Progress,
    ) -> Self {
        let vertices = graph.vertices();
        assert_eq!(memory.len(), vertices, "one place for each vertex");
        memory.fill(NONE);
        let is_next = vec![0; vertices.div_ceil(64)];
        let visited = Vec::with_capacity(vertices);
        Self { graph, handle, vertex_of: memory, visited, is_next, progress }
    }

    /// Searches from each of `starts` that is still unvisited; only the first `joined` of them have
    /// entries in their lists. Returns the vertex of every rank.
    pub fn run(mut self, starts: &[VertexId], joined: usize) -> Result<Vec<VertexId>> {
        for (number, &start) in starts.iter().enumerate() {
            if self.vertex_of[start as usize] != NONE {
                continue;
            }
            let mut level = self.visited.len();
            self.visit(start, level as u32);
            if number >= joined {
                self.place(level);
                continue;
            }
            while level < self.visited.len() {
                level = self.level(level)?;
            }
        }
        Ok(self.vertex_of)
    }

    /// Visits the neighbours of the level that starts at a place. Returns the start of the next.
    fn level(&mut self, start: usize) -> Result<usize> {
        if self.progress.cancelled() {
            return Err(ImportError::Cancelled);
        }
        let end = self.visited.len();
        self.place(start);
        let pages = self.graph.adjacency(Direction::Out).map_or(0, |lists| lists.pages());
        // Each list of a small level usually takes a page or two.
        let is_large = (end - start) as u64 > pages / 2;
        if is_large { self.scan(start..end) } else { self.look_up(start..end) }?;
        Ok(end)
    }

    /// Sorts the ranks visited from `start` on, now that all their neighbours are known.
    fn place(&mut self, start: usize) {
        let Self { vertex_of, visited, is_next, .. } = self;
        visited[start..].sort_unstable_by_key(|&rank| (vertex_of[rank as usize], rank));
        for (&rank, place) in visited[start..].iter().zip(start as u32..) {
            vertex_of[rank as usize] = place;
            is_next[rank as usize / 64] &= !(1 << (rank % 64));
        }
    }

    /// Visits a rank, a neighbour of the vertex at a place.
    #[inline]
    fn visit(&mut self, rank: VertexId, place: u32) {
        let found = self.vertex_of[rank as usize];
        if found == NONE {
            self.vertex_of[rank as usize] = place;
            self.is_next[rank as usize / 64] |= 1 << (rank % 64);
            self.visited.push(rank);
        } else if place < found && self.is_of_next_level(rank) {
            self.vertex_of[rank as usize] = place;
        }
    }

    #[inline]
    fn is_of_next_level(&self, rank: VertexId) -> bool {
        self.is_next[rank as usize / 64] >> (rank % 64) & 1 != 0
    }

    /// Reads all lists in one pass, for a large level.
    fn scan(&mut self, level: Range<usize>) -> Result<()> {
        let places = level.start as u32..level.end as u32;
        let graph = self.graph;
        graph.scan(Direction::Out, &mut |_, page| {
            for List { vertex, targets, .. } in page.lists() {
                let place = self.vertex_of[vertex as usize];
                if places.contains(&place) && !self.is_of_next_level(vertex) {
                    targets.iter().for_each(|&target| self.visit(target, place));
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Reads only the lists of a small level.
    fn look_up(&mut self, level: Range<usize>) -> Result<()> {
        let mut ranks = self.visited[level].to_vec();
        ranks.sort_unstable();
        let (graph, handle) = (self.graph, self.handle);
        for rank in ranks {
            let place = self.vertex_of[rank as usize];
            graph.look_up(handle, Direction::Out, rank, &mut |targets| {
                targets.iter().for_each(|&target| self.visit(target, place));
            })?;
        }
        Ok(())
    }
}
