//! `cenote run scc`.

use anyhow::Result;
use cenote_algo::scc;
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
  cenote run scc debian.cenote --memory 256MiB
  cenote run scc web.cenote --out components.parquet";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate scc web.cenote --memory 256MiB";

/// Components have no parameters.
#[derive(Debug, clap::Args)]
pub struct Params {}

#[derive(Debug, Serialize)]
struct Answer {
    components: u64,
    largest: u64,
    /// The smallest id in the largest component.
    largest_label: Option<JsonId>,
    /// Components of one vertex.
    single: u64,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let stopwatch = Stopwatch::start();
    let scc = scc::run(&graph, config.clone())?;
    let groups = Groups::new(&graph, |v| scc.label(v))?;
    let largest = (scc.largest_label, scc.largest);
    let largest_label = match groups.largest(&graph, largest, |v| scc.label(v))? {
        Some(v) => Some(JsonId(graph.ids()?.id_of(v)?)),
        None => None,
    };
    let (components, largest, single) = (scc.components, scc.largest, scc.single);
    let answer = Answer { components, largest, largest_label, single };
    let mut summary = stopwatch.stop("scc", &graph, &config, &scc.run, scc.run.stats.steps, answer);
    if args.output.verify {
        scc::verify(&graph, &scc)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let component = Column::vertex("component", |v| Some(groups.name(scc.label(v))));
        result_file::write(path, &graph, &[component])?;
    }
    let lines = vec![
        ("components", format!("{}, {} of one vertex", count(components), count(single))),
        ("largest", format!("{} of {} vertices", count(largest), count(summary.vertices))),
    ];
    summary.print(args.plan.json, lines)?;
    Ok(Outcome::Done)
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    estimate::print("scc", &args.plan, &config, &scc::estimate(&graph, &config)?)
}
