//! `cenote run reach`.

use cenote::Graph;
use cenote::algorithm::{Reach, ReachSummary};
use cenote::run::{Run, Stats};

use super::Line;
use super::keys::{self, Targets, apply};
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run reach debian.cenote --source bash --target libc6
  cenote run reach debian.cenote --source bash --targets names.txt --json

Exit status 1 where a target cannot be reached.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate reach debian.cenote --memory 64MiB";

/// Flags of a reachability search.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// The source, by your id [default: the vertex of largest degree]
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    #[command(flatten)]
    targets: Targets,
}

impl super::Params for Params {
    type Algorithm = Reach;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Reach> {
        let mut run = graph.reach();
        if let Some(source) = &self.source {
            run = run.source(source);
        }
        apply!(run, self.targets, target, targets_file)
    }

    fn answer(&self, found: &ReachSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        let mut lines = vec![("reach", keys::origin(&found.source, 1, found.source_chosen))];
        lines.extend(keys::lines(&found.targets));
        (lines, keys::outcome(&found.targets))
    }
}
