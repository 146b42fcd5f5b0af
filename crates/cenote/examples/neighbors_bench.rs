//! How fast the lists of random vertices are read, against the drive's random reads:
//! `neighbors_bench FILE COUNT MEMORY_MIB [THREADS]`.
//!
//! Takes vertices whose list fits a page. Three rounds, by turns: the pages of these lists, read at
//! random by a plain loop at the profile's depth k_r; the lists, by `cenote_store::Lookup`; the
//! lists, by the vertices' ids and `Graph::neighbors`, with their lengths and with the ids of all
//! neighbours. Each opens the graph anew and past the page cache. Prints a JSON row each: reads are
//! what Linux counts for the process, in pages.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cenote::{Direction, Graph};
use cenote_device::backend::file::{OpenOptions, open};
use cenote_device::{Arena, Device, Op, QueueConfig, Request};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Vertices that a thread looks up at a time, as `Graph::neighbors` does.
const WINDOW: usize = 4096;

struct Load {
    memory_bytes: u64,
    threads: usize,
    /// Reads in flight, of all threads.
    depth: usize,
    vertices: Vec<u32>,
    /// Where their lists lie.
    pages: Vec<u64>,
    ids: Vec<String>,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, count, mib, threads) = match arguments.as_slice() {
        [path, count, mib] => (path, count, mib, 2),
        [path, count, mib, threads] => (path, count, mib, threads.parse()?),
        _ => return Err("usage: neighbors_bench FILE COUNT MEMORY_MIB [THREADS]".into()),
    };
    let path = Path::new(path);
    let load = choose(path, count.parse()?, mib.parse::<u64>()? << 20, threads)?;
    for round in 0..3 {
        let row = |what: &str, run: &dyn Fn() -> Outcome<u64>| -> Outcome<()> {
            let (before, started) = (read_bytes()?, Instant::now());
            let entries = run()?;
            let seconds = started.elapsed().as_secs_f64();
            let reads = (read_bytes()? - before) / 4096;
            println!(
                "{}",
                json!({"bench": "neighbors", "what": what, "round": round, "seconds": seconds,
                       "lists": load.vertices.len(), "entries": entries, "reads": reads,
                       "reads_per_list": reads as f64 / load.vertices.len() as f64,
                       "reads_per_second": reads as f64 / seconds, "depth": load.depth,
                       "threads": threads, "memory_bytes": load.memory_bytes})
            );
            Ok(())
        };
        row("drive", &|| drive(path, &load))?;
        row("lookup", &|| lookup(path, &load))?;
        row("neighbors, lengths", &|| neighbors(path, &load, false))?;
        row("neighbors, ids", &|| neighbors(path, &load, true))?;
    }
    Ok(())
}

/// Random vertices with a list in one page; vertices may repeat.
fn choose(path: &Path, count: usize, memory_bytes: u64, threads: usize) -> Outcome<Load> {
    let graph = Graph::open(path)?;
    let stored = graph.stored();
    assert_eq!(stored.page_bytes(), 4096, "reads are counted in pages of 4 KiB");
    let lists = stored.adjacency(Direction::Out).ok_or("the graph has no lists")?;
    let depth = graph.profile().model().channels(Op::Read, 4096) as usize;
    let ids = graph.ids()?;
    let mut load =
        Load { memory_bytes, threads, depth, vertices: vec![], pages: vec![], ids: vec![] };
    let mut random = 1_u64;
    while load.vertices.len() < count {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let vertex = ((random >> 20) % graph.vertices()) as u32;
        let pages = lists.pages_of(vertex);
        if pages.start() == pages.end() {
            load.vertices.push(vertex);
            load.pages.push(stored.physical(lists.first_page() + pages.start()));
            load.ids.push(ids.id_of(vertex)?.to_string());
        }
    }
    Ok(load)
}

/// Reads the pages in the order of the vertices, without looking at them.
fn drive(path: &Path, load: &Load) -> Outcome<u64> {
    let device = open(path, &OpenOptions::reading())?;
    let share = load.pages.len().div_ceil(load.threads);
    std::thread::scope(|scope| {
        let reads = load.pages.chunks(share).map(|pages| {
            let device = Arc::clone(&device);
            scope.spawn(move || read_each(device.as_ref(), pages, load.depth / load.threads))
        });
        let reads: Vec<_> = reads.collect();
        reads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    Ok(0)
}

fn read_each(device: &dyn Device, pages: &[u64], depth: usize) -> Outcome<()> {
    let (arena, buffers) = Arena::carve(4096, depth.max(1))?;
    let mut queue = device.queue(&QueueConfig::with_depth(depth.max(1)).arenas(vec![arena]))?;
    let mut pages = pages.iter().map(|page| page * 4096);
    let mut push = |queue: &mut Box<dyn cenote_device::Queue>, buffer| {
        if let Some(offset) = pages.next() {
            queue.push(Request { tag: 0, op: Op::Read, offset, len: 4096, buffer });
        }
    };
    buffers.into_iter().for_each(|buffer| push(&mut queue, buffer));
    let mut completions = Vec::new();
    while queue.in_flight() > 0 {
        queue.reap(1, &mut completions)?;
        for completion in completions.drain(..) {
            completion.result.map_err(|fault| format!("a read failed: {fault}"))?;
            push(&mut queue, completion.buffer);
        }
    }
    Ok(())
}

fn opened(path: &Path, load: &Load) -> Outcome<Graph> {
    Ok(Graph::options().migration(false).lookups(load.memory_bytes, load.threads).open(path)?)
}

/// Entries of the lists, read by vertex.
fn lookup(path: &Path, load: &Load) -> Outcome<u64> {
    let graph = opened(path, load)?;
    let stored = graph.stored();
    let share = load.vertices.len().div_ceil(load.threads);
    std::thread::scope(|scope| {
        let read = |vertices: &[u32]| -> Outcome<u64> {
            let (mut lookup, mut entries) = (stored.lookup()?, 0);
            for window in vertices.chunks(WINDOW) {
                let lists = lookup.read(Direction::Out, window)?;
                entries += lists.iter().map(|list| list.len() as u64).sum::<u64>();
            }
            Ok(entries)
        };
        let threads = load.vertices.chunks(share).map(|part| scope.spawn(move || read(part)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    })
}

/// Entries of the lists, by the ids of the vertices.
fn neighbors(path: &Path, load: &Load, with_ids: bool) -> Outcome<u64> {
    let graph = opened(path, load)?;
    let lookups = graph.neighbors().memory(load.memory_bytes).threads(load.threads);
    let lookups = load.ids.iter().fold(lookups, |lookups, id| lookups.of(id));
    let mut entries = 0;
    lookups.for_each(|list| {
        if with_ids {
            list.for_each(|_, _| {
                entries += 1;
                Ok::<_, cenote::Error>(())
            })?;
        } else {
            entries += list.degree() as u64;
        }
        Ok::<_, cenote::Error>(())
    })?;
    Ok(entries)
}

/// Bytes that Linux has read from a drive for this process.
fn read_bytes() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    Ok(line.ok_or("/proc/self/io has no read_bytes")?.parse()?)
}
