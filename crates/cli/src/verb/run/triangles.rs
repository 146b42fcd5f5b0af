//! `cenote run triangles`.

use anyhow::Result;
use cenote_algo::triangles::{self, TrianglesConfig};
use serde::Serialize;

use super::RunOf;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run triangles kron.cenote --memory 256MiB
  cenote run triangles kron.cenote --out triangles.parquet";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate triangles kron.cenote --memory 256MiB";

/// What is counted.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Count the triangles of each vertex too (8 bytes a vertex); --out does so anyway
    #[arg(long)]
    per_vertex: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    triangles: u64,
    /// Share of the pairs of neighbours that are neighbours themselves.
    transitivity: f64,
    /// Parts of the oriented lists that were in memory one after the other.
    chunks: u64,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let counted =
        TrianglesConfig { per_vertex: args.params.per_vertex || args.output.out.is_some() };
    let stopwatch = Stopwatch::start();
    let found = triangles::run(&graph, config.clone(), &counted)?;
    let transitivity = found.transitivity();
    let answer = Answer { triangles: found.triangles, transitivity, chunks: found.chunks };
    let mut summary =
        stopwatch.stop("triangles", &graph, &config, &found.run, found.chunks, answer);
    if args.output.verify {
        triangles::verify(&graph, &found)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let column = Column::count("triangles", |v| found.of(v));
        result_file::write(path, &graph, &[column])?;
    }
    let lines =
        vec![("triangles", count(found.triangles)), ("transitivity", format!("{transitivity:.6}"))];
    summary.print(args.plan.json, lines)?;
    Ok(Outcome::Done)
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    let counted = TrianglesConfig { per_vertex: args.params.per_vertex };
    let estimate = triangles::estimate(&graph, &config, &counted)?;
    estimate::print("triangles", &args.plan, &config, &estimate)
}
