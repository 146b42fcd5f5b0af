//! `cenote run pagerank`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use cenote_algo::pagerank::{self, PageRankConfig, Variant};
use cenote_engine::{Graph, VertexId};
use serde::Serialize;

use super::RunOf;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::graph_file::{JsonId, vertex_of};
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run pagerank kron.cenote --iterations 20 --memory 256MiB
  cenote run pagerank debian.cenote --tolerance 1e-8 --out ranks.parquet
  cenote run pagerank debian.cenote --personalize bash zsh
  cenote run pagerank kron.cenote --variant cave";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate pagerank kron.cenote --iterations 20 --memory 256MiB";

/// Vertices of highest rank that the summary names.
const TOP: usize = 10;

/// Iterations at most where a tolerance is to be met and no number is given.
const TOLERANCE_ITERATIONS_MAX: u32 = 1000;

/// How long it iterates and how far the surfer follows edges.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Iterations; with --tolerance the most that are done [default: 10, with --tolerance 1000]
    #[arg(long, value_name = "N")]
    iterations: Option<u32>,
    /// Stop when the ranks change by less than this in an iteration, summed over all vertices
    #[arg(long, value_name = "L1", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Probability that the surfer follows an edge
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          default_value_t = PageRankConfig::default().damping)]
    damping: f64,
    /// Vertices that the surfer starts at and goes back to, by your ids [default: all]
    #[arg(long, value_name = "ID", num_args = 1..)]
    personalize: Vec<String>,
    /// The same from a file, one id a line
    #[arg(long, value_name = "FILE")]
    personalize_file: Option<PathBuf>,
    /// `cave`: as the CAVE paper has it, without division by the number of vertices and without
    /// the mass of vertices that have no out-edges
    #[arg(long, value_name = "NAME", default_value = "standard",
          conflicts_with_all = ["personalize", "personalize_file"])]
    variant: VariantArg,
}

/// Which definition.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum VariantArg {
    Standard,
    Cave,
}

impl Params {
    /// The vertices that are named, ascending.
    fn personalize(&self, graph: &Graph) -> Result<Vec<VertexId>> {
        let ids = graph.ids()?;
        let mut vertices = Vec::new();
        for id in &self.personalize {
            vertices.push(vertex_of(graph, &ids, id)?);
        }
        if let Some(path) = &self.personalize_file {
            let name = path.display();
            let text = std::fs::read_to_string(path).with_context(|| format!("{name}"))?;
            for id in text.lines().filter(|line| !line.is_empty()) {
                vertices.push(vertex_of(graph, &ids, id)?);
            }
            ensure!(!vertices.is_empty(), "{name}: it has no id; one a line is needed");
        }
        vertices.sort_unstable();
        vertices.dedup();
        Ok(vertices)
    }

    fn config(&self, graph: &Graph) -> Result<PageRankConfig> {
        let usual = match self.tolerance {
            Some(_) => TOLERANCE_ITERATIONS_MAX,
            None => PageRankConfig::default().iterations,
        };
        Ok(PageRankConfig {
            damping: self.damping,
            iterations: self.iterations.unwrap_or(usual),
            tolerance: self.tolerance,
            personalize: self.personalize(graph)?,
            variant: match self.variant {
                VariantArg::Standard => Variant::Standard,
                VariantArg::Cave => Variant::Cave,
            },
        })
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    iterations: u32,
    converged: Option<bool>,
    /// Change of the ranks in the last iteration, summed over all vertices.
    change: Option<f64>,
    top: Vec<Ranked>,
}

#[derive(Debug, Serialize)]
struct Ranked {
    vertex: JsonId,
    rank: f64,
}

/// Runs it. A tolerance that was not met is an answer of no.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let pagerank_config = args.params.config(&graph)?;
    let stopwatch = Stopwatch::start();
    let pagerank = pagerank::run(&graph, config.clone(), &pagerank_config)?;
    let ids = graph.ids()?;
    let ranked = |(v, rank)| Ok(Ranked { vertex: JsonId(ids.id_of(v)?), rank });
    let top = pagerank.top(TOP).into_iter().map(ranked).collect::<Result<Vec<_>>>()?;
    let lines = answer_lines(&pagerank, &top);
    let answer = Answer {
        iterations: pagerank.iterations,
        converged: pagerank.converged,
        change: pagerank.change,
        top,
    };
    let iterations = u64::from(pagerank.iterations);
    let mut summary =
        stopwatch.stop("pagerank", &graph, &config, &pagerank.run, iterations, answer);
    if args.output.verify {
        pagerank::verify(&graph, &pagerank_config, &pagerank)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let rank = Column::real("rank", |v| pagerank.rank(v));
        result_file::write(path, &graph, &[rank])?;
    }
    summary.print(args.plan.json, lines)?;
    if pagerank.converged == Some(false) {
        tracing::warn!(
            "the ranks still changed by more than the tolerance after {iterations} iterations"
        );
        return Ok(Outcome::AnsweredNo);
    }
    Ok(Outcome::Done)
}

fn answer_lines(pagerank: &pagerank::PageRank, top: &[Ranked]) -> Vec<(&'static str, String)> {
    let change = pagerank
        .change
        .map_or(String::new(), |change| format!(", the last changed the ranks by {change:.2e}"));
    let mut lines = vec![("pagerank", format!("{} iterations{change}", pagerank.iterations))];
    for (place, Ranked { vertex, rank }) in top.iter().enumerate() {
        let name = if place == 0 { "top" } else { "" };
        lines.push((name, format!("{rank:.6}  {}", vertex.0)));
    }
    lines
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    let estimate = pagerank::estimate(&graph, &config, &args.params.config(&graph)?)?;
    estimate::print("pagerank", &args.plan, &config, &estimate)
}
