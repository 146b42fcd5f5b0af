//! `cenote pool replay`: replays page loads through the pool, in every combination.

use std::path::{Path, PathBuf};

use anyhow::Result;
use cenote::memory::MemorySize;
use cenote::report;
use cenote_device::threads::THREADS_MAX;
use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;
use cenote_replay::choice::List;
use cenote_replay::load::LoadKind;
use cenote_replay::pool::{Ideal, PoolSize, Sweep, WriterKind};
use cenote_replay::{PoolReplay, PoolReplayConfig, pool_replay};

use super::sweep::{TOGETHER_MAX, pool_size, sweep};
use crate::args::{Report, ReportArgs, bytes, command_line, whole};
use crate::cancel::Guard;
use crate::output::{self, count};
use crate::progress;
use crate::svg;
use crate::verb::Outcome;
use crate::verb::replays::{LoadFlags, rows, share, with_bar};

/// Replay page accesses through the buffer pool, with each given policy, writer and prefetcher
///
/// A simulated device (sim:PRESET, sim:PRESET-ideal, sim:ideal) only keeps time: seconds are
/// virtual, computation takes no time, and a physical write is a page in a write request; flash
/// garbage collection is not modelled. A FILE is used with direct I/O and its bytes are REPLACED,
/// so a load with writes needs --overwrite or --create.
///
/// speedup compares with the classical writer, which is always run, with the same policy and
/// prefetcher. PIO and curves are predictions of the device's model for the same reads, writes and
/// batches: for PIO a batch of up to k_w writes takes as long as one, for curves as long as that
/// many writes at that depth.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote pool replay --workload ms --device sim:optane-p4800x
  cenote pool replay --workload ms,wis,ris,mu --policy all --device sim:p4510 --plot ace.svg
  cenote pool replay --workload ms --device sim:ideal --alpha 8 --k 8 --sweep n-w=1,2,4,8,9,16
  cenote pool replay requests.oracleGeneral --device sim:sata-s4610 --prefetch all --json
  cenote pool replay --workload ms --device pages.bin --create 4GiB --warm-up 100000
  cenote pool replay --workload ms --device sim:p4510 --report pool.html")]
pub struct Args {
    /// Traces: `R|W page` lines, CSV, ARC or LIRS lists, oracleGeneral; plain, gzip or zstd
    #[arg(value_name = "TRACE", required_unless_present = "workload")]
    traces: Vec<PathBuf>,
    /// Generated loads: ms, wis, ris, mu, zipf, tpcc or tpcc-TRANSACTION
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    workload: Vec<LoadKind>,
    /// Device of the pages: sim:PRESET, sim:PRESET-ideal, sim:ideal, a file or a block device
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
    /// Create the file with this size first
    #[arg(long, value_name = "SIZE", conflicts_with = "overwrite")]
    create: Option<MemorySize>,
    /// Vary one of n-w=1,2,4 | alpha=1,2,4 | read-share=0,50,100 | pool=2%,4%
    #[arg(long, value_name = "NAME=LIST", value_parser = sweep)]
    sweep: Option<Sweep>,
    /// Runs of each combination, interleaved; the median is reported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=1000))]
    repeats: usize,
    /// Plot the speedups to this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    page: ReportArgs,
    #[command(flatten)]
    report: Report,
}

/// Flags of the loads.
#[derive(Debug, clap::Args)]
struct LoadArgs {
    /// Pages of generated loads [default: 344066 simulated, as the paper; else those of the file]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 48))]
    pages: Option<u64>,
    /// Accesses before measurements begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    warm_up: u64,
    /// Share of reads of ms, wis, ris, mu and zipf [default: their own]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    read_share: Option<f64>,
    /// Warehouses of tpcc [default: as many as --pages hold]
    #[arg(long, value_name = "N")]
    warehouses: Option<u64>,
    #[command(flatten)]
    common: LoadFlags,
    /// Keep the page numbers of traces, instead of numbering by first access
    #[arg(long)]
    keep_numbers: bool,
}

/// Flags of the pool.
#[derive(Debug, clap::Args)]
struct PoolArgs {
    /// Pages that the pool holds
    #[arg(long, value_name = "N", conflicts_with = "pool")]
    frames: Option<usize>,
    /// Size of the pool; a percentage is of the load's pages [default: 6%, or the paper's 20000
    /// pages of 344066]
    #[arg(long, value_name = "SIZE")]
    pool: Option<MemorySize>,
    /// Pages that ACE writes at once; in the background, at most half of the pool [default: k_w of
    /// the device]
    #[arg(long, value_name = "N", value_parser = whole(1..=TOGETHER_MAX))]
    n_w: Option<usize>,
    /// Pages evicted at once when there are pages to prefetch [default: k_w]
    #[arg(long, value_name = "N", value_parser = whole(1..=TOGETHER_MAX))]
    n_e: Option<usize>,
    /// Pages that the background cleaner writes at once, at most half of the pool
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole(1..=TOGETHER_MAX))]
    cleaner_batch: usize,
    /// Threads that replay, on a file
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=THREADS_MAX))]
    threads: usize,
}

/// Parameters of an ideal device.
#[derive(Debug, clap::Args)]
struct IdealArgs {
    /// Cost of a write in reads, on an ideal device
    #[arg(long, value_name = "X")]
    alpha: Option<f64>,
    /// Concurrency of reads and writes of an ideal device
    #[arg(long, value_name = "N")]
    k: Option<u32>,
    /// Read concurrency of an ideal device
    #[arg(long, value_name = "N")]
    k_r: Option<u32>,
    /// Write concurrency of an ideal device
    #[arg(long, value_name = "N")]
    k_w: Option<u32>,
}

/// Runs the replay and prints the rows.
pub fn run(args: &Args) -> Result<Outcome> {
    if let Some(plot) = &args.plot {
        svg::check_name(plot, &args.files())?;
    }
    let _guard = args.page.checked(&args.files())?;
    let config = args.config()?;
    let _unfinished = config.create.map(|_| Guard::new(Path::new(&args.device)));
    let replay = with_bar(|control| pool_replay(&config, control))?;
    if let Some(path) = &args.plot {
        svg::draw(path, &replay.chart())?;
    }
    if let Some(path) = &args.page.report {
        report::write(path, &args.files(), &replay.page(Some(&command_line())))?;
    }
    report_renumbered(&replay);
    if args.report.json {
        output::json(&replay)?;
    } else {
        output::line(replay.lines())?;
        output::line(rows(replay.table()))?;
    }
    Ok(Outcome::Done)
}

/// Prints which traces have renumbered pages.
fn report_renumbered(replay: &PoolReplay) {
    for load in replay.loads.iter().filter(|load| load.renumbered) {
        let (name, pages) = (&load.name, count(load.pages));
        progress::above(|| {
            eprintln!(
                "cenote: {name}: its {pages} pages are numbered by first access; --keep-numbers \
                 keeps the trace's own"
            );
        });
    }
}

impl Args {
    /// Files that a report must not replace.
    fn files(&self) -> Vec<&Path> {
        self.traces.iter().map(PathBuf::as_path).chain([Path::new(&self.device)]).collect()
    }

    fn config(&self) -> Result<PoolReplayConfig> {
        let mut config = PoolReplayConfig::new(&self.device);
        let IdealArgs { alpha, k, k_r, k_w } = self.ideal;
        config.ideal = Ideal { alpha, k_r: k_r.or(k), k_w: k_w.or(k) };
        config.overwrite = self.overwrite;
        config.create = self.create.map(|size| bytes("--create", size)).transpose()?;
        let traces = self.traces.iter().cloned().map(LoadKind::Trace);
        config.loads = self.workload.iter().cloned().chain(traces).collect();
        let load = &self.load;
        load.common.set(&mut config.load)?;
        config.load.pages = load.pages;
        config.load.read_share = load.read_share;
        config.load.warehouses = load.warehouses;
        config.load.keep_numbers = load.keep_numbers;
        config.warm_up = load.warm_up;
        if let Some(policies) = &self.policy {
            config.policies.clone_from(&policies.0);
        }
        config.writers.clone_from(&self.writer.0);
        config.prefetch.clone_from(&self.prefetch.0);
        let pool = &self.pool;
        config.pool = pool.frames.map(PoolSize::Frames).or(pool.pool.map(pool_size));
        config.n_w = pool.n_w;
        config.n_e = pool.n_e;
        config.cleaner_batch = pool.cleaner_batch;
        config.threads = pool.threads;
        config.sweep.clone_from(&self.sweep);
        config.repeats = self.repeats;
        Ok(config)
    }
}
