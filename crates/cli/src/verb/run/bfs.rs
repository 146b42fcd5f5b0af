//! `cenote run bfs`.

use anyhow::Result;
use cenote_algo::bfs::{self, Bfs, BfsConfig};
use cenote_engine::{EngineConfig, Graph, VertexId};
use serde::Serialize;

use super::RunOf;
use super::keys::{self, Sources, Target, Targets};
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::graph_file::JsonId;
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run bfs kron.cenote --memory 256MiB
  cenote run bfs debian.cenote --source bash --parents --out levels.csv
  cenote run bfs debian.cenote --source bash --target libc6 libtinfo6 --parents --json

Exit status 1 where a target cannot be reached.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate bfs kron.cenote --memory 256MiB";

/// What is searched for.
#[derive(Debug, clap::Args)]
pub struct Params {
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    targets: Targets,
    /// Find parents too: the smallest neighbour on the level before
    #[arg(long)]
    parents: bool,
}

impl Params {
    fn config(&self, graph: &Graph) -> Result<BfsConfig> {
        let sources = self.sources.vertices(graph)?;
        Ok(BfsConfig { sources, targets: self.targets.vertices(graph)?, parents: self.parents })
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    /// The first of them.
    source: JsonId,
    sources: u64,
    source_chosen: bool,
    reached: u64,
    depth: u32,
    /// Whether all targets were reached, and nothing behind the last was looked at.
    ended_early: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<Target>,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let bfs_config = args.params.config(&graph)?;
    let stopwatch = Stopwatch::start();
    let bfs = bfs::run(&graph, config.clone(), &bfs_config)?;
    let source = graph.ids()?.id_of(bfs_config.sources[0])?;
    let chosen = args.params.sources.is_default();
    let answer = Answer {
        source: JsonId(source.clone()),
        sources: bfs.sources.len() as u64,
        source_chosen: chosen,
        reached: bfs.reached,
        depth: bfs.depth,
        ended_early: bfs.ended_early,
        targets: targets(&graph, &bfs, &bfs_config.targets)?,
    };
    let mut summary = stopwatch.stop("bfs", &graph, &config, &bfs.run, bfs.run.stats.steps, answer);
    if args.output.verify {
        bfs::verify(&graph, &bfs)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        result_file::write(path, &graph, &columns(&bfs))?;
    }
    let mut from = format!("from {source}");
    match bfs.sources.len() as u64 - 1 {
        0 if chosen => from += ", the vertex of largest degree",
        0 => {}
        others => from = format!("{from} and {} other sources", count(others)),
    }
    let mut lines = vec![
        ("bfs", from),
        ("reached", format!("{} of {} vertices", count(bfs.reached), count(summary.vertices))),
        ("depth", count(u64::from(bfs.depth))),
    ];
    lines.extend(keys::lines(&summary.result.targets));
    let outcome = keys::outcome(&summary.result.targets);
    summary.print(args.plan.json, lines)?;
    Ok(outcome)
}

fn targets(graph: &Graph, bfs: &Bfs, vertices: &[VertexId]) -> Result<Vec<Target>> {
    let ids = graph.ids()?;
    let mut targets = Target::all(graph, vertices, |v| bfs.level(v).is_some())?;
    for (target, &v) in targets.iter_mut().zip(vertices) {
        target.level = bfs.level(v);
        if let Some(path) = bfs.path_to(v) {
            let path: Result<Vec<_>> = path.iter().map(|&v| Ok(JsonId(ids.id_of(v)?))).collect();
            target.path = Some(path?);
        }
    }
    Ok(targets)
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
    let (graph, config): (_, EngineConfig) = args.plan.open_to_estimate()?;
    let bfs_config = args.params.config(&graph)?;
    estimate::print("bfs", &args.plan, &config, &bfs::estimate(&graph, &config, &bfs_config)?)
}
