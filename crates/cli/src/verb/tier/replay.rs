//! `cenote tier replay`: replays page loads through tiers in virtual time, once for each policy.

use std::path::PathBuf;

use anyhow::Result;
use cenote::report;
use cenote_replay::choice::List;
use cenote_replay::tier::PAPER_PAGES;
use cenote_replay::tier::capacity::Capacities;
use cenote_replay::tier::load::TierLoadKind;
use cenote_replay::tier::simulation::Arrivals;
use cenote_replay::{TierReplayConfig, tier_replay};
use cenote_tier::policy::PolicySpec;
use cenote_tier::spec::TierSpec;

use crate::args::{Report, ReportArgs, command_line};
use crate::output;
use crate::svg;
use crate::verb::Outcome;
use crate::verb::replays::{LoadFlags, rows, share, with_bar};

/// Replay page accesses through several tiers in virtual time, once for each policy
///
/// Each tier is a device of the Parametric I/O Model: READ:ALPHA:K[/K_W], the time of a read, the
/// cost of a write in reads, and its concurrency. Pages start in random order with the fastest tier
/// full. A page that moves is read and written like any other.
///
/// seconds are virtual, until the last request and the last move are done. Requests come from
/// --clients that each wait for their answer, or with --open at a fixed rate, as in the emulator of
/// the ReStore dissertation; then only seconds count, not response times. migrations are pages that
/// moved up. CPU is the processor time of this machine for decisions alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote tier replay --workload 5hf90,C --policy all
  cenote tier replay --workload A,B,C,D --capacity 3%,8% --capacity 12%,16% --policy tlru,temp
  cenote tier replay --workload uniform --tiers 80us:1:32/8,7000us:1:1 --capacity 10% --policy tlfu
  cenote tier replay requests.oracleGeneral --policy ideal,tlru,lrfu:half-life=2 --json
  cenote tier replay --workload 10hf90 --open 4 --policy all --plot tiers.svg
  cenote tier replay --workload zipf --policy all --report tiers.html")]
pub struct Args {
    /// Traces: `R|W page` lines, CSV, ARC or LIRS lists, oracleGeneral; plain, gzip or zstd
    #[arg(value_name = "TRACE", required_unless_present = "workload")]
    traces: Vec<PathBuf>,
    /// Generated loads: 5hf90, 10hf90, 10hf80, 20hf80, A, B, C, D, hot-shift, uniform, zipf, or any
    /// XhfY
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    workload: Vec<TierLoadKind>,
    /// Tiers from the fastest, each READ:ALPHA:K[/K_W] [default: the dissertation's three]
    #[arg(long, value_name = "SPEC", value_delimiter = ',')]
    tiers: Vec<TierSpec>,
    /// Capacities of the tiers above the slowest, in pages or percent of all; give it again for
    /// more [default: 3%,8%]
    #[arg(long, value_name = "LIST")]
    capacity: Vec<Capacities>,
    /// Policies with their options, or all
    #[arg(long, value_name = "LIST")]
    policy: List<PolicySpec>,
    #[command(flatten)]
    load: LoadArgs,
    /// Clients, each with one request at a time
    #[arg(long, value_name = "N", default_value_t = 32, conflicts_with = "open")]
    clients: u32,
    /// Microseconds between requests, answered or not
    #[arg(long, value_name = "US", value_parser = interval)]
    open: Option<f64>,
    /// Accesses for the measurement of CPU time; the first half warms up
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    cpu_ops: u64,
    /// Plot the runtimes to this file
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
    /// Pages of generated loads
    #[arg(long, value_name = "N", default_value_t = PAPER_PAGES)]
    pages: u64,
    #[command(flatten)]
    common: LoadFlags,
    /// Share of reads of generated loads
    #[arg(long, value_name = "SHARE", default_value = "50%", value_parser = share)]
    read_share: f64,
    /// How often zipf's ranks rotate through all pages during the load
    #[arg(long, value_name = "X", default_value_t = 0.1)]
    drift: f64,
}

/// Runs the replay and prints the rows.
pub fn run(args: &Args) -> Result<Outcome> {
    if let Some(plot) = &args.plot {
        svg::check_name(plot, &args.traces)?;
    }
    let _guard = args.page.checked(&args.traces)?;
    let config = args.config()?;
    let replay = with_bar(|control| tier_replay(&config, control))?;
    if let Some(path) = &args.plot {
        svg::draw(path, &replay.chart())?;
    }
    if let Some(path) = &args.page.report {
        report::write(path, &args.traces, &replay.page(Some(&command_line())))?;
    }
    if args.report.json {
        output::json(&replay)?;
    } else {
        output::line(replay.lines())?;
        output::line(rows(replay.table()))?;
    }
    Ok(Outcome::Done)
}

/// Microseconds between two requests.
fn interval(text: &str) -> Result<f64, String> {
    let us = text.parse().ok().filter(|us| (0.0..=1e9).contains(us));
    us.ok_or_else(|| "expected 0 to 1000000000 microseconds".to_owned())
}

impl Args {
    fn config(&self) -> Result<TierReplayConfig> {
        let mut config = TierReplayConfig::default();
        let traces = self.traces.iter().cloned().map(TierLoadKind::Trace);
        config.loads = self.workload.iter().cloned().chain(traces).collect();
        if !self.tiers.is_empty() {
            config.tiers.clone_from(&self.tiers);
        }
        config.capacities.clone_from(&self.capacity);
        config.policies.clone_from(&self.policy.0);
        config.arrivals = match self.open {
            Some(us) => Arrivals::Open { interval_ns: (us * 1e3).round() as u64 },
            None => Arrivals::Closed { clients: self.clients },
        };
        let load = &self.load;
        load.common.set(&mut config.load)?;
        config.load.pages = Some(load.pages);
        config.load.read_share = Some(load.read_share);
        config.load.drift = load.drift;
        config.cpu_ops = self.cpu_ops;
        Ok(config)
    }
}
