//! Graphs made for tests, stored on a simulated device.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::sync::Arc;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, Strategy};
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, IdsSource};

pub const STRATEGIES: [Strategy; 3] = [Strategy::Auto, Strategy::Block, Strategy::Vertex];

/// A graph: targets of each vertex, ascending; of an undirected graph both ways.
pub struct Lists {
    pub out: Vec<Vec<u32>>,
    pub directed: bool,
}

impl Lists {
    fn sources(&self) -> Vec<Vec<u32>> {
        let mut sources = vec![Vec::new(); self.out.len()];
        for (v, list) in (0..).zip(&self.out) {
            list.iter().for_each(|&target| sources[target as usize].push(v));
        }
        sources
    }
}

/// Both ways, each once, without loops.
pub fn symmetric(out: Vec<Vec<u32>>) -> Lists {
    let mut lists = Lists { out, directed: false };
    for (v, sources) in lists.sources().into_iter().enumerate() {
        let list = &mut lists.out[v];
        list.extend(sources);
        list.retain(|&target| target as usize != v);
        list.sort_unstable();
        list.dedup();
    }
    lists
}

/// A graph of `n` vertices with about `degree` edges each, half of them to few vertices.
pub fn random(seed: u64, n: usize, degree: usize, directed: bool) -> Lists {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
    let mut draw = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let mut out = vec![Vec::new(); n];
    for _ in 0..n * degree / if directed { 1 } else { 2 } {
        let (a, b) = (draw(n), if draw(2) == 0 { draw(n) } else { draw(n / 10 + 1) });
        if a != b {
            out[a].push(b as u32);
        }
    }
    for list in &mut out {
        list.sort_unstable();
        list.dedup();
    }
    if directed { Lists { out, directed } } else { symmetric(out) }
}

pub fn stored(lists: &Lists, page_bytes: usize) -> Arc<Graph> {
    store(lists, page_bytes, lists.directed)
}

pub fn stored_without_in_edges(lists: &Lists, page_bytes: usize) -> Arc<Graph> {
    store(lists, page_bytes, false)
}

fn store(lists: &Lists, page_bytes: usize, in_edges: bool) -> Arc<Graph> {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let device = Arc::new(SimDevice::new(SimConfig::new(model)));
    let repeats = |list: &Vec<u32>| list.windows(2).any(|pair| pair[0] == pair[1]);
    let has_loop = |(v, list): (usize, &Vec<u32>)| list.contains(&(v as u32));
    let spec = GraphSpec {
        page_bytes,
        vertices: lists.out.len() as u64,
        directed: lists.directed,
        in_edges,
        duplicates_kept: lists.out.iter().any(repeats),
        self_loops_kept: lists.out.iter().enumerate().any(has_loop),
        salt: 7,
    };
    let mut writer = GraphWriter::create(device.clone(), spec).unwrap();
    lists.out.iter().for_each(|list| writer.push_list(list).unwrap());
    if in_edges {
        writer.begin_in().unwrap();
        lists.sources().iter().for_each(|list| writer.push_list(list).unwrap());
    }
    let entries: u64 = lists.out.iter().map(|list| list.len() as u64).sum();
    let loops = (0..).zip(&lists.out).flat_map(|(v, list)| list.iter().filter(move |&&t| t == v));
    let edges = if lists.directed { entries } else { (entries + loops.count() as u64) / 2 };
    writer.finish(IdsSource::Dense, Counts { edges, duplicates: 0, self_loops: 0 }).unwrap();
    Arc::new(Graph::open(device).unwrap())
}

pub fn config(strategy: Strategy, threads: usize) -> EngineConfig {
    EngineConfig { strategy, threads, ..EngineConfig::with_memory(64 << 20) }
}
