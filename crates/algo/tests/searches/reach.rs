//! Reachability, with and without in-edges.

use cenote_algo::reach::{self, ReachConfig};

use crate::graphs::{self, Random};

const TIGHT_BYTES: u64 = 1 << 20;

#[test]
fn answers_are_those_of_a_full_search_and_cost_no_more() {
    for lists in graphs::all(31) {
        let n = lists.out.len() as u32;
        let mut random = Random(9);
        let source = random.below(n);
        let levels = lists.levels(&[source]);
        let targets: Vec<u32> = (0..6).map(|_| random.below(n)).collect();
        let expected: Vec<bool> = targets.iter().map(|&v| levels[v as usize].is_some()).collect();
        for in_edges in [false, true] {
            let graph = lists.stored(in_edges);
            for config in graphs::configs(TIGHT_BYTES) {
                let question = ReachConfig { source: Some(source), targets: targets.clone() };
                let found = reach::run(&graph, config, &question).unwrap();
                assert_eq!(found.reachable, expected, "{} {in_edges}", lists.name);
                assert_eq!(found.bidirectional, in_edges || !lists.directed);
                reach::verify(&graph, &question, &found).unwrap();
            }
        }
    }
}

#[test]
fn a_question_without_targets_is_refused() {
    let graph = graphs::Lists::of("pair", 2, true, &[(0, 1)]).stored(false);
    let config = cenote_engine::EngineConfig::with_memory(8 << 20);
    assert!(reach::run(&graph, config, &ReachConfig::default()).is_err());
}
