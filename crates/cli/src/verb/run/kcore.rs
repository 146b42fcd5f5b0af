//! `cenote run kcore`.

use anyhow::Result;
use cenote_algo::kcore::{self, KcoreConfig};
use serde::Serialize;

use super::RunOf;
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run kcore kron.cenote --memory 256MiB --out cores.parquet
  cenote run kcore kron.cenote --k 8 --out members.csv";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate kcore kron.cenote --memory 256MiB";

/// Which cores are asked for.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Find only the members of the K-core; exit status 1 if there are none
    #[arg(long, value_name = "K")]
    k: Option<u32>,
}

impl Params {
    fn config(&self) -> KcoreConfig {
        KcoreConfig { k: self.k }
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    k: Option<u32>,
    /// Vertices in the k-core.
    members: Option<u64>,
    /// The largest core number, and how many vertices have it.
    degeneracy: Option<u32>,
    innermost: Option<u64>,
    /// How many vertices have which core number.
    shells: Option<Vec<Shell>>,
}

#[derive(Debug, Serialize)]
struct Shell {
    core: u32,
    vertices: u64,
}

/// Runs it. An empty k-core is an answer of no.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let stopwatch = Stopwatch::start();
    let kcore = kcore::run(&graph, config.clone(), &args.params.config())?;
    let members = kcore.k.map(|k| kcore.members(k));
    let whole = kcore.k.is_none();
    let shells = kcore.shells.iter().map(|&(core, vertices)| Shell { core, vertices });
    let answer = Answer {
        k: kcore.k,
        members,
        degeneracy: whole.then_some(kcore.degeneracy),
        innermost: whole.then(|| kcore.members(kcore.degeneracy)),
        shells: whole.then(|| shells.collect()),
    };
    let mut summary = stopwatch.stop("kcore", &graph, &config, &kcore.run, kcore.rounds, answer);
    if args.output.verify {
        kcore::verify(&graph, &kcore)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        let column = match kcore.k {
            Some(k) => {
                let kcore = &kcore;
                Column::count("member", move |v| Some(u64::from(kcore.core(v) >= k)))
            }
            None => Column::count("core", |v| Some(u64::from(kcore.core(v)))),
        };
        result_file::write(path, &graph, &[column])?;
    }
    let of = count(summary.vertices);
    let lines = match (kcore.k, members) {
        (Some(k), Some(members)) => {
            vec![("members", format!("{} of {of} vertices in the {k}-core", count(members)))]
        }
        _ => {
            let core = count(u64::from(kcore.degeneracy));
            let innermost = count(kcore.members(kcore.degeneracy));
            vec![("degeneracy", core), ("innermost", format!("{innermost} of {of} vertices"))]
        }
    };
    summary.print(args.plan.json, lines)?;
    Ok(if members == Some(0) { Outcome::AnsweredNo } else { Outcome::Done })
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    let estimate = kcore::estimate(&graph, &config, &args.params.config())?;
    estimate::print("kcore", &args.plan, &config, &estimate)
}
