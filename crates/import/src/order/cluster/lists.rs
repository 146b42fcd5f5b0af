//! The lists of the vertices, in memory or in a stored graph, and how many of their entries lie
//! close to them.

use std::collections::{HashSet, VecDeque};

use cenote_pool::Handle;

use super::grow::Nodes;
use super::{CAPACITY, VERTEX};
use crate::error::Result;
use cenote_store::page::List;
use cenote_store::{Direction, Graph, VertexId};

/// Starts of parts of a graph that show what clusters would do.
const STARTS: usize = 64;

/// The lists of targets of all vertices, one behind the other.
pub struct Loaded {
    /// Where the list of each vertex begins, and the end of the last.
    starts: Vec<u32>,
    targets: Vec<VertexId>,
}

impl Loaded {
    /// Bytes of memory for so many vertices with so many entries.
    pub fn memory(vertices: usize, entries: usize) -> usize {
        (vertices + 1 + entries) * size_of::<u32>()
    }

    /// Reads all lists in one pass. There are fewer than 2^32 entries.
    pub fn load(graph: &Graph) -> Result<Self> {
        let entries = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_edges());
        let mut starts = Vec::with_capacity(graph.vertices() + 1);
        let mut targets = Vec::with_capacity(entries as usize);
        graph.scan(Direction::Out, &mut |_, page| {
            for List { vertex, targets: part, .. } in page.lists() {
                // Also the empty lists before; a list in several pages begins in the first.
                while starts.len() <= vertex as usize {
                    starts.push(targets.len() as u32);
                }
                targets.extend_from_slice(part);
            }
            Ok(())
        })?;
        starts.resize(graph.vertices() + 1, targets.len() as u32);
        Ok(Self { starts, targets })
    }

    fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    fn list(&self, vertex: VertexId) -> &[VertexId] {
        let at = |vertex: usize| self.starts[vertex] as usize;
        &self.targets[at(vertex as usize)..at(vertex as usize + 1)]
    }

    /// The share of the entries that lie close to their lists in natural order: within lists as
    /// long together as those of a cluster.
    pub fn together_by_id(&self) -> f64 {
        self.together(|at| self.list(at), |rank| rank)
    }

    /// The same in another order, by the rank of every vertex and the vertex of every rank.
    pub fn together_in(&self, ranks: &[VertexId], vertex_of: &[VertexId]) -> f64 {
        self.together(|at| self.list(ranks[at as usize]), |rank| vertex_of[rank as usize])
    }

    fn together<'a>(
        &self,
        list_at: impl Fn(VertexId) -> &'a [VertexId],
        place: impl Fn(VertexId) -> VertexId,
    ) -> f64 {
        let (mut first, mut size, mut together) = (0, 0, 0);
        for at in 0..self.vertices() as VertexId {
            size += list_at(at).len() as u64 + VERTEX;
            if size >= CAPACITY || at as usize + 1 == self.vertices() {
                let entries = (first..=at).flat_map(&list_at);
                together += entries.filter(|&&rank| (first..=at).contains(&place(rank))).count();
                (first, size) = (at + 1, 0);
            }
        }
        together as f64 / self.targets.len().max(1) as f64
    }

    /// About the most that clusters can bring together: the share of such entries in parts of the
    /// size of a cluster, grown from some vertices without regard to each other.
    pub fn together_at_most(&self) -> f64 {
        let (mut together, mut entries) = (0, 0);
        for start in (0..self.vertices()).step_by(self.vertices().div_ceil(STARTS).max(1)) {
            let start = start as VertexId;
            let (mut queue, mut touched) = (VecDeque::from([start]), HashSet::from([start]));
            let (mut part, mut size) = (HashSet::new(), 0);
            while let Some(vertex) = queue.pop_front().filter(|_| size < CAPACITY) {
                part.insert(vertex);
                size += self.list(vertex).len() as u64 + VERTEX;
                queue.extend(self.list(vertex).iter().filter(|&&target| touched.insert(target)));
            }
            for &vertex in &part {
                let list = self.list(vertex);
                entries += list.len();
                together += list.iter().filter(|target| part.contains(target)).count();
            }
        }
        together as f64 / entries.max(1) as f64
    }
}

impl Nodes for Loaded {
    fn visit(&mut self, vertex: u32, each: &mut impl FnMut(u32)) -> Result<u64> {
        let list = self.list(vertex);
        list.iter().for_each(|&target| each(target));
        Ok(list.len() as u64 + VERTEX)
    }
}

/// The lists of a stored graph.
pub struct Stored<'a> {
    graph: &'a Graph,
    handle: Handle,
}

impl<'a> Stored<'a> {
    pub fn new(graph: &'a Graph) -> Result<Self> {
        Ok(Self { graph, handle: graph.handle()? })
    }
}

impl Nodes for Stored<'_> {
    fn visit(&mut self, vertex: u32, each: &mut impl FnMut(u32)) -> Result<u64> {
        let mut entries = 0;
        self.graph.look_up(&self.handle, Direction::Out, vertex, &mut |targets| {
            entries += targets.len() as u64;
            targets.iter().for_each(|&target| each(target));
        })?;
        Ok(entries + VERTEX)
    }
}
