//! Searches of graphs whose edges lead nearby in the file: page by page, and equal to those in
//! steps.

use std::sync::Arc;

use crate::plain::{Plain, Random, config};
use cenote_algo::{bfs, scc};
use cenote_engine::{Direction, EngineConfig, StepRecord, Strategy};
use cenote_store::Graph;

const WEB_PAGES: u32 = 140_000;

/// The links of pages of sites: 8 each, nearly all to one of the nearest 80 pages, others to one
/// hub. In the order of the pages, or in none.
pub fn sites(is_shuffled: bool) -> Vec<(u32, u32)> {
    let mut random = Random(5);
    let mut names: Vec<u32> = (0..WEB_PAGES).collect();
    if is_shuffled {
        (1..WEB_PAGES).for_each(|at| names.swap(at as usize, random.below(at + 1) as usize));
    }
    let mut links = Vec::new();
    for source in 0..WEB_PAGES {
        for at in 0..8 {
            let near = (source + WEB_PAGES - 40 + random.below(80)) % WEB_PAGES;
            let target = if at == 0 && source % 64 == 0 { 0 } else { near };
            if target != source {
                links.push((names[source as usize], names[target as usize]));
            }
        }
    }
    links
}

fn stored(is_shuffled: bool) -> Arc<Graph> {
    Plain::of(WEB_PAGES, &sites(is_shuffled), true).stored()
}

/// Within memory for a third of the pages beside the state.
fn explained(graph: &Graph, state: u64) -> EngineConfig {
    let lists = graph.adjacency(Direction::Out).unwrap().pages() * 4096;
    let memory = state + graph.memory_bytes() as u64 + lists / 3 + (1 << 20);
    config(Strategy::Auto, 2).memory_bytes(memory).explain(true)
}

/// Steps with this label, and those of them that visited named pages instead of a frontier.
fn steps(steps: &[StepRecord], label: &str) -> (usize, usize) {
    let of_label = || steps.iter().filter(|step| step.label.starts_with(label));
    (of_label().count(), of_label().filter(|step| step.frontier.is_none()).count())
}

/// From the level at which edges are looked at; in no order after more small steps.
#[test]
fn searches_of_sites_go_page_by_page() {
    for is_shuffled in [false, true] {
        let graph = stored(is_shuffled);
        let search = bfs::BfsConfig::default().sources(vec![5]).parents(true);
        let state = bfs::needs(&graph, &config(Strategy::Auto, 2), &search).state_bytes;
        let found = bfs::run(&graph, explained(&graph, state), &search).unwrap();
        bfs::verify(&graph, &found).unwrap();
        let (rounds, _) = steps(&found.run.steps, "round");
        let (levels, _) = steps(&found.run.steps, "level");
        assert!(rounds > 0, "{levels} levels");
        assert_eq!(levels == 6, !is_shuffled, "{levels} levels");
    }
}

#[test]
fn strong_components_of_sites_are_searched_page_by_page() {
    for is_shuffled in [false, true] {
        let graph = stored(is_shuffled);
        let state = scc::needs(&graph, &config(Strategy::Auto, 2)).state_bytes;
        let found = scc::run(&graph, explained(&graph, state)).unwrap();
        scc::verify(&graph, &found).unwrap();
        let (all, by_page) = steps(&found.run.steps, "forward");
        assert!(by_page > 0, "{all} steps");
        assert_eq!(all - by_page == 5, !is_shuffled, "{by_page} of {all} by page");
    }
}

/// A ring, whose search takes so many rounds of few pages that it is given up, and sources beside,
/// which are trimmed then: what was still to be followed must not count as trimmed.
#[test]
fn a_search_of_pages_that_is_given_up_leaves_nothing_behind() {
    let n = 180_000;
    let on_ring = |v: u32| v % 17 != 16;
    let ring: Vec<u32> = (0..n).filter(|&v| on_ring(v)).collect();
    let mut pairs = Vec::new();
    for (at, &v) in ring.iter().enumerate() {
        pairs.extend((1..=6).map(|step| (v, ring[(at + step) % ring.len()])));
    }
    for v in (0..n).filter(|&v| !on_ring(v)) {
        pairs.extend((1..=3).map(|step| (v, v - step)));
    }
    let graph = Plain::of(n, &pairs, true).stored();
    let state = scc::needs(&graph, &config(Strategy::Auto, 2)).state_bytes;
    let found = scc::run(&graph, explained(&graph, state)).unwrap();
    let (forward, trimmed) =
        (steps(&found.run.steps, "forward").1, steps(&found.run.steps, "trim").0);
    assert!(forward > 500 && trimmed > 0, "{forward} rounds, and {trimmed} that trim");
    assert_eq!(
        (found.largest, found.single),
        (ring.len() as u64, u64::from(n) - ring.len() as u64)
    );
    scc::verify(&graph, &found).unwrap();
}

/// A grid has as many levels, and edges lead nearby, but its lists fit.
#[test]
fn a_lattice_whose_lists_fit_is_searched_in_memory() {
    let (rows, columns) = (600, 500);
    let mut pairs = Vec::new();
    for v in 0..rows * columns {
        pairs.extend((v % columns + 1 < columns).then_some((v, v + 1)));
        pairs.extend((v + columns < rows * columns).then_some((v, v + columns)));
    }
    let graph = Plain::of(rows * columns, &pairs, false).stored();
    let pages = graph.adjacency(Direction::Out).unwrap().pages();
    assert!(pages > 1024, "{pages} pages");
    let search = bfs::BfsConfig::from(0);
    for (memory, is_in_memory) in [(64 << 20, true), (3 << 20, false)] {
        let config = config(Strategy::Auto, 2).memory_bytes(memory).explain(true);
        let found = bfs::run(&graph, config, &search).unwrap();
        assert_eq!((found.reached, found.depth), (u64::from(rows * columns), rows + columns - 2));
        let (rounds, _) = steps(&found.run.steps, "round");
        assert_eq!(rounds == 0, is_in_memory, "{rounds} rounds within {memory} bytes");
    }
}
