//! Replays loads through the buffer pool with each combination of policy, writer and prefetcher.
//!
//! - [`pool_replay`] with its [`PoolReplayConfig`]: the entry point
//! - [`row`]: the results
//! - `cases`: the devices, loads and settings of a config
//! - `run`: one replay
//! - `target`: devices, simulated or real; `fill`: a new file to replay on
//! - `predict`: the cost of a replay by the device's model
//!
//! Seconds are by the device's clock: virtual on a simulated device, where computing takes no time.

mod cases;
mod fill;
mod predict;
pub mod row;
mod run;
mod target;

use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;
use serde::Serialize;

use crate::chart::{Body, Chart};
use crate::control::{Control, Meter};
use crate::error::{ReplayError, Result};
use crate::load::{LoadConfig, LoadKind};
use cases::Case;
use row::{Row, compare};
use run::Combination;
pub use run::WriterKind;
pub use target::Ideal;

/// A size of the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PoolSize {
    /// Pages.
    Frames(usize),
    /// Bytes.
    Bytes(u64),
    /// Percent of the load's pages.
    Percent(f64),
}

/// A parameter to vary, with its values.
#[derive(Clone, Debug, PartialEq)]
pub enum Sweep {
    /// Pages that ACE writes at once.
    BatchOfWrites(Vec<usize>),
    /// Cost of a write in reads, on an ideal device.
    Alpha(Vec<f64>),
    /// Share of reads, in percent.
    ReadShare(Vec<f64>),
    /// Size of the pool.
    Pool(Vec<PoolSize>),
}

/// Configuration of a replay: loads, device and pools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolReplayConfig {
    /// `sim:PRESET`, `sim:PRESET-ideal`, `sim:ideal`, a file or a block device.
    pub device: String,
    /// Parameters that replace those of an ideal device.
    pub ideal: Ideal,
    /// Whether the bytes of the file or block device may be replaced.
    pub overwrite: bool,
    /// Creates `device` as a new file of this size in bytes.
    pub create: Option<u64>,
    /// The loads, with different names.
    pub loads: Vec<LoadKind>,
    /// The parameters of the loads.
    pub load: LoadConfig,
    /// Accesses before time and counts begin.
    pub warm_up: u64,
    /// Replacement policies; default: the paper's four.
    pub policies: Vec<PolicyKind>,
    /// Writers; the classical one is always added.
    pub writers: Vec<WriterKind>,
    /// Prefetchers.
    pub prefetch: Vec<PrefetchKind>,
    /// Size of the pool; default: 6% of the pages, or the paper's 20,000 of 344,066.
    pub pool: Option<PoolSize>,
    /// Pages that ACE writes at once; default: k_w of the device.
    pub n_w: Option<usize>,
    /// Pages that are evicted at once for prefetched ones; default: k_w.
    pub n_e: Option<usize>,
    /// Pages that the background cleaner writes at once, at most half of the pool.
    pub cleaner_batch: usize,
    /// Threads that replay, on a file.
    pub threads: usize,
    /// The parameter to vary.
    pub sweep: Option<Sweep>,
    /// Repetitions of all combinations, in turn; the median counts.
    pub repeats: usize,
}

impl PoolReplayConfig {
    /// The paper's policies with every writer on `device`, without loads.
    pub fn new(device: impl Into<String>) -> Self {
        Self {
            device: device.into(),
            ideal: Ideal::default(),
            overwrite: false,
            create: None,
            loads: Vec::new(),
            load: LoadConfig::default(),
            warm_up: 0,
            policies: PolicyKind::PAPER.to_vec(),
            writers: WriterKind::ALL.to_vec(),
            prefetch: vec![PrefetchKind::None],
            pool: None,
            n_w: None,
            n_e: None,
            cleaner_batch: 64,
            threads: 1,
            sweep: None,
            repeats: 1,
        }
    }

    /// All combinations, always with the classical writer, to which speedups refer.
    fn combinations(&self) -> Vec<Combination> {
        let mut writers = self.writers.clone();
        if !writers.contains(&WriterKind::Classical) {
            writers.insert(0, WriterKind::Classical);
        }
        let mut all = Vec::new();
        for &policy in &self.policies {
            for &prefetch in &self.prefetch {
                all.extend(writers.iter().map(|&writer| Combination { policy, writer, prefetch }));
            }
        }
        all
    }
}

/// All results.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PoolReplay {
    /// The device as given.
    pub device: String,
    /// Whether time is virtual.
    pub simulated: bool,
    /// Whether the drive was not measured.
    pub profile_assumed: bool,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// The seed of the loads.
    pub seed: u64,
    /// Accesses before time and counts began.
    pub warm_up: u64,
    /// Pages that the background cleaner wrote at once, in the first case.
    pub cleaner_batch: usize,
    /// The loads.
    pub loads: Vec<ReplayedLoad>,
    /// A row for each load, combination and value of the sweep.
    pub rows: Vec<Row>,
}

/// A load with the sizes of its replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReplayedLoad {
    /// Its name in the rows.
    pub name: String,
    /// Accesses.
    pub ops: u64,
    /// Every access is to a page below this.
    pub pages: u64,
    /// Pages of the pool.
    pub frames: usize,
    /// Whether it is a trace whose pages were numbered by first access.
    pub renumbered: bool,
}

/// Replays every load with every combination.
///
/// # Errors
/// [`ReplayError::Config`] for invalid parameters, before anything is written; failed replays.
pub fn pool_replay(config: &PoolReplayConfig, control: Control<'_>) -> Result<PoolReplay> {
    let cases = config.cases(control)?;
    let combinations = config.combinations();
    let mut rows = run_all(&cases, &combinations, config.repeats, control)?;
    compare(&mut rows);
    let first = &cases[0];
    let mut loads: Vec<ReplayedLoad> = Vec::new();
    for load in cases.iter().map(Case::replayed) {
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    Ok(PoolReplay {
        device: config.device.clone(),
        simulated: first.target.is_simulated(),
        profile_assumed: first.target.assumed,
        page_bytes: config.load.page_bytes,
        seed: config.load.seed,
        warm_up: config.warm_up,
        cleaner_batch: first.setting.cleaner_batch,
        loads,
        rows,
    })
}

/// Runs every case with every combination, the repetitions in turn, so that changes of the drive's
/// speed affect all of them.
fn run_all(
    cases: &[Case],
    combinations: &[Combination],
    repeats: usize,
    control: Control<'_>,
) -> Result<Vec<Row>> {
    let ops = cases.iter().fold(0u64, |sum, case| sum.saturating_add(case.load.ops));
    let runs_each = (combinations.len() as u64).saturating_mul(repeats as u64);
    let meter = Meter::new(control, "replay", ops.saturating_mul(runs_each));
    let mut runs: Vec<Vec<_>> = vec![Vec::new(); cases.len() * combinations.len()];
    let each = || cases.iter().flat_map(|case| combinations.iter().map(move |c| (case, *c)));
    for _ in 0..repeats {
        for ((case, combination), runs) in each().zip(&mut runs) {
            control.check()?;
            let Case { target, load, setting, .. } = case;
            runs.push(run::run(target, load, combination, setting, &meter).map_err(|source| {
                let Combination { policy, writer, prefetch } = combination;
                let what = format!("{load}, {policy}, {writer}, prefetch {prefetch}");
                ReplayError::Combination { what, source: Box::new(source) }
            })?);
        }
    }
    let rows = each().zip(runs).map(|((case, combination), runs)| {
        let Case { target, load, setting, sweep } = case;
        Row::new(target, load, combination, setting, sweep.clone(), runs)
    });
    Ok(rows.collect())
}

impl PoolReplay {
    /// Speedups over the classical writer: bars for each load and policy, or lines over the varied
    /// parameter.
    pub fn chart(&self) -> Chart {
        let compared = self.rows.iter().filter_map(|row| {
            let speedup = row.speedup.filter(|s| row.writer != "classical" && s.is_finite())?;
            Some((row, speedup))
        });
        let swept = self.rows.iter().find_map(|row| row.sweep.as_ref());
        let group = |row: &Row| format!("{} {}", row.workload, row.policy);
        let body = if let Some(sweep) = swept {
            let unit = if matches!(sweep.name, "read-share" | "pool") { "%" } else { "" };
            let x = |row: &Row| row.sweep.as_ref().map_or(0.0, |sweep| sweep.value);
            let point = |(row, speedup): (&Row, f64)| {
                (format!("{} {}", group(row), writer_of(row)), (x(row), speedup))
            };
            Body::lines(format!("{} {unit}", sweep.name), compared.map(point))
        } else {
            Body::bars(compared.map(|(row, speedup)| (group(row), writer_of(row), speedup)))
        };
        let title = format!("Speedup on {}", self.device);
        Chart { title, unit: "times the classical writer", level: Some(1.0), body }
    }
}

fn writer_of(row: &Row) -> String {
    if row.prefetch == "none" {
        return row.writer.to_owned();
    }
    format!("{}, prefetch {}", row.writer, row.prefetch)
}
