//! A bottom-up step over hub neighbours: of each unvisited vertex the three neighbours of largest
//! degree, which the graph stores in a section of their own.
//!
//! A vertex with a hub neighbour in the frontier is visited; a vertex without further neighbours is
//! settled; only the lists of the others are active after that.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Bitmap, Frontier, FrontierPart, HubNeighbours, Kernel, List, VertexId};

use super::unvisited::{Keep, UnvisitedPart};

/// The step.
pub(super) struct BottomUpHubNeighbours<'a> {
    pub visited: &'a Bitmap,
    pub frontier: &'a Frontier,
    pub next: &'a Frontier,
    /// Vertices whose lists are not needed any more; initially the visited ones.
    pub settled: &'a Bitmap,
    pub levels: &'a [AtomicU32],
    pub level: u32,
    pub keep: &'a Keep,
}

impl Kernel for BottomUpHubNeighbours<'_> {
    /// Part of the next frontier, and lists of vertices without further neighbours.
    type Local = (FrontierPart, UnvisitedPart);

    fn local(&self) -> Self::Local {
        (FrontierPart::default(), self.keep.part())
    }

    fn hub_neighbours(
        &self,
        (part, unvisited): &mut Self::Local,
        first: VertexId,
        hub_neighbours: &[HubNeighbours],
    ) {
        for (v, hubs) in (first..).zip(hub_neighbours) {
            if self.visited.contains(v) {
                continue;
            }
            let neighbours = hubs.neighbours();
            if neighbours.iter().any(|&neighbour| self.frontier.contains(neighbour)) {
                self.next.add(v, part);
                self.levels[v as usize].store(self.level, Ordering::Relaxed);
                self.settled.insert(v);
            } else if hubs.is_whole() {
                let degree = neighbours.len() as u64;
                let list = List { vertex: v, page: 0, skip: 0, degree, targets: neighbours };
                unvisited.keep(&list, self.visited);
                self.settled.insert(v);
            }
        }
    }
}
