//! `cenote pool`: replays of page loads through the buffer pool.
//!
//! - [`replay`]: runs page loads through the pool, in every combination
//! - `sweep`: the option that varies a parameter

pub mod replay;
mod sweep;

use anyhow::Result;
use clap::Subcommand;

use crate::verb::Outcome;

/// Run page loads through the buffer pool: policies, ACE on and off
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote pool replay --workload ms --device sim:optane-p4800x")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Replay(Box<replay::Args>),
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.what {
        What::Replay(args) => replay::run(args),
    }
}
