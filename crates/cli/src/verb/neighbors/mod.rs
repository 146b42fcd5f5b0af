//! `cenote neighbors`: the lists of single vertices, in the user's own ids.
//!
//! - `many`: the lists of many vertices at once

mod many;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use cenote_device::Op;
use cenote_pool::Pool;
use cenote_store::{Direction, Graph, Ids, LookupConfig, VertexId, Weight};
use serde::Serialize;

use crate::args::{Report, Threads};
use crate::graph_file::{self, GraphArg, JsonId, JsonWeight, Opening};
use crate::memory::{self, MemorySize};
use crate::output;
use crate::tiers::members::Access;
use crate::verb::Outcome;
use many::{Asked, Plan};

/// Text that is kept before it is written.
const WRITTEN_AT: usize = 1 << 20;

/// Part of the memory that lists take, and as much as pages do.
const LISTS_SHARE: u64 = 2;

/// Reads in flight, over all threads: those that the drive serves at once, within these bounds.
const READS_MIN: usize = 16;
const READS_MAX: usize = 256;

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
    /// Memory for pages that are read and lists that are told; a percentage is of the machine's
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

/// A vertex's list.
#[derive(Debug, Serialize)]
struct Found {
    vertex: JsonId,
    degree: usize,
    neighbors: Vec<JsonId>,
    /// One for each neighbour, of a weighted graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Vec<JsonWeight>>,
}

/// Reads and prints the lists.
pub fn run(args: &Args) -> Result<Outcome> {
    let is_one = args.vertices.len() == 1 && args.from.is_none();
    let threads = if is_one { 1 } else { args.threads.count() };
    let memory_bytes = args.memory.bytes_of(memory::machine_bytes().unwrap_or_default());
    // One list tells little of what is hot, and others may do the same at this moment.
    let access = if is_one || args.no_migration { Access::Read } else { Access::Move };
    let graph = args.open(access, threads, memory_bytes)?;
    ensure!(
        !args.incoming || graph.has_in_edges(),
        "{}: the graph has no in-edges: import it with --in-edges",
        args.graph.graph.display()
    );
    let plan = Plan {
        direction: if args.incoming { Direction::In } else { Direction::Out },
        threads,
        // A list is there three times: as it came, put together, and in the user's ids. And while
        // one batch is told the next is read.
        pages: memory_bytes / LISTS_SHARE / (2 * 3 * graph.page_bytes() as u64),
    };
    let mut text = Vec::new();
    let mut tell = |found: Found| {
        if args.report.json {
            serde_json::to_writer(&mut text, &found)?;
            text.push(b'\n');
        } else {
            found.write(!is_one, &mut text);
        }
        if text.len() >= WRITTEN_AT {
            output::bytes(&text)?;
            text.clear();
        }
        Ok(())
    };
    let mut asked = Asked::new(&args.vertices, args.from.as_deref())?;
    let told = many::run(&graph, &mut asked, &plan, &mut tell);
    output::bytes(&text)?;
    told.map(|()| Outcome::Done)
}

impl Args {
    fn open(&self, access: Access, threads: usize, memory_bytes: u64) -> Result<Graph> {
        let opening = Opening::new(&self.graph.graph, access, 0)?;
        let model = opening.profile().model();
        opening.open_with(|superblock| {
            let page_bytes = superblock.page_bytes as usize;
            let reads = model.channels(Op::Read, page_bytes as u64) as usize;
            let read_depth = reads.clamp(READS_MIN, READS_MAX).div_ceil(threads);
            let frames = memory_bytes / LISTS_SHARE / Pool::frame_bytes(page_bytes);
            // What all threads may have pinned, and twice that so that one finds room.
            LookupConfig { frames: frames.max(4 * (threads * read_depth) as u64), read_depth }
        })
    }
}

impl Found {
    /// In the user's ids, which ascend.
    fn new(
        graph: &Graph,
        ids: &Ids,
        direction: Direction,
        vertex: VertexId,
        list: &[VertexId],
    ) -> Result<Self> {
        let mut weights = Vec::new();
        graph.read_weights(direction, vertex, &mut weights)?;
        if !weights.is_empty() && !ids.is_natural() {
            let rank = |&v: &VertexId| Ok((ids.rank_of(v)?, v));
            let ranks = list.iter().map(rank).collect::<Result<Vec<_>>>()?;
            let mut ranked: Vec<(_, Weight)> = ranks.into_iter().zip(weights).collect();
            ranked.sort_by_key(|(rank, _)| *rank);
            weights = ranked.into_iter().map(|(_, weight)| weight).collect();
        }
        let names = graph_file::ids_of_list(ids, list)?;
        Ok(Self {
            vertex: JsonId(ids.id_of(vertex)?),
            degree: names.len(),
            neighbors: names.into_iter().map(JsonId).collect(),
            weights: graph.is_weighted().then(|| weights.into_iter().map(JsonWeight).collect()),
        })
    }

    /// A line for each neighbour, with the vertex before it where there are several.
    fn write(&self, with_vertex: bool, text: &mut Vec<u8>) {
        let mut weights = self.weights.iter().flatten();
        let vertex = with_vertex.then(|| self.vertex.0.to_string());
        for JsonId(id) in &self.neighbors {
            if let Some(vertex) = &vertex {
                text.extend_from_slice(vertex.as_bytes());
                text.push(b'\t');
            }
            text.extend_from_slice(id.to_string().as_bytes());
            if let Some(JsonWeight(weight)) = weights.next() {
                text.push(b'\t');
                text.extend_from_slice(weight.to_string().as_bytes());
            }
            text.push(b'\n');
        }
    }
}
