//! One file per verb: its flags, its work, its report.
//!
//! - [`generate`]: make a graph of a chosen model

mod generate;

use anyhow::Result;
use clap::Subcommand;

/// How a verb ended, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what was asked.
    Done,
    /// It answered no: a check found a fault, a target was not reached.
    #[expect(dead_code, reason = "check answers with it")]
    AnsweredNo,
}

/// What `cenote` can do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Generate(generate::Args),
}

impl Verb {
    /// Does it.
    pub fn run(&self) -> Result<Outcome> {
        match self {
            Self::Generate(args) => generate::run(args),
        }
    }
}
