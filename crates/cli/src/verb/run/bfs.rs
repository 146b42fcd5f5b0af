//! `cenote run bfs`.

use cenote::Graph;
use cenote::algorithm::{Bfs, BfsSummary};
use cenote::run::{Run, Stats};

use super::Line;
use super::keys::{self, Sources, Targets, apply};
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run bfs kron.cenote --memory 256MiB
  cenote run bfs debian.cenote --source bash --parents --out levels.csv
  cenote run bfs debian.cenote --source bash --target libc6 libtinfo6 --parents --json

Exit status 1 where a target cannot be reached.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate bfs kron.cenote --memory 256MiB";

/// Flags of breadth-first search.
#[derive(Debug, clap::Args)]
pub struct Params {
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    targets: Targets,
    /// Also find parents: the neighbour on the level before with the smallest id
    #[arg(long)]
    parents: bool,
}

impl super::Params for Params {
    type Algorithm = Bfs;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Bfs> {
        let run = apply!(graph.bfs().parents(self.parents), self.sources, source, sources_file);
        apply!(run, self.targets, target, targets_file)
    }

    fn answer(&self, found: &BfsSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let mut lines = vec![
            ("bfs", keys::origin(&found.source, found.sources, found.source_chosen)),
            ("reached", format!("{} of {} vertices", count(found.reached), count(stats.vertices))),
            ("depth", count(found.depth.into())),
        ];
        lines.extend(keys::lines(&found.targets));
        (lines, keys::outcome(&found.targets))
    }
}
