//! `cenote neighbors`: one vertex's list, in the user's own ids.

use anyhow::{Result, ensure};
use cenote_store::{Direction, Id, VertexId};
use serde::Serialize;

use crate::args::Report;
use crate::graph_file::{self, GraphArg, JsonId, JsonWeight};
use crate::output;
use crate::verb::Outcome;

/// Print the neighbours of a vertex, one a line, with the weights of the edges if there are any
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
    /// One for each neighbour, of a weighted graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Vec<JsonWeight>>,
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
    let mut weights = Vec::new();
    graph.read_weights(direction, vertex, &mut weights)?;
    if !weights.is_empty() && !ids.is_natural() {
        // The neighbours are shown by ascending ids.
        let rank = |&v: &VertexId| Ok((ids.rank_of(v)?, v));
        let ranks = list.iter().map(rank).collect::<Result<Vec<_>>>()?;
        let mut ranked: Vec<_> = ranks.into_iter().zip(weights).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        weights = ranked.into_iter().map(|(_, weight)| weight).collect();
    }
    let names = graph_file::ids_of_list(&ids, &list)?;
    if args.report.json {
        output::json(&Neighbors {
            vertex: JsonId(ids.id_of(vertex)?),
            degree: names.len(),
            neighbors: names.into_iter().map(JsonId).collect(),
            weights: graph.is_weighted().then(|| weights.into_iter().map(JsonWeight).collect()),
        })?;
    } else {
        let mut weights = weights.iter();
        let line = |id: &Id| match weights.next() {
            Some(weight) => format!("{id}\t{weight}\n"),
            None => format!("{id}\n"),
        };
        let lines: String = names.iter().map(line).collect();
        output::bytes(lines.as_bytes())?;
    }
    Ok(Outcome::Done)
}
