//! Similarity by common neighbours, held against sets of neighbours.

use std::collections::BTreeSet;

use crate::plain::{Plain, Random, Ways, config, odd_graphs, random_graph, random_with_hubs};
use cenote_algo::AlgoError;
use cenote_algo::similar::{self, Measure, SimilarConfig};
use cenote_engine::{EngineConfig, Strategy};

const MEASURES: [Measure; 4] =
    [Measure::Jaccard, Measure::Overlap, Measure::AdamicAdar, Measure::Common];

/// The neighbours of all vertices, as sets.
struct Neighbours {
    out: Vec<BTreeSet<u32>>,
    /// How many lists of others each is in.
    degrees: Vec<usize>,
}

impl Neighbours {
    fn of(graph: &Plain) -> Self {
        let lists = if graph.directed { &graph.in_lists() } else { &graph.lists };
        Self {
            out: graph.lists.iter().map(|list| list.iter().copied().collect()).collect(),
            degrees: lists.iter().map(Vec::len).collect(),
        }
    }

    /// The similarity by the definition; `None` without a common neighbour.
    fn score(&self, measure: Measure, u: u32, v: u32) -> Option<f64> {
        let (of_u, of_v) = (&self.out[u as usize], &self.out[v as usize]);
        let common: Vec<u32> = of_u.intersection(of_v).copied().collect();
        let count = common.len() as f64;
        let score = match measure {
            Measure::Jaccard => count / of_u.union(of_v).count() as f64,
            Measure::Overlap => count / of_u.len().min(of_v.len()) as f64,
            Measure::AdamicAdar => {
                let degrees = common.iter().map(|&w| self.degrees[w as usize] as f64);
                degrees.filter(|&degree| degree > 1.0).map(|degree| 1.0 / degree.ln()).sum()
            }
            Measure::Common => count,
        };
        (!common.is_empty()).then_some(score)
    }

    /// What is found for the pairs.
    fn pairs(&self, wanted: &SimilarConfig) -> Vec<(u32, u32, f64)> {
        let score = |u, v| self.score(wanted.measure, u, v).unwrap_or(0.0);
        wanted.pairs.iter().map(|&(u, v)| (u, v, score(u, v))).collect()
    }

    /// What is found for the sources.
    fn top(&self, wanted: &SimilarConfig) -> Vec<(u32, u32, f64)> {
        let (mut rows, n) = (Vec::new(), self.out.len() as u32);
        for source in wanted.sources.iter().copied().collect::<BTreeSet<u32>>() {
            let candidates = (0..n).filter(|&v| v != source);
            let candidates =
                candidates.filter_map(|v| Some((self.score(wanted.measure, source, v)?, v)));
            let mut candidates: Vec<(f64, u32)> = candidates.collect();
            candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            candidates.truncate(wanted.top as usize);
            rows.extend(candidates.into_iter().map(|(score, v)| (source, v, score)));
        }
        rows
    }
}

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-7 * expected.max(1.0), "{what}: {found}, {expected}");
}

fn equal_whatever_the_way(graph: &Plain, wanted: &SimilarConfig, what: &str) {
    equal_in_ways(Ways::All, graph, wanted, what);
}

fn equal_in_ways(ways: Ways, graph: &Plain, wanted: &SimilarConfig, what: &str) {
    let (stored, neighbours) = (graph.stored(), Neighbours::of(graph));
    let of_pairs = !wanted.pairs.is_empty();
    let expected = if of_pairs { neighbours.pairs(wanted) } else { neighbours.top(wanted) };
    // Sums of logarithms may differ in their last bits, and so the order of equal ones.
    let is_exact = of_pairs || wanted.measure != Measure::AdamicAdar;
    let mut first = None;
    for config in ways.configs() {
        let found = similar::run(&stored, config, wanted).unwrap();
        assert_eq!(found.rows.len(), expected.len(), "{what}");
        for (row, &(source, target, score)) in found.rows.iter().zip(&expected) {
            assert_eq!(row.source, source, "{what}");
            assert!(row.target == target || !is_exact, "{what}: {}, not {target}", row.target);
            assert_near(row.score, score, what);
        }
        similar::verify(&stored, wanted, &found).unwrap();
        let rows = found.rows;
        assert_eq!(*first.get_or_insert(rows.clone()), rows, "{what}");
    }
}

fn some_pairs(random: &mut Random, n: u32, count: u32) -> Vec<(u32, u32)> {
    (0..count).map(|_| (random.below(n), random.below(n))).collect()
}

#[test]
fn odd_graphs_have_the_similarities_of_sets() {
    compare_odd_graphs(8, false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_odd_graphs_have_the_similarities_of_sets() {
    compare_odd_graphs(60, true);
}

/// With so many pairs of each graph, in all ways or in turn.
fn compare_odd_graphs(count: u32, all: bool) {
    for directed in [false, true] {
        for (i, graph) in odd_graphs(directed).iter().enumerate() {
            let (n, mut random) = (graph.vertices(), Random(i as u64));
            let mut pairs = some_pairs(&mut random, n, count);
            pairs.extend([(0, 0), (0, 1 % n), (1 % n, 0)]);
            let measure = [Measure::Jaccard, Measure::AdamicAdar][usize::from(directed)];
            let usual = || SimilarConfig::default().measure(measure);
            let what = format!("odd graph {i}, directed {directed}, {measure:?}");
            equal_in_ways(Ways::of(all, i), graph, &usual().pairs(pairs.clone()), &what);
            let sources = usual().sources(vec![0, n / 2, n - 1]).top(7);
            equal_in_ways(Ways::of(all, i + 1), graph, &sources, &what);
        }
    }
}

#[test]
fn random_graphs_have_the_similarities_of_sets() {
    for seed in 0..12 {
        let graph = random_graph(seed, seed % 2 == 0);
        let (n, mut random) = (graph.vertices(), Random(seed));
        let usual = || SimilarConfig::default().measure(MEASURES[seed as usize % 4]);
        let what = format!("seed {seed}");
        equal_whatever_the_way(&graph, &usual().pairs(some_pairs(&mut random, n, 200)), &what);
        equal_whatever_the_way(&graph, &usual().sources((0..n).step_by(3).collect()), &what);
    }
}

#[test]
fn lists_that_do_not_fit_are_gathered_in_batches() {
    for directed in [false, true] {
        let graph = random_with_hubs(6, 30_000, 20, directed);
        let stored = graph.stored();
        let mut random = Random(3);
        let pairs = SimilarConfig::default().pairs(some_pairs(&mut random, 30_000, 20_000));
        let sources = (0..150).map(|_| random.below(30_000)).collect();
        let top = SimilarConfig::default().sources(sources);
        for (wanted, what) in [(pairs, "pairs"), (top, "top")] {
            let plenty = similar::run(&stored, config(Strategy::Auto, 2), &wanted).unwrap();
            similar::verify(&stored, &wanted, &plenty).unwrap();
            let tight = |bytes| EngineConfig::with_memory(bytes).threads(3).depth(Some(2));
            let needed = similar::needs(&stored, &tight(4 << 20), &wanted).state_bytes;
            let config = tight(needed + (500 << 10)).cache_bytes(Some(0));
            let found = similar::run(&stored, config, &wanted).unwrap();
            assert!(found.batches > plenty.batches, "{what}: {} batches", found.batches);
            assert_eq!(found.rows, plenty.rows, "{what}");
        }
    }
}

#[test]
fn a_hub_is_read_once_for_all_its_pairs() {
    let graph = random_with_hubs(6, 20_000, 4, false);
    let hub = (0..20_000).max_by_key(|&v| graph.lists[v as usize].len()).unwrap();
    let leaves: Vec<(u32, u32)> = (1..400).map(|i| (i * 50, hub)).collect();
    let config = config(Strategy::Auto, 1).cache_bytes(Some(0)).depth(Some(2));
    let stored = graph.stored();
    let found = similar::run(&stored, config, &SimilarConfig::default().pairs(leaves)).unwrap();
    assert_eq!((found.batches, found.run.stats.steps), (1, 2));
    let pass = stored.adjacency(cenote_engine::Direction::Out).unwrap().pages();
    assert!(found.run.stats.bytes_read <= 2 * pass * stored.page_bytes() as u64);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let graph = Plain::of(3, &[(0, 1), (1, 2)], false).stored();
    let usual = SimilarConfig::default;
    for wanted in [
        usual().pairs(vec![(0, 3)]),
        usual().sources(vec![3]),
        usual().top(0),
        usual().pairs(vec![(0, 1)]).sources(vec![1]),
    ] {
        let refused = similar::run(&graph, config(Strategy::Auto, 1), &wanted);
        assert!(matches!(refused, Err(AlgoError::Parameter { .. })), "{refused:?}");
    }
    let one_way = Plain::of(3, &[(0, 1), (1, 2)], true).without_in_edges().stored();
    let refused = similar::run(&one_way, config(Strategy::Auto, 1), &usual());
    assert!(matches!(refused, Err(AlgoError::Unsupported { .. })), "{refused:?}");
    let pairs = usual().pairs(vec![(0, 1)]);
    assert!(similar::run(&one_way, config(Strategy::Auto, 1), &pairs).is_ok());
}

#[test]
fn the_verifier_sees_the_similarities_of_another_graph() {
    let one = Plain::of(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], false);
    let other = Plain::of(4, &[(0, 1), (1, 2), (2, 3)], false);
    for wanted in [
        SimilarConfig::default().pairs(vec![(0, 1), (0, 2)]),
        SimilarConfig::default().sources(vec![0]),
    ] {
        let found = similar::run(&one.stored(), config(Strategy::Auto, 1), &wanted).unwrap();
        assert!(similar::verify(&other.stored(), &wanted, &found).is_err());
    }
}
