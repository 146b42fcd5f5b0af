//! `cenote run triangles`.

use cenote::Graph;
use cenote::algorithm::{Triangles, TrianglesSummary};
use cenote::run::{Run, Stats};

use super::Line;
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run triangles kron.cenote --memory 256MiB
  cenote run triangles kron.cenote --out triangles.parquet";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate triangles kron.cenote --memory 256MiB";

/// Flags of triangle counting.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Also count the triangles of each vertex (8 bytes a vertex); implied by --out
    #[arg(long)]
    per_vertex: bool,
}

impl super::Params for Params {
    type Algorithm = Triangles;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Triangles> {
        graph.triangles().per_vertex(self.per_vertex)
    }

    fn answer(&self, found: &TrianglesSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        let transitivity = format!("{:.6}", found.transitivity);
        let lines = vec![("triangles", count(found.triangles)), ("transitivity", transitivity)];
        (lines, Outcome::Done)
    }
}
