//! The memory of a batch, and errors where it is not enough.

use cenote_store::{LogLimits, StoreError};

use super::{LOG_SHARE, Update};
use crate::error::Error;
use crate::memory::size;

/// Memory for an edge that is deleted with a vertex: as it is found, as a change with its answer,
/// and as the lists of both ends have it, sorted.
const DELETED_EDGE_BYTES: u64 = 128;

/// And for its weight.
const DELETED_WEIGHT_BYTES: u64 = 32;

impl Update {
    /// The error of a batch that does not fit.
    pub(super) fn too_many(&self) -> Error {
        let (changes, held) = (self.changes.bytes_with(0), self.held_bytes);
        let own = (held - self.log_bytes).saturating_add(changes.saturating_mul(2));
        // Page table and indexes grow with the graph.
        let own = own.saturating_add(own / 8);
        // With more memory the log may have more changes, up to its limit.
        let log_max = match self.weights {
            Some(_) => 0,
            None => (LogLimits::default().changes * LogLimits::CHANGE_BYTES) as u64,
        };
        let needed = own.saturating_add(own.div_ceil(LOG_SHARE - 1).min(log_max));
        Error::MemoryBudget {
            what: format!("a batch of more than {} changes", self.len()),
            given: self.memory_bytes,
            needed,
            suggested: needed.div_ceil(1 << 20),
            breakdown: format!("{} of the graph, {} of the changes", size(held), size(changes)),
        }
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
