//! Strong components, held against reachability.

use crate::plain::{Plain, Random, STRATEGIES, Ways, config, odd_graphs, random_graph};
use cenote_algo::scc::{self, Scc};
use cenote_algo::wcc;
use cenote_engine::{EngineConfig, Strategy};

/// The smallest vertex that reaches `v` and that `v` reaches, by a search from every vertex.
fn labels_by_definition(graph: &Plain) -> Vec<u32> {
    let n = graph.lists.len();
    let reach: Vec<Vec<bool>> = (0..n)
        .map(|start| {
            let mut reached = vec![false; n];
            reached[start] = true;
            let mut path = vec![start];
            while let Some(v) = path.pop() {
                for &u in &graph.lists[v] {
                    if !std::mem::replace(&mut reached[u as usize], true) {
                        path.push(u as usize);
                    }
                }
            }
            reached
        })
        .collect();
    (0..n).map(|v| (0..=v).find(|&u| reach[u][v] && reach[v][u]).unwrap() as u32).collect()
}

fn labels(scc: &Scc, graph: &Plain) -> Vec<u32> {
    (0..graph.vertices()).map(|v| scc.label(v)).collect()
}

/// Budgets from plenty down to nothing beyond what must be.
fn tight(graph: &Plain) -> Vec<EngineConfig> {
    let stored = graph.stored();
    let mut configs = Vec::new();
    for (strategy, threads, kib) in
        STRATEGIES.into_iter().flat_map(|s| [(s, 1, 60), (s, 2, 90), (s, 3, 160)])
    {
        let base = EngineConfig::with_memory(1 << 20)
            .strategy(strategy)
            .threads(threads)
            .depth(Some(threads))
            .cache_bytes(Some(0));
        let needed = scc::needs(&stored, &base).state_bytes + stored.memory_bytes() as u64;
        configs.push(base.memory_bytes(needed + (kib << 10)));
    }
    configs
}

fn equal_whatever_the_way(graph: &Plain, what: &str) {
    equal_in_ways(Ways::All, graph, what);
}

/// With the least memory in all ways.
fn equal_in_ways(ways: Ways, graph: &Plain, what: &str) {
    let stored = graph.stored();
    let expected = labels_by_definition(graph);
    for config in ways.configs().chain(tight(graph)) {
        let what = format!(
            "{what}, {} by {} threads, {} bytes",
            config.strategy, config.threads, config.memory_bytes
        );
        let found = scc::run(&stored, config).unwrap();
        assert_eq!(labels(&found, graph), expected, "{what}");
        scc::verify(&stored, &found).unwrap();
    }
}

#[test]
fn odd_graphs_have_the_components_of_the_definition() {
    compare_odd_graphs(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_odd_graphs_have_the_components_of_the_definition() {
    compare_odd_graphs(true);
}

fn compare_odd_graphs(all: bool) {
    for (i, graph) in odd_graphs(true).into_iter().enumerate() {
        equal_in_ways(Ways::of(all, i), &graph.without_in_edges(), &format!("odd graph {i}"));
    }
}

#[test]
fn random_graphs_have_the_components_of_the_definition() {
    for seed in 0..60 {
        let graph = random_graph(seed, true).without_in_edges();
        equal_whatever_the_way(&graph, &format!("seed {seed}"));
    }
}

/// A giant, a core before and after it, rings that lead into each other, and loose ends.
fn landscape(seed: u64) -> Plain {
    let mut random = Random(seed);
    let mut pairs = Vec::new();
    for _ in 0..12_000 {
        pairs.push((random.below(800), random.below(800)));
    }
    for ring in 0..60u32 {
        let (first, length) = (800 + ring * 20, 2 + random.below(19));
        for i in 0..length {
            pairs.push((first + i, first + (i + 1) % length));
        }
        for _ in 0..30 {
            pairs.push((first + random.below(20), 800 + random.below((ring + 1) * 20)));
        }
        match ring % 3 {
            0 => pairs.push((random.below(800), first)),
            1 => pairs.push((first, random.below(800))),
            _ => {}
        }
    }
    // Numbers that do not ascend along the rings.
    let mixed = |v: u32| v * 1237 % 2003;
    let pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(a, b)| (mixed(a), mixed(b))).collect();
    Plain::of(2003, &pairs, true).without_in_edges()
}

#[test]
fn what_does_not_fit_in_memory_is_found_by_passes_and_colours() {
    compare_landscapes(0..4);
}

#[test]
#[ignore = "long: make soak"]
fn longer_what_does_not_fit_in_memory_is_found_by_passes_and_colours() {
    compare_landscapes(4..12);
}

fn compare_landscapes(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let graph = landscape(seed);
        equal_whatever_the_way(&graph, &format!("landscape {seed}"));
        let stored = graph.stored();
        let plenty = scc::run(&stored, config(Strategy::Auto, 2)).unwrap();
        let little = scc::run(&stored, tight(&graph).remove(0)).unwrap();
        assert_eq!(plenty.run.stats.steps, 1, "all lists fit");
        assert!(little.run.stats.steps > 5, "{} steps", little.run.stats.steps);
    }
}

#[test]
fn in_edges_change_no_component() {
    for seed in 3..6 {
        let graph = landscape(seed);
        let both = Plain { in_edges: true, ..graph.clone() };
        equal_whatever_the_way(&both, &format!("landscape {seed}"));
    }
    // A giant that is a long ring behind a few vertices: passes against its order add little.
    let n = 3000;
    let mut pairs: Vec<(u32, u32)> = (0..n).map(|v| (v, (v + 1) % n)).collect();
    pairs.extend((0..50).map(|leaf| (n / 2, n + leaf)));
    let ring = Plain::of(n + 50, &pairs, true);
    for config in tight(&ring) {
        let found = scc::run(&ring.stored(), config).unwrap();
        assert_eq!((found.largest, found.single), (u64::from(n), 50));
    }
}

#[test]
fn a_path_and_a_ring_of_many_vertices_take_no_pass_a_vertex() {
    let n = 100_000;
    let mixed = |v: u32| (u64::from(v) * 49_999 % u64::from(n)) as u32;
    let mut pairs: Vec<(u32, u32)> = (0..n - 1).map(|v| (mixed(v), mixed(v + 1))).collect();
    let path = Plain::of(n, &pairs, true).without_in_edges();
    let found = scc::run(&path.stored(), config(Strategy::Auto, 2)).unwrap();
    assert_eq!((found.components, found.single), (u64::from(n), u64::from(n)));
    assert!(found.run.stats.steps < 4, "{} steps", found.run.stats.steps);
    pairs.push((mixed(n - 1), mixed(0)));
    let ring = Plain::of(n, &pairs, true).without_in_edges();
    let found = scc::run(&ring.stored(), config(Strategy::Block, 1)).unwrap();
    assert_eq!((found.components, found.largest, found.largest_label), (1, u64::from(n), Some(0)));
}

/// Long chains and rings in shuffled order, of which some vertices have further edges.
fn chains(seed: u64) -> Plain {
    let mut random = Random(seed);
    let n = 1_201;
    let mixed = |v: u32| v * 530 % n;
    let mut pairs = Vec::new();
    let mut first = 0;
    while first < n {
        let length = (1 + random.below(500)).min(n - first);
        pairs.extend((first + 1..first + length).map(|v| (v - 1, v)));
        match random.below(3) {
            0 => pairs.push((first + length - 1, first)),
            1 => pairs.push((first + length - 1, first + random.below(length))),
            _ => pairs.push((first + length - 1, random.below(n))),
        }
        first += length;
    }
    for _ in 0..random.below(30) {
        pairs.push((random.below(n), random.below(n)));
    }
    let pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(a, b)| (mixed(a), mixed(b))).collect();
    Plain::of(n, &pairs, true)
}

#[test]
fn long_chains_have_the_components_of_the_definition() {
    compare_chains(0..2);
}

#[test]
#[ignore = "long: make soak"]
fn longer_series_of_chains_have_the_components_of_the_definition() {
    compare_chains(2..24);
}

fn compare_chains(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let graph = chains(seed);
        equal_whatever_the_way(&graph, &format!("chains {seed}"));
        equal_whatever_the_way(&graph.without_in_edges(), &format!("chains {seed}, one way"));
    }
}

#[test]
fn long_paths_and_rings_take_few_steps_in_the_least_memory() {
    let n = 60_000;
    for multiplier in [1, 23_173] {
        let mixed = |v: u32| (u64::from(v) * multiplier % u64::from(n)) as u32;
        let mut pairs: Vec<(u32, u32)> = (0..n - 1).map(|v| (mixed(v), mixed(v + 1))).collect();
        let path = Plain::of(n, &pairs, true);
        for graph in [path.clone().without_in_edges(), path] {
            let config = tight(&graph).remove(1);
            assert_eq!(config.strategy, Strategy::Auto);
            let found = scc::run(&graph.stored(), config).unwrap();
            assert_eq!((found.components, found.single), (u64::from(n), u64::from(n)));
            // The search for the giant component gives up once it has taken half of the pages.
            let steps = found.run.stats.steps;
            assert!(steps < 200, "{steps} steps of a path");
        }
        pairs.push((mixed(n - 1), mixed(0)));
        // A second way through a ring in order, so that it is no chain of single edges. In another
        // order each of its vertices would need a page of its own.
        if multiplier == 1 {
            pairs.extend((0..n / 2).map(|v| (2 * v, (2 * v + 2) % n)));
        }
        let ring = Plain::of(n, &pairs, true);
        let config = tight(&ring).remove(1);
        let found = scc::run(&ring.stored(), config).unwrap();
        assert_eq!((found.components, found.largest), (1, u64::from(n)));
    }
}

#[test]
fn an_undirected_graph_has_its_connected_components() {
    for seed in 0..10 {
        let graph = random_graph(seed, false);
        let stored = graph.stored();
        let strong = scc::run(&stored, config(Strategy::Auto, 2)).unwrap();
        let weak = wcc::run(&stored, config(Strategy::Auto, 2)).unwrap();
        assert!((0..graph.vertices()).all(|v| strong.label(v) == weak.label(v)), "seed {seed}");
        assert_eq!(strong.components, weak.components);
        scc::verify(&stored, &strong).unwrap();
    }
}

#[test]
fn the_verifier_sees_the_components_of_another_graph() {
    let one = Plain::of(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], true);
    let other = Plain::of(4, &[(0, 1), (1, 2), (2, 3)], true);
    let found = scc::run(&one.stored(), config(Strategy::Auto, 1)).unwrap();
    assert!(scc::verify(&other.stored(), &found).is_err());
}
