//! Zipf's law over pages, as in YCSB's request generators: the page of rank k is accessed with a
//! probability proportional to 1 / k^skew.
//!
//! YCSB uses an approximation (Gray et al., "Quickly generating billion-record synthetic
//! databases", SIGMOD 1994) that requires a skew below 1 and a sum over all pages. Here: Hörmann
//! and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", TOMACS 6(3), 1996: exact, for every skew from 0 (uniform) up, in constant
//! memory and time. The area under 1 / x^skew is inverted in closed form; the few draws that hit
//! the area between the curve and its steps are repeated.

use super::{Chance, Cursor, PageLoad, PageOp, load_by_index};
use crate::error::{Result, float, require};
use crate::permutation::Permutation;
use crate::random::Counter;
use crate::setters;

/// Most pages: up to here the arithmetic distinguishes neighbours.
pub const PAGES_MAX: u64 = 1 << 48;

/// Parameters of a Zipf load.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ZipfConfig {
    /// Number of pages of the database.
    pub pages: u64,
    /// Number of accesses.
    pub ops: u64,
    /// The exponent: 0 is uniform, YCSB's default is 0.99.
    pub skew: f64,
    /// Share of the accesses that read.
    pub read_share: f64,
    /// Whether to scatter the ranks over the pages. Otherwise page 0 is the hottest, page 1 the
    /// next. YCSB scatters with a hash, which merges some ranks; here it is a bijection.
    pub scramble: bool,
    /// The same seed gives the same load.
    pub seed: u64,
}

impl Default for ZipfConfig {
    fn default() -> Self {
        let (pages, ops) = (1 << 20, 1 << 20);
        Self { pages, ops, skew: 0.99, read_share: 0.5, scramble: true, seed: 1 }
    }
}

impl ZipfConfig {
    setters! { pages: u64, ops: u64, skew: f64, read_share: f64, scramble: bool, seed: u64 }
}

/// Reads and writes of pages by Zipf's law.
#[derive(Clone, Debug)]
pub struct Zipf {
    pages: u64,
    ranks: Ranks,
    read: Chance,
    labels: Option<Permutation>,
    random: Counter,
    cursor: Cursor,
    name: String,
}

impl Zipf {
    /// Computes the constants. Fails if a parameter is out of range.
    pub fn new(config: ZipfConfig) -> Result<Self> {
        let ZipfConfig { pages, ops, skew, read_share, scramble, seed } = config;
        require((1..=PAGES_MAX).contains(&pages), "pages", pages, "1 to 2^48")?;
        require((0.0..=100.0).contains(&skew), "skew", float(skew), "an exponent from 0 to 100")?;
        Ok(Self {
            pages,
            ranks: Ranks::new(pages, skew),
            read: Chance::new("read-share", read_share)?,
            labels: scramble.then(|| Permutation::new(pages, Counter::new(seed, 1))),
            random: Counter::new(seed, 0),
            cursor: Cursor::new(ops),
            name: format!("Zipf {skew}"),
        })
    }

    /// Access number `index`: a pure function of the parameters, the seed and `index`.
    #[inline]
    pub fn op(&self, index: u64) -> PageOp {
        let rank = self.ranks.draw(self.random.at(2 * index));
        PageOp {
            page: self.labels.as_ref().map_or(rank, |labels| labels.apply(rank)),
            write: !self.read.happens(self.random.at(2 * index + 1) as u32),
        }
    }
}

load_by_index!(Zipf);

/// Draws ranks from 0. The names are the paper's: h is the density, H its integral.
#[derive(Clone, Debug)]
struct Ranks {
    count: f64,
    skew: f64,
    /// H(1.5) - h(1), the start of the inverted area.
    first: f64,
    /// H(count + 0.5), its end.
    last: f64,
    /// A point at most this far below its rank is accepted without computing the step.
    sure: f64,
}

impl Ranks {
    fn new(count: u64, skew: f64) -> Self {
        let count = count as f64;
        let mut ranks = Self { count, skew, first: 0.0, last: 0.0, sure: 0.0 };
        ranks.first = ranks.integral(1.5) - 1.0;
        ranks.last = ranks.integral(count + 0.5);
        ranks.sure = 2.0 - ranks.inverse(ranks.integral(2.5) - ranks.density(2.0));
        ranks
    }

    #[inline]
    fn draw(&self, mut word: u64) -> u64 {
        loop {
            // 53 bits: every value of a double in [0, 1).
            let uniform = (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            let area = self.last + uniform * (self.first - self.last);
            let x = self.inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            let accepted =
                rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.density(rank);
            if accepted {
                return rank as u64 - 1;
            }
            word = Counter::new(word, 2).at(0);
        }
    }

    /// h(x) = x^-skew.
    fn density(&self, x: f64) -> f64 {
        (-self.skew * x.ln()).exp()
    }

    /// H(x) = (x^(1 - skew) - 1) / (1 - skew), or ln x at skew 1; stable near it.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        log * ratio((1.0 - self.skew) * log, f64::exp_m1)
    }

    /// The inverse of H. Rounding may move the argument of the logarithm out of its domain.
    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.skew)).max(-1.0);
        (area * ratio(scaled, f64::ln_1p)).exp()
    }
}

/// f(x) / x, and its limit 1 at 0.
fn ratio(x: f64, f: fn(f64) -> f64) -> f64 {
    if x.abs() < 1e-15 { 1.0 } else { f(x) / x }
}
