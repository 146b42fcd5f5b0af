//! Shows a kernel the targets of lists before it gets these, so that it can prefetch what it keeps
//! of them.

use std::ops::Range;

use cenote_device::memory::prefetch;
use cenote_store::VertexId;

use crate::kernel::Kernel;

/// How many targets ahead a kernel is shown, beyond the list that it gets. Of a longer list it has
/// to look ahead itself.
pub const AHEAD_ENTRIES: usize = 128;

/// The part of a list that its kernel does not look ahead to by itself.
#[inline(always)]
pub fn head_of(targets: &[VertexId]) -> &[VertexId] {
    &targets[..targets.len().min(AHEAD_ENTRIES)]
}

/// Values of fewer bytes than these are in the processor's caches as a rule: to prefetch them takes
/// longer than it saves.
pub const CACHED_BYTES: usize = 2 << 20;

/// Prefetches the values of vertices, if all values are too many for the caches.
#[inline(always)]
pub fn prefetch_of_many<T>(values: &[T], vertices: &[VertexId]) {
    if size_of_val(values) >= CACHED_BYTES {
        vertices.iter().for_each(|&vertex| prefetch(values, vertex as usize));
    }
}

/// Shows a kernel the targets of lists that lie one behind the other, each once. Weighted PageRank
/// over 4 million vertices in memory takes a quarter less processor time with it.
pub(crate) struct Ahead<'a> {
    targets: &'a [VertexId],
    /// How many it has seen.
    seen: usize,
}

impl<'a> Ahead<'a> {
    pub fn new(targets: &'a [VertexId]) -> Self {
        Self { targets, seen: 0 }
    }

    /// Called before a list.
    #[inline(always)]
    pub fn show(&mut self, kernel: &impl Kernel, list: Range<usize>) {
        // What was not shown with the lists before.
        let head = list.end.min(list.start + AHEAD_ENTRIES);
        if self.seen < head {
            kernel.prefetch(&self.targets[self.seen.max(list.start)..head]);
        }
        // Of short lists those of many at once.
        if self.seen < list.end + AHEAD_ENTRIES / 2 {
            let until = (list.end + AHEAD_ENTRIES).min(self.targets.len());
            let from = self.seen.max(list.end);
            if from < until {
                kernel.prefetch(&self.targets[from..until]);
                self.seen = until;
            }
        }
    }
}
