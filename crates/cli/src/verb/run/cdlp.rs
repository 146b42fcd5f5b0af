//! `cenote run cdlp`.

use cenote::Graph;
use cenote::algorithm::{Cdlp, CdlpSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run cdlp kron.cenote --memory 256MiB --out communities.parquet
  cenote run cdlp kron.cenote --iterations 5";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate cdlp kron.cenote --memory 256MiB";

/// Flags of label propagation.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// The most iterations; fewer if no label changes any more
    #[arg(long, value_name = "N", default_value_t = 10)]
    iterations: u32,
}

impl super::Params for Params {
    type Algorithm = Cdlp;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Cdlp> {
        graph.cdlp().iterations(self.iterations)
    }

    fn answer(&self, found: &CdlpSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let converged = if found.converged { ", the last changed nothing" } else { "" };
        let largest = format!("{} of {} vertices", count(found.largest), count(stats.vertices));
        let lines = vec![
            ("iterations", format!("{}{converged}", found.iterations)),
            ("communities", count(found.communities)),
            ("largest", largest),
        ];
        (lines, Outcome::Done)
    }
}
