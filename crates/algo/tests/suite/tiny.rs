//! Graphs small enough to know the answers by heart, on a simulated device.

use std::sync::{Arc, Mutex};

use crate::plain::{Plain, STRATEGIES};
use cenote_algo::bfs::{self, BfsConfig};
use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::{AlgoError, wcc};
use cenote_engine::{
    ActiveSet, Direction, Engine, EngineConfig, EngineError, Kernel, List, NamedPages, Needs, Page,
    PageTask, Purpose, Strategy,
};
use cenote_store::Graph;

/// Stores these lists, which are symmetric unless `directed`.
fn stored(lists: &[Vec<u32>], directed: bool) -> Arc<Graph> {
    Plain::of_lists(lists.to_vec(), directed).stored_with(false)
}

fn config(strategy: Strategy) -> EngineConfig {
    EngineConfig::with_memory(64 << 20).strategy(strategy).threads(2)
}

/// A hub with so many leaves that its list runs over pages, and a tail of two behind leaf 1.
fn star_with_a_tail(leaves: u32) -> Vec<Vec<u32>> {
    let mut lists = vec![(1..=leaves).collect::<Vec<_>>()];
    lists.extend((1..=leaves).map(|_| vec![0]));
    lists.push(vec![1, leaves + 2]);
    lists.push(vec![leaves + 1]);
    lists[1].push(leaves + 1);
    lists
}

#[test]
fn levels_and_parents_of_a_star_with_a_tail() {
    let leaves = 5000;
    let graph = stored(&star_with_a_tail(leaves), false);
    for strategy in STRATEGIES {
        let search = BfsConfig::default().parents(true);
        let found = bfs::run(&graph, config(strategy), &search).unwrap();
        assert_eq!((found.sources[0], found.reached, found.depth), (0, u64::from(leaves) + 3, 3));
        assert_eq!((found.level(0), found.parent(0)), (Some(0), Some(0)));
        assert_eq!((found.level(leaves), found.parent(leaves)), (Some(1), Some(0)));
        assert_eq!((found.level(leaves + 1), found.parent(leaves + 1)), (Some(2), Some(1)));
        assert_eq!(
            (found.level(leaves + 2), found.parent(leaves + 2)),
            (Some(3), Some(leaves + 1))
        );
        bfs::verify(&graph, &found).unwrap();
    }
}

#[test]
fn the_smallest_of_several_parents_is_reported() {
    // 0 to {1, 2, 3}, and all of these to 4.
    let graph = stored(&[vec![1, 2, 3], vec![0, 4], vec![0, 4], vec![0, 4], vec![1, 2, 3]], false);
    for strategy in STRATEGIES {
        let search = BfsConfig::from(0).parents(true);
        let found = bfs::run(&graph, config(strategy), &search).unwrap();
        assert_eq!(found.parent(4), Some(1));
    }
}

#[test]
fn unreached_vertices_have_no_level() {
    let graph = stored(&[vec![1], vec![], vec![1]], true);
    let search = BfsConfig::from(0).parents(true);
    let found = bfs::run(&graph, config(Strategy::Auto), &search).unwrap();
    assert_eq!((found.reached, found.level(2), found.parent(2)), (2, None, None));
}

#[test]
fn components_are_labelled_by_their_smallest_vertex() {
    let graph = stored(&[vec![3], vec![2, 4], vec![1], vec![0], vec![1], vec![]], false);
    for strategy in STRATEGIES {
        let found = wcc::run(&graph, config(strategy)).unwrap();
        let labels: Vec<u32> = (0..6).map(|v| found.label(v)).collect();
        assert_eq!(labels, [0, 1, 1, 0, 1, 5]);
        assert_eq!((found.components, found.largest, found.largest_label), (3, 3, Some(1)));
        wcc::verify(&graph, &found).unwrap();
    }
}

#[test]
fn ranks_on_a_circle_are_equal_and_dangling_mass_is_spread() {
    let circle: Vec<Vec<u32>> = (0..10).map(|v| vec![(v + 1) % 10]).collect();
    let ranks =
        pagerank::run(&stored(&circle, true), config(Strategy::Auto), &PageRankConfig::default())
            .unwrap();
    (0..10).for_each(|v| assert!((ranks.rank(v) - 0.1).abs() < 1e-12));
    // 0 points at 1, which points nowhere: after one step 1 has given half of its mass to each.
    let once = PageRankConfig::default().damping(1.0).iterations(1);
    let ranks =
        pagerank::run(&stored(&[vec![1], vec![]], true), config(Strategy::Auto), &once).unwrap();
    assert!((ranks.rank(0) - 0.25).abs() < 1e-12 && (ranks.rank(1) - 0.75).abs() < 1e-12);
}

#[test]
fn a_list_over_pages_sums_the_same_by_every_strategy() {
    let graph = stored(&star_with_a_tail(9000), false);
    let ranks = |strategy| {
        let found = pagerank::run(&graph, config(strategy), &PageRankConfig::default()).unwrap();
        pagerank::verify(&graph, &PageRankConfig::default(), &found).unwrap();
        (0..9003).map(|v| found.rank(v).to_bits()).collect::<Vec<_>>()
    };
    let auto = ranks(Strategy::Auto);
    assert_eq!(auto, ranks(Strategy::Block));
    assert_eq!(auto, ranks(Strategy::Vertex));
}

#[test]
fn a_budget_too_small_names_one_that_does() {
    let graph = stored(&star_with_a_tail(9000), false);
    let with_memory = |bytes| EngineConfig::with_memory(bytes).threads(1);
    let refused = wcc::run(&graph, with_memory(1000));
    let Err(AlgoError::Engine(EngineError::Budget { suggested, .. })) = refused else {
        panic!("1,000 bytes were enough: {refused:?}");
    };
    wcc::run(&graph, with_memory(suggested << 20)).unwrap();
}

#[test]
fn a_verifier_sees_answers_of_another_graph() {
    let one = stored(&[vec![1], vec![0], vec![3], vec![2]], false);
    let other = stored(&[vec![1], vec![0, 2], vec![1, 3], vec![2]], false);
    let search = BfsConfig::from(0).parents(true);
    let ranking = PageRankConfig::default();
    let config = || config(Strategy::Auto);
    assert!(bfs::verify(&other, &bfs::run(&one, config(), &search).unwrap()).is_err());
    assert!(wcc::verify(&other, &wcc::run(&one, config()).unwrap()).is_err());
    let ranks = pagerank::run(&one, config(), &ranking).unwrap();
    assert!(pagerank::verify(&other, &ranking, &ranks).is_err());
}

/// Keeps every list that it is brought.
struct Collect(Mutex<Vec<(u32, Vec<u32>)>>);

impl Kernel for Collect {
    type Local = Vec<PageTask>;

    fn local(&self) -> Vec<PageTask> {
        Vec::new()
    }

    fn list(&self, _: &mut Vec<PageTask>, list: &List<'_>) {
        self.0.lock().unwrap().push((list.vertex, list.targets.to_vec()));
    }

    fn page(&self, tasks: &mut Vec<PageTask>, page: &Page<'_>, purpose: &Purpose<'_>) {
        page.lists().for_each(|list| self.list(tasks, &list));
        tasks.push(purpose.task);
    }
}

fn engine(graph: &Arc<Graph>, strategy: Strategy) -> Engine {
    let needs = Needs { what: "test", state_bytes: 0, scratch_bytes: 0 };
    Engine::new(Arc::clone(graph), config(strategy), &needs).unwrap()
}

#[test]
fn lists_over_many_pages_come_whole_by_every_strategy() {
    let lists = star_with_a_tail(10_000);
    let graph = stored(&lists, false);
    let adjacency = graph.adjacency(Direction::Out).unwrap();
    assert!(adjacency.list_entries_bound() >= graph.superblock().degree_max);
    let expected: Vec<(u32, Vec<u32>)> = (0..).zip(lists).collect();
    for strategy in STRATEGIES {
        let kernel = Collect(Mutex::default());
        let engine = engine(&graph, strategy);
        engine.visit_whole("all", Direction::Out, ActiveSet::All, &kernel).unwrap();
        let mut found = kernel.0.into_inner().unwrap();
        found.sort_unstable();
        assert!(found == expected, "{strategy}");
    }
}

#[test]
fn named_pages_come_once_each_with_their_task() {
    let graph = stored(&star_with_a_tail(10_000), false);
    let adjacency = graph.adjacency(Direction::Out).unwrap();
    let task = |page| PageTask { page, from: page as u32, to: 2 * page as u32 };
    let tasks: Vec<PageTask> = (1..adjacency.pages()).step_by(3).map(task).collect();
    assert!(tasks.len() > 5);
    for strategy in STRATEGIES {
        let kernel = Collect(Mutex::default());
        let engine = engine(&graph, strategy);
        let found = engine
            .visit_pages("some", Direction::Out, NamedPages::of_pass(&tasks), &kernel)
            .unwrap();
        let mut found = found.concat();
        found.sort_unstable_by_key(|task| task.page);
        assert_eq!(found, tasks, "{strategy}");
        let vertices: usize = tasks.iter().map(|t| adjacency.vertices_in(t.page).len()).sum();
        assert_eq!(kernel.0.into_inner().unwrap().len(), vertices, "{strategy}");
    }
}
