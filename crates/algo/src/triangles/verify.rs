//! The verifier: a serial count with all lists in memory.

use cenote_engine::{Direction, Graph, VertexId, for_each_list};

use super::{NAME, Triangles};
use crate::report::{AlgoError, Result};

/// The result of the serial count.
pub(crate) struct Counts {
    pub triangles: u64,
    /// Triangles of each vertex.
    pub of_vertex: Vec<u64>,
    /// Directed edges between the other two vertices of its triangles; an edge of an undirected
    /// graph counts as one.
    pub edges_of_vertex: Vec<u64>,
    /// Neighbours of each vertex.
    pub degrees: Vec<u32>,
}

/// Counts the triangles again serially, and asserts that the triangles of the graph, the pairs of
/// neighbours, and the counts of each vertex are the same. Takes 8 bytes an entry of the lists.
pub fn verify(graph: &Graph, triangles: &Triangles) -> Result<()> {
    let expected = count_serially(graph)?;
    let wedges: u128 = expected
        .degrees
        .iter()
        .map(|&degree| u128::from(degree) * u128::from(degree.saturating_sub(1)) / 2)
        .sum();
    let found = (triangles.triangles, triangles.wedges);
    if found != (expected.triangles, wedges) {
        return Err(wrong(format!(
            "{} triangles and {} pairs of neighbours; expected {} and {wedges}",
            found.0, found.1, expected.triangles
        )));
    }
    for (v, &expected) in (0..).zip(&expected.of_vertex) {
        match triangles.of(v) {
            Some(found) if found != expected => {
                return Err(wrong(format!("vertex {v} is in {found} triangles, not {expected}")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}

/// Marks the later neighbours of each vertex and looks for marks in their lists of later
/// neighbours; later means of larger degree, or equal degree and larger id.
pub(crate) fn count_serially(graph: &Graph) -> Result<Counts> {
    let lists = neighbours(graph)?;
    let n = lists.len();
    let key = |v: VertexId| (lists[v as usize].len(), v);
    let later: Vec<Vec<(VertexId, u64)>> = (0..n as VertexId)
        .map(|v| {
            let list = lists[v as usize].iter().copied();
            list.filter(|&(other, _)| key(other) > key(v)).collect()
        })
        .collect();
    let mut counts = Counts {
        triangles: 0,
        of_vertex: vec![0; n],
        edges_of_vertex: vec![0; n],
        degrees: lists.iter().map(|list| list.len() as u32).collect(),
    };
    let mut marks = vec![0; n];
    for u in 0..n {
        later[u].iter().for_each(|&(x, edges)| marks[x as usize] = edges);
        for &(w, uw) in &later[u] {
            for &(x, wx) in &later[w as usize] {
                let ux = marks[x as usize];
                if ux > 0 {
                    counts.triangles += 1;
                    for (v, edges) in [(u, wx), (w as usize, ux), (x as usize, uw)] {
                        counts.of_vertex[v] += 1;
                        counts.edges_of_vertex[v] += edges;
                    }
                }
            }
        }
        later[u].iter().for_each(|&(x, _)| marks[x as usize] = 0);
    }
    Ok(counts)
}

/// The neighbours of each vertex, ascending, each with the number of edges between the two: 1, or
/// 2 where a directed graph has both.
fn neighbours(graph: &Graph) -> Result<Vec<Vec<(VertexId, u64)>>> {
    let mut lists: Vec<Vec<(VertexId, u64)>> = vec![Vec::new(); graph.vertices()];
    for_each_list(graph, Direction::Out, |list| {
        for &target in list.targets.iter().filter(|&&target| target != list.vertex) {
            lists[list.vertex as usize].push((target, 1));
            if graph.is_directed() {
                lists[target as usize].push((list.vertex, 2));
            }
        }
    })?;
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
        // Remaining duplicates are both target and source.
        list.dedup_by(|second, first| {
            let same = first.0 == second.0;
            first.1 = if same { 3 } else { first.1 };
            same
        });
        list.iter_mut().for_each(|(_, edges)| *edges = if *edges == 3 { 2 } else { 1 });
    }
    Ok(lists)
}
