//! Maximal independent sets, held against the greedy choice that defines them.

use std::collections::HashMap;

use crate::plain::{Plain, Random, config, configs, odd_graphs, random_graph};
use cenote_algo::mis::{self, Mis, MisConfig};
use cenote_engine::{EngineConfig, Strategy};

fn seed_of_five() -> MisConfig {
    MisConfig::default().seed(5)
}

fn members(mis: &Mis, graph: &Plain) -> Vec<bool> {
    (0..graph.vertices()).map(|v| mis.contains(v)).collect()
}

/// Independent and maximal, straight from the definition.
fn assert_maximal(graph: &Plain, members: &[bool], what: &str) {
    for (v, neighbours) in graph.neighbours().iter().enumerate() {
        let covered = neighbours.iter().any(|&target| members[target as usize]);
        assert_ne!(members[v], covered, "{what}: vertex {v}");
    }
}

fn one_set_whatever_the_way(graph: &Plain, what: &str) {
    let stored = graph.stored();
    let mut first = None;
    for config in configs() {
        let what = format!("{what}, {} by {} threads", config.strategy, config.threads);
        let found = mis::run(&stored, config, &seed_of_five()).unwrap();
        mis::verify(&stored, &seed_of_five(), &found).unwrap();
        let members = members(&found, graph);
        assert_maximal(graph, &members, &what);
        assert_eq!(found.size, members.iter().filter(|&&member| member).count() as u64);
        assert_eq!(first.get_or_insert_with(|| members.clone()), &members, "{what}");
    }
}

#[test]
fn odd_graphs_have_one_maximal_set() {
    for directed in [false, true] {
        for (i, graph) in odd_graphs(directed).iter().enumerate() {
            one_set_whatever_the_way(graph, &format!("odd graph {i}, directed {directed}"));
        }
    }
}

#[test]
fn random_graphs_have_one_maximal_set() {
    for seed in 0..40 {
        let graph = random_graph(seed, seed % 2 == 0).without_in_edges();
        one_set_whatever_the_way(&graph, &format!("seed {seed}"));
    }
}

#[test]
fn a_directed_graph_has_the_set_of_its_undirected_view() {
    for seed in 100..120 {
        let directed = random_graph(seed, true);
        let pairs: Vec<(u32, u32)> = (0..)
            .zip(&directed.lists)
            .flat_map(|(v, list)| list.iter().map(move |&target| (v, target)))
            .collect();
        let view = Plain::of(directed.vertices(), &pairs, false);
        let run = |graph: &Plain| {
            let found =
                mis::run(&graph.stored(), config(Strategy::Auto, 2), &seed_of_five()).unwrap();
            members(&found, graph)
        };
        assert_eq!(run(&directed), run(&view), "seed {seed}");
    }
}

#[test]
fn a_budget_without_room_for_lists_gives_the_same_set() {
    let mut random = Random(11);
    let pairs: Vec<(u32, u32)> =
        (0..120_000).map(|_| (random.below(3000), random.below(3000))).collect();
    let graph = &Plain::of(3000, &pairs, true).without_in_edges();
    let stored = graph.stored();
    let plenty = mis::run(&stored, config(Strategy::Auto, 2), &seed_of_five()).unwrap();
    for kib in [50, 100, 200, 400] {
        let config =
            EngineConfig::with_memory(kib << 10).threads(2).depth(Some(2)).cache_bytes(Some(0));
        let Ok(found) = mis::run(&stored, config, &seed_of_five()) else { continue };
        assert_eq!(members(&found, graph), members(&plenty, graph), "{kib} KiB");
        if found.run.stats.steps > plenty.run.stats.steps {
            return;
        }
    }
    panic!("no budget was small enough for another pass");
}

#[test]
fn another_seed_chooses_another_set() {
    let graph = &odd_graphs(false)[4];
    let mut sets: HashMap<Vec<bool>, u64> = HashMap::new();
    for seed in 0..8 {
        let found =
            mis::run(&graph.stored(), config(Strategy::Auto, 2), &MisConfig::default().seed(seed))
                .unwrap();
        sets.insert(members(&found, graph), seed);
    }
    assert_eq!(sets.len(), 8);
}

#[test]
fn the_verifier_sees_the_set_of_another_seed_and_of_another_graph() {
    let graph = &odd_graphs(false)[4];
    let stored = graph.stored();
    let found = mis::run(&stored, config(Strategy::Auto, 2), &seed_of_five()).unwrap();
    assert!(mis::verify(&stored, &MisConfig::default().seed(6), &found).is_err());
    let chord = Plain::of(2001, &[(0, 2000), (1, 1999), (2, 1998), (3, 1997)], false);
    assert!(mis::verify(&chord.stored(), &seed_of_five(), &found).is_err());
}
