//! The memory of a graph for its delta runs.
//!
//! Pages of runs are kept, so that further passes need not read them again. Usually
//! [`LookupConfig::run_bytes`](crate::LookupConfig::run_bytes) are for that. A run of an algorithm
//! sets aside bytes of its own budget instead, as long as it lasts.

use std::fmt;
use std::sync::Arc;

use super::read::{ListRuns, RunReads};
use crate::Direction;
use crate::graph::Graph;
use crate::index::Adjacency;
use crate::pages::Layout;

/// Bytes for pages of delta runs, which [`Graph::keep_runs`] has set aside.
#[must_use = "the bytes are given back when it is dropped"]
pub struct KeptRuns {
    runs: Vec<Arc<ListRuns>>,
    of_each: u64,
}

impl fmt::Debug for KeptRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes for delta runs", self.of_each * self.runs.len() as u64)
    }
}

impl Drop for KeptRuns {
    fn drop(&mut self) {
        self.runs.iter().for_each(|runs| runs.give_back(self.of_each));
    }
}

impl Graph {
    /// Bytes of memory for pages of delta runs that may be kept now.
    pub(crate) fn run_bytes(&self) -> usize {
        self.list_runs().map(|runs| runs.kept_bytes()).sum()
    }

    /// The delta runs of each direction.
    fn list_runs(&self) -> impl Iterator<Item = Arc<ListRuns>> {
        let Layout { out, back, .. } = self.layout();
        [out].into_iter().chain(back).filter_map(Adjacency::runs)
    }

    /// Bytes of all pages of delta runs.
    pub fn run_bytes_all(&self) -> u64 {
        self.list_runs().map(|runs| runs.bytes()).sum()
    }

    /// Bytes of memory for delta runs: what is kept of their pages if `kept` bytes are for that,
    /// and what each of so many threads holds beside.
    pub fn run_bytes_with(&self, kept: u64, threads: usize) -> u64 {
        let of_each = kept / self.run_directions();
        self.list_runs().map(|runs| runs.bytes_with(of_each, threads)).sum()
    }

    /// What a pass over the lists of a direction reads of delta runs, if `kept` bytes are for pages
    /// of runs that are kept.
    pub fn run_reads_with(&self, direction: Direction, kept: u64) -> RunReads {
        let runs = self.adjacency(direction).and_then(Adjacency::runs);
        let reads = runs.map(|runs| runs.reads_with(kept / self.run_directions()));
        reads.unwrap_or_default()
    }

    /// Keeps up to `kept` bytes of pages of delta runs as long as the result lives, instead of the
    /// usual ones ([`LookupConfig::run_bytes`](crate::LookupConfig::run_bytes)). What several ask
    /// for is added up.
    pub fn keep_runs(&self, kept: u64) -> KeptRuns {
        let of_each = kept / self.run_directions();
        let runs: Vec<_> = self.list_runs().collect();
        runs.iter().for_each(|runs| runs.lend(of_each));
        KeptRuns { runs, of_each }
    }

    /// Bytes for delta runs are divided equally among so many directions.
    fn run_directions(&self) -> u64 {
        if self.layout().back.is_some() { 2 } else { 1 }
    }
}
