//! Adjacency lists in memory as compressed sparse rows, for the rest of a search of many steps.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Adjacency, Direction, Graph, HugeVec, List, VertexId};

use crate::report::Result;

/// The most edges per vertex at which the lists take memory from cached pages. Networks of many
/// steps have few edges per vertex; for social networks the cache is worth more.
const DEGREE_MEAN_MAX: u64 = 8;

/// Whether the lists should take memory from cached pages.
pub(crate) fn is_worth_room(graph: &Graph) -> bool {
    entries(graph) <= DEGREE_MEAN_MAX * graph.vertices() as u64
}

/// Entries of all lists.
pub(crate) fn entries(graph: &Graph) -> u64 {
    graph.adjacency(Direction::Out).map_or(0, Adjacency::stored_edges)
}

/// Out-lists, one behind the other.
pub(crate) struct Csr {
    /// The start of each vertex's list, and the end of the last.
    starts: HugeVec<AtomicU32>,
    /// The entries of all lists.
    targets: HugeVec<AtomicU32>,
}

impl Csr {
    /// Places for the lists of the `needed` vertices, by their degrees, which any thread may fill
    /// with [`Csr::copy`]; `None` where they have more than `entries_max` or 2^32 - 1 entries.
    pub fn with_room(
        graph: &Graph,
        needed: impl Fn(VertexId) -> bool,
        entries_max: u64,
    ) -> Result<Option<Self>> {
        let starts: HugeVec<AtomicU32> = HugeVec::zeroed(graph.vertices() + 1)?;
        let mut entries = 0u64;
        graph.degrees(Direction::Out, &mut |first, degrees| {
            for (v, degree) in (first..).zip(degrees) {
                entries = entries.saturating_add(if needed(v) { *degree } else { 0 });
                // May wrap if there are too many, which is refused below.
                starts[v as usize + 1].store(entries as u32, Ordering::Relaxed);
            }
        })?;
        if entries > entries_max.min(u32::MAX.into()) {
            return Ok(None);
        }
        Ok(Some(Self { starts, targets: HugeVec::zeroed(entries as usize)? }))
    }

    /// The places of the list of `v` in [`Csr::targets`]; none if it has no room.
    #[inline(always)]
    fn range(&self, v: VertexId) -> Range<usize> {
        let at = |v: usize| self.starts[v].load(Ordering::Relaxed) as usize;
        at(v as usize)..at(v as usize + 1)
    }

    /// The list of `v`; empty if it has no room.
    #[inline(always)]
    pub fn list(&self, v: VertexId) -> &[AtomicU32] {
        &self.targets[self.range(v)]
    }

    /// Copies a piece of a list to its places. A wrong degree does not make it write beyond the
    /// list; `check` reports one.
    pub fn copy(&self, piece: &List<'_>) {
        let range = self.range(piece.vertex);
        let start = range.end.min(range.start + piece.skip as usize);
        let places = start..range.end.min(start + piece.targets.len());
        for (place, &target) in self.targets[places].iter().zip(piece.targets) {
            place.store(target, Ordering::Relaxed);
        }
    }
}
