//! One step over sets: as [`step`](super::super::step) and
//! [`hub_neighbours`](super::super::hub_neighbours), without levels and lists in memory.

use cenote_engine::{Bitmap, Frontier, FrontierPart, HubNeighbours, Kernel, List, VertexId};

use crate::bands::parents::Propose;

/// Each frontier vertex marks its unvisited neighbours.
pub(super) struct TopDown<'a, P> {
    pub parents: P,
    /// Without those of this step.
    pub visited: &'a Bitmap,
    pub next: &'a Frontier,
}

impl<P: Propose> Kernel for TopDown<'_, P> {
    type Local = (FrontierPart, P::Sender);

    fn local(&self) -> Self::Local {
        (FrontierPart::default(), self.parents.begin())
    }

    fn list(&self, (part, sender): &mut Self::Local, list: &List<'_>) {
        for &target in list.targets {
            if !self.visited.contains(target) {
                self.next.add(target, part);
                self.parents.propose(sender, target, list.vertex);
            }
        }
    }

    fn end(&self, (_, sender): &mut Self::Local) {
        self.parents.end(sender);
    }

    fn is_done(&self, (_, sender): &mut Self::Local) -> bool {
        self.parents.has_failed(sender)
    }
}

/// Each unvisited vertex looks for an in-neighbour in the frontier.
pub(super) struct BottomUp<'a, P> {
    pub parents: P,
    pub frontier: &'a Frontier,
    pub next: &'a Frontier,
}

impl<P: Propose> Kernel for BottomUp<'_, P> {
    type Local = (FrontierPart, P::Sender);

    fn local(&self) -> Self::Local {
        (FrontierPart::default(), self.parents.begin())
    }

    fn list(&self, (part, sender): &mut Self::Local, list: &List<'_>) {
        let in_frontier = |target: &VertexId| self.frontier.contains(*target);
        let mut found = list.targets.iter().copied().filter(in_frontier);
        if let Some(first) = found.next() {
            self.next.add(list.vertex, part);
            self.parents.propose(sender, list.vertex, first);
            if !self.parents.is_first_enough() {
                found.for_each(|parent| self.parents.propose(sender, list.vertex, parent));
            }
        }
    }

    fn end(&self, (_, sender): &mut Self::Local) {
        self.parents.end(sender);
    }

    fn is_done(&self, (_, sender): &mut Self::Local) -> bool {
        self.parents.has_failed(sender)
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
