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
    Plain::of(6000, &skewed_pairs(), directed)
}

/// The ends of 150,000 edges among 6,000 vertices, of which the first have the most.
fn skewed_pairs() -> Vec<(u32, u32)> {
    let mut random = Random(3);
    (0..150_000)
        .map(|_| {
            let bound = 1 + random.below(6000);
            (random.below(bound), random.below(6000))
        })
        .collect()
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

/// Cliques of ten in a row, each joined to the next by one edge.
fn cliques(count: u32) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for first in (0..count).map(|clique| 10 * clique) {
        let members = first..first + 10;
        pairs.extend(members.clone().flat_map(|a| (a + 1..first + 10).map(move |b| (a, b))));
        pairs.push((first + 9, (first + 10) % (10 * count)));
    }
    pairs
}

/// A grid in rows of `columns`, its vertices numbered by `name`.
fn grid(rows: u32, columns: u32, name: impl Fn(u32) -> u32) -> Vec<(u32, u32)> {
    let at = |row: u32, column: u32| row * columns + column;
    let right = (0..rows).flat_map(|r| (1..columns).map(move |c| (at(r, c - 1), at(r, c))));
    let down = (1..rows).flat_map(|r| (0..columns).map(move |c| (at(r - 1, c), at(r, c))));
    right.chain(down).map(|(a, b)| (name(a), name(b))).collect()
}

/// Many ranges of a directed graph: out-lists beyond the memory that joins them with in-lists.
#[test]
fn a_directed_graph_of_many_ranges_has_the_cores_of_the_verifier() {
    let mut random = Random(8);
    let pairs: Vec<_> = (0..900_000).map(|_| (random.below(200), random.below(40_000))).collect();
    let stored = Plain::of(40_000, &pairs, true).stored();
    for more in [2 << 20, 5 << 20] {
        let (found, labels) = with_room(&stored, more);
        assert!(labels.contains("inner cores 1: in, inner cores 1: out"), "{labels}");
        kcore::verify(&stored, &found).unwrap();
    }
}

/// Deep graphs and hubs, each of 20,000 vertices and more.
fn hostile(directed: bool) -> Vec<Plain> {
    let n = 20_000;
    let scattered = |v: u32| ((u64::from(v) * 7919) % 20_011) as u32;
    let path: Vec<_> = (1..n).map(|v| (v - 1, v)).collect();
    let far: Vec<_> = path.iter().map(|&(a, b)| (scattered(a), scattered(b))).collect();
    let star: Vec<_> = (1..n).map(|leaf| (0, leaf)).collect();
    // A path to a wheel, and loops.
    let mut wheel: Vec<_> = (1..n).flat_map(|v| [(0, v), (v, 1 + v % (n - 1))]).collect();
    wheel.extend((n..n + 9000).map(|v| (v - 1, v)));
    wheel.extend([(0, 0), (n + 5, n + 5)]);
    vec![
        Plain::of(n, &path, directed).named("path"),
        Plain::of(20_011, &far, directed).named("scattered path"),
        Plain::of(n, &star, directed).named("star"),
        Plain::of(n + 9000, &wheel, directed).named("wheel"),
        Plain::of(n, &cliques(n / 10), directed).named("cliques"),
        Plain::of(20_000, &grid(100, 200, |v| v), directed).named("grid"),
        Plain::of(20_011, &grid(100, 200, scattered), directed).named("scattered grid"),
    ]
}

/// A run with `more` bytes beside state, index and the smallest buffers, and its steps' labels.
fn with_room(graph: &std::sync::Arc<cenote_engine::Graph>, more: u64) -> (Kcore, String) {
    let tight = |bytes| EngineConfig::with_memory(bytes).threads(2).depth(Some(1)).explain(true);
    let least = kcore::needs(graph, &tight(0)).state_bytes + graph.memory_bytes() as u64;
    let found =
        kcore::run(graph, tight(least + (64 << 10) + more), &KcoreConfig::default()).unwrap();
    let labels: Vec<_> = found.run.steps.iter().map(|step| step.label.clone()).collect();
    (found, labels.join(", "))
}

#[test]
fn deep_graphs_have_the_same_cores_in_any_budget() {
    for directed in [false, true] {
        for graph in hostile(directed) {
            let stored = graph.stored();
            for more in [0, 300 << 10, 2 << 20, 32 << 20] {
                let (found, labels) = with_room(&stored, more);
                kcore::verify(&stored, &found)
                    .unwrap_or_else(|e| panic!("{} with {more}: {e}: {labels}", graph.name));
            }
        }
    }
}

#[test]
fn trees_take_one_pass_whatever_the_order_of_the_file() {
    for graph in hostile(false).iter().take(3) {
        let (found, labels) = with_room(&graph.stored(), 0);
        assert_eq!(labels, "neighbours", "{}", graph.name);
        assert_eq!((found.rounds, found.degeneracy), (1, 1), "{}", graph.name);
    }
}

#[test]
fn each_way_is_taken_where_it_is_meant_to() {
    let mut pairs = skewed_pairs();
    pairs.extend((1..6000).map(|v| (0, v)));
    let hubs = Plain::of(6000, &pairs, false).stored();
    let (found, labels) = with_room(&hubs, 8 << 20);
    assert_eq!(labels, "remaining lists");
    let expected = found.cores().to_vec();
    let mut inner = 0;
    for more in (3..16).map(|eighths| eighths << 17) {
        let (found, labels) = with_room(&hubs, more);
        assert_eq!(found.cores(), expected, "{more}: {labels}");
        inner += u32::from(labels.starts_with("inner cores 1, inner cores 2"));
    }
    assert!(inner > 0, "inner cores were to be taken in turn");
    let (found, labels) = with_room(&hubs, 0);
    assert!(labels.contains("shell"), "{labels}");
    assert_eq!(found.cores(), expected);
    let far = hostile(false).remove(6).stored();
    let (_, labels) = with_room(&far, 0);
    assert!(labels.contains("shell 2"), "{labels}");
    // Without a hub no pass is for inner cores.
    let even = large(false).stored();
    for more in (3..16).map(|eighths| eighths << 17) {
        let (found, labels) = with_room(&even, more);
        assert!(labels.starts_with("neighbours") || labels == "remaining lists", "{labels}");
        kcore::verify(&even, &found).unwrap();
    }
}
