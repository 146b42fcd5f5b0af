//! Renumbers the pages of a load by first access, so that a trace of a huge disk, or one of hashed
//! names, can run on a small device.
//!
//! Pages remain adjacent only if they were first accessed in sequence. To evaluate prefetching or
//! scans, keep the original numbers.

use rustc_hash::FxHashMap;

use super::{PageLoad, PageOp};
use crate::error::Result;

/// A load whose pages are numbered 0, 1, 2, ... in the order of their first access.
///
/// Memory: a hash table with 20 to 40 bytes per distinct page, doubled while it grows.
#[derive(Clone, Debug)]
pub struct Dense<L> {
    load: L,
    numbers: FxHashMap<u64, u64>,
    ended: bool,
}

impl<L: PageLoad> Dense<L> {
    /// Renumbers the accesses of `load` from here on.
    pub fn new(load: L) -> Self {
        Self { load, numbers: FxHashMap::default(), ended: false }
    }

    /// Number of distinct pages so far.
    pub fn pages_seen(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// The underlying load.
    pub fn inner(&self) -> &L {
        &self.load
    }
}

impl<L: PageLoad> Iterator for Dense<L> {
    type Item = Result<PageOp>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(op) = self.load.next() else {
            self.ended = true;
            return None;
        };
        let fresh = self.pages_seen();
        Some(op.map(|PageOp { page, write }| PageOp {
            page: *self.numbers.entry(page).or_insert(fresh),
            write,
        }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.load.size_hint()
    }
}

impl<L: PageLoad> PageLoad for Dense<L> {
    fn name(&self) -> String {
        self.load.name()
    }

    /// Known after the last access.
    fn pages(&self) -> Option<u64> {
        self.ended.then_some(self.pages_seen())
    }

    fn ops(&self) -> Option<u64> {
        self.load.ops()
    }
}
