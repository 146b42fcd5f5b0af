//! Degrees, held against the lengths of lists in memory.

use crate::plain::{Plain, Random, config, configs, odd_graphs, random_graph};
use cenote_algo::degrees;
use cenote_engine::{Direction, Strategy};

fn equal_whatever_the_way(graph: &Plain, what: &str) {
    let stored = graph.stored();
    let lengths = |lists: &[Vec<u32>]| lists.iter().map(|list| list.len() as u64).collect();
    let out: Vec<u64> = lengths(&graph.lists);
    let inward: Vec<u64> = lengths(&graph.in_lists());
    let lonely = out.iter().zip(&inward).filter(|pair| *pair == (&0, &0)).count() as u64;
    for config in configs() {
        let found = degrees::run(&stored, config).unwrap();
        assert_eq!(found.out_degrees(), out, "{what}");
        assert_eq!(found.in_degrees(), graph.directed.then_some(&inward[..]), "{what}");
        assert_eq!((found.entries, found.isolated), (out.iter().sum(), lonely), "{what}");
        degrees::verify(&stored, &found).unwrap();
    }
}

#[test]
fn odd_graphs_have_the_degrees_of_their_lists() {
    for directed in [false, true] {
        for (i, graph) in odd_graphs(directed).iter().enumerate() {
            equal_whatever_the_way(graph, &format!("odd graph {i}, directed {directed}"));
        }
    }
}

#[test]
fn random_graphs_have_the_degrees_of_their_lists_also_without_in_edges() {
    for seed in 0..20 {
        let graph = random_graph(seed, seed % 2 == 0);
        equal_whatever_the_way(&graph, &format!("seed {seed}"));
        equal_whatever_the_way(&graph.without_in_edges(), &format!("seed {seed}, one way"));
    }
}

#[test]
fn repeated_edges_count_as_often_as_they_are_kept() {
    let graph = Plain::of_lists(vec![vec![1, 1, 2], vec![0, 0], vec![0, 2]], false);
    equal_whatever_the_way(&graph, "repeated");
}

#[test]
fn the_pages_of_degrees_are_read_in_place_of_the_lists() {
    let mut random = Random(4);
    let pairs: Vec<_> = (0..60_000).map(|_| (random.below(3000), random.below(3000))).collect();
    let graph = Plain::of(3000, &pairs, true).stored();
    let found = degrees::run(&graph, config(Strategy::Auto, 2)).unwrap();
    let pages = graph.adjacency(Direction::Out).unwrap().pages();
    assert!(pages > 20 && found.run.stats.bytes_read < 5 * 4096, "{:?}", found.run.stats);
    assert_eq!(found.top(1).len(), 1);
}

#[test]
fn the_verifier_sees_the_degrees_of_another_graph() {
    let one = Plain::of(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], false);
    let other = Plain::of(4, &[(0, 1), (1, 2), (2, 3)], false);
    let found = degrees::run(&one.stored(), config(Strategy::Auto, 1)).unwrap();
    assert!(degrees::verify(&other.stored(), &found).is_err());
}
