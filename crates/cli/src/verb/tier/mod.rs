//! `cenote tier`: several devices as one, and what moving pages between them is worth.
//!
//! - [`replay`]: runs page loads through tiers in virtual time, policies side by side
//! - `load`: what is replayed
//! - `grid`: the lists that options name
//! - `row`: what is told of a combination
//! - `table`, `plot`: the rows as a person reads them

mod grid;
mod load;
mod plot;
mod replay;
mod row;
mod table;

use anyhow::Result;
use clap::Subcommand;

use crate::verb::Outcome;

/// Run page loads through several tiers: migration policies side by side
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote tier replay --workload 5hf90,C --policy all")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Replay(Box<replay::Args>),
}

/// Does it.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.what {
        What::Replay(args) => replay::run(args),
    }
}
