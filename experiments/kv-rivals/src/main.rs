//! The edges of an undirected Kronecker graph, in random order and durable batches, as updates of a
//! graph and as keys of two key-value stores.
//!
//! `kv-rivals ingest ENGINE FOLDER` stores the whole graph from nothing; `kv-rivals commits ENGINE
//! FOLDER` then makes commits of one edge each. Each prints a JSON row; `drive` prints how often
//! the drive takes a write of 4 KiB and a sync. A key is source and target, `u32` big-endian; each
//! edge is stored in both directions. Each engine is a process of its own, so that its peak of
//! memory and its bytes written are its own; `experiments/kv_rivals.py` runs them by turns.
//! `mixed` changes a graph while PageRank runs on a snapshot of it.

mod engine;
mod mixed;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cenote_workload::kron::{Kron, KronConfig};
use cenote_workload::{Edge, EdgeSource};
use clap::{Parser, Subcommand};
use serde_json::{Value, json};

use engine::{Engine, Kind};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Stores a graph, in batches that are durable each
    Ingest {
        engine: Kind,
        folder: PathBuf,
        #[arg(long, default_value_t = 20)]
        scale: u32,
        /// Edges of a batch
        #[arg(long, default_value_t = 1_000_000)]
        batch: u64,
        /// Only the first edges of the graph
        #[arg(long)]
        edges: Option<u64>,
        /// Memory that the engine is given, in MiB
        #[arg(long, default_value_t = 512)]
        memory: u64,
    },
    /// Makes commits of one edge each to what `ingest` has stored
    Commits {
        engine: Kind,
        folder: PathBuf,
        #[arg(long, default_value_t = 20)]
        scale: u32,
        /// Commits of each thread
        #[arg(long, default_value_t = 1000)]
        count: u64,
        #[arg(long, default_value_t = 1)]
        threads: u64,
        #[arg(long, default_value_t = 512)]
        memory: u64,
        /// Of the edges; those of `ingest` have 1
        #[arg(long, default_value_t = STORED_SEED + 1)]
        seed: u64,
        /// Bring the stored graph into memory first, as far as it has room, outside of the time
        #[arg(long)]
        warm: bool,
    },
    /// Changes a graph while PageRank runs on a snapshot of it
    Mixed(mixed::Options),
    /// Writes 4 KiB and syncs them, again and again
    Drive {
        folder: PathBuf,
        #[arg(long, default_value_t = 1000)]
        count: u64,
    },
}

/// Seed of the graph that is stored.
const STORED_SEED: u64 = 1;

fn main() -> Result<()> {
    let row = match Cli::parse().verb {
        Verb::Ingest { engine, folder, scale, batch, edges, memory } => {
            ingest(engine, &folder, scale, batch, edges, memory << 20)?
        }
        Verb::Commits { engine, folder, scale, count, threads, memory, seed, warm } => {
            let stored = if warm { Some(graph(scale, STORED_SEED)?) } else { None };
            let graph = graph(scale, seed)?;
            commits((engine, &folder, memory << 20), &graph, count, threads, stored.as_ref())?
        }
        Verb::Mixed(options) => mixed::run(&options, &graph(options.scale, STORED_SEED)?)?,
        Verb::Drive { folder, count } => drive(&folder, count)?,
    };
    println!("{row}");
    Ok(())
}

/// Stores the first edges of a graph. Making the edges is not in the time, sorting them is.
fn ingest(
    kind: Kind,
    folder: &Path,
    scale: u32,
    batch: u64,
    edges: Option<u64>,
    memory: u64,
) -> Result<Value> {
    ensure!(batch > 0, "a batch has an edge at least");
    let graph = graph(scale, STORED_SEED)?;
    let edges = edges.unwrap_or(graph.edges()).min(graph.edges());
    let engine = Engine::create(kind, folder, graph.vertices(), memory)?;
    let (written, cpu) = (written_bytes()?, cpu_seconds()?);
    let (mut seconds, mut making, mut done) = (Vec::new(), 0.0, 0);
    while done < edges {
        let end = edges.min(done + batch);
        let before = cpu_seconds()?;
        let part = part(&graph, done, end);
        making += cpu_seconds()? - before;
        let started = Instant::now();
        engine.add(&part)?;
        seconds.push((started.elapsed().as_secs_f64() * 1e4).round() / 1e4);
        done = end;
    }
    let at_last_commit = written_bytes()? - written;
    let settling = Instant::now();
    engine.settle()?;
    let settled = settling.elapsed().as_secs_f64();
    let cpu = cpu_seconds()? - cpu - making;
    let peak = peak_bytes()?;
    engine.close()?;
    let written = written_bytes()? - written;
    let file_bytes = folder_bytes(folder)?;
    let entries = Engine::open(kind, folder, memory)?.entries()?;
    let sum: f64 = seconds.iter().sum();
    let rate = |seconds: &[f64]| {
        (seconds.len() as u64 * batch).min(edges) as f64 / seconds.iter().sum::<f64>()
    };
    let tenth = seconds.len().div_ceil(10);
    Ok(json!({
        "bench": "ingest", "engine": kind.name(), "version": kind.version(), "scale": scale,
        "batch": batch, "edges": edges, "entries": entries, "memory_bytes": memory,
        "seconds": sum, "edges_per_second": edges as f64 / sum,
        "edges_per_second_last_tenth": rate(&seconds[seconds.len() - tenth..]),
        "batch_seconds_max": seconds.iter().copied().fold(0.0, f64::max),
        "settled_seconds": settled, "cpu_seconds": cpu,
        "edges_per_cpu_second": edges as f64 / cpu,
        "written_per_edge": at_last_commit as f64 / edges as f64,
        "written_per_edge_settled": written as f64 / edges as f64,
        "file_bytes": file_bytes, "peak_bytes": peak, "batch_seconds": seconds,
    }))
}

/// Durable commits of one edge each, by some threads at a time, after an eighth of the `stored`
/// edges was brought into memory: they lie on nearly all pages. The first commit is not counted: it
/// makes the memory for pages.
fn commits(
    (kind, folder, memory): (Kind, &Path, u64),
    graph: &Kron,
    count: u64,
    threads: u64,
    stored: Option<&Kron>,
) -> Result<Value> {
    let engine = Engine::open(kind, folder, memory)?;
    if let Some(stored) = stored {
        engine.warm(&part(stored, 0, stored.edges() / 8))?;
    }
    let parts: Vec<_> =
        (0..threads).map(|thread| part(graph, thread * count, (thread + 1) * count)).collect();
    part(graph, threads * count, threads * count + 1)
        .into_iter()
        .try_for_each(|e| engine.add_one(e))?;
    let (written, cpu) = (written_bytes()?, cpu_seconds()?);
    let started = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let engine = &engine;
        let add = |part: Vec<Edge>| part.into_iter().try_for_each(|edge| engine.add_one(edge));
        let workers: Vec<_> =
            parts.into_iter().map(|part| scope.spawn(move || add(part))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let (written, cpu) = (written_bytes()? - written, cpu_seconds()? - cpu);
    engine.close()?;
    let commits = count * threads;
    Ok(json!({
        "bench": "commits", "engine": kind.name(), "version": kind.version(), "threads": threads,
        "warm": stored.is_some(),
        "commits": commits, "seconds": seconds, "commits_per_second": commits as f64 / seconds,
        "cpu_seconds": cpu, "written_per_commit": written as f64 / commits as f64,
        "peak_bytes": peak_bytes()?,
    }))
}

/// How often a second the drive takes 4 KiB and a sync, past the page cache.
fn drive(folder: &Path, count: u64) -> Result<Value> {
    let path = folder.join("synced");
    std::fs::create_dir_all(folder)?;
    let device = cenote_device::backend::file::open(
        &path,
        &cenote_device::backend::file::OpenOptions::creating(),
    )?;
    let bytes = count as usize * 4096;
    let buffer = cenote_device::Buffer::new(bytes)?;
    let mut buffer = cenote_device::write_all(device.as_ref(), 0, bytes, buffer)?;
    device.sync()?;
    let started = Instant::now();
    for i in 0..count {
        buffer = cenote_device::write_all(device.as_ref(), i * 4096, 4096, buffer)?;
        device.sync()?;
    }
    let seconds = started.elapsed().as_secs_f64();
    // The same through the page cache, as the stores write.
    let file = File::options().write(true).open(&path)?;
    let page = vec![1; 4096];
    let started = Instant::now();
    for i in 0..count {
        file.write_all_at(&page, i * 4096)?;
        file.sync_data()?;
    }
    let buffered = started.elapsed().as_secs_f64();
    std::fs::remove_file(path)?;
    Ok(json!({
        "bench": "drive", "writes": count, "synced_writes_per_second": count as f64 / seconds,
        "buffered_synced_writes_per_second": count as f64 / buffered,
    }))
}

fn graph(scale: u32, seed: u64) -> Result<Kron> {
    Ok(Kron::new(KronConfig::default().scale(scale).seed(seed))?)
}

/// Edges of the graph, without self-loops.
fn part(graph: &Kron, from: u64, to: u64) -> Vec<Edge> {
    let mut edges = Vec::new();
    graph.fill(from..to, &mut edges);
    edges.retain(|[source, target]| source != target);
    edges
}

/// Bytes that this process has had written to a drive, as Linux counts them.
fn written_bytes() -> Result<u64> {
    number_in("/proc/self/io", "write_bytes:")
}

/// CPU time of this process, the kernel's share included, to a hundredth of a second.
fn cpu_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields = text.rsplit(')').next().context("/proc/self/stat has a name")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()? as f64 / 100.0)
}

/// The most memory that this process has had, in bytes.
fn peak_bytes() -> Result<u64> {
    Ok(number_in("/proc/self/status", "VmHWM:")? << 10)
}

fn number_in(path: &str, name: &str) -> Result<u64> {
    let text = std::fs::read_to_string(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.with_context(|| format!("{path} has no line {name}"))?.parse().context(path.to_owned())
}

/// Bytes that a folder takes on the drive.
fn folder_bytes(folder: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += match metadata.is_dir() {
            true => folder_bytes(&entry.path())?,
            false => metadata.blocks() * 512,
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const MEMORY: u64 = 64 << 20;

    /// Both directions of all edges.
    fn entries(edges: &[Edge]) -> u64 {
        let both = edges.iter().flat_map(|&[a, b]| [[a, b], [b, a]]);
        both.collect::<BTreeSet<_>>().len() as u64
    }

    #[test]
    fn every_engine_stores_the_same_edges_in_batches_of_any_size() {
        let mut edges = part(&graph(10, STORED_SEED).unwrap(), 0, 16 << 10);
        let stored = entries(&edges);
        let other = graph(10, 2).unwrap();
        edges.extend(part(&other, 0, 41));
        for kind in Kind::ALL {
            for batch in [100, 5000, 20_000] {
                let folder = tempfile::tempdir().unwrap();
                let row = ingest(kind, folder.path(), 10, batch, None, MEMORY).unwrap();
                assert_eq!(row["entries"], stored, "{kind:?} in batches of {batch}");
                let stored = graph(10, STORED_SEED).unwrap();
                let store = (kind, folder.path(), MEMORY);
                commits(store, &other, 20, 2, Some(&stored)).unwrap();
                let engine = Engine::open(kind, folder.path(), MEMORY).unwrap();
                assert_eq!(engine.entries().unwrap(), entries(&edges), "{kind:?} after commits");
            }
        }
    }
}
