//! `cenote tier rebalance`: moves every block to its tier at once.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use cenote_tier::device::{Progress as Moves, Rebalance};
use cenote_tier::policy::PolicySpec;
use clap::ValueEnum;
use serde::Serialize;

use crate::args::Report;
use crate::cancel;
use crate::graph_file::GraphArg;
use crate::output::{self, count};
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;
use cenote::drive::DriveOptions;
use cenote::tiers::graph::{BATCH, worker_config};
use cenote::tiers::kept::{self, Done, Kept};
use cenote::tiers::members::{self, Access, Members};

/// Move every block to the tier where it belongs, at once
///
/// During runs pages move one by one, as the policy learns which are hot. This command moves all of
/// them: by what the policy has learned so far, or back into the order of an import. It may be
/// interrupted; blocks that have moved stay there.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote tier rebalance kron.cenote
  cenote tier rebalance kron.cenote --by order
  cenote tier rebalance kron.cenote --policy tlfu")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// Blocks for the fastest tier: those that the policy finds hottest, or the first ones of the
    /// graph, as after an import
    #[arg(long, value_name = "heat|order", default_value = "heat")]
    by: By,
    /// Change the policy; the new one has learned nothing yet, so nothing moves now
    #[arg(long, value_name = "POLICY", value_parser = kept::policy, conflicts_with = "by")]
    policy: Option<PolicySpec>,
    #[command(flatten)]
    report: Report,
}

#[derive(Clone, Copy, Debug, ValueEnum, PartialEq, Eq)]
enum By {
    Heat,
    Order,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    graph: &'a Path,
    policy: &'a str,
    /// Moves planned; blocks moved; moves cancelled because blocks or slots were in use; moves that
    /// failed with a device error.
    planned: u64,
    moved: u64,
    dropped: u64,
    failed: u64,
}

/// Moves the blocks and prints the report.
pub fn run(args: &Args) -> Result<Outcome> {
    let path = &args.graph.graph;
    members::require_map(path)?;
    let members = Members::open(path, Access::Move, &DriveOptions::default())?;
    ensure!(
        members.access == Access::Move,
        "{}: its pages cannot be moved now: see the warning",
        path.display()
    );
    let mut kept = Kept::find(path, &members.device.header().id)?;
    let done = match &args.policy {
        Some(policy) => {
            kept.change_policy(policy);
            Moves::default()
        }
        None => rebalance(path, &members, &kept, args.by)?,
    };
    kept.add(Done { moved: done.moved, failed: done.failed, ..Done::default() });
    ensure!(
        members.is_here(path),
        "{}: the graph was replaced while its pages moved",
        path.display()
    );
    kept.save()?;
    cancel::check()?;
    let policy = kept.policy();
    if args.report.json {
        let Moves { planned, moved, dropped, failed } = done;
        let policy = policy.name();
        output::json(&Summary { graph: path, policy, planned, moved, dropped, failed })?;
    } else {
        let stay = done.dropped + done.failed;
        output::facts(&[
            ("policy", policy.name().to_owned()),
            ("moved", format!("{} of {} blocks", count(done.moved), count(done.planned))),
            ("stay", format!("{} that could not be moved", count(stay))),
        ])?;
    }
    Ok(if done.failed > 0 { Outcome::AnsweredNo } else { Outcome::Done })
}

fn rebalance(path: &Path, members: &Members, kept: &Kept, by: By) -> Result<Moves> {
    let device = &members.device;
    let plan = match by {
        By::Order => Rebalance::in_file_order(device),
        By::Heat if kept.state.is_none() => bail!(
            "{}: the policy {} has learned nothing yet: run something first, or give --by order",
            path.display(),
            kept.policy().name()
        ),
        By::Heat => {
            let config = worker_config(members, kept)?;
            Rebalance::by_heat(device, &config.state(kept.state.clone()))?
        }
    };
    let bar = Progress::new("move", Some(plan.moves().len() as u64), Unit::Items);
    let report = |done: Moves| {
        bar.set(done.moved, done.planned);
        if cancel::cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    Ok(plan.carry_out(device, BATCH, report)?)
}
