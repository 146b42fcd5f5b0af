//! `cenote run degrees`.

use cenote::Graph;
use cenote::algorithm::{Degrees, DegreesSummary};
use cenote::run::{Run, Stats};

use super::{Line, Params};
use crate::output::count;
use crate::verb::Outcome;

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate degrees kron.cenote --memory 256MiB";

/// Degrees have no parameters.
#[derive(Debug, clap::Args)]
pub struct Counted {}

impl Params for Counted {
    type Algorithm = Degrees;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Degrees> {
        graph.count_degrees()
    }

    fn answer(&self, found: &DegreesSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        (lines_of(found, stats.vertices), Outcome::Done)
    }
}

/// The lines of degrees, whatever they were counted in.
pub fn lines_of(found: &DegreesSummary, vertices: u64) -> Vec<Line> {
    let isolated = format!("{} of {} vertices", count(found.isolated), count(vertices));
    let mut lines = vec![("mean degree", format!("{:.3}", found.mean)), ("isolated", isolated)];
    for (place, top) in found.top.iter().enumerate() {
        let name = if place == 0 { "top" } else { "" };
        lines.push((name, format!("{}  {}", count(top.degree), top.vertex)));
    }
    lines
}
