//! `cenote run hyperball`.

use cenote::Graph;
use cenote::algo::hyperball::HyperballConfig;
use cenote::algorithm::{Hyperball, HyperballSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run hyperball kron.cenote --memory 256MiB
  cenote run hyperball kron.cenote --registers 256 --out centralities.parquet

--out writes columns vertex, harmonic, closeness, reachable.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate hyperball kron.cenote --registers 256 --memory 256MiB";

/// Flags of HyperBall.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Registers of a counter, a power of two from 16 to 4096; four times as many halve the error
    #[arg(long, value_name = "M", default_value_t = HyperballConfig::default().registers)]
    registers: u32,
    /// The most iterations: distances beyond are not counted [default: until no counter grows]
    #[arg(long, value_name = "N")]
    iterations: Option<u32>,
    /// Seed of the hashes of ids
    #[arg(long, value_name = "N", default_value_t = HyperballConfig::default().seed)]
    seed: u64,
    /// On a directed graph, distances from a vertex to others, not those from others to it
    #[arg(long)]
    outgoing: bool,
}

impl super::Params for Params {
    type Algorithm = Hyperball;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Hyperball> {
        let run = graph.hyperball().registers(self.registers).seed(self.seed);
        let run = run.outgoing(self.outgoing);
        match self.iterations {
            Some(iterations) => run.iterations(iterations),
            None => run,
        }
    }

    fn answer(&self, found: &HyperballSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        let pairs = found.neighborhood.last().copied().unwrap_or(0.0);
        let average = found.average_distance.map_or("none".to_owned(), |d| format!("{d:.3}"));
        let counted = if found.converged { "" } else { ", not all counted" };
        let mut lines = vec![
            ("pairs with a path", format!("{pairs:.4e}")),
            ("average distance", average),
            ("effective diameter", format!("{:.3}", found.effective_diameter)),
            ("largest seen", format!("{}{counted}", found.distance_max)),
            ("relative error", format!("{:.3} (standard deviation)", found.error)),
        ];
        if found.slices > 1 {
            lines.push(("slices", format!("{} of the registers", found.slices)));
        }
        if let Some(most) = found.top.first() {
            lines.push(("most central", format!("{} ({:.1})", most.vertex, most.harmonic)));
        }
        (lines, Outcome::Done)
    }
}
