//! The synthetic loads of the ACE evaluation, defined by a share of reads and by the share of
//! accesses that goes to a share of the pages.
//!
//! Dissertation, section 4.5 and Table 4.2. As in its simulator, the hot pages are the first ones
//! of the file, and accesses are uniform among the hot pages and among the cold ones.
//!
//! | load | reads | accesses / pages that are hot |
//! |---|---|---|
//! | MS, mixed skewed | 50% | 90% / 10% |
//! | WIS, write-intensive skewed | 10% | 90% / 10% |
//! | RIS, read-intensive skewed | 90% | 90% / 10% |
//! | MU, mixed uniform | 50% | 50% / 50% |

use super::{Chance, Cursor, PageLoad, PageOp, load_by_index};
use crate::error::{Result, float, require};
use crate::random::Counter;
use crate::setters;

/// Parameters of a mix.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MixConfig {
    /// Name in tables.
    pub name: String,
    /// Number of pages of the database.
    pub pages: u64,
    /// Number of accesses.
    pub ops: u64,
    /// Share of the accesses that read.
    pub read_share: f64,
    /// Share of the accesses that go to hot pages.
    pub hot_ops: f64,
    /// Share of the pages that are hot: the first ones, at least one.
    pub hot_pages: f64,
    /// The same seed gives the same load.
    pub seed: u64,
}

impl MixConfig {
    /// Mixed skewed: every second access writes.
    pub fn ms(pages: u64, ops: u64, seed: u64) -> Self {
        Self::table("MS", 0.5, 0.9, 0.1, [pages, ops, seed])
    }

    /// Write-intensive skewed: nine accesses in ten write.
    pub fn wis(pages: u64, ops: u64, seed: u64) -> Self {
        Self::table("WIS", 0.1, 0.9, 0.1, [pages, ops, seed])
    }

    /// Read-intensive skewed: one access in ten writes.
    pub fn ris(pages: u64, ops: u64, seed: u64) -> Self {
        Self::table("RIS", 0.9, 0.9, 0.1, [pages, ops, seed])
    }

    /// Mixed uniform: half the accesses to half the pages, which is uniform over all.
    pub fn mu(pages: u64, ops: u64, seed: u64) -> Self {
        Self::table("MU", 0.5, 0.5, 0.5, [pages, ops, seed])
    }

    fn table(
        name: &str,
        read_share: f64,
        hot_ops: f64,
        hot_pages: f64,
        [pages, ops, seed]: [u64; 3],
    ) -> Self {
        Self { name: name.into(), pages, ops, read_share, hot_ops, hot_pages, seed }
    }

    setters! {
        name: String,
        pages: u64,
        ops: u64,
        read_share: f64,
        hot_ops: f64,
        hot_pages: f64,
        seed: u64,
    }
}

/// A mix of reads and writes over hot and cold pages.
#[derive(Clone, Debug)]
pub struct Mix {
    name: String,
    pages: u64,
    /// Number of hot pages; `pages` if none is cold, so that a cold access may be to any.
    hot: u64,
    /// The first cold page and their number.
    cold: (u64, u64),
    read: Chance,
    hot_ops: Chance,
    random: Counter,
    cursor: Cursor,
}

impl Mix {
    /// Fails if a parameter is out of range.
    pub fn new(config: MixConfig) -> Result<Self> {
        let MixConfig { name, pages, ops, read_share, hot_ops, hot_pages, seed } = config;
        require(pages > 0, "pages", pages, "at least 1")?;
        require(
            (0.0..=1.0).contains(&hot_pages),
            "hot-pages",
            float(hot_pages),
            "a share from 0 to 1",
        )?;
        let hot = ((pages as f64 * hot_pages).round() as u64).clamp(1, pages);
        Ok(Self {
            name,
            pages,
            hot,
            cold: if hot == pages { (0, pages) } else { (hot, pages - hot) },
            read: Chance::new("read-share", read_share)?,
            hot_ops: Chance::new("hot-ops", hot_ops)?,
            random: Counter::new(seed, 0),
            cursor: Cursor::new(ops),
        })
    }

    /// Access number `index`: a pure function of the parameters, the seed and `index`.
    #[inline(always)]
    pub fn op(&self, index: u64) -> PageOp {
        let choice = self.random.at(2 * index);
        let (first, count) =
            if self.hot_ops.happens((choice >> 32) as u32) { (0, self.hot) } else { self.cold };
        PageOp {
            page: first + self.random.below(2 * index + 1, count),
            write: !self.read.happens(choice as u32),
        }
    }
}

load_by_index!(Mix);
