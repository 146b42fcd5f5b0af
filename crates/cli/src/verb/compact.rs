//! `cenote compact`: rewrites a graph as an import of its edges would write it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use cenote::compact::CompactReport;
use cenote::memory::{self, MemorySize};
use cenote::{Compact, Warning};
use cenote_store::{HubNeighboursChoice, Order};
use serde::Serialize;

use super::import::{CHOICES, ORDERS, free_space, named, ordered};
use super::update::memory_bytes;
use crate::args::{Report, Threads};
use crate::cancel::{Guard, cancelled};
use crate::graph_file::GraphArg;
use crate::output::{self, count, size};
use crate::progress::{Progress, of_import};
use crate::verb::Outcome;

/// Rewrite a graph in order, without log and free pages
///
/// After updates pages lie out of order, new vertices come last, and freed pages stay in the file.
/// Compacting writes the graph as an import of its edges and vertices would, beside the old file,
/// and then puts it in its place: after an error or a power cut the graph is the old one or the new
/// one, whole. Meanwhile updates are refused; runs keep the file that they have open.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote compact kron.cenote
  cenote compact roads.cenote --order bfs --memory 512MiB
  cenote compact kron.cenote --out compacted.cenote --json
  cenote compact kron.cenote --at monday --out monday.cenote")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// Write another graph file and leave this one as it is
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the graph as it was at this snapshot
    #[arg(long, value_name = "NAME", requires = "out")]
    at: Option<String>,
    /// Replace the file of --out if it exists
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// Order of the vertices, as in `cenote import` [default: the graph's]
    #[arg(long, value_name = "natural|degree|bfs|cluster|random", value_parser = named(&ORDERS))]
    order: Option<Order>,
    /// Seed of `--order random`
    #[arg(long, value_name = "N", default_value = "1", requires = "order")]
    seed: u64,
    /// Store hub neighbours, as in `cenote import` [default: if the graph has them; where updates
    /// have removed them, auto]
    #[arg(long, value_name = "auto|yes|no", value_parser = named(&CHOICES))]
    hub_neighbours: Option<HubNeighboursChoice>,
    /// Percent of each page of lists that stay free, as in `cenote import` [default: the graph's]
    #[arg(long, value_name = "PERCENT", value_parser = free_space())]
    free_space: Option<u32>,
    /// Memory budget; a percentage is of the machine's memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: MemorySize,
    /// Folder of temporary files [default: that of the new graph file]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    report: Report,
}

/// The report.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    graph: &'a Path,
    #[serde(flatten)]
    report: &'a CompactReport,
    peak_rss_bytes: u64,
    memory_budget_bytes: u64,
}

/// Compacts the graph and prints the report.
pub fn run(args: &Args) -> Result<Outcome> {
    let memory_budget_bytes = memory_bytes(args.memory)?;
    let graph = args.out.as_ref().unwrap_or(&args.graph.graph);
    // The new file lies where the graph does, not where a link to it does.
    let guard = Guard::new(&graph.canonicalize().unwrap_or_else(|_| graph.clone()));
    let bar = Progress::bytes("compact");
    let compact = args.builder().cancel(cancelled).progress(of_import(&bar));
    let report = compact.run()?;
    drop((bar, guard));
    let usual = |warning: &&Warning| matches!(warning, Warning::NotProfiled { .. });
    let warnings = report.warnings.iter().filter(|warning| !usual(warning));
    warnings.for_each(|warning| tracing::warn!("{warning}"));
    let peak_rss_bytes = memory::peak_rss_bytes();
    if args.report.json {
        output::json(&Summary { graph, report: &report, peak_rss_bytes, memory_budget_bytes })?;
    } else {
        print(graph, &report)?;
    }
    Ok(Outcome::Done)
}

impl Args {
    fn builder(&self) -> Compact<'_> {
        let mut compact =
            Compact::new(&self.graph.graph).memory(self.memory).threads(self.threads.given());
        if let Some(out) = &self.out {
            compact = compact.out(out);
        }
        if let Some(name) = &self.at {
            compact = compact.at(name);
        }
        if self.overwrite {
            compact = compact.overwrite();
        }
        if let Some(order) = self.order {
            compact = compact.order(ordered(order, self.seed));
        }
        if let Some(choice) = self.hub_neighbours {
            compact = compact.hub_neighbours(choice);
        }
        if let Some(percent) = self.free_space {
            compact = compact.free_space(percent);
        }
        if let Some(folder) = &self.temp_dir {
            compact = compact.temp_dir(folder);
        }
        compact
    }
}

fn print(graph: &Path, report: &CompactReport) -> Result<()> {
    let removed = format!(
        "{} free pages, {} changes of the log, {} deleted vertices",
        count(report.free_pages),
        count(report.merged),
        count(report.deleted_vertices)
    );
    output::facts(&[
        ("graph", graph.display().to_string()),
        ("vertices", format!("{}, order {}", count(report.vertices), report.order)),
        ("edges", count(report.edges)),
        ("before", size(report.bytes_before)),
        ("after", size(report.bytes_after)),
        ("removed", removed),
        ("seconds", format!("{:.2}", report.seconds)),
        ("peak memory", size(memory::peak_rss_bytes())),
    ])
}
