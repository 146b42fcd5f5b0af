//! `cenote neighbors`: the lists of single vertices, in the user's own ids.
//!
//! - `print`: lists as text or JSON

mod print;

use std::path::PathBuf;

use anyhow::Result;
use cenote::memory::{self, MemorySize};
use cenote::{Direction, Graph};

use crate::args::{Report, Threads};
use crate::cancel;
use crate::graph_file::GraphArg;
use crate::verb::Outcome;
use print::{Printer, Style};

/// Print the neighbours of vertices, with the weights of the edges if there are any
///
/// Of one vertex: a neighbour a line. Of several, or with --from: a line for each edge, the vertex
/// first, in the order in which they were asked for. With --json one object a vertex.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote neighbors kron.cenote 17
  cenote neighbors packages.cenote libc6 --in
  cenote neighbors kron.cenote --from asked.txt --memory 1GiB > lists.tsv")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// Vertices, by the ids that they had in the input
    #[arg(value_name = "V", required_unless_present = "from")]
    vertices: Vec<String>,
    /// Further vertices, one id a line, or - for standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Who points at the vertices, of a directed graph with in-edges
    #[arg(long = "in")]
    incoming: bool,
    /// Memory for pages that are read and lists that are printed; a percentage is of the machine's.
    /// One list may take 8 MiB whatever is said
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: MemorySize,
    /// Leave the pages of a graph over tiers where they are
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
    // One list says little of what is hot, and others may read the graph at this moment.
    let migration = !is_one && !args.no_migration;
    let options = Graph::options().migration(migration).lookups(memory_bytes, threads);
    let graph = args.graph.open_with(&options, false)?;
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
    // What was found before the fault is printed, too; the fault is the news.
    let finished = printer.finish();
    printed.and(finished)?;
    graph.close()?;
    Ok(Outcome::Done)
}
