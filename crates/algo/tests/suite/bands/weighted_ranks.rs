//! Ranks by weight.

use std::sync::Arc;

use cenote_algo::AlgoError;
use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_engine::{EngineError, Graph, Order};
use cenote_store::{Batch, Change, Codec, Op, Store, Weight, WeightType};

use super::{Orders, PLENTY, budgets, check_pagerank, config, folder, graphs_with, is_empty};
use crate::orders;
use crate::plain::Random;

const KINDS: [WeightType; 4] = [WeightType::F32, WeightType::U32, WeightType::F64, WeightType::I64];

/// Compares ranks with several budgets with those in memory.
fn check(case: &str, graph: &Arc<Graph>, turn: usize, ranks: &PageRankConfig) {
    let folder = folder();
    let expected = pagerank::run(graph, config(folder.path(), PLENTY, 2), ranks).unwrap();
    assert!(expected.run.bands.is_none());
    let threads = if turn.is_multiple_of(3) { 1 } else { 2 };
    let refused = |config| pagerank::run(graph, config, ranks).unwrap_err();
    for memory_bytes in budgets(folder.path(), threads, turn, &refused) {
        let case = format!("{case}, {threads} threads, {memory_bytes}");
        let config = config(folder.path(), memory_bytes, threads);
        check_pagerank(&case, graph, &config, ranks, &expected);
    }
    assert!(is_empty(folder.path()));
}

fn check_kinds(longest: bool, kinds: impl Fn(usize) -> Vec<WeightType>) {
    for (at, graph) in graphs_with(longest).enumerate() {
        for kind in kinds(at) {
            let stored = orders::stored(graph, Order::Natural, Codec::Raw, Some(kind));
            let ranks = PageRankConfig::default().weighted(true).iterations(1 + at as u32 % 3);
            check(&format!("{}, {kind:?}", graph.name), &stored, at, &ranks);
        }
    }
}

#[test]
fn ranks_by_weight_in_bands_are_those_in_memory() {
    check_kinds(false, |at| vec![KINDS[at % KINDS.len()]]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_ranks_by_weight_in_bands_are_those_in_memory() {
    check_kinds(true, |_| KINDS.to_vec());
}

/// The first three graphs are skewed ones, undirected and directed, and a grid.
fn check_orders(chosen: Orders) {
    let iterations = if matches!(chosen, Orders::All) { 20 } else { 6 };
    for (at, graph) in chosen.graphs().iter().take(3).enumerate() {
        for (order, codec) in chosen.of(at) {
            let stored = orders::stored(graph, order, codec, Some(KINDS[at]));
            let ranks = PageRankConfig::default()
                .weighted(true)
                .iterations(iterations)
                .tolerance(Some(1e-2))
                .personalize(vec![0, 17, 23_000]);
            check(&format!("{}, {order:?}", graph.name), &stored, at, &ranks);
        }
    }
}

#[test]
fn ranks_by_weight_in_bands_do_not_depend_on_order_and_codec() {
    check_orders(Orders::InTurn);
}

#[test]
#[ignore = "long: make soak"]
fn longer_ranks_by_weight_in_bands_do_not_depend_on_order_and_codec() {
    check_orders(Orders::All);
}

/// What an error names is enough, to the byte and in whole MiB: with large pages and many threads
/// the least buffers for reads are large beside what is left for bands.
#[test]
fn the_memory_that_an_error_names_is_enough() {
    let (folder, plain) = (folder(), graphs_with(false).next().unwrap());
    for (page_bytes, weights) in [(4096, None), (65_536, None), (65_536, Some(WeightType::U32))] {
        let layout = (Order::Natural, Codec::Raw);
        let graph = orders::stored_in_pages(plain, page_bytes, layout, weights);
        let ranks = PageRankConfig::default().weighted(weights.is_some());
        for threads in 1..=16 {
            let estimate = |memory_bytes| {
                pagerank::estimate(&graph, &config(folder.path(), memory_bytes, threads), &ranks)
            };
            let Err(AlgoError::Engine(EngineError::Budget { needed, suggested, .. })) = estimate(1)
            else {
                panic!("a byte is too little")
            };
            for memory_bytes in [needed, suggested << 20] {
                let planned = estimate(memory_bytes).map(|_| ());
                planned.unwrap_or_else(|error| panic!("{page_bytes}, {threads} threads: {error}"));
            }
        }
    }
}

#[test]
fn updated_weights_are_in_the_ranks_of_bands() {
    for (at, graph) in graphs_with(false).take(3).enumerate() {
        let kind = WeightType::F64;
        let imported = orders::stored(graph, Order::Natural, Codec::Raw, Some(kind));
        let store = Store::open(Arc::clone(imported.device())).unwrap();
        let mut random = Random(9);
        let mut end = || random.below(33_000);
        let edges: Vec<_> =
            (0..2_700).map(|at| (end(), if at < 700 { 5 } else { end() })).collect();
        let mut batches = edges.chunks(1_500).map(|edges| {
            let add = |&(source, target)| Change { op: Op::Add, source, target };
            let weight = |at: usize| Some(Weight::F64(0.25 * at as f64));
            let (changes, weights) = (edges.iter().map(add), (0..edges.len()).map(weight));
            Batch { changes: changes.collect(), weights: weights.collect(), ..Batch::default() }
        });
        let (mut base, log) = (batches.next().unwrap(), batches.next().unwrap());
        for v in (0..50).map(|i| 36_000 + 7 * i) {
            base.changes.push(Change { op: Op::DeleteVertex, source: v, target: v });
            base.weights.push(None);
        }
        store.update(&base).unwrap();
        store.commit(&log).unwrap();
        let stored = Arc::new(store.graph(|_| cenote_store::LookupConfig::default()).unwrap());
        assert!(stored.deleted().len() == 50 && stored.has_logged());
        let ranks = PageRankConfig::default().weighted(true).iterations(2);
        check(&format!("updated, {}", graph.name), &stored, at, &ranks);
    }
}
