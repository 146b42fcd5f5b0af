//! `cenote tier status`: what lies on which tier.

use std::fmt;

use anyhow::Result;
use cenote_device::profile::Profile;
use cenote_tier::device::TierUse;
use cenote_tier::device::header::TierHeader;
use cenote_tier::spec::TierSpec;
use serde::Serialize;

use crate::args::Report;
use crate::graph_file::GraphArg;
use crate::output::{self, count, size};
use crate::verb::Outcome;
use cenote::tiers::kept::{Done, Kept};
use cenote::tiers::members::{self, Access, Members};
use cenote::tiers::spec::named_file;

/// Show what lies on which tier of a graph, and what was moved so far
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

/// One tier as it is told.
#[derive(Debug, Serialize)]
pub struct TierStatus {
    name: String,
    file: String,
    /// Bytes of the graph that lie there, and that could.
    used_bytes: u64,
    capacity_bytes: u64,
    blocks: u64,
    /// Time of a read of a block, as its drive's profile says, and the cost of a write in reads.
    read_us: f64,
    alpha: f64,
    k_r: u32,
    k_w: u32,
    profile_assumed: bool,
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

/// Shows it.
pub fn run(args: &Args) -> Result<Outcome> {
    let path = &args.graph.graph;
    members::require_map(path)?;
    let members = Members::open(path, Access::Read, 0)?;
    let header = members.device.header();
    let kept = Kept::find(path, &header.id)?;
    let status = Status {
        graph: path.display().to_string(),
        block_bytes: header.block_bytes,
        blocks: members.device.blocks(),
        tiers: tiers(&members)?,
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

/// All tiers of a graph, from the fastest.
pub fn tiers(members: &Members) -> Result<Vec<TierStatus>> {
    let header = members.device.header();
    let block_bytes = u64::from(header.block_bytes);
    let uses = members.device.tiers().into_iter().zip(&header.tiers);
    let known = members.speeds()?.into_iter().zip(&members.profiles);
    let tell =
        |((used, tier), (speed, profile)): ((TierUse, &TierHeader), (TierSpec, &Profile))| {
            TierStatus {
                name: named_file(tier).0.to_owned(),
                file: used.file,
                used_bytes: used.blocks * block_bytes,
                capacity_bytes: (used.slots - used.spare) * block_bytes,
                blocks: used.blocks,
                read_us: speed.read_ns as f64 / 1e3,
                alpha: speed.alpha(),
                k_r: speed.k_r,
                k_w: speed.k_w,
                profile_assumed: profile.assumed,
            }
        };
    Ok(uses.zip(known).map(tell).collect())
}

/// As it is told within a line.
impl fmt::Display for TierStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, used_bytes, capacity_bytes, .. } = self;
        write!(f, "{name} {} of {}", size(*used_bytes), size(*capacity_bytes))
    }
}

impl TierStatus {
    fn cells(&self, blocks: u32) -> [String; 9] {
        let assumed = if self.profile_assumed { " assumed" } else { "" };
        [
            self.name.clone(),
            self.file.clone(),
            size(self.used_bytes),
            size(self.capacity_bytes),
            format!("{:.1}%", 100.0 * self.blocks as f64 / f64::from(blocks.max(1))),
            format!("{:.0}{assumed}", self.read_us),
            format!("{:.1}", self.alpha),
            self.k_r.to_string(),
            self.k_w.to_string(),
        ]
    }
}

impl Status {
    fn print(&self) -> Result<()> {
        let header =
            ["tier", "file", "used", "capacity", "share", "read us", "alpha", "k_r", "k_w"];
        let rows = self.tiers.iter().map(|tier| tier.cells(self.blocks));
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
