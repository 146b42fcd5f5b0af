//! The plain serial verifier.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cenote_engine::{Direction, Graph, VertexId, Weight, for_each_weighted_list};

use super::Sssp;
use super::length::{Lengths, UNREACHED, add_float, add_integer};
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result};

/// Asserts, with all lists and weights in memory, that every distance is that of Dijkstra's
/// algorithm (up to the farthest target); that the parent of every reached vertex but a source has
/// an edge of exactly the right length, is the smallest such vertex at a smaller distance if there
/// is one, and that parents lead to a source.
///
/// # Errors
/// [`AlgoError::Wrong`] if something does not hold; a graph that cannot be read.
pub fn verify(graph: &Graph, sssp: &Sssp) -> Result<()> {
    let n = graph.vertices();
    let mut lists: Vec<Vec<(VertexId, Weight)>> = vec![Vec::new(); n];
    for_each_weighted_list(graph, Direction::Out, |list, weights| {
        let own = &mut lists[list.vertex as usize];
        for (i, &target) in list.targets.iter().enumerate() {
            own.push((target, weights.map_or(Weight::U32(1), |weights| weights.get(i))));
        }
    })?;
    let mut distances = vec![UNREACHED; n];
    let mut heap = BinaryHeap::new();
    for &source in &sssp.sources {
        distances[source as usize] = 0;
        heap.push(Reverse((0, source)));
    }
    while let Some(Reverse((length, v))) = heap.pop() {
        if length > distances[v as usize] {
            continue;
        }
        for &(target, weight) in &lists[v as usize] {
            let sum = add(sssp.lengths, length, weight);
            if sum < distances[target as usize] {
                distances[target as usize] = sum;
                heap.push(Reverse((sum, target)));
            }
        }
    }
    for (v, distance) in distances.iter_mut().enumerate() {
        if *distance > sssp.bound {
            *distance = UNREACHED;
        }
        let found = sssp.length(v as VertexId);
        if found != *distance {
            return wrong(format!("the distance of vertex {v} is {found:#x}, not {distance:#x}"));
        }
    }
    match sssp.has_parents() {
        true => verify_parents(graph, sssp, &lists, &distances),
        false => Ok(()),
    }
}

fn verify_parents(
    graph: &Graph,
    sssp: &Sssp,
    lists: &[Vec<(VertexId, Weight)>],
    distances: &[u64],
) -> Result<()> {
    let ranks = Ranks::load(graph)?;
    // The smallest rank at a smaller distance, and whether the parent has an edge of that length.
    let mut smallest = vec![VertexId::MAX; lists.len()];
    let mut has_edge = vec![false; lists.len()];
    for (u, list) in lists.iter().enumerate().filter(|(u, _)| distances[*u] != UNREACHED) {
        for &(v, weight) in list {
            let sum = add(sssp.lengths, distances[u], weight);
            if sum != distances[v as usize] {
                continue;
            }
            has_edge[v as usize] |= sssp.parent(v) == Some(u as VertexId);
            if distances[u] < sum {
                smallest[v as usize] = smallest[v as usize].min(ranks.of(u as VertexId));
            }
        }
    }
    for v in 0..lists.len() as VertexId {
        let at = v as usize;
        let parent = sssp.parent(v);
        if parent.is_some() != (distances[at] != UNREACHED) {
            return wrong(format!("vertex {v} has a distance or a parent, not both"));
        }
        let Some(parent) = parent.filter(|_| !sssp.sources.contains(&v)) else {
            continue;
        };
        if !has_edge[at] || (smallest[at] != VertexId::MAX && ranks.of(parent) != smallest[at]) {
            return wrong(format!("the parent of vertex {v} is {parent}"));
        }
        let mut last = parent;
        for _ in 0..=lists.len() {
            match sssp.parent(last) {
                Some(next) if next != last && distances[next as usize] == distances[at] => {
                    last = next;
                }
                _ => break,
            }
            if last == v {
                return wrong(format!("the parents of vertex {v} lead in a circle"));
            }
        }
    }
    Ok(())
}

fn add(lengths: Lengths, length: u64, weight: Weight) -> u64 {
    match (lengths, weight) {
        (Lengths::Integers, Weight::U32(weight)) => add_integer(length, weight.into()),
        (Lengths::Integers, Weight::I64(weight)) => add_integer(length, weight.cast_unsigned()),
        (_, weight) => add_float(length, weight.to_f64()),
    }
}

fn wrong<T>(fault: String) -> Result<T> {
    Err(AlgoError::Wrong { what: super::NAME, fault })
}
