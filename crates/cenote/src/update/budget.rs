//! The memory of a batch, and errors where it is not enough.

use cenote_store::{StoreError, WriteLimits};

use super::{LOG_SHARE, PAGES_SHARE, RUNS_SHARE, Update, held_bytes};
use crate::error::{Error, Result};
use crate::memory::size;

/// Memory for an edge that is deleted with a vertex: as it is found, as a change with its answer,
/// and as the lists of both ends have it, sorted.
const DELETED_EDGE_BYTES: u64 = 128;

/// And for its weight.
const DELETED_WEIGHT_BYTES: u64 = 32;

// The shares of what grows with the memory are half of it.
const _: () = assert!(8 / LOG_SHARE + 8 / PAGES_SHARE + 8 / RUNS_SHARE <= 4);

impl Update {
    /// The memory budget, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Counts the memory that the graph holds now.
    pub(super) fn count_memory(&mut self) -> Result<()> {
        self.held_bytes = held_bytes(&self.store, self.is_beside)?;
        self.kept_bytes = self.store.kept_bytes()?;
        Ok(())
    }

    /// The error of a batch that does not fit.
    pub(super) fn too_many(&self) -> Error {
        let (changes, held) = (self.changes.bytes_with(0), self.held_bytes);
        let own = held - self.log_bytes - self.kept_bytes;
        let own = own.saturating_add(changes.saturating_mul(2));
        // Page table and indexes grow with the graph.
        let own = own.saturating_add(own / 8);
        // With more memory the log may have more changes, up to its limit, and more is kept, up to
        // all pages: together half of the memory.
        let log_max = match self.store.superblock().logs_edges() {
            true => (WriteLimits::default().changes * WriteLimits::CHANGE_BYTES) as u64,
            false => 0,
        };
        let most = log_max.saturating_add(self.kept_max);
        let needed = own.saturating_add(own.min(most));
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
        let used = self.batch_bytes().saturating_add(edge_bytes);
        // More memory is half for what grows with it.
        let missing = used.saturating_sub(self.memory_bytes);
        let needed = self.memory_bytes.saturating_add(missing.saturating_mul(2));
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
