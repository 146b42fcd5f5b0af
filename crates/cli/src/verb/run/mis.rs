//! `cenote run mis`.

use cenote::Graph;
use cenote::algo::mis::MisConfig;
use cenote::algorithm::{Mis, MisSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run mis kron.cenote --memory 256MiB
  cenote run mis kron.cenote --seed 7 --out members.csv";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate mis kron.cenote --memory 256MiB";

/// Flags of the maximal independent set.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Seed of the priorities, and so of the choice of the set
    #[arg(long, value_name = "N", default_value_t = MisConfig::default().seed)]
    seed: u64,
}

impl super::Params for Params {
    type Algorithm = Mis;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Mis> {
        graph.mis().seed(self.seed)
    }

    fn answer(&self, found: &MisSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let members = format!("{} of {} vertices", count(found.size), count(stats.vertices));
        (vec![("in the set", members), ("rounds", count(found.rounds))], Outcome::Done)
    }
}
