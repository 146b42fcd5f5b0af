//! Depth-first search: what is reached whatever the stacks, and the textbook's order.

use cenote_algo::dfs::lexicographic::{self, LexicographicConfig};
use cenote_algo::dfs::pseudo::{self, PseudoDfsConfig};
use cenote_engine::{AsynchronousConfig, EngineConfig, Strategy};

use crate::plain::{Plain, Random, Ways, configs_within, graphs_to_search};

const TIGHT_BYTES: u64 = 1 << 20;

fn compare_stacks(all: bool) {
    for (at, plain) in graphs_to_search(11).into_iter().enumerate() {
        let graph = plain.stored_with(false);
        let levels = plain.levels(&[0]);
        for config in Ways::of(all, at).configs_within(TIGHT_BYTES) {
            for (threshold, stacks) in [(8, None), (1, Some(1)), (1, Some(3)), (100, Some(1000))] {
                let asynchronous =
                    AsynchronousConfig::default().threshold(threshold).stacks(stacks);
                let search = PseudoDfsConfig::default()
                    .source(Some(0))
                    .targets(Vec::new())
                    .asynchronous(asynchronous);
                let found = pseudo::run(&graph, config.clone(), &search).unwrap();
                let case = format!("{} {} {threshold} {stacks:?}", plain.name, config.strategy);
                for (v, level) in (0..).zip(&levels) {
                    assert_eq!(found.is_reached(v), level.is_some(), "{case}: vertex {v}");
                }
                let reached = levels.iter().flatten().count() as u64;
                assert_eq!(found.reached(), Some(reached), "{case}");
                pseudo::verify(&graph, &search, &found).unwrap();
            }
        }
    }
}

#[test]
fn pseudo_dfs_reaches_what_can_be_reached_whatever_the_stacks() {
    compare_stacks(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_pseudo_dfs_reaches_what_can_be_reached_whatever_the_stacks() {
    compare_stacks(true);
}

#[test]
fn pseudo_dfs_ends_when_its_targets_are_reached_and_says_which_are_not() {
    for plain in graphs_to_search(12) {
        let graph = plain.stored_with(false);
        let levels = plain.levels(&[0]);
        let mut random = Random(5);
        for _ in 0..3 {
            let targets: Vec<u32> = (0..3).map(|_| random.below(levels.len() as u32)).collect();
            let all = targets.iter().all(|&v| levels[v as usize].is_some());
            for config in configs_within(TIGHT_BYTES) {
                let targets = targets.clone();
                let search = PseudoDfsConfig::default().source(Some(0)).targets(targets);
                let found = pseudo::run(&graph, config, &search).unwrap();
                assert_eq!(found.ended_early, all, "{}", plain.name);
                assert_eq!(found.reached().is_none(), all, "{}", plain.name);
                for &v in &search.targets {
                    assert_eq!(found.is_reached(v), levels[v as usize].is_some());
                }
                pseudo::verify(&graph, &search, &found).unwrap();
            }
        }
    }
}

#[test]
fn with_room_for_leftovers_a_page_is_read_about_once() {
    let mut random = Random(13);
    let n = 40_000;
    let edges: Vec<_> = (0..200_000).map(|_| (random.below(n), random.below(n))).collect();
    // Pages that several workers read depend on when the system runs them.
    for (directed, threads, passes) in [(false, 1, 1.25), (true, 1, 1.25), (true, 2, 2.0)] {
        let graph = Plain::of(n, &edges, directed).without_in_edges().stored();
        let config = EngineConfig::with_memory(64 << 20).threads(threads).cache_bytes(Some(0));
        let found = pseudo::run(&graph, config, &PseudoDfsConfig::default()).unwrap();
        let adjacency = graph.adjacency(cenote_engine::Direction::Out).unwrap();
        let pass = adjacency.pages() * graph.page_bytes() as u64;
        let (read, stats) = (found.run.stats.bytes_read as f64, &found.run.stats);
        assert!(read <= pass as f64 * passes, "{directed}, {threads}: {stats:?}, a pass is {pass}");
    }
}

/// Preorder, parents, postorder by recursion on an explicit path, apart from the verifier's.
fn textbook(plain: &Plain, source: u32) -> Vec<(Option<u32>, Option<u32>, Option<u32>)> {
    let mut answer = vec![(None, None, None); plain.lists.len()];
    let (mut visits, mut finished) = (1, 0);
    answer[source as usize] = (Some(0), Some(source), None);
    let mut path = vec![(source, plain.lists[source as usize].iter())];
    while let Some((v, rest)) = path.last_mut() {
        let v = *v;
        match rest.find(|&&target| answer[target as usize].0.is_none()) {
            Some(&target) => {
                answer[target as usize] = (Some(visits), Some(v), None);
                visits += 1;
                path.push((target, plain.lists[target as usize].iter()));
            }
            None => {
                answer[v as usize].2 = Some(finished);
                finished += 1;
                path.pop();
            }
        }
    }
    answer
}

#[test]
fn lexicographic_order_is_that_of_the_textbook() {
    for seed in [21, 22] {
        for plain in graphs_to_search(seed) {
            let graph = plain.stored_with(false);
            let source = Random(seed).below(plain.lists.len() as u32);
            let expected = textbook(&plain, source);
            for config in configs_within(TIGHT_BYTES) {
                let search =
                    LexicographicConfig::default().source(Some(source)).targets(Vec::new());
                let found = lexicographic::run(&graph, config, &search).unwrap();
                for (v, &expected) in (0..).zip(&expected) {
                    let answer = (found.order(v), found.parent(v), found.finish(v));
                    assert_eq!(answer, expected, "{} seed {seed} vertex {v}", plain.name);
                }
                lexicographic::verify(&graph, &search, &found).unwrap();
            }
        }
    }
}

#[test]
fn lexicographic_order_ends_with_the_last_target() {
    for plain in graphs_to_search(23) {
        let graph = plain.stored_with(false);
        let whole = textbook(&plain, 0);
        let target = whole.iter().position(|of| of.0.is_some_and(|order| order >= 1)).unwrap_or(0);
        let search = LexicographicConfig::default().source(Some(0)).targets(vec![target as u32, 0]);
        let found =
            lexicographic::run(&graph, EngineConfig::with_memory(8 << 20), &search).unwrap();
        assert!(found.ended_early);
        assert_eq!(found.reached, u64::from(whole[target].0.unwrap()) + 1);
        lexicographic::verify(&graph, &search, &found).unwrap();
    }
}

#[test]
fn a_path_of_a_million_vertices_is_no_recursion() {
    let n = 1_000_000;
    let path: Vec<(u32, u32)> = (0..n - 1).map(|v| (v, v + 1)).collect();
    let graph = Plain::of(n, &path, false).without_in_edges().stored();
    let config = || EngineConfig::with_memory(64 << 20).threads(2);
    let search = LexicographicConfig::default().source(Some(0)).targets(Vec::new());
    let found = lexicographic::run(&graph, config(), &search).unwrap();
    assert_eq!((found.reached, found.depth), (u64::from(n), u64::from(n) - 1));
    assert_eq!((found.order(n - 1), found.finish(n - 1)), (Some(n - 1), Some(0)));
    for strategy in [Strategy::Auto, Strategy::Block] {
        let search = PseudoDfsConfig::default().source(Some(0));
        let found = pseudo::run(&graph, config().strategy(strategy), &search).unwrap();
        assert_eq!(found.reached(), Some(u64::from(n)));
    }
}

#[test]
fn a_source_that_is_no_vertex_is_refused() {
    let graph = Plain::of(2, &[(0, 1)], true).without_in_edges().stored();
    let config = EngineConfig::with_memory(8 << 20);
    let search = PseudoDfsConfig::default().source(Some(2));
    assert!(pseudo::run(&graph, config.clone(), &search).is_err());
    let search = LexicographicConfig::default().targets(vec![7]);
    assert!(lexicographic::run(&graph, config, &search).is_err());
}
