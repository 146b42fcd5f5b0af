//! Walks by weight against a second implementation that holds lists and weights in memory, adds
//! weights up as integers, and takes one walk at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plain::STRATEGIES;
use crate::walk::{Random, engine, unit, walked, words};
use cenote_algo::AlgoError;
use cenote_algo::walk::{self, DeadEnds, Starts, WalkConfig};
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, EngineError, Strategy};
use cenote_store::format::Codec;
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, IdsSource, Weight, WeightType};

const KINDS: [WeightType; 4] = [WeightType::F32, WeightType::F64, WeightType::U32, WeightType::I64];

/// Neighbours and weights; of floating-point types in quarters, which are exact.
pub type Lists = Vec<BTreeMap<u32, u64>>;

pub fn weight(kind: WeightType, number: u64) -> Weight {
    match kind {
        WeightType::F32 => Weight::F32(number as f32 * 0.25),
        WeightType::F64 => Weight::F64(number as f64 * 0.25),
        WeightType::U32 => Weight::U32(number as u32),
        WeightType::I64 => Weight::I64(number as i64),
    }
}

fn stored_with(
    lists: &Lists,
    directed: bool,
    kind: Option<WeightType>,
    codec: Codec,
    weight: impl Fn(u64) -> Weight,
) -> Arc<Graph> {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let device = || Arc::new(SimDevice::new(SimConfig::new(model.clone())));
    let spec = GraphSpec {
        page_bytes: 4096,
        vertices: lists.len() as u64,
        directed,
        in_edges: false,
        duplicates_kept: false,
        self_loops_kept: true,
        salt: 7,
    };
    let file = device();
    let mut writer = match kind {
        Some(kind) => {
            GraphWriter::create_weighted(file.clone(), spec, (codec, kind), device()).unwrap()
        }
        None => GraphWriter::create(file.clone(), spec).unwrap(),
    };
    for list in lists {
        writer.push_list(&list.keys().copied().collect::<Vec<_>>()).unwrap();
        if kind.is_some() {
            let weights: Vec<Weight> = list.values().map(|number| weight(*number)).collect();
            writer.extend_weights(&weights).unwrap();
        }
    }
    let entries: u64 = lists.iter().map(|list| list.len() as u64).sum();
    let own = |(v, list): (usize, &BTreeMap<u32, u64>)| list.contains_key(&(v as u32));
    let loops = lists.iter().enumerate().filter(|&item| own(item)).count() as u64;
    let edges = if directed { entries } else { (entries + loops) / 2 };
    writer.finish(IdsSource::Dense, Counts { edges, duplicates: 0, self_loops: loops }).unwrap();
    Arc::new(Graph::open(file).unwrap())
}

pub fn stored(lists: &Lists, directed: bool, kind: WeightType, codec: Codec) -> Arc<Graph> {
    stored_with(lists, directed, Some(kind), codec, |number| weight(kind, number))
}

// ------------------------------------------------------------------------------------------------
// The second implementation

fn one_walk(lists: &Lists, config: &WalkConfig, walk: u64) -> Vec<u32> {
    let start = match &config.starts {
        Starts::All => (walk % lists.len() as u64) as u32,
        Starts::Listed(starts) => starts[walk as usize % starts.len()],
        Starts::Random => unreachable!("no test here starts at random"),
    };
    let mut row = vec![start];
    let mut before = None;
    for step in 1..=config.steps {
        let at = row[row.len() - 1];
        if unit(words(config, walk, step, 0)[0]) < config.restart {
            before = None;
            row.push(start);
        } else if lists[at as usize].values().all(|weight| *weight == 0) {
            if config.dead_ends == DeadEnds::End || at == start {
                break;
            }
            before = None;
            row.push(start);
        } else {
            row.push(one_step(lists, config, (walk, step), at, before));
            before = Some(at);
        }
    }
    row
}

fn one_step(
    lists: &Lists,
    config: &WalkConfig,
    (walk, step): (u64, u32),
    at: u32,
    before: Option<u32>,
) -> u32 {
    let list = &lists[at as usize];
    let total: u64 = list.values().sum();
    let biases = [1.0 / config.p, 1.0, 1.0 / config.q];
    let largest = biases.into_iter().fold(0.0, f64::max);
    for trial in 0.. {
        let [_, position, accept, _] = words(config, walk, step, trial);
        let drawn = (u128::from(position) * u128::from(total)) >> 64;
        let mut sum = 0;
        let mut taken = list.iter().skip_while(|(_, weight)| {
            sum += u128::from(**weight);
            sum <= drawn
        });
        let x = *taken.next().unwrap().0;
        let Some(t) = before.filter(|_| list.len() > 1) else { return x };
        let kind = if x == t { 0 } else { 2 - usize::from(lists[t as usize].contains_key(&x)) };
        if unit(accept) < biases[kind] / largest {
            return x;
        }
    }
    unreachable!()
}

// ------------------------------------------------------------------------------------------------
// Graphs

/// Vertices of very unequal degree and weights, some without a neighbour, some with edges of weight
/// 0 alone, some with a loop; three hubs whose lists run over pages, one of which weighs nothing.
fn random_lists(seed: u64, vertices: u32, directed: bool) -> Lists {
    let mut random = Random(seed);
    let mut lists: Lists = vec![BTreeMap::new(); vertices as usize];
    let mut add = |a: u32, b: u32, weight: u64| {
        lists[a as usize].insert(b, weight);
        if !directed {
            lists[b as usize].insert(a, weight);
        }
    };
    for _ in 0..3 * vertices {
        let a = random.below(u64::from(vertices) / 2) as u32;
        let b = random.below(u64::from(vertices) * 3 / 4) as u32;
        let weight = match random.below(8) {
            0..3 => 0,
            3 => random.below(1 << 30),
            _ => 1 + random.below(20),
        };
        add(a, b, weight);
    }
    for (hub, weighs) in [(3, true), (vertices / 2, true), (vertices / 3, false)] {
        for _ in 0..4000 {
            let weight = if weighs { random.below(50) * random.below(2) } else { 0 };
            add(hub, random.below(u64::from(vertices)) as u32, weight);
        }
    }
    if directed {
        lists[vertices as usize / 3].values_mut().for_each(|weight| *weight = 0);
    }
    lists
}

fn by_weight() -> WalkConfig {
    WalkConfig::default().weighted(true)
}

fn assert_walks(lists: &Lists, graph: &Arc<Graph>, walk: &WalkConfig, what: &str) {
    let expected: Vec<Vec<u32>> =
        (0..walk.walkers).map(|number| one_walk(lists, walk, number)).collect();
    for (strategy, threads) in STRATEGIES.into_iter().zip([2, 1, 3]) {
        // Without a page in memory, and with all.
        for cache_bytes in [Some(0), None] {
            let config = engine(strategy, threads).cache_bytes(cache_bytes);
            let (walks, rows) = walked(graph, config, walk);
            for (number, (row, expected)) in rows.iter().zip(&expected).enumerate() {
                assert_eq!(row, expected, "walk {number} by {strategy} of {what}, {walk:?}");
            }
            let moves: usize = rows.iter().map(|row| row.len() - 1).sum();
            assert_eq!(walks.steps + walks.restarts, moves as u64);
        }
    }
    let numbered = expected.iter().enumerate().map(|(i, row)| (i as u64, row.as_slice()));
    walk::verify(graph, walk, numbered.step_by(7)).unwrap();
}

#[test]
fn walks_of_every_type_equal_those_taken_one_by_one() {
    for (seed, directed) in [(11, false), (12, true)] {
        let lists = random_lists(seed, 3000, directed);
        let base = by_weight().walkers(2000).steps(7).seed(seed);
        let listed = Starts::Listed(vec![3, 1000, 2999, 1500]);
        let dead_ends = DeadEnds::Restart;
        let walk = match directed {
            false => base.restart(0.1),
            true => base.starts(listed).dead_ends(dead_ends),
        };
        for (i, kind) in KINDS.into_iter().enumerate() {
            let codec = if i % 2 == usize::from(directed) { Codec::Raw } else { Codec::Packed };
            let graph = stored(&lists, directed, kind, codec);
            assert_walks(&lists, &graph, &walk, &format!("{kind:?} {codec:?}"));
        }
    }
}

#[test]
fn biased_walks_equal_those_taken_one_by_one() {
    for (seed, directed) in [(21, false), (22, true)] {
        let lists = random_lists(seed, 3000, directed);
        let graph = stored(&lists, directed, WeightType::F64, Codec::Raw);
        let base = by_weight().walkers(2000).steps(6).seed(seed);
        for (p, q, restart) in [(0.25, 4.0, 0.0), (4.0, 0.25, 0.1)] {
            let walk = base.clone().p(p).q(q).restart(restart);
            assert_walks(&lists, &graph, &walk, "f64");
        }
    }
}

#[test]
fn equal_weights_give_the_walks_without_weights() {
    check_equal_weights(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_equal_weights_give_the_walks_without_weights() {
    check_equal_weights(true);
}

/// Walks by weights of every type, with every strategy or with one in turn.
fn check_equal_weights(is_long: bool) {
    let mut lists = random_lists(31, 2000, false);
    lists.iter_mut().for_each(|list| list.values_mut().for_each(|weight| *weight = 3));
    let plain = stored_with(&lists, false, None, Codec::Raw, |_| unreachable!());
    for (p, q) in [(1.0, 1.0), (0.5, 2.0)] {
        let walk = WalkConfig::default().walkers(5000).p(p).q(q);
        let expected = walked(&plain, engine(Strategy::Auto, 2), &walk).0.fingerprint;
        for (at, kind) in KINDS.into_iter().enumerate() {
            let graph = stored(&lists, false, kind, Codec::Raw);
            let strategies = if is_long { &STRATEGIES[..] } else { &STRATEGIES[at % 3..][..1] };
            for &strategy in strategies {
                let walk = walk.clone().weighted(true);
                let found = walked(&graph, engine(strategy, 2), &walk).0.fingerprint;
                assert_eq!(found, expected, "{kind:?} {strategy}");
            }
        }
    }
}

#[test]
fn steps_from_a_hub_over_many_pages_follow_the_weights() {
    // Leaves weigh 0, 1, ... 39 in turn: 40 classes.
    let leaves = 20_000u32;
    let mut lists: Lists = vec![(1..=leaves).map(|leaf| (leaf, u64::from(leaf % 40))).collect()];
    lists.extend((1..=leaves).map(|leaf| BTreeMap::from([(0, u64::from(leaf % 40))])));
    let graph = stored(&lists, false, WeightType::F32, Codec::Raw);
    let walkers = 100_000;
    let walk = by_weight().walkers(walkers).steps(1).starts(Starts::Listed(vec![0]));
    for strategy in [Strategy::Auto, Strategy::Block] {
        let (_, rows) = walked(&graph, engine(strategy, 2), &walk);
        let mut classes = [0u64; 40];
        let mut parts = [0u64; 20];
        for row in &rows {
            classes[row[1] as usize % 40] += 1;
            parts[(row[1] as usize - 1) / 1000] += 1;
        }
        assert_eq!(classes[0], 0, "an edge of weight 0 was taken");
        let chi = |count: u64, expected: f64| (count as f64 - expected).powi(2) / expected;
        let all: u64 = (1..40).sum();
        let by_class: f64 =
            (1..40).map(|w| chi(classes[w], walkers as f64 * w as f64 / all as f64)).sum();
        assert!(by_class < 70.7, "chi squared {by_class} over 38 degrees (p 0.001), seed 1");
        let by_part: f64 = parts.iter().map(|count| chi(*count, walkers as f64 / 20.0)).sum();
        assert!(by_part < 43.9, "chi squared {by_part} over 19 degrees (p 0.001), seed 1");
    }
}

#[test]
fn biased_steps_follow_weight_times_bias() {
    // From 1, a walk that came from 0 goes back to 0, on to 2 (an edge from 0), or away to 3 or 4.
    let edges = [(0, 1, 1), (0, 2, 1), (1, 2, 8), (1, 3, 2), (1, 4, 0), (1, 5, 4)];
    let mut lists: Lists = vec![BTreeMap::new(); 6];
    for (a, b, weight) in edges {
        lists[a].insert(b as u32, weight);
        lists[b].insert(a as u32, weight);
    }
    let graph = stored(&lists, false, WeightType::U32, Codec::Raw);
    let (p, q) = (0.5, 4.0);
    let starts = Starts::Listed(vec![0]);
    let walk = by_weight().walkers(200_000).steps(2).starts(starts).p(p).q(q);
    for strategy in STRATEGIES {
        let (_, rows) = walked(&graph, engine(strategy, 2), &walk);
        let mut counts = [0u64; 6];
        rows.iter().filter(|row| row[1] == 1).for_each(|row| counts[row[2] as usize] += 1);
        let total = counts.iter().sum::<u64>() as f64;
        let shares = [1.0 / p, 0.0, 8.0, 2.0 / q, 0.0, 4.0 / q];
        let sum: f64 = shares.iter().sum();
        let chi: f64 = (0..6)
            .filter(|&v| shares[v] > 0.0)
            .map(|v| (counts[v] as f64, shares[v] / sum * total))
            .map(|(found, expected)| (found - expected).powi(2) / expected)
            .sum();
        assert!(chi < 16.3, "chi squared {chi} over 3 degrees of freedom (p 0.001), {counts:?}");
        assert_eq!(counts[4], 0, "an edge of weight 0 was taken");
    }
}

#[test]
fn a_hub_is_not_read_whole_for_every_step() {
    let leaves = 100_000u32;
    let mut lists: Lists = vec![(1..=leaves).map(|leaf| (leaf, 1 + u64::from(leaf % 7))).collect()];
    lists.extend((1..=leaves).map(|_| BTreeMap::from([(0, 1)])));
    let graph = stored(&lists, true, WeightType::F32, Codec::Raw);
    let walk = by_weight().walkers(20).steps(20).starts(Starts::Listed(vec![0]));
    let hub_bytes = 2 * 4 * u64::from(leaves);
    for strategy in STRATEGIES {
        let config = engine(strategy, 2).cache_bytes(Some(0));
        let (walks, _) = walked(&graph, config, &walk);
        let read = walks.run.stats.bytes_read;
        assert!(read >= hub_bytes, "the hub was never read");
        // Ten steps of each walk go out from the hub.
        assert!(read < 10 * hub_bytes, "{read} bytes read by {strategy}, the hub has {hub_bytes}");
    }
}

#[test]
fn a_small_budget_takes_the_same_walks_in_batches() {
    let lists = random_lists(41, 3000, false);
    let graph = stored(&lists, false, WeightType::F32, Codec::Packed);
    let walk = by_weight().walkers(100_000).steps(3);
    for strategy in STRATEGIES {
        let (whole, rows) = walked(&graph, engine(strategy, 2), &walk);
        let small = engine(strategy, 2).memory_bytes(5 << 20);
        let (parts, same_rows) = walked(&graph, small, &walk);
        assert!(whole.batches == 1 && parts.batches > 1, "{} batches", parts.batches);
        assert_eq!(whole.fingerprint, parts.fingerprint);
        assert!(rows == same_rows, "batches changed a walk");
    }
    let refused = walk::run(&graph, EngineConfig::with_memory(1000), &walk, None);
    let Err(AlgoError::Engine(EngineError::Budget { suggested, .. })) = refused else {
        panic!("1,000 bytes were enough: {refused:?}");
    };
    walk::run(&graph, EngineConfig::with_memory(suggested << 20), &walk, None).unwrap();
}

#[test]
fn weights_of_any_size_keep_their_proportions() {
    // The largest and the smallest numbers that f64 has, and one that is beyond notice.
    for unit in [f64::MAX / 4.0, f64::MIN_POSITIVE, 5e-324] {
        let weights = [3.0 * unit, unit, 0.0, unit];
        let list = (1..=4).zip(0..4).collect();
        let lists: Lists = [list, BTreeMap::new(), BTreeMap::new(), BTreeMap::new()]
            .into_iter()
            .chain([BTreeMap::new()])
            .collect();
        let graph = stored_with(&lists, true, Some(WeightType::F64), Codec::Raw, |number| {
            Weight::F64(weights[number as usize])
        });
        let starts = Starts::Listed(vec![0]);
        let walk = by_weight().walkers(50_000).steps(1).starts(starts);
        let (_, rows) = walked(&graph, engine(Strategy::Auto, 2), &walk);
        let count = |v: u32| rows.iter().filter(|row| row[1] == v).count() as f64 / 50_000.0;
        assert!((count(1) - 0.6).abs() < 0.01, "{unit}: {}", count(1));
        assert!((count(2) - 0.2).abs() < 0.01, "{unit}: {}", count(2));
        assert!(count(3) == 0.0, "an edge of weight 0 was taken");
    }
}

#[test]
fn graphs_by_whose_weights_no_walk_can_go_are_refused() {
    let lists: Lists = vec![BTreeMap::from([(1, 1)]), BTreeMap::from([(0, 1)])];
    let walk = by_weight().walkers(2);
    let plain = stored_with(&lists, false, None, Codec::Raw, |_| unreachable!());
    let refused = walk::run(&plain, engine(Strategy::Auto, 1), &walk, None).unwrap_err();
    assert!(refused.to_string().contains("`weighted` needs a graph with weights"), "{refused}");
    for negative in [Weight::F32(-0.5), Weight::F64(-1e-300), Weight::I64(-1)] {
        let kind = match negative {
            Weight::F32(_) => WeightType::F32,
            Weight::F64(_) => WeightType::F64,
            _ => WeightType::I64,
        };
        let graph = stored_with(&lists, false, Some(kind), Codec::Raw, |_| negative);
        for strategy in STRATEGIES {
            let refused = walk::run(&graph, engine(strategy, 1), &walk, None).unwrap_err();
            assert!(refused.to_string().contains("not negative"), "{refused}");
        }
        let unweighted = walk.clone().weighted(false);
        walk::run(&graph, engine(Strategy::Auto, 1), &unweighted, None).unwrap();
    }
}

#[test]
fn graphs_without_edges_end_walks_at_once() {
    for lists in [vec![BTreeMap::new(); 3], vec![BTreeMap::from([(1, 0)]), [(0, 0)].into()]] {
        let graph = stored(&lists, false, WeightType::F32, Codec::Raw);
        let walk = by_weight().walkers(5);
        for strategy in STRATEGIES {
            for dead_ends in [DeadEnds::End, DeadEnds::Restart] {
                let walk = walk.clone().dead_ends(dead_ends);
                let (walks, rows) = walked(&graph, engine(strategy, 2), &walk);
                assert!(rows.iter().all(|row| row.len() == 1));
                assert_eq!((walks.steps, walks.dead_ends), (0, 5));
            }
        }
    }
}
