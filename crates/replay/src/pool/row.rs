//! The result of one combination of load, policy, writer and prefetcher.

use serde::Serialize;

use super::run::{Combination, Measured, Setting};
use super::target::Target;
use crate::load::Load;

/// The varied parameter, and its value in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Varied {
    /// The name of the option.
    pub name: &'static str,
    /// The value; shares in percent.
    pub value: f64,
}

/// One combination with one load. The field names are a contract.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The load.
    pub workload: String,
    /// Replacement policy.
    pub policy: &'static str,
    /// Writer of dirty pages.
    pub writer: &'static str,
    /// Prefetcher.
    pub prefetch: &'static str,
    /// The device.
    pub device: String,
    /// Time on the device's clock; the median of the repetitions.
    pub seconds: f64,
    /// Accesses to pages in memory.
    pub hits: u64,
    /// Accesses to pages that had to be read.
    pub misses: u64,
    /// Pages that the pool wrote back.
    pub logical_writes: u64,
    /// Bytes written to the device, in pages.
    pub physical_writes: f64,
    /// Batches of concurrent writes.
    pub write_batches: u64,
    /// Seconds of the classical writer with the same policy and prefetcher over `seconds`.
    pub speedup: Option<f64>,
    /// The speedup that PIO predicts for these reads, writes and batches.
    pub pio_speedup: f64,
    /// The speedup that the device's curves predict for them.
    pub curve_speedup: f64,
    /// The speedup over the classical writer without prefetching.
    pub speedup_plain: Option<f64>,
    /// Pages written beyond those of the classical writer, as a share of the latter.
    pub extra_writes: Option<f64>,
    /// Cost in reads by PIO.
    pub cost: f64,
    /// The varied parameter.
    pub sweep: Option<Varied>,
    /// Pages of the load.
    pub pages: u64,
    /// Accesses measured.
    pub ops: u64,
    /// Pages of the pool.
    pub frames: usize,
    /// Pages that ACE writes at once.
    pub n_w: usize,
    /// Pages that are evicted at once for prefetched ones.
    pub n_e: usize,
    /// Pages of a full batch of this writer.
    pub batch: usize,
    /// alpha of PIO.
    pub alpha: f64,
    /// Reads that the device runs at once.
    pub k_r: u32,
    /// Writes that the device runs at once.
    pub k_w: u32,
    /// Threads that replayed.
    pub threads: usize,
    /// Batches of concurrent reads.
    pub read_batches: u64,
    /// Pages that were prefetched.
    pub prefetched: u64,
    /// Prefetched pages that were used.
    pub prefetched_useful: u64,
    /// Prefetched pages that were evicted unused.
    pub prefetched_wasted: u64,
    /// Dirty pages at the end; their flush is neither counted nor timed.
    pub dirty_at_end: u64,
    /// Median latency of reads, if any.
    pub read_us: Option<f64>,
    /// Median latency of writes, if any.
    pub write_us: Option<f64>,
    /// Seconds of the fastest repetition.
    pub seconds_min: f64,
    /// Seconds of the slowest repetition.
    pub seconds_max: f64,
    /// Repetitions.
    pub repeats: usize,
}

impl Row {
    /// The row of a combination from its repetitions, at least one.
    pub(crate) fn new(
        target: &Target,
        load: &Load,
        combination: Combination,
        setting: &Setting,
        sweep: Option<Varied>,
        mut runs: Vec<Measured>,
    ) -> Self {
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let median = &runs[(runs.len() - 1) / 2];
        let page_bytes = setting.page_bytes as u64;
        let size = target.model.at(page_bytes);
        let requests = &median.requests;
        let median_us =
            |of: &cenote_device::wrapper::Histogram| of.quantile_ns(0.5).map(|ns| ns as f64 / 1e3);
        Self {
            workload: load.name.clone(),
            policy: combination.policy.name(),
            writer: combination.writer.name(),
            prefetch: combination.prefetch.name(),
            device: target.name.clone(),
            seconds: median.seconds,
            hits: median.hits,
            misses: median.misses,
            logical_writes: median.pages_written,
            physical_writes: median.device.bytes_written as f64 / page_bytes as f64,
            write_batches: requests.batches(),
            speedup: None,
            pio_speedup: requests.pio_speedup(target.alpha, size.k_w),
            curve_speedup: requests.curve_speedup(&target.model, page_bytes),
            speedup_plain: None,
            extra_writes: None,
            cost: requests.cost(target.alpha, size.k_w),
            sweep,
            pages: load.pages,
            ops: median.ops,
            frames: setting.frames,
            n_w: setting.n_w,
            n_e: setting.n_e,
            batch: median.batch,
            alpha: target.alpha,
            k_r: size.k_r,
            k_w: size.k_w,
            threads: setting.threads,
            read_batches: requests.read_batches,
            prefetched: median.prefetched,
            prefetched_useful: median.prefetched_useful,
            prefetched_wasted: median.prefetched_wasted,
            dirty_at_end: median.dirty_at_end,
            read_us: median_us(&median.device.read_latency),
            write_us: median_us(&median.device.write_latency),
            seconds_min: runs[0].seconds,
            seconds_max: runs[runs.len() - 1].seconds,
            repeats: runs.len(),
        }
    }

    /// Whether this is the row to compare `other` with: the classical writer, without prefetching
    /// if `plain` is set, and otherwise the same combination.
    fn is_baseline_of(&self, other: &Self, plain: bool) -> bool {
        let prefetch = if plain { "none" } else { other.prefetch };
        self.writer == "classical"
            && self.prefetch == prefetch
            && self.policy == other.policy
            && self.workload == other.workload
            && self.sweep == other.sweep
    }
}

/// Fills in the comparisons with the classical writer's rows.
pub(crate) fn compare(rows: &mut [Row]) {
    let compared: Vec<_> = rows
        .iter()
        .map(|row| {
            let find = |plain| rows.iter().find(|other| other.is_baseline_of(row, plain));
            let speedup = |plain| find(plain).map(|base| over(base.seconds, row.seconds));
            let extra = find(false).and_then(|base| {
                let (own, base) = (row.logical_writes as f64, base.logical_writes as f64);
                if own == base { Some(0.0) } else { (base > 0.0).then(|| own / base - 1.0) }
            });
            (speedup(false), speedup(true), extra)
        })
        .collect();
    for (row, (speedup, plain, extra)) in rows.iter_mut().zip(compared) {
        (row.speedup, row.speedup_plain, row.extra_writes) = (speedup, plain, extra);
    }
}

/// The speedup; 1 if neither took any time, because every page was in memory.
fn over(before: f64, after: f64) -> f64 {
    if before == after { 1.0 } else { before / after.max(1e-9) }
}
