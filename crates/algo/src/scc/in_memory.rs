//! Strong components of the residual graph in memory: Tarjan's search with an explicit stack, and
//! the giant component as one vertex.

use std::sync::atomic::Ordering;

use cenote_engine::{Graph, VertexId};

use super::known::Known;
use crate::residual::{self, Place, ResidualPart};

/// Words per kept list: the fields of [`Search`], one word each, two for `places` and `path`, and a
/// byte.
pub(super) const WORDS_BESIDE: usize = 9;

/// Bytes for all lists.
pub(super) fn bytes_for(graph: &Graph) -> u64 {
    let words = graph.superblock().stored_out + graph.vertices() as u64 * (WORDS_BESIDE as u64 + 2);
    // Twice, since one worker may keep more lists than the others.
    words * 4 * 2 + 4096
}

/// Settles all vertices whose lists were kept; all others are settled already.
pub(super) fn finish(mut parts: Vec<ResidualPart>, known: &Known) {
    let vertices: Vec<VertexId> = {
        let mut vertices = Vec::with_capacity(parts.iter().map(ResidualPart::lists).sum());
        vertices.extend(residual::places(&parts).map(|(v, _)| v));
        vertices
    };
    let mut reaches_giant = vec![false; vertices.len()];
    for (i, &v) in (0..).zip(&vertices) {
        known.labels[v as usize].store(i, Ordering::Relaxed);
    }
    let mut i = 0;
    for part in &mut parts {
        part.retain(|kept, targets| {
            let number = i;
            i += 1;
            let inside = known.reached.contains(kept.vertex);
            let mut count = 0;
            for at in 0..targets.len() {
                let target = targets[at];
                if known.giant.contains(target) {
                    reaches_giant[number] |= inside;
                } else if known.matters(kept.vertex, inside, target) {
                    targets[count] = known.labels[target as usize].load(Ordering::Relaxed);
                    count += 1;
                }
            }
            Some(count)
        });
    }
    let mut places = Vec::with_capacity(vertices.len());
    places.extend(residual::places(&parts).map(|(_, place)| place));
    let count = vertices.len();
    Search {
        known,
        parts: &parts,
        vertices,
        places,
        order: vec![0; count],
        low: vec![0; count],
        open: Vec::with_capacity(count),
        path: Vec::with_capacity(count),
        reaches_giant,
    }
    .run();
}

/// The component of the vertex is known.
const CLOSED: u32 = u32::MAX;

/// Tarjan's search over numbered lists.
struct Search<'a> {
    known: &'a Known,
    parts: &'a [ResidualPart],
    vertices: Vec<VertexId>,
    /// The place of each list.
    places: Vec<Place>,
    /// The order in which vertices were found, from 1; 0 before.
    order: Vec<u32>,
    /// The earliest found open vertex that a vertex is known to reach.
    low: Vec<u32>,
    /// Vertices found and not yet closed.
    open: Vec<u32>,
    /// The current path, each vertex with its next target.
    path: Vec<(u32, u32)>,
    reaches_giant: Vec<bool>,
}

impl Search<'_> {
    fn run(mut self) {
        let mut found = 0;
        for start in 0..self.vertices.len() as u32 {
            if self.order[start as usize] == 0 {
                self.find(start, &mut found);
                self.search(&mut found);
            }
        }
    }

    fn find(&mut self, v: u32, found: &mut u32) {
        *found += 1;
        self.order[v as usize] = *found;
        self.low[v as usize] = *found;
        self.open.push(v);
        self.path.push((v, 0));
    }

    fn search(&mut self, found: &mut u32) {
        while let Some((v, next)) = self.path.last_mut() {
            let v = *v;
            let targets = residual::targets(self.parts, self.places[v as usize]);
            match targets.get(*next as usize) {
                Some(&target) => {
                    if self.order[target as usize] == 0 {
                        // `next` is unchanged: the target is looked at again when it returns.
                        self.find(target, found);
                        continue;
                    }
                    *next += 1;
                    if self.order[target as usize] != CLOSED {
                        self.low[v as usize] = self.low[v as usize].min(self.low[target as usize]);
                    }
                    self.reaches_giant[v as usize] |= self.reaches_giant[target as usize];
                }
                None => {
                    self.path.pop();
                    if self.low[v as usize] == self.order[v as usize] {
                        self.close(v);
                    }
                }
            }
        }
    }

    /// Closes `v` and the open vertices found after it: they are a component, or belong to the
    /// giant component if they reach it, since all vertices of `reached` are reached from it.
    fn close(&mut self, v: u32) {
        let from = self.open.iter().rposition(|&u| u == v).expect("it is open");
        let members = &self.open[from..];
        let vertex = |&u: &u32| self.vertices[u as usize];
        let reaches = members.iter().any(|&u| self.reaches_giant[u as usize]);
        let smallest = members.iter().map(vertex).min().expect("it is a member");
        for &u in members {
            self.reaches_giant[u as usize] = reaches;
            self.order[u as usize] = CLOSED;
            if reaches {
                self.known.join_giant(self.vertices[u as usize]);
            } else {
                self.known.settle(self.vertices[u as usize], smallest);
            }
        }
        self.open.truncate(from);
    }
}
