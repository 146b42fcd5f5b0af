//! Leiden and Louvain: known communities, ways and budgets, and a verifier that sees faults.

use std::sync::Arc;

use crate::orders::stored;
use crate::plain::{Plain, Random, config, configs, odd_graphs, random_graph};
use cenote_algo::communities::{self, Communities, CommunitiesConfig, Method};
use cenote_algo::{AlgoError, Result};
use cenote_engine::{EngineConfig, EngineError, Graph, Order, Strategy};
use cenote_store::{Codec, WeightType};

/// Both methods, in memory from the start and on stored lists.
fn ways() -> impl Iterator<Item = CommunitiesConfig> {
    let methods = [Method::Leiden, Method::Louvain].map(CommunitiesConfig::of);
    methods.into_iter().flat_map(|asked| [asked, asked.small_entries(0)])
}

/// Cliques of `size`, each joined to the next by an edge.
fn ring(cliques: u32, size: u32) -> Plain {
    let mut pairs = Vec::new();
    for clique in 0..cliques {
        let first = clique * size;
        pairs.extend((0..size).flat_map(|a| (0..a).map(move |b| (first + a, first + b))));
        pairs.push((first, (first + size + 1) % (cliques * size)));
    }
    Plain::of(cliques * size, &pairs, false)
}

/// A run with the budget that is given, or with the one that its error names.
fn run(graph: &Arc<Graph>, config: EngineConfig, asked: &CommunitiesConfig) -> Result<Communities> {
    match communities::run(graph, config.clone(), asked) {
        Err(AlgoError::Engine(EngineError::Budget { suggested, .. })) => {
            assert!(suggested << 20 > config.memory_bytes, "the error helps");
            run(graph, config.memory_bytes(suggested << 20), asked)
        }
        found => found,
    }
}

#[test]
fn cliques_in_a_ring_are_communities_whatever_the_way() {
    let (plain, size) = (ring(20, 5), 5);
    let graph = plain.stored();
    for asked in ways() {
        for config in configs() {
            let found = run(&graph, config, &asked).unwrap();
            for v in 0..plain.vertices() {
                assert_eq!(found.label(v), v / size * size, "{asked:?}");
            }
            // 10 of 11 edges are within, and each community has a twentieth of all degrees.
            assert!((found.modularity - (10.0 / 11.0 - 0.05)).abs() < 1e-12, "{asked:?}");
            assert_eq!((found.communities, found.single, found.largest), (20, 0, 5));
            assert!(found.converged);
            communities::verify(&graph, &asked, &found).unwrap();
        }
    }
}

#[test]
fn odd_and_random_graphs_have_communities_that_verify() {
    let mut graphs = odd_graphs(false);
    graphs.extend((0..20).map(|seed| random_graph(seed, false)));
    for (i, plain) in graphs.iter().enumerate() {
        let kinds = [WeightType::F32, WeightType::F64, WeightType::U32, WeightType::I64];
        for weights in [None, Some(kinds[i % 4])] {
            let graph = stored(plain, Order::Natural, Codec::Raw, weights);
            for asked in ways() {
                let asked = asked.resolution([1.0, 0.2, 5.0][i % 3]);
                let found = run(&graph, config(Strategy::Auto, 2), &asked).unwrap();
                communities::verify(&graph, &asked, &found).unwrap();
            }
        }
    }
}

/// A graph without communities, so that what is between them is large.
fn random() -> Plain {
    let mut random = Random(3);
    let pairs: Vec<_> = (0..90_000).map(|_| (random.below(5000), random.below(5000))).collect();
    Plain::of(5001, &pairs, false)
}

#[test]
fn a_budget_too_small_for_a_level_names_one_that_gives_the_same_answer() {
    let graph = random().stored();
    let asked = CommunitiesConfig::of(Method::Leiden).small_entries(0);
    let plenty = communities::run(&graph, config(Strategy::Auto, 2), &asked).unwrap();
    communities::verify(&graph, &asked, &plenty).unwrap();
    let tight = |bytes| EngineConfig::with_memory(bytes).threads(2).depth(Some(2));
    let needed = communities::needs(&graph, &tight(4 << 20), &asked).unwrap().state_bytes;
    let tight = tight(needed + (400 << 10));
    let refused = communities::run(&graph, tight.clone(), &asked);
    let Err(AlgoError::Engine(EngineError::Budget { given, needed, breakdown, .. })) = &refused
    else {
        panic!("{refused:?}")
    };
    assert!(needed > given && breakdown.contains("between its communities"), "{breakdown}");
    let found = run_as_named(&graph, tight, &asked);
    assert_eq!(found.labels(), plenty.labels());
    assert_eq!(found.modularity.to_bits(), plenty.modularity.to_bits());
}

/// A run with the budget that is given, or with the one that its first error names.
#[track_caller]
fn run_as_named(
    graph: &Arc<Graph>,
    config: EngineConfig,
    asked: &CommunitiesConfig,
) -> Communities {
    match communities::run(graph, config.clone(), asked) {
        Err(AlgoError::Engine(EngineError::Budget { suggested, given, .. })) => {
            assert!(suggested << 20 > given && given == config.memory_bytes, "{given}");
            communities::run(graph, config.memory_bytes(suggested << 20), asked).unwrap()
        }
        found => found.unwrap(),
    }
}

/// Follows the budgets that errors name for all ways on some graphs, each with those of the larger
/// ones that are chosen for its place among the ways.
fn check_named_budgets(graphs: usize, given: &[u64], larger: impl Fn(usize) -> &'static [u64]) {
    let path: Vec<_> =
        (0..50_000u32).map(|v| (v * 7919 % 50_001, (v + 1) * 7919 % 50_001)).collect();
    let path = Plain::of(50_001, &path, false).stored();
    for graph in [&random().stored(), &path, &ring(300, 12).stored()].into_iter().take(graphs) {
        for (way, asked) in ways().enumerate() {
            let config = |bytes| EngineConfig::with_memory(bytes).threads(2);
            let plenty = communities::run(graph, config(256 << 20), &asked).unwrap();
            let mut named = Vec::new();
            for &given in given {
                if let Err(AlgoError::Engine(EngineError::Budget { suggested, .. })) =
                    communities::run(graph, config(given), &asked)
                {
                    named.push(suggested);
                    let estimate = communities::estimate(graph, &config(suggested << 20), &asked);
                    let sufficient = format!("{suggested}MiB as `memory`");
                    assert!(estimate.unwrap().because.contains(&sufficient), "{sufficient}");
                }
            }
            named.dedup();
            assert_eq!(named.len(), 1, "{named:?}");
            for more in larger(way) {
                let found = communities::run(graph, config((named[0] + more) << 20), &asked);
                assert_eq!(found.unwrap().labels(), plenty.labels());
            }
        }
    }
}

#[test]
fn the_first_budget_that_is_named_suffices_and_so_does_every_larger_one() {
    check_named_budgets(2, &[256 << 10, 1 << 20, 3 << 20], |way| [&[0], &[4]][way / 2]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_the_first_budget_that_is_named_suffices_and_so_does_every_larger_one() {
    let given = [256 << 10, 1 << 20, 3 << 20, 5 << 20, 8 << 20];
    check_named_budgets(3, &given, |_| &[0, 1, 4, 40]);
}

#[test]
fn what_cannot_be_answered_is_refused_by_runs_and_estimates() {
    let undirected = Plain::of(3, &[(0, 1), (1, 2)], false).stored();
    let directed = Plain::of(3, &[(0, 1), (1, 2)], true).stored();
    let asked = CommunitiesConfig::of(Method::Louvain);
    let cases = [
        (&directed, asked),
        (&undirected, asked.iterations(0)),
        (&undirected, asked.resolution(0.0)),
        (&undirected, asked.resolution(-1.0)),
        (&undirected, asked.resolution(f64::NAN)),
        (&undirected, asked.resolution(f64::INFINITY)),
    ];
    for (graph, asked) in cases {
        assert!(communities::run(graph, config(Strategy::Auto, 1), &asked).is_err(), "{asked:?}");
        let estimate = communities::estimate(graph, &config(Strategy::Auto, 1), &asked);
        assert!(estimate.is_err(), "{asked:?}");
    }
}

#[test]
fn the_verifier_sees_the_communities_of_another_graph() {
    let (one, other) = (ring(6, 4), ring(4, 6));
    for asked in ways() {
        let found = run(&one.stored(), config(Strategy::Auto, 1), &asked).unwrap();
        assert!(communities::verify(&other.stored(), &asked, &found).is_err());
        assert!(communities::verify(&one.stored(), &asked.resolution(9.0), &found).is_err());
    }
}
