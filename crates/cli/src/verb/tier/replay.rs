//! `cenote tier replay`: page loads through tiers in virtual time, policies side by side.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use cenote_tier::placement::Placement;
use cenote_tier::policy::{Context, Oracle, PolicySpec};
use cenote_tier::replay::{Arrivals, Decisions, Replay, Report as Outcomes};
use cenote_workload::page::trace::TraceFormat;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::grid::{Capacities, Policies, Tiers};
use super::load::{TierLoad, TierLoadConfig, TierLoadKind};
use super::row::{Case, Row};
use super::{plot, table};
use crate::args::Report;
use crate::output::{self, count};
use crate::progress::{Progress, Unit};
use crate::replay::load::LoadConfig;
use crate::svg;
use crate::verb::Outcome;
use crate::verb::pool::share;
use cenote::memory::MemorySize;

/// Pages and accesses of the dissertation's evaluation (6.6.1).
const PAGES: u64 = 10_000;
const OPS: u64 = 1_000_000;

/// Accesses between two looks at the processor's clock.
const CHUNK: usize = 4096;

/// Replay page accesses through several tiers in virtual time, once for each policy
///
/// Each tier is a device by the Parametric I/O Model: READ:ALPHA:K[/K_W], the time of a read, the
/// cost of a write in reads, and how many it does at once. Pages begin in a random order, the
/// fastest tier full. A page that moves is read and written like any other.
///
/// seconds are virtual: until the last request and the last move are done. Requests come from
/// --clients that each wait for their answer, or with --open at a fixed pace whatever happens, as
/// in the emulator of the ReStore dissertation; then only seconds count, not response times.
/// migrations are pages that moved up. CPU is processor time of this machine for decisions alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote tier replay --workload 5hf90,C --policy all
  cenote tier replay --workload A,B,C,D --capacity 3%,8% --capacity 12%,16% --policy tlru,temp
  cenote tier replay --workload uniform --tiers 80us:1:32/8,7000us:1:1 --capacity 10% --policy tlfu
  cenote tier replay requests.oracleGeneral --policy ideal,tlru,lrfu:half-life=2 --json
  cenote tier replay --workload 10hf90 --open 4 --policy all --plot tiers.svg")]
pub struct Args {
    /// Traces: `R|W page` lines, CSV, ARC or LIRS lists, oracleGeneral; plain, gzip or zstd
    #[arg(value_name = "TRACE", required_unless_present = "workload")]
    traces: Vec<PathBuf>,
    /// Made loads: 5hf90, 10hf90, 10hf80, 20hf80, A, B, C, D, hot-shift, uniform, zipf, or any XhfY
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    workload: Vec<TierLoadKind>,
    /// Tiers from the fastest, each READ:ALPHA:K[/K_W] [default: the dissertation's three]
    #[arg(long, value_name = "SPEC")]
    tiers: Option<Tiers>,
    /// What the tiers above the slowest hold, in pages or percent of them; give it again for more
    /// [default: 3%,8%]
    #[arg(long, value_name = "LIST")]
    capacity: Vec<Capacities>,
    /// Policies with their options, or all
    #[arg(long, value_name = "LIST")]
    policy: Policies,
    #[command(flatten)]
    load: LoadArgs,
    /// Clients, each waiting for its answer before it asks again
    #[arg(long, value_name = "N", default_value_t = 32, conflicts_with = "open")]
    clients: u32,
    /// A request every so many microseconds, answered or not
    #[arg(long, value_name = "US")]
    open: Option<f64>,
    /// Accesses by which CPU time is measured: the first half warms up
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    cpu_ops: u64,
    /// Draw the runtimes into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    report: Report,
}

/// What is replayed.
#[derive(Debug, clap::Args)]
struct LoadArgs {
    /// Pages of made loads
    #[arg(long, value_name = "N", default_value_t = PAGES)]
    pages: u64,
    /// Accesses, at most those of a trace [default: 1000000 of made loads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    ops: Option<u64>,
    /// The same seed gives the same load and the same first placement
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Share of reads of made loads
    #[arg(long, value_name = "SHARE", default_value = "50%", value_parser = share)]
    read_share: f64,
    /// Exponent of zipf
    #[arg(long, value_name = "X", default_value_t = 0.99)]
    skew: f64,
    /// How often zipf's ranks go round all pages in the course of the load
    #[arg(long, value_name = "X", default_value_t = 0.1)]
    drift: f64,
    /// Bytes of a page, for traces of byte addresses
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    page_bytes: MemorySize,
    /// How the traces are written [default: by their names]
    #[arg(long, value_name = "FORMAT")]
    format: Option<TraceFormat>,
}

/// All that was found.
#[derive(Serialize)]
struct Summary<'a> {
    tiers: String,
    clients: Option<u32>,
    interval_us: Option<f64>,
    seed: u64,
    rows: &'a [Row],
}

/// Runs all combinations and reports.
pub fn run(args: &Args) -> Result<Outcome> {
    if let Some(plot) = &args.plot {
        svg::check_name(plot)?;
    }
    let rows = args.rows()?;
    if let Some(path) = &args.plot {
        plot::draw(&rows, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.report.json {
        output::json(&Summary {
            tiers: args.tiers().to_string(),
            clients: args.open.is_none().then_some(args.clients),
            interval_us: args.open,
            seed: args.load.seed,
            rows: &rows,
        })?;
    } else {
        output::line(args.title(&rows))?;
        output::line(table::table(&rows))?;
    }
    Ok(Outcome::Done)
}

/// One load on one choice of capacities.
struct Setting<'a> {
    load: &'a TierLoad,
    tiers: &'a Tiers,
    placement: &'a Placement,
    oracle: Option<&'a Oracle>,
    seed: u64,
}

impl Setting<'_> {
    /// The policy, and where pages lie before its first decision.
    fn begin(
        &self,
        spec: &PolicySpec,
    ) -> Result<(Placement, Box<dyn cenote_tier::policy::Policy>)> {
        let Self { tiers, placement, oracle, seed, .. } = *self;
        let context = Context { tiers: &tiers.0, placement, seed, oracle };
        let initial = spec.initial(&context)?;
        let policy = spec.build(&Context { placement: &initial, ..context })?;
        Ok((initial, policy))
    }

    fn replay(&self, spec: &PolicySpec, arrivals: Arrivals, bar: &Progress) -> Result<Outcomes> {
        let (placement, policy) = self.begin(spec)?;
        let mut replay = Replay::new(&self.tiers.0, placement, policy, arrivals)?;
        let mut done = 0u64;
        self.load.for_each(|request| {
            done += 1;
            if done.is_multiple_of(1 << 12) {
                bar.advance(1 << 12);
            }
            replay.push(request)?;
            Ok(true)
        })?;
        Ok(replay.finish())
    }

    /// Processor time of one decision, in microseconds, over the second half of `most` accesses.
    fn cpu_us(&self, spec: &PolicySpec, most: u64) -> Result<f64> {
        let (placement, policy) = self.begin(spec)?;
        let mut decisions = Decisions::new(&self.tiers.0, placement, policy);
        let most = most.min(self.load.ops);
        let (mut done, mut timed, mut ns) = (0u64, 0u64, 0u64);
        let mut chunk = Vec::with_capacity(CHUNK);
        self.load.for_each(|request| {
            chunk.push(request);
            done += 1;
            if chunk.len() == CHUNK || done == most {
                let start = cpu_ns();
                for request in chunk.drain(..) {
                    decisions.push(request)?;
                }
                if done > most / 2 {
                    timed += CHUNK.min(done as usize) as u64;
                    ns += cpu_ns() - start;
                }
            }
            Ok(done < most)
        })?;
        Ok(ns as f64 / 1e3 / timed.max(1) as f64)
    }
}

/// Processor time of this thread.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Args {
    fn tiers(&self) -> Tiers {
        self.tiers.clone().unwrap_or_else(|| Tiers(cenote_tier::spec::TierSpec::text().to_vec()))
    }

    fn arrivals(&self) -> Result<Arrivals> {
        let Some(us) = self.open else { return Ok(Arrivals::Closed { clients: self.clients }) };
        ensure!((0.0..=1e9).contains(&us), "--open {us}: expected 0 to 1000000000 microseconds");
        Ok(Arrivals::Open { interval_ns: (us * 1e3).round() as u64 })
    }

    fn loads(&self) -> Result<Vec<TierLoad>> {
        let LoadArgs { pages, ops, seed, read_share, skew, drift, page_bytes, format } = self.load;
        let MemorySize::Bytes(page_bytes) = page_bytes else {
            bail!("--page-bytes {page_bytes}: expected a size such as 4096 or 16KiB");
        };
        let load = LoadConfig {
            pages,
            ops,
            ops_default: OPS,
            seed,
            read_share: Some(read_share),
            skew,
            warehouses: None,
            page_bytes,
            format,
            keep_numbers: false,
        };
        let config = TierLoadConfig { load, drift };
        let traces = self.traces.iter().cloned().map(TierLoadKind::Trace);
        let kinds = self.workload.iter().cloned().chain(traces);
        let loads: Result<Vec<TierLoad>> =
            kinds.map(|kind| TierLoad::survey(kind, config.clone())).collect();
        let loads = loads?;
        for (place, load) in loads.iter().enumerate() {
            let again = loads[..place].iter().any(|other| other.name == load.name);
            ensure!(!again, "two loads are called {}: replay them in two runs", load.name);
        }
        Ok(loads)
    }

    /// Everything is run; whatever can be wrong with the options is found first.
    fn rows(&self) -> Result<Vec<Row>> {
        let (tiers, arrivals, loads) = (self.tiers(), self.arrivals()?, self.loads()?);
        let capacities = if self.capacity.is_empty() {
            vec!["3%,8%".parse().map_err(anyhow::Error::msg)?]
        } else {
            self.capacity.clone()
        };
        let mut placements = Vec::new();
        for load in &loads {
            for capacity in &capacities {
                let pages = capacity.pages(tiers.0.len(), load.pages.into())?;
                placements.push((load, capacity, pages));
            }
        }
        let total: u64 = placements.iter().map(|(load, ..)| load.ops).sum();
        let total = total * self.policy.0.len() as u64;
        let bar = Progress::new("replay", Some(total), Unit::Items);
        let mut rows = Vec::new();
        for (load, capacity, pages) in placements {
            let placement = Placement::shuffled(load.pages, &pages, self.load.seed)?;
            let wants_oracle = self.policy.0.iter().any(PolicySpec::wants_oracle);
            let oracle = if wants_oracle { Some(load.oracle()?) } else { None };
            let setting = Setting {
                load,
                tiers: &tiers,
                placement: &placement,
                oracle: oracle.as_ref(),
                seed: self.load.seed,
            };
            for policy in &self.policy.0 {
                rows.push(self.row(&setting, capacity, policy, arrivals, &bar)?);
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        setting: &Setting<'_>,
        capacity: &Capacities,
        policy: &PolicySpec,
        arrivals: Arrivals,
        bar: &Progress,
    ) -> Result<Row> {
        let report = setting.replay(policy, arrivals, bar)?;
        let cpu_us = if self.cpu_ops == 0 { 0.0 } else { setting.cpu_us(policy, self.cpu_ops)? };
        let case = Case {
            workload: setting.load.name.clone(),
            policy: policy.to_string(),
            capacity: capacity.to_string(),
            pages: setting.load.pages,
            seed: self.load.seed,
        };
        Ok(Row::new(case, &report, cpu_us))
    }

    /// The tiers, and a line for each load.
    fn title(&self, rows: &[Row]) -> String {
        let arrivals = match self.open {
            Some(us) => format!("a request every {us} us"),
            None => format!("{} clients", self.clients),
        };
        let tiers = self.tiers();
        let mut lines = vec![format!("tiers {tiers}; {arrivals}; seed {}", self.load.seed)];
        for row in rows {
            let (ops, pages) = (count(row.ops), count(row.pages.into()));
            let line = format!("{}: {ops} accesses to {pages} pages", row.workload);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("\n")
    }
}
