//! `cenote export`: writes the edges of a graph, or its vertices.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use cenote::Graph;
use serde::Serialize;

use crate::args::Report;
use crate::cancel::{self, Guard};
use crate::graph_file::{GraphArg, SnapshotArg};
use crate::output::{self, count, size};
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;

/// Write the edges of a graph to a file
///
/// Each edge is written once, with the ids of the input, and with its weight if it has one. Without
/// --out the edges go to standard output as text: source, target and weight separated by tabs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote export kron.cenote --out kron.parquet
  cenote export kron.cenote --at monday --out monday.parquet
  cenote export kron.cenote --vertices values.tsv
  cenote export kron.cenote | head")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    #[command(flatten)]
    at: SnapshotArg,
    /// File to write: .txt or .tsv text, .parquet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the vertices instead: .txt or .tsv, an id a line with its value, if it has one, or
    /// .parquet with columns `vertex` and `value`
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    vertices: Option<PathBuf>,
    #[command(flatten)]
    report: Report,
}

/// The report.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    out: &'a Path,
    edges: u64,
    isolated_vertices: u64,
    file_bytes: u64,
}

/// The report on vertices.
#[derive(Debug, Serialize)]
struct VertexSummary<'a> {
    out: &'a Path,
    vertices: u64,
    values: u64,
}

/// Writes the edges.
pub fn run(args: &Args) -> Result<Outcome> {
    let graph = args.graph.open(&args.at)?;
    let export = graph.export().cancel(cancel::cancelled);
    if let Some(out) = &args.vertices {
        let _guard = Guard::new(out);
        let bar = Progress::new("export", None, Unit::Items);
        let (vertices, values) = export.write_vertices(out)?;
        drop(bar);
        if args.report.json {
            return output::json(&VertexSummary { out, vertices, values }).map(|()| Outcome::Done);
        }
        let (shown, vertices, values) = (out.display(), count(vertices), count(values));
        output::line(format_args!("{shown}: {vertices} vertices, {values} with a value"))?;
        return Ok(Outcome::Done);
    }
    let bar = Progress::new("export", None, Unit::Items);
    let mut progress = |done, total| bar.set(done, total);
    let Some(out) = &args.out else {
        if args.report.json {
            bail!("--json reports on the file that --out names: give --out FILE");
        }
        let stdout = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let report = export.write_text(stdout, &mut progress)?;
        warn_of_isolated(&graph, report.isolated);
        return Ok(Outcome::Done);
    };
    let _guard = Guard::new(out);
    let done = export.write(out, &mut progress)?;
    drop(bar);
    warn_of_isolated(&graph, done.isolated);
    if args.report.json {
        let (edges, isolated_vertices, file_bytes) = (done.edges, done.isolated, done.file_bytes);
        output::json(&Summary { out, edges, isolated_vertices, file_bytes })?;
    } else {
        let (edges, bytes) = (count(done.edges), size(done.file_bytes));
        output::line(format_args!("{}: {edges} edges, {bytes}", out.display()))?;
    }
    Ok(Outcome::Done)
}

/// Warns of vertices that an edge list cannot represent.
fn warn_of_isolated(graph: &Graph, isolated: u64) {
    if isolated > 0 {
        tracing::warn!(
            "{}: {} vertices without an edge are not in the export",
            graph.path().display(),
            count(isolated)
        );
    }
}
