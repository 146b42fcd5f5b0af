//! Degrees in bands.

use std::sync::Arc;

use cenote_algo::degrees::{self, Degrees};
use cenote_engine::{EngineConfig, Graph};

use super::{Orders, PLENTY, assert_close, budgets, config, folder, graphs, is_empty, updated};
use crate::orders;

fn check(case: &str, graph: &Arc<Graph>, config: &EngineConfig, expected: &Degrees) {
    let estimate = degrees::estimate(graph, config).unwrap();
    let found = degrees::run(graph, config.clone()).unwrap();
    let bands = found.run.bands.clone().expect(case);
    println!("{case}: {bands:?}, {:?}", found.run.stats);
    assert!(expected.out_degrees() == found.out_degrees(), "{case}");
    assert!(expected.in_degrees() == found.in_degrees(), "{case}");
    let counts = |degrees: &Degrees| (degrees.entries, degrees.isolated, degrees.top(20));
    assert_eq!(counts(expected), counts(&found), "{case}");
    found.release();
    degrees::verify(graph, &found).unwrap();
    let stats = found.run.stats;
    let state = estimate.bands.unwrap();
    assert_close(case, "bytes of state read", state.state_bytes_read, stats.state_bytes_read);
    // Lists of few chunks are cached whole or not at all.
    if !bands.because.contains("in the lists") || found.run.cached_fraction < 0.1 {
        assert_close(case, "bytes read", estimate.bytes_read, stats.bytes_read);
    }
    assert_close(case, "bytes written", estimate.bytes_written, stats.bytes_written);
    assert!(found.run.memory.total_bytes() <= config.memory_bytes);
}

/// Compares runs with several budgets with one in memory.
fn check_budgets(case: &str, graph: &Arc<Graph>) {
    let folder = folder();
    let expected = degrees::run(graph, config(folder.path(), PLENTY, 2)).unwrap();
    assert!(expected.run.bands.is_none());
    for threads in [1, 2, 4] {
        let refused = |config| degrees::run(graph, config).unwrap_err();
        for memory_bytes in budgets(folder.path(), threads, threads, &refused) {
            let case = format!("{case}, {threads} threads, {memory_bytes}");
            check(&case, graph, &config(folder.path(), memory_bytes, threads), &expected);
        }
    }
    assert!(is_empty(folder.path()));
}

#[test]
fn degrees_in_bands_are_those_in_memory() {
    for graph in graphs() {
        check_budgets(graph.name, &graph.stored());
    }
}

fn check_orders(orders: Orders) {
    let graphs = orders.graphs();
    for (at, graph) in [&graphs[0], &graphs[1], &graphs[8]].into_iter().enumerate() {
        for (order, codec) in orders.of(at) {
            let stored = orders::stored(graph, order, codec, None);
            check_budgets(&format!("order {order:?}, {}", graph.name), &stored);
        }
        check_budgets(&format!("updated, {}", graph.name), &updated(graph));
    }
}

#[test]
fn degrees_in_bands_do_not_depend_on_order_and_codec() {
    check_orders(Orders::InTurn);
}

#[test]
#[ignore = "long: make soak"]
fn longer_degrees_in_bands_do_not_depend_on_order_and_codec() {
    check_orders(Orders::All);
}
