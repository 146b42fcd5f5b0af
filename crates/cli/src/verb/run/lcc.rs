//! `cenote run lcc`.

use anyhow::Result;
use cenote_algo::lcc;
use serde::Serialize;

use super::RunOf;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run lcc kron.cenote --memory 256MiB
  cenote run lcc kron.cenote --out lcc.parquet";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate lcc kron.cenote --memory 256MiB";

/// Coefficients have no parameters.
#[derive(Debug, clap::Args)]
pub struct Params {}

#[derive(Debug, Serialize)]
struct Answer {
    /// Of the coefficients of all vertices.
    mean: f64,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let stopwatch = Stopwatch::start();
    let lcc = lcc::run(&graph, config.clone())?;
    let answer = Answer { mean: lcc.mean };
    let mut summary = stopwatch.stop("lcc", &graph, &config, &lcc.run, lcc.chunks(), answer);
    if args.output.verify {
        lcc::verify(&graph, &lcc)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let column = Column::real("lcc", |v| lcc.coefficient(v));
        result_file::write(path, &graph, &[column])?;
    }
    summary.print(args.plan.json, vec![("mean lcc", format!("{:.6}", lcc.mean))])?;
    Ok(Outcome::Done)
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    estimate::print("lcc", &args.plan, &config, &lcc::estimate(&graph, &config)?)
}
