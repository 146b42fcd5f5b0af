//! Reachability, with and without in-edges.

use cenote_algo::reach::{self, ReachConfig};

use crate::plain::{Plain, Random, configs_within, graphs_to_search};

const TIGHT_BYTES: u64 = 1 << 20;

#[test]
fn answers_are_those_of_a_full_search_and_cost_no_more() {
    for plain in graphs_to_search(31) {
        let n = plain.lists.len() as u32;
        let mut random = Random(9);
        let source = random.below(n);
        let levels = plain.levels(&[source]);
        let targets: Vec<u32> = (0..6).map(|_| random.below(n)).collect();
        let expected: Vec<bool> = targets.iter().map(|&v| levels[v as usize].is_some()).collect();
        for in_edges in [false, true] {
            let graph = plain.stored_with(in_edges);
            for config in configs_within(TIGHT_BYTES) {
                let question = ReachConfig::default().source(Some(source)).targets(targets.clone());
                let found = reach::run(&graph, config, &question).unwrap();
                assert_eq!(found.reachable, expected, "{} {in_edges}", plain.name);
                assert_eq!(found.bidirectional, in_edges || !plain.directed);
                reach::verify(&graph, &question, &found).unwrap();
            }
        }
    }
}

#[test]
fn a_question_without_targets_is_refused() {
    let graph = Plain::of(2, &[(0, 1)], true).without_in_edges().stored();
    let config = cenote_engine::EngineConfig::with_memory(8 << 20);
    assert!(reach::run(&graph, config, &ReachConfig::default()).is_err());
}
