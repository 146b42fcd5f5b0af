//! `cenote diff`: what changed since a snapshot.

use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use cenote::Graph;
use cenote::graph::DiffReport;
use serde::Serialize;

use crate::args::Report;
use crate::cancel;
use crate::graph_file::{GraphArg, SnapshotArg};
use crate::output;
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;

/// Memory for the pages of each of the two states.
const PAGES_BYTES: u64 = 32 << 20;

/// Print the edges that changed since a snapshot
///
/// One change a line, as `cenote update --stdin` reads them: `+ u v` for an added edge, `- u v` for
/// a deleted one, in a graph with weights `+ u v w`, and `= u v w` where the weight changed (in one
/// that keeps repeated edges `- u v w` for the edge with the weight before and `+ u v w`); then
/// `+ u` for a new vertex without an edge, and `- u` for a deleted one; then `= u` for a vertex
/// that has no value any more, and `= u value` for one that has another. Only the pages that the
/// two states do not share are read. With --json the changes are counted, not printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote diff kron.cenote --since monday
  cenote diff kron.cenote --since monday --at tuesday --json
  cenote diff kron.cenote --since monday | cenote update copy.cenote --stdin")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// The earlier state: a snapshot, made by `cenote snapshot`
    #[arg(long, value_name = "NAME")]
    since: String,
    #[command(flatten)]
    at: SnapshotArg,
    #[command(flatten)]
    report: Report,
}

/// The report.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    graph: &'a Path,
    since: &'a str,
    added: u64,
    deleted: u64,
    reweighed: u64,
    new_vertices: u64,
    deleted_vertices: u64,
    values_set: u64,
    values_removed: u64,
    pages_read: u64,
    pages: u64,
    seconds: f64,
}

/// Compares the states.
pub fn run(args: &Args) -> Result<Outcome> {
    let start = Instant::now();
    let options = Graph::options().migration(false).lookups(PAGES_BYTES, 1);
    let before = options.clone().at(&args.since).open(&args.graph.graph)?;
    let after = args.graph.open_with(&args.at.of(options), false)?;
    let diff = after.diff(&before).cancel(cancel::cancelled);
    let bar = Progress::new("diff", None, Unit::Items);
    let mut progress = |done, total| bar.set(done, total);
    if !args.report.json {
        let stdout = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        diff.write_text(stdout, &mut progress)?;
        return Ok(Outcome::Done);
    }
    let report = diff.count(&mut progress)?;
    drop(bar);
    let DiffReport { added, deleted, reweighed, new_vertices, .. } = report;
    let DiffReport { deleted_vertices, values_set, values_removed, .. } = report;
    let DiffReport { pages_read, pages, .. } = report;
    output::json(&Summary {
        graph: &args.graph.graph,
        since: &args.since,
        added,
        deleted,
        reweighed,
        new_vertices,
        deleted_vertices,
        values_set,
        values_removed,
        pages_read,
        pages,
        seconds: start.elapsed().as_secs_f64(),
    })?;
    Ok(Outcome::Done)
}
