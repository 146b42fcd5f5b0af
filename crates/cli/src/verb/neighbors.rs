//! `cenote neighbors`: one vertex's list, in the user's own ids.

use anyhow::{Result, ensure};
use cenote_store::Direction;
use serde::Serialize;

use crate::args::Report;
use crate::graph_file::{self, GraphArg, JsonId};
use crate::output;
use crate::verb::Outcome;

/// Print the neighbours of a vertex, one a line
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote neighbors kron.cenote 17
  cenote neighbors packages.cenote libc6 --in")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// Vertex, by the id that it had in the input
    #[arg(value_name = "V")]
    vertex: String,
    /// Who points at the vertex, of a directed graph with in-edges
    #[arg(long = "in")]
    incoming: bool,
    #[command(flatten)]
    report: Report,
}

#[derive(Debug, Serialize)]
struct Neighbors {
    vertex: JsonId,
    degree: usize,
    neighbors: Vec<JsonId>,
}

/// Reads and prints the list.
pub fn run(args: &Args) -> Result<Outcome> {
    let graph = args.graph.open()?;
    ensure!(
        !args.incoming || graph.has_in_edges(),
        "{}: the graph has no in-edges: import it with --in-edges",
        args.graph.graph.display()
    );
    let ids = graph.ids()?;
    let vertex = graph_file::vertex_of(&graph, &ids, &args.vertex)?;
    let direction = if args.incoming { Direction::In } else { Direction::Out };
    let mut list = Vec::new();
    graph.read_list(direction, vertex, &mut list)?;
    let names = graph_file::ids_of_list(&ids, &list)?;
    if args.report.json {
        output::json(&Neighbors {
            vertex: JsonId(ids.id_of(vertex)?),
            degree: names.len(),
            neighbors: names.into_iter().map(JsonId).collect(),
        })?;
    } else {
        let lines: String = names.iter().map(|id| format!("{id}\n")).collect();
        output::bytes(lines.as_bytes())?;
    }
    Ok(Outcome::Done)
}
