//! Graphs with weights in the log against the same graphs stored at once: every algorithm with
//! weights, all strategies, in much memory and in little. The vertices have the same numbers, so
//! answers are compared as they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plain::{Random, STRATEGIES};
use crate::walk_by_weight::{Lists, stored, weight};
use cenote_algo::msf;
use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::sssp::{self, SsspConfig};
use cenote_algo::walk::{self, Starts, WalkConfig};
use cenote_engine::{EngineConfig, for_each_weighted_list};
use cenote_store::format::Codec;
use cenote_store::{Batch, Change, Direction, Graph, Op, Store, WeightType};

const VERTICES: u32 = 2_500;

/// A list over some pages.
const HUB: u32 = 7;

fn edge(lists: &mut Lists, directed: bool, (u, v): (u32, u32), number: u64) {
    lists[u as usize].insert(v, number);
    if !directed {
        lists[v as usize].insert(u, number);
    }
}

/// Lists, and the graph of them, a part of which is in its log.
fn logged(directed: bool, kind: WeightType, codec: Codec) -> (Lists, Arc<Graph>) {
    let mut random = Random(kind as u64 + u64::from(directed));
    let [mut lists, mut base]: [Lists; 2] =
        [(); 2].map(|()| vec![BTreeMap::new(); VERTICES as usize]);
    let mut batch = Batch::default();
    let mut change = |op, (source, target): (u32, u32), number: Option<u64>| {
        batch.changes.push(Change { op, source, target });
        batch.weights.push(number.map(|number| weight(kind, number)));
    };
    let mut place = |pair: (u32, u32), random: &mut Random| {
        if lists[pair.0 as usize].contains_key(&pair.1)
            || base[pair.0 as usize].contains_key(&pair.1)
        {
            return;
        }
        let [number, other] = [(); 2].map(|()| u64::from(random.below(1000)));
        match random.below(30) {
            0 => {
                edge(&mut lists, directed, pair, number);
                change(Op::Add, pair, Some(number));
            }
            1 => {
                edge(&mut base, directed, pair, number);
                change(Op::Delete, pair, (other % 2 == 0).then_some(number));
            }
            2 => {
                edge(&mut lists, directed, pair, number);
                edge(&mut base, directed, pair, other);
                change(Op::Set, pair, Some(number));
            }
            _ => {
                edge(&mut lists, directed, pair, number);
                edge(&mut base, directed, pair, number);
            }
        }
    };
    (0..VERTICES).for_each(|v| place((HUB, v), &mut random));
    for _ in 0..8 * VERTICES {
        let pair = [(); 2].map(|()| random.below(VERTICES));
        place((pair[0], pair[1]), &mut random);
    }
    let before = stored(&base, directed, kind, codec);
    let store = Store::open(Arc::clone(before.device())).unwrap();
    let (changes, weights) = (batch.changes.chunks(300), batch.weights.chunks(300));
    for (changes, weights) in changes.zip(weights) {
        let (changes, weights) = (changes.to_vec(), weights.to_vec());
        let updated = store.commit(&Batch { changes, weights, ..Batch::default() }).unwrap();
        assert!(updated.log_bytes > 0 && updated.merged == 0);
    }
    let graph = Graph::open(Arc::clone(before.device())).unwrap();
    assert_eq!(graph.logged_changes(), batch.changes.len() as u64);
    (lists, Arc::new(graph))
}

/// The weights of all entries, in ordered bits, by the serial pass of verifiers.
fn entries(graph: &Graph) -> BTreeMap<(u32, u64, u32), u64> {
    let mut entries = BTreeMap::new();
    for_each_weighted_list(graph, Direction::Out, |list, weights| {
        for (at, &target) in list.targets.iter().enumerate() {
            let weight = weights.unwrap().get(at).ordered_bits().unwrap();
            let place = (list.vertex, list.skip + at as u64, target);
            assert_eq!(entries.insert(place, weight), None);
        }
    })
    .unwrap();
    entries
}

/// The answers of algorithms with weights.
fn answers(graph: &Arc<Graph>, config: &EngineConfig) -> Vec<Vec<u64>> {
    let paths =
        sssp::run(graph, config.clone(), &SsspConfig::default().sources(vec![3]).parents(true))
            .unwrap();
    let vertices = || 0..VERTICES;
    let distance = |v| paths.distance(v).map_or(u64::MAX, |d| d.to_f64().to_bits());
    let mut answers = vec![vertices().map(distance).collect()];
    answers.push(vertices().map(|v| paths.parent(v).map_or(u64::MAX, u64::from)).collect());
    for starts in [Starts::All, Starts::Listed(vec![HUB])] {
        let walks = WalkConfig::default().walkers(400).starts(starts).seed(5).weighted(true);
        let walks = walk::run(graph, config.clone(), &walks, None).unwrap();
        answers.push(vec![walks.steps, walks.dead_ends, walks.fingerprint]);
    }
    let ranks = PageRankConfig::default().iterations(3).weighted(true);
    let ranks = pagerank::run(graph, config.clone(), &ranks).unwrap();
    answers.push(vertices().map(|v| ranks.rank(v).to_bits()).collect());
    if !graph.is_directed() {
        let forest = msf::run(graph, config.clone()).unwrap();
        let edge = |edge: msf::ForestEdge| {
            [edge.source.into(), edge.target.into(), edge.weight.to_f64().to_bits()]
        };
        answers.push(forest.edges().flat_map(edge).collect());
    }
    answers
}

#[test]
fn weights_of_the_log_are_those_of_a_graph_stored_at_once() {
    let kinds = [WeightType::F32, WeightType::I64, WeightType::U32, WeightType::F64];
    for (at, kind) in kinds.into_iter().enumerate() {
        let (directed, codec) = (at % 2 == 0, Codec::ALL[at / 2]);
        let (lists, graph) = logged(directed, kind, codec);
        let scratch = stored(&lists, directed, kind, codec);
        let pages = graph.adjacency(Direction::Out).unwrap().pages_of(HUB).count();
        assert!(pages > 1 || codec == Codec::Packed);
        assert_eq!(entries(&graph), entries(&scratch), "{kind:?}");
        let expected = answers(&scratch, &EngineConfig::with_memory(64 << 20).threads(1));
        for strategy in STRATEGIES {
            for (memory, threads) in [(64 << 20, 2), (4 << 20, 1)] {
                let config = EngineConfig::with_memory(memory).threads(threads);
                let found = answers(&graph, &config.strategy(strategy));
                assert!(found == expected, "{kind:?}, {strategy:?}, {memory} bytes");
            }
        }
    }
}
