//! One file per verb: its flags, its work, its report.
//!
//! - [`generate`]: make a graph of a chosen model
//! - [`import`]: build a graph file from edge lists
//! - [`info`]: describe a graph file
//! - [`check`]: verify every byte of it
//! - [`run`]: run an algorithm
//! - [`demo`]: the whole way on real input
//! - [`profile`]: measure the drive under a path
//! - [`estimate`]: tell the memory and the bytes that a run will need
//! - [`neighbors`]: print one vertex's list
//! - [`export`]: write the edges out again
//! - [`pool`]: replay page loads through the buffer pool
//! - [`tier`]: replay page loads through several tiers
//! - `replays`: what the two replays share

mod check;
mod demo;
mod estimate;
mod export;
mod generate;
mod import;
mod info;
mod neighbors;
mod pool;
mod profile;
mod replays;
mod run;
mod tier;

use anyhow::Result;
use clap::Subcommand;

/// How a verb ended, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what was asked.
    Done,
    /// It answered no: a check found a fault, a target was not reached.
    AnsweredNo,
}

/// What `cenote` can do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Generate(generate::Args),
    Import(import::Args),
    Info(info::Args),
    Check(check::Args),
    Run(run::Args),
    Demo(demo::Args),
    Profile(profile::Args),
    Estimate(estimate::Args),
    Neighbors(neighbors::Args),
    Export(export::Args),
    Pool(pool::Args),
    Tier(tier::Args),
}

impl Verb {
    /// Does it.
    pub fn run(&self) -> Result<Outcome> {
        match self {
            Self::Generate(args) => generate::run(args),
            Self::Import(args) => import::run(args),
            Self::Info(args) => info::run(args),
            Self::Check(args) => check::run(args),
            Self::Run(args) => run::run(args),
            Self::Demo(args) => demo::run(args),
            Self::Profile(args) => profile::run(args),
            Self::Estimate(args) => estimate::run(args),
            Self::Neighbors(args) => neighbors::run(args),
            Self::Export(args) => export::run(args),
            Self::Pool(args) => pool::run(args),
            Self::Tier(args) => tier::run(args),
        }
    }
}
