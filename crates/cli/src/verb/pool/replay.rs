//! `cenote pool replay`: page loads through the pool, in every combination, side by side.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cenote_device::Op;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;
use cenote_workload::page::trace::TraceFormat;
use serde::Serialize;

use super::grid::{List, Sweep, Value, share, threads};
use super::{plot, table};
use crate::args::Report;
use crate::cancel;
use crate::output::{self, count};
use crate::progress::{self, Progress, Unit};
use crate::replay::load::{Load, LoadConfig, LoadKind, PAPER_OPS, PAPER_PAGES};
use crate::replay::row::{Row, Varied, compare};
use crate::replay::target::{Ideal, Permission, Target};
use crate::replay::{self, Combination, Setting, WriterKind, fill};
use crate::svg;
use crate::verb::Outcome;
use cenote::memory::MemorySize;

/// Frames of the ACE evaluation for [`PAPER_PAGES`].
const PAPER_FRAMES: usize = 20_000;

/// Part of the pages that the pool holds if nothing else is said.
const POOL: MemorySize = MemorySize::Percent(6.0);

/// Accesses on a real drive if nothing else is said: minutes, not hours.
const FILE_OPS: u64 = 200_000;

/// Replay page accesses through the buffer pool, with every policy, writer and prefetcher asked for
///
/// A simulated device (sim:PRESET, sim:PRESET-ideal, sim:ideal) keeps time only: seconds are
/// virtual, computing costs nothing, and a physical write is a page that the device was asked to
/// write; flash garbage collection is not modelled. A FILE is used with direct I/O and its bytes
/// are REPLACED, so a load that writes needs --overwrite or --create.
///
/// speedup compares with the classical writer, which is always run, with the same policy and
/// prefetcher. PIO and curves are what the device's model predicts for the reads, writes and
/// batches that were made: PIO takes a batch of up to k_w writes for as long as one, curves takes
/// it for as long as that many writes at that depth.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote pool replay --workload ms --device sim:optane-p4800x
  cenote pool replay --workload ms,wis,ris,mu --policy all --device sim:p4510 --plot ace.svg
  cenote pool replay --workload ms --device sim:ideal --alpha 8 --k 8 --sweep n-w=1,2,4,8,9,16
  cenote pool replay requests.oracleGeneral --device sim:sata-s4610 --prefetch all --json
  cenote pool replay --workload ms --device pages.bin --create 4GiB --warm-up 100000")]
pub struct Args {
    /// Traces: `R|W page` lines, CSV, ARC or LIRS lists, oracleGeneral; plain, gzip or zstd
    #[arg(value_name = "TRACE", required_unless_present = "workload")]
    traces: Vec<PathBuf>,
    /// Made loads: ms, wis, ris, mu, zipf, tpcc or tpcc-TRANSACTION
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    workload: Vec<LoadKind>,
    /// Where the pages lie: sim:PRESET, sim:PRESET-ideal, sim:ideal, a file or a block device
    #[arg(long, value_name = "DEVICE")]
    device: String,
    /// Replacement policies, or all [default: the paper's four]
    #[arg(long, value_name = "LIST")]
    policy: Option<List<PolicyKind>>,
    /// Writers: classical, cleaner, ace, ace-bg, or all
    #[arg(long, value_name = "LIST", default_value = "all")]
    writer: List<WriterKind>,
    /// Prefetchers: none, tap, history, both, or all
    #[arg(long, value_name = "LIST", default_value = "none")]
    prefetch: List<PrefetchKind>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    ideal: IdealArgs,
    /// Allow the bytes of the file or block device to be replaced
    #[arg(long)]
    overwrite: bool,
    /// Make the file first, filled with so many bytes
    #[arg(long, value_name = "SIZE", conflicts_with = "overwrite")]
    create: Option<MemorySize>,
    /// Vary one of n-w=1,2,4 | alpha=1,2,4 | read-share=0,50,100 | pool=2%,4%
    #[arg(long, value_name = "NAME=LIST")]
    sweep: Option<Sweep>,
    /// Runs of each combination, all in turn; the median counts
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    repeats: NonZeroUsize,
    /// Draw the speedups into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    report: Report,
}

/// What is replayed.
#[derive(Debug, clap::Args)]
struct LoadArgs {
    /// Pages of made loads [default: 344066 simulated, as the paper; else those of the file]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pages: Option<u64>,
    /// Accesses, at most those of a trace [default: 2000000 simulated, 200000 on a file]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    ops: Option<u64>,
    /// Accesses before time and counts begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    warm_up: u64,
    /// The same seed gives the same load
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Share of reads of ms, wis, ris, mu and zipf [default: their own]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    read_share: Option<f64>,
    /// Exponent of zipf
    #[arg(long, value_name = "X", default_value_t = 0.99)]
    skew: f64,
    /// Warehouses of tpcc [default: as many as --pages hold]
    #[arg(long, value_name = "N")]
    warehouses: Option<u64>,
    /// Bytes of a page
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    page_bytes: MemorySize,
    /// How the traces are written [default: by their names]
    #[arg(long, value_name = "FORMAT")]
    format: Option<TraceFormat>,
    /// Keep the page numbers of traces, instead of numbering by first access
    #[arg(long)]
    keep_numbers: bool,
}

/// What they are replayed with.
#[derive(Debug, clap::Args)]
struct PoolArgs {
    /// Pages that the pool holds
    #[arg(long, value_name = "N", conflicts_with = "pool")]
    frames: Option<usize>,
    /// Size of the pool; a percentage is of the load's pages [default: 6%, or the paper's 20000
    /// pages of 344066]
    #[arg(long, value_name = "SIZE")]
    pool: Option<MemorySize>,
    /// Pages that ACE writes at once, in the background at most half of the pool [default: k_w of
    /// the device]
    #[arg(long, value_name = "N")]
    n_w: Option<usize>,
    /// Pages that leave at once where there is something to prefetch [default: k_w]
    #[arg(long, value_name = "N")]
    n_e: Option<usize>,
    /// Pages that the background cleaner writes at once, at most half of the pool
    #[arg(long, value_name = "N", default_value_t = 64)]
    cleaner_batch: usize,
    /// Threads that replay, on a file
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    threads: usize,
}

/// Parameters of an ideal device.
#[derive(Debug, clap::Args)]
struct IdealArgs {
    /// Cost of a write in reads, on an ideal device
    #[arg(long, value_name = "X")]
    alpha: Option<f64>,
    /// Reads and writes that an ideal device does at once
    #[arg(long, value_name = "N")]
    k: Option<u32>,
    /// Reads that an ideal device does at once
    #[arg(long, value_name = "N")]
    k_r: Option<u32>,
    /// Writes that an ideal device does at once
    #[arg(long, value_name = "N")]
    k_w: Option<u32>,
}

/// One load on one device with one setting; all combinations are run for it.
struct Case {
    target: Target,
    load: Load,
    setting: Setting,
    sweep: Option<Varied>,
}

/// All that was found.
#[derive(Serialize)]
struct Summary<'a> {
    device: &'a str,
    simulated: bool,
    profile_assumed: bool,
    page_bytes: u64,
    seed: u64,
    warm_up: u64,
    rows: &'a [Row],
}

/// Runs all combinations and reports.
pub fn run(args: &Args) -> Result<Outcome> {
    if let Some(plot) = &args.plot {
        svg::check_name(plot)?;
    }
    let cases = args.cases()?;
    let combinations = args.combinations();
    let mut rows = run_all(&cases, &combinations, args.repeats.get())?;
    compare(&mut rows);
    if let Some(path) = &args.plot {
        plot::draw(&rows, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.report.json {
        output::json(&Summary {
            device: &args.device,
            simulated: cases[0].target.is_simulated(),
            profile_assumed: cases[0].target.assumed,
            page_bytes: args.page_bytes()?,
            seed: args.load.seed,
            warm_up: args.load.warm_up,
            rows: &rows,
        })?;
    } else {
        output::line(title(&cases, args))?;
        output::line(table::table(&rows))?;
    }
    Ok(Outcome::Done)
}

/// Every case with every combination, the repetitions in turn: a drive that changes its mood
/// changes it for all.
fn run_all(cases: &[Case], combinations: &[Combination], repeats: usize) -> Result<Vec<Row>> {
    let ops: u64 = cases.iter().map(|case| case.load.ops).sum();
    let total = ops * (combinations.len() * repeats) as u64;
    let bar = Progress::new("replay", Some(total), Unit::Items);
    let mut runs: Vec<Vec<_>> = vec![Vec::new(); cases.len() * combinations.len()];
    for _ in 0..repeats {
        let each = cases.iter().flat_map(|case| combinations.iter().map(move |c| (case, *c)));
        for ((case, combination), runs) in each.zip(&mut runs) {
            cancel::check()?;
            let Case { target, load, setting, .. } = case;
            let run = replay::run(target, load, combination, setting, &|ops| bar.advance(ops))
                .with_context(|| {
                    let Combination { policy, writer, prefetch } = combination;
                    format!("{load}, {policy}, {writer}, prefetch {prefetch}")
                })?;
            runs.push(run);
        }
    }
    let each = cases.iter().flat_map(|case| combinations.iter().map(move |c| (case, *c)));
    let rows = each.zip(runs).map(|((case, combination), runs)| {
        let Case { target, load, setting, sweep } = case;
        Row::new(target, load, combination, setting, sweep.clone(), runs)
    });
    Ok(rows.collect())
}

/// The device, and a line for each load.
fn title(cases: &[Case], args: &Args) -> String {
    let Case { target, setting, .. } = &cases[0];
    let size = target.model.at(setting.page_bytes as u64);
    let mut lines = vec![format!(
        "{}: alpha {:.2}, k_r {}, k_w {}; n_w {}, cleaner's batch {}; pages of {}, seed {}",
        target.name,
        target.alpha,
        size.k_r,
        size.k_w,
        setting.n_w,
        setting.cleaner_batch,
        output::size(setting.page_bytes as u64),
        args.load.seed,
    )];
    for case in cases {
        let line = format!(
            "{}: {} accesses to {} pages, pool of {}",
            case.load,
            count(case.load.ops),
            count(case.load.pages),
            count(case.setting.frames as u64)
        );
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

impl Args {
    fn page_bytes(&self) -> Result<u64> {
        match self.load.page_bytes {
            MemorySize::Bytes(bytes) if (512..=1 << 24).contains(&bytes) => Ok(bytes),
            other => bail!("--page-bytes {other}: expected a size of 512 to 16MiB"),
        }
    }

    /// The classical writer is always among them: speedups refer to it.
    fn combinations(&self) -> Vec<Combination> {
        let mut writers = self.writer.0.clone();
        if !writers.contains(&WriterKind::Classical) {
            writers.insert(0, WriterKind::Classical);
        }
        let policies = self.policy.as_ref().map_or(&PolicyKind::PAPER[..], |list| &list.0);
        let mut all = Vec::new();
        for &policy in policies {
            for &prefetch in &self.prefetch.0 {
                all.extend(writers.iter().map(|&writer| Combination { policy, writer, prefetch }));
            }
        }
        all
    }

    fn kinds(&self) -> Vec<LoadKind> {
        let traces = self.traces.iter().cloned().map(LoadKind::Trace);
        let mut kinds: Vec<LoadKind> = Vec::new();
        for kind in self.workload.iter().cloned().chain(traces) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    fn ideal(&self) -> Ideal {
        let IdealArgs { alpha, k, k_r, k_w } = self.ideal;
        Ideal { alpha, k_r: k_r.or(k), k_w: k_w.or(k) }
    }

    /// Everything that is to be run. Whatever can be wrong is found here, before anything is
    /// written.
    fn cases(&self) -> Result<Vec<Case>> {
        let simulated = Target::is_simulated_name(&self.device);
        let values: Vec<Option<Value>> = match &self.sweep {
            Some(sweep) => sweep.values().into_iter().map(Some).collect(),
            None => vec![None],
        };
        let surveys = self.surveys(&values, simulated)?;
        let target = if simulated {
            self.refuse_what_needs_a_file()?;
            None
        } else {
            surveys.iter().flatten().try_for_each(|load| self.refuse_what_is_too_long(load))?;
            Some(self.file_target(surveys.iter().flatten().any(|load| load.writes))?)
        };
        let mut cases = Vec::new();
        for (value, loads) in values.iter().zip(surveys) {
            let target = match &target {
                Some(target) => target.clone(),
                None => self.simulated(*value)?,
            };
            for load in loads {
                let setting = self.setting(&target, &load, *value)?;
                let told = value.map(Value::told);
                let sweep = told.map(|(name, value)| Varied { name, value });
                cases.push(Case { target: target.clone(), load, setting, sweep });
            }
        }
        Ok(cases)
    }

    /// The loads for each value. A trace is read once for all values.
    fn surveys(&self, values: &[Option<Value>], simulated: bool) -> Result<Vec<Vec<Load>>> {
        let config = self.load_config(simulated)?;
        let survey = |read_share: Option<f64>| -> Result<Vec<Load>> {
            let config = LoadConfig { read_share, ..config.clone() };
            let kinds = self.kinds().into_iter();
            let loads = kinds.map(|kind| Load::survey(kind, config.clone()));
            let loads: Vec<Load> = loads.collect::<Result<_>>()?;
            refuse_equal_names(&loads)?;
            Ok(loads)
        };
        let varies_load = matches!(self.sweep, Some(Sweep::ReadShare(_)));
        if !varies_load {
            let loads = survey(config.read_share)?;
            tell_renumbered(&loads);
            return Ok(vec![loads; values.len()]);
        }
        let fixed = |kind: &LoadKind| matches!(kind, LoadKind::Tpcc(_) | LoadKind::Trace(_));
        ensure!(
            !self.kinds().iter().any(fixed),
            "--sweep read-share varies ms, wis, ris, mu and zipf; traces and tpcc have their own"
        );
        let mut surveys = Vec::new();
        for value in values {
            let Some(Value::ReadShare(percent)) = value else { continue };
            let mut loads = survey(Some(percent / 100.0))?;
            // The share is a column of its own here.
            loads.iter_mut().for_each(|load| load.name.clone_from(&load.name_plain));
            surveys.push(loads);
        }
        Ok(surveys)
    }

    fn load_config(&self, simulated: bool) -> Result<LoadConfig> {
        let page_bytes = self.page_bytes()?;
        let pages = match self.load.pages {
            Some(pages) => pages,
            None if simulated => PAPER_PAGES,
            None => self.file_bytes()? / page_bytes,
        };
        ensure!(pages > 0, "{}: not one page of {page_bytes} bytes fits", self.device);
        Ok(LoadConfig {
            pages,
            ops: self.load.ops,
            ops_default: if simulated { PAPER_OPS } else { FILE_OPS },
            seed: self.load.seed,
            read_share: self.load.read_share,
            skew: self.load.skew,
            warehouses: self.load.warehouses,
            page_bytes,
            format: self.load.format,
            keep_numbers: self.load.keep_numbers,
        })
    }

    /// Bytes that the file has, or will have.
    fn file_bytes(&self) -> Result<u64> {
        match self.create {
            Some(MemorySize::Bytes(bytes)) => Ok(bytes),
            Some(MemorySize::Percent(_)) => {
                bail!("--create takes a size such as 4GiB, not a percentage")
            }
            None => Ok(file::open(Path::new(&self.device), &OpenOptions::reading())?.len_bytes()?),
        }
    }

    fn refuse_what_needs_a_file(&self) -> Result<()> {
        let needless = self.overwrite || self.create.is_some();
        ensure!(!needless, "{} has no file: leave out --overwrite and --create", self.device);
        ensure!(
            self.pool.threads == 1,
            "{}: virtual time is told on one thread: --threads is for files",
            self.device
        );
        Ok(())
    }

    fn refuse_what_is_too_long(&self, load: &Load) -> Result<()> {
        let pages = self.file_bytes()? / self.page_bytes()?;
        ensure!(
            load.pages <= pages,
            "{}: {load} asks for {} pages, and {} fit: give a file of {}, or fewer --pages",
            self.device,
            count(load.pages),
            count(pages),
            output::size(load.pages * self.page_bytes()?)
        );
        Ok(())
    }

    fn file_target(&self, writes: bool) -> Result<Target> {
        let path = Path::new(&self.device);
        let ideal = self.ideal() == Ideal::default();
        let alpha = matches!(self.sweep, Some(Sweep::Alpha(_)));
        ensure!(ideal && !alpha, "{}: --alpha and --k are for sim:ideal", self.device);
        let page_bytes = self.page_bytes()?;
        if self.create.is_some() {
            fill::create(path, self.file_bytes()? / page_bytes * page_bytes)?;
        }
        ensure!(
            !writes || self.overwrite || self.create.is_some(),
            "{}: the load writes, so the file's bytes would be replaced: allow it with \
             --overwrite, or make a new file with --create SIZE",
            self.device
        );
        let permission = if writes { Permission::Overwrite } else { Permission::Read };
        Target::file(path, page_bytes, permission)
    }

    fn simulated(&self, value: Option<Value>) -> Result<Target> {
        let mut ideal = self.ideal();
        if let Some(Value::Alpha(alpha)) = value {
            ideal.alpha = Some(alpha);
        }
        Target::simulated(&self.device, self.page_bytes()?, ideal)
    }

    fn setting(&self, target: &Target, load: &Load, value: Option<Value>) -> Result<Setting> {
        let page_bytes = self.page_bytes()?;
        let k_w = target.model.channels(Op::Write, page_bytes) as usize;
        let n_w = match value {
            Some(Value::BatchOfWrites(n_w)) => n_w,
            _ => self.pool.n_w.unwrap_or(k_w),
        };
        let pool = match value {
            Some(Value::Pool(size)) => Some(size),
            _ => self.pool.pool,
        };
        let frames_in = |size: MemorySize| size.bytes_of(load.pages * page_bytes) / page_bytes;
        let frames = match (self.pool.frames, pool) {
            (_, Some(size)) => frames_in(size).max(1) as usize,
            (Some(frames), None) => frames,
            (None, None) if load.pages == PAPER_PAGES => PAPER_FRAMES,
            (None, None) => frames_in(POOL).max(1) as usize,
        };
        ensure!(
            frames > 1 || !self.writer.0.iter().any(|writer| writer.has_cleaner()),
            "{load}: a pool of {frames} frames: a background writer needs 2, one to write and one \
             to use; give more with --frames or --pool, or leave cleaner and ace-bg out of --writer"
        );
        let cleaner_batch = self.pool.cleaner_batch.min(Setting::background_max(frames));
        Ok(Setting {
            page_bytes: page_bytes as usize,
            frames,
            n_w,
            n_e: self.pool.n_e.unwrap_or(k_w),
            cleaner_batch,
            threads: self.pool.threads,
            warm_up: self.load.warm_up,
        })
    }
}

/// Rows are told apart, and compared, by the names of their loads.
fn refuse_equal_names(loads: &[Load]) -> Result<()> {
    for (place, load) in loads.iter().enumerate() {
        let again = loads[..place].iter().any(|other| other.name == load.name);
        ensure!(!again, "two loads are called {load}: replay them in two runs, or rename a file");
    }
    Ok(())
}

/// What a reader of the table should know of the traces in it.
fn tell_renumbered(loads: &[Load]) {
    for load in loads.iter().filter(|load| load.renumbered()) {
        let pages = count(load.pages);
        progress::above(|| {
            eprintln!(
                "cenote: {load}: its {pages} pages are numbered by first access; --keep-numbers \
                 keeps the trace's own"
            );
        });
    }
}
