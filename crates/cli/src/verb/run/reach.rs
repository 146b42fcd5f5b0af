//! `cenote run reach`.

use anyhow::Result;
use cenote_algo::reach::{self, ReachConfig};
use cenote_engine::{EngineConfig, Graph};
use serde::Serialize;

use super::RunOf;
use super::keys::{self, Target, Targets};
use super::summary::Stopwatch;
use crate::graph_file::{JsonId, vertex_of};
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run reach debian.cenote --source bash --target libc6
  cenote run reach debian.cenote --source bash --targets names.txt --json

Exit status 1 where a target cannot be reached.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate reach debian.cenote --memory 64MiB";

/// What is asked.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Where the way starts, by your id [default: the vertex of largest degree]
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    #[command(flatten)]
    targets: Targets,
}

impl Params {
    fn config(&self, graph: &Graph) -> Result<ReachConfig> {
        let vertex = |id: &String| vertex_of(graph, &graph.ids()?, id);
        let source = self.source.as_ref().map(vertex).transpose()?;
        Ok(ReachConfig { source, targets: self.targets.vertices(graph)? })
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    source: JsonId,
    source_chosen: bool,
    /// Whether all targets can be reached.
    reachable: bool,
    bidirectional: bool,
    targets: Vec<Target>,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    if args.output.out.is_some() {
        anyhow::bail!("reach has no answer of every vertex for --out: `bfs` and `dfs` have");
    }
    let (graph, config) = args.open()?;
    let question = args.params.config(&graph)?;
    let stopwatch = Stopwatch::start();
    let reach = reach::run(&graph, config.clone(), &question)?;
    let source = graph.ids()?.id_of(reach.source)?;
    let mut targets = Target::all(&graph, &question.targets, |_| true)?;
    for (target, &reachable) in targets.iter_mut().zip(&reach.reachable) {
        target.reachable = reachable;
    }
    let answer = Answer {
        source: JsonId(source.clone()),
        source_chosen: question.source.is_none(),
        reachable: reach.reachable.iter().all(|&reachable| reachable),
        bidirectional: reach.bidirectional,
        targets,
    };
    let steps = reach.run.stats.steps;
    let mut summary = stopwatch.stop("reach", &graph, &config, &reach.run, steps, answer);
    if args.output.verify {
        reach::verify(&graph, &question, &reach)?;
        summary.verified = true;
    }
    let chosen = if question.source.is_none() { ", the vertex of largest degree" } else { "" };
    let mut lines = vec![("reach", format!("from {source}{chosen}"))];
    lines.extend(keys::lines(&summary.result.targets));
    let outcome = keys::outcome(&summary.result.targets);
    summary.print(args.plan.json, lines)?;
    Ok(outcome)
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config): (_, EngineConfig) = args.plan.open_to_estimate()?;
    // Looked up as for a run: what that keeps of the ids counts too.
    args.params.config(&graph)?;
    estimate::print("reach", &args.plan, &config, &reach::estimate(&graph, &config)?)
}
