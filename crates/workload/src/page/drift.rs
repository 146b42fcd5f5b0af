//! Zipf's law with hot pages that change: YCSB-like load with drift.
//!
//! The page of rank k is accessed with a probability proportional to 1 / k^skew ([`super::zipf`]);
//! ranks are scattered over the pages. During the load every page rises by `drift` times as many
//! ranks as there are pages, and from the first rank falls to the last: the hottest page becomes
//! cold, the second becomes the first, and so on. With drift 0 nothing changes; with skew 0 all
//! pages are equally hot.

use super::zipf::{Zipf, ZipfConfig};
use super::{Cursor, PageLoad, PageOp, load_by_index};
use crate::error::{Result, float, require};
use crate::permutation::Permutation;
use crate::random::Counter;
use crate::setters;

/// A stream of the seed that [`Zipf`] leaves free.
const LABELS: u64 = 7;

/// Parameters of a drifting Zipf load.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DriftConfig {
    /// Name in tables.
    pub name: String,
    /// Parameters of Zipf's law; `scramble` is ignored.
    pub zipf: ZipfConfig,
    /// Number of times that the ranks rotate during the load.
    pub drift: f64,
}

impl DriftConfig {
    /// Zipf's law whose ranks rotate `drift` times during the load.
    pub fn new(name: impl Into<String>, zipf: ZipfConfig, drift: f64) -> Self {
        Self { name: name.into(), zipf, drift }
    }

    setters! { name: String, zipf: ZipfConfig, drift: f64 }
}

/// Reads and writes of pages by a drifting Zipf's law.
#[derive(Clone, Debug)]
pub struct Drift {
    name: String,
    ranks: Zipf,
    labels: Permutation,
    /// Ranks by which every page rises during the load.
    rise: u64,
    pages: u64,
    cursor: Cursor,
}

impl Drift {
    /// Fails if a parameter is out of range.
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

    /// The `count` hottest pages at the start.
    pub fn hottest(&self, count: u64) -> Vec<u64> {
        (0..count.min(self.pages)).map(|rank| self.labels.apply(rank)).collect()
    }
}

load_by_index!(Drift);
