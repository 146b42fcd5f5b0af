//! The plain serial verifier.

use std::collections::BTreeMap;

use cenote_engine::{Direction, Graph, VertexId, for_each_weighted_list, with_numbers};

use super::lists::Scale;
use super::{Communities, CommunitiesConfig, Method};
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result};

/// How far modularity may be from the one that is computed anew.
const TOLERANCE: f64 = 1e-9;

/// Modularity from the weight within communities, counted at both ends, the sum of the squared
/// weights of communities, and twice the weight of all edges.
pub(super) fn modularity(
    within: u64,
    squares: u128,
    total: u64,
    config: &CommunitiesConfig,
) -> f64 {
    if total == 0 {
        return 0.0;
    }
    let total = total as f64;
    within as f64 / total - config.resolution * (squares as f64 / total / total)
}

/// Computes the modularity and the counts again, and asserts that every label is the smallest id of
/// its community, that communities of Leiden are connected, and that no two adjacent communities
/// gain by being joined. Takes memory for each pair of adjacent communities.
///
/// # Errors
/// [`AlgoError::Wrong`] if something does not hold; a graph that cannot be read.
pub fn verify(graph: &Graph, config: &CommunitiesConfig, found: &Communities) -> Result<()> {
    let wrong = |fault| AlgoError::Wrong { what: config.method.name(), fault };
    let (scale, labels) = (Scale::of(graph)?, found.labels());
    let n = graph.vertices();
    let mut parts: Vec<VertexId> = (0..n as VertexId).collect();
    let (mut within, mut total, mut totals) = (0u64, 0u64, vec![0u64; n]);
    let mut between: BTreeMap<(VertexId, VertexId), u64> = BTreeMap::new();
    for_each_weighted_list(graph, Direction::Out, |list, weights| {
        let v = list.vertex;
        let own = labels[v as usize];
        for (at, &target) in list.targets.iter().enumerate() {
            let weight = weights
                .map_or(1, |weights| with_numbers!(weights, numbers => scale.integer(numbers[at])));
            let weight = if target == v { 2 * weight } else { weight };
            total += weight;
            totals[own as usize] += weight;
            let other = labels[target as usize];
            if own == other {
                within += weight;
                let (a, b) = (root(&mut parts, v), root(&mut parts, target));
                if weight > 0 {
                    parts[a as usize] = b;
                }
            } else if own < other {
                *between.entry((own, other)).or_insert(0) += weight;
            }
        }
    })?;
    check_labels(graph, found).map_err(wrong)?;
    let squares = totals.iter().map(|&weight| u128::from(weight).pow(2)).sum();
    let expected = modularity(within, squares, total, config);
    if (found.modularity - expected).abs() > TOLERANCE {
        return Err(wrong(format!("the modularity is {}, not {expected}", found.modularity)));
    }
    if config.method == Method::Leiden {
        for v in 0..n as VertexId {
            let label = labels[v as usize];
            if root(&mut parts, v) != root(&mut parts, label) {
                return Err(wrong(format!("vertices {v} and {label} are not connected")));
            }
        }
    }
    for ((a, b), weight) in between {
        let (of_a, of_b) = (totals[a as usize] as f64, totals[b as usize] as f64);
        let gain = weight as f64 - config.resolution * of_a * of_b / total as f64;
        if gain > TOLERANCE * total as f64 {
            return Err(wrong(format!("communities {a} and {b} gain by being joined: {gain}")));
        }
    }
    Ok(())
}

/// Asserts that labels are the smallest ids, and the counts.
fn check_labels(graph: &Graph, found: &Communities) -> std::result::Result<(), String> {
    let ranks = Ranks::load(graph).map_err(|error| error.to_string())?;
    let labels = found.labels();
    let mut sizes = vec![0u64; labels.len()];
    for (v, &label) in (0..).zip(labels) {
        if labels[label as usize] != label || ranks.of(label) > ranks.of(v) {
            return Err(format!("vertex {v} has the label {label}"));
        }
        sizes[label as usize] += u64::from(!graph.is_deleted(v));
    }
    let communities = sizes.iter().filter(|&&size| size > 0).count() as u64;
    let single = sizes.iter().filter(|&&size| size == 1).count() as u64;
    let largest = sizes.iter().copied().max().unwrap_or(0);
    if (found.communities, found.single, found.largest) != (communities, single, largest) {
        return Err(format!(
            "{} communities, {} of one vertex, the largest of {}; expected {communities}, \
             {single} and {largest}",
            found.communities, found.single, found.largest
        ));
    }
    Ok(())
}

fn root(parts: &mut [VertexId], mut v: VertexId) -> VertexId {
    while parts[v as usize] != v {
        parts[v as usize] = parts[parts[v as usize] as usize];
        v = parts[v as usize];
    }
    v
}
