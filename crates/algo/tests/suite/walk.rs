//! Walks against a second implementation that holds the graph in memory and takes one walk at a
//! time, with a generator of its own.

use std::sync::Arc;

use crate::plain::{Plain, STRATEGIES};
use cenote_algo::AlgoError;
use cenote_algo::walk::{self, DeadEnds, Output, Starts, WalkConfig, Walks};
use cenote_engine::{EngineConfig, EngineError, Strategy};
use cenote_store::Graph;

type Lists = Vec<Vec<u32>>;

fn stored(lists: &[Vec<u32>], directed: bool) -> Arc<Graph> {
    Plain::of_lists(lists.to_vec(), directed).stored_with(false)
}

// ------------------------------------------------------------------------------------------------
// The second implementation

/// Philox4x64-10, from its paper.
fn philox(key: [u64; 2], mut c: [u64; 4]) -> [u64; 4] {
    for round in 0..10u64 {
        let k0 = key[0].wrapping_add(round.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let k1 = key[1].wrapping_add(round.wrapping_mul(0xBB67_AE85_84CA_A73B));
        let a = u128::from(c[0]) * 0xD2E7_470E_E14C_6C93;
        let b = u128::from(c[2]) * 0xCA5A_8263_9512_1157;
        c = [(b >> 64) as u64 ^ c[1] ^ k0, b as u64, (a >> 64) as u64 ^ c[3] ^ k1, a as u64];
    }
    c
}

pub(crate) fn words(config: &WalkConfig, walk: u64, step: u32, trial: u64) -> [u64; 4] {
    let key = [config.seed, u64::from_le_bytes(*b"walks\0\0\0")];
    philox(key, [walk, u64::from(step), trial, 0])
}

fn below(word: u64, bound: usize) -> usize {
    ((u128::from(word) * bound as u128) >> 64) as usize
}

pub(crate) fn unit(word: u64) -> f64 {
    (word >> 11) as f64 / (1u64 << 53) as f64
}

fn one_walk(lists: &[Vec<u32>], config: &WalkConfig, walk: u64) -> Vec<u32> {
    let start = match &config.starts {
        Starts::All => (walk % lists.len() as u64) as u32,
        Starts::Random => below(words(config, walk, 0, 0)[1], lists.len()) as u32,
        Starts::Listed(starts) => starts[walk as usize % starts.len()],
    };
    let mut row = vec![start];
    let mut before = None;
    for step in 1..=config.steps {
        let at = row[row.len() - 1];
        let list = &lists[at as usize];
        if unit(words(config, walk, step, 0)[0]) < config.restart {
            before = None;
            row.push(start);
        } else if list.is_empty() {
            if config.dead_ends == DeadEnds::End || at == start {
                break;
            }
            before = None;
            row.push(start);
        } else {
            row.push(one_step(lists, config, walk, step, at, before));
            before = Some(at);
        }
    }
    row
}

fn one_step(
    lists: &[Vec<u32>],
    config: &WalkConfig,
    walk: u64,
    step: u32,
    at: u32,
    before: Option<u32>,
) -> u32 {
    let list = &lists[at as usize];
    let weights = [1.0 / config.p, 1.0, 1.0 / config.q];
    let largest = weights.into_iter().fold(0.0, f64::max);
    for trial in 0.. {
        let [_, position, accept, _] = words(config, walk, step, trial);
        let x = list[below(position, list.len())];
        let Some(t) = before.filter(|_| list.len() > 1) else { return x };
        let kind = if x == t { 0 } else { 2 - usize::from(lists[t as usize].contains(&x)) };
        if unit(accept) < weights[kind] / largest {
            return x;
        }
    }
    unreachable!()
}

// ------------------------------------------------------------------------------------------------
// Graphs

/// A small generator for test graphs.
pub(crate) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % bound
    }
}

/// Vertices of very unequal degree, some without a neighbour, some with a loop; two hubs whose
/// lists run over pages.
fn random_lists(seed: u64, vertices: u32, edges: u32, directed: bool) -> Lists {
    let mut random = Random(seed);
    let mut lists: Lists = vec![Vec::new(); vertices as usize];
    let mut add = |a: u32, b: u32| {
        lists[a as usize].push(b);
        if !directed {
            lists[b as usize].push(a);
        }
    };
    for _ in 0..edges {
        let a = random.below(random_bound(vertices)) as u32;
        let b = random.below(u64::from(vertices) * 3 / 4) as u32;
        add(a, b);
    }
    for hub in [3, vertices / 2] {
        for _ in 0..4000 {
            add(hub, random.below(u64::from(vertices)) as u32);
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    lists
}

fn random_bound(vertices: u32) -> u64 {
    u64::from(vertices) / 2
}

pub(crate) fn engine(strategy: Strategy, threads: usize) -> EngineConfig {
    EngineConfig::with_memory(64 << 20).strategy(strategy).threads(threads)
}

pub(crate) fn walked(
    graph: &Arc<Graph>,
    config: EngineConfig,
    walk: &WalkConfig,
) -> (Walks, Vec<Vec<u32>>) {
    let mut rows = Vec::new();
    let mut sink = |walk, row: &[u32]| {
        assert_eq!(walk, rows.len() as u64);
        rows.push(row.to_vec());
        Ok(())
    };
    let folder = std::env::temp_dir();
    let output = Output { folder: &folder, sink_bytes: 0, sink: &mut sink };
    let walks = walk::run(graph, config, walk, Some(output)).unwrap();
    (walks, rows)
}

fn assert_walks(lists: &[Vec<u32>], graph: &Arc<Graph>, walk: &WalkConfig) {
    let expected: Vec<Vec<u32>> =
        (0..walk.walkers).map(|number| one_walk(lists, walk, number)).collect();
    let mut fingerprints = Vec::new();
    for (strategy, threads) in STRATEGIES.into_iter().zip([2, 1, 3]) {
        let (walks, rows) = walked(graph, engine(strategy, threads), walk);
        for (number, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            assert_eq!(row, expected, "walk {number} by {strategy}, {walk:?}");
        }
        assert_eq!(rows.len(), expected.len());
        let moves: usize = rows.iter().map(|row| row.len() - 1).sum();
        assert_eq!(walks.steps + walks.restarts, moves as u64);
        let short = rows.iter().filter(|row| row.len() <= walk.steps as usize).count();
        assert_eq!(walks.dead_ends, short as u64);
        fingerprints.push(walks.fingerprint);
        let numbered = rows.iter().enumerate().map(|(i, row)| (i as u64, row.as_slice()));
        walk::verify(graph, walk, numbered).unwrap();
    }
    assert!(fingerprints.windows(2).all(|pair| pair[0] == pair[1]), "{fingerprints:x?}");
}

#[test]
fn walks_equal_those_taken_one_by_one() {
    for (seed, directed) in [(11, false), (12, true)] {
        let lists = random_lists(seed, 3000, 9000, directed);
        let graph = stored(&lists, directed);
        let base = WalkConfig::default().walkers(4000).steps(7).seed(seed);
        let listed = Starts::Listed(vec![3, 3, 2999, 1500]);
        for walk in [
            base.clone(),
            base.clone().starts(Starts::Random).restart(0.3),
            base.clone().starts(listed).dead_ends(DeadEnds::Restart),
        ] {
            assert_walks(&lists, &graph, &walk);
        }
    }
}

#[test]
fn biased_walks_equal_those_taken_one_by_one() {
    for (seed, directed) in [(21, false), (22, true)] {
        let lists = random_lists(seed, 3000, 9000, directed);
        let graph = stored(&lists, directed);
        let base = WalkConfig::default().walkers(2000).steps(6).seed(seed);
        for (p, q, restart) in [(0.25, 4.0, 0.0), (4.0, 0.25, 0.1), (1.0, 0.5, 0.0)] {
            assert_walks(&lists, &graph, &base.clone().p(p).q(q).restart(restart));
        }
    }
}

#[test]
fn a_hub_over_many_pages_gives_each_neighbour_alike() {
    let leaves = 20_000u32;
    let mut lists: Lists = vec![(1..=leaves).collect()];
    lists.extend((1..=leaves).map(|_| vec![0]));
    let graph = stored(&lists, false);
    let walkers = 100_000;
    let walk = WalkConfig::default().walkers(walkers).steps(1).starts(Starts::Listed(vec![0]));
    let (_, rows) = walked(&graph, engine(Strategy::Auto, 2), &walk);
    let mut counts = [0u64; 40];
    rows.iter().for_each(|row| counts[(row[1] as usize - 1) / 500] += 1);
    let expected = walkers as f64 / counts.len() as f64;
    let chi: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
    assert!(chi < 72.1, "chi squared {chi} over 39 degrees of freedom (p 0.001), seed 1");
}

#[test]
fn steps_of_node2vec_follow_their_weights() {
    // 0 and 1 have an edge; from 1 a walk that came from 0 goes back to 0, on to 2 (an edge from
    // 0), or away to 3 or 4.
    let lists = vec![vec![1, 2], vec![0, 2, 3, 4], vec![0, 1], vec![1], vec![1]];
    let graph = stored(&lists, false);
    let (p, q) = (0.5, 4.0);
    let walk =
        WalkConfig::default().walkers(200_000).steps(2).starts(Starts::Listed(vec![0])).p(p).q(q);
    for strategy in STRATEGIES {
        let (_, rows) = walked(&graph, engine(strategy, 2), &walk);
        let mut counts = [0u64; 5];
        rows.iter().filter(|row| row[1] == 1).for_each(|row| counts[row[2] as usize] += 1);
        let total = counts.iter().sum::<u64>() as f64;
        let weights = [1.0 / p, 0.0, 1.0, 1.0 / q, 1.0 / q];
        let sum: f64 = weights.iter().sum();
        let chi: f64 = (0..5)
            .filter(|&v| weights[v] > 0.0)
            .map(|v| (counts[v] as f64, weights[v] / sum * total))
            .map(|(found, expected)| (found - expected).powi(2) / expected)
            .sum();
        assert!(chi < 16.3, "chi squared {chi} over 3 degrees of freedom (p 0.001), {counts:?}");
    }
}

#[test]
fn a_small_budget_takes_the_same_walks_in_batches() {
    let lists = random_lists(31, 3000, 9000, false);
    let graph = stored(&lists, false);
    let walk = WalkConfig::default().walkers(100_000).steps(3);
    for strategy in STRATEGIES {
        let (whole, rows) = walked(&graph, engine(strategy, 2), &walk);
        let small = engine(strategy, 2).memory_bytes(4 << 20);
        let (parts, same_rows) = walked(&graph, small, &walk);
        assert!(whole.batches == 1 && parts.batches > 1, "{} batches", parts.batches);
        assert_eq!(whole.fingerprint, parts.fingerprint);
        assert!(rows == same_rows, "batches changed a walk");
    }
}

#[test]
fn graphs_without_edges_or_vertices_end_walks_at_once() {
    let graph = stored(&[vec![], vec![], vec![]], false);
    let walk = WalkConfig::default().walkers(5);
    for dead_ends in [DeadEnds::End, DeadEnds::Restart] {
        for strategy in STRATEGIES {
            let walk = walk.clone().dead_ends(dead_ends);
            let (walks, rows) = walked(&graph, engine(strategy, 2), &walk);
            assert_eq!(rows, [[0], [1], [2], [0], [1]]);
            assert_eq!((walks.steps, walks.dead_ends), (0, 5));
        }
    }
    let nothing = stored(&[], false);
    let refused = walk::run(&nothing, engine(Strategy::Auto, 1), &walk, None);
    assert!(matches!(refused, Err(AlgoError::Parameter { .. })), "{refused:?}");
    let no_walks = walk.walkers(0);
    let none = walk::run(&nothing, engine(Strategy::Auto, 1), &no_walks, None).unwrap();
    assert_eq!((none.steps, none.fingerprint), (0, 0));
}

#[test]
fn walks_of_no_step_are_their_starts() {
    let graph = stored(&[vec![1], vec![0]], false);
    let walk = WalkConfig::default().walkers(3).steps(0);
    for strategy in STRATEGIES {
        let (walks, rows) = walked(&graph, engine(strategy, 1), &walk);
        assert_eq!(rows, [[0], [1], [0]]);
        assert_eq!((walks.steps, walks.dead_ends), (0, 0));
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let graph = stored(&[vec![1], vec![0]], false);
    let good = WalkConfig::default().walkers(3);
    for bad in [
        good.clone().restart(1.5),
        good.clone().restart(f64::NAN),
        good.clone().p(0.0),
        good.clone().q(f64::INFINITY),
        good.clone().q(-1.0),
        good.clone().steps(u32::MAX),
        good.clone().starts(Starts::Listed(vec![2])),
        good.clone().starts(Starts::Listed(vec![])),
    ] {
        let refused = walk::run(&graph, engine(Strategy::Auto, 1), &bad, None);
        assert!(matches!(refused, Err(AlgoError::Parameter { .. })), "{bad:?}: {refused:?}");
    }
}

#[test]
fn a_budget_too_small_names_one_that_does() {
    let lists = random_lists(41, 3000, 9000, false);
    let graph = stored(&lists, false);
    let walk = WalkConfig::default().walkers(3000);
    let with_memory = |bytes| EngineConfig::with_memory(bytes).threads(1);
    let refused = walk::run(&graph, with_memory(1000), &walk, None);
    let Err(AlgoError::Engine(EngineError::Budget { suggested, .. })) = refused else {
        panic!("1,000 bytes were enough: {refused:?}");
    };
    walk::run(&graph, with_memory(suggested << 20), &walk, None).unwrap();
}

#[test]
fn a_verifier_sees_walks_of_another_graph() {
    let one = stored(&[vec![1], vec![0], vec![3], vec![2]], false);
    let other = stored(&[vec![1], vec![0, 2], vec![1, 3], vec![2]], false);
    let walk = WalkConfig::default().walkers(20);
    let (_, rows) = walked(&one, engine(Strategy::Auto, 1), &walk);
    let numbered = || rows.iter().enumerate().map(|(i, row)| (i as u64, row.as_slice()));
    walk::verify(&one, &walk, numbered()).unwrap();
    assert!(walk::verify(&other, &walk, numbered()).is_err());
}
