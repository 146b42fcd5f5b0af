//! The sweep over request sizes and depths, with additional depths around k.

use std::ops::{Range, RangeInclusive};

use super::cell::{Bench, Cell, CellResult};
use super::config::ProfileConfig;
use super::data::{
    Conditions, CurveProfile, PROFILE_VERSION, Pattern, Profile, ProfilePoint, k_rule,
};
use super::identity::Identity;
use crate::error::{DeviceError, Result};
use crate::model::knee;
use crate::op::Op;
use crate::{Clock, Device, LogHistogram};

/// Progress of a profile, reported before each step.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Steps done.
    pub done: u64,
    /// Steps in total; grows while k is narrowed down.
    pub total: u64,
    /// The step that begins.
    pub step: String,
}

/// Called with the progress; returns `false` to end the profile.
pub type ProgressFn<'a> = &'a mut dyn FnMut(&Progress) -> bool;

struct Measured {
    cell: Cell,
    results: Vec<CellResult>,
}

struct Sweep<'a> {
    config: &'a ProfileConfig,
    bench: Bench<'a>,
    device: &'a dyn Device,
    cells: Vec<Measured>,
    start_ns: u64,
    done: u64,
    total: u64,
    left_out: u64,
    progress: ProgressFn<'a>,
}

/// Measures `device` within `region` (bytes), by the device's clock. Reads and, if configured,
/// writes fall on that region only; it should hold written data, since drives answer reads of
/// unwritten blocks at once.
pub fn profile(
    device: &dyn Device,
    region: Range<u64>,
    config: &ProfileConfig,
    progress: ProgressFn<'_>,
) -> Result<Profile> {
    check(device, &region, config).map_err(|fault| DeviceError::profile(device.name(), fault))?;
    let (depth, bytes) = config.extremes();
    let bench = Bench::open(device, region.clone(), depth, bytes, config.seed)?;
    let clock = device.clock();
    let mut sweep = Sweep {
        config,
        bench,
        device,
        cells: cells(config),
        start_ns: clock.now_ns(),
        done: 0,
        total: 0,
        left_out: 0,
        progress,
    };
    sweep.total = sweep.cells.len() as u64 * u64::from(config.repetitions);
    sweep.warm_up()?;
    sweep.repeat()?;
    sweep.narrow()?;
    let curves = sweep.curves();
    let sizes = Profile::summarise(&curves, config.saturation_share);
    let mut notes = Vec::new();
    if !config.ops.contains(&Op::Write) {
        notes.push("writes were not measured".to_owned());
    }
    if sweep.left_out > 0 {
        notes.push(format!(
            "{} cells were left out: time was up, or one round of requests outlasts a cell",
            sweep.left_out
        ));
    }
    let seconds = elapsed_seconds(&*clock, sweep.start_ns);
    Ok(Profile {
        version: PROFILE_VERSION,
        device: device.name(),
        assumed: false,
        identity: Identity::named(&device.name()),
        conditions: Conditions {
            unix_seconds: unix_seconds(),
            seconds,
            backend: device.backend().to_owned(),
            quick: config.quick,
            cell_seconds: config.cell_seconds,
            repetitions: config.repetitions,
            region_bytes: region.end - region.start,
            warm_up_seconds: config.warm_up_seconds,
            bytes_moved: sweep.bench.bytes_moved,
            notes,
            k_rule: k_rule(config.saturation_share),
            ..Conditions::default()
        },
        sizes,
        curves,
    })
}

/// Whether the sweep can run at all.
fn check(
    device: &dyn Device,
    region: &Range<u64>,
    config: &ProfileConfig,
) -> std::result::Result<(), String> {
    let (depth, bytes) = config.extremes();
    let block = device.block_bytes() as u64;
    if region.end <= region.start || region.end - region.start < bytes {
        let have = region.end.saturating_sub(region.start);
        return Err(format!("requests of {bytes} bytes need a larger file than one of {have}"));
    }
    if let Some(size) = config.sizes.iter().find(|s| !s.is_multiple_of(block) || **s < 512) {
        return Err(format!("requests of {size} bytes do not suit blocks of {block}"));
    }
    let ascend = config.sizes.is_sorted_by(|a, b| a < b)
        && config.depths.is_sorted_by(|a, b| a < b)
        && config.depths_sequential.is_sorted_by(|a, b| a < b);
    if !ascend || config.sizes.is_empty() || config.depths.is_empty() {
        return Err("sizes and depths must ascend, at least one of each".into());
    }
    if config.depths[0] == 0 || config.depths_sequential.first() == Some(&0) || depth > 4096 {
        return Err("depths lie between 1 and 4096".into());
    }
    let sound = config.cell_seconds > 0.0 && config.repetitions > 0;
    if !sound || !config.ops.contains(&Op::Read) {
        return Err("reads, a repetition and a positive cell time are needed".into());
    }
    Ok(())
}

/// The cells of one repetition: reads before writes, since writes slow a drive down for a while;
/// then by depth, so that a disturbance does not hit all cells of one size.
fn cells(config: &ProfileConfig) -> Vec<Measured> {
    let mut cells = Vec::new();
    for op in [Op::Read, Op::Write].into_iter().filter(|op| config.ops.contains(op)) {
        let random = config.depths.iter().map(|d| (Pattern::Random, *d));
        let sequential = config.depths_sequential.iter().map(|d| (Pattern::Sequential, *d));
        for (pattern, depth) in random.chain(sequential) {
            for &bytes in &config.sizes {
                let cell = Cell { op, pattern, bytes, depth };
                cells.push(Measured { cell, results: Vec::new() });
            }
        }
    }
    cells
}

impl Sweep<'_> {
    fn warm_up(&mut self) -> Result<()> {
        let bytes = self.config.sizes[0];
        let depth = *self.config.depths.last().expect("checked");
        let cell = Cell { op: Op::Read, pattern: Pattern::Random, bytes, depth };
        self.report("warming up")?;
        let clock = self.device.clock();
        let start_ns = clock.now_ns();
        while elapsed_seconds(&*clock, start_ns) < self.config.warm_up_seconds {
            self.bench.run(&cell, self.config.warm_up_seconds / 4.0, self.config.seed)?;
        }
        Ok(())
    }

    /// All repetitions over all cells, every second one in reverse, so that slow drifts of
    /// the device fall on all cells alike.
    fn repeat(&mut self) -> Result<()> {
        for repetition in 0..self.config.repetitions {
            let count = self.cells.len();
            for step in 0..count {
                let index = if repetition % 2 == 0 { step } else { count - 1 - step };
                self.measure(index, repetition)?;
            }
            if self.config.ops.contains(&Op::Write) {
                self.device.sync()?;
            }
        }
        Ok(())
    }

    /// Measures more depths around k until k is known within a tenth.
    fn narrow(&mut self) -> Result<()> {
        for op in self.config.ops.clone() {
            for &bytes in &self.config.sizes {
                for _ in 0..self.config.refinements {
                    let Some(depth) = self.depth_to_add(op, bytes) else { break };
                    let cell = Cell { op, pattern: Pattern::Random, bytes, depth };
                    self.cells.push(Measured { cell, results: Vec::new() });
                    self.total += u64::from(self.config.repetitions);
                    for repetition in 0..self.config.repetitions {
                        self.measure(self.cells.len() - 1, repetition)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The middle of the two measured depths around k, if they are far apart.
    fn depth_to_add(&self, op: Op, bytes: u64) -> Option<u32> {
        let points = self.curve(op, Pattern::Random, bytes).throughput();
        let k = knee::saturation_depth(&points, self.config.saturation_share)?;
        let above = points.iter().position(|p| p.0 >= k)?;
        let (low, high) = (points[above.checked_sub(1)?].0, points[above].0);
        let wide = high - low > 1 && f64::from(high - low) > 0.1 * f64::from(k);
        wide.then_some(low.midpoint(high))
    }

    fn measure(&mut self, index: usize, repetition: u32) -> Result<()> {
        let cell = self.cells[index].cell;
        self.report(&format!("{} {} KiB, depth {}", cell.op, cell.bytes >> 10, cell.depth))?;
        self.done += 1;
        if self.too_slow(index) {
            self.left_out += 1;
            return Ok(());
        }
        let seed = self.config.seed.wrapping_add(((index as u64) << 32) | u64::from(repetition));
        let result = self.bench.run(&cell, self.config.cell_seconds, seed)?;
        self.cells[index].results.push(result);
        Ok(())
    }

    /// Whether time is up, or one round of the cell's requests would take four times as long as a
    /// cell should: deeper queues show nothing more then.
    fn too_slow(&self, index: usize) -> bool {
        let cell = self.cells[index].cell;
        let measured_before = !self.cells[index].results.is_empty();
        let late = elapsed_seconds(&*self.device.clock(), self.start_ns) > self.config.seconds_max;
        if late && (measured_before || cell.depth > 1) {
            return true;
        }
        let alike = self.cells.iter().filter(|m| {
            (m.cell.op, m.cell.pattern, m.cell.bytes) == (cell.op, cell.pattern, cell.bytes)
                && m.cell.depth < cell.depth
        });
        let best = alike.flat_map(|m| &m.results).map(|r| r.iops).fold(0.0, f64::max);
        best > 0.0 && f64::from(cell.depth) / best > 4.0 * self.config.cell_seconds
    }

    fn report(&mut self, step: &str) -> Result<()> {
        let progress = Progress { done: self.done, total: self.total, step: step.to_owned() };
        if (self.progress)(&progress) { Ok(()) } else { Err(interrupted(self.device.name())) }
    }

    fn curves(&self) -> Vec<CurveProfile> {
        let mut curves = Vec::new();
        for op in [Op::Read, Op::Write] {
            for pattern in [Pattern::Random, Pattern::Sequential] {
                curves.extend(self.config.sizes.iter().map(|b| self.curve(op, pattern, *b)));
            }
        }
        curves.retain(|c| !c.points.is_empty());
        curves
    }

    fn curve(&self, op: Op, pattern: Pattern, bytes: u64) -> CurveProfile {
        let alike = self.cells.iter().filter(|m| {
            (m.cell.op, m.cell.pattern, m.cell.bytes) == (op, pattern, bytes)
                && !m.results.is_empty()
        });
        let mut points: Vec<_> = alike.map(Measured::point).collect();
        points.sort_by_key(|p| p.depth);
        CurveProfile { op, pattern, bytes, points }
    }
}

impl Measured {
    fn point(&self) -> ProfilePoint {
        let of = |value: &dyn Fn(&CellResult) -> f64| {
            let mut values: Vec<f64> = self.results.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let iops = of(&|r| r.iops);
        ProfilePoint {
            depth: self.cell.depth,
            iops: median(&iops),
            iops_min: iops[0],
            iops_max: iops[iops.len() - 1],
            p50_us: median(&of(&|r| quantile_us(&r.latencies, 0.5))),
            p99_us: median(&of(&|r| quantile_us(&r.latencies, 0.99))),
            repetitions: self.results.len() as u32,
            cpu_share: median(&of(&|r| r.cpu_share)),
        }
    }
}

/// The median of sorted values, at least one.
fn median(values: &[f64]) -> f64 {
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { values[middle - 1].midpoint(values[middle]) }
}

pub(super) fn interrupted(device: String) -> DeviceError {
    DeviceError::profile(device, "interrupted; nothing was saved")
}

pub(super) fn elapsed_seconds(clock: &dyn Clock, start_ns: u64) -> f64 {
    clock.now_ns().saturating_sub(start_ns) as f64 / 1e9
}

/// The date of a profile, for information only.
fn unix_seconds() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| d.as_secs())
}

/// The quantile `share` (0 to 1) of latencies in microseconds, within 1%; 0 if none were counted.
fn quantile_us(latencies: &LogHistogram<128>, share: f64) -> f64 {
    let middle =
        |bucket: RangeInclusive<u64>| (*bucket.start() as f64 + *bucket.end() as f64) / 2.0;
    latencies.quantile(share).map_or(0.0, middle) / 1e3
}
