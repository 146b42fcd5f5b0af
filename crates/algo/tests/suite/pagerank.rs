//! Personalised ranks and the paper's variant, against the definition written out plainly.

use std::sync::Arc;

use cenote_algo::AlgoError;
use cenote_algo::pagerank::{self, PageRankConfig, Variant};
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, Strategy};
use cenote_store::{Codec, Counts, Graph, GraphSpec, GraphWriter, IdsSource};

use crate::plain::Ways;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Undirected,
    Directed,
    DirectedWithInEdges,
}

const SHAPES: [Shape; 3] = [Shape::Undirected, Shape::Directed, Shape::DirectedWithInEdges];

fn stored(lists: &[Vec<u32>], shape: Shape, codec: Codec) -> Arc<Graph> {
    stored_in_pages_of(4096, lists, shape, codec)
}

fn stored_in_pages_of(
    page_bytes: usize,
    lists: &[Vec<u32>],
    shape: Shape,
    codec: Codec,
) -> Arc<Graph> {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let device = Arc::new(SimDevice::new(SimConfig::new(model)));
    let in_edges = shape == Shape::DirectedWithInEdges;
    let spec = GraphSpec {
        page_bytes,
        vertices: lists.len() as u64,
        directed: shape != Shape::Undirected,
        in_edges,
        duplicates_kept: false,
        self_loops_kept: false,
        salt: 7,
    };
    let mut writer = GraphWriter::create_with_codec(device.clone(), spec, codec).unwrap();
    lists.iter().for_each(|list| writer.push_list(list).unwrap());
    if in_edges {
        writer.begin_in().unwrap();
        transposed(lists).iter().for_each(|list| writer.push_list(list).unwrap());
    }
    let entries: u64 = lists.iter().map(|list| list.len() as u64).sum();
    let edges = if shape == Shape::Undirected { entries / 2 } else { entries };
    writer.finish(IdsSource::Dense, Counts { edges, duplicates: 0, self_loops: 0 }).unwrap();
    Arc::new(Graph::open(device).unwrap())
}

fn transposed(lists: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut back = vec![Vec::new(); lists.len()];
    for (v, list) in lists.iter().enumerate() {
        list.iter().for_each(|&target| back[target as usize].push(v as u32));
    }
    back
}

/// A hub over pages, a ring, a vertex without edges, pseudo-random chords; some vertices of the
/// directed one lead nowhere.
fn lists(directed: bool) -> Vec<Vec<u32>> {
    let n = 2_500u32;
    let mut edges: Vec<(u32, u32)> = (1..n - 1).map(|v| (0, v)).collect();
    edges.extend((1..n - 2).map(|v| (v, v + 1)));
    edges.extend((1..n - 2).map(|v| (v, (u64::from(v) * 2_654_435_761 % 1_999) as u32 + 1)));
    let mut lists = vec![Vec::new(); n as usize];
    for (a, b) in edges.into_iter().filter(|(a, b)| a != b && (!directed || a % 7 != 0)) {
        lists[a as usize].push(b);
        if !directed {
            lists[b as usize].push(a);
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    lists
}

/// Dense, by the words of the definition.
fn oracle(lists: &[Vec<u32>], config: &PageRankConfig) -> Vec<f64> {
    let n = lists.len();
    let weight = |at: usize| config.personalize_weights.get(at).copied().unwrap_or(1.0);
    let goes_to = |v: usize| match config.personalize.as_slice() {
        [] => 1.0 / n as f64,
        some => {
            let own = some.iter().enumerate().filter(|(_, chosen)| **chosen == v as u32);
            own.map(|(at, _)| weight(at)).sum::<f64>() / (0..some.len()).map(weight).sum::<f64>()
        }
    };
    let goes_to: Vec<f64> = (0..n).map(goes_to).collect();
    let mut ranks = goes_to.clone();
    for _ in 0..config.iterations {
        let mut next: Vec<f64> = goes_to.iter().map(|part| (1.0 - config.damping) * part).collect();
        for (v, list) in lists.iter().enumerate() {
            for &target in list {
                next[target as usize] += config.damping * ranks[v] / list.len() as f64;
            }
            if list.is_empty() && config.variant == Variant::Standard {
                (0..n).for_each(|w| next[w] += config.damping * ranks[v] * goes_to[w]);
            }
        }
        ranks = next;
    }
    let scale = if config.variant == Variant::Cave { n as f64 } else { 1.0 };
    ranks.iter().map(|rank| scale * rank).collect()
}

/// The ranks, the same to the last bit by both codecs, every strategy and number of threads: in all
/// combinations or in turn.
fn ranks(lists: &[Vec<u32>], shape: Shape, config: &PageRankConfig, all: bool) -> Vec<f64> {
    let mut first: Option<Vec<u64>> = None;
    for (turn, codec) in [Codec::Raw, Codec::Packed].into_iter().enumerate() {
        let graph = stored(lists, shape, codec);
        let found = ranks_of(&graph, config, Ways::of(all, turn + shape as usize));
        assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "{shape:?}, {codec:?}");
    }
    first.unwrap().into_iter().map(f64::from_bits).collect()
}

fn ranks_of(graph: &Arc<Graph>, config: &PageRankConfig, ways: Ways) -> Vec<u64> {
    let mut first: Option<Vec<u64>> = None;
    for engine in ways.configs() {
        let (strategy, threads) = (engine.strategy, engine.threads);
        let found = pagerank::run(graph, engine, config).unwrap();
        pagerank::verify(graph, config, &found).unwrap();
        let bits = (0..graph.vertices() as u32).map(|v| found.rank(v).to_bits()).collect();
        match &first {
            Some(first) => assert_eq!(first, &bits, "{strategy}, {threads} threads"),
            None => first = Some(bits),
        }
    }
    first.unwrap()
}

fn agree(config: &PageRankConfig, all: bool) {
    for shape in SHAPES {
        let lists = lists(shape != Shape::Undirected);
        let found = ranks(&lists, shape, config, all);
        for (v, (found, expected)) in found.iter().zip(oracle(&lists, config)).enumerate() {
            let close = (found - expected).abs() <= 1e-9 * expected + 1e-15;
            assert!(close, "{shape:?}, vertex {v}: {found}, not {expected}");
        }
    }
}

fn personalised() -> PageRankConfig {
    PageRankConfig::default().personalize(vec![3, 700, 2_499])
}

fn personalised_by_weight() -> PageRankConfig {
    let config = PageRankConfig::default().personalize(vec![700, 3, 2_499, 8, 3]);
    config.personalize_weights(vec![5.0, 0.25, 1e-3, 0.0, 1.5])
}

#[test]
fn ranks_agree_with_the_definition() {
    agree(&PageRankConfig::default(), false);
}

#[test]
fn personalised_ranks_go_back_to_the_chosen_vertices_with_dangling_mass_too() {
    agree(&personalised(), false);
}

#[test]
fn the_surfer_goes_back_to_vertices_in_proportion_to_their_weights() {
    agree(&personalised_by_weight(), false);
}

#[test]
fn the_papers_variant_loses_dangling_mass_and_is_n_times_as_large() {
    agree(&PageRankConfig::default().variant(Variant::Cave), false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_ranks_agree_with_the_definition() {
    agree(&PageRankConfig::default(), true);
    agree(&personalised(), true);
    agree(&personalised_by_weight(), true);
    agree(&PageRankConfig::default().variant(Variant::Cave), true);
}

#[test]
fn ranks_are_the_same_in_any_order_of_the_vertices() {
    compare_orders(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_ranks_are_the_same_in_any_order_of_the_vertices() {
    compare_orders(true);
}

fn compare_orders(all: bool) {
    let config = PageRankConfig::default();
    for shape in SHAPES {
        let lists = lists(shape != Shape::Undirected);
        let n = lists.len();
        let moved = |v: u32| (v * 1_237 + 55) % n as u32;
        let mut shuffled = vec![Vec::new(); n];
        for (v, list) in lists.iter().enumerate() {
            let mut list: Vec<u32> = list.iter().map(|&target| moved(target)).collect();
            list.sort_unstable();
            shuffled[moved(v as u32) as usize] = list;
        }
        let [ranks, shuffled] =
            [&lists, &shuffled].map(|lists| self::ranks(lists, shape, &config, all));
        for (v, rank) in ranks.iter().enumerate() {
            let other = shuffled[moved(v as u32) as usize];
            assert_eq!(rank.to_bits(), other.to_bits(), "{shape:?}, vertex {v}");
        }
    }
}

/// In-lists of all kinds: of one entry, of none to five, of 40 among each other and among short
/// ones, with targets near each other and far from each other, and one over several pages.
fn lists_of_all_kinds() -> Vec<Vec<u32>> {
    let n = 44_000u32;
    let mut random = 1u64;
    let mut next = |below: u32| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((random >> 33) % u64::from(below)) as u32
    };
    let list = |v: u32| {
        let mut list: Vec<u32> = match v {
            0..8_000 => vec![next(n)],
            8_000..16_000 => (0..next(6)).map(|_| next(n)).collect(),
            16_000..20_000 => (0..40).map(|_| next(n)).collect(),
            20_000..24_000 => (0..40).map(|i| v + i).collect(),
            24_000 => (0..5_000).map(|i| 8 * i + 3).collect(),
            30_000..30_128 => (0..40).map(|i| v + 3 * i).collect(),
            24_001..34_000 => vec![v - 1, v + 1],
            _ => (0..next(6)).map(|i| v - 10 * i).collect(),
        };
        list.sort_unstable();
        list.dedup();
        list.retain(|&target| target != v);
        list
    };
    (0..n).map(list).collect()
}

#[test]
fn ranks_are_the_same_list_by_list_and_page_by_page() {
    let lists = transposed(&lists_of_all_kinds());
    for page_bytes in [4096, 16 << 10] {
        let shape = Shape::DirectedWithInEdges;
        compare_lists_and_pages(&stored_in_pages_of(page_bytes, &lists, shape, Codec::Raw));
    }
}

fn compare_lists_and_pages(graph: &Arc<Graph>) {
    for config in [PageRankConfig::default(), personalised()] {
        ranks_of(graph, &config.iterations(4), Ways::of(false, 0));
    }
    let config = PageRankConfig::default().iterations(3);
    let run = |strategy, config: &PageRankConfig| {
        let engine = EngineConfig::with_memory(64 << 20).threads(2).strategy(strategy);
        pagerank::run(graph, engine, config).unwrap()
    };
    let [pages, lists] = [Strategy::Auto, Strategy::Vertex].map(|by| run(by, &config));
    assert_eq!(pages.ranks(), lists.ranks());
    assert_eq!(pages.change, lists.change);
    // A run that does not know which iteration is the last.
    let tolerance = pages.change.unwrap() * 1.001;
    let stopped = run(Strategy::Auto, &config.clone().iterations(9).tolerance(Some(tolerance)));
    assert_eq!((stopped.iterations, stopped.change), (3, pages.change));
    assert_eq!(stopped.ranks(), pages.ranks());
}

#[test]
fn what_cannot_be_reached_from_the_chosen_vertices_has_rank_zero() {
    let lists = [vec![1], vec![0], vec![3], vec![2], vec![]];
    let config = PageRankConfig::default().personalize(vec![1, 1]);
    let ranks = ranks(&lists, Shape::Undirected, &config, true);
    assert_eq!(ranks[2..], [0.0; 3]);
    assert!((ranks[0] + ranks[1] - 1.0).abs() < 1e-12, "{ranks:?}");
}

#[test]
fn chosen_vertices_that_make_no_sense_are_refused() {
    let graph = stored(&[vec![1], vec![0]], Shape::Undirected, Codec::Raw);
    let refused = |config: PageRankConfig| {
        let refused = pagerank::run(&graph, EngineConfig::with_memory(64 << 20), &config);
        assert!(matches!(refused, Err(AlgoError::Parameter { .. })), "{refused:?}");
    };
    refused(PageRankConfig::default().personalize(vec![2]));
    let two = PageRankConfig::default().personalize(vec![0, 1]);
    for weights in [&[1.0][..], &[1.0; 3], &[0.0; 2], &[-1.0, 2.0], &[f64::NAN, 1.0], &[1e308; 2]] {
        refused(two.clone().personalize_weights(weights.to_vec()));
    }
    let variant = Variant::Cave;
    refused(PageRankConfig::default().personalize(vec![1]).variant(variant));
}
