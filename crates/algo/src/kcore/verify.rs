//! The serial verifier of core numbers.

use cenote_engine::{Graph, VertexId};

use super::{Kcore, wrong};
use crate::plain::Lists;
use crate::report::Result;

/// Computes the core numbers again by peeling, serially and in memory (Batagelj and Zaveršnik,
/// 2003: always remove the vertex with the fewest remaining neighbours), and asserts that all are
/// the same up to [`KcoreConfig::k`](super::KcoreConfig::k). Keeps all lists in memory.
pub fn verify(graph: &Graph, kcore: &Kcore) -> Result<()> {
    let lists = Lists::both_ways(graph)?;
    let expected = peel(&lists);
    let cut = kcore.k.unwrap_or(u32::MAX);
    let mut counts = std::collections::BTreeMap::new();
    for (v, &core) in (0..).zip(&expected) {
        let (found, core) = (kcore.core(v), core.min(cut));
        if found != core {
            return Err(wrong(format!("vertex {v} has core number {found}, not {core}")));
        }
        if !graph.is_deleted(v) {
            *counts.entry(core).or_insert(0) += 1;
        }
    }
    let degeneracy = counts.last_key_value().map_or(0, |(&core, _)| core);
    let shells: Vec<(u32, u64)> = counts.into_iter().collect();
    if degeneracy != kcore.degeneracy || shells != kcore.shells {
        return Err(wrong(format!(
            "the largest core number is {} with shells {:?}, not {degeneracy} with {shells:?}",
            kcore.degeneracy, kcore.shells
        )));
    }
    Ok(())
}

fn peel(lists: &Lists) -> Vec<u32> {
    let n = lists.vertices();
    let neighbours = |v| lists.of_vertex(v).iter().copied().filter(move |&u| u != v);
    let mut degree: Vec<u32> = (0..n).map(|v| neighbours(v).count() as u32).collect();
    let mut buckets: Vec<Vec<VertexId>> = Vec::new();
    let put = |buckets: &mut Vec<Vec<VertexId>>, v: VertexId, degree: u32| {
        if buckets.len() <= degree as usize {
            buckets.resize(degree as usize + 1, Vec::new());
        }
        buckets[degree as usize].push(v);
    };
    (0..n).for_each(|v| put(&mut buckets, v, degree[v as usize]));
    let mut gone = vec![false; n as usize];
    let mut k = 0;
    let mut lowest = 0;
    while lowest < buckets.len() {
        let Some(v) = buckets[lowest].pop() else {
            lowest += 1;
            continue;
        };
        // A vertex is pushed each time it loses a neighbour; only its last entry counts.
        if gone[v as usize] || degree[v as usize] as usize != lowest {
            continue;
        }
        gone[v as usize] = true;
        k = k.max(lowest as u32);
        degree[v as usize] = k;
        for u in neighbours(v).filter(|&u| !gone[u as usize]) {
            degree[u as usize] -= 1;
            put(&mut buckets, u, degree[u as usize]);
            lowest = lowest.min(degree[u as usize] as usize);
        }
    }
    degree
}
