//! `cenote run wcc` and `cenote run scc`.

use cenote::Graph;
use cenote::algorithm::{Scc, SccSummary, Wcc, WccSummary};
use cenote::run::{Run, Stats};

use super::{Line, Params};
use crate::output::count;
use crate::verb::Outcome;

pub const WCC_RUN_EXAMPLES: &str = "\
Examples:
  cenote run wcc kron.cenote --memory 256MiB
  cenote run wcc pairs.cenote --out components.parquet";

pub const WCC_ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate wcc kron.cenote --memory 256MiB";

pub const SCC_RUN_EXAMPLES: &str = "\
Examples:
  cenote run scc debian.cenote --memory 256MiB
  cenote run scc web.cenote --out components.parquet";

pub const SCC_ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate scc web.cenote --memory 256MiB";

/// Weak components have no parameters.
#[derive(Debug, clap::Args)]
pub struct Weak {}

/// Strong components have no parameters.
#[derive(Debug, clap::Args)]
pub struct Strong {}

impl Params for Weak {
    type Algorithm = Wcc;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Wcc> {
        graph.wcc()
    }

    fn answer(&self, found: &WccSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let components = ("components", count(found.components));
        (vec![components, largest(found.largest, stats)], Outcome::Done)
    }
}

impl Params for Strong {
    type Algorithm = Scc;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Scc> {
        graph.scc()
    }

    fn answer(&self, found: &SccSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let (components, single) = (count(found.components), count(found.single));
        let components = ("components", format!("{components}, {single} of one vertex"));
        (vec![components, largest(found.largest, stats)], Outcome::Done)
    }
}

fn largest(largest: u64, stats: &Stats) -> Line {
    ("largest", format!("{} of {} vertices", count(largest), count(stats.vertices)))
}
