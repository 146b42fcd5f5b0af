//! Label propagation, held against its definition.

use std::collections::BTreeMap;

use crate::plain::{Plain, Random, config, configs, odd_graphs, random_graph};
use cenote_algo::AlgoError;
use cenote_algo::cdlp::{self, Cdlp, CdlpConfig};
use cenote_engine::{EngineConfig, Strategy};

fn labels_by_definition(graph: &Plain, iterations: u32) -> Vec<u32> {
    let mut lists = graph.lists.clone();
    if graph.directed {
        lists.iter_mut().zip(graph.in_lists()).for_each(|(list, more)| list.extend(more));
    }
    let mut labels: Vec<u32> = (0..graph.vertices()).collect();
    for _ in 0..iterations {
        let most = |(list, &own): (&Vec<u32>, &u32)| {
            let mut counts = BTreeMap::new();
            list.iter().for_each(|&u| *counts.entry(labels[u as usize]).or_insert(0) += 1);
            let most = counts.into_iter().map(|(label, count)| (-count, label)).min();
            most.map_or(own, |(_, label)| label)
        };
        labels = lists.iter().zip(&labels).map(most).collect();
    }
    labels
}

fn labels(cdlp: &Cdlp, graph: &Plain) -> Vec<u32> {
    (0..graph.vertices()).map(|v| cdlp.label(v)).collect()
}

fn equal_whatever_the_way(graph: &Plain, iterations: u32, what: &str) {
    let stored = graph.stored();
    let expected = labels_by_definition(graph, iterations);
    let asked = CdlpConfig::default().iterations(iterations);
    for config in configs() {
        let what = format!("{what}, {} by {} threads", config.strategy, config.threads);
        let found = cdlp::run(&stored, config, &asked).unwrap();
        assert_eq!(labels(&found, graph), expected, "{what}");
        cdlp::verify(&stored, &asked, &found).unwrap();
    }
}

#[test]
fn odd_graphs_have_the_labels_of_the_definition() {
    for directed in [false, true] {
        for (i, graph) in odd_graphs(directed).iter().enumerate() {
            equal_whatever_the_way(graph, 10, &format!("odd graph {i}, directed {directed}"));
        }
    }
}

#[test]
fn random_graphs_have_the_labels_of_the_definition() {
    for seed in 0..40 {
        let graph = random_graph(seed, seed % 2 == 0);
        equal_whatever_the_way(&graph, seed as u32 % 13, &format!("seed {seed}"));
    }
}

/// Dense groups with few edges between them: labels soon stop to change.
fn groups(directed: bool) -> Plain {
    let mut random = Random(9);
    let pairs: Vec<(u32, u32)> = (0..150_000)
        .map(|i| {
            let group = random.below(60) * 100;
            let a = group + random.below(100);
            if i % 50 == 0 { (a, random.below(6000)) } else { (a, group + random.below(100)) }
        })
        .collect();
    Plain::of(6000, &pairs, directed)
}

#[test]
fn an_iteration_that_changes_nothing_is_the_last() {
    for directed in [false, true] {
        let graph = groups(directed);
        let stored = graph.stored();
        let asked = CdlpConfig::default().iterations(100);
        let found = cdlp::run(&stored, config(Strategy::Auto, 2), &asked).unwrap();
        assert!(found.converged && found.iterations < 100, "{} iterations", found.iterations);
        assert_eq!(labels(&found, &graph), labels_by_definition(&graph, 100));
        assert!(found.communities >= 40 && found.communities <= 60, "{}", found.communities);
    }
}

#[test]
fn a_small_budget_gives_the_same_labels() {
    for directed in [false, true] {
        let graph = groups(directed);
        let stored = graph.stored();
        let asked = CdlpConfig::default();
        let tight = |bytes| EngineConfig::with_memory(bytes).threads(2).depth(Some(2));
        let needed = cdlp::needs(&stored, &tight(4 << 20)).state_bytes;
        let found = cdlp::run(&stored, tight(needed + (600 << 10)), &asked).unwrap();
        assert_eq!(labels(&found, &graph), labels_by_definition(&graph, 10));
    }
}

#[test]
fn no_iterations_leave_every_vertex_its_own_label() {
    let graph = Plain::of(3, &[(0, 1), (1, 2)], false);
    let asked = CdlpConfig::default().iterations(0);
    let found = cdlp::run(&graph.stored(), config(Strategy::Auto, 1), &asked).unwrap();
    assert_eq!((found.communities, found.largest, found.converged), (3, 1, false));
}

#[test]
fn a_directed_graph_without_in_edges_is_refused() {
    let graph = Plain::of(3, &[(0, 1), (1, 2)], true).without_in_edges();
    let refused = cdlp::run(&graph.stored(), config(Strategy::Auto, 1), &CdlpConfig::default());
    assert!(matches!(refused, Err(AlgoError::Unsupported { .. })), "{refused:?}");
}

#[test]
fn the_verifier_sees_the_labels_of_another_graph() {
    let one = Plain::of(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], false);
    let other = Plain::of(4, &[(0, 1), (2, 3)], false);
    let asked = CdlpConfig::default();
    let found = cdlp::run(&one.stored(), config(Strategy::Auto, 1), &asked).unwrap();
    assert!(cdlp::verify(&other.stored(), &asked, &found).is_err());
}
