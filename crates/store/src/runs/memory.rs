//! The memory of a graph for its delta runs.
//!
//! Pages of runs are kept, so that further passes need not read them again. Usually
//! [`LookupConfig::run_bytes`](crate::LookupConfig::run_bytes) are for that. A run of an algorithm
//! sets aside bytes of its own budget instead, as long as it lasts.

use std::fmt;
use std::sync::Arc;

use super::chunks::shares;
use super::read::{ListRuns, RunReads};
use crate::Direction;
use crate::graph::Graph;
use crate::index::Adjacency;
use crate::pages::Layout;

/// Bytes for pages of delta runs, which [`Graph::keep_runs`] has set aside.
#[must_use = "the bytes are given back when it is dropped"]
pub struct KeptRuns(Vec<(Arc<ListRuns>, u64)>);

impl fmt::Debug for KeptRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: u64 = self.0.iter().map(|(_, bytes)| bytes).sum();
        write!(f, "{bytes} bytes for delta runs")
    }
}

impl Drop for KeptRuns {
    fn drop(&mut self) {
        self.0.iter().for_each(|(runs, bytes)| runs.give_back(*bytes));
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

    /// The delta runs of each direction, with what they get of so many bytes. What one does not
    /// need is for the other.
    fn with_shares(&self, bytes: u64) -> Vec<(Arc<ListRuns>, u64)> {
        let runs: Vec<_> = self.list_runs().collect();
        let sizes: Vec<usize> = runs.iter().map(|runs| runs.bytes() as usize).collect();
        let shares = shares(&sizes, usize::try_from(bytes).unwrap_or(usize::MAX));
        runs.into_iter().zip(shares.into_iter().map(|share| share as u64)).collect()
    }

    /// Bytes of all pages of delta runs.
    pub fn run_bytes_all(&self) -> u64 {
        self.list_runs().map(|runs| runs.bytes()).sum()
    }

    /// Bytes of memory for delta runs: what is kept of their pages if `kept` bytes are for that,
    /// and what each of so many threads holds beside.
    pub fn run_bytes_with(&self, kept: u64, threads: usize) -> u64 {
        let with_shares = self.with_shares(kept).into_iter();
        with_shares.map(|(runs, share)| runs.bytes_with(share, threads)).sum()
    }

    /// What a pass over the lists of a direction reads of delta runs, if `kept` bytes are for pages
    /// of runs that are kept.
    pub fn run_reads_with(&self, direction: Direction, kept: u64) -> RunReads {
        let Some(wanted) = self.adjacency(direction).and_then(Adjacency::runs) else {
            return RunReads::default();
        };
        let mut with_shares = self.with_shares(kept).into_iter();
        let (runs, share) = with_shares
            .find(|(runs, _)| Arc::ptr_eq(runs, &wanted))
            .expect("they are those of a direction");
        runs.reads_with(share)
    }

    /// Keeps up to `kept` bytes of pages of delta runs as long as the result lives, instead of the
    /// usual ones ([`LookupConfig::run_bytes`](crate::LookupConfig::run_bytes)). What several ask
    /// for is added up.
    pub fn keep_runs(&self, kept: u64) -> KeptRuns {
        let with_shares = self.with_shares(kept);
        with_shares.iter().for_each(|(runs, share)| runs.lend(*share));
        KeptRuns(with_shares)
    }
}
