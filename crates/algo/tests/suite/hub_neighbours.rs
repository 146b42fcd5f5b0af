//! What hub neighbours change is what is read: never an answer.

use std::sync::Arc;

use crate::plain::{Plain, Random, Ways, odd_graphs, random_graph};
use cenote_algo::bfs::{self, BfsConfig};
use cenote_algo::wcc;
use cenote_engine::{Direction, EngineConfig, Graph};
use cenote_store::HubNeighboursChoice;

/// Both ways to store a graph, and its size.
fn both(plain: &Plain) -> [Arc<Graph>; 2] {
    [HubNeighboursChoice::No, HubNeighboursChoice::Yes]
        .map(|hub_neighbours| plain.stored_with_hub_neighbours(hub_neighbours))
}

fn all_graphs() -> Vec<Plain> {
    let random = (0..16).map(|seed| random_graph(seed, seed % 2 == 0));
    let odd = [false, true].into_iter().flat_map(odd_graphs);
    random.chain(odd).chain([skewed(1, 12, false), skewed(2, 12, true)]).collect()
}

/// Many pages, hubs that nearly everybody knows (R-MAT with the probabilities of Graph 500), and
/// small components beside.
fn skewed(seed: u64, scale: u32, directed: bool) -> Plain {
    let mut random = Random(seed);
    let vertices = 1 << scale;
    let components = vertices / 18;
    let mut end = || {
        let pair = |(u, v), quarter| (2 * u + quarter / 2, 2 * v + quarter % 2);
        let quarter = |at| [57, 76, 95, 100].iter().position(|&to| at < to).unwrap() as u32;
        (0..scale).map(|_| quarter(random.below(100))).fold((0, 0), pair)
    };
    let mut pairs: Vec<(u32, u32)> = (0..16 * vertices).map(|_| end()).collect();
    pairs.extend((0..components).map(|i| (vertices + 2 * i, vertices + 2 * i + 1)));
    Plain::of(vertices + 2 * components, &pairs, directed)
}

fn compare_searches(all: bool) {
    for (i, plain) in (0..).zip(all_graphs()) {
        let [without, with] = both(&plain);
        let mut random = Random(i);
        for config in Ways::of(all, i as usize).configs() {
            let source = random.below(plain.vertices());
            let targets = (0..random.below(3)).map(|_| random.below(plain.vertices())).collect();
            for bfs in [
                BfsConfig::default(),
                BfsConfig::from(source),
                BfsConfig::from(source).parents(true),
                BfsConfig::from(source).targets(targets),
            ] {
                let case = format!("graph {i}, {} {}", config.strategy, config.threads);
                let expected = bfs::run(&without, config.clone(), &bfs).unwrap();
                let found = bfs::run(&with, config.clone(), &bfs).unwrap();
                bfs::verify(&with, &found).unwrap();
                let summary = |b: &bfs::Bfs| (b.reached, b.depth, b.ended_early);
                assert_eq!(summary(&found), summary(&expected), "{case}");
                for v in 0..plain.vertices() {
                    let of = |b: &bfs::Bfs| (b.level(v), b.parent(v));
                    assert_eq!(of(&found), of(&expected), "{case}, vertex {v}");
                }
            }
        }
    }
}

#[test]
fn searches_find_the_same_levels_with_hub_neighbours() {
    compare_searches(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_searches_find_the_same_levels_with_hub_neighbours() {
    compare_searches(true);
}

#[test]
fn components_are_the_same_with_heads() {
    for (i, plain) in (0..).zip(all_graphs()) {
        let [without, with] = both(&plain);
        for config in crate::plain::configs() {
            let expected = wcc::run(&without, config.clone()).unwrap();
            let found = wcc::run(&with, config.clone()).unwrap();
            wcc::verify(&with, &found).unwrap();
            for v in 0..plain.vertices() {
                assert_eq!(found.label(v), expected.label(v), "graph {i}, vertex {v}");
            }
        }
    }
}

#[test]
fn with_hub_neighbours_a_skewed_graph_is_searched_and_joined_by_few_of_its_bytes() {
    let [without, with] = both(&skewed(3, 14, false));
    let config = EngineConfig::with_memory(64 << 20);
    let config = config.cache_bytes(Some(0)).threads(1);
    let bfs = BfsConfig::default();
    let search = |graph| bfs::run(graph, config.clone(), &bfs).unwrap().run.stats.bytes_read;
    let join = |graph| wcc::run(graph, config.clone()).unwrap().run.stats.bytes_read;
    for (what, less, all) in
        [("bfs", search(&with), search(&without)), ("wcc", join(&with), join(&without))]
    {
        println!("{what}: {less} of {all} bytes");
        assert!(2 * less < all, "{what}: {less} of {all} bytes");
    }
}

/// Vertices without in-edges are outside the giant component until their out-lists are read; no
/// in-list is read for them.
#[test]
fn components_of_a_directed_graph_read_the_lists_of_one_direction() {
    let [_, with] = both(&skewed(4, 14, true));
    let config = EngineConfig::with_memory(64 << 20).cache_bytes(Some(0)).threads(1);
    let found = wcc::run(&with, config).unwrap();
    wcc::verify(&with, &found).unwrap();
    let pages = |direction| with.adjacency(direction).unwrap().pages();
    let hubs = with.hub_neighbours().unwrap().pages();
    let (read, out) = (found.run.stats.bytes_read / 4096, pages(Direction::Out));
    println!("{read} pages of {out}, and {hubs} of hub neighbours");
    assert!(read < out + out / 20 + hubs, "{read} pages of {out}");
}
