//! Counts a load: what a replay must know before it starts, of a load that must be read to know.

use rustc_hash::FxHashSet;

use super::{PageLoad, PageOp};
use crate::error::Result;

/// The size of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Accesses that read.
    pub reads: u64,
    /// Accesses that write.
    pub writes: u64,
    /// Distinct pages.
    pub pages_distinct: u64,
    /// One above the highest page: the pages of a file that holds them all.
    pub pages_end: u64,
}

impl Census {
    /// Reads a load to its end, or to its first error. Memory: 10 to 20 bytes a distinct page.
    pub fn of(load: impl PageLoad) -> Result<Self> {
        let mut census = Self::default();
        let mut seen = FxHashSet::default();
        for op in load {
            let PageOp { page, write } = op?;
            census.reads += u64::from(!write);
            census.writes += u64::from(write);
            // No load has the page 2^64 - 1.
            census.pages_end = census.pages_end.max(page.saturating_add(1));
            seen.insert(page);
        }
        census.pages_distinct = seen.len() as u64;
        Ok(census)
    }

    /// All accesses.
    pub fn ops(&self) -> u64 {
        self.reads + self.writes
    }
}
