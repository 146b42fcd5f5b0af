//! Shortest paths in passes, with the edges in memory that may still shorten one.

use std::sync::Arc;

use cenote_algo::sssp;
use cenote_engine::{Direction, Engine, StepRecord, Strategy};
use cenote_store::{Graph, WeightType};

use super::{Plain, Random, config, from};

/// A random graph of 16 edges a vertex, to the first vertices more often if it has hubs.
fn dense_random(kind: WeightType, has_hubs: bool, weight_max: u64) -> Plain {
    let n = 6_000;
    let mut random = Random(11);
    let mut graph = Plain::new(n as usize, false, Some(kind));
    for source in 0..n {
        for _ in 0..16 {
            let part = random.below(n);
            let target = if has_hubs { part * part / n * part / n } else { part };
            if target != source {
                graph.edge(source as u32, target as u32, 1 + random.below(weight_max));
            }
        }
    }
    graph
}

/// Passes of a search, those that kept edges in memory, rounds of pages, and how often the pages of
/// lists and weights were read.
#[derive(Debug)]
struct Passes {
    all: usize,
    kept: usize,
    rounds: usize,
    reads: f64,
}

/// Searches a graph with so much memory beside the state.
fn passes_of(plain: &Plain, threads: usize, percent: u64, what: &str) -> Passes {
    let graph = plain.stored();
    let needs = sssp::needs(&graph, &config(Strategy::Auto, threads, 0), &from(0)).unwrap();
    let lists = graph.adjacency(Direction::Out).unwrap().pages() * 4096;
    let memory =
        needs.state_bytes + graph.memory_bytes() as u64 + (1 << 20) + lists * percent / 100;
    passes_within(&graph, threads, memory, what)
}

fn passes_within(graph: &Arc<Graph>, threads: usize, memory: u64, what: &str) -> Passes {
    let lists = graph.adjacency(Direction::Out).unwrap().pages() * 4096;
    let given = config(Strategy::Auto, threads, memory).explain(true);
    let found = sssp::run(graph, given, &from(0)).unwrap();
    sssp::verify(graph, &found).unwrap();
    let plain = sssp::run(graph, config(Strategy::Block, 1, 64 << 20), &from(0)).unwrap();
    assert_eq!(format!("{:?}", found.distances()), format!("{:?}", plain.distances()), "{what}");
    let count = |is_one: fn(&&StepRecord) -> bool| found.run.steps.iter().filter(is_one).count();
    let weights = graph.weights(Direction::Out).unwrap().pages() * 4096;
    Passes {
        all: count(|step| step.label.starts_with("pass")),
        kept: count(|step| step.label.ends_with("edges kept")),
        rounds: count(|step| step.label.starts_with("round")),
        reads: found.run.stats.bytes_read as f64 / (lists + weights) as f64,
    }
}

/// Weights that share a word with a target, that need one of their own, and that need two.
#[test]
fn edges_that_may_shorten_a_path_are_kept_in_memory() {
    let kinds = [
        (WeightType::U32, 255),
        (WeightType::U32, 1 << 31),
        (WeightType::F32, 255),
        (WeightType::I64, 1 << 31),
        (WeightType::F64, 255),
    ];
    for (at, (kind, weight_max)) in kinds.into_iter().enumerate() {
        let what = format!("{kind:?} up to {weight_max}");
        let found = passes_of(&dense_random(kind, true, weight_max), 1 + at % 2, 60, &what);
        assert!((1..=2).contains(&found.kept) && found.reads < 5.0, "{what}: {found:?}");
    }
}

/// Pages of sites in their order, or in none, with weights up to 255.
fn sites(is_shuffled: bool) -> Plain {
    let links = crate::near::sites(is_shuffled);
    let n = links.iter().map(|&(source, _)| source + 1).max().unwrap();
    let mut random = Random(7);
    let mut graph = Plain::new(n as usize, false, Some(WeightType::U32));
    links.iter().for_each(|&(source, target)| graph.edge(source, target, 1 + random.below(255)));
    graph
}

#[test]
fn edges_that_lead_nearby_are_followed_page_by_page() {
    let in_order = passes_of(&sites(false), 1, 30, "in order");
    assert!(in_order.all == 0 && in_order.rounds > 0, "{in_order:?}");
    let in_none = passes_of(&sites(true), 1, 30, "in no order");
    assert!(in_none.all > 3, "{in_none:?}");
}

/// With all pages in memory buckets are faster than passes that do not come far.
#[test]
fn passes_that_do_not_come_far_end_where_pages_stay_in_memory() {
    let found = passes_of(&sites(true), 1, 1000, "all pages");
    assert!(found.all < 4, "{found:?}");
}

/// Where all edges that matter do not fit, each pass keeps those up to a limit.
#[test]
fn edges_up_to_a_limit_are_kept_where_not_all_fit() {
    for (kind, weight_max, percent) in
        [(WeightType::U32, 255, 1), (WeightType::F64, 1 << 20, 60), (WeightType::I64, 1, 60)]
    {
        for threads in [1, 3] {
            let what = format!("{kind:?} up to {weight_max}, {threads} threads");
            let graph = dense_random(kind, false, weight_max);
            let found = passes_of(&graph, threads, percent, &what);
            assert!(found.kept > 0 && found.all > 1 && found.reads < 10.0, "{what}: {found:?}");
        }
    }
}

/// Where none do, passes follow lists in the order of the file. With several threads their number
/// is of chance, since it depends on which lists two threads follow at the same time: 4 to 8 here.
/// So little memory holds a page at a time, so that a page of lists or weights that is shared by
/// two is read twice.
#[test]
fn lists_are_followed_in_passes_where_no_edges_fit() {
    for (has_hubs, threads) in [(false, 1), (true, 3), (false, 2)] {
        let graph = dense_random(WeightType::U32, has_hubs, 255).stored();
        let scratch = |memory| {
            let config = config(Strategy::Auto, threads, memory);
            let needs = sssp::needs(&graph, &config, &from(0)).unwrap();
            Engine::plan(&graph, &config, &needs).map_or(0, |(_, plan)| plan.scratch_bytes)
        };
        // Two sets of all vertices, and less than a fiftieth of the edges.
        let memory = (1..).map(|i| i << 12).find(|memory| scratch(*memory) > 2_000).unwrap();
        assert!(scratch(memory) < 15_000, "{} bytes", scratch(memory));
        let found = passes_within(&graph, threads, memory, &format!("hubs: {has_hubs}"));
        let passes_max = if threads == 1 { 8 } else { 12 };
        assert!((2..=passes_max).contains(&found.all) && found.kept == 0, "{found:?}");
        assert!(found.reads < 2.0 * (found.all + 2) as f64, "{found:?}");
    }
}
