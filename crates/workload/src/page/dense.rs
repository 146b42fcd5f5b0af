//! Renumbers the pages of a load by first appearance, so that a trace of a huge disk, or one of
//! hashed names, can run on a small device.
//!
//! Neighbours stay neighbours only if they were first asked for in turn; a load whose prefetching
//! or scans are to be judged should keep its own numbers.

use rustc_hash::FxHashMap;

use super::{PageLoad, PageOp};
use crate::error::Result;

/// A load whose pages are numbered 0, 1, 2, ... in the order of their first access.
///
/// Memory: a hash table with an entry for each distinct page, 20 to 40 bytes each, doubled for a
/// moment while it grows.
#[derive(Clone, Debug)]
pub struct Dense<L> {
    load: L,
    numbers: FxHashMap<u64, u64>,
    ended: bool,
}

impl<L: PageLoad> Dense<L> {
    /// Renumbers what `load` yields from here on.
    pub fn new(load: L) -> Self {
        Self { load, numbers: FxHashMap::default(), ended: false }
    }

    /// Distinct pages seen so far.
    pub fn pages_seen(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// The load beneath.
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

    /// Known once the load was read to its end.
    fn pages(&self) -> Option<u64> {
        self.ended.then_some(self.pages_seen())
    }

    fn ops(&self) -> Option<u64> {
        self.load.ops()
    }
}
