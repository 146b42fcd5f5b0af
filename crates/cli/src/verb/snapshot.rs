//! `cenote snapshot`: keeps the state of a graph under a name, lists such states and removes them.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use cenote::graph::{Snapshot, SnapshotInfo};
use cenote::memory::MemorySize;
use cenote::report::format::utc;
use cenote::{Graph, Update};
use serde::Serialize;

use super::update::{memory_bytes, watched};
use crate::args::Report;
use crate::graph_file::GraphArg;
use crate::output::{self, count};
use crate::verb::Outcome;

/// Keep the state of a graph under a name while it changes
///
/// A snapshot is made without a copy: pages that it shares with the graph are stored once, and
/// updates write to other places. --at NAME reads it: with run, estimate, neighbors, export, info
/// and check. Delta runs and log are merged first. Removing a snapshot lets updates use its pages
/// again; the file does not shrink.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote snapshot kron.cenote
  cenote snapshot kron.cenote --name monday
  cenote run pagerank kron.cenote --at monday --memory 256MiB
  cenote snapshot kron.cenote --list
  cenote snapshot kron.cenote --remove monday --json")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// Name of the snapshot, 1 to 64 bytes without control characters, / and @ [default: epoch-N of
    /// epoch N]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// List the snapshots instead
    #[arg(long, conflicts_with_all = ["name", "remove"])]
    list: bool,
    /// Remove a snapshot instead
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    remove: Option<String>,
    /// Memory budget; a percentage is of the machine's memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: MemorySize,
    #[command(flatten)]
    report: Report,
}

/// The report on a snapshot that was made or removed.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    graph: &'a Path,
    /// What was done: `made` or `removed`.
    action: &'static str,
    #[serde(flatten)]
    snapshot: SnapshotInfo,
    seconds: f64,
}

/// A list of snapshots.
#[derive(Debug, Serialize)]
struct Listing<'a> {
    graph: &'a Path,
    snapshots: Vec<SnapshotInfo>,
}

/// Makes, lists or removes a snapshot and prints the report.
pub fn run(args: &Args) -> Result<Outcome> {
    let path = &args.graph.graph;
    if args.list {
        return list(args);
    }
    let start = Instant::now();
    let mut update = Update::options().memory(memory_bytes(args.memory)?).open(path)?;
    update.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    let (action, done) = watched(&mut update, "snapshot", |update| {
        Ok(match (&args.remove, &args.name) {
            (Some(name), _) => ("removed", update.remove_snapshot(name)?),
            (None, Some(name)) => ("made", update.snapshot(name)?),
            (None, None) => ("made", update.snapshot_of_epoch()?),
        })
    })?;
    let seconds = start.elapsed().as_secs_f64();
    print(args, action, done, seconds)?;
    Ok(Outcome::Done)
}

fn print(args: &Args, action: &'static str, done: Snapshot, seconds: f64) -> Result<()> {
    let (graph, snapshot) = (&args.graph.graph, SnapshotInfo::from(done));
    if args.report.json {
        return output::json(&Summary { graph, action, snapshot, seconds });
    }
    let mut facts = vec![
        ("graph", graph.display().to_string()),
        ("snapshot", snapshot.name.clone()),
        ("made", utc(snapshot.created)),
        ("epoch", count(snapshot.epoch)),
        ("vertices", count(snapshot.vertices)),
        ("edges", count(snapshot.edges)),
        ("seconds", format!("{seconds:.2}")),
    ];
    if action == "removed" {
        facts.insert(6, ("freed", format!("{} pages", count(snapshot.pages_held))));
    }
    output::facts(&facts)
}

fn list(args: &Args) -> Result<Outcome> {
    let path = &args.graph.graph;
    let graph = args.graph.open_with(&Graph::options().migration(false), false)?;
    let snapshots: Vec<_> = graph.snapshots()?.into_iter().map(SnapshotInfo::from).collect();
    if args.report.json {
        output::json(&Listing { graph: path, snapshots })?;
    } else if snapshots.is_empty() {
        output::line(format_args!("{}: no snapshots", path.display()))?;
    } else {
        let row = |snapshot: &SnapshotInfo| {
            let SnapshotInfo { name, epoch, created, vertices, edges, pages_held, .. } = snapshot;
            let numbers = [epoch, vertices, edges, pages_held].map(|number| count(*number));
            [vec![name.clone(), utc(*created)], numbers.to_vec()].concat()
        };
        let header = ["snapshot", "made", "epoch", "vertices", "edges", "pages of its own"];
        output::line(output::table(header, snapshots.iter().map(row), 2))?;
    }
    Ok(Outcome::Done)
}

/// A snapshot in a line.
pub(super) fn summary(snapshot: &SnapshotInfo) -> String {
    let SnapshotInfo { name, epoch, created, pages_held, .. } = snapshot;
    let (epoch, made, pages) = (count(*epoch), utc(*created), count(*pages_held));
    format!("{name}: epoch {epoch}, made {made}, {pages} pages of its own")
}
