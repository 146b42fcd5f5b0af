//! A whole graph in memory, for verifiers.

use cenote_engine::{Direction, Graph, VertexId, for_each_list};

use crate::report::Result;

/// All out-lists, side by side: 4 bytes an entry and 8 a vertex.
pub(crate) struct InMemory {
    starts: Vec<usize>,
    targets: Vec<VertexId>,
}

impl InMemory {
    /// Reads them.
    pub fn load(graph: &Graph) -> Result<Self> {
        let mut lists = Self { starts: Vec::new(), targets: Vec::new() };
        for_each_list(graph, Direction::Out, |list| {
            // Lists come in the order of their vertices.
            if lists.starts.len() <= list.vertex as usize {
                lists.starts.resize(list.vertex as usize + 1, lists.targets.len());
            }
            lists.targets.extend_from_slice(list.targets);
        })?;
        lists.starts.resize(graph.vertices() + 1, lists.targets.len());
        Ok(lists)
    }

    /// The list of `v`, ascending.
    pub fn list(&self, v: VertexId) -> &[VertexId] {
        &self.targets[self.starts[v as usize]..self.starts[v as usize + 1]]
    }

    /// For each vertex, whether it can be reached from `source`.
    pub fn reachable_from(&self, source: VertexId) -> Vec<bool> {
        let mut reached = vec![false; self.starts.len() - 1];
        reached[source as usize] = true;
        let mut stack = vec![source];
        while let Some(v) = stack.pop() {
            for &target in self.list(v) {
                if !reached[target as usize] {
                    reached[target as usize] = true;
                    stack.push(target);
                }
            }
        }
        reached
    }
}
