//! `cenote run kcore`.

use cenote::Graph;
use cenote::algorithm::{Kcore, KcoreSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run kcore kron.cenote --memory 256MiB --out cores.parquet
  cenote run kcore kron.cenote --k 8 --out members.csv";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate kcore kron.cenote --memory 256MiB";

/// Flags of the k-core decomposition.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Find only the members of the K-core; exit status 1 if there are none
    #[arg(long, value_name = "K")]
    k: Option<u32>,
}

impl super::Params for Params {
    type Algorithm = Kcore;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Kcore> {
        match self.k {
            Some(k) => graph.kcore().k(k),
            None => graph.kcore(),
        }
    }

    /// An empty k-core answers no.
    fn answer(&self, found: &KcoreSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let of = count(stats.vertices);
        if let (Some(k), Some(members)) = (found.k, found.members) {
            let line = format!("{} of {of} vertices in the {k}-core", count(members));
            let outcome = if members == 0 { Outcome::AnsweredNo } else { Outcome::Done };
            return (vec![("members", line)], outcome);
        }
        let degeneracy = count(found.degeneracy.unwrap_or_default().into());
        let innermost = count(found.innermost.unwrap_or_default());
        let innermost = format!("{innermost} of {of} vertices");
        (vec![("degeneracy", degeneracy), ("innermost", innermost)], Outcome::Done)
    }
}
