//! The serial verifier of strong components.

use cenote_engine::{Graph, VertexId};

use super::{Scc, wrong};
use crate::plain::Lists;
use crate::ranks::Ranks;
use crate::report::Result;

/// Computes the components again by two depth-first searches, serially and in memory (Kosaraju and
/// Sharir), and asserts that every label is the vertex with the smallest id in its component, and
/// that the counts follow from the labels. Keeps all lists in memory, one direction at a time.
pub fn verify(graph: &Graph, scc: &Scc) -> Result<()> {
    let ranks = Ranks::load(graph)?;
    let outward = Lists::outward(graph)?;
    let n = outward.vertices();
    let mut order = Vec::with_capacity(n as usize);
    let mut seen = vec![false; n as usize];
    for v in 0..n {
        search(&outward, v, &mut seen, &mut order);
    }
    drop(outward);
    let inward = Lists::inward(graph)?;
    seen.fill(false);
    let mut sizes = vec![0u64; n as usize];
    while let Some(v) = order.pop() {
        let mut members = Vec::new();
        search(&inward, v, &mut seen, &mut members);
        let Some(&smallest) = members.iter().min_by_key(|&&v| ranks.of(v)) else { continue };
        sizes[smallest as usize] = match graph.is_deleted(smallest) {
            true => 0,
            false => members.len() as u64,
        };
        for member in members {
            let found = scc.label(member);
            if found != smallest {
                return Err(wrong(format!("vertex {member} is labelled {found}, not {smallest}")));
            }
        }
    }
    let expected = (
        sizes.iter().filter(|&&size| size > 0).count() as u64,
        sizes.iter().filter(|&&size| size == 1).count() as u64,
        sizes.iter().copied().max().unwrap_or(0),
    );
    let found = (scc.components, scc.single, scc.largest);
    if found != expected {
        return Err(wrong(format!(
            "components, those of one vertex, and the largest are {found:?}, not {expected:?}"
        )));
    }
    Ok(())
}

/// Appends the unseen vertices that are reached from `v`, in postorder.
fn search(lists: &Lists, v: VertexId, seen: &mut [bool], ended: &mut Vec<VertexId>) {
    if std::mem::replace(&mut seen[v as usize], true) {
        return;
    }
    let mut path = vec![(v, 0)];
    while let Some((v, next)) = path.last_mut() {
        match lists.of_vertex(*v).get(*next) {
            Some(&target) => {
                *next += 1;
                if !std::mem::replace(&mut seen[target as usize], true) {
                    path.push((target, 0));
                }
            }
            None => {
                ended.push(*v);
                path.pop();
            }
        }
    }
}
