//! Searches of so many small levels that the rest of the graph is brought into memory.

use std::sync::Arc;

use crate::plain::Plain;
use cenote_algo::bfs::{self, Bfs, BfsConfig};
use cenote_engine::{EngineConfig, Strategy};
use cenote_store::Graph;

fn stored(lists: &[Vec<u32>], directed: bool) -> Arc<Graph> {
    Plain::of_lists(lists.to_vec(), directed).stored_with(false)
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
    let config = EngineConfig::with_memory(memory_bytes).strategy(strategy).threads(threads);
    let search = BfsConfig::from(0).parents(true);
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
                let actual = (found.level(v), found.parent(v));
                let expected = (levels[v as usize], parents[v as usize]);
                assert_eq!(actual, expected, "vertex {v}, {strategy}, {threads} threads");
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

/// A budget with room for the state, the index and buffers, and `more` beside.
fn tight(graph: &Arc<Graph>, more: u64) -> u64 {
    let config = EngineConfig::with_memory(0).threads(2);
    let search = BfsConfig::from(0).parents(true);
    let needs = bfs::needs(graph, &config, &search);
    needs.state_bytes + graph.memory_bytes() as u64 + more
}

/// Levels and parents, the same with little memory and with one, two and three workers. Returns the
/// steps of each run.
fn agree_out_of_core(
    lists: &[Vec<u32>],
    directed: bool,
    more: u64,
    source: u32,
) -> Vec<Vec<String>> {
    let graph = stored(lists, directed);
    let (levels, parents) = oracle(lists, source);
    let memory_bytes = tight(&graph, more);
    let mut steps = Vec::new();
    for threads in 1..=3 {
        for parents_asked in [true, false] {
            let explain = true;
            let config = EngineConfig::with_memory(memory_bytes).threads(threads).explain(explain);
            let search = BfsConfig::from(source).parents(parents_asked);
            let found = bfs::run(&graph, config, &search).unwrap();
            bfs::verify(&graph, &found).unwrap();
            let rounds = found.run.steps.iter().filter(|step| step.label.starts_with("round"));
            assert!(rounds.count() > 0, "it was to be searched asynchronously");
            for v in 0..lists.len() as u32 {
                assert_eq!(found.level(v), levels[v as usize], "level of {v}, {threads} threads");
                let expected = if parents_asked { parents[v as usize] } else { None };
                assert_eq!(found.parent(v), expected, "parent of {v}, {threads} threads");
            }
            steps.push(found.run.steps.into_iter().map(|step| step.label).collect());
        }
    }
    steps
}

#[test]
fn lists_that_do_not_fit_are_searched_asynchronously_with_the_same_answer() {
    for directed in [false, true] {
        let lists = lists_of(300 * 300, &scattered_grid(300, 300), directed);
        agree_out_of_core(&lists, directed, 600 << 10, 0);
    }
}

#[test]
fn a_hub_on_the_way_of_an_asynchronous_search_is_followed_on_all_of_its_pages() {
    // Two paths of unequal length to a hub, whose leaves lie behind it and before it in the file.
    let (path, leaves, tail) = (9_000u32, 5_000u32, 40_000u32);
    let hub = path + leaves;
    let mut edges: Vec<(u32, u32)> = (0..path).map(|v| (v, v + 1)).collect();
    edges.push((path, hub));
    edges.extend((1..leaves).map(|leaf| (hub, path + leaf)));
    edges.extend((1..leaves).map(|leaf| (hub, hub + leaf)));
    edges.push((0, hub + leaves));
    edges.extend((hub + leaves..hub + leaves + 4_000).map(|v| (v, v + 1)));
    edges.push((hub + leaves + 4_000, hub));
    let last = hub + leaves + 4_000;
    edges.push((hub + 1, last + 1));
    edges.extend((last + 1..last + tail).map(|v| (v, v + 1)));
    let lists = lists_of((last + tail + 1) as usize, &edges, false);
    agree_out_of_core(&lists, false, 600 << 10, 0);
}

/// Names of vertices by a multiplicative hash; that of `zero` is 0.
fn scattered(edges: &[(u32, u32)], n: u32, zero: u32) -> Vec<(u32, u32)> {
    let name = |v: u32| (u64::from(v + n - zero) * 7919 % u64::from(n)) as u32;
    edges.iter().map(|&(a, b)| (name(a), name(b))).collect()
}

/// Edges between two vertices in a row, and a way of `length` edges for each of `edges`. `first` is
/// the first vertex that is new.
fn ways(edges: &[(u32, u32)], length: u32, first: u32) -> Vec<(u32, u32)> {
    let each = edges.iter().zip((first..).step_by(length as usize - 1));
    let way = each.flat_map(|(&(a, b), new)| {
        let at = move |nth: u32| match nth {
            0 => a,
            nth if nth == length => b,
            nth => new + nth - 1,
        };
        (0..length).map(move |nth| (at(nth), at(nth + 1)))
    });
    way.collect()
}

#[test]
fn chains_in_no_order_are_followed_in_memory_with_the_same_answer() {
    // The source is on a ring, with a self-loop, and next to a path that ends; another path is not
    // reached.
    let (ring, tail) = (90_001u32, 10_002u32);
    let mut edges: Vec<(u32, u32)> = (0..ring).map(|v| (v, (v + 1) % ring)).collect();
    edges.push((0, ring));
    edges.extend((ring..ring + tail).map(|v| (v, v + 1)));
    edges.push((40_000, 40_000));
    let apart = ring + tail + 1;
    edges.extend((apart..apart + 1_000).map(|v| (v, v + 1)));
    let n = apart + 1_001;
    for directed in [false, true] {
        let named = scattered(&edges, n, n - 500);
        let lists = lists_of(n as usize, &named, directed);
        let steps = agree_out_of_core(&lists, directed, 600 << 10, named[0].0);
        assert!(steps.iter().all(|labels| labels.contains(&"chains".to_owned())), "{directed}");
        assert!(steps.iter().all(|labels| labels.len() < 3_000), "{directed}");
    }
}

#[test]
fn chains_between_other_vertices_are_followed_level_by_level() {
    // More chains at a time than are followed, of unequal length: a grid in two halves, a star.
    let grid = scattered_grid(60, 60);
    let mut edges = ways(&grid[..grid.len() / 2], 9, 3_600);
    let first = edges.iter().map(|&(a, b)| a.max(b)).max().unwrap() + 1;
    edges.extend(ways(&grid[grid.len() / 2..], 14, first));
    let first = edges.iter().map(|&(a, b)| a.max(b)).max().unwrap() + 1;
    let star: Vec<(u32, u32)> = (0..900).map(|leaf| (0, first + leaf)).collect();
    edges.extend(ways(&star, 30, first + 900));
    let n = edges.iter().map(|&(a, b)| a.max(b)).max().unwrap() + 1;
    for directed in [false, true] {
        let lists = lists_of(n as usize, &scattered(&edges, n, 0), directed);
        let steps = agree_out_of_core(&lists, directed, 600 << 10, 0);
        assert!(steps.iter().any(|labels| labels.contains(&"chains".to_owned())), "{directed}");
    }
}

#[test]
fn an_asynchronous_search_ends_with_the_level_of_its_last_target() {
    let lists = lists_of(300 * 300, &scattered_grid(300, 300), false);
    let graph = stored(&lists, false);
    let (levels, _) = oracle(&lists, 0);
    let at = |level| levels.iter().position(|&found| found == Some(level)).unwrap() as u32;
    let memory_bytes = tight(&graph, 600 << 10);
    let targets = vec![at(3), at(330), at(200)];
    let search = BfsConfig::from(0).parents(true).targets(targets);
    for threads in 1..=3 {
        let explain = true;
        let config = EngineConfig::with_memory(memory_bytes).threads(threads).explain(explain);
        let found = bfs::run(&graph, config, &search).unwrap();
        bfs::verify(&graph, &found).unwrap();
        assert!(found.run.steps.iter().any(|step| step.label.starts_with("round")));
        assert!(found.ended_early);
        assert_eq!(found.depth, 330);
        for (v, level) in (0..).zip(&levels) {
            assert_eq!(found.level(v), level.filter(|&level| level <= 330), "vertex {v}");
        }
    }
}
