//! `cenote run dfs`.

use anyhow::Result;
use cenote::Graph;
use cenote::algorithm::{DfsSummary, LexicographicDfs, PseudoDfs};
use cenote::engine::SPLIT_THRESHOLD;
use cenote::run::{Run, Stats};

use super::keys::{self, Targets, apply};
use super::{Line, RunOf};
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run dfs kron.cenote --memory 256MiB
  cenote run dfs debian.cenote --source bash --target libc6 --target libtinfo6
  cenote run dfs debian.cenote --source bash --order lexicographic --out order.csv

Exit status 1 where a target cannot be reached.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate dfs kron.cenote --memory 256MiB";

/// The order of visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// Any order: many stacks in parallel; finds which vertices can be reached
    Pseudo,
    /// The smallest unvisited neighbour first, serially; finds preorder, parents and postorder
    Lexicographic,
}

/// Flags of depth-first search.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// The source, by your id [default: the vertex of largest degree]
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    #[command(flatten)]
    targets: Targets,
    /// The order of visits
    #[arg(long, value_enum, default_value = "pseudo")]
    pub order: Order,
    /// Split a stack of more entries than this (pseudo)
    #[arg(long, value_name = "N", default_value_t = SPLIT_THRESHOLD,
        value_parser = clap::value_parser!(u64).range(1..))]
    threshold: u64,
    /// The most stacks, each with one request in flight (pseudo) [default: from the depth]
    #[arg(long, value_name = "N", value_parser = parse_stacks)]
    stacks: Option<usize>,
}

fn parse_stacks(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a number of stacks, at least 1".to_owned()),
        Ok(stacks) => Ok(stacks),
    }
}

/// Runs pseudo-DFS.
pub struct Pseudo<'a>(pub &'a Params);

/// Runs the lexicographic search.
pub struct Lexicographic<'a>(pub &'a Params);

impl super::Params for Pseudo<'_> {
    type Algorithm = PseudoDfs;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, PseudoDfs> {
        let mut run = graph.dfs().threshold(self.0.threshold);
        if let Some(stacks) = self.0.stacks {
            run = run.stacks(stacks);
        }
        if let Some(source) = &self.0.source {
            run = run.source(source);
        }
        apply!(run, self.0.targets, target, targets_file)
    }

    fn answer(&self, found: &DfsSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let mut lines = vec![("dfs", keys::origin(&found.source, 1, found.source_chosen))];
        if let Some(reached) = found.reached {
            let of = format!("{} of {} vertices", count(reached), count(stats.vertices));
            lines.push(("reached", of));
        }
        lines.extend(found.depth.map(|depth| ("depth", count(depth))));
        lines.extend(keys::lines(&found.targets));
        (lines, keys::outcome(&found.targets))
    }
}

impl super::Params for Lexicographic<'_> {
    type Algorithm = LexicographicDfs;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, LexicographicDfs> {
        let mut run = graph.lexicographic_dfs();
        if let Some(source) = &self.0.source {
            run = run.source(source);
        }
        apply!(run, self.0.targets, target, targets_file)
    }

    fn answer(&self, found: &DfsSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        Pseudo(self.0).answer(found, stats)
    }
}

/// Runs the search in the given order.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (plan, params, output) = (&args.plan, &args.params, &args.output);
    match params.order {
        Order::Pseudo => super::execute(plan, &Pseudo(params), output),
        Order::Lexicographic => super::execute(plan, &Lexicographic(params), output),
    }
}
