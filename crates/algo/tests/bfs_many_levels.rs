//! Searches of so many small levels that the rest of the graph is brought into memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::sync::Arc;

use cenote_algo::bfs::{self, Bfs, BfsConfig};
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, Strategy};
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, IdsSource};

const PAGE_BYTES: usize = 4096;

fn stored(lists: &[Vec<u32>], directed: bool) -> Arc<Graph> {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let device = Arc::new(SimDevice::new(SimConfig::new(model)));
    let spec = GraphSpec {
        page_bytes: PAGE_BYTES,
        vertices: lists.len() as u64,
        directed,
        in_edges: false,
        duplicates_kept: false,
        self_loops_kept: true,
        salt: 7,
    };
    let mut writer = GraphWriter::create(device.clone(), spec).unwrap();
    lists.iter().for_each(|list| writer.push_list(list).unwrap());
    let entries: u64 = lists.iter().map(|list| list.len() as u64).sum();
    let edges = if directed { entries } else { entries.div_ceil(2) };
    writer.finish(IdsSource::Dense, Counts { edges, duplicates: 0, self_loops: 0 }).unwrap();
    Arc::new(Graph::open(device).unwrap())
}

/// Lists of these edges, ascending; both ways unless `directed`.
fn lists_of(n: usize, edges: &[(u32, u32)], directed: bool) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); n];
    for &(a, b) in edges {
        lists[a as usize].push(b);
        if !directed {
            lists[b as usize].push(a);
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    lists
}

/// A grid whose vertices are numbered by a multiplicative hash: neighbours lie pages apart.
fn scattered_grid(rows: u32, columns: u32) -> Vec<(u32, u32)> {
    let n = u64::from(rows * columns);
    let name = |row: u32, column: u32| ((u64::from(row * columns + column) * 7919) % n) as u32;
    let mut edges = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            if row + 1 < rows {
                edges.push((name(row, column), name(row + 1, column)));
            }
            if column + 1 < columns {
                edges.push((name(row, column), name(row, column + 1)));
            }
        }
    }
    edges
}

/// Levels and smallest parents, the plainest way.
fn oracle(lists: &[Vec<u32>], source: u32) -> (Vec<Option<u32>>, Vec<Option<u32>>) {
    let mut levels = vec![None; lists.len()];
    let mut parents = vec![None; lists.len()];
    (levels[source as usize], parents[source as usize]) = (Some(0), Some(source));
    let mut frontier = vec![source];
    for level in 1.. {
        let mut next = Vec::new();
        frontier.sort_unstable();
        for &v in &frontier {
            for &target in &lists[v as usize] {
                if levels[target as usize].is_none() {
                    levels[target as usize] = Some(level);
                    parents[target as usize] = Some(v);
                    next.push(target);
                }
            }
        }
        if next.is_empty() {
            return (levels, parents);
        }
        frontier = next;
    }
    unreachable!("the loop ends with an empty level")
}

fn run(graph: &Arc<Graph>, strategy: Strategy, threads: usize, memory_bytes: u64) -> Bfs {
    let config = EngineConfig { strategy, threads, ..EngineConfig::with_memory(memory_bytes) };
    let search = BfsConfig { parents: true, ..BfsConfig::from(0) };
    let found = bfs::run(graph, config, &search).unwrap();
    bfs::verify(graph, &found).unwrap();
    found
}

fn agree(lists: &[Vec<u32>], directed: bool, memory_bytes: u64) -> Vec<u64> {
    let graph = stored(lists, directed);
    let (levels, parents) = oracle(lists, 0);
    let mut steps = Vec::new();
    for strategy in [Strategy::Auto, Strategy::Block, Strategy::Vertex] {
        for threads in 1..=3 {
            let found = run(&graph, strategy, threads, memory_bytes);
            for v in 0..lists.len() as u32 {
                let told = (found.level(v), found.parent(v));
                let expected = (levels[v as usize], parents[v as usize]);
                assert_eq!(told, expected, "vertex {v}, {strategy}, {threads} threads");
            }
            steps.push(found.run.stats.steps);
        }
    }
    steps
}

#[test]
fn a_grid_of_many_levels_ends_in_memory_with_the_same_levels_and_parents() {
    let lists = lists_of(150 * 150, &scattered_grid(150, 150), false);
    let steps = agree(&lists, false, 64 << 20);
    assert!(steps[..3].iter().all(|&auto| auto < 100), "{steps:?}");
    assert!(steps[3..].iter().all(|&other| other > 200), "{steps:?}");
}

#[test]
fn a_directed_grid_ends_in_memory_too() {
    let lists = lists_of(150 * 150, &scattered_grid(150, 150), true);
    let steps = agree(&lists, true, 64 << 20);
    assert!(steps[..3].iter().all(|&auto| auto < 100), "{steps:?}");
}

#[test]
fn a_hub_far_out_has_its_list_over_pages_put_together() {
    // A path of 3,000 to a hub with 5,000 leaves, and from the last leaf a path on.
    let (path, leaves) = (3_000u32, 5_000u32);
    let mut edges: Vec<(u32, u32)> = (0..path).map(|v| (v, v + 1)).collect();
    edges.extend((1..=leaves).map(|leaf| (path, path + leaf)));
    let last = path + leaves;
    edges.extend((last..last + 2_000).map(|v| (v, v + 1)));
    edges.push((5, 5));
    let lists = lists_of((last + 2_001) as usize, &edges, false);
    let steps = agree(&lists, false, 64 << 20);
    assert!(steps[..3].iter().all(|&auto| auto < 200), "{steps:?}");
}

#[test]
fn lists_that_do_not_fit_are_searched_level_by_level_with_the_same_answer() {
    let lists = lists_of(150 * 150, &scattered_grid(150, 150), false);
    let graph = stored(&lists, false);
    let needs = {
        let config = EngineConfig { threads: 2, ..EngineConfig::with_memory(0) };
        bfs::needs(&graph, &config, &BfsConfig { parents: true, ..BfsConfig::from(0) })
    };
    // Room for the state, the index and buffers, and about 100 kB more: the lists take 440 kB.
    let memory_bytes = needs.state_bytes + graph.memory_bytes() as u64 + (600 << 10);
    let found = run(&graph, Strategy::Auto, 2, memory_bytes);
    let ample = run(&graph, Strategy::Auto, 2, 64 << 20);
    assert!(found.run.stats.steps > 200, "{:?}", found.run.stats);
    for v in 0..lists.len() as u32 {
        assert_eq!((found.level(v), found.parent(v)), (ample.level(v), ample.parent(v)));
    }
}
