//! `cenote run wcc` and `cenote run degrees` on edges that are not imported.

use std::path::PathBuf;

use anyhow::{Result, bail};
use cenote::import::IdKind;
use cenote::straight::{EdgeStats, Finding, Straight};
use cenote::{Components, Degrees, Graph};

use super::components::Weak;
use super::degrees::Counted;
use super::{Line, Params, RunOf, components, degrees};
use crate::cancel::{Guard, cancelled};
use crate::output::{self, count, size};
use crate::progress::{Progress, of_import};
use crate::verb::Outcome;
use crate::verb::import::{FileArgs, ID_KINDS, named};

pub const WCC_EXAMPLES: &str = "\
Examples:
  cenote run wcc kron.cenote --memory 256MiB
  cenote run wcc pairs.cenote --out components.parquet
  cenote run wcc pairs.cenote --since components.parquet --out newer.parquet
  cenote run wcc pairs.parquet --out components.parquet
  cenote run wcc links.csv more.csv.gz --source-column a --target-column b --out components.csv
  zcat pairs.gz | cenote run wcc - --format edges --memory 4GiB";

pub const DEGREES_EXAMPLES: &str = "\
Examples:
  cenote run degrees kron.cenote --out degrees.parquet
  cenote run degrees pairs.parquet --keep-duplicates --out degrees.parquet
  zcat pairs.gz | cenote run degrees - --format edges --keep-duplicates --directed";

/// Flags of `cenote run wcc`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: RunOf<Weak>,
    #[command(flatten)]
    edges: EdgeArgs,
}

/// Flags of `cenote run degrees`.
#[derive(Debug, clap::Args)]
pub struct DegreesArgs {
    #[command(flatten)]
    run: RunOf<Counted>,
    #[command(flatten)]
    edges: EdgeArgs,
    #[command(flatten)]
    kept: KeptArgs,
}

/// Which edges count, as `cenote import` stores them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Edges in place of a graph")]
struct KeptArgs {
    /// Edges lead from source to target
    #[arg(long)]
    directed: bool,
    /// Count repeated edges as often as they occur; needed, since one pass cannot leave them out
    #[arg(long)]
    keep_duplicates: bool,
    /// Count edges from a vertex to itself
    #[arg(long)]
    keep_self_loops: bool,
}

impl KeptArgs {
    /// The first of these flags that is given.
    fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.directed, "--directed"),
            (self.keep_duplicates, "--keep-duplicates"),
            (self.keep_self_loops, "--keep-self-loops"),
        ];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }
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
    #[command(flatten)]
    files: FileArgs,
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
        let before =
            [(!self.more.is_empty(), "a second INPUT"), (!self.vertices.is_empty(), "--vertices")];
        let behind = [(self.ids.is_some(), "--ids"), (self.temp_dir.is_some(), "--temp-dir")];
        let first = |flags: [(bool, &'static str); 2]| {
            flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
        };
        first(before).or(self.files.given()).or(first(behind))
    }
}

/// Components of a graph, or straight of edges.
pub fn wcc(args: &Args) -> Result<Outcome> {
    let Args { run, edges } = args;
    if !is_straight(run, edges, edges.given())? {
        return run.run();
    }
    let since = run.params.since.is_some().then_some("--since");
    refuse(run, since)?;
    let bar = Progress::bytes("reading");
    let over: (Components<'_>, _) = (Components::new(), &bar);
    straight(run, edges, over, components::lines_of)
}

/// Degrees of a graph, or straight of edges.
pub fn degrees(args: &DegreesArgs) -> Result<Outcome> {
    let DegreesArgs { run, edges, kept } = args;
    if !is_straight(run, edges, edges.given().or(kept.given()))? {
        return run.run();
    }
    refuse(run, None)?;
    if !kept.keep_duplicates {
        let shown = run.plan.graph.graph.display();
        bail!(
            "{shown}: one pass over edges cannot leave out repeated ones: count them as often as \
             they occur with --keep-duplicates, or make a graph with `cenote import` and run \
             `cenote run degrees` on it"
        );
    }
    let over = Degrees::new()
        .directed(kept.directed)
        .keep_duplicates(true)
        .keep_self_loops(kept.keep_self_loops);
    let bar = Progress::bytes("reading");
    straight(run, edges, (over, &bar), degrees::lines_of)
}

/// Whether the inputs are edges; an error if they are not and flags for edges are `given`.
fn is_straight<P: clap::Args + Params>(
    run: &RunOf<P>,
    edges: &EdgeArgs,
    given: Option<&'static str>,
) -> Result<bool> {
    let (first, has_format) = (&run.plan.graph.graph, edges.files.has_format());
    // Without these flags a folder is opened as a graph, whose error names sharded graphs.
    let mut paths = std::iter::once(first).chain(&edges.more);
    if given.is_some()
        && let Some(folder) = paths.find(|path| path.is_dir())
    {
        bail!("{}: it is a folder, not a file; give the files in it", folder.display());
    }
    if !Graph::is_edges(first, has_format) {
        if let Some(flag) = given {
            let shown = first.display();
            bail!(
                "{shown}: it is no file of edges by its contents and its extension, and {flag} is \
                   for edges: name the format with --format, or leave {flag} out for a graph"
            );
        }
        return Ok(false);
    }
    let mut paths = std::iter::once(first).chain(&edges.more);
    if let Some(graph) = paths.find(|path| !Graph::is_edges(path, has_format) && path.exists()) {
        let shown = graph.display();
        bail!(
            "{shown}: it is no file of edges by its contents and its extension: --format names \
               the format; a graph is given alone"
        );
    }
    Ok(true)
}

/// Refuses flags that need a graph: those that all runs share, and one of the algorithm.
fn refuse<P: clap::Args + Params>(run: &RunOf<P>, own: Option<&'static str>) -> Result<()> {
    if let Some(flag) = run.plan.for_graphs().or(run.output.for_graphs()).or(own) {
        let shown = run.plan.graph.graph.display();
        bail!(
            "{shown}: {flag} is for graph files, and this is read as edges: `cenote import` \
               makes a graph of them"
        );
    }
    Ok(())
}

fn straight<'b, P: clap::Args + Params, F: Finding>(
    run: &RunOf<P>,
    edges: &EdgeArgs,
    (empty, bar): (Straight<'b, F>, &'b Progress),
    lines_of: impl Fn(&F::Summary, u64) -> Vec<Line>,
) -> Result<Outcome> {
    let _guard = run.output.out.as_deref().map(Guard::new);
    let paths = std::iter::once(&run.plan.graph.graph).chain(&edges.more);
    let mut over = paths.fold(empty, |all, path| all.input(edges.files.input(path, None)));
    over = edges.vertices.iter().fold(over, Straight::vertices_path);
    over = over
        .ids(edges.ids.unwrap_or_default())
        .threads(run.plan.threads.given())
        .cancel(cancelled)
        .progress(of_import(bar));
    if let Some(memory) = run.plan.memory {
        over = over.memory(memory);
    }
    if let Some(folder) = &edges.temp_dir {
        over = over.temp_dir(folder);
    }
    if let Some(path) = &run.output.out {
        over = over.out(path);
    }
    let answer = over.run()?;
    bar.end();
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
