//! `cenote neighbors`: prints the lists of vertices, in the user's ids.
//!
//! - `print`: lists as text or JSON

mod print;

use std::path::PathBuf;

use anyhow::Result;
use cenote::memory::{self, MemorySize};
use cenote::{Direction, Graph};

use crate::args::{Report, Threads};
use crate::cancel;
use crate::graph_file::{GraphArg, SnapshotArg};
use crate::verb::Outcome;
use print::{Printer, Style};

/// Print the neighbours of vertices, with the weights of the edges if there are any
///
/// For one vertex: a neighbour a line. For several, or with --from: a line for each edge, the
/// vertex first, in the given order. With --json one object a vertex.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote neighbors kron.cenote 17
  cenote neighbors packages.cenote libc6 --in
  cenote neighbors kron.cenote --from asked.txt --memory 1GiB > lists.tsv")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    #[command(flatten)]
    at: SnapshotArg,
    /// Vertices, by their ids in the input
    #[arg(value_name = "V", required_unless_present = "from")]
    vertices: Vec<String>,
    /// Further vertices, one id a line, or - for standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Print in-neighbours, of a directed graph with in-edges
    #[arg(long = "in")]
    incoming: bool,
    /// Memory for pages and lists; a percentage is of the machine's memory. One list may take 8 MiB
    /// in any case
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: MemorySize,
    /// Do not move pages of a graph over tiers
    #[arg(long)]
    no_migration: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    report: Report,
}

/// Reads and prints the lists.
pub fn run(args: &Args) -> Result<Outcome> {
    let is_one = args.vertices.len() == 1 && args.from.is_none();
    let threads = if is_one { 1 } else { args.threads.count() };
    let memory_bytes = args.memory.bytes_of(memory::machine_bytes().unwrap_or_default());
    // A policy learns little from one list, and migration would lock out other readers.
    let migration = !is_one && !args.no_migration;
    let options = Graph::options().migration(migration).lookups(memory_bytes, threads);
    let graph = args.graph.open_with(&args.at.of(options), false)?;
    let direction = if args.incoming { Direction::In } else { Direction::Out };
    let mut neighbors = graph.neighbors().direction(direction).threads(threads);
    neighbors = neighbors.memory(memory_bytes).cancel(cancel::cancelled);
    for vertex in &args.vertices {
        neighbors = neighbors.of(vertex);
    }
    if let Some(path) = &args.from {
        neighbors = neighbors.of_file(path);
    }
    let style = match (args.report.json, is_one) {
        (true, _) => Style::Json,
        (false, true) => Style::Neighbors,
        (false, false) => Style::Edges,
    };
    let mut printer = Printer::new(style, graph.stored().is_weighted());
    let printed = neighbors.for_each(|list| printer.print(list));
    // Lists found before a fault are printed, but the fault is reported first.
    let finished = printer.finish();
    printed.and(finished)?;
    graph.close()?;
    Ok(Outcome::Done)
}
