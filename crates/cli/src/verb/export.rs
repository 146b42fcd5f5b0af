//! `cenote export`: the edges of a graph, written out again.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cenote::export::{ExportReport, export_parquet, export_text};
use cenote_store::Graph;
use serde::Serialize;

use crate::args::Report;
use crate::cancel;
use crate::edge_file::EdgeFormat;
use crate::graph_file::GraphArg;
use crate::output::{self, count, size};
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;
use cenote::partial::PartialFile;

/// Write the edges of a graph out again
///
/// Each edge comes once, with the ids that it had in the input, and with its weight if it has one.
/// Without --out the edges go to standard output as text: source, target and weight with tabs
/// between them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote export kron.cenote --out kron.parquet
  cenote export kron.cenote | head")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// File to write: .txt or .tsv text, .parquet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    report: Report,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    out: &'a Path,
    edges: u64,
    isolated_vertices: u64,
    file_bytes: u64,
}

/// Writes the edges.
pub fn run(args: &Args) -> Result<Outcome> {
    let graph = args.graph.open()?;
    let Some(out) = &args.out else {
        if args.report.json {
            bail!("--json tells about the file that --out names: give --out FILE");
        }
        let mut stdout = BufWriter::with_capacity(1 << 16, Cancellable(io::stdout().lock()));
        let report = with_progress(|progress| Ok(export_text(&graph, &mut stdout, progress)?))?;
        warn_of_isolated(&graph, report);
        return Ok(Outcome::Done);
    };
    let (report, file_bytes) = write(&graph, out)?;
    warn_of_isolated(&graph, report);
    if args.report.json {
        let ExportReport { edges, isolated: isolated_vertices } = report;
        output::json(&Summary { out, edges, isolated_vertices, file_bytes })?;
    } else {
        let edges = count(report.edges);
        output::line(format_args!("{}: {edges} edges, {}", out.display(), size(file_bytes)))?;
    }
    Ok(Outcome::Done)
}

fn write(graph: &Graph, out: &Path) -> Result<(ExportReport, u64)> {
    let format = EdgeFormat::of(out)?;
    if matches!(format, EdgeFormat::U32 | EdgeFormat::U64) {
        bail!("{}: cannot export to this ending: use .txt, .tsv or .parquet", out.display());
    }
    let failed = || format!("cannot export to {}", out.display());
    let _guard = cancel::Guard::new(out);
    let file = PartialFile::create(out)?;
    let mut sink = Cancellable(file);
    let report = with_progress(|progress| {
        Ok(match format {
            EdgeFormat::Parquet => export_parquet(graph, &mut sink, progress)?,
            _ => export_text(graph, &mut sink, progress)?,
        })
    })
    .with_context(failed)?;
    Ok((report, sink.0.finish()?))
}

fn with_progress<T>(work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> Result<T>) -> Result<T> {
    let bar = Progress::new("export", None, Unit::Items);
    work(&mut |done, total| bar.set(done, total))
}

/// A list of edges cannot say that such vertices exist.
fn warn_of_isolated(graph: &Graph, report: ExportReport) {
    if report.isolated > 0 {
        tracing::warn!(
            "{}: {} vertices without an edge are not in the export",
            graph.device().name(),
            count(report.isolated)
        );
    }
}

/// A sink that fails once Ctrl-C was heard.
struct Cancellable<W>(W);

impl<W: Write> Write for Cancellable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        cancel::check().map_err(io::Error::other)?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
