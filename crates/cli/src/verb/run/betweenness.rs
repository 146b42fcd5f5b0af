//! `cenote run betweenness`.

use cenote::Graph;
use cenote::algo::betweenness::Scale;
use cenote::algorithm::{Betweenness, BetweennessSummary};
use cenote::run::{Run, Stats};
use clap::ValueEnum;

use super::Line;
use super::keys::{Sources, apply};
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run betweenness kron.cenote --samples 16 --memory 256MiB
  cenote run betweenness debian.cenote --source bash --source apt --out betweenness.csv";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate betweenness kron.cenote --samples 16 --memory 256MiB";

/// Flags of betweenness centrality.
#[derive(Debug, clap::Args)]
pub struct Params {
    #[command(flatten)]
    sources: Sources,
    /// Search from this many random vertices
    #[arg(long, value_name = "K", conflicts_with_all = ["source_ids", "source_file"])]
    samples: Option<u64>,
    /// Seed of the random vertices
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// How the sums over the sources are scaled
    #[arg(long, value_name = "SCALE", default_value = "sum")]
    scale: ScaleArg,
}

/// As [`Scale`].
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleArg {
    /// Unscaled: the sum over paths from each source to all vertices
    Sum,
    /// An estimate from all sources; on an undirected graph each pair counts once: NetworkX with
    /// normalized=False
    Full,
    /// The fraction of all pairs of other vertices: NetworkX with normalized=True
    Normalized,
}

impl super::Params for Params {
    type Algorithm = Betweenness;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Betweenness> {
        let scale = match self.scale {
            ScaleArg::Sum => Scale::Sum,
            ScaleArg::Full => Scale::Full,
            ScaleArg::Normalized => Scale::Normalized,
        };
        let run = apply!(graph.betweenness().scale(scale), self.sources, source, sources_file);
        match self.samples {
            Some(samples) => run.samples(samples, self.seed),
            None => run,
        }
    }

    fn answer(&self, found: &BetweennessSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        let from = format!("from {} sources, {} at a time", count(found.sources), found.batch);
        let mut lines = vec![("betweenness", from)];
        for (place, top) in found.top.iter().enumerate() {
            let name = if place == 0 { "top" } else { "" };
            lines.push((name, format!("{:.6}  {}", top.betweenness, top.vertex)));
        }
        (lines, Outcome::Done)
    }
}
