//! Graphs to search, in memory and stored.

use std::collections::VecDeque;
use std::sync::Arc;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, Strategy};
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, IdsSource};

/// A xorshift generator: the same graphs from the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % u64::from(limit)) as u32
    }
}

/// A graph in memory.
pub struct Lists {
    pub name: &'static str,
    pub directed: bool,
    pub out: Vec<Vec<u32>>,
}

impl Lists {
    pub fn of(name: &'static str, n: u32, directed: bool, edges: &[(u32, u32)]) -> Self {
        let mut out = vec![Vec::new(); n as usize];
        for &(a, b) in edges {
            out[a as usize].push(b);
            if !directed {
                out[b as usize].push(a);
            }
        }
        for list in &mut out {
            list.sort_unstable();
            list.dedup();
        }
        Self { name, directed, out }
    }

    pub fn turned_round(&self) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); self.out.len()];
        for (v, list) in self.out.iter().enumerate() {
            list.iter().for_each(|&target| lists[target as usize].push(v as u32));
        }
        lists
    }

    /// Levels from the nearest source.
    pub fn levels(&self, sources: &[u32]) -> Vec<Option<u32>> {
        let mut levels = vec![None; self.out.len()];
        let mut queue: VecDeque<u32> = sources.iter().copied().collect();
        sources.iter().for_each(|&source| levels[source as usize] = Some(0));
        while let Some(v) = queue.pop_front() {
            for &target in &self.out[v as usize] {
                if levels[target as usize].is_none() {
                    levels[target as usize] = levels[v as usize].map(|level| level + 1);
                    queue.push_back(target);
                }
            }
        }
        levels
    }

    /// Stored in 4 KiB pages; a directed graph with in-edges where asked for.
    pub fn stored(&self, in_edges: bool) -> Arc<Graph> {
        let model = Preset::by_name("optane-p4800x").unwrap().model();
        let device = Arc::new(SimDevice::new(SimConfig::new(model)));
        let in_edges = in_edges && self.directed;
        let spec = GraphSpec {
            page_bytes: 4096,
            vertices: self.out.len() as u64,
            directed: self.directed,
            in_edges,
            duplicates_kept: false,
            self_loops_kept: true,
            salt: 7,
        };
        let mut writer = GraphWriter::create(device.clone(), spec).unwrap();
        self.out.iter().for_each(|list| writer.push_list(list).unwrap());
        if in_edges {
            writer.begin_in().unwrap();
            self.turned_round().iter().for_each(|list| writer.push_list(list).unwrap());
        }
        let entries: usize = self.out.iter().map(Vec::len).sum();
        let loops = (0..).zip(&self.out).filter(|(v, list)| list.contains(v)).count();
        let edges = if self.directed { entries } else { (entries + loops) / 2 } as u64;
        writer.finish(IdsSource::Dense, Counts { edges, duplicates: 0, self_loops: 0 }).unwrap();
        Arc::new(Graph::open(device).unwrap())
    }
}

/// Every shape, undirected and directed.
pub fn all(seed: u64) -> Vec<Lists> {
    let mut random = Random(seed);
    let mut graphs = Vec::new();
    for directed in [false, true] {
        let mut edges: Vec<_> =
            (0..9000).map(|_| (random.below(4000), random.below(4000))).collect();
        graphs.push(Lists::of("random", 4200, directed, &edges));
        // Two hubs whose lists run over pages, one with a loop.
        edges.extend((0..6000).map(|v| (4100, v)));
        edges.extend((0..5000).map(|v| (v, 4150)));
        edges.push((4100, 4100));
        graphs.push(Lists::of("hubs", 6000, directed, &edges));
        // A path whose vertices lie scattered over the pages.
        let at = |i: u32| (i * 7919) % 5003;
        let path: Vec<_> = (0..5002).map(|i| (at(i), at(i + 1))).collect();
        graphs.push(Lists::of("path", 5003, directed, &path));
        graphs.push(Lists::of("empty", 3, directed, &[]));
        graphs.push(Lists::of("loop", 1, directed, &[(0, 0)]));
    }
    graphs
}

/// All strategies, with 1 to 3 threads; memory for everything, and `tight_bytes`.
pub fn configs(tight_bytes: u64) -> Vec<EngineConfig> {
    let mut configs = Vec::new();
    for strategy in [Strategy::Auto, Strategy::Block, Strategy::Vertex] {
        for threads in 1..=3 {
            for memory_bytes in [64 << 20, tight_bytes] {
                configs.push(EngineConfig {
                    strategy,
                    threads,
                    ..EngineConfig::with_memory(memory_bytes)
                });
            }
        }
    }
    configs
}
