//! The memory of a batch, and errors where it is not enough.

use cenote_store::{Batch, StoreError, WriteLimits};

use super::Update;
use super::beside::BESIDE_SHARE;
use crate::error::{Error, Result};
use crate::memory::size;

/// Of the memory, the log's changes take at most `1 / LOG_SHARE`.
const LOG_SHARE: u64 = 4;

/// Of the memory, delta runs that are kept take at most `1 / RUNS_SHARE`.
const RUNS_SHARE: u64 = 8;

/// Of the memory, pages of lists that are kept take at most `1 / PAGES_SHARE`.
const PAGES_SHARE: u64 = 8;

/// Pages in memory during a commit, beside those that it reads, with the buffers of large reads.
const COMMIT_PAGES: u64 = (1 << 10) + (1 << 8);

/// Memory for an entry of a list that changes.
const LIST_ENTRY_BYTES: u64 = 8;

/// And where it has a weight and may be one of many copies, which change together.
const COPY_BYTES: u64 = 56;

/// Memory for an edge that is deleted with a vertex: as it is found, as a change with its answer,
/// and as the lists of both ends have it, sorted.
const DELETED_EDGE_BYTES: u64 = 128;

/// And for its weight.
const DELETED_WEIGHT_BYTES: u64 = 32;

// The shares of what grows with the memory are half of it.
const _: () = assert!(8 / LOG_SHARE + 8 / PAGES_SHARE + 8 / RUNS_SHARE <= 4);

/// Of the memory, runs are merged beside commits only if `1 / CHANGES_SHARE` is left for changes.
const CHANGES_SHARE: u64 = 32;

/// Whether runs may be merged beside commits with so much memory, where that takes so many bytes;
/// else commits wait for merges.
pub(super) fn is_beside(beside_bytes: u64, memory_bytes: u64) -> bool {
    beside_bytes <= memory_bytes / BESIDE_SHARE
}

/// Limits of a writer with so much memory.
pub(super) fn limits_of(memory_bytes: u64) -> WriteLimits {
    let logged = usize::try_from(memory_bytes / LOG_SHARE / WriteLimits::CHANGE_BYTES as u64);
    let limits = WriteLimits::default();
    let changes = logged.unwrap_or(usize::MAX).min(limits.changes);
    let limits = limits.changes(changes).run_bytes(memory_bytes / RUNS_SHARE);
    limits.page_bytes(memory_bytes / PAGES_SHARE)
}

impl Update {
    /// The memory budget, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Counts the memory that the graph holds now, besides the changes of the next commit, and
    /// decides whether runs are merged beside commits: with the memory that their changes leave.
    pub(super) fn count_memory(&mut self) -> Result<()> {
        let (store, superblock) = (&self.store, self.store.superblock());
        // Copies of an edge are counted for each change.
        let own_numbers = if superblock.duplicates_kept { 0 } else { store.own_numbers()? };
        self.changes.set_own_numbers(own_numbers.into());
        let pages = COMMIT_PAGES * u64::from(superblock.page_bytes);
        let copies = superblock.weights.is_some() && superblock.duplicates_kept;
        let copy_bytes = if copies { COPY_BYTES } else { 0 };
        let list = superblock.degree_max * (LIST_ENTRY_BYTES + copy_bytes);
        // What is kept grows with the graph, up to its limits.
        let kept = store.kept_bytes()?;
        let own = store.memory_bytes()?.saturating_sub(kept);
        let kept = kept.max(self.kept_max(self.memory_bytes));
        let opened = self.own_bytes.map_or(own, |[opened, _]| opened);
        self.own_bytes = Some([opened, own]);
        let held = own + kept + pages + list;
        let beside = if self.may_be_beside { store.beside_bytes()? } else { 0 };
        let used = held + beside + self.memory_bytes / CHANGES_SHARE;
        self.is_beside =
            self.may_be_beside && is_beside(beside, self.memory_bytes) && used <= self.memory_bytes;
        self.held_bytes = held + if self.is_beside { beside } else { 0 };
        self.free_log_bytes = store.free_log_bytes()?;
        Ok(())
    }

    /// Bytes that are held during a commit of so many changes, besides these.
    pub(super) fn held_during(&self, changes: usize) -> u64 {
        let is_large = changes > WriteLimits::LOGGED_MAX;
        self.held_bytes - if is_large { self.free_log_bytes } else { 0 }
    }

    /// Bytes that are held with so much memory, besides what is needed with any.
    fn optional_bytes(&self, memory_bytes: u64) -> u64 {
        self.log_bytes(memory_bytes) + self.kept_max(memory_bytes)
    }

    /// Most bytes of pages and delta runs that are kept with so much memory.
    fn kept_max(&self, memory_bytes: u64) -> u64 {
        limits_of(memory_bytes).kept_bytes_max(self.page_bytes as usize)
    }

    /// Bytes that are reserved for changes of the log with so much memory.
    fn log_bytes(&self, memory_bytes: u64) -> u64 {
        let is_logged = self.store.superblock().logs_edges();
        let changes = if is_logged { limits_of(memory_bytes).changes } else { 0 };
        (changes * WriteLimits::CHANGE_BYTES) as u64
    }

    /// The error of a batch that does not fit.
    pub(super) fn too_many(&self) -> Error {
        let what = format!("a batch of more than {} changes", self.len());
        self.too_large(what, self.changes.bytes().saturating_mul(2), "the changes")
    }

    /// The error of a batch whose new vertices do not fit, beside the changes: some of them are
    /// those of `batch`.
    pub(super) fn too_many_new(&self, batch: &Batch) -> Error {
        let what = format!("a batch with more than {} new vertices", batch.new_ids.len());
        // Each change may have two.
        let bytes = self.changes.bytes_of(self.len(), 2 * self.len());
        self.too_large(what, bytes, "the changes and their new vertices")
    }

    fn too_large(&self, what: String, changes: u64, of_what: &str) -> Error {
        let optional = self.optional_bytes(self.memory_bytes);
        let own = self.held_bytes.saturating_sub(optional).saturating_add(changes);
        // Page table and indexes grow with the graph.
        let own = own.saturating_add(own / 8);
        let (mut needed, mut before) = (own, 0);
        while needed > before {
            (needed, before) = (own.saturating_add(self.optional_bytes(needed)), needed);
        }
        Error::MemoryBudget {
            what,
            given: self.memory_bytes,
            needed,
            suggested: needed.div_ceil(1 << 20),
            breakdown: format!(
                "{} of the graph, {} of {of_what}",
                size(self.held_during(self.len())),
                size(changes)
            ),
        }
    }

    /// An error of too little memory after some commits, where so many changes are still to come:
    /// names what suffices if the graph grows with them as it has so far.
    pub fn with_growth(&self, error: Error, changes: u64) -> Error {
        let Error::MemoryBudget { what, given, needed, breakdown, .. } = error else {
            return error;
        };
        let grown = self.own_bytes.map_or(0, |[opened, now]| now.saturating_sub(opened));
        let times = changes as f64 / self.committed.max(1) as f64;
        let more = (grown as f64 * times) as u64;
        // Half of more memory is for what grows with it.
        let needed = needed.saturating_add(more.saturating_mul(2));
        let breakdown = format!("{breakdown}, {} for {changes} changes to come", size(more));
        Error::MemoryBudget { what, given, needed, suggested: needed.div_ceil(1 << 20), breakdown }
    }

    /// Bytes of memory of an edge that is deleted with a vertex.
    pub(super) fn deleted_edge_bytes(&self) -> u64 {
        DELETED_EDGE_BYTES + if self.weights.is_some() { DELETED_WEIGHT_BYTES } else { 0 }
    }

    /// An error of the store, where vertices to be deleted have too many edges, of a commit whose
    /// changes and new vertices take so many bytes.
    pub(super) fn of_vertices(&self, error: StoreError, changes: u64) -> Error {
        let StoreError::DeletedEdges { edges, .. } = error else {
            return self.failed(error);
        };
        let edge_bytes = edges.saturating_mul(self.deleted_edge_bytes());
        let held = self.held_during(self.len());
        let used = held.saturating_add(changes).saturating_add(edge_bytes);
        // More memory is half for what grows with it.
        let missing = used.saturating_sub(self.memory_bytes);
        let needed = self.memory_bytes.saturating_add(missing.saturating_mul(2));
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
