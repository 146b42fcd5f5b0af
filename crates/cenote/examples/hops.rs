//! Counts the vertices at each distance from a vertex: an algorithm that expands a frontier.
//!
//! `cargo run -p cenote --example hops -- GRAPH ID HOPS`

use cenote::engine::{
    ActiveSet, Bitmap, EngineConfig, Frontier, FrontierPart, Kernel, List, Needs,
};
use cenote::{Direction, Graph, Result, VertexId};

/// Adds the unvisited neighbours of the frontier to the next frontier. It is called from many
/// threads, so shared state is atomic: of all inserts of a vertex into a bitmap, one returns true.
struct Expand<'a> {
    met: &'a Bitmap,
    next: &'a Frontier,
}

impl Kernel for Expand<'_> {
    /// What one worker adds to the next frontier.
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        for &target in list.targets {
            if self.met.insert(target) {
                self.next.add(target, part);
            }
        }
    }
}

/// Vertices that are 0, 1, ... `hops` hops away from `start`.
fn within(graph: &Graph, start: VertexId, hops: u32) -> Result<Vec<u64>> {
    // Everything that grows with the graph is reported to the engine, which divides the budget.
    let n = graph.stored().vertices();
    let config = EngineConfig::with_memory(256 << 20);
    let sets = Bitmap::bytes_for(n) + 2 * Frontier::bytes_for(n, config.threads);
    let needs = Needs { what: "hops", state_bytes: sets, scratch_bytes: 0 };
    let engine = graph.engine(config, &needs)?;

    let met = Bitmap::new(n)?;
    let (mut frontier, mut next) = (Frontier::new(n)?, Frontier::new(n)?);
    met.insert(start);
    frontier.set([start]);
    let mut counts = vec![1];
    for hop in 1..=hops {
        let kernel = Expand { met: &met, next: &next };
        let label = format!("hop {hop}");
        let parts = engine.visit(label, Direction::Out, ActiveSet::In(&frontier), &kernel)?;
        frontier.advance(&mut next, parts);
        counts.push(frontier.count());
    }
    Ok(counts)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, start, hops] = arguments.as_slice() else {
        return Err("three arguments are needed: GRAPH ID HOPS".into());
    };
    let graph = Graph::open(path)?;
    let start = graph.vertex_of(start)?;
    for (hop, count) in within(&graph, start, hops.parse()?)?.iter().enumerate() {
        println!("hop {hop}: {count} vertices more");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_has_two_vertices_at_every_distance() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("circle.cenote");
        let circle = (0..100u64).map(|v| (v, (v + 1) % 100));
        cenote::Import::new().edges(circle).run(&path).unwrap();
        let graph = Graph::open(&path).unwrap();
        let start = graph.vertex_of(7).unwrap();
        assert_eq!(within(&graph, start, 3).unwrap(), [1, 2, 2, 2]);
        assert_eq!(within(&graph, start, 51).unwrap()[49..], [2, 1, 0]);
    }
}
