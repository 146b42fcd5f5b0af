//! Zipf's law whose hot pages change: YCSB-like load with drift.
//!
//! Page of rank k with a probability proportional to 1 / k^skew ([`super::zipf`]), the ranks
//! scattered over the pages. In the course of the load every page rises by `drift` times as many
//! ranks as there are pages, and falls from the first to the last: the hottest page of now is cold
//! a moment later, the second becomes the first, and so on. With drift 0 nothing changes; with
//! skew 0 all pages are alike.

use super::zipf::{Zipf, ZipfConfig};
use super::{Cursor, PageLoad, PageOp, load_by_index};
use crate::error::{Result, float, require};
use crate::permutation::Permutation;
use crate::random::Counter;

/// A stream of the seed that [`Zipf`] does not use.
const LABELS: u64 = 7;

/// What the load is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftConfig {
    /// What tables call it.
    pub name: String,
    /// The ranks: `scramble` is not looked at.
    pub zipf: ZipfConfig,
    /// How often the ranks go round in the course of the load.
    pub drift: f64,
}

/// Reads and writes of pages by a Zipf's law that drifts.
#[derive(Clone, Debug)]
pub struct Drift {
    name: String,
    ranks: Zipf,
    labels: Permutation,
    /// Ranks by which every page rises in the course of the load.
    rise: u64,
    pages: u64,
    cursor: Cursor,
}

impl Drift {
    /// Checks the parameters.
    pub fn new(config: DriftConfig) -> Result<Self> {
        let DriftConfig { name, zipf, drift } = config;
        require((0.0..=1e6).contains(&drift), "drift", float(drift), "0 to 1000000")?;
        let ZipfConfig { pages, ops, seed, .. } = zipf;
        Ok(Self {
            name,
            ranks: Zipf::new(ZipfConfig { scramble: false, ..zipf })?,
            labels: Permutation::new(pages, Counter::new(seed, LABELS)),
            rise: (drift * pages as f64) as u64,
            pages,
            cursor: Cursor::new(ops),
        })
    }

    /// Access number `index`: a pure function of the parameters, the seed and `index`.
    #[inline]
    pub fn op(&self, index: u64) -> PageOp {
        let risen = u128::from(index) * u128::from(self.rise) / u128::from(self.cursor.ops.max(1));
        let PageOp { page: rank, write } = self.ranks.op(index);
        let label = (u128::from(rank) + risen) % u128::from(self.pages);
        PageOp { page: self.labels.apply(label as u64), write }
    }

    /// The hottest pages at the start, `count` of them.
    pub fn hottest(&self, count: u64) -> Vec<u64> {
        (0..count.min(self.pages)).map(|rank| self.labels.apply(rank)).collect()
    }
}

load_by_index!(Drift);
