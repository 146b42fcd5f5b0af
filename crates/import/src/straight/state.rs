//! What is known of each vertex while the edges pass by.

use std::fmt::Debug;

use cenote_store::VertexId;

use crate::error::Result;

/// A state of vertices that are numbered as they are met. Shared by the threads that pass edges.
pub(super) trait State: Debug + Default + Send + Sync {
    /// Bytes of memory of a vertex.
    const VERTEX_BYTES: usize;

    /// Makes room for so many vertices.
    fn grow(&mut self, vertices: usize) -> Result<()>;

    fn prefetch(&self, vertex: VertexId);

    /// An edge between two vertices; two equal ones are a vertex alone. Returns the numbers under
    /// which both are looked up from now on, if the caller can change them.
    fn edge(&self, source: VertexId, target: VertexId) -> [VertexId; 2];

    /// An edge from a vertex to itself.
    fn self_loop(&self, vertex: VertexId);
}
