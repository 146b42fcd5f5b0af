//! `cenote run leiden` and `cenote run louvain`.

use cenote::Graph;
use cenote::algorithm::{self, CommunitiesSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::output::count;
use crate::verb::Outcome;

pub const LEIDEN_RUN_EXAMPLES: &str = "\
Examples:
  cenote run leiden kron.cenote --memory 256MiB --out communities.parquet
  cenote run leiden kron.cenote --resolution 2";

pub const LEIDEN_ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate leiden kron.cenote --memory 256MiB";

pub const LOUVAIN_RUN_EXAMPLES: &str = "\
Examples:
  cenote run louvain kron.cenote --memory 256MiB --out communities.parquet
  cenote run louvain kron.cenote --resolution 0.5";

pub const LOUVAIN_ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate louvain kron.cenote --memory 256MiB";

macro_rules! method {
    ($(#[$doc:meta])* $method:ident, $start:ident) => {
        $(#[$doc])*
        #[derive(Debug, clap::Args)]
        pub struct $method {
            /// The resolution: with larger ones communities are smaller
            #[arg(long, value_name = "GAMMA", default_value_t = 1.0)]
            resolution: f64,
            /// The most iterations; fewer if two in a row gain nothing
            #[arg(long, value_name = "N", default_value_t = 3)]
            iterations: u32,
        }

        impl super::Params for $method {
            type Algorithm = algorithm::$method;

            fn start<'g>(&self, graph: &'g Graph) -> Run<'g, algorithm::$method> {
                graph.$start().resolution(self.resolution).iterations(self.iterations)
            }

            fn answer(&self, found: &CommunitiesSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
                (lines(found, stats), Outcome::Done)
            }
        }
    };
}

method!(
    /// Flags of Leiden.
    Leiden, leiden
);
method!(
    /// Flags of Louvain.
    Louvain, louvain
);

fn lines(found: &CommunitiesSummary, stats: &Stats) -> Vec<Line> {
    let converged = if found.converged { ", the last two gained nothing" } else { "" };
    let largest = format!("{} of {} vertices", count(found.largest), count(stats.vertices));
    vec![
        ("modularity", format!("{:.6}", found.modularity)),
        ("communities", count(found.communities)),
        ("largest", largest),
        ("iterations", format!("{}{converged}", found.iterations)),
        ("levels", found.levels.to_string()),
    ]
}
