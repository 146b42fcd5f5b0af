//! The loads of the tiering chapter: hot pages in phases, or a sliding hot set.
//!
//! Dissertation, section 6.6.1 and Table 6.4. `xhfy` sends y% of the accesses to x% of the pages,
//! as the text says (the table has it the other way round). Accesses are uniform among the hot
//! pages and among the cold ones; hot pages are scattered over the file.
//!
//! | load | phases |
//! |---|---|
//! | `5hf90`, `10hf90`, `10hf80`, `20hf80`, any `xhfy` | one |
//! | `A` | `5hf90`, then `10hf80` |
//! | `B` | `5hf90`, `10hf80`, `20hf80` |
//! | `C`, `D` | 10 or 50 times `5hf90`, each with new hot pages |
//! | `hot-shift` | `5hf90` with a hot set that slides steadily and is replaced ten times |
//!
//! Phases share the accesses evenly. Different phases of a load have different hot pages: those of
//! A and B are adjacent in the scattered order, those of C and D are drawn anew, so a few recur.
//! Loads of one phase with the same seed have the same hot pages first: those of `5hf90` are half
//! of those of `10hf90`, which are those of `10hf80`.

use std::str::FromStr;

use super::{Chance, Cursor, PageLoad, PageOp, load_by_index};
use crate::error::{Result, WorkloadError, require};
use crate::permutation::Permutation;
use crate::random::Counter;
use crate::setters;

/// Number of times that the hot set of `hot-shift` is replaced during the load.
const SHIFTS: u64 = 10;

/// Streams of a seed; phases with pages of their own use the streams from `PAGES` on.
const ACCESSES: u64 = 0;
const PAGES: u64 = 1;

/// A percentage of the accesses that goes to a percentage of the pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// Percent of the pages.
    pub pages: f64,
    /// Percent of the accesses.
    pub accesses: f64,
}

impl Hot {
    const fn new(pages: f64, accesses: f64) -> Self {
        Self { pages, accesses }
    }
}

/// Hot pages over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Phases in sequence, with adjacent shares of the same scattered pages.
    Phases(Vec<Hot>),
    /// A number of phases, each with newly drawn pages.
    Redrawn(Hot, u64),
    /// A sliding hot set.
    Shift(Hot),
}

impl Shape {
    /// Names of shapes, in addition to any `xhfy`.
    pub const NAMES: [&'static str; 9] =
        ["5hf90", "10hf90", "10hf80", "20hf80", "A", "B", "C", "D", "hot-shift"];
}

impl FromStr for Shape {
    type Err = WorkloadError;

    fn from_str(name: &str) -> Result<Self> {
        let (hf5, hf10, hf20) = (Hot::new(5.0, 90.0), Hot::new(10.0, 80.0), Hot::new(20.0, 80.0));
        Ok(match name {
            "A" | "a" => Self::Phases(vec![hf5, hf10]),
            "B" | "b" => Self::Phases(vec![hf5, hf10, hf20]),
            "C" | "c" => Self::Redrawn(hf5, 10),
            "D" | "d" => Self::Redrawn(hf5, 50),
            "hot-shift" => Self::Shift(hf5),
            other => {
                let number = |text: &str| text.parse::<f64>().ok();
                let parts = other.split_once("hf");
                let hot = parts.and_then(|(x, y)| Some(Hot::new(number(x)?, number(y)?)));
                let fits = |hot: &Hot| {
                    (0.0..=100.0).contains(&hot.pages) && (0.0..=100.0).contains(&hot.accesses)
                };
                Self::Phases(vec![hot.filter(fits).ok_or_else(|| WorkloadError::Parameter {
                    name: "workload",
                    value: other.to_owned(),
                    expected: format!(
                        "one of {}, or XhfY for Y% of the accesses to X% of the pages",
                        Self::NAMES.join(", ")
                    ),
                })?])
            }
        })
    }
}

/// Parameters of a load in phases.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PhasesConfig {
    /// Name in tables.
    pub name: String,
    /// Hot pages over time.
    pub shape: Shape,
    /// Number of pages of the database.
    pub pages: u64,
    /// Number of accesses.
    pub ops: u64,
    /// Share of the accesses that read.
    pub read_share: f64,
    /// The same seed gives the same load.
    pub seed: u64,
}

impl PhasesConfig {
    /// The load of this name, half of it reads.
    pub fn named(name: &str, pages: u64, ops: u64, seed: u64) -> Result<Self> {
        let shape = name.parse()?;
        Ok(Self { name: name.to_owned(), shape, pages, ops, read_share: 0.5, seed })
    }

    setters! {
        name: String,
        shape: Shape,
        pages: u64,
        ops: u64,
        read_share: f64,
        seed: u64,
    }
}

/// A phase: which labels are hot, and the page of each label.
#[derive(Clone, Debug)]
struct Phase {
    /// The first hot label; the others follow it, modulo the number of labels.
    first: u64,
    /// Number of hot labels.
    hot: u64,
    hot_ops: Chance,
    labels: Permutation,
}

impl Phase {
    fn new(hot: Hot, first: u64, pages: u64, labels: Permutation) -> Result<Self> {
        let count = ((pages as f64 * hot.pages / 100.0).round() as u64).min(pages);
        let hot_ops = Chance::new("hot-ops", hot.accesses / 100.0)?;
        Ok(Self { first, hot: count, hot_ops, labels })
    }
}

/// Reads and writes of pages, some of which are hot for a time.
#[derive(Clone, Debug)]
pub struct Phases {
    name: String,
    pages: u64,
    phases: Vec<Phase>,
    /// Labels by which the hot set slides during the load.
    slides: u64,
    read: Chance,
    random: Counter,
    cursor: Cursor,
}

impl Phases {
    /// Fails if a parameter is out of range.
    pub fn new(config: PhasesConfig) -> Result<Self> {
        let PhasesConfig { name, shape, pages, ops, read_share, seed } = config;
        require((1..=1 << 48).contains(&pages), "pages", pages, "1 to 2^48")?;
        let labels = |number| Permutation::new(pages, Counter::new(seed, PAGES + number));
        let mut phases = Vec::new();
        let mut slides = 0;
        match shape {
            Shape::Phases(all) => {
                let mut first = 0;
                for hot in all {
                    let phase = Phase::new(hot, first, pages, labels(0))?;
                    first = (first + phase.hot) % pages;
                    phases.push(phase);
                }
            }
            Shape::Redrawn(hot, count) => {
                for number in 0..count {
                    phases.push(Phase::new(hot, 0, pages, labels(number))?);
                }
            }
            Shape::Shift(hot) => {
                phases.push(Phase::new(hot, 0, pages, labels(0))?);
                slides = phases[0].hot * SHIFTS;
            }
        }
        require(!phases.is_empty(), "phases", 0, "at least one")?;
        Ok(Self {
            name,
            pages,
            phases,
            slides,
            read: Chance::new("read-share", read_share)?,
            random: Counter::new(seed, ACCESSES),
            cursor: Cursor::new(ops),
        })
    }

    /// Access number `index`: a pure function of the parameters, the seed and `index`.
    #[inline]
    pub fn op(&self, index: u64) -> PageOp {
        let (phase, first) = self.at(index);
        let choice = self.random.at(2 * index);
        let is_hot = phase.hot_ops.happens((choice >> 32) as u32);
        let cold = self.pages - phase.hot;
        let label = if (is_hot && phase.hot > 0) || cold == 0 {
            first + self.random.below(2 * index + 1, phase.hot)
        } else {
            first + phase.hot + self.random.below(2 * index + 1, cold)
        };
        PageOp {
            page: phase.labels.apply(label % self.pages),
            write: !self.read.happens(choice as u32),
        }
    }

    /// The phase of an access and its first hot label.
    fn at(&self, index: u64) -> (&Phase, u64) {
        let part = |of: u64| (u128::from(index) * u128::from(of)) / u128::from(self.cursor.ops);
        let phase = &self.phases[part(self.phases.len() as u64) as usize];
        let slid = part(self.slides) as u64;
        (phase, (phase.first + slid) % self.pages)
    }

    /// The number of the first access of each phase, and its hot pages. A sliding set gives a
    /// hundred phases, each with the pages that are hot at its start.
    pub fn hot_pages(&self) -> Vec<(u64, Vec<u64>)> {
        let count = if self.slides > 0 { 10 * SHIFTS } else { self.phases.len() as u64 };
        let start = |number: u64| {
            (u128::from(number) * u128::from(self.cursor.ops)).div_ceil(count.into()) as u64
        };
        let hot = |start: u64| {
            let (phase, first) = self.at(start);
            let labels = first..first + phase.hot;
            labels.map(|label| phase.labels.apply(label % self.pages)).collect()
        };
        let starts = (0..count).map(start).take_while(|&start| start < self.cursor.ops);
        starts.map(|start| (start, hot(start))).collect()
    }
}

load_by_index!(Phases);
