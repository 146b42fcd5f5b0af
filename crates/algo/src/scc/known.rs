//! What passes and the search in memory know of the components.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Bitmap, HugeVec, VertexId};

use crate::report::Result;

/// What is known of the components.
pub(super) struct Known {
    /// Of settled vertices outside the giant: the smallest vertex of the component. While colours
    /// spread: the smallest vertex known to reach the vertex.
    pub labels: HugeVec<AtomicU32>,
    /// Reached from the first vertex; while colours are drawn back: members of their root's
    /// component.
    pub reached: Bitmap,
    /// Known members of the first vertex's component.
    pub giant: Bitmap,
    /// Vertices outside the giant whose component is known.
    pub done: Bitmap,
    /// The giant and the done: their lists are not needed.
    pub settled: Bitmap,
}

impl Known {
    /// Nothing: every vertex has its own label.
    pub fn new(n: usize) -> Result<Self> {
        let labels: HugeVec<AtomicU32> = HugeVec::zeroed(n)?;
        (0..).zip(labels.iter()).for_each(|(v, label)| label.store(v, Ordering::Relaxed));
        let none = || Bitmap::new(n);
        Ok(Self { labels, reached: none()?, giant: none()?, done: none()?, settled: none()? })
    }

    pub fn settle(&self, v: VertexId, label: VertexId) {
        self.labels[v as usize].store(label, Ordering::Relaxed);
        self.done.insert(v);
        self.settled.insert(v);
    }

    pub fn join_giant(&self, v: VertexId) {
        self.giant.insert(v);
        self.settled.insert(v);
    }

    /// Whether `v` may be on a cycle with `target`, as far as is known. An edge into what the
    /// first vertex reaches leads back to no vertex that it does not reach.
    #[inline(always)]
    pub fn matters(&self, v: VertexId, inside: bool, target: VertexId) -> bool {
        target != v && !self.done.contains(target) && (inside || !self.reached.contains(target))
    }

    /// Looks at the targets of `v`, which is not settled: whether it joins the giant, or is on no
    /// cycle, or which targets `keep` has to take.
    #[inline(always)]
    pub fn look(&self, v: VertexId, targets: &[VertexId], mut keep: impl FnMut(VertexId)) -> bool {
        let inside = self.reached.contains(v);
        let mut kept = false;
        for &target in targets {
            // Read once: a vertex that joins meanwhile is kept.
            if self.giant.contains(target) {
                if inside {
                    self.join_giant(v);
                    return false;
                }
            } else if self.matters(v, inside, target) {
                kept = true;
                keep(target);
            }
        }
        if !kept {
            self.settle(v, v);
        }
        kept
    }
    /// Looks at a list in memory again: `None` where its vertex is settled by now, else how many
    /// targets, moved to the front, still matter.
    pub fn shorten(&self, v: VertexId, targets: &mut [VertexId]) -> Option<usize> {
        if self.settled.contains(v) {
            return None;
        }
        let mut kept = 0;
        let inside = self.reached.contains(v);
        for i in 0..targets.len() {
            if self.giant.contains(targets[i]) {
                if inside {
                    self.join_giant(v);
                    return None;
                }
            } else if self.matters(v, inside, targets[i]) {
                targets[kept] = targets[i];
                kept += 1;
            }
        }
        if kept == 0 {
            self.settle(v, v);
        }
        (kept > 0).then_some(kept)
    }
}
