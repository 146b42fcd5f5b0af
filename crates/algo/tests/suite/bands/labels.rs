//! Labels of communities and core numbers in bands.

use std::sync::Arc;

use cenote_algo::cdlp::{self, Cdlp, CdlpConfig};
use cenote_algo::kcore::{self, Kcore, KcoreConfig};
use cenote_engine::{EngineConfig, Graph};

use super::{
    Orders, PLENTY, assert_close, assert_within, budgets, config, folder, graphs, graphs_with,
    is_empty, large_graphs, updated,
};
use crate::orders;
use crate::plain::Plain;

fn check_cdlp(
    case: &str,
    graph: &Arc<Graph>,
    config: &EngineConfig,
    labels: &CdlpConfig,
    expected: &Cdlp,
) {
    let estimate = cdlp::estimate(graph, config, labels).unwrap();
    let found = cdlp::run(graph, config.clone(), labels).unwrap();
    let bands = found.run.bands.clone().expect(case);
    println!("{case}: {bands:?}, {:?}", found.run.stats);
    assert!(expected.labels() == found.labels(), "{case}");
    let counts = |cdlp: &Cdlp| {
        let Cdlp { iterations, converged, communities, largest, largest_label, .. } = cdlp;
        (*iterations, *converged, *communities, *largest, *largest_label)
    };
    assert_eq!(counts(expected), counts(&found), "{case}");
    found.release();
    let stats = found.run.stats;
    let range = estimate.bytes_read_at_least..=estimate.bytes_read_at_most.max(1 << 20);
    assert!(range.contains(&stats.bytes_read), "{case}: {estimate:#?} {stats:?}");
    if labels.iterations == 1 && case.starts_with("skewed,") && !graph.is_directed() {
        let state = estimate.bands.unwrap();
        assert_close(case, "bytes written", estimate.bytes_written, stats.bytes_written);
        // The plan counts a list for each vertex, though here many have none, and whole parts.
        let (planned, found) = (state.state_bytes_read, stats.state_bytes_read);
        assert_within(0.25, case, "bytes of state read", planned, found);
        assert_within(0.25, case, "bytes read", estimate.bytes_read, stats.bytes_read);
    }
    assert!(found.run.memory.total_bytes() <= config.memory_bytes);
}

/// Compares runs with several budgets with those in memory.
fn check_cdlp_budgets(case: &str, graph: &Arc<Graph>, iterations: &[u32], threads: &[usize]) {
    let folder = folder();
    for (i, &iterations) in iterations.iter().enumerate() {
        let labels = CdlpConfig::default().iterations(iterations);
        let expected = cdlp::run(graph, config(folder.path(), PLENTY, 2), &labels).unwrap();
        assert!(expected.run.bands.is_none());
        for &threads in threads {
            let refused = |config| cdlp::run(graph, config, &labels).unwrap_err();
            for memory_bytes in budgets(folder.path(), threads, i, &refused) {
                let case = format!("{case}, {iterations}, {threads} threads, {memory_bytes}");
                let config = config(folder.path(), memory_bytes, threads);
                check_cdlp(&case, graph, &config, &labels, &expected);
            }
        }
    }
    assert!(is_empty(folder.path()));
}

/// Those that have all edges in their lists; only in `make soak` with the longest path.
fn whole(longest: bool) -> impl Iterator<Item = &'static Plain> {
    graphs_with(longest).filter(|graph| !graph.directed || graph.in_edges)
}

fn check_labels(longest: bool, iterations: impl Fn(usize) -> &'static [u32], threads: &[usize]) {
    for (at, graph) in whole(longest).enumerate() {
        check_cdlp_budgets(graph.name, &graph.stored(), iterations(at), threads);
    }
}

#[test]
fn labels_in_bands_are_those_in_memory() {
    check_labels(false, |at| if at % 2 == 0 { &[1] } else { &[6] }, &[4]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_labels_in_bands_are_those_in_memory() {
    check_labels(true, |_| &[0, 1, 6], &[2, 4]);
}

fn check_labels_in_order(graphs: &[&Plain], orders: Orders, threads: &[usize]) {
    for (at, graph) in graphs.iter().enumerate() {
        for (order, codec) in orders.of(at) {
            let stored = orders::stored(graph, order, codec, None);
            let case = format!("order {order:?}, {}", graph.name);
            check_cdlp_budgets(&case, &stored, &[3], threads);
        }
        check_cdlp_budgets(&format!("updated, {}", graph.name), &updated(graph), &[3], threads);
    }
}

#[test]
fn labels_in_bands_do_not_depend_on_order_and_codec() {
    check_labels_in_order(&[&graphs()[0]], Orders::InTurn, &[2]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_labels_in_bands_do_not_depend_on_order_and_codec() {
    let graphs = large_graphs();
    check_labels_in_order(&[&graphs[0], &graphs[1], &graphs[4]], Orders::All, &[2, 4]);
}

fn check_kcore(
    case: &str,
    graph: &Arc<Graph>,
    config: &EngineConfig,
    cores: &KcoreConfig,
    expected: &Kcore,
) {
    let estimate = kcore::estimate(graph, config, cores).unwrap();
    let found = kcore::run(graph, config.clone(), cores).unwrap();
    let bands = found.run.bands.clone().expect(case);
    println!("{case}: {} rounds, {bands:?}, {:?}", found.rounds, found.run.stats);
    // Bounds fall one after the other, but most of them while their lists are in memory.
    let is_deep = ["path", "grid"].iter().any(|deep| case.starts_with(deep));
    assert!(!is_deep || found.rounds <= 8, "{case}: {} rounds", found.rounds);
    assert!(expected.cores() == found.cores(), "{case}");
    let counts = |kcore: &Kcore| (kcore.degeneracy, kcore.shells.clone(), kcore.k);
    assert_eq!(counts(expected), counts(&found), "{case}");
    found.release();
    let stats = found.run.stats;
    let range = estimate.bytes_read_at_least..=estimate.bytes_read_at_most.max(1 << 20);
    assert!(range.contains(&stats.bytes_read), "{case}: {estimate:#?} {stats:?}");
    assert!(found.run.memory.total_bytes() <= config.memory_bytes);
}

/// Compares runs with several budgets with those in memory.
fn check_kcore_budgets(case: &str, graph: &Arc<Graph>, limits: &[Option<u32>], threads: &[usize]) {
    let folder = folder();
    for &k in limits {
        let cores = k.map_or_else(KcoreConfig::default, |k| KcoreConfig::default().k(Some(k)));
        let expected = kcore::run(graph, config(folder.path(), PLENTY, 2), &cores).unwrap();
        assert!(expected.run.bands.is_none());
        let turn = k.unwrap_or(0) as usize;
        for &threads in threads {
            let refused = |config| kcore::run(graph, config, &cores).unwrap_err();
            for memory_bytes in budgets(folder.path(), threads, turn, &refused) {
                let case = format!("{case}, {k:?}, {threads} threads, {memory_bytes}");
                let config = config(folder.path(), memory_bytes, threads);
                check_kcore(&case, graph, &config, &cores, &expected);
            }
        }
    }
    assert!(is_empty(folder.path()));
}

fn check_cores(longest: bool, limits: &[Option<u32>], threads: &[usize]) {
    for graph in whole(longest) {
        // Where vertices of a chain lie anywhere, one bound falls after the other.
        let limits: &[_] = if graph.name.contains("scattered") { &[Some(1)] } else { limits };
        check_kcore_budgets(graph.name, &graph.stored(), limits, threads);
    }
}

#[test]
fn core_numbers_in_bands_are_those_in_memory() {
    check_cores(false, &[None], &[4]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_core_numbers_in_bands_are_those_in_memory() {
    check_cores(true, &[None, Some(3)], &[1, 2, 4]);
}

fn check_cores_in_order(graphs: &[&Plain], orders: Orders, limit: Option<u32>, threads: &[usize]) {
    for (at, graph) in graphs.iter().enumerate() {
        for (order, codec) in orders.of(at + 1) {
            let stored = orders::stored(graph, order, codec, None);
            let case = format!("order {order:?}, {}", graph.name);
            check_kcore_budgets(&case, &stored, &[limit], threads);
        }
        let case = format!("updated, {}", graph.name);
        check_kcore_budgets(&case, &updated(graph), &[Some(5)], threads);
    }
}

#[test]
fn core_numbers_in_bands_do_not_depend_on_order_and_codec() {
    check_cores_in_order(&[&graphs()[0]], Orders::InTurn, Some(5), &[2]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_core_numbers_in_bands_do_not_depend_on_order_and_codec() {
    let graphs = large_graphs();
    check_cores_in_order(&[&graphs[0], &graphs[1]], Orders::All, None, &[2, 4]);
    check_cores_in_order(&[&graphs[0]], Orders::All, Some(5), &[2]);
}
