//! `cenote run dfs`.

use anyhow::{Result, bail};
use cenote_algo::Run;
use cenote_algo::dfs::lexicographic::{self, Lexicographic, LexicographicConfig};
use cenote_algo::dfs::pseudo::{self, PseudoDfs, PseudoDfsConfig};
use cenote_engine::{AsynchronousConfig, EngineConfig, Graph, SPLIT_THRESHOLD, VertexId};
use serde::Serialize;

use super::RunOf;
use super::keys::{self, Target, Targets};
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::graph_file::{JsonId, vertex_of};
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run dfs kron.cenote --memory 256MiB
  cenote run dfs debian.cenote --source bash --target libc6 --target libtinfo6
  cenote run dfs debian.cenote --source bash --order lexicographic --out order.csv

Exit status 1 where a target cannot be reached.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate dfs kron.cenote --memory 256MiB";

/// The order of visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Order {
    /// Any: many stacks at once, split as they grow; tells what can be reached
    Pseudo,
    /// The smallest unvisited neighbour first, serially; tells preorder, parents and postorder
    Lexicographic,
}

/// What is searched for.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Where the search starts, by your id [default: the vertex of largest degree]
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    #[command(flatten)]
    targets: Targets,
    /// The order of visits
    #[arg(long, value_enum, default_value = "pseudo")]
    order: Order,
    /// Split a stack of more entries than this (pseudo)
    #[arg(long, value_name = "N", default_value_t = SPLIT_THRESHOLD,
        value_parser = clap::value_parser!(u64).range(1..))]
    threshold: u64,
    /// Stacks at most, each with one request in flight (pseudo) [default: from the depth]
    #[arg(long, value_name = "N", value_parser = parse_stacks)]
    stacks: Option<usize>,
}

fn parse_stacks(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a number of stacks, at least 1".to_owned()),
        Ok(stacks) => Ok(stacks),
    }
}

impl Params {
    fn source(&self, graph: &Graph) -> Result<Option<VertexId>> {
        let vertex = |id: &String| vertex_of(graph, &graph.ids()?, id);
        self.source.as_ref().map(vertex).transpose()
    }

    fn pseudo(&self, graph: &Graph) -> Result<PseudoDfsConfig> {
        let asynchronous = AsynchronousConfig { threshold: self.threshold, stacks: self.stacks };
        let (source, targets) = (self.source(graph)?, self.targets.vertices(graph)?);
        Ok(PseudoDfsConfig { source, targets, asynchronous })
    }

    fn lexicographic(&self, graph: &Graph) -> Result<LexicographicConfig> {
        let (source, targets) = (self.source(graph)?, self.targets.vertices(graph)?);
        Ok(LexicographicConfig { source, targets })
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    order: Order,
    source: JsonId,
    source_chosen: bool,
    /// Vertices reached; null where a search in no fixed order ended early.
    reached: Option<u64>,
    /// Whether all targets were reached, and the search ended there.
    ended_early: bool,
    /// Edges down to the deepest vertex (lexicographic).
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<Target>,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    match args.params.order {
        Order::Pseudo => run_pseudo(args),
        Order::Lexicographic => run_lexicographic(args),
    }
}

fn run_pseudo(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let search = args.params.pseudo(&graph)?;
    if args.output.out.is_some() && !search.targets.is_empty() {
        bail!(
            "--out tells of every vertex whether it can be reached, and --target ends the search \
             before that is known: leave one of them out, or add --order lexicographic"
        );
    }
    let stopwatch = Stopwatch::start();
    let dfs = pseudo::run(&graph, config.clone(), &search)?;
    let answer = Answer {
        order: Order::Pseudo,
        source: JsonId(graph.ids()?.id_of(dfs.source)?),
        source_chosen: search.source.is_none(),
        reached: dfs.reached(),
        ended_early: dfs.ended_early,
        depth: None,
        targets: Target::all(&graph, &search.targets, |v| dfs.is_reached(v))?,
    };
    let verify = || pseudo::verify(&graph, &search, &dfs);
    finish(args, &stopwatch, &graph, &config, &dfs.run, answer, verify, &pseudo_columns(&dfs))
}

fn pseudo_columns(dfs: &PseudoDfs) -> Vec<Column<'_>> {
    vec![Column::count("reached", |v| Some(u64::from(dfs.is_reached(v))))]
}

fn run_lexicographic(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let search = args.params.lexicographic(&graph)?;
    let stopwatch = Stopwatch::start();
    let dfs = lexicographic::run(&graph, config.clone(), &search)?;
    let answer = Answer {
        order: Order::Lexicographic,
        source: JsonId(graph.ids()?.id_of(dfs.source)?),
        source_chosen: search.source.is_none(),
        reached: Some(dfs.reached),
        ended_early: dfs.ended_early,
        depth: Some(dfs.depth),
        targets: Target::all(&graph, &search.targets, |v| dfs.order(v).is_some())?,
    };
    let verify = || lexicographic::verify(&graph, &search, &dfs);
    finish(args, &stopwatch, &graph, &config, &dfs.run, answer, verify, &columns(&dfs))
}

fn columns(dfs: &Lexicographic) -> Vec<Column<'_>> {
    vec![
        Column::count("order", |v| dfs.order(v).map(u64::from)),
        Column::vertex("parent", |v| dfs.parent(v)),
        Column::count("finish", |v| dfs.finish(v).map(u64::from)),
    ]
}

#[expect(clippy::too_many_arguments, reason = "the end of two searches that differ in all of them")]
fn finish(
    args: &RunOf<Params>,
    stopwatch: &Stopwatch,
    graph: &Graph,
    config: &EngineConfig,
    run: &Run,
    answer: Answer,
    verify: impl FnOnce() -> cenote_algo::Result<()>,
    columns: &[Column<'_>],
) -> Result<Outcome> {
    let mut summary = stopwatch.stop("dfs", graph, config, run, run.stats.steps, answer);
    if args.output.verify {
        verify()?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        result_file::write(path, graph, columns)?;
    }
    let answer = &summary.result;
    let chosen = if answer.source_chosen { ", the vertex of largest degree" } else { "" };
    let mut lines = vec![("dfs", format!("from {}{chosen}", answer.source.0))];
    if let Some(reached) = answer.reached {
        let of = format!("{} of {} vertices", count(reached), count(summary.vertices));
        lines.push(("reached", of));
    }
    lines.extend(answer.depth.map(|depth| ("depth", count(depth))));
    lines.extend(keys::lines(&answer.targets));
    let outcome = keys::outcome(&answer.targets);
    summary.print(args.plan.json, lines)?;
    Ok(outcome)
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config): (_, EngineConfig) = args.plan.open_to_estimate()?;
    // Looked up as for a run: what that keeps of the ids counts too.
    args.params.pseudo(&graph)?;
    let estimate = match args.params.order {
        Order::Pseudo => pseudo::estimate(&graph, &config)?,
        Order::Lexicographic => lexicographic::estimate(&graph, &config)?,
    };
    estimate::print("dfs", &args.plan, &config, &estimate)
}
