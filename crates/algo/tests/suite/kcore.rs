//! Core numbers, held against peeling one vertex after the other.

use crate::plain::{Plain, Random, config, configs, odd_graphs, random_graph};
use cenote_algo::AlgoError;
use cenote_algo::kcore::{self, Kcore, KcoreConfig};
use cenote_engine::{EngineConfig, Strategy};

/// Removes the vertices with fewer than k remaining neighbours, for k = 1, 2, 3, ...
fn cores_by_definition(graph: &Plain) -> Vec<u32> {
    let mut lists = graph.lists.clone();
    if graph.directed {
        lists.iter_mut().zip(graph.in_lists()).for_each(|(list, more)| list.extend(more));
    }
    let mut cores = vec![0; lists.len()];
    let mut left: Vec<bool> = vec![true; lists.len()];
    for k in 1.. {
        loop {
            let degree = |v: usize| {
                lists[v].iter().filter(|&&u| u as usize != v && left[u as usize]).count()
            };
            let gone: Vec<usize> =
                (0..lists.len()).filter(|&v| left[v] && degree(v) < k as usize).collect();
            if gone.is_empty() {
                break;
            }
            gone.into_iter().for_each(|v| left[v] = false);
        }
        if left.iter().all(|&left| !left) {
            return cores;
        }
        (0..lists.len()).filter(|&v| left[v]).for_each(|v| cores[v] = k);
    }
    unreachable!("some k is too large for any graph")
}

fn cores(kcore: &Kcore, graph: &Plain) -> Vec<u32> {
    (0..graph.vertices()).map(|v| kcore.core(v)).collect()
}

fn equal_whatever_the_way(graph: &Plain, what: &str) {
    let stored = graph.stored();
    let expected = cores_by_definition(graph);
    for config in configs() {
        let what = format!("{what}, {} by {} threads", config.strategy, config.threads);
        let found = kcore::run(&stored, config, &KcoreConfig::default()).unwrap();
        assert_eq!(cores(&found, graph), expected, "{what}");
        assert_eq!(found.degeneracy, expected.iter().copied().max().unwrap(), "{what}");
        kcore::verify(&stored, &found).unwrap();
    }
}

#[test]
fn odd_graphs_have_the_cores_of_the_definition() {
    for directed in [false, true] {
        for (i, graph) in odd_graphs(directed).iter().enumerate() {
            equal_whatever_the_way(graph, &format!("odd graph {i}, directed {directed}"));
        }
    }
}

#[test]
fn random_graphs_have_the_cores_of_the_definition() {
    for seed in 0..40 {
        equal_whatever_the_way(&random_graph(seed, seed % 2 == 0), &format!("seed {seed}"));
    }
}

/// Enough lists that ranges of vertices and several rounds are needed.
fn large(directed: bool) -> Plain {
    let mut random = Random(3);
    let pairs: Vec<(u32, u32)> = (0..150_000)
        .map(|_| {
            let bound = 1 + random.below(6000);
            (random.below(bound), random.below(6000))
        })
        .collect();
    Plain::of(6000, &pairs, directed)
}

#[test]
fn many_threads_that_lower_neighbours_at_once_agree_with_one() {
    for directed in [false, true] {
        let graph = large(directed);
        let stored = graph.stored();
        let one = kcore::run(&stored, config(Strategy::Auto, 1), &KcoreConfig::default()).unwrap();
        kcore::verify(&stored, &one).unwrap();
        for threads in [2, 4, 8] {
            let many =
                kcore::run(&stored, config(Strategy::Auto, threads), &KcoreConfig::default())
                    .unwrap();
            assert_eq!(cores(&many, &graph), cores(&one, &graph), "{threads} threads");
            assert_eq!(many.shells, one.shells);
        }
    }
}

#[test]
fn a_small_budget_gives_the_same_cores() {
    for directed in [false, true] {
        let graph = large(directed);
        let stored = graph.stored();
        let plenty =
            kcore::run(&stored, config(Strategy::Auto, 2), &KcoreConfig::default()).unwrap();
        let tight = |bytes| EngineConfig::with_memory(bytes).threads(2).depth(Some(2));
        let needed = kcore::needs(&stored, &tight(4 << 20)).state_bytes;
        let found =
            kcore::run(&stored, tight(needed + (600 << 10)), &KcoreConfig::default()).unwrap();
        assert_eq!(cores(&found, &graph), cores(&plenty, &graph));
        assert!(found.run.stats.bytes_read > plenty.run.stats.bytes_read);
    }
}

#[test]
fn the_members_of_one_core_are_those_of_the_decomposition() {
    let graph = large(false);
    let stored = graph.stored();
    let all = kcore::run(&stored, config(Strategy::Auto, 2), &KcoreConfig::default()).unwrap();
    for k in [0, 1, 5, all.degeneracy, all.degeneracy + 1, u32::MAX] {
        let asked = KcoreConfig::default().k(Some(k));
        let found = kcore::run(&stored, config(Strategy::Auto, 2), &asked).unwrap();
        assert_eq!(found.members(k), all.members(k), "k {k}");
        assert!((0..6000).all(|v| found.core(v) == all.core(v).min(k)), "k {k}");
        kcore::verify(&stored, &found).unwrap();
    }
}

#[test]
fn a_directed_graph_without_in_edges_is_refused() {
    let graph = Plain::of(3, &[(0, 1), (1, 2)], true).without_in_edges();
    let refused = kcore::run(&graph.stored(), config(Strategy::Auto, 1), &KcoreConfig::default());
    assert!(matches!(refused, Err(AlgoError::Unsupported { .. })), "{refused:?}");
}

#[test]
fn the_verifier_sees_the_cores_of_another_graph() {
    let one = Plain::of(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], false);
    let other = Plain::of(4, &[(0, 1), (1, 2), (2, 3)], false);
    let found =
        kcore::run(&one.stored(), config(Strategy::Auto, 1), &KcoreConfig::default()).unwrap();
    assert!(kcore::verify(&other.stored(), &found).is_err());
}
