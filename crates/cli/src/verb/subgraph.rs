//! `cenote subgraph`: writes the edges that some vertices have between them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use cenote::graph::Extracted;
use cenote::memory::MemorySize;
use serde::Serialize;

use crate::args::{Report, Threads};
use crate::cancel::{self, Guard};
use crate::graph_file::{GraphArg, SnapshotArg};
use crate::output::{self, count, size};
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;

/// Write the part of a graph around some vertices
///
/// All edges between the given vertices, or between all vertices that are at most --hops edges away
/// from them, with their weights and your ids. A file that ends in .cenote is a graph; .parquet,
/// .txt, .el and .tsv are lists of edges, which have no vertices without an edge.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote subgraph kron.cenote --source 17 --hops 2 --out near.cenote
  cenote subgraph kron.cenote --sources people.txt --out between.parquet --memory 256MiB")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    #[command(flatten)]
    at: SnapshotArg,
    /// A vertex, by your id; may be given several times
    #[arg(long, value_name = "ID", required_unless_present = "sources")]
    source: Vec<String>,
    /// Further vertices, one id a line
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// How many edges other vertices may be away, on a directed graph along out-edges
    #[arg(long, value_name = "K", default_value_t = 0)]
    hops: u32,
    /// File to write: .cenote, or .parquet, .txt, .el or .tsv
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
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
    extracted: Extracted,
}

/// Writes the subgraph.
pub fn run(args: &Args) -> Result<Outcome> {
    let graph = args.graph.open(&args.at)?;
    let subgraph = graph.subgraph().hops(args.hops).overwrite(args.overwrite);
    let mut subgraph = subgraph.threads(args.threads.count()).cancel(cancel::cancelled);
    for id in &args.source {
        subgraph = subgraph.source(id);
    }
    if let Some(path) = &args.sources {
        subgraph = subgraph.sources_file(path);
    }
    if let Some(memory) = args.memory {
        subgraph = subgraph.memory(memory);
    }
    let _guard = Guard::new(&args.out);
    let bar = Arc::new(Progress::new("subgraph", None, Unit::Items));
    let extracted = subgraph.progress(shown(&bar)).write(&args.out)?;
    bar.end();
    let out = args.out.as_path();
    if args.report.json {
        output::json(&Summary { out, extracted })?;
        return Ok(Outcome::Done);
    }
    if extracted.isolated > 0 {
        let (out, isolated) = (out.display(), count(extracted.isolated));
        tracing::warn!("{out}: {isolated} vertices without an edge are not in it");
    }
    let (vertices, edges) = (count(extracted.vertices), count(extracted.edges));
    let (bytes, read) = (size(extracted.file_bytes), size(extracted.bytes_read));
    output::line(format_args!(
        "{}: {vertices} vertices, {edges} edges, {bytes}; {read} read",
        out.display()
    ))?;
    Ok(Outcome::Done)
}

/// Shows the phases of a subgraph.
fn shown(bar: &Arc<Progress>) -> impl Fn(&'static str, u64, Option<u64>) + Send + Sync + 'static {
    let (bar, last) = (Arc::clone(bar), Mutex::new(""));
    move |phase, done, total| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != phase {
            *last = phase;
            let unit =
                if matches!(phase, "finding" | "exporting") { Unit::Items } else { Unit::Bytes };
            bar.stage(phase, total, unit);
        }
        bar.at(done);
    }
}
