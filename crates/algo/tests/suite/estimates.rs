//! Estimates of what is read of graphs with delta runs, against what runs read.

use std::sync::Arc;

use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::{Estimate, wcc};
use cenote_engine::{EngineConfig, RunStats, Strategy};
use cenote_store::{Batch, Change, LookupConfig, Op, Store, WriteLimits};

use crate::plain::{Plain, Random};

const VERTICES: u32 = 20_000;
const RUNS: usize = 6;

/// A graph with runs of a tenth of its lists each, and how many changes they have.
fn with_runs(directed: bool) -> Store {
    let mut random = Random(11);
    let pairs: Vec<_> =
        (0..500_000).map(|_| (random.below(VERTICES), random.below(VERTICES))).collect();
    let graph = Plain::of(VERTICES, &pairs, directed).stored();
    let store = Store::open(Arc::clone(graph.device())).unwrap();
    let batch_changes = 12_000;
    let limits = WriteLimits::default().bytes(1 << 20).changes(batch_changes).run_percent(10_000);
    let store = store.with_limits(limits);
    // The last one stays in the log.
    for _ in 0..=RUNS {
        let mut end = || random.below(VERTICES);
        let change = |_| Change { op: Op::Add, source: end(), target: end() };
        let changes = (0..batch_changes).map(change).collect();
        store.commit(&Batch { changes, ..Batch::default() }).unwrap();
    }
    store
}

fn assert_close(case: &str, estimate: &Estimate, stats: RunStats) {
    let ratio = |estimated: u64, read: u64| estimated as f64 / read as f64;
    let bytes = ratio(estimate.bytes_read, stats.bytes_read);
    let requests = ratio(estimate.read_requests, stats.read_requests);
    println!("{case}: bytes {bytes:.3}, requests {requests:.3}, {stats:?}");
    assert!((0.8..1.25).contains(&bytes), "{case}: {estimate:#?} {stats:?}");
    assert!((0.6..1.6).contains(&requests), "{case}: {estimate:#?} {stats:?}");
    assert!(estimate.bytes_read_at_least <= estimate.bytes_read, "{case}");
    assert!(estimate.bytes_read <= estimate.bytes_read_at_most, "{case}");
}

#[test]
fn delta_runs_are_counted_in_bytes_and_requests() {
    for directed in [false, true] {
        let store = with_runs(directed);
        // Of the runs little is kept, some of them, or everything.
        for run_bytes in [64 << 10, 512 << 10, 64 << 20] {
            let open =
                || Arc::new(store.graph(|_| LookupConfig::default().run_bytes(run_bytes)).unwrap());
            let graph = open();
            assert_eq!(graph.runs(), RUNS);
            // With all pages of lists in memory, and with few.
            for (memory, strategy) in
                [(64 << 20, Strategy::Auto), (6 << 20, Strategy::Auto), (64 << 20, Strategy::Block)]
            {
                let config = EngineConfig::with_memory(memory).strategy(strategy).threads(1);
                let case = |name| format!("{name} {directed} {strategy} {memory} {run_bytes}");
                let estimate = wcc::estimate(&graph, &config).unwrap();
                if strategy == Strategy::Auto {
                    let run = wcc::run(&open(), config.clone()).unwrap().run;
                    assert_close(&case("wcc"), &estimate, run.stats);
                }
                if run_bytes == 64 << 20 {
                    // The degrees that PageRank loads have brought all runs into memory.
                    continue;
                }
                // The estimate of single pages takes none of them to stay in memory.
                let several = if strategy == Strategy::Auto { 6 } else { 1 };
                for iterations in [1, several] {
                    let ranks = PageRankConfig::default().iterations(iterations);
                    let estimate = pagerank::estimate(&graph, &config, &ranks).unwrap();
                    let run = pagerank::run(&open(), config.clone(), &ranks).unwrap().run;
                    assert_close(&case("pagerank"), &estimate, run.stats);
                }
            }
        }
    }
}
