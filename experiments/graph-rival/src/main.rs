//! Kernels of the crate `graph` with one graph in memory, for `gap_bench.py`.
//!
//! `graph-rival FOLDER SOURCE` speaks as `gap_rivals.py` does: a line of standard input is a
//! kernel, its answer is a line of JSON. The crate's PageRank and triangles take a thread for each
//! processor that the process may use, the other kernels two. Loading is not counted.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use graph::prelude::*;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};

const ITERATIONS: usize = 10;
const DAMPING: f32 = 0.85;
/// Widths of a bucket of shortest paths, of which the fastest counts. They are tried from the
/// widest, until one is slower than the fastest by half: narrow ones of long paths take much
/// memory.
const DELTAS: [f32; 6] = [8192.0, 1024.0, 128.0, 64.0, 16.0, 2.0];
/// The crate's distances are `f32`, which from here on are not all whole numbers.
const EXACT: f32 = (1 << 24) as f32;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context("no folder")?);
    let source = arguments.next().context("no source")?.parse()?;
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global()?;
    let mut rival = Rival::new(folder, source)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", json!({"ready": true}))?;
    for line in std::io::stdin().lines() {
        writeln!(out, "{}", rival.run(line?.trim())?)?;
    }
    Ok(())
}

struct Rival {
    folder: PathBuf,
    source: usize,
    /// Of an undirected graph, both directions are arcs.
    arcs: DirectedCsrGraph<u32>,
    weighted: DirectedCsrGraph<u32, (), f32>,
    delta: f32,
    is_directed: bool,
    /// For triangles, which relabel it.
    edges: Option<UndirectedCsrGraph<u32>>,
}

impl Rival {
    fn new(folder: PathBuf, source: usize) -> Result<Self> {
        let is_directed = read::<bool>(&folder, "directed")? == [true];
        let (low, high) = (read(&folder, "low")?, read(&folder, "high")?);
        let weighted = weighted(&low, &high, &read(&folder, "weights")?, is_directed);
        let arcs = arcs(&low, &high, is_directed);
        let edges = (!is_directed).then(|| undirected(&low, &high));
        let vertices = read::<i64>(&folder, "vertices")?;
        ensure!(vertices == [i64::from(arcs.node_count())], "vertices without edges at the end");
        let delta = fastest_delta(&weighted, source);
        Ok(Self { folder, source, arcs, weighted, delta, is_directed, edges })
    }

    fn run(&mut self, kernel: &str) -> Result<Value> {
        Ok(match kernel {
            "pagerank" => self.pagerank(),
            "wcc" => self.wcc(),
            "sssp" => self.sssp(),
            "triangles" if !self.is_directed => self.triangles()?,
            _ => json!({"missing": true}),
        })
    }

    /// Ranks of vertices without out-edges are lost. Later vertices of an iteration see ranks of
    /// the same one.
    fn pagerank(&self) -> Value {
        let config = PageRankConfig::new(ITERATIONS, 0.0, DAMPING);
        let (_, row) = timed(|| page_rank(&self.arcs, config));
        row
    }

    fn wcc(&self) -> Value {
        let (found, mut row) = timed(|| wcc_afforest(&self.arcs, WccConfig::default()));
        let count = (0..self.arcs.node_count()).filter(|&v| found.component(v) == v).count();
        row["answer"] = json!(count);
        row
    }

    fn sssp(&self) -> Value {
        let config = DeltaSteppingConfig::new(self.source, self.delta);
        let (found, mut row) = timed(|| delta_stepping(&self.weighted, config));
        let distances = found.iter().map(|distance| distance.load(Relaxed));
        let farthest = distances.filter(|&distance| distance < f32::MAX).fold(0.0, f32::max);
        row["delta"] = json!(self.delta as u64);
        if farthest < EXACT {
            row["answer"] = json!(farthest as u64);
        }
        row
    }

    /// With the relabelling by degree, as the GAP suite's rules have it. A repeated call loads the
    /// graph anew, so that it is relabelled each time; the loading is not counted.
    fn triangles(&mut self) -> Result<Value> {
        let mut edges = match self.edges.take() {
            Some(edges) => edges,
            None => undirected(&read(&self.folder, "low")?, &read(&self.folder, "high")?),
        };
        let (found, mut row) = timed(|| {
            edges.make_degree_ordered();
            global_triangle_count(&edges)
        });
        row["answer"] = json!(found);
        Ok(row)
    }
}

fn read<T: npyz::Deserialize>(folder: &Path, name: &str) -> Result<Vec<T>> {
    let path = folder.join(format!("{name}.npy"));
    let file = File::open(&path).with_context(|| path.display().to_string())?;
    Ok(npyz::NpyFile::new(BufReader::with_capacity(1 << 20, file))?.into_vec()?)
}

fn arcs(low: &[u32], high: &[u32], is_directed: bool) -> DirectedCsrGraph<u32> {
    let forth = low.iter().copied().zip(high.iter().copied());
    let builder = GraphBuilder::new().csr_layout(CsrLayout::Sorted);
    if is_directed {
        return builder.edges(forth).build();
    }
    let back = high.iter().copied().zip(low.iter().copied());
    builder.edges(forth.chain(back)).build()
}

fn weighted(
    low: &[u32],
    high: &[u32],
    weights: &[i32],
    is_directed: bool,
) -> DirectedCsrGraph<u32, (), f32> {
    let each = || low.iter().zip(high).zip(weights);
    let forth = each().map(|((&low, &high), &weight)| (low, high, weight as f32));
    let builder = GraphBuilder::new().csr_layout(CsrLayout::Sorted);
    if is_directed {
        return builder.edges_with_values(forth).build();
    }
    let back = each().map(|((&low, &high), &weight)| (high, low, weight as f32));
    builder.edges_with_values(forth.chain(back)).build()
}

fn undirected(low: &[u32], high: &[u32]) -> UndirectedCsrGraph<u32> {
    let ends = low.iter().copied().zip(high.iter().copied());
    GraphBuilder::new().csr_layout(CsrLayout::Sorted).edges(ends).build()
}

fn fastest_delta(graph: &DirectedCsrGraph<u32, (), f32>, source: usize) -> f32 {
    let (mut fastest, mut best) = (f64::INFINITY, DELTAS[0]);
    for delta in DELTAS {
        let started = Instant::now();
        delta_stepping(graph, DeltaSteppingConfig::new(source, delta));
        let seconds = started.elapsed().as_secs_f64();
        if seconds < fastest {
            (fastest, best) = (seconds, delta);
        } else if seconds > 1.5 * fastest {
            break;
        }
    }
    best
}

/// What a call returned, and its row without an answer.
fn timed<T>(call: impl FnOnce() -> T) -> (T, Value) {
    let (cpu, _) = usage();
    let started = Instant::now();
    let found = call();
    let seconds = started.elapsed().as_secs_f64();
    let (cpu_then, peak) = usage();
    let row = json!({
        "seconds": seconds,
        "cpu_seconds": cpu_then - cpu,
        "peak_rss_bytes": peak,
        "answer": null,
    });
    (found, row)
}

/// The processor seconds of this process and its peak of memory in bytes.
fn usage() -> (f64, i64) {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the system tells the use of a process");
    let time = usage.user_time() + usage.system_time();
    (time.num_microseconds() as f64 / 1e6, usage.max_rss() * 1024)
}
