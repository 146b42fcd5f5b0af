//! `cenote estimate`: estimates the memory and reads of a run, without running it.

use anyhow::Result;
use cenote::run::Estimate;
use clap::Subcommand;

use crate::cancel::Guard;
use crate::flags::with_budgets;
use crate::output::{self, count, size};
use crate::verb::Outcome;
use crate::verb::run::plan::PlanArgs;
use crate::verb::run::summary::bands_line;
use crate::verb::run::{
    Params, betweenness, bfs, cdlp, communities, components, degrees, dfs, hyperball, kcore, lcc,
    mis, msf, pagerank, ppr, reach, similar, sssp, triangles, walk,
};

/// Estimate the memory and the bytes that a run needs
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
    /// Degrees
    #[command(after_help = degrees::ESTIMATE_EXAMPLES)]
    Degrees(EstimateOf<degrees::Counted>),
    /// Depth-first search
    #[command(after_help = dfs::ESTIMATE_EXAMPLES)]
    Dfs(EstimateOf<dfs::Params>),
    /// Neighbourhood function and distance centralities
    #[command(after_help = hyperball::ESTIMATE_EXAMPLES)]
    Hyperball(EstimateOf<hyperball::Params>),
    /// Core numbers, or the members of one k-core
    #[command(after_help = kcore::ESTIMATE_EXAMPLES)]
    Kcore(EstimateOf<kcore::Params>),
    /// Local clustering coefficient
    #[command(after_help = lcc::ESTIMATE_EXAMPLES)]
    Lcc(EstimateOf<lcc::Params>),
    /// Communities by the Leiden algorithm
    #[command(after_help = communities::LEIDEN_ESTIMATE_EXAMPLES)]
    Leiden(EstimateOf<communities::Leiden>),
    /// Communities by the Louvain algorithm
    #[command(after_help = communities::LOUVAIN_ESTIMATE_EXAMPLES)]
    Louvain(EstimateOf<communities::Louvain>),
    /// A maximal independent set
    #[command(after_help = mis::ESTIMATE_EXAMPLES)]
    Mis(EstimateOf<mis::Params>),
    /// A minimum spanning forest
    #[command(after_help = msf::ESTIMATE_EXAMPLES)]
    Msf(EstimateOf<msf::Params>),
    /// PageRank
    #[command(after_help = pagerank::ESTIMATE_EXAMPLES)]
    Pagerank(EstimateOf<pagerank::Params>),
    /// Personalised PageRank of many seeds
    #[command(after_help = ppr::ESTIMATE_EXAMPLES)]
    Ppr(EstimateOf<ppr::Params>),
    /// Whether vertices can be reached
    #[command(after_help = reach::ESTIMATE_EXAMPLES)]
    Reach(EstimateOf<reach::Params>),
    /// Strongly connected components
    #[command(after_help = components::SCC_ESTIMATE_EXAMPLES)]
    Scc(EstimateOf<components::Strong>),
    /// Similarity by common neighbours
    #[command(after_help = similar::ESTIMATE_EXAMPLES)]
    Similar(EstimateOf<similar::Params>),
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
    #[command(after_help = components::WCC_ESTIMATE_EXAMPLES)]
    Wcc(EstimateOf<components::WeakAlone>),
}

/// Flags of `cenote estimate` for one algorithm.
#[derive(Debug, clap::Args)]
struct EstimateOf<P: clap::Args> {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    params: P,
}

/// Prints the estimate.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.algorithm {
        Algorithm::Betweenness(args) => args.estimate(&args.params),
        Algorithm::Bfs(args) => args.estimate(&args.params),
        Algorithm::Cdlp(args) => args.estimate(&args.params),
        Algorithm::Degrees(args) => args.estimate(&args.params),
        Algorithm::Dfs(args) => match args.params.order {
            dfs::Order::Pseudo => args.estimate(&dfs::Pseudo(&args.params)),
            dfs::Order::Lexicographic => args.estimate(&dfs::Lexicographic(&args.params)),
        },
        Algorithm::Hyperball(args) => args.estimate(&args.params),
        Algorithm::Kcore(args) => args.estimate(&args.params),
        Algorithm::Lcc(args) => args.estimate(&args.params),
        Algorithm::Leiden(args) => args.estimate(&args.params),
        Algorithm::Louvain(args) => args.estimate(&args.params),
        Algorithm::Mis(args) => args.estimate(&args.params),
        Algorithm::Msf(args) => args.estimate(&args.params),
        Algorithm::Pagerank(args) => args.estimate(&args.params),
        Algorithm::Ppr(args) => args.estimate(&args.params),
        Algorithm::Reach(args) => args.estimate(&args.params),
        Algorithm::Scc(args) => args.estimate(&args.params),
        Algorithm::Similar(args) => args.estimate(&args.params),
        Algorithm::Triangles(args) => args.estimate(&args.params),
        Algorithm::Walk(args) => args.estimate(&args.params),
        Algorithm::Sssp(args) => args.estimate(&args.params),
        Algorithm::Wcc(args) => args.estimate(&args.params),
    }
}

impl<P: clap::Args> EstimateOf<P> {
    /// Estimates a run with these parameters.
    fn estimate(&self, params: &impl Params) -> Result<Outcome> {
        let graph = self.plan.open_to_estimate()?;
        let _guard = params.out().map(Guard::new);
        let mut run = self.plan.apply(params.start(&graph));
        if let Some(path) = params.out() {
            run = run.out(path);
        }
        let estimate = run.estimate()?;
        if self.plan.json {
            output::json(&estimate)?;
        } else {
            print(&estimate)?;
        }
        Ok(Outcome::Done)
    }
}

/// `about`, with its range if that is wider than a tenth.
fn ranged(about: u64, at_least: u64, at_most: u64) -> String {
    if at_least < about - about / 10 || at_most > about + about / 10 {
        format!("{}, {} to {}", size(about), size(at_least), size(at_most))
    } else {
        size(about)
    }
}

/// Prints an estimate as text.
fn print(estimate: &Estimate) -> Result<()> {
    let (plan, memory) = (&estimate.plan, &estimate.plan.memory);
    let peak = ranged(
        estimate.memory_bytes,
        estimate.memory_bytes_at_least,
        estimate.memory_bytes_at_most,
    );
    let read = ranged(plan.bytes_read, plan.bytes_read_at_least, plan.bytes_read_at_most);
    let of = format!("{} of {}", size(memory.total_bytes()), size(estimate.memory_budget_bytes));
    let mut facts = vec![
        ("memory", format!("{peak} at the peak")),
        ("  of the budget", of),
        ("  vertex state", size(memory.state_bytes)),
        ("  page index", size(memory.index_bytes)),
        ("  I/O buffers", size(memory.buffer_bytes)),
        ("  optional", size(memory.scratch_bytes)),
        ("  cached pages", size(memory.cache_bytes)),
        ("  delta runs", size(memory.run_bytes)),
        ("  unpacked pages", size(memory.unpacked_bytes)),
        ("  program", size(estimate.program_bytes)),
        ("budget", format!("{} at least", size(estimate.memory_bytes_min))),
        ("read", format!("{read}: {}", with_budgets(&plan.because))),
        ("requests", format!("about {}", count(plan.read_requests))),
        ("device time", format!("{:.2} s", plan.device_seconds)),
    ];
    if let Some(bands) = &plan.bands {
        facts.push(("written", size(plan.bytes_written)));
        facts.push(("bands", bands_line(bands)));
        facts.push(("state file", size(bands.file_bytes)));
    }
    output::facts(&facts)
}
