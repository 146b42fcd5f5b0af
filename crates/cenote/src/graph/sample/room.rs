//! The memory that a sample may take.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::memory::size;

/// Memory of a sampled edge: its place and its neighbour as they are read, then the edge, then its
/// numbers as a caller of another language gets them.
const EDGE_BYTES: u64 = 64;

/// Counts the edges of a sample before they are chosen.
pub(super) struct Room {
    bytes: u64,
    edges: AtomicU64,
}

impl Room {
    pub fn new(bytes: u64) -> Self {
        Self { bytes, edges: AtomicU64::new(0) }
    }

    /// Edges so far.
    pub fn edges(&self) -> u64 {
        self.edges.load(Ordering::Relaxed)
    }

    /// Takes the memory of more edges; with the others of their layer they are at most
    /// `edges_max`.
    pub fn take(&self, edges: u64, edges_max: u64) -> Result<()> {
        let edges = self.edges.fetch_add(edges, Ordering::Relaxed).saturating_add(edges);
        match edges.saturating_mul(EDGE_BYTES) <= self.bytes {
            true => Ok(()),
            false => Err(self.too_small(edges.max(edges_max))),
        }
    }

    #[cold]
    fn too_small(&self, edges: u64) -> Error {
        let needed = edges.saturating_mul(EDGE_BYTES);
        Error::MemoryBudget {
            what: "a sample of neighbours".to_owned(),
            given: self.bytes,
            needed,
            suggested: needed.div_ceil(1 << 20),
            breakdown: format!("{edges} edges of {} each, at most", size(EDGE_BYTES)),
        }
    }
}
