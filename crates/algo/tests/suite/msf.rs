//! Minimum spanning forests, held against Prim's algorithm on lists in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::orders::{stored, weight};
use crate::plain::{Plain, Random, config, configs, odd_graphs, random_graph};
use cenote_algo::AlgoError;
use cenote_algo::msf::{self, Msf, Total};
use cenote_engine::{EngineConfig, Graph, Order, Strategy, Weight};
use cenote_store::{Codec, WeightType};

/// The only forest: grows a tree from each vertex by the first edge in the order of weight, smaller
/// end, larger end.
fn prim(graph: &Plain, kind: Option<WeightType>) -> Vec<(u32, u32)> {
    let weigh = |a, b| kind.map_or(1.0, |kind| weight(kind, a, b).to_f64());
    let mut reached = vec![false; graph.lists.len()];
    let mut forest = BTreeSet::new();
    for root in 0..graph.vertices() {
        let mut edges: Vec<(f64, u32, u32)> = Vec::new();
        let mut next = if reached[root as usize] { None } else { Some(root) };
        while let Some(v) = next {
            reached[v as usize] = true;
            edges
                .extend(graph.lists[v as usize].iter().map(|&w| (weigh(v, w), v.min(w), v.max(w))));
            edges.retain(|&(_, a, b)| !(reached[a as usize] && reached[b as usize]));
            let lightest = edges.iter().copied().min_by(|a, b| a.partial_cmp(b).unwrap());
            next = lightest.map(|(_, a, b)| {
                forest.insert((a, b));
                if reached[a as usize] { b } else { a }
            });
        }
    }
    forest.into_iter().collect()
}

fn ends(msf: &Msf) -> Vec<(u32, u32)> {
    msf.edges().map(|edge| (edge.source, edge.target)).collect()
}

fn weighted(graph: &Plain, kind: WeightType) -> Arc<Graph> {
    stored(graph, Order::Natural, Codec::Raw, Some(kind))
}

#[test]
fn odd_graphs_have_the_spanning_forest_of_their_first_edges() {
    for (i, graph) in odd_graphs(false).iter().enumerate() {
        let (stored, expected) = (graph.stored(), prim(graph, None));
        for config in configs() {
            let found = msf::run(&stored, config).unwrap();
            assert_eq!(ends(&found), expected, "odd graph {i}");
            assert!(found.edges().all(|edge| edge.weight == Weight::U32(1)));
            assert_eq!(found.total, Total::Integer(expected.len() as i128));
            assert_eq!(found.components as usize, graph.lists.len() - expected.len());
            msf::verify(&stored, &found).unwrap();
        }
    }
}

#[test]
fn random_weights_give_the_forest_of_prim_whatever_the_way() {
    let kinds = [WeightType::F32, WeightType::F64, WeightType::U32, WeightType::I64];
    for (seed, kind) in (0..24).zip(kinds.into_iter().cycle()) {
        let graph = random_graph(seed, false);
        let (stored, expected) = (weighted(&graph, kind), prim(&graph, Some(kind)));
        for config in configs() {
            let found = msf::run(&stored, config).unwrap();
            assert_eq!(ends(&found), expected, "seed {seed}");
            for edge in found.edges() {
                assert_eq!(edge.weight, weight(kind, edge.source, edge.target), "seed {seed}");
            }
            msf::verify(&stored, &found).unwrap();
        }
    }
}

/// A random graph and a path, whose edges do not fit in the least budget.
fn large() -> Plain {
    let mut random = Random(3);
    let mut pairs: Vec<_> =
        (0..120_000).map(|_| (random.below(6000), random.below(6000))).collect();
    pairs.extend((6000..9000).map(|v| (v, v + 1)));
    Plain::of(9001, &pairs, false)
}

#[test]
fn a_small_budget_takes_more_passes_to_the_same_forest() {
    let stored = weighted(&large(), WeightType::F64);
    let plenty = msf::run(&stored, config(Strategy::Auto, 2)).unwrap();
    assert_eq!(plenty.passes, 1);
    msf::verify(&stored, &plenty).unwrap();
    let tight = |bytes| EngineConfig::with_memory(bytes).threads(2).depth(Some(2));
    let needed = msf::needs(&stored, &tight(4 << 20)).unwrap().state_bytes;
    let found = msf::run(&stored, tight(needed + (300 << 10))).unwrap();
    assert!(found.passes > 1, "{}", found.passes);
    assert_eq!((ends(&found), found.total), (ends(&plenty), plenty.total));
    for threads in [1, 4, 8] {
        let found = msf::run(&stored, config(Strategy::Auto, threads)).unwrap();
        assert_eq!((ends(&found), found.total), (ends(&plenty), plenty.total), "{threads}");
    }
}

#[test]
fn a_directed_graph_is_refused() {
    let graph = Plain::of(3, &[(0, 1), (1, 2)], true).stored();
    let refused = msf::run(&graph, config(Strategy::Auto, 1));
    assert!(matches!(refused, Err(AlgoError::Unsupported { .. })), "{refused:?}");
    let refused = msf::estimate(&graph, &config(Strategy::Auto, 1));
    assert!(matches!(refused, Err(AlgoError::Unsupported { .. })), "{refused:?}");
}

#[test]
fn the_verifier_sees_the_forest_of_another_graph() {
    let one = Plain::of(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], false);
    let other = Plain::of(4, &[(0, 1), (0, 3), (2, 3)], false);
    let found = msf::run(&one.stored(), config(Strategy::Auto, 1)).unwrap();
    assert!(msf::verify(&other.stored(), &found).is_err());
}
