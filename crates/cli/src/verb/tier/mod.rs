//! `cenote tier`: graphs over several drives, and replays of migration policies.
//!
//! - [`status`]: shows the use of a graph's tiers
//! - [`rebalance`]: moves all blocks to their tiers at once
//! - [`replay`]: replays page loads through tiers in virtual time

mod rebalance;
mod replay;
pub mod status;

use anyhow::Result;
use clap::Subcommand;

use crate::verb::Outcome;

/// Graphs over several drives, and policies that move pages between them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote tier status kron.cenote
  cenote tier rebalance kron.cenote
  cenote tier replay --workload 5hf90,C --policy all")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Rebalance(rebalance::Args),
    Replay(Box<replay::Args>),
    Status(status::Args),
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.what {
        What::Rebalance(args) => rebalance::run(args),
        What::Replay(args) => replay::run(args),
        What::Status(args) => status::run(args),
    }
}
