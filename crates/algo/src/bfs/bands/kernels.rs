//! One step over sets: as [`step`](super::super::step) and
//! [`hub_neighbours`](super::super::hub_neighbours), without levels and lists in memory.

use cenote_engine::{Bitmap, Frontier, FrontierPart, HubNeighbours, Kernel, List, VertexId};

/// Each frontier vertex marks its unvisited neighbours.
pub(super) struct TopDown<'a> {
    pub visited: &'a Bitmap,
    pub next: &'a Frontier,
}

impl Kernel for TopDown<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        for &target in list.targets {
            if !self.visited.contains(target) && self.visited.insert(target) {
                self.next.add(target, part);
            }
        }
    }
}

/// Each unvisited vertex looks for an in-neighbour in the frontier.
pub(super) struct BottomUp<'a> {
    pub frontier: &'a Frontier,
    pub next: &'a Frontier,
}

impl Kernel for BottomUp<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        if list.targets.iter().any(|&target| self.frontier.contains(target)) {
            self.next.add(list.vertex, part);
        }
    }
}

/// Each unvisited vertex looks for a hub neighbour in the frontier.
pub(super) struct BottomUpHubNeighbours<'a> {
    pub visited: &'a Bitmap,
    pub frontier: &'a Frontier,
    pub next: &'a Frontier,
    /// Vertices whose lists this step does not need any more; initially the visited ones.
    pub settled: &'a Bitmap,
}

impl Kernel for BottomUpHubNeighbours<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn hub_neighbours(
        &self,
        part: &mut FrontierPart,
        first: VertexId,
        hub_neighbours: &[HubNeighbours],
    ) {
        for (v, hubs) in (first..).zip(hub_neighbours) {
            if self.visited.contains(v) {
                continue;
            }
            if hubs.neighbours().iter().any(|&neighbour| self.frontier.contains(neighbour)) {
                self.next.add(v, part);
                self.settled.insert(v);
            } else if hubs.is_whole() {
                self.settled.insert(v);
            }
        }
    }
}
