//! `cenote run wcc` on edges that are not imported.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use cenote::components::EdgeStats;
use cenote::import::{Format, Header, IdKind, InputSpec};
use cenote::{Components, Graph};

use super::components::{Weak, lines_of};
use super::{Line, RunOf};
use crate::cancel::{Guard, cancelled};
use crate::output::{self, count, size};
use crate::progress::{Progress, of_import};
use crate::verb::Outcome;
use crate::verb::import::{HEADERS, ID_KINDS, named};

pub const EXAMPLES: &str = "\
Examples:
  cenote run wcc kron.cenote --memory 256MiB
  cenote run wcc pairs.cenote --out components.parquet
  cenote run wcc pairs.cenote --since components.parquet --out newer.parquet
  cenote run wcc pairs.parquet --out components.parquet
  cenote run wcc links.csv more.csv.gz --source-column a --target-column b --out components.csv
  zcat pairs.gz | cenote run wcc - --format edges --memory 4GiB";

/// Flags of `cenote run wcc`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: RunOf<Weak>,
    #[command(flatten)]
    edges: EdgeArgs,
}

/// Edges in place of a graph, as `cenote import` reads them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Edges in place of a graph")]
struct EdgeArgs {
    /// More files of edges, if the first one is a file of edges
    #[arg(value_name = "INPUT")]
    more: Vec<PathBuf>,
    /// File of vertices, which may have no edge: an id a line, or .u32 and .u64 integers
    #[arg(long, value_name = "FILE")]
    vertices: Vec<PathBuf>,
    /// Format of the files, if their extensions do not give it
    #[arg(long, value_name = "FORMAT", value_parser = named(&Format::NAMES))]
    format: Option<Format>,
    /// Column of the source in CSV, TSV and Parquet: its name, or its number from 1
    #[arg(long, value_name = "COLUMN")]
    source_column: Option<String>,
    /// Column of the target
    #[arg(long, value_name = "COLUMN")]
    target_column: Option<String>,
    /// Whether the first line of CSV and TSV names the columns [default: auto]
    #[arg(long, value_name = "auto|yes|no", value_parser = named(&HEADERS))]
    header: Option<Header>,
    /// Kind of the vertex ids [default: auto]
    #[arg(long, value_name = "auto|integer|string", value_parser = named(&ID_KINDS))]
    ids: Option<IdKind>,
    /// Folder for the copy of standard input, which is kept while ids may turn out to be strings
    /// [default: that of the system]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
}

impl EdgeArgs {
    /// The first of these flags that is given.
    fn given(&self) -> Option<&'static str> {
        let flags = [
            (!self.more.is_empty(), "a second INPUT"),
            (!self.vertices.is_empty(), "--vertices"),
            (self.format.is_some(), "--format"),
            (self.source_column.is_some(), "--source-column"),
            (self.target_column.is_some(), "--target-column"),
            (self.header.is_some(), "--header"),
            (self.ids.is_some(), "--ids"),
            (self.temp_dir.is_some(), "--temp-dir"),
        ];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }

    fn input(&self, path: &Path) -> InputSpec {
        let mut spec = InputSpec::new(path);
        spec.format = self.format;
        spec.source_column.clone_from(&self.source_column);
        spec.target_column.clone_from(&self.target_column);
        spec.header = self.header.unwrap_or_default();
        spec
    }
}

/// Runs over a graph, or straight over edges.
pub fn run(args: &Args) -> Result<Outcome> {
    let Args { run, edges } = args;
    let (first, has_format) = (&run.plan.graph.graph, edges.format.is_some());
    let paths = || std::iter::once(first).chain(&edges.more);
    if !Graph::is_edges(first, has_format) {
        if let Some(flag) = edges.given() {
            let shown = first.display();
            bail!("{shown}: it is no file of edges that can be read, and {flag} is for edges");
        }
        return run.run();
    }
    if let Some(graph) = paths().find(|path| !Graph::is_edges(path, has_format) && path.exists()) {
        let shown = graph.display();
        bail!(
            "{shown}: it is no file of edges by its contents and its extension: --format names \
               the format; a graph is given alone"
        );
    }
    let since = run.params.since.is_some().then_some("--since");
    if let Some(flag) = run.plan.for_graphs().or(run.output.for_graphs()).or(since) {
        let shown = first.display();
        bail!(
            "{shown}: {flag} is for graph files, and this is read as edges: `cenote import` \
               makes a graph of them"
        );
    }
    straight(run, edges, paths())
}

fn straight<'p>(
    run: &RunOf<Weak>,
    edges: &EdgeArgs,
    paths: impl Iterator<Item = &'p PathBuf>,
) -> Result<Outcome> {
    let _guard = run.output.out.as_deref().map(Guard::new);
    let bar = Progress::bytes("reading");
    let mut components = paths.fold(Components::new(), |all, path| all.input(edges.input(path)));
    components = edges.vertices.iter().fold(components, Components::vertices_path);
    components = components
        .ids(edges.ids.unwrap_or_default())
        .threads(run.plan.threads.given())
        .cancel(cancelled)
        .progress(of_import(&bar));
    if let Some(memory) = run.plan.memory {
        components = components.memory(memory);
    }
    if let Some(folder) = &edges.temp_dir {
        components = components.temp_dir(folder);
    }
    if let Some(path) = &run.output.out {
        components = components.out(path);
    }
    let answer = components.run()?;
    drop(bar);
    if run.plan.json {
        output::json(&answer.report())?;
    } else {
        let mut lines = lines_of(&answer.summary(), answer.stats().vertices);
        lines.extend(facts(answer.stats()));
        output::facts(&lines)?;
    }
    Ok(Outcome::Done)
}

fn facts(stats: &EdgeStats) -> Vec<Line> {
    let busy = 100.0 * stats.cpu_seconds / (stats.seconds * stats.threads as f64).max(1e-9);
    let (edges, bytes) = (count(stats.input_edges), size(stats.bytes_read));
    let rate = count((stats.input_edges as f64 / stats.seconds.max(1e-9)) as u64);
    let (peak, budget) = (size(stats.peak_rss_bytes), size(stats.memory_budget_bytes as u64));
    vec![
        ("time", format!("{:.3} s, {busy:.0}% of {} cores busy", stats.seconds, stats.threads)),
        ("read", format!("{bytes}, {edges} edges, {rate} edges/s")),
        ("rate", format!("{:.2} GB/s", stats.bytes_per_second / 1e9)),
        ("memory", format!("{peak} at the peak, budget {budget}")),
    ]
}
