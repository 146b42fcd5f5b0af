//! Estimates of what is read of graphs with delta runs, against what runs read.

use std::sync::Arc;

use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::{AlgoError, Estimate, wcc};
use cenote_engine::{EngineConfig, EngineError, RunStats, Strategy};
use cenote_store::superblock::SectionKind;
use cenote_store::{Batch, Change, LookupConfig, Op, Store, WriteLimits};

use crate::plain::{Plain, Random};

const VERTICES: u32 = 20_000;
const RUNS: usize = 6;

/// A graph with runs of so many changes each.
fn with_runs(directed: bool, batch_changes: usize) -> Store {
    let mut random = Random(11);
    let pairs: Vec<_> =
        (0..500_000).map(|_| (random.below(VERTICES), random.below(VERTICES))).collect();
    let graph = Plain::of(VERTICES, &pairs, directed).stored();
    let store = Store::open(Arc::clone(graph.device())).unwrap();
    let limits = WriteLimits::default().bytes(1 << 20).changes(batch_changes).run_percent(10_000);
    let store = store.with_limits(limits);
    // The last one stays in the log, if it fits.
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

/// Runs that stay in memory are those of 12,000 changes; of those of 120,000, 8 MiB are kept where
/// it is little.
fn check_delta_runs(cases: &[(bool, usize)]) {
    for &(directed, batch_changes) in cases {
        let store = with_runs(directed, batch_changes);
        let open = || Arc::new(store.graph(|_| LookupConfig::default()).unwrap());
        let graph = open();
        // A batch that is too large for the log is a run of its own.
        let logged = usize::from(batch_changes <= WriteLimits::LOGGED_MAX);
        assert_eq!(graph.runs(), RUNS + 1 - logged);
        // With all pages of lists in memory, and with few.
        let (much, little) = ((64 << 20, 64 << 20), (12 << 20, 512 << 10));
        for ((memory, cache), strategy) in
            [(much, Strategy::Auto), (little, Strategy::Auto), (little, Strategy::Block)]
        {
            let config = EngineConfig::with_memory(memory).cache_bytes(Some(cache));
            let config = config.strategy(strategy).threads(1);
            let case = |name| format!("{name} {directed} {strategy} {memory} {batch_changes}");
            let estimate = wcc::estimate(&graph, &config).unwrap();
            if strategy == Strategy::Auto {
                let run = wcc::run(&open(), config.clone()).unwrap().run;
                assert_close(&case("wcc"), &estimate, run.stats);
            }
            if estimate.memory.run_bytes == graph.run_bytes_all() {
                // The degrees that PageRank loads have brought all runs into memory.
                continue;
            }
            // The estimate of single pages takes none of them to stay in memory.
            let several: &[_] = if strategy == Strategy::Auto { &[1, 6] } else { &[1] };
            for &iterations in several {
                let ranks = PageRankConfig::default().iterations(iterations);
                let estimate = pagerank::estimate(&graph, &config, &ranks).unwrap();
                let run = pagerank::run(&open(), config.clone(), &ranks).unwrap().run;
                assert_close(&case("pagerank"), &estimate, run.stats);
            }
        }
    }
}

#[test]
fn delta_runs_are_counted_in_bytes_and_requests() {
    check_delta_runs(&[(false, 12_000), (true, 120_000)]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_delta_runs_are_counted_in_bytes_and_requests() {
    check_delta_runs(&[(false, 120_000), (true, 12_000)]);
}

/// Of runs that do not stay in memory a further pass finds nothing, so it is all or a few MiB.
#[test]
fn all_delta_runs_are_kept_beside_all_pages_if_there_is_room() {
    for directed in [false, true] {
        let store = with_runs(directed, 120_000);
        let graph = Arc::new(store.graph(|_| LookupConfig::default()).unwrap());
        let all = graph.run_bytes_all();
        assert!(all > 10 << 20, "{all} bytes of runs");
        let estimate =
            |memory| wcc::estimate(&graph, &EngineConfig::with_memory(memory).threads(2));
        let least = match estimate(1) {
            Err(AlgoError::Engine(EngineError::Budget { needed, .. })) => needed,
            other => panic!("one byte is not refused: {other:?}"),
        };
        for (memory, expected) in [(least, 8 << 20), (least + (1 << 20), 8 << 20), (64 << 20, all)]
        {
            let plan = estimate(memory).unwrap().memory;
            assert!(plan.total_bytes() <= memory, "{plan:?}");
            assert_eq!(plan.run_bytes, expected, "{plan:?}");
        }
        let ranks = PageRankConfig::default().iterations(10);
        let read = |memory| {
            let config = EngineConfig::with_memory(memory).threads(2);
            pagerank::run(&graph, config, &ranks).unwrap().run.stats.bytes_read
        };
        let kind = if directed { SectionKind::InAdjacency } else { SectionKind::OutAdjacency };
        let pages = 4096 * graph.superblock().section(kind).unwrap().pages;
        assert!(read(64 << 20) <= pages + all, "each page is read once");
        assert!(read(least + pages + pages / 8) > 2 * all, "runs are read by each pass");
    }
}
