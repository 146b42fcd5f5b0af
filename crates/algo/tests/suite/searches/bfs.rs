//! Breadth-first search from several sources, to targets, over in-edges.

use cenote_algo::bfs::{self, BfsConfig};
use cenote_engine::EngineConfig;
use cenote_store::{Codec, Order};

use crate::orders::{stored, vertex_of};
use crate::plain::{Plain, Random, Ways, graphs_to_search};

const TIGHT_BYTES: u64 = 1 << 20;

fn compare_levels(all: bool) {
    for seed in [1, 2] {
        for (at, plain) in graphs_to_search(seed).into_iter().enumerate() {
            let n = plain.lists.len() as u32;
            let mut random = Random(seed + 99);
            let sources = vec![random.below(n), 0, random.below(n), 0];
            let levels = plain.levels(&sources);
            for in_edges in [false, true] {
                let graph = plain.stored_with(in_edges);
                let ways = Ways::of(all, at + usize::from(in_edges) + seed as usize);
                for config in ways.configs_within(TIGHT_BYTES) {
                    let search = BfsConfig::default().sources(sources.clone()).parents(true);
                    let found = bfs::run(&graph, config, &search).unwrap();
                    let case = format!("{} {} seed {seed}", plain.name, plain.directed);
                    (0..n).for_each(|v| assert_eq!(found.level(v), levels[v as usize], "{case}"));
                    bfs::verify(&graph, &found).unwrap();
                }
            }
        }
    }
}

#[test]
fn levels_and_smallest_parents_from_several_sources() {
    compare_levels(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_levels_and_smallest_parents_from_several_sources() {
    compare_levels(true);
}

fn search_for_targets(all: bool) {
    for plain in graphs_to_search(3) {
        let n = plain.lists.len() as u32;
        let levels = plain.levels(&[0]);
        let mut random = Random(77);
        let graphs = [false, true].map(|in_edges| plain.stored_with(in_edges));
        for turn in 0..4 {
            let targets = vec![random.below(n), random.below(n)];
            let last = targets.iter().map(|&t| levels[t as usize]).collect::<Option<Vec<_>>>();
            let last = last.and_then(|levels| levels.into_iter().max());
            for (at, graph) in graphs.iter().enumerate() {
                for config in Ways::of(all, turn + at).configs_within(TIGHT_BYTES) {
                    let parents = true;
                    let search = BfsConfig::default()
                        .sources(vec![0])
                        .targets(targets.clone())
                        .parents(parents);
                    let found = bfs::run(graph, config, &search).unwrap();
                    assert_eq!(found.ended_early, last.is_some(), "{}", plain.name);
                    let end = last.unwrap_or(u32::MAX);
                    for v in 0..n {
                        let expected = levels[v as usize].filter(|level| *level <= end);
                        assert_eq!(found.level(v), expected, "{} vertex {v}", plain.name);
                    }
                    bfs::verify(graph, &found).unwrap();
                    for &target in &targets {
                        let path = found.path_to(target);
                        let edges = path.as_ref().map(|path| path.len() as u32 - 1);
                        assert_eq!(edges, levels[target as usize], "{}", plain.name);
                        for step in path.iter().flat_map(|path| path.windows(2)) {
                            assert!(plain.lists[step[0] as usize].contains(&step[1]));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_search_for_targets_ends_with_the_level_of_the_last() {
    search_for_targets(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_search_for_targets_ends_with_the_level_of_the_last() {
    search_for_targets(true);
}

/// Three layers behind a source, the middle one with several edges to each vertex of the last.
#[test]
fn parents_of_a_directed_graph_in_any_order_are_the_smallest_where_arcs_are_looked_at() {
    let mut random = Random(7);
    let (near, middle, last) = (1..2_001, 2_001..6_001, 6_001..7_001);
    let mut pairs: Vec<(u32, u32)> = near.clone().map(|v| (0, v)).collect();
    for v in middle.clone() {
        pairs.extend((0..8).map(|_| (near.start + random.below(2_000), v)));
        if v % 8 < 3 {
            pairs.extend((0..2).map(|_| (v, last.start + random.below(1_000))));
        }
    }
    let plain = Plain::of(last.end, &pairs, true);
    let levels = plain.levels(&[0]);
    for order in [Order::Natural, Order::Random { seed: 5 }] {
        let graph = stored(&plain, order, Codec::Raw, None);
        let vertex_of = vertex_of(&plain, order);
        for threads in [1, 2] {
            let config = EngineConfig::with_memory(64 << 20).threads(threads);
            let search = BfsConfig::from(vertex_of[0]).parents(true);
            let found = bfs::run(&graph, config, &search).unwrap();
            for (&v, level) in vertex_of.iter().zip(&levels) {
                assert_eq!(found.level(v), *level);
            }
            bfs::verify(&graph, &found).unwrap();
            // The last level was found in memory.
            assert_eq!((found.depth, found.run.stats.steps), (3, 2));
        }
    }
}

/// A hub, and behind some of its neighbours paths: the search ends in memory, where few lists are
/// kept, and on its last levels they are looked up.
#[test]
fn a_search_that_ends_in_memory_comes_to_the_ends_of_paths() {
    let (near, paths, length) = (4_000, 60, 12);
    let mut random = Random(8);
    for directed in [false, true] {
        let mut pairs: Vec<(u32, u32)> = (1..=near).map(|v| (0, v)).collect();
        pairs.extend((0..20_000).map(|_| (1 + random.below(near), 1 + random.below(near))));
        for path in 0..paths {
            let first = near + 1 + path * length;
            pairs.push((1 + random.below(near), first));
            pairs.extend((first..first + length - 1).map(|v| (v, v + 1)));
        }
        let plain = Plain::of(near + 1 + paths * length, &pairs, directed);
        let levels = plain.levels(&[0]);
        let graph = plain.stored_with(true);
        for threads in [1, 2] {
            let config = EngineConfig::with_memory(64 << 20).threads(threads);
            let search = BfsConfig::from(0).parents(true);
            let found = bfs::run(&graph, config, &search).unwrap();
            assert_eq!((found.depth, found.run.stats.steps), (length + 1, 2));
            (0..plain.vertices()).for_each(|v| assert_eq!(found.level(v), levels[v as usize]));
            bfs::verify(&graph, &found).unwrap();
        }
    }
}
