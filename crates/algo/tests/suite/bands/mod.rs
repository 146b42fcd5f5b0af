//! Runs whose vertex state does not fit in memory: the answers of a run in memory to the last bit,
//! the bytes of the estimate, and nothing left behind.

mod degrees;
mod labels;
mod searches;
mod weighted_ranks;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use cenote_algo::pagerank::{self, PageRankConfig, Variant};
use cenote_algo::{AlgoError, scc, wcc};
use cenote_engine::{Direction, EngineConfig, EngineError, Graph, Order, RunStats};
use cenote_store::{Batch, Change, Codec, HubNeighboursChoice, Op, Store};

use crate::orders;
use crate::plain::{Plain, Random};

const PLENTY: u64 = 256 << 20;

/// Of most graphs.
const VERTICES: u32 = 40_000;

/// A folder in memory, where the system has one: these runs wait for thousands of small transfers.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A run that may use a file in `folder`.
fn config(folder: &Path, memory_bytes: u64, threads: usize) -> EngineConfig {
    EngineConfig::with_memory(memory_bytes).threads(threads).state_dir(Some(folder.to_owned()))
}

/// How large most graphs are.
struct Size {
    vertices: u32,
    /// Of the skewed ones.
    edges: u32,
    bits: u32,
    /// Of the grid.
    side: u32,
    /// Of the scattered path: from a place to that of the next vertex, among so many places.
    step: u64,
    places: u32,
}

/// Not many vertices, but several bands of them, and lists and blocks of many pages.
const SMALL: Size =
    Size { vertices: VERTICES, edges: 170_000, bits: 16, side: 199, step: 25_939, places: 39_989 };

/// In `make soak` only.
const LARGE: Size =
    Size { vertices: 120_000, edges: 500_000, bits: 17, side: 346, step: 77_777, places: 119_993 };

/// Graphs of all kinds: skewed, local, long paths in and out of order, a star, pairs.
fn graphs() -> &'static [Plain] {
    static GRAPHS: LazyLock<Vec<Plain>> = LazyLock::new(|| make_graphs(&SMALL));
    &GRAPHS
}

/// The same kinds of larger graphs.
fn large_graphs() -> &'static [Plain] {
    static GRAPHS: LazyLock<Vec<Plain>> = LazyLock::new(|| make_graphs(&LARGE));
    &GRAPHS
}

/// The graphs; in `make soak` the large ones and also the longest path, of which each step leads to
/// another band and so takes several transfers.
fn graphs_with(longest: bool) -> impl Iterator<Item = &'static Plain> {
    let graphs = if longest { large_graphs() } else { graphs() };
    graphs.iter().filter(move |graph| longest || !graph.name.starts_with("long"))
}

fn make_graphs(size: &Size) -> Vec<Plain> {
    let &Size { vertices: n, edges, bits, side, step, places } = size;
    let mut random = Random(3);
    let mut skewed = |edges: u32| -> Vec<(u32, u32)> {
        let mut end = |bits: u32| (0..bits).fold(0, |v, _| 2 * v + u32::from(random.below(4) == 0));
        (0..edges).map(|_| (end(bits) % n, end(bits) % n)).collect()
    };
    let skewed = skewed(edges);
    let grid: Vec<(u32, u32)> = (0..side * side)
        .flat_map(|v| [(v, v + 1), (v, v + side)])
        .filter(|&(v, w)| w < side * side && (w != v + 1 || w % side > 0))
        .collect();
    let at = |i: u32| ((u64::from(i) * step + 5) % u64::from(places)) as u32;
    let scattered: Vec<_> = (0..places - 1).map(|i| (at(i), at(i + 1))).collect();
    let shorter = &scattered[..n as usize / 8];
    let path: Vec<_> = (0..n - 1).map(|v| (v, v + 1)).collect();
    let hub = n / 12 * 7;
    let star: Vec<_> = (0..n).filter(|&v| v != hub).map(|v| (hub, v)).collect();
    vec![
        Plain::of(n, &skewed, false).named("skewed"),
        Plain::of(n, &skewed, true).named("skewed, directed"),
        Plain::of(n, &grid, false).named("grid"),
        Plain::of(n, &path, false).named("path"),
        Plain::of(n, &scattered, false).named("long scattered path"),
        Plain::of(n, &star, false).named("star"),
        Plain::of(n, &star, true).named("star, directed"),
        Plain::of(n, &[(5, n - 1_000), (7, 8)], false).named("two edges"),
        Plain::of(n, &skewed, true).without_in_edges().named("skewed, out"),
        Plain::of(n, shorter, true).without_in_edges().named("scattered path, out"),
        Plain::of(n, shorter, false).named("scattered path"),
    ]
}

/// Budgets that are too small for a run in memory: by one byte or half way, in turn, and the least.
fn budgets(
    folder: &Path,
    threads: usize,
    turn: usize,
    run: &dyn Fn(EngineConfig) -> AlgoError,
) -> [u64; 2] {
    let needed = |config: EngineConfig| match run(config.memory_bytes(1)) {
        AlgoError::Engine(EngineError::Budget { needed, .. }) => needed,
        error => panic!("{error}"),
    };
    let all = needed(EngineConfig::with_memory(1).threads(threads));
    let least = needed(config(folder, 1, threads));
    assert!(least < all, "{least} of {all}");
    [if turn.is_multiple_of(2) { all - 1 } else { least.midpoint(all) }, least]
}

/// A graph with edges added and vertices deleted, partly in the log.
fn updated(graph: &Plain) -> Arc<Graph> {
    let store = Store::open(Arc::clone(graph.stored().device())).unwrap();
    let mut random = Random(9);
    let mut end = || random.below(33_000);
    let mut changes: Vec<Change> =
        (0..2_000).map(|_| Change { op: Op::Add, source: end(), target: end() }).collect();
    let gone = (0..50).map(|i| 36_000 + 7 * i);
    changes.extend(gone.map(|v| Change { op: Op::DeleteVertex, source: v, target: v }));
    store.update(&Batch { changes, ..Batch::default() }).unwrap();
    let more = (0..500).map(|_| Change { op: Op::Add, source: end(), target: end() });
    store.commit(&Batch { changes: more.collect(), ..Batch::default() }).unwrap();
    let stored = Arc::new(store.graph(|_| cenote_store::LookupConfig::default()).unwrap());
    assert!(stored.deleted().len() == 50 && stored.has_logged());
    stored
}

/// Orders and codecs other than the usual ones.
const ORDERS: [(Order, Codec); 3] = [
    (Order::Degree, Codec::Raw),
    (Order::Random { seed: 5 }, Codec::Packed),
    (Order::Bfs, Codec::Packed),
];

/// Which of the [`ORDERS`] each of several graphs is stored in: all of them take long.
#[derive(Clone, Copy)]
enum Orders {
    InTurn,
    All,
}

impl Orders {
    /// The graphs that are stored in them.
    fn graphs(self) -> &'static [Plain] {
        match self {
            Self::InTurn => graphs(),
            Self::All => large_graphs(),
        }
    }

    /// Those of the graph with this place among the others.
    fn of(self, at: usize) -> impl Iterator<Item = (Order, Codec)> {
        let is_chosen = move |i: &usize| matches!(self, Self::All) || *i == at % ORDERS.len();
        (0..ORDERS.len()).filter(is_chosen).map(|i| ORDERS[i])
    }
}

fn bits(ranks: &[f64]) -> Vec<u64> {
    ranks.iter().map(|rank| rank.to_bits()).collect()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn assert_close(case: &str, what: &str, planned: u64, found: u64) {
    assert_within(0.15, case, what, planned, found);
}

/// The same within a share of what was found.
fn assert_within(share: f64, case: &str, what: &str, planned: u64, found: u64) {
    let ratio = (planned as f64 + 1e4) / (found as f64 + 1e4);
    let is_close = (1.0 - share..1.0 + share).contains(&ratio);
    assert!(is_close, "{case}: {planned} {what} planned, {found} found");
}

/// Runs PageRank with little memory and compares it with `expected`.
fn check_pagerank(
    case: &str,
    graph: &Arc<Graph>,
    config: &EngineConfig,
    ranks: &PageRankConfig,
    expected: &pagerank::PageRank,
) -> RunStats {
    let estimate = pagerank::estimate(graph, config, ranks).unwrap();
    let found = pagerank::run(graph, config.clone(), ranks).unwrap();
    let bands = found.run.bands.clone().expect(case);
    println!("{case}: {bands:?}, {:?}", found.run.stats);
    assert!(bits(expected.ranks()) == bits(found.ranks()), "{case}");
    assert_eq!((expected.iterations, expected.change), (found.iterations, found.change), "{case}");
    assert_eq!(expected.top(20), found.top(20), "{case}");
    assert_eq!(expected.converged, found.converged, "{case}");
    found.release();
    assert!(bits(expected.ranks()) == bits(found.ranks()), "{case}");
    if ranks.tolerance.is_none() {
        let stats = found.run.stats;
        assert_close(case, "bytes read", estimate.bytes_read, stats.bytes_read);
        assert_close(case, "bytes written", estimate.bytes_written, stats.bytes_written);
    }
    assert!(found.run.memory.total_bytes() <= config.memory_bytes);
    found.run.stats
}

/// Compares the ranks of graphs with those in memory, with budgets for some number of threads and
/// iterations.
fn check_ranks(graphs: &[Plain], several: &[(u64, usize, u32)]) {
    let folder = folder();
    for graph in graphs {
        let stored = graph.stored();
        let ranks = |iterations| PageRankConfig::default().iterations(iterations);
        let expected = |iterations| {
            let plenty = config(folder.path(), PLENTY, 2);
            let expected = pagerank::run(&stored, plenty, &ranks(iterations)).unwrap();
            assert!(expected.run.bands.is_none());
            expected
        };
        // One number of bands of every graph, more of the first ones.
        let several = if graph.name.starts_with("skewed") { several } else { &several[..1] };
        for &(memory_bytes, threads, iterations) in several {
            let (expected, ranks) = (expected(iterations), ranks(iterations));
            let case = format!("{}, {}, {memory_bytes}", graph.name, ranks.iterations);
            let config = config(folder.path(), memory_bytes, threads);
            check_pagerank(&case, &stored, &config, &ranks, &expected);
        }
    }
    assert!(is_empty(folder.path()));
}

#[test]
fn ranks_in_bands_are_those_in_memory() {
    check_ranks(graphs(), &[(640_000, 4, 4), (600_000, 2, 2)]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_ranks_in_bands_are_those_in_memory() {
    let several = [(1_000_000, 4, 4), (1_700_000, 2, 2), (800_000, 1, 1), (650_000, 2, 2)];
    check_ranks(large_graphs(), &several);
}

#[test]
fn every_kind_of_ranks_comes_in_bands() {
    let folder = folder();
    let stored = graphs()[0].stored();
    let kinds = [
        PageRankConfig::default().tolerance(Some(1e-3)).iterations(30),
        PageRankConfig::default()
            .personalize(vec![0, 17, 23_000])
            .personalize_weights(vec![3.0, 1.0, 0.5]),
        PageRankConfig::default().variant(Variant::Cave).iterations(3),
        PageRankConfig::default().damping(0.5).iterations(0),
    ];
    for (i, ranks) in kinds.iter().enumerate() {
        let expected = pagerank::run(&stored, config(folder.path(), PLENTY, 2), ranks).unwrap();
        let config = config(folder.path(), 450_000, 2);
        check_pagerank(&format!("kind {i}"), &stored, &config, ranks, &expected);
    }
}

/// Where edges lead nearby, lists are read for the band that they reach, and sums do not wait.
#[test]
fn ranks_of_local_graphs_in_several_bands_cost_as_in_one() {
    let folder = folder();
    let ranks = PageRankConfig::default().iterations(10);
    for graph in graphs().iter().filter(|graph| ["grid", "path"].contains(&graph.name)) {
        let stored = orders::stored(graph, Order::Natural, Codec::Packed, None);
        let expected = pagerank::run(&stored, config(folder.path(), PLENTY, 2), &ranks).unwrap();
        let config = config(folder.path(), 520_000, 2);
        check_pagerank(graph.name, &stored, &config, &ranks, &expected);
        let run = pagerank::run(&stored, config, &ranks).unwrap().run;
        let bands = run.bands.expect("little memory");
        assert!(bands.count >= 3 && bands.from_blocks == 0, "{bands:?}");
        // A share as a part of a band, one that is replaced, and a degree.
        let once = u64::from(VERTICES) * (8 + 8 + 4);
        let read = run.stats.state_bytes_read;
        assert!(read < once * 13, "{}: {read} bytes of state read", graph.name);
        // A page is read once for each window that it has lists of.
        let windows = u64::from(VERTICES / 1024);
        let pages = stored.adjacency(Direction::Out).unwrap().pages() + windows;
        let (lists, once) = (run.stats.bytes_read - read, pages * stored.page_bytes() as u64);
        assert!(lists < once * 14, "{}: {lists} bytes of lists read, {once} once", graph.name);
    }
}

#[test]
fn a_budget_too_small_for_bands_names_one_that_does() {
    let (folder, stored) = (folder(), graphs()[0].stored());
    let ranks = PageRankConfig::default().iterations(2);
    let error = pagerank::run(&stored, config(folder.path(), 100_000, 2), &ranks).unwrap_err();
    let AlgoError::Engine(EngineError::Budget { needed, suggested, what, .. }) = error else {
        panic!("{error}");
    };
    assert_eq!(what, "pagerank in bands of vertices (auto)");
    pagerank::run(&stored, config(folder.path(), suggested << 20, 2), &ranks).unwrap();
    let found = pagerank::run(&stored, config(folder.path(), needed, 2), &ranks).unwrap();
    assert!(found.run.bands.is_some());
    // Without a folder, all state must fit.
    let config = EngineConfig::with_memory(500_000).threads(2);
    let error = pagerank::run(&stored, config, &ranks).unwrap_err().to_string();
    assert!(error.contains("pagerank (auto) needs"), "{error}");
    let config = self::config(Path::new("/no/such/folder"), 500_000, 2);
    let error = pagerank::run(&stored, config, &ranks).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/folder/(state file): cannot create"), "{error}");
}

/// Finds the components with little memory and compares them with `expected`.
fn check_wcc(case: &str, graph: &Arc<Graph>, config: &EngineConfig, expected: &wcc::Wcc) {
    let estimate = wcc::estimate(graph, config).unwrap();
    let found = wcc::run(graph, config.clone()).unwrap();
    let bands = found.run.bands.clone().expect(case);
    println!("{case}: {bands:?}, {:?}", found.run.stats);
    assert!(expected.labels() == found.labels(), "{case}");
    let counts = |wcc: &wcc::Wcc| (wcc.components, wcc.largest, wcc.largest_label);
    assert_eq!(counts(expected), counts(&found), "{case}");
    let stats = found.run.stats;
    let range = estimate.bytes_read_at_least..=estimate.bytes_read_at_most.max(1 << 20);
    assert!(range.contains(&stats.bytes_read), "{case}: {estimate:#?} {stats:?}");
    if case == "dense, No" {
        assert_close(case, "bytes read", estimate.bytes_read, stats.bytes_read);
        assert_close(case, "bytes written", estimate.bytes_written, stats.bytes_written);
    }
    assert!(found.run.memory.total_bytes() <= config.memory_bytes);
}

#[test]
fn components_in_bands_are_those_in_memory() {
    let folder = folder();
    let mut random = Random(8);
    // So large that there is room for bands with four threads, too.
    let n = 3 * VERTICES;
    let dense: Vec<_> = (0..600_000).map(|_| (random.below(n), random.below(n))).collect();
    let dense = Plain::of(n, &dense, false).named("dense");
    for graph in graphs().iter().chain([&dense]) {
        for hub_neighbours in [HubNeighboursChoice::No, HubNeighboursChoice::Yes] {
            let stored = graph.stored_with_hub_neighbours(hub_neighbours);
            let expected = wcc::run(&stored, config(folder.path(), PLENTY, 2)).unwrap();
            assert!(expected.run.bands.is_none());
            let several = if hub_neighbours == HubNeighboursChoice::No { 3 } else { 1 };
            let budgets: &[_] = match graph.name {
                "dense" => &[(900_000, 2), (600_000, 1), (900_000, 4)],
                _ => &[(320_000, 2), (250_000, 1)],
            };
            for &(memory_bytes, threads) in budgets.iter().take(several) {
                let case = format!("{}, {hub_neighbours:?}", graph.name);
                let config = config(folder.path(), memory_bytes, threads);
                check_wcc(&case, &stored, &config, &expected);
                if !graph.directed && threads == 2 {
                    let strongly = scc::run(&stored, config).unwrap();
                    assert!(strongly.run.bands.is_some());
                    assert_eq!(strongly.labels(), expected.labels(), "{case}");
                }
            }
        }
    }
    assert!(is_empty(folder.path()));
}

fn check_orders(orders: Orders) {
    let folder = folder();
    let graphs = orders.graphs();
    // For bands with more threads the small graphs leave no room.
    let (little, threads) = match orders {
        Orders::InTurn => (560_000, 1),
        Orders::All => (1_000_000, 2),
    };
    for (at, graph) in [&graphs[0], &graphs[1], &graphs[4]].into_iter().enumerate() {
        for (order, codec) in orders.of(at) {
            let stored = orders::stored(graph, order, codec, None);
            let case = format!("order {order:?}, {}", graph.name);
            let ranks = PageRankConfig::default().iterations(3);
            let plenty = config(folder.path(), PLENTY, 2);
            let expected = pagerank::run(&stored, plenty.clone(), &ranks).unwrap();
            let little = config(folder.path(), little, 2);
            check_pagerank(&case, &stored, &little, &ranks, &expected);
            let expected = wcc::run(&stored, plenty).unwrap();
            let refused =
                wcc::run(&stored, EngineConfig::with_memory(1).threads(threads)).unwrap_err();
            let AlgoError::Engine(EngineError::Budget { needed, .. }) = refused else {
                panic!("{refused}");
            };
            check_wcc(&case, &stored, &config(folder.path(), needed - 1, threads), &expected);
        }
    }
}

#[test]
fn answers_in_bands_do_not_depend_on_order_and_codec() {
    check_orders(Orders::InTurn);
}

#[test]
#[ignore = "long: make soak"]
fn longer_answers_in_bands_do_not_depend_on_order_and_codec() {
    check_orders(Orders::All);
}

#[test]
fn updates_and_deleted_vertices_are_in_the_answers_of_bands() {
    let folder = folder();
    let graphs = graphs();
    for graph in [&graphs[0], &graphs[1], &graphs[4], &graphs[8]] {
        let stored = updated(graph);
        let case = format!("updated, {}", graph.name);
        let ranks = PageRankConfig::default().iterations(2);
        let plenty = config(folder.path(), PLENTY, 2);
        let expected = pagerank::run(&stored, plenty.clone(), &ranks).unwrap();
        let refused = |config| pagerank::run(&stored, config, &ranks).unwrap_err();
        let [_, least] = budgets(folder.path(), 2, 0, &refused);
        check_pagerank(&case, &stored, &config(folder.path(), least, 2), &ranks, &expected);
        let expected = wcc::run(&stored, plenty).unwrap();
        let refused = |config| wcc::run(&stored, config).unwrap_err();
        let [_, least] = budgets(folder.path(), 1, 0, &refused);
        check_wcc(&case, &stored, &config(folder.path(), least, 1), &expected);
    }
}
