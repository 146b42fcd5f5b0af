//! Adjacency lists in memory, for serial verifiers.

use cenote_engine::{Direction, Graph, VertexId, for_each_list};

use crate::ranks::Ranks;
use crate::report::Result;

/// All lists, in one array.
#[derive(Debug)]
pub(crate) struct Lists {
    starts: Vec<usize>,
    targets: Vec<VertexId>,
}

impl Lists {
    /// Neighbours in both directions; a neighbour by two edges is there twice.
    pub fn both_ways(graph: &Graph) -> Result<Self> {
        Self::of(graph, |v, target, put| {
            put(v, target);
            if graph.is_directed() {
                put(target, v);
            }
        })
    }

    /// The out-lists, as stored. 4 bytes an entry and 8 a vertex.
    pub fn outward(graph: &Graph) -> Result<Self> {
        Self::of(graph, |v, target, put| put(v, target))
    }

    /// Sorts every list by id.
    pub fn sort(&mut self, ranks: &Ranks) {
        if !ranks.is_natural() {
            for v in 0..self.vertices() as usize {
                ranks.sort(&mut self.targets[self.starts[v]..self.starts[v + 1]]);
            }
        }
    }

    /// The in-lists.
    pub fn inward(graph: &Graph) -> Result<Self> {
        Self::of(graph, |v, target, put| put(target, v))
    }

    /// Builds lists from `entries`, which maps each stored entry to entries (vertex, target).
    fn of(
        graph: &Graph,
        entries: impl Fn(VertexId, VertexId, &mut dyn FnMut(VertexId, VertexId)),
    ) -> Result<Self> {
        let mut starts = vec![0; graph.vertices() + 2];
        for_each_list(graph, Direction::Out, |list| {
            for &target in list.targets {
                entries(list.vertex, target, &mut |v, _| starts[v as usize + 2] += 1);
            }
        })?;
        for v in 2..starts.len() {
            starts[v] += starts[v - 1];
        }
        let mut targets = vec![0; starts[starts.len() - 1]];
        for_each_list(graph, Direction::Out, |list| {
            for &target in list.targets {
                entries(list.vertex, target, &mut |v, target| {
                    targets[starts[v as usize + 1]] = target;
                    starts[v as usize + 1] += 1;
                });
            }
        })?;
        Ok(Self { starts, targets })
    }

    pub fn vertices(&self) -> VertexId {
        (self.starts.len() - 2) as VertexId
    }

    /// Which vertices can be reached from `source`.
    pub fn reachable_from(&self, source: VertexId) -> Vec<bool> {
        let mut reached = vec![false; self.vertices() as usize];
        reached[source as usize] = true;
        let mut queue = vec![source];
        while let Some(v) = queue.pop() {
            for &target in self.of_vertex(v) {
                if !std::mem::replace(&mut reached[target as usize], true) {
                    queue.push(target);
                }
            }
        }
        reached
    }

    pub fn of_vertex(&self, v: VertexId) -> &[VertexId] {
        &self.targets[self.starts[v as usize]..self.starts[v as usize + 1]]
    }
}
