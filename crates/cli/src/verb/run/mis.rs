//! `cenote run mis`.

use anyhow::Result;
use cenote_algo::mis::{self, MisConfig};
use serde::Serialize;

use super::RunOf;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run mis kron.cenote --memory 256MiB
  cenote run mis kron.cenote --seed 7 --out members.csv";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate mis kron.cenote --memory 256MiB";

/// Which set is chosen.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Seed of the priorities: another seed, another set
    #[arg(long, value_name = "N", default_value_t = MisConfig::default().seed)]
    seed: u64,
}

#[derive(Debug, Serialize)]
struct Answer {
    /// Vertices in the set.
    size: u64,
    seed: u64,
    /// Rounds, over lists on the device and in memory.
    rounds: u64,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let mis_config = MisConfig { seed: args.params.seed };
    let stopwatch = Stopwatch::start();
    let mis = mis::run(&graph, config.clone(), &mis_config)?;
    let answer = Answer { size: mis.size, seed: mis_config.seed, rounds: mis.rounds };
    let mut summary = stopwatch.stop("mis", &graph, &config, &mis.run, mis.rounds, answer);
    if args.output.verify {
        mis::verify(&graph, &mis_config, &mis)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let member = Column::count("member", |v| Some(u64::from(mis.contains(v))));
        result_file::write(path, &graph, &[member])?;
    }
    let lines = vec![
        ("in the set", format!("{} of {} vertices", count(mis.size), count(summary.vertices))),
        ("rounds", count(mis.rounds)),
    ];
    summary.print(args.plan.json, lines)?;
    Ok(Outcome::Done)
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    estimate::print("mis", &args.plan, &config, &mis::estimate(&graph, &config)?)
}
