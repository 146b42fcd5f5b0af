//! `cenote run`: runs an algorithm on a graph, within a memory budget.
//!
//! - [`betweenness`], [`bfs`], [`cdlp`], [`communities`], [`components`], [`degrees`], [`dfs`],
//!   [`hyperball`], [`kcore`], [`lcc`], [`mis`], [`msf`], [`pagerank`], [`ppr`], [`reach`],
//!   [`similar`], [`sssp`], [`triangles`], [`walk`]: flags and printed result of each algorithm
//! - [`keys`]: sources and targets by the user's ids
//! - [`straight`]: components and degrees of edges that are not imported
//! - [`plan`]: flags that all runs share, also with `cenote estimate`
//! - [`summary`]: prints the statistics of a run

pub mod betweenness;
pub mod bfs;
pub mod cdlp;
pub mod communities;
pub mod components;
pub mod degrees;
pub mod dfs;
pub mod hyperball;
pub mod kcore;
mod keys;
pub mod lcc;
pub mod mis;
pub mod msf;
pub mod pagerank;
pub mod plan;
pub mod ppr;
pub mod reach;
pub mod similar;
pub mod sssp;
mod straight;
pub mod summary;
pub mod triangles;
pub mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use cenote::Graph;
use cenote::run::{Algorithm, Run, Stats};
use clap::Subcommand;

use crate::args::{ReportArgs, command_line};
use crate::cancel::Guard;
use crate::output;
use crate::progress::{self, Progress};
use crate::verb::Outcome;
use plan::PlanArgs;

/// A name and a value to print.
pub type Line = (&'static str, String);

/// Run an algorithm on a graph, within a memory budget
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote run bfs kron.cenote --memory 256MiB
  cenote run wcc kron.cenote --memory 10% --explain
  cenote run wcc pairs.parquet --out components.parquet
  cenote run pagerank kron.cenote --iterations 20 --out ranks.parquet
  cenote run bfs kron.cenote --memory 256MiB --report bfs.html")]
pub struct Args {
    #[command(subcommand)]
    algorithm: Kind,
}

/// The algorithms.
#[derive(Debug, Subcommand)]
enum Kind {
    /// Betweenness centrality from given sources
    #[command(after_help = betweenness::RUN_EXAMPLES)]
    Betweenness(RunOf<betweenness::Params>),
    /// Breadth-first search: levels and parents
    #[command(after_help = bfs::RUN_EXAMPLES)]
    Bfs(RunOf<bfs::Params>),
    /// Communities by label propagation (LDBC Graphalytics)
    #[command(after_help = cdlp::RUN_EXAMPLES)]
    Cdlp(RunOf<cdlp::Params>),
    /// Degrees: the number of edges of every vertex
    ///
    /// Of a graph file, or straight of edges in files of every format of `cenote import`, where
    /// repeated edges count: one pass, and nothing is written to disk. Then the ids are in memory,
    /// 24 to 40 bytes for each integer; a percentage of --memory is of the machine's.
    #[command(after_help = straight::DEGREES_EXAMPLES)]
    Degrees(straight::DegreesArgs),
    /// Depth-first search: which vertices can be reached, or the lexicographic order
    #[command(after_help = dfs::RUN_EXAMPLES)]
    Dfs(RunOf<dfs::Params>),
    /// Neighbourhood function, effective diameter and distance centralities, estimated
    #[command(after_help = hyperball::RUN_EXAMPLES)]
    Hyperball(RunOf<hyperball::Params>),
    /// Core numbers, or the members of one k-core
    #[command(after_help = kcore::RUN_EXAMPLES)]
    Kcore(RunOf<kcore::Params>),
    /// Local clustering coefficient of every vertex
    #[command(after_help = lcc::RUN_EXAMPLES)]
    Lcc(RunOf<lcc::Params>),
    /// Communities of high modularity by the Leiden algorithm: each of them is connected
    #[command(after_help = communities::LEIDEN_RUN_EXAMPLES)]
    Leiden(RunOf<communities::Leiden>),
    /// Communities of high modularity by the Louvain algorithm
    #[command(after_help = communities::LOUVAIN_RUN_EXAMPLES)]
    Louvain(RunOf<communities::Louvain>),
    /// A maximal independent set
    #[command(after_help = mis::RUN_EXAMPLES)]
    Mis(RunOf<mis::Params>),
    /// A minimum spanning forest
    #[command(after_help = msf::RUN_EXAMPLES)]
    Msf(RunOf<msf::Params>),
    /// PageRank by power iteration
    #[command(after_help = pagerank::RUN_EXAMPLES)]
    Pagerank(RunOf<pagerank::Params>),
    /// Personalised PageRank of many seeds: the vertices of highest rank of each
    #[command(after_help = ppr::RUN_EXAMPLES)]
    Ppr(RunOf<ppr::Params>),
    /// Whether vertices can be reached
    #[command(after_help = reach::RUN_EXAMPLES)]
    Reach(RunOf<reach::Params>),
    /// Strongly connected components
    #[command(after_help = components::SCC_RUN_EXAMPLES)]
    Scc(RunOf<components::Strong>),
    /// Similarity by common neighbours: of pairs, or the most similar vertices
    #[command(after_help = similar::RUN_EXAMPLES)]
    Similar(RunOf<similar::Params>),
    /// Triangles of the graph, and of every vertex
    #[command(after_help = triangles::RUN_EXAMPLES)]
    Triangles(RunOf<triangles::Params>),
    /// Random walks: uniform, node2vec, with restart
    #[command(after_help = walk::RUN_EXAMPLES)]
    Walk(walk::Args),
    /// Shortest paths over weighted edges, from one source or several
    #[command(after_help = sssp::RUN_EXAMPLES)]
    Sssp(RunOf<sssp::Params>),
    /// Weakly connected components
    ///
    /// Of a graph file, or straight of edges in files of every format of `cenote import`: one pass,
    /// and nothing is written to disk. Then the ids are in memory, 20 to 24 bytes for each integer;
    /// a percentage of --memory is of the machine's.
    #[command(after_help = straight::WCC_EXAMPLES)]
    Wcc(straight::Args),
}

/// Flags of `cenote run` for one algorithm.
#[derive(Debug, clap::Args)]
pub struct RunOf<P: clap::Args> {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    params: P,
    #[command(flatten)]
    output: OutputArgs,
}

/// Flags for the output.
#[derive(Debug, clap::Args)]
pub struct OutputArgs {
    /// Write the values of all vertices to FILE.parquet, FILE.csv or FILE.npy, keyed by your ids
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Check the result with a serial algorithm (takes memory beyond the budget, and time)
    #[arg(long)]
    verify: bool,
    /// Show each step: its frontier, pages, requests and time
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    page: ReportArgs,
}

impl OutputArgs {
    /// The first given flag that needs a graph.
    fn for_graphs(&self) -> Option<&'static str> {
        let explain = self.explain.then_some("--explain");
        let report = self.page.report.is_some().then_some("--report");
        explain.or(self.verify.then_some("--verify")).or(report)
    }
}

/// The flags of an algorithm, and how its result is printed.
pub trait Params {
    type Algorithm: Algorithm;

    /// Creates a run and sets the flags' values.
    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Self::Algorithm>;

    /// The output file, if an estimate counts its memory.
    fn out(&self) -> Option<&Path> {
        None
    }

    /// The lines to print, and whether the result answers no.
    fn answer(
        &self,
        found: &<Self::Algorithm as Algorithm>::Summary,
        stats: &Stats,
    ) -> (Vec<Line>, Outcome);
}

/// Runs the algorithm.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.algorithm {
        Kind::Betweenness(args) => args.run(),
        Kind::Bfs(args) => args.run(),
        Kind::Cdlp(args) => args.run(),
        Kind::Degrees(args) => straight::degrees(args),
        Kind::Dfs(args) => dfs::run(args),
        Kind::Hyperball(args) => args.run(),
        Kind::Kcore(args) => args.run(),
        Kind::Lcc(args) => args.run(),
        Kind::Leiden(args) => args.run(),
        Kind::Louvain(args) => args.run(),
        Kind::Mis(args) => args.run(),
        Kind::Msf(args) => args.run(),
        Kind::Pagerank(args) => args.run(),
        Kind::Ppr(args) => args.run(),
        Kind::Reach(args) => args.run(),
        Kind::Scc(args) => args.run(),
        Kind::Similar(args) => args.run(),
        Kind::Triangles(args) => args.run(),
        Kind::Walk(args) => walk::run(args),
        Kind::Sssp(args) => args.run(),
        Kind::Wcc(args) => straight::wcc(args),
    }
}

impl<P: clap::Args + Params> RunOf<P> {
    fn run(&self) -> Result<Outcome> {
        execute(&self.plan, &self.params, &self.output)
    }
}

/// Runs an algorithm and prints result and statistics.
fn execute(plan: &PlanArgs, params: &impl Params, output: &OutputArgs) -> Result<Outcome> {
    let graph = plan.open()?;
    let files = [output.out.as_deref(), output.page.report.as_deref()];
    let _guards = files.map(|file| file.map(Guard::new));
    let mut run = plan.apply(params.start(&graph)).explain(output.explain).verify(output.verify);
    if let Some(path) = &output.out {
        run = run.out(path);
    }
    let bar = progress::is_shown().then(|| Arc::new(Progress::bytes("running")));
    if let Some(bar) = &bar {
        let bar = Arc::clone(bar);
        run = run.progress(move |now| bar.set(now.bytes_read, now.bytes_expected));
    }
    if let Some(path) = &output.page.report {
        run = run.report(path).command(command_line());
    }
    let answer = run.run()?;
    // Its closure lives as long as the answer.
    bar.as_deref().inspect(|bar| bar.end());
    let report = answer.report()?;
    let (lines, outcome) = params.answer(&report.result, report.stats);
    match plan.json {
        true => output::json(&report)?,
        false => summary::print(report.stats, lines)?,
    }
    drop(answer);
    graph.close()?;
    Ok(outcome)
}
