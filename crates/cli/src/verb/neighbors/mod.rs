//! `cenote neighbors`: the lists of single vertices, in the user's own ids.
//!
//! - `many`: the lists of many vertices at once
//! - `tell`: lists as text or JSON

mod many;
mod tell;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use cenote_device::Op;
use cenote_pool::Pool;
use cenote_store::superblock::{SectionKind, Superblock};
use cenote_store::{Direction, Graph, LookupConfig};

use crate::args::{Report, Threads};
use crate::graph_file::{GraphArg, Opening};
use crate::verb::Outcome;
use cenote::memory::{self, MemorySize};
use cenote::tiers::members::Access;
use many::{Asked, Plan};
use tell::{Style, Teller};

/// Part of the memory that lists take, and as much as pages do.
const LISTS_SHARE: u64 = 2;

/// Reads in flight, over all threads: those that the drive serves at once, within these bounds.
const READS_MIN: usize = 16;
const READS_MAX: usize = 256;

/// Frames of a thread for each of its reads: what it may have pinned, and as much again so that it
/// finds room.
const FRAMES_PER_READ: usize = 4;

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
    /// Memory for pages that are read and lists that are told; a percentage is of the machine's. One
    /// list may take 8 MiB whatever is said
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
    // One list tells little of what is hot, and others may do the same at this moment.
    let access = if is_one || args.no_migration { Access::Read } else { Access::Move };
    let graph = args.open(access, threads, memory_bytes)?;
    ensure!(
        !args.incoming || graph.has_in_edges(),
        "{}: the graph has no in-edges: import it with --in-edges",
        args.graph.graph.display()
    );
    let style = match (args.report.json, is_one) {
        (true, _) => Style::Json,
        (false, true) => Style::Neighbors,
        (false, false) => Style::Edges,
    };
    let direction = if args.incoming { Direction::In } else { Direction::Out };
    let lists_bytes = memory_bytes.saturating_sub(graph.memory_bytes() as u64) / LISTS_SHARE;
    let plan = Plan { direction, threads, lists_bytes };
    let mut asked = Asked::new(&args.vertices, args.from.as_deref())?;
    let mut teller = Teller::new(&graph, direction, style)?;
    let told = many::run(&graph, &mut asked, &plan, &mut |vertex, list| teller.tell(vertex, list));
    // What was found before the fault is told, too; the fault is the news.
    let finished = teller.finish();
    told.and(finished).map(|()| Outcome::Done)
}

impl Args {
    fn open(&self, access: Access, threads: usize, memory_bytes: u64) -> Result<Graph> {
        let opening = Opening::new(&self.graph.graph, access, 0)?;
        let model = opening.profile().model();
        let free = memory_bytes.saturating_sub(opening.memory_bytes() as u64);
        opening.open_with(|superblock| {
            let page_bytes = superblock.page_bytes as usize;
            let free = free.saturating_sub(index_bytes(superblock));
            let frames = free / LISTS_SHARE / Pool::frame_bytes(page_bytes);
            let reads = model.channels(Op::Read, page_bytes as u64) as usize;
            let reads = reads.clamp(READS_MIN, READS_MAX).div_ceil(threads);
            let least = FRAMES_PER_READ * threads;
            let read_depth = reads.min(frames as usize / least).max(1);
            LookupConfig { frames: frames.max(least as u64), read_depth }
        })
    }
}

/// What the page indexes of a graph take in memory, about.
fn index_bytes(superblock: &Superblock) -> u64 {
    let indexes = [SectionKind::OutIndex, SectionKind::InIndex];
    let sections = indexes.into_iter().filter_map(|kind| superblock.section(kind));
    sections.map(|section| section.pages * u64::from(superblock.page_bytes)).sum()
}
