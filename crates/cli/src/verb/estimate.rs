//! `cenote estimate`: the memory and the bytes that a run will need, without running it.

use anyhow::Result;
use cenote_algo::Estimate;
use cenote_engine::EngineConfig;
use clap::Subcommand;
use serde::Serialize;

use crate::output::{self, size};
use crate::verb::Outcome;
use crate::verb::run::plan::PlanArgs;
use crate::verb::run::{
    betweenness, bfs, cdlp, dfs, kcore, lcc, mis, pagerank, reach, scc, sssp, triangles, walk, wcc,
};
use cenote::memory::peak_rss_bytes;

/// Tell the memory and the bytes that a run will need
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote estimate pagerank kron.cenote --iterations 20 --memory 10%")]
pub struct Args {
    #[command(subcommand)]
    algorithm: Algorithm,
}

/// The algorithms.
#[derive(Debug, Subcommand)]
enum Algorithm {
    /// Betweenness centrality from given sources
    #[command(after_help = betweenness::ESTIMATE_EXAMPLES)]
    Betweenness(EstimateOf<betweenness::Params>),
    /// Breadth-first search
    #[command(after_help = bfs::ESTIMATE_EXAMPLES)]
    Bfs(EstimateOf<bfs::Params>),
    /// Communities by label propagation (LDBC Graphalytics)
    #[command(after_help = cdlp::ESTIMATE_EXAMPLES)]
    Cdlp(EstimateOf<cdlp::Params>),
    /// Depth-first search
    #[command(after_help = dfs::ESTIMATE_EXAMPLES)]
    Dfs(EstimateOf<dfs::Params>),
    /// Core numbers, or the members of one k-core
    #[command(after_help = kcore::ESTIMATE_EXAMPLES)]
    Kcore(EstimateOf<kcore::Params>),
    /// Local clustering coefficient
    #[command(after_help = lcc::ESTIMATE_EXAMPLES)]
    Lcc(EstimateOf<lcc::Params>),
    /// A maximal independent set
    #[command(after_help = mis::ESTIMATE_EXAMPLES)]
    Mis(EstimateOf<mis::Params>),
    /// PageRank
    #[command(after_help = pagerank::ESTIMATE_EXAMPLES)]
    Pagerank(EstimateOf<pagerank::Params>),
    /// Whether vertices can be reached
    #[command(after_help = reach::ESTIMATE_EXAMPLES)]
    Reach(EstimateOf<reach::Params>),
    /// Strongly connected components
    #[command(after_help = scc::ESTIMATE_EXAMPLES)]
    Scc(EstimateOf<scc::Params>),
    /// Triangles
    #[command(after_help = triangles::ESTIMATE_EXAMPLES)]
    Triangles(EstimateOf<triangles::Params>),
    /// Random walks
    #[command(after_help = walk::ESTIMATE_EXAMPLES)]
    Walk(EstimateOf<walk::Params>),
    /// Shortest paths over weighted edges
    #[command(after_help = sssp::ESTIMATE_EXAMPLES)]
    Sssp(EstimateOf<sssp::Params>),
    /// Weakly connected components
    #[command(after_help = wcc::ESTIMATE_EXAMPLES)]
    Wcc(EstimateOf<wcc::Params>),
}

/// Flags of `cenote estimate` for one algorithm.
#[derive(Debug, clap::Args)]
pub struct EstimateOf<P: clap::Args> {
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub params: P,
}

/// Estimates.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.algorithm {
        Algorithm::Betweenness(args) => betweenness::estimate(args),
        Algorithm::Bfs(args) => bfs::estimate(args),
        Algorithm::Cdlp(args) => cdlp::estimate(args),
        Algorithm::Dfs(args) => dfs::estimate(args),
        Algorithm::Kcore(args) => kcore::estimate(args),
        Algorithm::Lcc(args) => lcc::estimate(args),
        Algorithm::Mis(args) => mis::estimate(args),
        Algorithm::Pagerank(args) => pagerank::estimate(args),
        Algorithm::Reach(args) => reach::estimate(args),
        Algorithm::Scc(args) => scc::estimate(args),
        Algorithm::Triangles(args) => triangles::estimate(args),
        Algorithm::Walk(args) => walk::estimate(args),
        Algorithm::Sssp(args) => sssp::estimate(args),
        Algorithm::Wcc(args) => wcc::estimate(args),
    }
}

/// Threads and what runs use of the program's code and this estimate does not.
const PROGRAM_MORE_BYTES: u64 = 2 << 20;

#[derive(Serialize)]
struct Report<'a> {
    algorithm: &'static str,
    memory_budget_bytes: u64,
    /// Memory of the process at its peak: what the run uses of its plan, and the program.
    memory_bytes: u64,
    /// The same, if as little is read as may be.
    memory_bytes_at_least: u64,
    /// The same, if all of the plan is used.
    memory_bytes_at_most: u64,
    /// What would just do: everything but cached pages and optional memory.
    memory_bytes_min: u64,
    /// What the program itself takes beside its budget.
    program_bytes: u64,
    #[serde(flatten)]
    estimate: &'a Estimate,
}

impl<'a> Report<'a> {
    fn of(algorithm: &'static str, config: &EngineConfig, estimate: &'a Estimate) -> Self {
        let plan = &estimate.memory;
        // The index, which this process has read too, is in the plan.
        let program_bytes = peak_rss_bytes().saturating_sub(plan.index_bytes) + PROGRAM_MORE_BYTES;
        Self {
            algorithm,
            memory_budget_bytes: config.memory_bytes,
            memory_bytes: estimate.used_bytes + program_bytes,
            memory_bytes_at_least: estimate.used_bytes_at_least + program_bytes,
            memory_bytes_at_most: plan.total_bytes() + program_bytes,
            memory_bytes_min: plan.index_bytes + plan.state_bytes + plan.buffer_bytes,
            program_bytes,
            estimate,
        }
    }
}

/// `about`, with its range where that is wider than a tenth.
fn ranged(about: u64, at_least: u64, at_most: u64) -> String {
    if at_least < about - about / 10 || at_most > about + about / 10 {
        format!("{}, {} to {}", size(about), size(at_least), size(at_most))
    } else {
        size(about)
    }
}

/// Prints an estimate, as JSON or for people.
pub fn print(
    algorithm: &'static str,
    plan: &PlanArgs,
    config: &EngineConfig,
    estimate: &Estimate,
) -> Result<Outcome> {
    let memory = &estimate.memory;
    let report = Report::of(algorithm, config, estimate);
    if plan.json {
        output::json(&report)?;
        return Ok(Outcome::Done);
    }
    let peak =
        ranged(report.memory_bytes, report.memory_bytes_at_least, report.memory_bytes_at_most);
    let (from, to) = (estimate.bytes_read_at_least, estimate.bytes_read_at_most);
    let read = ranged(estimate.bytes_read, from, to);
    output::facts(&[
        ("memory", format!("{peak} at the peak")),
        (
            "  of the budget",
            format!("{} of {}", size(memory.total_bytes()), size(report.memory_budget_bytes)),
        ),
        ("  vertex state", size(memory.state_bytes)),
        ("  page index", size(memory.index_bytes)),
        ("  I/O buffers", size(memory.buffer_bytes)),
        ("  optional", size(memory.scratch_bytes)),
        ("  cached pages", size(memory.cache_bytes)),
        ("  program", size(report.program_bytes)),
        ("budget", format!("{} at least", size(report.memory_bytes_min))),
        ("read", format!("{read}: {}", estimate.because)),
        ("device time", format!("{:.2} s", estimate.device_seconds)),
    ])?;
    Ok(Outcome::Done)
}
