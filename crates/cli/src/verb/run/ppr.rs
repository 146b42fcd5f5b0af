//! `cenote run ppr`.

use std::path::PathBuf;

use cenote::Graph;
use cenote::algorithm::{Ppr, PprSummary};
use cenote::run::{Run, Stats};

use super::Line;
use super::keys::apply;
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run ppr kron.cenote --seed 17 --seed 4711 --top-k 20 --out ranks.csv
  cenote run ppr kron.cenote --seeds people.txt --memory 1GiB --out ranks.parquet

--out writes the vertices of highest rank of each seed: columns seed, vertex, rank.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate ppr kron.cenote --seeds people.txt --memory 1GiB";

/// Flags of personalised PageRank.
#[derive(Debug, clap::Args)]
pub struct Params {
    #[command(flatten)]
    seeds: Seeds,
    /// Vertices of highest rank for each seed
    #[arg(long, value_name = "K", default_value_t = 10)]
    top_k: u32,
    /// Probability to follow an edge
    #[arg(long, value_name = "D", default_value_t = 0.85)]
    damping: f64,
    /// On an undirected graph, a rank is too low by at most this times the degree of its vertex
    #[arg(long, value_name = "T", default_value_t = 1e-5)]
    tolerance: f64,
}

/// Flags for the seeds.
#[derive(Debug, clap::Args)]
struct Seeds {
    /// A seed, by your id; may be given several times [default: the vertex of largest degree]
    #[arg(id = "seed_ids", long = "seed", value_name = "ID")]
    ids: Vec<String>,
    /// Further seeds, one id a line
    #[arg(id = "seed_file", long = "seeds", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl super::Params for Params {
    type Algorithm = Ppr;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Ppr> {
        let run = graph.ppr().top_k(self.top_k).damping(self.damping).tolerance(self.tolerance);
        apply!(run, self.seeds, seed, seeds_file)
    }

    fn answer(&self, found: &PprSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        let rows = format!("{} of {} seeds", count(found.rows), count(found.seeds));
        let error = format!("{:.3e} at most, {:.3e} on average", found.error_max, found.error_mean);
        (vec![("ranks", rows), ("too low by", error)], Outcome::Done)
    }
}
