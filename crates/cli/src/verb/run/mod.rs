//! `cenote run`: an algorithm on a graph, within a memory budget.
//!
//! - [`betweenness`], [`bfs`], [`cdlp`], [`dfs`], [`kcore`], [`lcc`], [`mis`], [`pagerank`],
//!   [`reach`], [`scc`], [`triangles`], [`walk`], [`wcc`]: one file per algorithm: its flags, its
//!   result
//! - [`groups`]: components by the smallest of the user's ids in them
//! - [`keys`]: sources and targets by the user's ids
//! - [`plan`]: the flags that say how a run is to be done; shared with `cenote estimate`
//! - [`summary`]: what a run reports
//! - [`result_file`]: the answer of every vertex, to Parquet, CSV or npy
//! - [`corpus_file`]: walks, to text, Parquet or npy

pub mod betweenness;
pub mod bfs;
pub mod cdlp;
mod corpus_file;
pub mod dfs;
mod groups;
pub mod kcore;
mod keys;
pub mod lcc;
pub mod mis;
pub mod pagerank;
pub mod plan;
pub mod reach;
mod result_file;
pub mod scc;
pub mod sssp;
pub mod summary;
pub mod triangles;
pub mod walk;
pub mod wcc;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use cenote_engine::{EngineConfig, Graph};
use clap::Subcommand;

use crate::verb::Outcome;
use plan::PlanArgs;

/// Run an algorithm on a graph, within a memory budget
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote run bfs kron.cenote --memory 256MiB
  cenote run wcc kron.cenote --memory 10% --explain
  cenote run pagerank kron.cenote --iterations 20 --out ranks.parquet")]
pub struct Args {
    #[command(subcommand)]
    algorithm: Algorithm,
}

/// The algorithms.
#[derive(Debug, Subcommand)]
enum Algorithm {
    /// Betweenness centrality from given sources
    #[command(after_help = betweenness::RUN_EXAMPLES)]
    Betweenness(RunOf<betweenness::Params>),
    /// Breadth-first search: levels and parents
    #[command(after_help = bfs::RUN_EXAMPLES)]
    Bfs(RunOf<bfs::Params>),
    /// Communities by label propagation (LDBC Graphalytics)
    #[command(after_help = cdlp::RUN_EXAMPLES)]
    Cdlp(RunOf<cdlp::Params>),
    /// Depth-first search: what can be reached, or the order of the serial search
    #[command(after_help = dfs::RUN_EXAMPLES)]
    Dfs(RunOf<dfs::Params>),
    /// Core numbers, or the members of one k-core
    #[command(after_help = kcore::RUN_EXAMPLES)]
    Kcore(RunOf<kcore::Params>),
    /// Local clustering coefficient of every vertex
    #[command(after_help = lcc::RUN_EXAMPLES)]
    Lcc(RunOf<lcc::Params>),
    /// A maximal independent set
    #[command(after_help = mis::RUN_EXAMPLES)]
    Mis(RunOf<mis::Params>),
    /// PageRank by power iteration
    #[command(after_help = pagerank::RUN_EXAMPLES)]
    Pagerank(RunOf<pagerank::Params>),
    /// Whether vertices can be reached
    #[command(after_help = reach::RUN_EXAMPLES)]
    Reach(RunOf<reach::Params>),
    /// Strongly connected components
    #[command(after_help = scc::RUN_EXAMPLES)]
    Scc(RunOf<scc::Params>),
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
    #[command(after_help = wcc::RUN_EXAMPLES)]
    Wcc(RunOf<wcc::Params>),
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

impl<P: clap::Args> RunOf<P> {
    /// Opens the graph and finds out how to run on it; refuses an output that could not be
    /// written before anything runs.
    fn open(&self) -> Result<(Arc<Graph>, EngineConfig)> {
        let opened = self.plan.open(self.output.explain)?;
        if let Some(path) = &self.output.out {
            result_file::check(path, &opened.0)?;
        }
        Ok(opened)
    }
}

/// What is done with the answer.
#[derive(Debug, clap::Args)]
pub struct OutputArgs {
    /// Write the answer of every vertex to FILE.parquet, FILE.csv or FILE.npy, keyed by your ids
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Check the answer by a plain serial algorithm (takes memory beyond the budget, and time)
    #[arg(long)]
    verify: bool,
    /// Show each step: what it wanted, what it read, what it took
    #[arg(long)]
    explain: bool,
}

/// Runs it.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.algorithm {
        Algorithm::Betweenness(run) => betweenness::run(run),
        Algorithm::Bfs(run) => bfs::run(run),
        Algorithm::Cdlp(run) => cdlp::run(run),
        Algorithm::Dfs(run) => dfs::run(run),
        Algorithm::Kcore(run) => kcore::run(run),
        Algorithm::Lcc(run) => lcc::run(run),
        Algorithm::Mis(run) => mis::run(run),
        Algorithm::Pagerank(run) => pagerank::run(run),
        Algorithm::Reach(run) => reach::run(run),
        Algorithm::Scc(run) => scc::run(run),
        Algorithm::Triangles(run) => triangles::run(run),
        Algorithm::Walk(run) => walk::run(run),
        Algorithm::Sssp(run) => sssp::run(run),
        Algorithm::Wcc(run) => wcc::run(run),
    }
}
