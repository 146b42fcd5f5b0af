//! `cenote run pagerank`.

use std::path::PathBuf;

use cenote::Graph;
use cenote::algo::pagerank::{PageRankConfig, Variant};
use cenote::algorithm::{PageRank, PageRankSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run pagerank kron.cenote --iterations 20 --memory 256MiB
  cenote run pagerank debian.cenote --tolerance 1e-8 --out ranks.parquet
  cenote run pagerank debian.cenote --personalize bash zsh
  cenote run pagerank roads.cenote --weighted
  cenote run pagerank kron.cenote --variant cave";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate pagerank kron.cenote --iterations 20 --memory 256MiB";

/// Flags of PageRank.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// The most iterations [default: 10, with --tolerance 1000]
    #[arg(long, value_name = "N")]
    iterations: Option<u32>,
    /// Stop when the ranks change by less than this in an iteration, summed over all vertices
    #[arg(long, value_name = "L1", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Probability that the surfer follows an edge
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          default_value_t = PageRankConfig::default().damping)]
    damping: f64,
    /// Vertices where the surfer starts and to which it returns, by your ids [default: all]
    #[arg(long, value_name = "ID", num_args = 1..)]
    personalize: Vec<String>,
    /// Further such vertices, one id a line
    #[arg(long, value_name = "FILE")]
    personalize_file: Option<PathBuf>,
    /// A weight of each of these vertices, in their order: the surfer starts at and returns to a
    /// vertex in proportion to its weight [default: equal ones]
    #[arg(long, value_name = "W", num_args = 1.., allow_negative_numbers = true)]
    personalize_weights: Vec<f64>,
    /// Follow an edge in proportion to its weight
    ///
    /// Repeated edges add up. A vertex whose weights are all 0 counts as one without out-edges. The
    /// weights of a vertex add up to between 1e-270 and 1e270.
    #[arg(long)]
    weighted: bool,
    /// `cave`: as in the CAVE paper, without division by the number of vertices and without the
    /// mass of vertices that have no out-edges
    #[arg(long, value_name = "NAME", default_value = "standard",
          conflicts_with_all = ["personalize", "personalize_file", "personalize_weights"])]
    variant: VariantArg,
}

/// The definition of PageRank.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum VariantArg {
    Standard,
    Cave,
}

impl super::Params for Params {
    type Algorithm = PageRank;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, PageRank> {
        let mut run = graph.pagerank().damping(self.damping).variant(match self.variant {
            VariantArg::Standard => Variant::Standard,
            VariantArg::Cave => Variant::Cave,
        });
        run = run.weighted(self.weighted);
        if let Some(iterations) = self.iterations {
            run = run.iterations(iterations);
        }
        if let Some(tolerance) = self.tolerance {
            run = run.tolerance(tolerance);
        }
        for id in &self.personalize {
            run = run.personalize(id);
        }
        run = run.personalize_weights(self.personalize_weights.iter().copied());
        match &self.personalize_file {
            Some(path) => run.personalize_file(path),
            None => run,
        }
    }

    /// A tolerance that was not met answers no.
    fn answer(&self, found: &PageRankSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        let iterations = found.iterations;
        let change = found.change.map_or(String::new(), |change| {
            format!(", the last changed the ranks by {change:.2e}")
        });
        let mut lines = vec![("pagerank", format!("{iterations} iterations{change}"))];
        for (place, top) in found.top.iter().enumerate() {
            let name = if place == 0 { "top" } else { "" };
            lines.push((name, format!("{:.6}  {}", top.rank, top.vertex)));
        }
        if found.converged != Some(false) {
            return (lines, Outcome::Done);
        }
        tracing::warn!(
            "the ranks still changed by more than the tolerance after {iterations} iterations"
        );
        (lines, Outcome::AnsweredNo)
    }
}
