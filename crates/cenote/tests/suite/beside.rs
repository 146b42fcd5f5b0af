//! Merges on a thread while small batches are committed, and what ends them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote::{Error, Graph, Import, Update};
use tempfile::TempDir;

use crate::graphs::Random;

const VERTICES: u64 = 60_000;

/// So many that several runs are few beside them: else the log is merged.
const EDGES: usize = 2_000_000;

/// Changes that fill the log of so little memory.
const MEMORY: &str = "40MiB";

fn random_edge(random: &mut Random) -> (u64, u64) {
    (random.below(VERTICES), random.below(VERTICES))
}

fn edges_of(path: &Path) -> BTreeSet<(u64, u64)> {
    let mut text = Vec::new();
    Graph::open(path).unwrap().export().write_text(&mut text, &mut |_, _| {}).unwrap();
    let numbers = |line: &str| line.split_whitespace().map(|id| id.parse().unwrap()).collect();
    let pair = |line| -> (u64, u64) {
        let ends: Vec<u64> = numbers(line);
        (ends[0], ends[1])
    };
    String::from_utf8(text).unwrap().lines().map(pair).collect()
}

/// Commits so many small batches to a graph, and compares its edges with a set of them.
fn check_small_batches(batches: usize) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("graph.cenote");
    let mut random = Random(7);
    let pairs: Vec<_> = (0..EDGES).map(|_| random_edge(&mut random)).collect();
    let import = Import::new().directed().slice(&pairs).memory("256MiB");
    import.keep_self_loops().run(&path).unwrap();
    let mut edges: BTreeSet<_> = pairs.into_iter().collect();
    let mut update = Update::options().memory(MEMORY).synced(false).open(&path).unwrap();
    let (mut merged, mut merged_log) = (0, 0);
    for _ in 0..batches {
        for _ in 0..3_000 {
            let (u, v) = random_edge(&mut random);
            match random.below(4) {
                0 => {
                    let edge = *edges.range((u, v)..).next().unwrap_or(&(u, v));
                    update.delete(edge.0, edge.1).unwrap();
                    edges.remove(&edge);
                }
                _ => {
                    update.add(u, v).unwrap();
                    edges.insert((u, v));
                }
            }
        }
        let report = update.commit().unwrap();
        merged += report.merged_entries;
        merged_log += report.merged;
    }
    let settled = update.settle().unwrap();
    merged += settled.merged_entries;
    assert!(merged > 1_000 * batches as u64, "{merged} changes of runs were merged beside commits");
    assert_eq!(merged_log, 0, "no commit has merged the log");
    drop(update);
    assert!(edges_of(&path) == edges);
}

#[test]
fn small_batches_go_on_while_runs_are_merged_and_nothing_is_lost() {
    check_small_batches(17);
}

#[test]
#[ignore = "long: make soak"]
fn longer_small_batches_go_on_while_runs_are_merged_and_nothing_is_lost() {
    check_small_batches(80);
}

#[test]
fn a_merge_that_is_cancelled_leaves_the_graph_as_it_was() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("graph.cenote");
    let mut random = Random(8);
    let pairs: Vec<_> = (0..100_000).map(|_| random_edge(&mut random)).collect();
    Import::new().directed().slice(&pairs).memory("256MiB").run(&path).unwrap();
    let mut update = Update::open(&path).unwrap();
    for _ in 0..1_000 {
        let (u, v) = random_edge(&mut random);
        update.add(u, v).unwrap();
    }
    update.commit().unwrap();
    let (epoch, edges) = (update.commit().unwrap().epoch, edges_of(&path));
    let pages = Arc::new(AtomicU64::new(0));
    let (seen, limit) = (Arc::clone(&pages), Arc::clone(&pages));
    update.progress(move |now| {
        assert!(now.pages_done <= now.pages_total);
        seen.store(now.pages_done, Ordering::Relaxed);
    });
    update.cancel(move || limit.load(Ordering::Relaxed) > 0);
    assert!(matches!(update.merge(), Err(Error::Cancelled)));
    pages.store(0, Ordering::Relaxed);
    assert!(matches!(update.snapshot("s"), Err(Error::Cancelled)));
    assert_eq!(update.snapshots().len(), 0);
    assert!(update.commit().unwrap().epoch == epoch && edges_of(&path) == edges);
    update.cancel(|| false);
    assert_eq!(update.merge().unwrap().epoch, epoch + 1);
    assert!(pages.load(Ordering::Relaxed) > 50);
    assert!(edges_of(&path) == edges);
}
