//! `cenote tier`: several devices as one, and what moving pages between them is worth.
//!
//! - [`status`]: what lies where on the tiers of a graph
//! - [`rebalance`]: moves all of them to where they belong
//! - [`replay`]: runs page loads through tiers in virtual time, policies side by side
//! - `table`: the rows as a person reads them

mod rebalance;
mod replay;
pub mod status;
mod table;

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

/// Does it.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.what {
        What::Rebalance(args) => rebalance::run(args),
        What::Replay(args) => replay::run(args),
        What::Status(args) => status::run(args),
    }
}
