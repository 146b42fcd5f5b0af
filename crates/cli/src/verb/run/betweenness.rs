//! `cenote run betweenness`.

use anyhow::Result;
use cenote_algo::betweenness::{self, Betweenness, BetweennessConfig, Scale};
use cenote_engine::Graph;
use clap::ValueEnum;
use serde::Serialize;

use super::RunOf;
use super::keys::Sources;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::graph_file::JsonId;
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run betweenness kron.cenote --samples 16 --memory 256MiB
  cenote run betweenness debian.cenote --source bash --source apt --out betweenness.csv";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate betweenness kron.cenote --samples 16 --memory 256MiB";

/// Vertices of highest betweenness that the summary names.
const TOP: usize = 10;

/// From where, and what is made of the sums.
#[derive(Debug, clap::Args)]
pub struct Params {
    #[command(flatten)]
    sources: Sources,
    /// Search from so many vertices, chosen at random
    #[arg(long, value_name = "K", conflicts_with_all = ["sources", "sources_file"])]
    samples: Option<u64>,
    /// Seed of the choice
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// What is made of the sums over the sources
    #[arg(long, value_name = "SCALE", default_value = "sum")]
    scale: ScaleArg,
}

/// As [`Scale`].
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleArg {
    /// Nothing: paths from each source to all vertices, summed up
    Sum,
    /// An estimate from all sources, pairs of an undirected graph taken once: NetworkX with
    /// normalized=False
    Full,
    /// The share of all pairs of other vertices: NetworkX with normalized=True
    Normalized,
}

impl Params {
    fn config(&self, graph: &Graph) -> Result<BetweennessConfig> {
        let sources = match self.samples {
            Some(samples) => betweenness::sample(graph, samples, self.seed)?,
            None => self.sources.vertices(graph)?,
        };
        let scale = match self.scale {
            ScaleArg::Sum => Scale::Sum,
            ScaleArg::Full => Scale::Full,
            ScaleArg::Normalized => Scale::Normalized,
        };
        Ok(BetweennessConfig { sources, scale })
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    /// Sources, each counted once.
    sources: u64,
    /// Searches that went side by side, at most.
    batch: usize,
    top: Vec<Ranked>,
}

#[derive(Debug, Serialize)]
struct Ranked {
    vertex: JsonId,
    betweenness: f64,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let betweenness_config = args.params.config(&graph)?;
    let stopwatch = Stopwatch::start();
    let found = betweenness::run(&graph, config.clone(), &betweenness_config)?;
    let answer = answer(&graph, &found)?;
    let lines = answer_lines(&answer);
    let steps = found.run.stats.steps;
    let mut summary = stopwatch.stop("betweenness", &graph, &config, &found.run, steps, answer);
    if args.output.verify {
        betweenness::verify(&graph, &found)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let column = Column::real("betweenness", |v| found.betweenness(v));
        result_file::write(path, &graph, &[column])?;
    }
    summary.print(args.plan.json, lines)?;
    Ok(Outcome::Done)
}

fn answer(graph: &Graph, found: &Betweenness) -> Result<Answer> {
    let ids = graph.ids()?;
    let ranked = |(v, betweenness)| Ok(Ranked { vertex: JsonId(ids.id_of(v)?), betweenness });
    Ok(Answer {
        sources: found.sources.len() as u64,
        batch: found.batch,
        top: found.top(TOP).into_iter().map(ranked).collect::<Result<Vec<_>>>()?,
    })
}

fn answer_lines(answer: &Answer) -> Vec<(&'static str, String)> {
    let from = format!("from {} sources, {} at a time", count(answer.sources), answer.batch);
    let mut lines = vec![("betweenness", from)];
    for (place, Ranked { vertex, betweenness }) in answer.top.iter().enumerate() {
        let name = if place == 0 { "top" } else { "" };
        lines.push((name, format!("{betweenness:.6}  {}", vertex.0)));
    }
    lines
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    let found = args.params.config(&graph)?;
    let estimate = betweenness::estimate(&graph, &config, &found)?;
    estimate::print("betweenness", &args.plan, &config, &estimate)
}
