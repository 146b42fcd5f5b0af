//! Loads of tiers, generated or read from a trace, and their hot pages.

use std::path::PathBuf;
use std::str::FromStr;

use cenote_tier::policy::{Oracle, OraclePhase};
use cenote_workload::page::drift::{Drift, DriftConfig};
use cenote_workload::page::phases::{Phases, PhasesConfig, Shape};
use cenote_workload::page::zipf::ZipfConfig;

use super::simulation::Request;
use crate::control::Control;
use crate::error::{ReplayError, Result, require};
use crate::load::{Load, LoadConfig, LoadKind, Ops, Sizes};

/// A kind of load.
#[derive(Clone, Debug, PartialEq)]
pub enum TierLoadKind {
    /// Hot pages in phases, or a sliding hot set.
    Phases(String),
    /// Uniform over all pages.
    Uniform,
    /// Zipf's law, drifting.
    Zipf,
    /// A trace file.
    Trace(PathBuf),
}

impl FromStr for TierLoadKind {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Ok(match name {
            "uniform" => Self::Uniform,
            "zipf" => Self::Zipf,
            other => {
                other.parse::<Shape>().map_err(|e| format!("{e}; or uniform, zipf"))?;
                Self::Phases(other.to_owned())
            }
        })
    }
}

/// A load with its size.
#[derive(Clone, Debug)]
pub(crate) struct TierLoad {
    kind: TierLoadKind,
    config: LoadConfig,
    sizes: Sizes,
    /// A trace, once it was read.
    trace: Option<Load>,
    /// The name in tables.
    pub name: String,
    /// Every access is to a page below this.
    pub pages: u32,
    /// Accesses.
    pub ops: u64,
}

impl TierLoad {
    /// Determines the size of a load. A trace is read once.
    pub fn survey(
        kind: TierLoadKind,
        config: LoadConfig,
        sizes: Sizes,
        control: &Control<'_>,
    ) -> Result<Self> {
        let mut trace = None;
        let (name, pages, ops) = match &kind {
            TierLoadKind::Trace(path) => {
                let kind = LoadKind::Trace(path.clone());
                let load = Load::survey(kind, config.clone(), sizes, control)?;
                let found = (load.name.clone(), load.pages, load.ops);
                trace = Some(load);
                found
            }
            made => {
                let name = match made {
                    TierLoadKind::Phases(name) => name,
                    TierLoadKind::Uniform => "uniform",
                    TierLoadKind::Zipf | TierLoadKind::Trace(_) => "zipf",
                };
                (name.to_owned(), sizes.pages, sizes.ops)
            }
        };
        let pages = u32::try_from(pages).ok().filter(|&pages| pages < u32::MAX);
        let many = || ReplayError::Config(format!("{name}: more than 4294967294 pages"));
        let pages = pages.ok_or_else(many)?;
        require(ops > 0, || format!("{name}: the load has no accesses"))?;
        let load = Self { kind, config, sizes, trace, name, pages, ops };
        load.open()?;
        Ok(load)
    }

    /// Opens the load at the first access; only `ops` accesses count.
    pub fn open(&self) -> Result<Ops> {
        Ok(match (&self.kind, &self.trace) {
            (TierLoadKind::Phases(_), _) => Box::new(self.phases()?),
            (TierLoadKind::Trace(_), Some(trace)) => trace.open()?,
            _ => Box::new(self.drift()?),
        })
    }

    fn phases(&self) -> Result<Phases> {
        let config = &self.config;
        let phases = PhasesConfig::named(&self.name, self.sizes.pages, self.ops, config.seed)?;
        let read_share = config.read_share.unwrap_or(phases.read_share);
        Ok(Phases::new(phases.read_share(read_share))?)
    }

    fn drift(&self) -> Result<Drift> {
        let config = &self.config;
        let is_uniform = self.kind == TierLoadKind::Uniform;
        let zipf = ZipfConfig::default()
            .pages(self.sizes.pages)
            .ops(self.ops)
            .skew(if is_uniform { 0.0 } else { config.skew })
            .read_share(config.read_share.unwrap_or(0.5))
            .scramble(false)
            .seed(config.seed);
        let drift = if is_uniform { 0.0 } else { config.drift };
        Ok(Drift::new(DriftConfig::new(&self.name, zipf, drift))?)
    }

    /// Calls `each` with the accesses until it returns false.
    pub fn for_each(
        &self,
        control: &Control<'_>,
        mut each: impl FnMut(Request) -> Result<bool>,
    ) -> Result<()> {
        let mut ops = self.open()?;
        for done in 0..self.ops {
            let Some(op) = ops.next() else { break };
            let op = op?;
            if !each(Request { page: op.page as u32, write: op.write })? {
                break;
            }
            if done.is_multiple_of(1 << 16) {
                control.check()?;
            }
        }
        Ok(())
    }

    /// The hot pages: those of a generated load's parameters, or the most frequent ones of a trace.
    pub fn oracle(&self, control: &Control<'_>) -> Result<Oracle> {
        let narrow = |pages: Vec<u64>| pages.into_iter().map(|page| page as u32).collect();
        let phases = match &self.kind {
            TierLoadKind::Phases(_) => self.phases()?.hot_pages(),
            TierLoadKind::Uniform => vec![(0, Vec::new())],
            TierLoadKind::Zipf => vec![(0, self.drift()?.hottest(self.pages.into()))],
            TierLoadKind::Trace(_) => vec![(0, self.most_frequent(control)?)],
        };
        let phase = |(start, pages)| OraclePhase { start, hottest: narrow(pages) };
        Ok(Oracle { phases: phases.into_iter().map(phase).collect() })
    }

    fn most_frequent(&self, control: &Control<'_>) -> Result<Vec<u64>> {
        let mut counts = vec![0u32; self.pages as usize];
        self.for_each(control, |request| {
            counts[request.page as usize] += 1;
            Ok(true)
        })?;
        let mut pages: Vec<u64> = (0..self.pages.into()).collect();
        pages.sort_by_key(|&page| std::cmp::Reverse(counts[page as usize]));
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(kind: TierLoadKind) -> TierLoad {
        let sizes = Sizes { pages: 1_000, ops: 3_000 };
        TierLoad::survey(kind, LoadConfig::default(), sizes, &Control::default()).unwrap()
    }

    #[test]
    fn every_load_yields_what_its_survey_said() {
        for name in Shape::NAMES.into_iter().chain(["uniform", "zipf", "7hf70"]) {
            let load = survey(name.parse().unwrap());
            let mut ops = 0;
            load.for_each(&Control::default(), |request| {
                assert!(request.page < load.pages);
                ops += 1;
                Ok(true)
            })
            .unwrap();
            assert_eq!((ops, load.pages), (3_000, 1_000), "{name}");
            let oracle = load.oracle(&Control::default()).unwrap();
            assert_eq!(oracle.phases[0].start, 0);
        }
    }

    #[test]
    fn the_hot_pages_of_a_trace_are_its_most_frequent_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.txt");
        std::fs::write(&path, "R 900\nR 7\nW 7\nR 8\nR 7\nR 900\n").unwrap();
        let load = survey(TierLoadKind::Trace(path));
        assert_eq!((load.pages, load.ops), (3, 6));
        assert_eq!(load.oracle(&Control::default()).unwrap().phases[0].hottest, [1, 0, 2]);
    }
}
