//! The plain serial verifier.

use cenote_engine::{Direction, Graph, VertexId, for_each_weighted_list};

use super::components::Edge;
use super::{Msf, total, wrong};
use crate::ranks::Ranks;
use crate::report::Result;

/// Finds the forest again by Kruskal's algorithm, with all edges in memory, and asserts that the
/// edges, their weights and the components are the same. Takes 16 bytes an edge and more while they
/// are sorted.
///
/// # Errors
/// [`AlgoError::Wrong`](crate::AlgoError::Wrong) if something does not hold; a graph that cannot be
/// read.
pub fn verify(graph: &Graph, msf: &Msf) -> Result<()> {
    let ranks = Ranks::load(graph)?;
    let mut edges = Vec::new();
    for_each_weighted_list(graph, Direction::Out, |list, weights| {
        let v = ranks.of(list.vertex);
        for (i, &target) in list.targets.iter().enumerate() {
            let target = ranks.of(target);
            if v < target {
                let weight = weights.and_then(|weights| weights.get(i).ordered_bits());
                edges.push(Edge::new(weight.unwrap_or(0), v, target));
            }
        }
    })?;
    edges.sort_unstable();
    let mut parents: Vec<VertexId> = (0..graph.vertices() as VertexId).collect();
    edges.retain(|edge| {
        let (a, b) = edge.ends();
        let (a, b) = (find(&mut parents, a), find(&mut parents, b));
        parents[a as usize] = b;
        a != b
    });
    edges.sort_unstable_by_key(|edge| edge.ends());
    let found: Vec<Edge> = msf.edges.forest().iter().map(|slot| slot.get()).collect();
    if let Some((found, expected)) = found.iter().zip(&edges).find(|(a, b)| a != b) {
        return Err(wrong(format!("an edge of the forest is {found:?}, not {expected:?}")));
    }
    let components = (graph.live_vertices() - edges.len().min(graph.live_vertices())) as u64;
    if (found.len(), msf.components) != (edges.len(), components) {
        return Err(wrong(format!(
            "the forest has {} edges and {} components, not {} and {components}",
            found.len(),
            msf.components,
            edges.len()
        )));
    }
    let expected = total(msf.kind, &msf.edges);
    if msf.total != expected {
        return Err(wrong(format!("the weight is {:?}, not {expected:?}", msf.total)));
    }
    Ok(())
}

fn find(parents: &mut [VertexId], mut v: VertexId) -> VertexId {
    while parents[v as usize] != v {
        parents[v as usize] = parents[parents[v as usize] as usize];
        v = parents[v as usize];
    }
    v
}
