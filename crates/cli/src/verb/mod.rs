//! One file per verb: its flags, its work, its report.
//!
//! - [`generate`]: generate a graph of a model
//! - [`import`]: build a graph file from edge lists
//! - [`update`]: add and delete edges of a graph
//! - [`merge`]: merge the changes of delta runs and log into the lists
//! - [`snapshot`]: keep the state of a graph under a name
//! - [`compact`]: rewrite a graph in order
//! - [`info`]: describe a graph file
//! - [`check`]: verify every byte of it
//! - [`run`]: run an algorithm
//! - [`demo`]: all steps on real input
//! - [`profile`]: measure the drive under a path
//! - [`estimate`]: estimate the memory and reads of a run
//! - [`neighbors`]: print the lists of vertices
//! - [`export`]: write the edges
//! - [`subgraph`]: write the edges between some vertices
//! - [`shard`]: cut a graph into shards
//! - [`diff`]: print the edges that changed since a snapshot
//! - [`pool`]: replay page loads through the buffer pool
//! - [`tier`]: graphs over several tiers: status, migration, replays
//! - [`completions`]: print the completions of a shell
//! - [`man`]: print man pages
//! - `replays`: what the two replays share

mod check;
mod compact;
mod completions;
mod demo;
mod diff;
mod estimate;
mod export;
mod generate;
mod import;
mod info;
mod man;
mod merge;
mod neighbors;
mod pool;
mod profile;
mod replays;
mod run;
mod shard;
mod snapshot;
mod subgraph;
mod tier;
mod update;

use anyhow::Result;
use clap::Subcommand;

/// How a verb ended, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success.
    Done,
    /// It answered no: a check found a fault, a target was not reached.
    AnsweredNo,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Generate(generate::Args),
    Import(import::Args),
    Update(update::Args),
    Merge(merge::Args),
    Snapshot(snapshot::Args),
    Compact(compact::Args),
    Info(info::Args),
    Check(check::Args),
    Run(run::Args),
    Demo(demo::Args),
    Profile(profile::Args),
    Estimate(estimate::Args),
    Neighbors(neighbors::Args),
    Export(export::Args),
    Subgraph(subgraph::Args),
    Shard(shard::Args),
    Diff(diff::Args),
    Pool(pool::Args),
    Tier(tier::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Verb {
    /// Runs the verb.
    pub fn run(&self) -> Result<Outcome> {
        match self {
            Self::Generate(args) => generate::run(args),
            Self::Import(args) => import::run(args),
            Self::Update(args) => update::run(args),
            Self::Merge(args) => merge::run(args),
            Self::Snapshot(args) => snapshot::run(args),
            Self::Compact(args) => compact::run(args),
            Self::Info(args) => info::run(args),
            Self::Check(args) => check::run(args),
            Self::Run(args) => run::run(args),
            Self::Demo(args) => demo::run(args),
            Self::Profile(args) => profile::run(args),
            Self::Estimate(args) => estimate::run(args),
            Self::Neighbors(args) => neighbors::run(args),
            Self::Export(args) => export::run(args),
            Self::Subgraph(args) => subgraph::run(args),
            Self::Shard(args) => shard::run(args),
            Self::Diff(args) => diff::run(args),
            Self::Pool(args) => pool::run(args),
            Self::Tier(args) => tier::run(args),
            Self::Completions(args) => completions::run(args),
            Self::Man(args) => man::run(args),
        }
    }
}
