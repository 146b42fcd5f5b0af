//! Vertices that are added and deleted, and the memory for their edges.

use cenote_store::{Op, StoreError};

use super::Update;
use crate::error::{Error, Result};
use crate::memory::size;

/// Memory for an edge that is deleted with a vertex: as it is found, as a change with its answer,
/// and as the lists of both ends have it, sorted.
const DELETED_EDGE_BYTES: u64 = 128;

/// And for its weight.
const DELETED_WEIGHT_BYTES: u64 = 32;

impl Update {
    /// Adds a vertex without edges with the next commit.
    ///
    /// # Errors
    /// As [`Update::add`].
    pub fn add_vertex(&mut self, id: impl ToString) -> Result<()> {
        self.change(Op::AddVertex, [&id, &id], None)
    }

    /// Deletes a vertex with all its edges with the next commit. Its number and its id stay in the
    /// file until it is compacted.
    ///
    /// # Errors
    /// As [`Update::add`].
    pub fn delete_vertex(&mut self, id: impl ToString) -> Result<()> {
        self.change(Op::DeleteVertex, [&id, &id], None)
    }

    /// Bytes of memory for the changes of the next commit, and those that are held anyway.
    pub(super) fn batch_bytes(&self) -> u64 {
        self.held_bytes.saturating_add(self.changes.bytes_with(0))
    }

    /// Bytes of memory of an edge that is deleted with a vertex.
    pub(super) fn deleted_edge_bytes(&self) -> u64 {
        DELETED_EDGE_BYTES + if self.weights.is_some() { DELETED_WEIGHT_BYTES } else { 0 }
    }

    /// An error of the store, where vertices to be deleted have too many edges.
    pub(super) fn of_vertices(&self, error: StoreError) -> Error {
        let StoreError::DeletedEdges { edges, .. } = error else {
            return self.failed(error);
        };
        let edge_bytes = edges.saturating_mul(self.deleted_edge_bytes());
        let needed = self.batch_bytes().saturating_add(edge_bytes);
        let (held, changes) = (self.held_bytes, self.changes.bytes_with(0));
        Error::MemoryBudget {
            what: format!("deleting vertices with {edges} edges"),
            given: self.memory_bytes,
            needed,
            suggested: needed.div_ceil(1 << 20),
            breakdown: format!(
                "{} of the graph, {} of the changes, {} of the edges",
                size(held),
                size(changes),
                size(edge_bytes)
            ),
        }
    }
}
