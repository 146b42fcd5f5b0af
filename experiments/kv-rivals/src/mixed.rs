//! A graph changes while PageRank runs on a snapshot of it, in another process.
//!
//! The load is shaped like that of the GFE driver: the second half of a graph is inserted in random
//! order, then edges come and go. An edge that comes has the ends of two random edges of the graph,
//! so vertices change as often as their degree says; one that goes is a random one of those that
//! came. Each part is measured alone and beside PageRank, which runs again and again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cenote::{IdRef, Import, Op, Update};
use cenote_workload::kron::Kron;
use cenote_workload::{Edge, EdgeSource};
use serde_json::{Value, json};

use crate::part;

const SNAPSHOT: &str = "base";

/// What `mixed` does.
#[derive(clap::Args)]
pub struct Options {
    /// The `cenote` command, which runs PageRank
    cenote: PathBuf,
    folder: PathBuf,
    #[arg(long, default_value_t = 20)]
    pub scale: u32,
    /// Changes of a batch, each durable
    #[arg(long, default_value_t = 1_000_000)]
    batch: usize,
    /// Changes of the second part, as a multiple of the graph's edges; the GFE driver takes 10
    #[arg(long, default_value_t = 1.0)]
    log: f64,
    /// Changes a second that arrive; without it a batch arrives as soon as the last one is durable
    #[arg(long)]
    rate: Option<f64>,
    /// Memory of the updates, in MiB
    #[arg(long, default_value_t = 512)]
    memory: u64,
    /// Memory of PageRank, in MiB
    #[arg(long, default_value_t = 64)]
    reader_memory: u64,
    #[arg(long, default_value_t = 10)]
    iterations: u32,
}

/// Measures each part alone and beside PageRank.
pub fn run(options: &Options, graph: &Kron) -> Result<Value> {
    std::fs::create_dir_all(&options.folder)?;
    let path = options.folder.join("mixed.cenote");
    let half = graph.edges() / 2;
    let edges: Vec<(u32, u32)> = part(graph, 0, half).into_iter().map(Into::into).collect();
    Import::new().vertices(0..graph.vertices()).slice(&edges).overwrite().run(&path)?;
    Update::open(&path)?.snapshot(SNAPSHOT)?;
    let alone: Vec<f64> = (0..3).map(|_| pagerank(options, &path)).collect::<Result<_>>()?;
    let mut row = json!({
        "bench": "mixed", "scale": options.scale, "batch": options.batch, "log": options.log,
        "memory_bytes": options.memory << 20, "reader_memory_bytes": options.reader_memory << 20,
        "iterations": options.iterations, "rate": options.rate, "pagerank_seconds_alone": alone,
    });
    let inserted = Inserted { graph, at: half };
    let all = part(graph, 0, graph.edges());
    let count = (options.log * graph.edges() as f64) as usize;
    let log = Log { edges: &all, came: Vec::new(), left: count, random: 1 };
    row["insertions"] = part_of(options, &path, inserted)?;
    row["log"] = part_of(options, &path, log)?;
    Ok(row)
}

/// Makes the changes beside PageRank on a copy of the graph, then alone.
fn part_of(options: &Options, path: &Path, changes: impl Changes + Clone) -> Result<Value> {
    let copy = path.with_extension("copy");
    std::fs::copy(path, &copy)?;
    std::fs::File::open(&copy)?.sync_all()?;
    let mut row = json!({ "beside": measured(options, &copy, changes.clone(), true)? });
    std::fs::remove_file(copy)?;
    row["alone"] = measured(options, path, changes, false)?;
    Ok(row)
}

fn measured(
    options: &Options,
    path: &Path,
    mut changes: impl Changes,
    is_beside: bool,
) -> Result<Value> {
    let is_over = AtomicBool::new(!is_beside);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| -> Result<Vec<f64>> {
            let mut seconds = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let taken = pagerank(options, path)?;
                // The last run was partly alone.
                if !is_over.load(Ordering::Relaxed) {
                    seconds.push(taken);
                }
            }
            Ok(seconds)
        });
        let made = apply(options, path, &mut changes);
        is_over.store(true, Ordering::Relaxed);
        let pagerank = reader.join().expect("the reader does not panic")?;
        let (count, seconds) = made?;
        Ok(json!({
            "changes": count, "seconds": seconds, "changes_per_second": count as f64 / seconds,
            "pagerank_seconds": pagerank,
        }))
    })
}

/// Makes all changes, in batches; how many, and in what time. Their making is not in the time
/// unless they arrive at a rate.
fn apply(options: &Options, path: &Path, changes: &mut impl Changes) -> Result<(usize, f64)> {
    let mut update = Update::options().memory(options.memory << 20).open(path)?;
    let (mut count, mut seconds) = (0, 0.0);
    let begun = Instant::now();
    loop {
        let batch = changes.next(options.batch);
        if batch.is_empty() {
            let seconds = options.rate.map_or(seconds, |_| begun.elapsed().as_secs_f64());
            return Ok((count, seconds));
        }
        count += batch.len();
        if let Some(rate) = options.rate {
            // A batch is there when its last change has arrived.
            let due = Duration::from_secs_f64(count as f64 / rate);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        }
        let started = Instant::now();
        for &(op, pair) in &batch {
            update.push(op, pair.map(|id| IdRef::Integer(id.into())), None)?;
        }
        update.commit()?;
        seconds += started.elapsed().as_secs_f64();
    }
}

/// Seconds of PageRank at the snapshot, in a process of its own.
fn pagerank(options: &Options, path: &Path) -> Result<f64> {
    let output = Command::new(&options.cenote)
        .args(["run", "pagerank"])
        .arg(path)
        .args(["--at", SNAPSHOT, "--json", "--iterations", &options.iterations.to_string()])
        .args(["--memory", &format!("{}MiB", options.reader_memory)])
        .stderr(Stdio::inherit())
        .output()
        .context("the cenote command starts")?;
    ensure!(output.status.success(), "PageRank fails: {}", output.status);
    let report: Value = serde_json::from_slice(&output.stdout)?;
    report["seconds"].as_f64().context("a run reports its seconds")
}

/// Changes of a graph, one after the other.
pub trait Changes {
    /// The next of them, at most so many; none at the end.
    fn next(&mut self, count: usize) -> Vec<(Op, Edge)>;
}

/// The rest of a graph.
#[derive(Clone)]
struct Inserted<'g> {
    graph: &'g Kron,
    at: u64,
}

impl Changes for Inserted<'_> {
    fn next(&mut self, count: usize) -> Vec<(Op, Edge)> {
        let end = self.graph.edges().min(self.at + count as u64);
        let edges = part(self.graph, self.at, end);
        self.at = end;
        edges.into_iter().map(|edge| (Op::Add, edge)).collect()
    }
}

/// Edges that come and go.
#[derive(Clone)]
struct Log<'g> {
    edges: &'g [Edge],
    came: Vec<Edge>,
    left: usize,
    random: u64,
}

impl Log<'_> {
    /// SplitMix64, below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.random;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % bound as u64) as usize
    }

    fn change(&mut self) -> (Op, Edge) {
        if self.below(2) == 0 && !self.came.is_empty() {
            let at = self.below(self.came.len());
            return (Op::Delete, self.came.swap_remove(at));
        }
        loop {
            let ends = [self.below(self.edges.len()), self.below(self.edges.len())];
            let edge = [self.edges[ends[0]][0], self.edges[ends[1]][1]];
            if edge[0] != edge[1] {
                self.came.push(edge);
                return (Op::Add, edge);
            }
        }
    }
}

impl Changes for Log<'_> {
    fn next(&mut self, count: usize) -> Vec<(Op, Edge)> {
        let count = count.min(self.left);
        self.left -= count;
        (0..count).map(|_| self.change()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::graph;

    #[test]
    fn edges_that_go_came_before_and_hubs_change_most() {
        let edges = part(&graph(10, 1).unwrap(), 0, 16 << 10);
        let mut log = Log { edges: &edges, came: Vec::new(), left: 20_000, random: 1 };
        let (mut came, mut ends) = (BTreeMap::new(), BTreeMap::new());
        let mut count = 0;
        while let batch @ [_, ..] = &*log.next(777) {
            for &(op, edge) in batch {
                let here = came.entry(edge).or_insert(0_u64);
                match op {
                    Op::Add => *here += 1,
                    _ => *here = here.checked_sub(1).expect("it came before"),
                }
                edge.iter().for_each(|vertex| *ends.entry(*vertex).or_insert(0) += 1);
            }
            count += batch.len();
        }
        assert_eq!(count, 20_000);
        let degree = |vertex: u32| edges.iter().flatten().filter(|end| **end == vertex).count();
        let (hub, _) = ends.iter().max_by_key(|(_, count)| **count).unwrap();
        assert!(degree(*hub) > 10 * 2 * edges.len() / 1024, "the mean degree is 32");
    }
}
