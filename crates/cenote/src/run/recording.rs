//! What a run records for its report: samples, steps, latencies, estimates.

use cenote_device::Op;
use cenote_device::profile::{Pattern, Profile};
use cenote_device::wrapper::{Histogram, IoBudget};
use cenote_engine::StepRecord;
use serde::Serialize;
use std::sync::Arc;

use super::estimate::Estimate;
use super::stats::Stats;
use crate::error::Result;
use crate::report::{Counters, Machine, Sample, Sampler};

/// The most records of steps in a report.
pub(super) const STEPS_MAX: usize = 1024;

/// What a run recorded, if [`Run::record`](super::Run::record) or
/// [`Run::report`](super::Run::report) is set.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Recording {
    /// The machine.
    pub machine: Machine,
    /// The drive, as its profile describes it for the requests of this run.
    pub drive: ProfiledDrive,
    /// The estimate of the run.
    pub estimate: Estimate,
    /// Estimates of the reads with larger budgets, ascending, as far as they become fewer.
    pub larger_budgets: Vec<LargerBudget>,
    /// At most 1,024 samples of the process, the first at the start.
    pub samples: Vec<Sample>,
    /// At most 1,024 records of steps.
    pub steps: Vec<TimedStep>,
    /// How many reads took how long, without waits within this process: reads of other runs on the
    /// graph are among them.
    pub latencies: Vec<LatencyCount>,
}

/// What a profile says of the reads of a run.
#[derive(Clone, Debug, Serialize)]
pub struct ProfiledDrive {
    /// Short name of the drive.
    pub name: String,
    /// Its model, if the system knows it.
    pub model: Option<String>,
    /// Whether nothing was measured, and the figures are a guess.
    pub assumed: bool,
    /// The mean size of the reads, bytes; the planned one if there were none.
    pub request_bytes: u64,
    /// Bytes per second of such reads at most.
    pub bytes_per_second: f64,
    /// Such reads that it does at once: more are not faster.
    pub k_r: u32,
    /// Median time of such a read at the depth of the run, in seconds.
    pub seconds_p50: Option<f64>,
    /// The time that one in 100 of them exceeds.
    pub seconds_p99: Option<f64>,
}

/// The reads of the same run with a larger budget, by the estimate.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LargerBudget {
    /// The budget.
    pub memory_bytes: u64,
    /// Bytes read.
    pub bytes_read: u64,
}

/// A step and when it began.
#[derive(Clone, Debug, Serialize)]
pub struct TimedStep {
    /// Seconds since the start of the run.
    pub start_seconds: f64,
    /// The step.
    #[serde(flatten)]
    pub step: StepRecord,
}

/// Reads whose time was up to a limit and above the limit before.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencyCount {
    /// The limit in seconds.
    pub seconds: f64,
    /// How many reads.
    pub reads: u64,
}

/// Records a run from its start.
pub(super) struct Recorder {
    sampler: Sampler,
    budgets: Vec<Arc<IoBudget>>,
    latencies: Vec<Histogram>,
    started_ns: u64,
    estimate: Estimate,
    larger_budgets: Vec<LargerBudget>,
}

impl Recorder {
    /// Begins to record: `started_ns` is now by the clock of the graph's device.
    pub fn start(
        budgets: &[Arc<IoBudget>],
        started_ns: u64,
        (estimate, larger_budgets): (Estimate, Vec<LargerBudget>),
    ) -> Result<Self> {
        budgets.iter().for_each(|budget| budget.record_latencies());
        let latencies = budgets.iter().map(|budget| budget.latencies(Op::Read)).collect();
        let sampled = budgets.to_vec();
        let sampler = Sampler::start(move || counters(&sampled))?;
        let budgets = budgets.to_vec();
        Ok(Self { sampler, budgets, latencies, started_ns, estimate, larger_budgets })
    }

    /// Ends the record.
    pub fn stop(self, stats: &Stats, steps: Vec<StepRecord>, profile: &Profile) -> Recording {
        let samples = self.sampler.stop();
        let steps = StepRecord::merge_to(steps, STEPS_MAX).into_iter().map(|step| {
            let start_ns = step.started_ns.saturating_sub(self.started_ns);
            TimedStep { start_seconds: start_ns as f64 / 1e9, step }
        });
        let before = self.latencies.iter();
        let now = self.budgets.iter().map(|budget| budget.latencies(Op::Read));
        let latencies = now.zip(before).map(|(now, before)| now.since(before));
        Recording {
            machine: Machine::here(),
            drive: ProfiledDrive::of(profile, stats),
            estimate: self.estimate,
            larger_budgets: self.larger_budgets,
            samples,
            steps: steps.collect(),
            latencies: counts(latencies),
        }
    }
}

/// The reads of all drives of a graph.
fn counters(budgets: &[Arc<IoBudget>]) -> Counters {
    budgets.iter().fold(Counters::default(), |sum, budget| {
        let stats = budget.stats();
        Counters {
            bytes_read: sum.bytes_read + stats.reads.bytes,
            bytes_written: sum.bytes_written + stats.writes.bytes,
            requests: sum.requests + stats.reads.completed,
            in_flight: sum.in_flight + stats.reads.in_flight,
        }
    })
}

/// The sum of histograms.
fn counts(histograms: impl Iterator<Item = Histogram>) -> Vec<LatencyCount> {
    let mut sum = std::collections::BTreeMap::new();
    for histogram in histograms {
        for (range, count) in histogram.buckets() {
            *sum.entry(*range.end()).or_insert(0) += count;
        }
    }
    sum.into_iter().map(|(ns, reads)| LatencyCount { seconds: ns as f64 / 1e9, reads }).collect()
}

impl ProfiledDrive {
    fn of(profile: &Profile, stats: &Stats) -> Self {
        let mean = stats.bytes_read.checked_div(stats.read_requests);
        let request_bytes = mean.unwrap_or(stats.request_bytes as u64).max(1);
        let size = profile.model().at(request_bytes);
        let near = |bytes: u64| bytes.abs_diff(request_bytes);
        let curves = profile.curves.iter();
        let curves = curves.filter(|c| c.op == Op::Read && c.pattern == Pattern::Random);
        let curve = curves.min_by_key(|curve| near(curve.bytes));
        let points = curve.into_iter().flat_map(|curve| &curve.points);
        let point = points.min_by_key(|point| (point.depth as usize).abs_diff(stats.depth));
        Self {
            name: profile.device.clone(),
            model: profile.identity.model.clone(),
            assumed: profile.assumed,
            request_bytes,
            bytes_per_second: size.read_iops_max * request_bytes as f64,
            k_r: size.k_r,
            seconds_p50: point.map(|point| point.p50_us / 1e6),
            seconds_p99: point.map(|point| point.p99_us / 1e6),
        }
    }
}

impl Recording {
    /// The time that `share` (0 to 1) of the reads did not exceed; `None` if there were none.
    pub fn latency(&self, share: f64) -> Option<f64> {
        let all: u64 = self.latencies.iter().map(|count| count.reads).sum();
        let rank = ((all as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.latencies.iter().find(|count| {
            seen += count.reads;
            seen >= rank
        });
        found.map(|count| count.seconds)
    }
}
