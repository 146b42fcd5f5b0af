//! `cenote tier status`: shows the use of a graph's tiers.

use anyhow::Result;
use cenote::drive::DriveOptions;
use serde::Serialize;

use crate::args::Report;
use crate::graph_file::GraphArg;
use crate::output::{self, count, size};
use crate::verb::Outcome;
use cenote::tiers::kept::{Done, Kept};
use cenote::tiers::members::{self, Access, Members};
use cenote::tiers::status::{self, TierStatus};

/// Show the use of a graph's tiers, and migration so far
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote tier status kron.cenote
  cenote tier status kron.cenote --json")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    #[command(flatten)]
    report: Report,
}

#[derive(Debug, Serialize)]
struct Status {
    graph: String,
    block_bytes: u32,
    blocks: u32,
    tiers: Vec<TierStatus>,
    policy: String,
    /// Whether the policy has learned anything yet.
    has_state: bool,
    #[serde(flatten)]
    done: Done,
}

/// Prints the status.
pub fn run(args: &Args) -> Result<Outcome> {
    let path = &args.graph.graph;
    members::require_map(path)?;
    let members = Members::open(path, Access::Read, &DriveOptions::default())?;
    let header = members.device.header();
    let kept = Kept::find(path, &header.id)?;
    let status = Status {
        graph: path.display().to_string(),
        block_bytes: header.block_bytes,
        blocks: members.device.blocks(),
        tiers: status::tiers(&members)?,
        policy: kept.policy().name().to_owned(),
        has_state: kept.state.is_some(),
        done: kept.done(),
    };
    if args.report.json {
        output::json(&status)?;
    } else {
        status.print()?;
    }
    Ok(Outcome::Done)
}

impl Status {
    fn print(&self) -> Result<()> {
        let header =
            ["tier", "file", "used", "capacity", "share", "read us", "alpha", "k_r", "k_w"];
        let rows = self.tiers.iter().map(|tier| cells(tier, self.blocks));
        output::line(output::table(header, rows, 2))?;
        let Done { accesses, moved, dropped, failed } = self.done;
        let policy = if self.has_state { "" } else { ", nothing learned yet" };
        output::facts(&[
            ("policy", format!("{}{policy}", self.policy)),
            (
                "moved",
                format!(
                    "{} blocks of {}, of {} accesses",
                    count(moved),
                    size(self.block_bytes.into()),
                    count(accesses)
                ),
            ),
            ("not moved", format!("{} dropped, {} failed", count(dropped), count(failed))),
        ])
    }
}

fn cells(tier: &TierStatus, blocks: u32) -> [String; 9] {
    let assumed = if tier.profile_assumed { " assumed" } else { "" };
    [
        tier.name.clone(),
        tier.file.clone(),
        size(tier.used_bytes),
        size(tier.capacity_bytes),
        format!("{:.1}%", 100.0 * tier.blocks as f64 / f64::from(blocks.max(1))),
        format!("{:.0}{assumed}", tier.read_us),
        format!("{:.1}", tier.alpha),
        tier.k_r.to_string(),
        tier.k_w.to_string(),
    ]
}
