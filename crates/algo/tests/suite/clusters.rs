//! Searches of lattices that do not fit in memory, with vertices in the order of clusters: answers
//! are those of the natural order, and each page is read a few times.

use std::sync::Arc;

use crate::orders::{inverse, stored, vertex_of};
use crate::plain::{Plain, Random};
use cenote_algo::betweenness::{self, BetweennessConfig};
use cenote_algo::bfs::{self, BfsConfig};
use cenote_algo::kcore::{self, KcoreConfig};
use cenote_algo::sssp::{self, SsspConfig};
use cenote_algo::{AlgoError, Result, Run};
use cenote_engine::{EngineConfig, EngineError, Graph, Order};
use cenote_store::{Codec, Direction, WeightType};

const SIDE: u32 = 220;

/// A square grid of which most edges are there, in a random direction if it is directed.
fn road(directed: bool) -> Plain {
    let mut random = Random(5);
    let mut edges = Vec::new();
    for v in 0..SIDE * SIDE {
        let right = (v % SIDE + 1 < SIDE).then_some(v + 1);
        let below = (v / SIDE + 1 < SIDE).then_some(v + SIDE);
        for other in right.into_iter().chain(below) {
            if random.below(10) < 8 {
                let is_back = directed && random.below(2) == 0;
                edges.push(if is_back { (other, v) } else { (v, other) });
                if directed && random.below(10) < 7 {
                    edges.push(if is_back { (v, other) } else { (other, v) });
                }
            }
        }
    }
    Plain::of(SIDE * SIDE, &edges, directed)
}

/// Pages of lists, and of their weights.
fn pages(graph: &Graph) -> u64 {
    let lists = |direction| graph.adjacency(direction).map_or(0, |lists| lists.pages());
    let weights = graph.load_weights(Direction::Out).unwrap().map_or(0, |column| column.pages());
    let inward = if graph.is_directed() { lists(Direction::In) } else { 0 };
    lists(Direction::Out) + inward + weights
}

/// The graph in natural order and in that of clusters.
struct Two {
    natural: Arc<Graph>,
    clustered: Arc<Graph>,
    vertex_of: Vec<u32>,
}

impl Two {
    fn of(plain: &Plain, weights: Option<WeightType>) -> Self {
        let graph = |order| stored(plain, order, Codec::Raw, weights);
        let vertex_of = vertex_of(plain, Order::Cluster);
        assert_eq!(inverse(&inverse(&vertex_of)), vertex_of);
        Self { natural: graph(Order::Natural), clustered: graph(Order::Cluster), vertex_of }
    }

    /// Runs with much memory in natural order, and in that of clusters with the least that does and
    /// a share of the pages more; compares the answers and returns how often pages were read, and
    /// how many steps have a label that begins so.
    fn compare<T>(
        &self,
        label: &str,
        run: impl Fn(&Arc<Graph>, EngineConfig, &dyn Fn(u32) -> u32) -> Result<T>,
        parts: impl Fn(&T, u32) -> (u64, &Run),
    ) -> (f64, usize) {
        let config =
            |bytes, threads| EngineConfig::with_memory(bytes).threads(threads).explain(true);
        let expected = run(&self.natural, config(256 << 20, 2), &|v| v).unwrap();
        let at = |v: u32| self.vertex_of[v as usize];
        // Buffers of 128 KiB, queues of the device, and pages.
        let share = pages(&self.clustered) / 6;
        let more = (260 << 10) + self.clustered.page_bytes() as u64 * share;
        let mut most: (f64, usize) = (0.0, 0);
        for threads in 1..=3 {
            let least = match run(&self.clustered, config(1, threads), &at) {
                Err(AlgoError::Engine(EngineError::Budget { needed, .. })) => needed,
                _ => panic!("a byte suffices"),
            };
            let found = run(&self.clustered, config(least + more, threads), &at).unwrap();
            for v in 0..SIDE * SIDE {
                let (one, other) = (parts(&expected, v).0, parts(&found, at(v)).0);
                assert_eq!(one, other, "vertex {v}, {threads} threads");
            }
            let run = parts(&found, 0).1;
            let labelled = run.steps.iter().filter(|step| step.label.starts_with(label)).count();
            let bytes = (self.clustered.page_bytes() as u64 * pages(&self.clustered)) as f64;
            most = (most.0.max(run.stats.bytes_read as f64 / bytes), most.1.max(labelled));
        }
        most
    }
}

#[test]
fn levels_are_those_of_the_natural_order() {
    for directed in [false, true] {
        let two = Two::of(&road(directed), None);
        let search = |graph: &Arc<Graph>, config, at: &dyn Fn(u32) -> u32| {
            bfs::run(graph, config, &BfsConfig::from(at(SIDE / 2)))
        };
        let level = |found: &bfs::Bfs, v| found.level(v).map_or(u64::MAX, u64::from);
        let (passes, rounds) =
            two.compare("round", search, |found, v| (level(found, v), &found.run));
        assert!(rounds > 20, "directed {directed}: {rounds} rounds");
        assert!(passes < 3.0, "directed {directed}: {passes} passes");
    }
}

#[test]
fn distances_are_those_of_the_natural_order() {
    for kind in [None, Some(WeightType::U32), Some(WeightType::F64), Some(WeightType::I64)] {
        for directed in [false, true] {
            let two = Two::of(&road(directed), kind);
            let search = |graph: &Arc<Graph>, config, at: &dyn Fn(u32) -> u32| {
                sssp::run(graph, config, &SsspConfig::default().sources(vec![at(SIDE / 2)]))
            };
            let distance = |found: &sssp::Sssp, v| {
                found.distance(v).map_or(u64::MAX, |length| length.to_f64().to_bits())
            };
            let (passes, rounds) =
                two.compare("round", search, |found, v| (distance(found, v), &found.run));
            assert!(rounds > 20, "{kind:?}, directed {directed}: {rounds} rounds");
            assert!(passes < 9.0, "{kind:?}, directed {directed}: {passes} passes");
        }
    }
}

#[test]
fn betweenness_is_that_of_the_natural_order() {
    for directed in [false, true] {
        let two = Two::of(&road(directed), None);
        let search = |graph: &Arc<Graph>, config, at: &dyn Fn(u32) -> u32| {
            let sources = vec![at(SIDE / 2)];
            betweenness::run(graph, config, &BetweennessConfig::default().sources(sources))
        };
        for label in ["paths, round", "dependencies, round"] {
            let (passes, rounds) =
                two.compare(label, search, |found, v| (found.sum(v).to_bits(), &found.run));
            assert!(rounds > 20, "directed {directed}: {rounds} rounds of {label}");
            // On a directed graph each round is followed by a look at lists of the other direction.
            assert!(directed || passes < 16.0, "{passes} passes");
        }
    }
}

#[test]
fn core_numbers_are_those_of_the_natural_order() {
    let two = Two::of(&road(false), None);
    let search = |graph: &Arc<Graph>, config, _: &dyn Fn(u32) -> u32| {
        kcore::run(graph, config, &KcoreConfig::default())
    };
    let (passes, _) = two.compare("", search, |found, v| (found.core(v).into(), &found.run));
    assert!(passes < 6.0, "{passes} passes");
}

#[test]
fn a_search_starts_from_the_same_vertex_as_in_the_natural_order() {
    // A grid with ids of chance: many vertices have the longest list.
    let name = |v: u32| v * 7919 % (SIDE * SIDE);
    let down = (0..SIDE * (SIDE - 1)).map(|v| (name(v), name(v + SIDE)));
    let right = (0..SIDE * SIDE - 1).filter(|v| (v + 1) % SIDE != 0);
    let edges: Vec<_> = down.chain(right.map(|v| (name(v), name(v + 1)))).collect();
    let two = Two::of(&Plain::of(SIDE * SIDE, &edges, false), None);
    let source = |graph: &Arc<Graph>| {
        let config = EngineConfig::with_memory(64 << 20);
        bfs::run(graph, config, &BfsConfig::default()).unwrap().sources[0]
    };
    let expected = two.vertex_of[source(&two.natural) as usize];
    let first = two.clustered.superblock().degree_max_vertex;
    assert_ne!(first, expected, "the first in the file is another one");
    assert_eq!(source(&two.clustered), expected);
}
