//! `cenote run bfs`.

use anyhow::Result;
use cenote_algo::bfs::{self, Bfs, BfsConfig};
use cenote_engine::{EngineConfig, Graph};
use serde::Serialize;

use super::RunOf;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::graph_file::{JsonId, vertex_of};
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run bfs kron.cenote --memory 256MiB
  cenote run bfs debian.cenote --source bash --parents --out levels.csv";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate bfs kron.cenote --memory 256MiB";

/// What is searched for.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Where the search starts, by your id [default: the vertex of largest degree]
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Find parents too: the smallest neighbour on the level before
    #[arg(long)]
    parents: bool,
}

impl Params {
    fn config(&self, graph: &Graph) -> Result<BfsConfig> {
        let source = match &self.source {
            Some(id) => Some(vertex_of(graph, &graph.ids()?, id)?),
            None => None,
        };
        Ok(BfsConfig { source, parents: self.parents })
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    source: JsonId,
    source_chosen: bool,
    reached: u64,
    depth: u32,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let bfs_config = args.params.config(&graph)?;
    let stopwatch = Stopwatch::start();
    let bfs = bfs::run(&graph, config.clone(), &bfs_config)?;
    let source = graph.ids()?.id_of(bfs.source)?;
    let answer = Answer {
        source: JsonId(source.clone()),
        source_chosen: bfs_config.source.is_none(),
        reached: bfs.reached,
        depth: bfs.depth,
    };
    let mut summary = stopwatch.stop("bfs", &graph, &config, &bfs.run, bfs.run.stats.steps, answer);
    if args.output.verify {
        bfs::verify(&graph, &bfs)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        result_file::write(path, &graph, &columns(&bfs))?;
    }
    let chosen = if bfs_config.source.is_none() { ", the vertex of largest degree" } else { "" };
    let lines = vec![
        ("bfs", format!("from {source}{chosen}")),
        ("reached", format!("{} of {} vertices", count(bfs.reached), count(summary.vertices))),
        ("depth", count(u64::from(bfs.depth))),
    ];
    summary.print(args.plan.json, lines)?;
    Ok(Outcome::Done)
}

fn columns(bfs: &Bfs) -> Vec<Column<'_>> {
    let mut columns = vec![Column::count("level", |v| bfs.level(v).map(u64::from))];
    if bfs.has_parents() {
        columns.push(Column::vertex("parent", |v| bfs.parent(v)));
    }
    columns
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config): (_, EngineConfig) = args.plan.open(false)?;
    let bfs_config = args.params.config(&graph)?;
    estimate::print("bfs", &args.plan, &config, &bfs::estimate(&graph, &config, &bfs_config)?)
}
