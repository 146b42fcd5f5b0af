//! `cenote shard`: cuts a graph into shards, for several machines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use cenote::Graph;
use cenote::memory::MemorySize;
use cenote::shards::{Sharding, ShardsWritten};
use serde::Serialize;

use crate::args::{Report, Threads};
use crate::cancel::{self, Guard};
use crate::graph_file::{GraphArg, SnapshotArg};
use crate::output::{self, count, size};
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;

/// Cut a graph into shards, for several machines
///
/// Each shard is an ordinary graph file with the lists of a range of vertices, so that all have
/// nearly equally many edges. Beside each is a Parquet file with your ids of its vertices, and in
/// shards.json their sizes, ranges, boundaries and checksums; `cenote check DIR` verifies all of
/// it. The Python package runs algorithms on them: see cenote.ray.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote shard kron.cenote --shards 4 --out kron.shards
  cenote shard kron.cenote --shards 16 --out kron.shards --memory 512MiB")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    #[command(flatten)]
    at: SnapshotArg,
    /// How many shards
    #[arg(long, value_name = "N")]
    shards: u64,
    /// Folder to write, which must not exist or be empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Memory budget: a size such as 256MiB, or a percentage of the graph's pages [default: half of
    /// the machine's memory]
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemorySize>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    report: Report,
}

/// The report.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    out: &'a Path,
    #[serde(flatten)]
    written: &'a ShardsWritten,
}

/// Writes the shards.
pub fn run(args: &Args) -> Result<Outcome> {
    let graph = args.graph.open(&args.at)?;
    let written = write(&graph, args.shards, &args.out, args.memory, args.threads)?;
    if args.report.json {
        output::json(&Summary { out: &args.out, written: &written })?;
    } else {
        print(&args.out, &written)?;
    }
    Ok(Outcome::Done)
}

/// Writes the shards of a graph, and shows progress.
pub(super) fn write(
    graph: &Graph,
    shards: u64,
    out: &Path,
    memory: Option<MemorySize>,
    threads: Threads,
) -> Result<ShardsWritten> {
    let mut sharding = Sharding::new(graph, shards).threads(threads.count());
    sharding = sharding.cancel(cancel::cancelled);
    if let Some(memory) = memory {
        sharding = sharding.memory(memory);
    }
    let _guard = Guard::new(out);
    let bar = Arc::new(Progress::new("shard", None, Unit::Items));
    let shown = Arc::clone(&bar);
    let written = sharding.progress(move |done, total| shown.set(done, total)).write(out)?;
    bar.end();
    Ok(written)
}

/// Prints what was written.
pub(super) fn print(out: &Path, written: &ShardsWritten) -> Result<()> {
    let manifest = &written.manifest;
    let rows = manifest.shards.iter().enumerate().map(|(index, shard)| {
        let entries = shard.out_entries + shard.in_entries;
        [
            index.to_string(),
            count(shard.first_vertex),
            count(shard.vertices),
            count(entries),
            count(shard.boundary_vertices()),
            size(shard.bytes),
        ]
    });
    let header = ["shard", "first vertex", "vertices", "entries", "boundary", "bytes"];
    output::line(output::table(header, rows, 0))?;
    let (vertices, edges) = (count(manifest.vertices), count(manifest.edges));
    let (bytes, read) = (size(written.written_bytes), size(written.bytes_read));
    let boundary = count(manifest.boundary_vertices());
    output::line(format_args!(
        "{}: {vertices} vertices, {edges} edges, {boundary} in boundaries, {bytes}; {read} read, \
         {:.2} s",
        out.display(),
        written.seconds
    ))
}
