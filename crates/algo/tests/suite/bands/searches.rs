//! Searches in bands.

use std::sync::Arc;

use cenote_algo::bfs::{self, Bfs, BfsConfig};
use cenote_algo::sssp::{self, Distances, Sssp, SsspConfig};
use cenote_engine::{Direction, EngineConfig, Graph, Order};
use cenote_store::{Codec, HubNeighboursChoice, WeightType};

use super::{
    Orders, PLENTY, assert_close, budgets, config, folder, graphs, graphs_with, is_empty, updated,
};
use crate::orders;
use crate::plain::{Plain, Random};

fn check_bfs(
    case: &str,
    graph: &Arc<Graph>,
    config: &EngineConfig,
    search: &BfsConfig,
    expected: &Bfs,
) {
    let estimate = bfs::estimate(graph, config, search).unwrap();
    let found = bfs::run(graph, config.clone(), search).unwrap();
    let bands = found.run.bands.clone().expect(case);
    println!("{case}: {bands:?}, {:?}", found.run.stats);
    assert!(expected.levels() == found.levels(), "{case}");
    assert!(expected.parents() == found.parents(), "{case}");
    let counts = |bfs: &Bfs| (bfs.sources.clone(), bfs.reached, bfs.depth, bfs.ended_early);
    assert_eq!(counts(expected), counts(&found), "{case}");
    found.release();
    bfs::verify(graph, &found).unwrap();
    let stats = found.run.stats;
    let range = estimate.bytes_read_at_least..=estimate.bytes_read_at_most.max(1 << 20);
    assert!(range.contains(&stats.bytes_read), "{case}: {estimate:#?} {stats:?}");
    if case.starts_with("path") && found.sources.len() == 1 {
        let bytes = graph.adjacency(Direction::Out).unwrap().pages() * graph.page_bytes() as u64;
        let lists = stats.bytes_read - stats.state_bytes_read;
        assert!(lists <= 2 * bytes, "{case}: a page is not read for each vertex");
    }
    let state = estimate.bands.unwrap();
    let moved = [
        ("bytes of state read", state.state_bytes_read, stats.state_bytes_read),
        ("bytes written", estimate.bytes_written, stats.bytes_written),
    ];
    if search.parents && found.reached as usize > graph.vertices() / 10 * 9 {
        // How many are proposed depends on how many possible parents a vertex has.
        for (what, planned, moved) in moved {
            let ratio = planned as f64 / moved as f64;
            assert!((0.5..2.0).contains(&ratio), "{case}: {planned} {what} planned, {moved} found");
        }
    } else if found.reached as usize == graph.vertices() && found.depth < 1000 {
        for (what, planned, moved) in moved {
            assert_close(case, what, planned, moved);
        }
    }
    assert!(found.run.memory.total_bytes() <= config.memory_bytes);
}

/// Compares searches with several budgets with those in memory.
fn check_bfs_budgets(case: &str, graph: &Arc<Graph>, threads: &[usize]) {
    let folder = folder();
    let n = graph.vertices() as u32;
    let searches = [
        BfsConfig::default(),
        BfsConfig::default().sources(vec![17, n - 1, 13_000, 17]),
        BfsConfig::from(5).targets(vec![7, 6]),
        BfsConfig::from(5).parents(true),
        BfsConfig::default().sources(vec![17, n - 1, 13_000]).targets(vec![9]).parents(true),
    ];
    for (i, search) in searches.iter().enumerate() {
        let expected = bfs::run(graph, config(folder.path(), PLENTY, 2), search).unwrap();
        assert!(expected.run.bands.is_none());
        for &threads in threads {
            let refused = |config| bfs::run(graph, config, search).unwrap_err();
            for memory_bytes in budgets(folder.path(), threads, i, &refused) {
                let case = format!("{case}, {i}, {threads} threads, {memory_bytes}");
                let config = config(folder.path(), memory_bytes, threads);
                check_bfs(&case, graph, &config, search, &expected);
            }
        }
    }
    assert!(is_empty(folder.path()));
}

#[test]
fn levels_in_bands_are_those_in_memory() {
    for graph in graphs_with(false) {
        check_bfs_budgets(graph.name, &graph.stored(), &[2]);
    }
}

#[test]
#[ignore = "long: make soak"]
fn longer_levels_in_bands_are_those_in_memory() {
    for graph in graphs_with(true) {
        check_bfs_budgets(graph.name, &graph.stored(), &[1, 3]);
    }
}

#[test]
fn levels_in_bands_use_hub_neighbours() {
    check_hub_neighbours(|at| &[1, 2, 3][at..=at]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_levels_in_bands_use_hub_neighbours() {
    check_hub_neighbours(|_| &[1, 2, 3]);
}

fn check_hub_neighbours(threads: impl Fn(usize) -> &'static [usize]) {
    let graphs = graphs();
    for (at, graph) in [&graphs[0], &graphs[1], &graphs[8]].into_iter().enumerate() {
        let stored = graph.stored_with_hub_neighbours(HubNeighboursChoice::Yes);
        check_bfs_budgets(&format!("{}, with hubs", graph.name), &stored, threads(at));
    }
}

fn check_levels_in_orders(orders: Orders) {
    let graphs = orders.graphs();
    for (at, graph) in [&graphs[0], &graphs[1], &graphs[8]].into_iter().enumerate() {
        for (order, codec) in orders.of(at) {
            let stored = orders::stored(graph, order, codec, None);
            check_bfs_budgets(&format!("order {order:?}, {}", graph.name), &stored, &[2]);
        }
        check_bfs_budgets(&format!("updated, {}", graph.name), &updated(graph), &[2]);
    }
}

#[test]
fn levels_in_bands_do_not_depend_on_order_and_codec() {
    check_levels_in_orders(Orders::InTurn);
}

#[test]
#[ignore = "long: make soak"]
fn longer_levels_in_bands_do_not_depend_on_order_and_codec() {
    check_levels_in_orders(Orders::All);
}

fn numbers(sssp: &Sssp) -> &[u64] {
    match sssp.distances() {
        Distances::Integers(distances) | Distances::FloatBits(distances) => distances,
    }
}

fn check_sssp(
    case: &str,
    graph: &Arc<Graph>,
    config: &EngineConfig,
    search: &SsspConfig,
    expected: &Sssp,
) {
    let estimate = sssp::estimate(graph, config, search).unwrap();
    let found = sssp::run(graph, config.clone(), search).unwrap();
    let bands = found.run.bands.clone().expect(case);
    println!("{case}: {bands:?}, {:?}", found.run.stats);
    assert!(numbers(expected) == numbers(&found), "{case}");
    assert!(expected.parents() == found.parents(), "{case}");
    let counts = |sssp: &Sssp| (sssp.sources.clone(), sssp.reached, sssp.farthest, sssp.delta);
    assert_eq!(counts(expected), counts(&found), "{case}");
    found.release();
    let stats = found.run.stats;
    let range = estimate.bytes_read_at_least..=estimate.bytes_read_at_most.max(4 << 20);
    println!("{case}: {estimate:?}");
    assert!(range.contains(&stats.bytes_read), "{case}: {estimate:#?} {stats:?}");
    assert!(found.run.memory.total_bytes() <= config.memory_bytes);
}

/// Compares searches with several budgets with those in memory.
fn check_sssp_budgets(case: &str, graph: &Arc<Graph>, threads: &[usize]) {
    let folder = folder();
    let n = graph.vertices() as u32;
    let searches = [
        SsspConfig::default(),
        SsspConfig::default().sources(vec![17, n - 1, 13_000, 17]).delta(Some(0.7)),
        SsspConfig::default().sources(vec![5]).targets(vec![7, 6]),
        SsspConfig::default().parents(true),
        SsspConfig::default().sources(vec![5, n - 1]).targets(vec![7, 6]).parents(true),
    ];
    // Each of some 100,000 steps takes its time.
    let is_path = ["path", "scattered", "long"].iter().any(|deep| case.starts_with(deep));
    let is_deep = is_path || case.starts_with("grid");
    for (i, search) in searches.iter().enumerate().filter(|(i, _)| !is_path || [2, 4].contains(i)) {
        let expected = sssp::run(graph, config(folder.path(), PLENTY, 2), search).unwrap();
        assert!(expected.run.bands.is_none());
        for &threads in threads {
            let refused = |config| sssp::run(graph, config, search).unwrap_err();
            let skip = if is_deep { 1 } else { 0 };
            for memory_bytes in budgets(folder.path(), threads, i, &refused).into_iter().skip(skip)
            {
                let case = format!("{case}, {i}, {threads} threads, {memory_bytes}");
                let config = config(folder.path(), memory_bytes, threads);
                check_sssp(&case, graph, &config, search, &expected);
            }
        }
    }
    assert!(is_empty(folder.path()));
}

fn check_distances(longest: bool, kinds: impl Fn(usize) -> &'static [Option<WeightType>]) {
    for (at, graph) in graphs_with(longest).enumerate() {
        for &kind in kinds(at) {
            let stored = orders::stored(graph, Order::Natural, Codec::Raw, kind);
            check_sssp_budgets(&format!("{}, {kind:?}", graph.name), &stored, &[2]);
        }
    }
}

#[test]
fn distances_in_bands_are_those_in_memory() {
    check_distances(false, |at| if at % 2 == 0 { &[Some(WeightType::F32)] } else { &[None] });
}

#[test]
#[ignore = "long: make soak"]
fn longer_distances_in_bands_are_those_in_memory() {
    check_distances(true, |_| &[None, Some(WeightType::F32)]);
}

fn check_distances_in_orders(orders: Orders) {
    let graphs = orders.graphs();
    for (at, graph) in [&graphs[0], &graphs[1], &graphs[8]].into_iter().enumerate() {
        for (order, codec) in orders.of(at) {
            let kind = match order {
                Order::Degree => WeightType::F64,
                Order::Bfs => WeightType::I64,
                _ => WeightType::U32,
            };
            let stored = orders::stored(graph, order, codec, Some(kind));
            let case = format!("order {order:?}, {kind:?}, {}", graph.name);
            check_sssp_budgets(&case, &stored, &[4]);
        }
        check_sssp_budgets(&format!("updated, {}", graph.name), &updated(graph), &[2]);
    }
}

/// A square grid, and a graph of chance with as few edges a vertex: only in the grid most edges
/// stay within bands.
fn lattices() -> [Plain; 2] {
    let (side, mut random) = (400, Random(11));
    let n = side * side;
    let right = (0..n).filter(|v| (v + 1) % side > 0).map(|v| (v, v + 1));
    let grid: Vec<_> = right.chain((0..n - side).map(|v| (v, v + side))).collect();
    let chance: Vec<_> = (0..2 * n).map(|_| (random.below(n), random.below(n))).collect();
    [Plain::of(n, &grid, false).named("lattice"), Plain::of(n, &chance, false).named("chance")]
}

#[test]
fn bands_are_searched_with_their_lists_in_memory_where_edges_stay_within_them() {
    let folder = folder();
    let searches = [
        SsspConfig::default().sources(vec![5]),
        SsspConfig::default().sources(vec![70_210, 9]).targets(vec![81_003]).parents(true),
    ];
    for graph in lattices() {
        for (search, kind) in searches.iter().zip([Some(WeightType::F32), None]) {
            let stored = orders::stored(&graph, Order::Natural, Codec::Packed, kind);
            let expected = sssp::run(&stored, config(folder.path(), PLENTY, 2), search).unwrap();
            let refused = |config| sssp::run(&stored, config, search).unwrap_err();
            let [memory_bytes, _] = budgets(folder.path(), 2, 0, &refused);
            let (case, config) =
                (format!("{}, {kind:?}", graph.name), config(folder.path(), memory_bytes, 2));
            check_sssp(&case, &stored, &config, search, &expected);
            let found = sssp::run(&stored, config, search).unwrap().run;
            let bands = found.bands.unwrap();
            let lists = found.stats.bytes_read - found.stats.state_bytes_read;
            let mut bytes = stored.adjacency(Direction::Out).unwrap().pages();
            bytes += stored.weights(Direction::Out).map_or(0, |column| column.pages());
            let passes = lists as f64 / (bytes * stored.page_bytes() as u64) as f64;
            let has_lists = bands.because.contains("with its lists");
            assert_eq!(has_lists, graph.name == "lattice", "{case}: {bands:?}");
            assert!(!has_lists || bands.count > 1 && passes < 20.0, "{case}: {passes} passes");
        }
    }
}

#[test]
fn distances_in_bands_do_not_depend_on_order_and_codec() {
    check_distances_in_orders(Orders::InTurn);
}

#[test]
#[ignore = "long: make soak"]
fn longer_distances_in_bands_do_not_depend_on_order_and_codec() {
    check_distances_in_orders(Orders::All);
}

/// A search of many small levels finds a window of them at a time.
#[test]
fn a_grid_in_bands_is_read_a_few_times() {
    const SIDE: u32 = 400;
    let n = SIDE * SIDE;
    let right = (0..n).filter(|v| v % SIDE + 1 < SIDE).map(|v| (v, v + 1));
    let down = (0..n - SIDE).map(|v| (v, v + SIDE));
    let edges: Vec<_> = right.chain(down).collect();
    let graph = Plain::of(n, &edges, false).stored();
    let folder = folder();
    let middle = SIDE / 2 * SIDE + SIDE / 3;
    let searches = [
        BfsConfig::from(0),
        BfsConfig::from(0).sources(vec![3, middle]),
        BfsConfig::from(0).targets(vec![n - SIDE, middle]),
        BfsConfig::from(0).targets(vec![n - 1]),
    ];
    for (search, memory_bytes) in
        searches.iter().flat_map(|search| [(search, 600_000), (search, 450_000)])
    {
        let expected = bfs::run(&graph, config(folder.path(), PLENTY, 2), search).unwrap();
        let found = bfs::run(&graph, config(folder.path(), memory_bytes, 2), search).unwrap();
        assert!(found.run.bands.as_ref().unwrap().because.contains("window"));
        assert!(expected.levels() == found.levels());
        let counts = |bfs: &Bfs| (bfs.reached, bfs.depth, bfs.ended_early);
        assert_eq!(counts(&expected), counts(&found));
        let stats = found.run.stats;
        let bytes = graph.adjacency(Direction::Out).unwrap().pages() * graph.page_bytes() as u64;
        let passes = (stats.bytes_read - stats.state_bytes_read) as f64 / bytes as f64;
        println!("{memory_bytes}: {passes:.1} passes, {stats:?}");
        assert!(passes < 30.0, "{passes} passes");
    }
}
