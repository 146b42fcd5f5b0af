//! Groups of vertices, called by the smallest of the user's ids in them.
//!
//! Algorithms call a group by its smallest vertex. That is the one of the smallest id, unless the
//! graph was imported with an order of its own.

use anyhow::Result;
use cenote_engine::Graph;
use cenote_store::VertexId;

/// How groups are called that an algorithm calls by one of their vertices.
pub struct Groups {
    /// The vertex of the smallest id of every group; `None` where that is how the algorithm calls
    /// it.
    smallest: Option<Vec<VertexId>>,
}

/// No vertex.
const NONE: VertexId = VertexId::MAX;

impl Groups {
    /// The groups that `label` tells. 4 bytes a vertex, if the graph has an order of its own.
    pub fn new(graph: &Graph, label: impl Fn(VertexId) -> VertexId) -> Result<Self> {
        let ids = graph.ids()?;
        if ids.is_natural() {
            return Ok(Self { smallest: None });
        }
        let mut smallest = vec![NONE; graph.vertices()];
        ids.for_each_vertex(|vertex| {
            let first = &mut smallest[label(vertex) as usize];
            if *first == NONE {
                *first = vertex;
            }
        })?;
        Ok(Self { smallest: Some(smallest) })
    }

    /// The vertex of the smallest id in the group that the algorithm calls `label`.
    pub fn name(&self, label: VertexId) -> VertexId {
        self.smallest.as_ref().map_or(label, |smallest| smallest[label as usize])
    }

    /// The largest group, which the algorithm calls `label` if several are: of these the one with
    /// the smallest id.
    pub fn largest(
        &self,
        graph: &Graph,
        (label, size): (Option<VertexId>, u64),
        label_of: impl Fn(VertexId) -> VertexId,
    ) -> Result<Option<VertexId>> {
        if self.smallest.is_none() {
            return Ok(label);
        }
        let mut sizes = vec![0u32; graph.vertices()];
        (0..graph.vertices() as VertexId).for_each(|v| sizes[label_of(v) as usize] += 1);
        let mut largest = None;
        graph.ids()?.for_each_vertex(|vertex| {
            if largest.is_none() && u64::from(sizes[label_of(vertex) as usize]) == size {
                largest = Some(vertex);
            }
        })?;
        Ok(largest)
    }
}
