//! `cenote run sssp`.

use cenote::Graph;
use cenote::algorithm::{Sssp, SsspSummary, Target};
use cenote::run::{Run, Stats};

use super::Line;
use super::keys::{self, Sources, Targets, apply};
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run sssp roads.cenote --source 17 --memory 256MiB --out distances.parquet
  cenote run sssp roads.cenote --source 17 --target 4711 --parents --json

Weights are those of `cenote import --weights`; without them every edge has length 1. Exit status 1
where a target cannot be reached.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate sssp roads.cenote --memory 256MiB";

/// Flags of a shortest-path search.
#[derive(Debug, clap::Args)]
pub struct Params {
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    targets: Targets,
    /// Width of a bucket of distances, in the unit of the weights [default: 16 times, on a graph
    /// with hubs 128 times the mean weight over the mean degree]
    #[arg(long, value_name = "D")]
    delta: Option<f64>,
    /// Also find parents: of the vertices before on shortest paths, the smallest id
    #[arg(long)]
    parents: bool,
}

impl super::Params for Params {
    type Algorithm = Sssp;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Sssp> {
        let mut run = graph.sssp().parents(self.parents);
        if let Some(delta) = self.delta {
            run = run.delta(delta);
        }
        let run = apply!(run, self.sources, source, sources_file);
        apply!(run, self.targets, target, targets_file)
    }

    fn answer(&self, found: &SsspSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let distance = found.distance_max.to_f64();
        let mut lines = vec![
            ("sssp", keys::origin(&found.source, found.sources, found.source_chosen)),
            ("reached", format!("{} of {} vertices", count(found.reached), count(stats.vertices))),
            ("farthest", format!("{}, distance {distance}", found.farthest)),
            ("buckets", format!("{}, delta {}", count(found.buckets), found.delta)),
        ];
        let targets: Vec<Target> = found.targets.iter().map(|goal| goal.target.clone()).collect();
        lines.extend(keys::lines(&targets));
        if let [only] = &found.targets[..]
            && let Some(distance) = only.distance
        {
            lines.push(("distance", distance.to_f64().to_string()));
        }
        (lines, keys::outcome(&targets))
    }
}
