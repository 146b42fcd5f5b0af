//! Graphs for the tests of algorithms: made of lists, stored on a simulated device.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
#![allow(dead_code, reason = "no test uses all of it")]

use std::sync::Arc;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, Strategy};
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, IdsSource};

pub const STRATEGIES: [Strategy; 3] = [Strategy::Auto, Strategy::Block, Strategy::Vertex];

/// A graph as every algorithm's too simple twin sees it.
#[derive(Clone, Debug)]
pub struct Plain {
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
        Self { lists, directed, in_edges: directed }
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

    /// The graph on pages of 4 KiB.
    pub fn stored(&self) -> Arc<Graph> {
        let model = Preset::by_name("optane-p4800x").unwrap().model();
        let device = Arc::new(SimDevice::new(SimConfig::new(model)));
        let loops = (0..).zip(&self.lists).filter(|&(v, list)| list.contains(&v)).count() as u64;
        let spec = GraphSpec {
            page_bytes: 4096,
            vertices: self.lists.len() as u64,
            directed: self.directed,
            in_edges: self.in_edges,
            duplicates_kept: false,
            self_loops_kept: true,
            salt: 7,
        };
        let mut writer = GraphWriter::create(device.clone(), spec).unwrap();
        self.lists.iter().for_each(|list| writer.push_list(list).unwrap());
        if self.in_edges {
            writer.begin_in().unwrap();
            self.in_lists().iter().for_each(|list| writer.push_list(list).unwrap());
        }
        let entries: u64 = self.lists.iter().map(|list| list.len() as u64).sum();
        let edges = if self.directed { entries } else { (entries - loops) / 2 + loops };
        let counts = Counts { edges, duplicates: 0, self_loops: loops };
        writer.finish(IdsSource::Dense, counts).unwrap();
        Arc::new(Graph::open(device).unwrap())
    }
}

/// A run by `strategy` with 64 MiB.
pub fn config(strategy: Strategy, threads: usize) -> EngineConfig {
    EngineConfig { strategy, threads, ..EngineConfig::with_memory(64 << 20) }
}

/// Every strategy with one to three threads.
pub fn configs() -> impl Iterator<Item = EngineConfig> {
    STRATEGIES
        .into_iter()
        .flat_map(|strategy| (1..=3).map(move |threads| config(strategy, threads)))
}

/// SplitMix64.
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
/// lists run over many pages and who share their leaves.
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
