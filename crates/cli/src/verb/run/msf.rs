//! `cenote run msf`.

use cenote::Graph;
use cenote::algo::msf::Total;
use cenote::algorithm::{Msf, MsfSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run msf roads.cenote --memory 256MiB --out forest.parquet

Weights are those of `cenote import --weights`; without them every edge weighs 1. The graph must be
undirected. --out writes the edges of the forest.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate msf roads.cenote --memory 256MiB";

/// Forests have no parameters.
#[derive(Debug, clap::Args)]
pub struct Params {}

impl super::Params for Params {
    type Algorithm = Msf;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Msf> {
        graph.msf()
    }

    fn answer(&self, found: &MsfSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let edges = format!("{} on {} vertices", count(found.edges), count(stats.vertices));
        let weight = match found.weight {
            Total::Integer(weight) => weight.to_string(),
            Total::Float(weight) => weight.to_string(),
        };
        let components = count(found.components);
        (vec![("edges", edges), ("components", components), ("weight", weight)], Outcome::Done)
    }
}
