//! The plain serial verifier.

use cenote_engine::{Direction, Graph, VertexId, for_each_list};

use super::{Bfs, wrong};
use crate::ranks::{NO_PARENT, Ranks};
use crate::report::Result;

/// Asserts, in one serial pass over the edges: only sources have level 0; no edge leads from a
/// reached vertex to one that is unreached or more than one level further, except from the last
/// level of a search that ended early; every other reached vertex has an edge from the level
/// before; its parent is the one with the smallest id; the counts follow from the levels. Takes 4
/// bytes a vertex.
pub fn verify(graph: &Graph, bfs: &Bfs) -> Result<()> {
    let n = graph.vertices();
    let ranks = Ranks::load(graph)?;
    let mut least_parent = vec![NO_PARENT; n];
    let mut fault = None;
    for_each_list(graph, Direction::Out, |list| {
        let Some(level) = bfs.level(list.vertex) else { return };
        for &target in list.targets {
            match bfs.level(target) {
                Some(further) if further == level + 1 => {
                    let least = &mut least_parent[target as usize];
                    if *least == NO_PARENT || ranks.of(list.vertex) < ranks.of(*least) {
                        *least = list.vertex;
                    }
                }
                Some(further) if further <= level => {}
                None if bfs.ended_early && level == bfs.depth => {}
                other => {
                    fault.get_or_insert_with(|| {
                        format!("edge {} (level {level}) to {target} ({other:?})", list.vertex)
                    });
                }
            }
        }
    })?;
    match fault {
        Some(fault) => Err(wrong(fault)),
        None => verify_vertices(n, bfs, &least_parent),
    }
}

fn verify_vertices(n: usize, bfs: &Bfs, least_parent: &[u32]) -> Result<()> {
    let (mut reached, mut depth) = (0, 0);
    let mut is_source = vec![false; n];
    bfs.sources.iter().for_each(|&source| is_source[source as usize] = true);
    for v in 0..n as VertexId {
        let Some(level) = bfs.level(v) else { continue };
        reached += 1;
        depth = depth.max(level);
        let is_source = is_source[v as usize];
        let expected = if is_source { v } else { least_parent[v as usize] };
        if (level == 0) != is_source || expected == NO_PARENT {
            return Err(wrong(format!("vertex {v} has level {level} without a parent")));
        }
        if bfs.has_parents() && bfs.parent(v) != Some(expected) {
            return Err(wrong(format!("the parent of {v} is {:?}, not {expected}", bfs.parent(v))));
        }
    }
    if (bfs.reached, bfs.depth) != (reached, depth) {
        return Err(wrong(format!(
            "{} reached to depth {}, not {reached} to {depth}",
            bfs.reached, bfs.depth
        )));
    }
    Ok(())
}
