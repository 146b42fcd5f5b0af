//! Space overhead of pages on real social graphs. Skipped if the data is missing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use crate::graphs::{MemoryDevice, TestGraph};
use cenote_store::superblock::SectionKind;
use flate2::read::MultiGzDecoder;

fn data(name: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::var_os("CENOTE_DATA").map_or(root.join("../shared/data"), PathBuf::from);
    let path = folder.join("social").join(name);
    path.exists().then_some(path)
}

/// The simple graph of an edge list, vertices in the order of their numbers.
fn read_graph(path: PathBuf) -> TestGraph {
    let file = std::fs::File::open(path).unwrap();
    let mut edges = Vec::new();
    for line in BufReader::new(MultiGzDecoder::new(file)).lines() {
        let line = line.unwrap();
        let mut numbers = line.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        if let (Some(u), Some(v)) = (numbers.next(), numbers.next())
            && u != v
        {
            edges.push((u.min(v), u.max(v)));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let mut dense: BTreeMap<u64, u32> = edges.iter().flat_map(|&(u, v)| [(u, 0), (v, 0)]).collect();
    (0..).zip(dense.values_mut()).for_each(|(i, vertex)| *vertex = i);
    let edges: Vec<_> = edges.iter().map(|(u, v)| (dense[u], dense[v])).collect();
    TestGraph::undirected(dense.len(), &edges)
}

#[test]
fn pages_of_social_graphs_cost_at_most_five_per_cent() {
    for name in ["gowalla.txt.gz", "facebook-links.txt.gz"] {
        let Some(path) = data(name) else {
            println!("skipped: {name} is missing (set CENOTE_DATA)");
            continue;
        };
        let graph = read_graph(path);
        let device = MemoryDevice::default();
        let superblock = graph.write(&device, usize::MAX).unwrap();
        let section = superblock.section(SectionKind::OutAdjacency).unwrap();
        let entries = 4 * superblock.stored_out;
        let page_bytes = section.pages * u64::from(superblock.page_bytes);
        let beyond = page_bytes - entries - 2 * superblock.vertices;
        let overhead = beyond as f64 / entries as f64;
        println!(
            "{name}: {} vertices, {} entries, {} pages, {:.2}% beyond entries and offsets",
            superblock.vertices,
            superblock.stored_out,
            section.pages,
            overhead * 100.0
        );
        assert!(overhead <= 0.05, "{name}: {overhead}");
    }
}
