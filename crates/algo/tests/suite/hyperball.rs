//! HyperBall: exact distances of searches from every vertex, within the stated error; and the same
//! answer to the last bit whatever the way.

use std::sync::Arc;

use crate::plain::{Plain, config, configs, odd_graphs, random_graph, random_with_hubs};
use cenote_algo::hyperball::{self, Hyperball, HyperballConfig};
use cenote_algo::{AlgoError, Result};
use cenote_engine::{EngineConfig, EngineError, Graph, Strategy};

fn bits(found: &Hyperball, vertices: u32) -> Vec<u64> {
    let of = |v| [found.harmonic(v), found.closeness(v), found.reachable(v)];
    let mut bits: Vec<u64> = (0..vertices).flat_map(of).map(f64::to_bits).collect();
    bits.extend(found.neighborhood.iter().map(|pairs| pairs.to_bits()));
    bits.extend([found.effective_diameter.to_bits(), found.iterations.into()]);
    bits
}

/// With the least memory that does, and the most slices.
fn least(graph: &Arc<Graph>, config: &EngineConfig, wanted: &HyperballConfig) -> Result<Hyperball> {
    let config = config.clone().cache_bytes(Some(0));
    match hyperball::run(graph, config.clone().memory_bytes(1), wanted) {
        Err(AlgoError::Engine(EngineError::Budget { suggested, .. })) => {
            hyperball::run(graph, config.memory_bytes(suggested << 20), wanted)
        }
        other => other,
    }
}

fn equal_whatever_the_way(graph: &Plain, wanted: &HyperballConfig, what: &str) {
    let stored = graph.stored();
    let expected = hyperball::run(&stored, config(Strategy::Auto, 1), wanted).unwrap();
    hyperball::verify(&stored, wanted, &expected).unwrap();
    for config in configs() {
        let found = hyperball::run(&stored, config.clone(), wanted).unwrap();
        let tight = least(&stored, &config, wanted).unwrap();
        for found in [&found, &tight] {
            let same = bits(found, graph.vertices()) == bits(&expected, graph.vertices());
            assert!(same, "{what}, {} slices", found.slices);
        }
    }
}

#[test]
fn odd_graphs_have_the_counters_of_the_definition() {
    for directed in [false, true] {
        for (i, graph) in odd_graphs(directed).iter().enumerate() {
            let wanted = HyperballConfig::default().registers(16).iterations(Some(40));
            equal_whatever_the_way(graph, &wanted, &format!("odd graph {i}, directed {directed}"));
        }
    }
}

#[test]
fn random_graphs_have_the_counters_of_the_definition() {
    for seed in 0..12 {
        let graph = random_graph(seed, seed % 2 == 0);
        let graph = if seed % 4 == 0 { graph.without_in_edges() } else { graph };
        let wanted = HyperballConfig::default().seed(seed).outgoing(seed % 3 == 0);
        let wanted = wanted.iterations([None, Some(2), Some(0)][seed as usize % 3]);
        equal_whatever_the_way(&graph, &wanted, &format!("seed {seed}"));
    }
}

#[test]
fn counters_that_do_not_fit_are_computed_in_slices() {
    compare_slices(12_000, &[2, 3]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_counters_that_do_not_fit_are_computed_in_slices() {
    compare_slices(20_000, &[3, 4, 6, 10]);
}

/// Of so many vertices, with budgets of so many MiB.
fn compare_slices(n: u32, budgets: &[u64]) {
    let graph = random_with_hubs(4, n as usize, 6, false).stored();
    let wanted = HyperballConfig::default().registers(256);
    let plenty = hyperball::run(&graph, config(Strategy::Auto, 2), &wanted).unwrap();
    assert_eq!(plenty.slices, 1);
    let mut most = 1;
    for mebibytes in budgets {
        let config = EngineConfig::with_memory(mebibytes << 20).threads(2).depth(Some(2));
        let found = hyperball::run(&graph, config, &wanted).unwrap();
        assert!(found.run.memory.total_bytes() <= mebibytes << 20);
        assert_eq!(bits(&found, n), bits(&plenty, n), "{} slices", found.slices);
        most = most.max(found.slices);
    }
    assert!(most >= 8, "{most} slices");
}

/// Exact harmonic centrality, closeness and reachable count, and N(t).
fn exact(graph: &Plain, outgoing: bool) -> (Vec<[f64; 3]>, Vec<f64>) {
    let lists = match graph.directed && !outgoing {
        true => Plain::of_lists(graph.in_lists(), true),
        false => graph.clone(),
    };
    let (mut values, mut pairs) = (Vec::new(), vec![0.0; 100]);
    for v in 0..graph.vertices() {
        let distances: Vec<u32> = lists.levels(&[v]).into_iter().flatten().collect();
        distances.iter().for_each(|&distance| pairs[distance as usize] += 1.0);
        let others = distances.len() as f64 - 1.0;
        let sum: f64 = distances.iter().map(|&distance| f64::from(distance)).sum();
        let harmonic = distances.iter().filter(|&&distance| distance > 0);
        let harmonic: f64 = harmonic.map(|&distance| 1.0 / f64::from(distance)).sum();
        let n = f64::from(graph.vertices());
        let closeness = if sum > 0.0 { others / sum * others / (n - 1.0) } else { 0.0 };
        values.push([harmonic, closeness, others + 1.0]);
    }
    let depth = pairs.iter().rposition(|&pairs| pairs > 0.0).unwrap();
    pairs.truncate(depth + 1);
    (1..pairs.len()).for_each(|t| pairs[t] += pairs[t - 1]);
    (values, pairs)
}

#[test]
fn estimates_are_within_the_stated_error_of_exact_distances() {
    const SEEDS: u64 = 24;
    for (directed, outgoing) in [(false, false), (true, false), (true, true)] {
        let graph = random_with_hubs(9, 400, 4, directed);
        let (expected, pairs) = exact(&graph, outgoing);
        let stored = graph.stored();
        let (mut squares, mut of_pairs) = ([0.0; 3], 0.0);
        let mut error = 0.0;
        for seed in 0..SEEDS {
            let wanted = HyperballConfig::default().seed(seed).outgoing(outgoing);
            let found = hyperball::run(&stored, config(Strategy::Auto, 2), &wanted).unwrap();
            for (v, expected) in (0..).zip(&expected) {
                let of = [found.harmonic(v), found.closeness(v), found.reachable(v)];
                for ((sum, found), expected) in squares.iter_mut().zip(of).zip(expected) {
                    *sum += (found / expected.max(1e-9) - 1.0).powi(2) * f64::from(*expected > 0.0);
                }
            }
            let last = found.neighborhood.last().unwrap() / pairs.last().unwrap() - 1.0;
            of_pairs += last * last;
            error = found.error;
        }
        let mean = |sum: f64| sum / SEEDS as f64;
        for sum in squares {
            let deviation = (mean(sum) / f64::from(graph.vertices())).sqrt();
            // Closeness has the square of a number of vertices.
            assert!(deviation < 2.0 * error, "{deviation}, {error}");
            assert!(deviation > 0.0, "estimates are not exact");
        }
        let of_pairs = mean(of_pairs).sqrt();
        assert!(of_pairs < 1.3 * error, "{of_pairs}, {error}");
        let wanted = HyperballConfig::default().registers(4096).outgoing(outgoing);
        let found = hyperball::run(&stored, config(Strategy::Auto, 2), &wanted).unwrap();
        let all = pairs.last().unwrap();
        let t = pairs.iter().position(|&pairs| pairs >= 0.9 * all).unwrap();
        let exact = t as f64 - 1.0 + (0.9 * all - pairs[t - 1]) / (pairs[t] - pairs[t - 1]);
        let diameter = found.effective_diameter;
        assert!((diameter / exact - 1.0).abs() < 0.03, "{diameter}, not {exact}");
        let sums = (1..pairs.len()).map(|t| t as f64 * (pairs[t] - pairs[t - 1]));
        let exact = sums.sum::<f64>() / (all - pairs[0]);
        let distance = found.average_distance.unwrap();
        assert!((distance / exact - 1.0).abs() < 0.03, "{distance}, not {exact}");
    }
}

#[test]
fn a_cycle_has_its_closed_forms() {
    let pairs: Vec<(u32, u32)> = (0..100).map(|v| (v, (v + 1) % 100)).collect();
    let wanted = HyperballConfig::default().registers(4096);
    let near = |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 0.03, "{found}");
    let both = Plain::of(100, &pairs, false).stored();
    let found = hyperball::run(&both, config(Strategy::Auto, 1), &wanted).unwrap();
    // Two vertices at each distance from 1 to 49, and one at 50.
    near(found.average_distance.unwrap(), 2500.0 / 99.0);
    near(*found.neighborhood.last().unwrap(), 10_000.0);
    assert_eq!((found.iterations, found.converged), (50, true));
    let one_way = Plain::of(100, &pairs, true).stored();
    let found = hyperball::run(&one_way, config(Strategy::Auto, 1), &wanted).unwrap();
    near(found.average_distance.unwrap(), 50.0);
    near(found.closeness(7), 99.0 / 4950.0);
    let harmonic = (1..100).map(|distance| 1.0 / f64::from(distance)).sum();
    near(found.harmonic(7), harmonic);
    near(found.effective_diameter, 89.0);
}

#[test]
fn the_tail_of_a_deep_graph_is_not_a_pass_over_everything() {
    let mut graph = random_with_hubs(3, 8000, 12, false);
    let n = graph.vertices();
    for v in n..n + 200 {
        graph.lists[v as usize - 1].push(v);
        graph.lists.push(vec![v - 1]);
    }
    let stored = graph.stored();
    let config = config(Strategy::Auto, 1).cache_bytes(Some(0)).depth(Some(2));
    let found = hyperball::run(&stored, config, &HyperballConfig::default()).unwrap();
    assert!(found.iterations > 200);
    let pages = found.run.stats.bytes_read / stored.page_bytes() as u64;
    let pass = stored.adjacency(cenote_engine::Direction::Out).unwrap().pages();
    assert!(pages < 60 * pass, "{pages} pages, {pass} a pass, {} iterations", found.iterations);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let graph = Plain::of(3, &[(0, 1), (1, 2)], false).stored();
    for registers in [0, 1, 8, 48, 8192, u32::MAX] {
        let wanted = HyperballConfig::default().registers(registers);
        let refused = hyperball::run(&graph, config(Strategy::Auto, 1), &wanted);
        assert!(matches!(refused, Err(AlgoError::Parameter { .. })), "{refused:?}");
    }
}

#[test]
fn the_verifier_sees_the_counters_of_another_graph() {
    let one = Plain::of(4, &[(0, 1), (1, 2), (2, 3), (3, 0)], false);
    let other = Plain::of(4, &[(0, 1), (1, 2), (2, 3)], false);
    let wanted = HyperballConfig::default();
    let found = hyperball::run(&one.stored(), config(Strategy::Auto, 1), &wanted).unwrap();
    assert!(hyperball::verify(&other.stored(), &wanted, &found).is_err());
}
