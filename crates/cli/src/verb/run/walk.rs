//! `cenote run walk`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Result;
use cenote::Graph;
use cenote::algo::walk::{DeadEnds, WalkConfig};
use cenote::algorithm::{StartsAt, Walk, WalkSummary};
use cenote::run::{Run, Stats};

use super::plan::PlanArgs;
use super::{Line, OutputArgs};
use crate::args::ReportArgs;
use crate::output::{count, size};
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run walk kron.cenote --walkers 1000000 --starts random --steps 10 --memory 10%
  cenote run walk friends.cenote --per-vertex 10 --steps 80 --p 0.5 --q 2 --out corpus.txt
  cenote run walk web.cenote --source example.org --walkers 1000 --restart 0.15 --out walks.npy
  cenote run walk roads.cenote --weighted --starts random --walkers 100000 --memory 10%";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate walk kron.cenote --walkers 1000000 --starts random --memory 10%";

/// Flags of `cenote run walk`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    params: Params,
    /// Check a sample of the walks with a serial algorithm (takes time)
    #[arg(long)]
    verify: bool,
    /// Show each step: its frontier, pages, requests and time
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    page: ReportArgs,
}

/// Flags of the walks.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Number of walks
    #[arg(long, value_name = "N", conflicts_with = "per_vertex")]
    walkers: Option<u64>,
    /// Walks from each start [default: 1, unless --walkers is given]
    #[arg(long, value_name = "K")]
    per_vertex: Option<u64>,
    /// Where walks start: all (one vertex after another), random, or a file with one id a line
    #[arg(long, value_name = "STARTS", default_value = "all")]
    starts: StartsArg,
    /// Start all walks from this vertex, by your id
    #[arg(long, value_name = "ID", conflicts_with = "starts")]
    source: Option<String>,
    /// Steps of each walk
    #[arg(long, value_name = "N", default_value_t = WalkConfig::default().steps)]
    steps: u32,
    /// Probability of going back to the start instead of to a neighbour
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          default_value_t = WalkConfig::default().restart)]
    restart: f64,
    /// node2vec: weight 1/P of the step back to the vertex before
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          default_value_t = WalkConfig::default().p)]
    p: f64,
    /// node2vec: weight 1/Q of a step to a vertex that the vertex before has no edge to
    #[arg(long, value_name = "Q", allow_negative_numbers = true,
          default_value_t = WalkConfig::default().q)]
    q: f64,
    /// What a walk does at a vertex without an out-neighbour: end, or restart from its start
    #[arg(long, value_name = "WHAT", default_value = "end", value_parser = dead_ends)]
    dead_ends: DeadEnds,
    /// Choose neighbours in proportion to the weights of the edges
    ///
    /// Edges of weight 0 are never taken, and a vertex without others is a dead end. --p and --q
    /// multiply the weights, as in node2vec.
    #[arg(long)]
    weighted: bool,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = WalkConfig::default().seed)]
    seed: u64,
    /// Write the walks, one a row, to FILE.txt, FILE.txt.zst, FILE.parquet or FILE.npy
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Debug)]
enum StartsArg {
    All,
    Random,
    File(PathBuf),
}

impl FromStr for StartsArg {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(match text {
            "all" => Self::All,
            "random" => Self::Random,
            file => Self::File(file.into()),
        })
    }
}

fn dead_ends(text: &str) -> std::result::Result<DeadEnds, String> {
    match text {
        "end" => Ok(DeadEnds::End),
        "restart" => Ok(DeadEnds::Restart),
        _ => Err("expected end or restart".to_owned()),
    }
}

impl super::Params for Params {
    type Algorithm = Walk;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Walk> {
        let starts = match (&self.source, &self.starts) {
            (Some(id), _) => StartsAt::Vertex(id.clone()),
            (None, StartsArg::All) => StartsAt::All,
            (None, StartsArg::Random) => StartsAt::Random,
            (None, StartsArg::File(path)) => StartsAt::File(path.clone()),
        };
        let mut run = graph
            .walk()
            .starts(starts)
            .steps(self.steps)
            .restart(self.restart)
            .p(self.p)
            .q(self.q)
            .dead_ends(self.dead_ends)
            .weighted(self.weighted)
            .seed(self.seed);
        if let Some(walkers) = self.walkers {
            run = run.walkers(walkers);
        }
        match self.per_vertex {
            Some(walks) => run.per_vertex(walks),
            None => run,
        }
    }

    fn out(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    fn answer(&self, found: &WalkSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        let batches = match found.batches {
            0 | 1 => String::new(),
            batches => format!(" in {} batches", count(batches)),
        };
        let (steps, restarts) = (count(found.steps), count(found.restarts));
        let mut lines = vec![
            ("walk", format!("{} walks{batches}", count(found.walkers))),
            ("steps", format!("{steps} along edges, {restarts} back to the start")),
            ("dead ends", count(found.dead_ends)),
            ("fingerprint", found.fingerprint.clone()),
        ];
        lines.extend(found.corpus_bytes.map(|bytes| ("corpus", size(bytes))));
        (lines, Outcome::Done)
    }
}

/// Runs the walks.
pub fn run(args: &Args) -> Result<Outcome> {
    let Args { plan, params, verify, explain, page } = args;
    let (out, page) = (params.out.clone(), page.clone());
    super::execute(plan, params, &OutputArgs { out, verify: *verify, explain: *explain, page })
}
