//! Personalised PageRank: forward push, held against the same pushes on maps, one seed after the
//! other, and against power iteration.

use std::collections::BTreeMap;

use crate::plain::{Plain, Random, config, configs, odd_graphs, random_graph, random_with_hubs};
use cenote_algo::AlgoError;
use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::ppr::{self, Ppr, PprConfig};
use cenote_engine::{EngineConfig, Strategy};

const ONE: u64 = 1 << 62;

/// The rows of a seed: all vertices that are above the tolerance push at once, round after round.
fn pushed(graph: &Plain, seed: u32, config: &PprConfig) -> (Vec<(u32, f64)>, f64) {
    let damping = (config.damping * ONE as f64) as u64;
    let damped = |mass: u64| ((u128::from(mass) * u128::from(damping)) >> 62) as u64;
    let per_edge = ((config.tolerance * ONE as f64) as u64).max(1);
    let degree = |v: u32| graph.lists[v as usize].len() as u64;
    let (mut held, mut settled) = (BTreeMap::from([(seed, ONE)]), BTreeMap::<u32, u64>::new());
    let mut active = vec![seed];
    while !active.is_empty() {
        let mut received = BTreeMap::<u32, u64>::new();
        for v in active {
            let mass = held.insert(v, 0).unwrap();
            *settled.entry(v).or_default() += mass - damped(mass);
            for &target in &graph.lists[v as usize] {
                *received.entry(target).or_default() += damped(mass) / degree(v);
            }
            if degree(v) == 0 {
                *received.entry(seed).or_default() += damped(mass);
            }
        }
        received.into_iter().for_each(|(v, mass)| *held.entry(v).or_default() += mass);
        let is_active = |(v, mass): (&u32, &u64)| {
            (*mass >= per_edge.saturating_mul(degree(*v).max(1))).then_some(*v)
        };
        active = held.iter().filter_map(is_active).collect();
    }
    let masses: Vec<(u32, u64)> = held
        .iter()
        .map(|(v, mass)| (*v, settled.get(v).unwrap_or(&0) + mass - damped(*mass)))
        .filter(|(_, mass)| *mass > 0)
        .collect();
    let unsettled = (ONE - masses.iter().map(|(_, mass)| mass).sum::<u64>()) as f64 / ONE as f64;
    let ranks = masses.into_iter().map(|(v, mass)| (v, mass as f64 / ONE as f64));
    let mut ranks: Vec<(u32, f64)> = ranks.collect();
    ranks.sort_by(|(u, a), (v, b)| b.total_cmp(a).then(u.cmp(v)));
    ranks.truncate(config.top_k as usize);
    (ranks, unsettled)
}

fn rows(found: &Ppr, seed: u32) -> Vec<(u32, f64)> {
    let of_seed = found.rows.iter().filter(|row| row.seed == seed);
    of_seed.map(|row| (row.vertex, row.rank)).collect()
}

fn equal_whatever_the_way(graph: &Plain, ppr: &PprConfig, what: &str) {
    let stored = graph.stored();
    for config in configs() {
        let found = ppr::run(&stored, config, ppr).unwrap();
        assert!(found.seeds.is_sorted(), "{what}");
        for (&seed, &unsettled) in found.seeds.iter().zip(&found.unsettled) {
            assert_eq!((rows(&found, seed), unsettled), pushed(graph, seed, ppr), "{what}, {seed}");
        }
        assert!(
            found
                .seeds
                .iter()
                .eq(found.rows.chunk_by(|a, b| a.seed == b.seed).map(|of| &of[0].seed))
        );
        ppr::verify(&stored, ppr, &found).unwrap();
    }
}

#[test]
fn odd_graphs_have_the_ranks_of_plain_pushes() {
    for directed in [false, true] {
        for (i, graph) in odd_graphs(directed).iter().enumerate() {
            let some = [0, graph.vertices() / 2, graph.vertices() - 1];
            let ppr = PprConfig::default().seeds(some.to_vec()).tolerance(1e-4).top_k(7);
            equal_whatever_the_way(graph, &ppr, &format!("odd graph {i}, directed {directed}"));
        }
    }
}

#[test]
fn random_graphs_have_the_ranks_of_plain_pushes() {
    for seed in 0..8 {
        let graph = random_graph(seed, seed % 2 == 0);
        let some = (0..graph.vertices()).step_by(9).collect();
        let damping = [0.85, 0.5, 0.0, 0.97][seed as usize % 4];
        let ppr = PprConfig::default().seeds(some).tolerance(1e-4).top_k(5).damping(damping);
        equal_whatever_the_way(&graph, &ppr, &format!("seed {seed}"));
    }
}

#[test]
fn seeds_that_do_not_fit_side_by_side_begin_later_or_again() {
    compare_side_by_side(20, &[400 << 10, 900 << 10]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_seeds_that_do_not_fit_side_by_side_begin_later_or_again() {
    compare_side_by_side(40, &[400 << 10, 700 << 10, 2 << 20]);
}

/// So many seeds, with so many bytes beside the state.
fn compare_side_by_side(count: u32, budgets: &[u64]) {
    for directed in [false, true] {
        let graph = random_with_hubs(5, 6000, 9, directed);
        let stored = graph.stored();
        let mut random = Random(8);
        let seeds: Vec<u32> = (0..count).map(|_| random.below(6000)).collect();
        let ppr = PprConfig::default().seeds(seeds).top_k(20).tolerance(1e-5);
        let plenty = ppr::run(&stored, config(Strategy::Auto, 2), &ppr).unwrap();
        let tight = |bytes| EngineConfig::with_memory(bytes).threads(3).depth(Some(2));
        let needed = ppr::needs(&stored, &tight(4 << 20), &ppr).state_bytes;
        for more in budgets {
            let config = tight(needed + more).cache_bytes(Some(0));
            let found = ppr::run(&stored, config, &ppr).unwrap();
            assert!(found.side_by_side < plenty.side_by_side, "{} bytes", needed + more);
            assert_eq!(found.rows, plenty.rows);
            assert_eq!(found.unsettled, plenty.unsettled);
        }
        ppr::verify(&stored, &ppr, &plenty).unwrap();
    }
}

/// Sums of shares that were rounded down differ by less than a rank has bits.
#[test]
fn equal_ranks_are_in_the_order_of_ids() {
    for directed in [false, true] {
        let graph = random_with_hubs(5, 6000, 9, directed);
        let mut random = Random(8);
        let seeds = (0..40).map(|_| random.below(6000)).collect();
        let ppr = PprConfig::default().seeds(seeds).top_k(20).tolerance(1e-4);
        let stored = graph.stored();
        let found = ppr::run(&stored, config(Strategy::Auto, 2), &ppr).unwrap();
        ppr::verify(&stored, &ppr, &found).unwrap();
    }
}

#[test]
fn ranks_come_near_to_those_of_power_iteration() {
    for directed in [false, true] {
        let graph = random_with_hubs(2, 500, 6, directed);
        let stored = graph.stored();
        let ppr = PprConfig::default().seeds(vec![17]).top_k(500).tolerance(1e-12);
        let found = ppr::run(&stored, config(Strategy::Auto, 2), &ppr).unwrap();
        let exact = PageRankConfig::default().personalize(vec![17]).iterations(200);
        let exact = pagerank::run(&stored, config(Strategy::Auto, 2), &exact).unwrap();
        assert!(found.unsettled[0] < 1e-8, "{}", found.unsettled[0]);
        for row in &found.rows {
            assert!((row.rank - exact.rank(row.vertex)).abs() < 1e-8, "{row:?}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let graph = Plain::of(3, &[(0, 1), (1, 2)], false).stored();
    let usual = PprConfig::default;
    for ppr in [
        usual().seeds(vec![3]),
        usual().top_k(0),
        usual().damping(1.0),
        usual().damping(f64::NAN),
        usual().damping(-0.1),
        usual().tolerance(0.0),
        usual().tolerance(f64::INFINITY),
        usual().seeds(vec![0, 1, 2]).top_k(u32::MAX),
    ] {
        let refused = ppr::run(&graph, config(Strategy::Auto, 1), &ppr);
        assert!(matches!(refused, Err(AlgoError::Parameter { .. })), "{refused:?}");
    }
}

#[test]
fn the_verifier_sees_the_ranks_of_another_graph() {
    let one = Plain::of(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], false);
    let other = Plain::of(4, &[(0, 1), (1, 2), (2, 3)], false);
    let ppr = PprConfig::default().seeds(vec![0]);
    let found = ppr::run(&one.stored(), config(Strategy::Auto, 1), &ppr).unwrap();
    assert!(ppr::verify(&other.stored(), &ppr, &found).is_err());
}
