//! `cenote run lcc`.

use cenote::Graph;
use cenote::algorithm::{Lcc, LccSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::verb::Outcome;

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

impl super::Params for Params {
    type Algorithm = Lcc;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Lcc> {
        graph.lcc()
    }

    fn answer(&self, found: &LccSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        (vec![("mean lcc", format!("{:.6}", found.mean))], Outcome::Done)
    }
}
