//! `cenote run wcc`.

use anyhow::Result;
use cenote_algo::wcc;
use serde::Serialize;

use super::RunOf;
use super::groups::Groups;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::graph_file::JsonId;
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run wcc kron.cenote --memory 256MiB
  cenote run wcc pairs.cenote --out components.parquet";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate wcc kron.cenote --memory 256MiB";

/// Components have no parameters.
#[derive(Debug, clap::Args)]
pub struct Params {}

#[derive(Debug, Serialize)]
struct Answer {
    components: u64,
    largest: u64,
    /// The smallest id in the largest component.
    largest_label: Option<JsonId>,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let stopwatch = Stopwatch::start();
    let wcc = wcc::run(&graph, config.clone())?;
    let groups = Groups::new(&graph, |v| wcc.label(v))?;
    let largest = (wcc.largest_label, wcc.largest);
    let largest_label = match groups.largest(&graph, largest, |v| wcc.label(v))? {
        Some(v) => Some(JsonId(graph.ids()?.id_of(v)?)),
        None => None,
    };
    let answer = Answer { components: wcc.components, largest: wcc.largest, largest_label };
    let mut summary = stopwatch.stop("wcc", &graph, &config, &wcc.run, wcc.run.stats.steps, answer);
    if args.output.verify {
        wcc::verify(&graph, &wcc)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let component = Column::vertex("component", |v| Some(groups.name(wcc.label(v))));
        result_file::write(path, &graph, &[component])?;
    }
    let lines = vec![
        ("components", count(wcc.components)),
        ("largest", format!("{} of {} vertices", count(wcc.largest), count(summary.vertices))),
    ];
    summary.print(args.plan.json, lines)?;
    Ok(Outcome::Done)
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    estimate::print("wcc", &args.plan, &config, &wcc::estimate(&graph, &config)?)
}
