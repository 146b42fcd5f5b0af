//! Weighted ranks against the definition written out plainly, with the same bits however they are
//! computed.

use std::sync::Arc;

use crate::plain::Random;
use cenote_algo::pagerank::{self, PageRankConfig, Variant};
use cenote_algo::{AlgoError, Result};
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, EngineError, Strategy};
use cenote_store::{
    Batch, Change, Codec, Counts, Graph, GraphSpec, GraphWriter, IdsSource, Op, Store, Weight,
    WeightType,
};

const KINDS: [WeightType; 4] = [WeightType::F32, WeightType::F64, WeightType::U32, WeightType::I64];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Undirected,
    Directed,
    DirectedWithInEdges,
}

const SHAPES: [Shape; 3] = [Shape::Undirected, Shape::Directed, Shape::DirectedWithInEdges];

/// The targets and weights of each vertex, of an undirected graph both ways.
type Lists = Vec<Vec<(u32, Weight)>>;

/// A weight; those of floating-point types differ in size by up to 2^40.
fn weight(kind: WeightType, number: u32) -> Weight {
    let size = 2f64.powi((number % 41) as i32 - 20);
    match kind {
        WeightType::F32 => Weight::F32((f64::from(number) * 0.1 * size) as f32),
        WeightType::F64 => Weight::F64(f64::from(number) * 0.1 * size),
        WeightType::U32 => Weight::U32(number),
        WeightType::I64 => Weight::I64(i64::from(number) << (number % 30)),
    }
}

/// The lists of some edges.
fn lists_of(vertices: u32, edges: &[(u32, u32, Weight)], directed: bool) -> Lists {
    let mut lists = vec![Vec::new(); vertices as usize];
    for &(a, b, weight) in edges {
        lists[a as usize].push((b, weight));
        if !directed && a != b {
            lists[b as usize].push((a, weight));
        }
    }
    sorted(lists)
}

fn sorted(mut lists: Lists) -> Lists {
    lists.iter_mut().for_each(|list| list.sort_by_key(|(v, w)| (*v, w.ordered_bits().unwrap())));
    lists
}

/// Two hubs over pages, pseudo-random chords, repeated edges, loops, vertices without edges or with
/// none but those of weight 0; some of the directed graph lead nowhere.
fn edges(kind: WeightType, directed: bool) -> Vec<(u32, u32, Weight)> {
    let mut random = Random(5);
    let n = 2_000;
    let mut pairs: Vec<(u32, u32)> = (1..n).flat_map(|v| [(0, v), (v, 1_234)]).collect();
    pairs.extend((0..6_000).map(|_| (random.below(n), random.below(n))));
    pairs.extend_from_within(500..900);
    pairs.extend([(77, 77), (77, 77), (n + 1, n + 2), (n + 2, n + 1)]);
    let pairs = pairs.into_iter().filter(|(a, _)| !directed || a % 7 != 3);
    let number = |a: u32, random: &mut Random| match a {
        a if a >= n || a % 11 == 5 => 0,
        _ => random.below(1_000),
    };
    pairs.map(|(a, b)| (a, b, weight(kind, number(a, &mut random)))).collect()
}

fn lists(kind: WeightType, shape: Shape) -> Lists {
    let directed = shape != Shape::Undirected;
    lists_of(2_005, &edges(kind, directed), directed)
}

fn transposed(lists: &Lists) -> Lists {
    let mut back = vec![Vec::new(); lists.len()];
    for (v, list) in (0..).zip(lists) {
        list.iter().for_each(|&(target, weight)| back[target as usize].push((v, weight)));
    }
    sorted(back)
}

fn stored(lists: &Lists, shape: Shape, kind: WeightType, codec: Codec) -> Arc<Graph> {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let device = || Arc::new(SimDevice::new(SimConfig::new(model.clone())));
    let is_repeated = |list: &Vec<(u32, Weight)>| list.windows(2).any(|w| w[0].0 == w[1].0);
    let spec = GraphSpec {
        page_bytes: 4096,
        vertices: lists.len() as u64,
        directed: shape != Shape::Undirected,
        in_edges: shape == Shape::DirectedWithInEdges,
        duplicates_kept: lists.iter().any(is_repeated),
        self_loops_kept: true,
        salt: 7,
    };
    let file = device();
    let mut writer =
        GraphWriter::create_weighted(file.clone(), spec, (codec, kind), device()).unwrap();
    let push = |writer: &mut GraphWriter, lists: &Lists| {
        for list in lists {
            let (targets, weights): (Vec<_>, Vec<_>) = list.iter().copied().unzip();
            writer.push_list(&targets).unwrap();
            writer.extend_weights(&weights).unwrap();
        }
    };
    push(&mut writer, lists);
    if shape == Shape::DirectedWithInEdges {
        writer.begin_in().unwrap();
        push(&mut writer, &transposed(lists));
    }
    let entries: u64 = lists.iter().map(|list| list.len() as u64).sum();
    let own = |(v, list): (u32, &Vec<(u32, _)>)| list.iter().filter(|(w, _)| *w == v).count();
    let loops: usize = (0..).zip(lists).map(own).sum();
    let edges = match shape {
        Shape::Undirected => (entries + loops as u64) / 2,
        _ => entries,
    };
    let counts = Counts { edges, duplicates: 0, self_loops: loops as u64 };
    writer.finish(IdsSource::Dense, counts).unwrap();
    Arc::new(Graph::open(file).unwrap())
}

/// By the words of the definition.
fn oracle(lists: &Lists, config: &PageRankConfig) -> Vec<f64> {
    let n = lists.len();
    let goes_to = |v: usize| match config.personalize.as_slice() {
        [] => 1.0 / n as f64,
        some if some.contains(&(v as u32)) => 1.0 / some.len() as f64,
        _ => 0.0,
    };
    let mut ranks: Vec<f64> = (0..n).map(goes_to).collect();
    for _ in 0..config.iterations {
        let mut next: Vec<f64> = (0..n).map(|v| (1.0 - config.damping) * goes_to(v)).collect();
        let mut dangling = 0.0;
        for (rank, list) in ranks.iter().zip(lists) {
            let total: f64 = list.iter().map(|(_, weight)| weight.to_f64()).sum();
            for (target, weight) in list.iter().filter(|_| total > 0.0) {
                next[*target as usize] += config.damping * rank * (weight.to_f64() / total);
            }
            dangling += if total == 0.0 { *rank } else { 0.0 };
        }
        (0..n).for_each(|v| next[v] += config.damping * dangling * goes_to(v));
        ranks = next;
    }
    ranks
}

fn weighted() -> PageRankConfig {
    PageRankConfig::default().weighted(true)
}

fn run(graph: &Arc<Graph>, engine: EngineConfig, config: &PageRankConfig) -> Result<Vec<u64>> {
    let found = pagerank::run(graph, engine, config)?;
    Ok(found.ranks().iter().map(|rank| rank.to_bits()).collect())
}

/// The ranks, the same to the last bit by every strategy and number of threads, with pages in
/// memory and without.
fn ranks(graph: &Arc<Graph>, config: &PageRankConfig) -> Vec<f64> {
    let engine = EngineConfig::with_memory(64 << 20).threads(1);
    let found = pagerank::run(graph, engine.clone(), config).unwrap();
    pagerank::verify(graph, config, &found).unwrap();
    let ranks = found.ranks().to_vec();
    let bits: Vec<u64> = ranks.iter().map(|rank| rank.to_bits()).collect();
    for (strategy, threads, cache_bytes) in [
        (Strategy::Auto, 3, None),
        (Strategy::Auto, 2, Some(64 << 10)),
        (Strategy::Auto, 2, Some(0)),
        (Strategy::Block, 3, None),
        (Strategy::Vertex, 2, Some(32 << 10)),
    ] {
        let engine = engine.clone().strategy(strategy).threads(threads).cache_bytes(cache_bytes);
        let case = format!("{strategy}, {threads} threads, cache {cache_bytes:?}");
        assert!(run(graph, engine, config).unwrap() == bits, "{case}");
    }
    ranks
}

fn assert_close(found: &[f64], expected: &[f64], case: &str) {
    for (v, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= 1e-9 * expected + 1e-15;
        assert!(close, "{case}, vertex {v}: {found}, not {expected}");
    }
}

#[test]
fn weighted_ranks_agree_with_the_definition() {
    for shape in SHAPES {
        for (i, kind) in KINDS.into_iter().enumerate() {
            let lists = lists(kind, shape);
            let codec = [Codec::Raw, Codec::Packed][(i + shape as usize) % 2];
            let config = weighted().personalize(if i < 2 { vec![] } else { vec![3, 0, 2_004] });
            let found = ranks(&stored(&lists, shape, kind, codec), &config);
            assert_close(&found, &oracle(&lists, &config), &format!("{shape:?}, {kind:?}"));
        }
    }
}

#[test]
fn weighted_ranks_are_the_same_in_any_order_of_the_vertices_and_by_any_codec() {
    let engine = || EngineConfig::with_memory(64 << 20).threads(2);
    for shape in SHAPES {
        let (lists, kind) = (lists(WeightType::F64, shape), WeightType::F64);
        let n = lists.len() as u32;
        let moved = |v: u32| (v * 1_237 + 55) % n;
        let mut shuffled = vec![Vec::new(); n as usize];
        for (v, list) in (0..).zip(&lists) {
            shuffled[moved(v) as usize] = list.iter().map(|&(w, of)| (moved(w), of)).collect();
        }
        let first = run(&stored(&lists, shape, kind, Codec::Raw), engine(), &weighted()).unwrap();
        for codec in [Codec::Raw, Codec::Packed] {
            let other = stored(&sorted(shuffled.clone()), shape, kind, codec);
            let other = run(&other, engine(), &weighted()).unwrap();
            let other: Vec<u64> = (0..n).map(|v| other[moved(v) as usize]).collect();
            assert!(first == other, "{shape:?}, {codec:?}");
        }
    }
}

#[test]
fn weighted_ranks_of_a_changed_graph_are_those_of_one_stored_at_once() {
    let mut random = Random(9);
    for shape in SHAPES {
        let kind = WeightType::F32;
        let directed = shape != Shape::Undirected;
        let mut edges = edges(kind, directed);
        edges.sort_by_key(|&(a, b, _)| if directed { (a, b) } else { (a.min(b), a.max(b)) });
        edges.dedup_by_key(|&mut (a, b, _)| if directed { (a, b) } else { (a.min(b), a.max(b)) });
        let later = |_: &(u32, u32, Weight)| random.below(20) == 0;
        let (added, base): (Vec<_>, Vec<_>) = edges.iter().copied().partition(later);
        let graph = stored(&lists_of(2_005, &base, directed), shape, kind, Codec::Raw);
        let store = Store::open(Arc::clone(graph.device())).unwrap();
        let change =
            |&(source, target, _): &(u32, u32, Weight)| Change { op: Op::Add, source, target };
        let changes = added.iter().map(change).collect();
        let weights = added.iter().map(|&(_, _, weight)| Some(weight)).collect();
        store.commit(&Batch { changes, weights, ..Batch::default() }).unwrap();
        let changed = Arc::new(Graph::open(Arc::clone(graph.device())).unwrap());
        assert!(changed.logged_changes() > 0);
        let at_once = stored(&lists_of(2_005, &edges, directed), shape, kind, Codec::Raw);
        assert_eq!(ranks(&changed, &weighted()), ranks(&at_once, &weighted()), "{shape:?}");
    }
}

#[test]
fn equal_weights_are_none_and_factors_of_a_vertex_do_not_matter() {
    let (n, kind) = (300, WeightType::F64);
    let mut random = Random(2);
    let edges: Vec<_> = (0..900)
        .map(|_| (random.below(n), random.below(n), Weight::F64(1.0 + f64::from(random.below(7)))))
        .collect();
    let times = |factor: fn(u32) -> f64| -> Vec<_> {
        let by =
            |(a, b, weight): (u32, u32, Weight)| (a, b, Weight::F64(weight.to_f64() * factor(a)));
        edges.iter().copied().map(by).collect()
    };
    for shape in [Shape::Directed, Shape::DirectedWithInEdges] {
        let engine = || EngineConfig::with_memory(64 << 20).threads(2);
        let graph = |edges: &[_]| stored(&lists_of(n, edges, true), shape, kind, Codec::Raw);
        let first = run(&graph(&edges), engine(), &weighted()).unwrap();
        let sized = times(|v| 2f64.powi(13 * (v % 90) as i32 - 600));
        assert!(run(&graph(&sized), engine(), &weighted()).unwrap() == first, "{shape:?}");
        let equal: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b, Weight::F64(0.3))).collect();
        let equal = graph(&equal);
        let floats = |config: &PageRankConfig| -> Vec<f64> {
            run(&equal, engine(), config).unwrap().into_iter().map(f64::from_bits).collect()
        };
        assert_close(&floats(&weighted()), &floats(&PageRankConfig::default()), "equal");
    }
}

#[test]
fn what_has_no_weighted_ranks_is_refused_with_a_reason() {
    let refused = |weight: Weight, config: &PageRankConfig| {
        let (lists, kind) = (lists_of(3, &[(0, 1, weight)], true), weight.kind());
        let graph = stored(&lists, Shape::Directed, kind, Codec::Raw);
        let engine = EngineConfig::with_memory(64 << 20);
        match pagerank::run(&graph, engine, config) {
            Err(error @ AlgoError::Parameter { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(Weight::I64(-3), &weighted()).contains("smallest weight of the graph is -3"));
    assert!(refused(Weight::F64(1e300), &weighted()).contains("1e300"));
    assert!(refused(Weight::F64(1e-300), &weighted()).contains("1e-300"));
    let cave = weighted().variant(Variant::Cave);
    assert!(refused(Weight::U32(3), &cave).contains("no weights"));
    let plain = crate::plain::Plain::of(3, &[(0, 1)], true).stored();
    let engine = EngineConfig::with_memory(64 << 20);
    let found = pagerank::run(&plain, engine.clone(), &weighted());
    assert!(matches!(found, Err(AlgoError::Unsupported { .. })), "{found:?}");
    let found = pagerank::estimate(&plain, &engine, &weighted());
    assert!(matches!(found, Err(AlgoError::Unsupported { .. })), "{found:?}");
}

#[test]
fn a_budget_that_is_too_small_names_one_that_is_not() {
    for shape in SHAPES {
        let kind = WeightType::F64;
        let graph = stored(&lists(kind, shape), shape, kind, Codec::Raw);
        let folder = tempfile::tempdir().unwrap();
        // With a folder in bands, if these need less.
        for state_dir in [None, Some(folder.path().to_owned())] {
            let config = EngineConfig::with_memory(100_000).threads(2).state_dir(state_dir);
            let suggested = match pagerank::run(&graph, config.clone(), &weighted()) {
                Err(AlgoError::Engine(EngineError::Budget { suggested, .. })) => suggested << 20,
                other => panic!("{other:?}"),
            };
            pagerank::run(&graph, config.memory_bytes(suggested), &weighted()).unwrap();
        }
    }
}

#[test]
fn estimates_of_weighted_runs_are_what_they_read() {
    for shape in SHAPES {
        let kind = WeightType::F32;
        let graph = stored(&lists(kind, shape), shape, kind, Codec::Raw);
        for cache_bytes in [None, Some(0)] {
            let config = EngineConfig::with_memory(64 << 20).threads(1).cache_bytes(cache_bytes);
            let estimate = pagerank::estimate(&graph, &config, &weighted()).unwrap();
            let read = pagerank::run(&graph, config, &weighted()).unwrap().run.stats.bytes_read;
            let (low, high) = (estimate.bytes_read * 4 / 5, estimate.bytes_read * 5 / 4);
            assert!(
                (low..=high).contains(&read),
                "{shape:?}, {cache_bytes:?}: {read}, not {}",
                estimate.bytes_read
            );
        }
    }
}
