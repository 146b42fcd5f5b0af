//! The kernels of one step: top-down and bottom-up.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Bitmap, EntryOrder, Frontier, FrontierPart, Kernel, List, VertexId};

use super::UNREACHED;
use super::unvisited::{Keep, UnvisitedPart};
use crate::ranks::Parents;

/// Makes `parent` the parent of `v` unless one with a smaller id is known.
#[inline(always)]
pub(super) fn set(parents: Option<&Parents>, v: VertexId, parent: VertexId) {
    if let Some(parents) = parents {
        parents.propose(v, parent);
    }
}

/// Whether one of the ascending `candidates` is in the frontier; proposes those as parents of `v`.
#[inline(always)]
pub(super) fn joins(
    parents: Option<&Parents>,
    v: VertexId,
    candidates: &[VertexId],
    in_frontier: impl Fn(VertexId) -> bool,
) -> bool {
    let mut found = candidates.iter().copied().filter(|&candidate| in_frontier(candidate));
    let Some(first) = found.next() else { return false };
    if let Some(parents) = parents {
        parents.propose_all(v, std::iter::once(first).chain(found));
    }
    true
}

/// Each frontier vertex marks its unvisited neighbours.
pub(super) struct TopDown<'a> {
    pub levels: &'a [AtomicU32],
    pub parents: Option<&'a Parents>,
    pub visited: &'a Bitmap,
    pub next: &'a Frontier,
    pub level: u32,
}

impl Kernel for TopDown<'_> {
    type Local = FrontierPart;

    const ORDER: EntryOrder = EntryOrder::Any;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        match self.parents {
            None => {
                for &target in list.targets {
                    if !self.visited.contains(target) && self.visited.insert(target) {
                        self.levels[target as usize].store(self.level, Ordering::Relaxed);
                        self.next.add(target, part);
                    }
                }
            }
            Some(_) => {
                for &target in list.targets {
                    self.mark_with_parent(target, list.vertex, part);
                }
            }
        }
    }
}

impl TopDown<'_> {
    /// Every thread that finds the level unset or equal to this step's proposes a parent, so the
    /// smallest id wins whatever the order.
    #[inline(always)]
    fn mark_with_parent(&self, target: VertexId, parent: VertexId, part: &mut FrontierPart) {
        let cell = &self.levels[target as usize];
        let mut level = cell.load(Ordering::Relaxed);
        if level == UNREACHED {
            level = match cell.compare_exchange(
                UNREACHED,
                self.level,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.visited.insert(target);
                    self.next.add(target, part);
                    self.level
                }
                Err(level) => level,
            };
        }
        if level == self.level {
            set(self.parents, target, parent);
        }
    }
}

/// Where parents that were found are kept, if they are.
pub(super) trait KeepParents: Sync {
    /// The order of a list's entries in which candidates are proposed.
    const ORDER: EntryOrder;

    fn parents(&self) -> Option<&Parents>;
}

impl KeepParents for () {
    const ORDER: EntryOrder = EntryOrder::Any;

    fn parents(&self) -> Option<&Parents> {
        None
    }
}

impl KeepParents for &Parents {
    const ORDER: EntryOrder = EntryOrder::Ascending;

    fn parents(&self) -> Option<&Parents> {
        Some(self)
    }
}

/// Each unvisited vertex looks for its smallest in-neighbour in the frontier.
pub(super) struct BottomUp<'a, P> {
    pub levels: &'a [AtomicU32],
    pub parents: P,
    pub visited: &'a Bitmap,
    pub frontier: &'a Frontier,
    pub next: &'a Frontier,
    pub level: u32,
    pub keep: &'a Keep,
}

impl<P: KeepParents> Kernel for BottomUp<'_, P> {
    type Local = (FrontierPart, UnvisitedPart);

    const ORDER: EntryOrder = P::ORDER;

    fn local(&self) -> Self::Local {
        (FrontierPart::default(), self.keep.part())
    }

    fn list(&self, (part, unvisited): &mut Self::Local, list: &List<'_>) {
        if !joins(self.parents.parents(), list.vertex, list.targets, |v| self.frontier.contains(v))
        {
            unvisited.keep(list, self.visited);
        } else if self.next.add(list.vertex, part) {
            self.levels[list.vertex as usize].store(self.level, Ordering::Relaxed);
        }
    }
}
