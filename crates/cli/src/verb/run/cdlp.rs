//! `cenote run cdlp`.

use anyhow::Result;
use cenote_algo::cdlp::{self, CdlpConfig};
use serde::Serialize;

use super::RunOf;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::graph_file::JsonId;
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run cdlp kron.cenote --memory 256MiB --out communities.parquet
  cenote run cdlp kron.cenote --iterations 5";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate cdlp kron.cenote --memory 256MiB";

/// How long labels are passed on.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Iterations; fewer are done where nothing changes any more
    #[arg(long, value_name = "N", default_value_t = CdlpConfig::default().iterations)]
    iterations: u32,
}

impl Params {
    fn config(&self) -> CdlpConfig {
        CdlpConfig { iterations: self.iterations }
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    iterations: u32,
    /// Whether the last iteration changed nothing.
    converged: bool,
    communities: u64,
    largest: u64,
    largest_label: Option<JsonId>,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let cdlp_config = args.params.config();
    let stopwatch = Stopwatch::start();
    let cdlp = cdlp::run(&graph, config.clone(), &cdlp_config)?;
    let largest_label = match cdlp.largest_label {
        Some(v) => Some(JsonId(graph.ids()?.id_of(v)?)),
        None => None,
    };
    let answer = Answer {
        iterations: cdlp.iterations,
        converged: cdlp.converged,
        communities: cdlp.communities,
        largest: cdlp.largest,
        largest_label,
    };
    let iterations = u64::from(cdlp.iterations);
    let mut summary = stopwatch.stop("cdlp", &graph, &config, &cdlp.run, iterations, answer);
    if args.output.verify {
        cdlp::verify(&graph, &cdlp_config, &cdlp)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let label = Column::vertex("label", |v| Some(cdlp.label(v)));
        result_file::write(path, &graph, &[label])?;
    }
    let converged = if cdlp.converged { ", the last changed nothing" } else { "" };
    let lines = vec![
        ("iterations", format!("{}{converged}", cdlp.iterations)),
        ("communities", count(cdlp.communities)),
        ("largest", format!("{} of {} vertices", count(cdlp.largest), count(summary.vertices))),
    ];
    summary.print(args.plan.json, lines)?;
    Ok(Outcome::Done)
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    let estimate = cdlp::estimate(&graph, &config, &args.params.config())?;
    estimate::print("cdlp", &args.plan, &config, &estimate)
}
