//! Graphs for the tests of algorithms: made of lists, stored on a simulated device.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::VecDeque;
use std::sync::Arc;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, Strategy};
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, HubNeighboursChoice, IdsSource};

pub const STRATEGIES: [Strategy; 3] = [Strategy::Auto, Strategy::Block, Strategy::Vertex];

/// A graph as every algorithm's too simple twin sees it: the targets of each vertex, ascending; of
/// an undirected graph both ways.
#[derive(Clone, Debug)]
pub struct Plain {
    /// For messages.
    pub name: &'static str,
    pub lists: Vec<Vec<u32>>,
    pub directed: bool,
    pub in_edges: bool,
}

impl Plain {
    /// The graph of these pairs over `0..vertices`; equal edges are one.
    pub fn of(vertices: u32, pairs: &[(u32, u32)], directed: bool) -> Self {
        let mut lists = vec![Vec::new(); vertices as usize];
        for &(a, b) in pairs {
            lists[a as usize].push(b);
            if !directed && a != b {
                lists[b as usize].push(a);
            }
        }
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
        }
        Self::of_lists(lists, directed)
    }

    /// The graph of these lists as they are, repeated entries and loops too.
    pub fn of_lists(lists: Vec<Vec<u32>>, directed: bool) -> Self {
        Self { name: "lists", lists, directed, in_edges: directed }
    }

    /// The undirected graph of these lists: both ways, each once, without loops.
    pub fn symmetric(lists: Vec<Vec<u32>>) -> Self {
        let one_way = Self::of_lists(lists, true);
        Self::of_lists(one_way.neighbours(), false)
    }

    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub fn without_in_edges(mut self) -> Self {
        self.in_edges = false;
        self
    }

    pub fn vertices(&self) -> u32 {
        self.lists.len() as u32
    }

    /// Every list reversed.
    pub fn in_lists(&self) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); self.lists.len()];
        for (v, targets) in (0..).zip(&self.lists) {
            targets.iter().for_each(|&target| lists[target as usize].push(v));
        }
        lists
    }

    /// Neighbours in either direction, each once, without the vertex itself.
    pub fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut lists = self.lists.clone();
        for (list, more) in lists.iter_mut().zip(self.in_lists()) {
            list.extend(more);
        }
        for (v, list) in (0..).zip(&mut lists) {
            list.sort_unstable();
            list.dedup();
            list.retain(|&target| target != v);
        }
        lists
    }

    /// Levels from the nearest source.
    pub fn levels(&self, sources: &[u32]) -> Vec<Option<u32>> {
        let mut levels = vec![None; self.lists.len()];
        let mut queue: VecDeque<u32> = sources.iter().copied().collect();
        sources.iter().for_each(|&source| levels[source as usize] = Some(0));
        while let Some(v) = queue.pop_front() {
            for &target in &self.lists[v as usize] {
                if levels[target as usize].is_none() {
                    levels[target as usize] = levels[v as usize].map(|level| level + 1);
                    queue.push_back(target);
                }
            }
        }
        levels
    }

    /// Stored with in-edges where it is directed and they are asked for.
    pub fn stored_with(&self, in_edges: bool) -> Arc<Graph> {
        Self { in_edges: in_edges && self.directed, ..self.clone() }.stored()
    }

    /// The graph on pages of 4 KiB.
    pub fn stored(&self) -> Arc<Graph> {
        self.stored_with_hub_neighbours(HubNeighboursChoice::No)
    }

    /// The graph on pages of 4 KiB, with or without hub neighbours.
    pub fn stored_with_hub_neighbours(&self, hub_neighbours: HubNeighboursChoice) -> Arc<Graph> {
        let model = Preset::by_name("optane-p4800x").unwrap().model();
        let device = Arc::new(SimDevice::new(SimConfig::new(model)));
        let is_repeated = |list: &Vec<u32>| list.windows(2).any(|pair| pair[0] == pair[1]);
        let loops_of = |(v, list): (u32, &Vec<u32>)| list.iter().filter(|&&w| w == v).count();
        let loops: usize = (0..).zip(&self.lists).map(loops_of).sum();
        let loops = loops as u64;
        let spec = GraphSpec {
            page_bytes: 4096,
            vertices: self.lists.len() as u64,
            directed: self.directed,
            in_edges: self.in_edges,
            duplicates_kept: self.lists.iter().any(is_repeated),
            self_loops_kept: loops > 0,
            salt: 7,
        };
        let mut writer =
            GraphWriter::create(device.clone(), spec).unwrap().with_hub_neighbours(hub_neighbours);
        self.lists.iter().for_each(|list| writer.push_list(list).unwrap());
        if self.in_edges {
            writer.begin_in().unwrap();
            self.in_lists().iter().for_each(|list| writer.push_list(list).unwrap());
        }
        let entries: u64 = self.lists.iter().map(|list| list.len() as u64).sum();
        let edges = if self.directed { entries } else { (entries + loops) / 2 };
        let counts = Counts { edges, duplicates: 0, self_loops: loops };
        writer.finish(IdsSource::Dense, counts).unwrap();
        Arc::new(Graph::open(device).unwrap())
    }
}

/// A run by `strategy` with 64 MiB.
pub fn config(strategy: Strategy, threads: usize) -> EngineConfig {
    EngineConfig::with_memory(64 << 20).strategy(strategy).threads(threads)
}

/// Every strategy with one to three threads.
pub fn configs() -> impl Iterator<Item = EngineConfig> {
    STRATEGIES
        .into_iter()
        .flat_map(|strategy| (1..=3).map(move |threads| config(strategy, threads)))
}

/// Which of all configurations a case is run with.
#[derive(Clone, Copy)]
pub enum Ways {
    /// Every strategy with every number of threads.
    All,
    /// Every strategy once: the first case and the two after it have all numbers of threads.
    InTurn(usize),
}

impl Ways {
    /// All of them, or those of a case with this place among the others.
    pub fn of(all: bool, turn: usize) -> Self {
        if all { Self::All } else { Self::InTurn(turn) }
    }

    pub fn configs(self) -> impl Iterator<Item = EngineConfig> {
        let is_chosen = move |i: &usize| match self {
            Self::All => true,
            Self::InTurn(turn) => i % 3 == (i / 3 + turn) % 3,
        };
        (0..).zip(configs()).filter(move |(i, _)| is_chosen(i)).map(|(_, config)| config)
    }

    /// The same, with memory for everything and with `tight_bytes`.
    pub fn configs_within(self, tight_bytes: u64) -> impl Iterator<Item = EngineConfig> {
        self.configs().flat_map(move |config| {
            let tight = config.clone().memory_bytes(tight_bytes);
            [config, tight]
        })
    }
}

/// The same, with memory for everything and with `tight_bytes`.
pub fn configs_within(tight_bytes: u64) -> impl Iterator<Item = EngineConfig> {
    Ways::All.configs_within(tight_bytes)
}

/// SplitMix64: the same graphs from the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(x ^ (x >> 31)) * u128::from(bound)) >> 64) as u32
    }
}

/// Small random graphs: sparse to dense, loops, isolated vertices, now and then a skewed end.
pub fn random_graph(seed: u64, directed: bool) -> Plain {
    let mut random = Random(seed);
    let vertices = 1 + random.below(120);
    let density = 1 + random.below(6);
    let edges = random.below(1 + vertices * density);
    let skewed = random.below(2) == 0;
    let pairs: Vec<(u32, u32)> = (0..edges)
        .map(|_| {
            let bound = if skewed { 1 + random.below(vertices) } else { vertices };
            (random.below(bound), random.below(vertices))
        })
        .collect();
    Plain::of(vertices, &pairs, directed)
}

/// Graphs that have once been trouble: none or one vertex, no edges, loops only, two hubs whose
/// lists run over many pages and that share their leaves.
pub fn odd_graphs(directed: bool) -> Vec<Plain> {
    let leaves = 4000;
    let mut hubs: Vec<(u32, u32)> = vec![(0, 1), (leaves, 2)];
    for leaf in 3..leaves {
        hubs.extend([(0, leaf), (leaf, 1)]);
        if leaf % 3 == 0 {
            hubs.extend([(leaf, leaf - 1), (1, leaf), (leaf, leaf)]);
        }
    }
    let path: Vec<(u32, u32)> = (0..2000).map(|v| (v, v + 1)).collect();
    vec![
        Plain::of(1, &[], directed),
        Plain::of(7, &[], directed),
        Plain::of(3, &[(0, 0), (2, 2)], directed),
        Plain::of(leaves + 3, &hubs, directed),
        Plain::of(2001, &path, directed),
    ]
}

/// A graph of `n` vertices with about `degree` edges each, half of them to few vertices; no loops.
pub fn random_with_hubs(seed: u64, n: usize, degree: usize, directed: bool) -> Plain {
    let mut random = Random(seed);
    let mut lists = vec![Vec::new(); n];
    let edges = n * degree / if directed { 1 } else { 2 };
    let n = n as u32;
    for _ in 0..edges {
        let few = if random.below(2) == 0 { n } else { n / 10 + 1 };
        let (a, b) = (random.below(n), random.below(few));
        if a != b {
            lists[a as usize].push(b);
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    if directed { Plain::of_lists(lists, directed) } else { Plain::symmetric(lists) }
}

/// Graphs to search, undirected and directed: with parts that cannot be reached, hubs over many
/// pages, a path whose vertices lie scattered, and next to nothing.
pub fn graphs_to_search(seed: u64) -> Vec<Plain> {
    let mut random = Random(seed);
    let mut graphs = Vec::new();
    for directed in [false, true] {
        let mut edges: Vec<_> =
            (0..9000).map(|_| (random.below(4000), random.below(4000))).collect();
        graphs.push(Plain::of(4200, &edges, directed).named("random"));
        // Two hubs whose lists run over pages, one with a loop.
        edges.extend((0..6000).map(|v| (4100, v)));
        edges.extend((0..5000).map(|v| (v, 4150)));
        edges.push((4100, 4100));
        graphs.push(Plain::of(6000, &edges, directed).named("hubs"));
        let at = |i: u32| (i * 7919) % 5003;
        let path: Vec<_> = (0..5002).map(|i| (at(i), at(i + 1))).collect();
        graphs.push(Plain::of(5003, &path, directed).named("path"));
        graphs.push(Plain::of(3, &[], directed).named("empty"));
        graphs.push(Plain::of(1, &[(0, 0)], directed).named("loop"));
    }
    graphs
}
