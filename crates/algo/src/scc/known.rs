//! Knowledge about the components, shared by the passes and the search in memory.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Bitmap, HugeVec, VertexId};

use crate::report::Result;

/// The components as far as they are known.
pub(super) struct Known {
    /// For settled vertices outside the giant component: the smallest vertex of their component.
    /// During colouring: the smallest vertex known to reach the vertex.
    pub labels: HugeVec<AtomicU32>,
    /// Vertices reached from the first vertex; when colours are traced back: members of their
    /// root's component.
    pub reached: Bitmap,
    /// Known members of the giant component, that of the first vertex.
    pub giant: Bitmap,
    /// Vertices outside the giant component whose component is known.
    pub done: Bitmap,
    /// The union of `giant` and `done`: vertices whose lists are not needed.
    pub settled: Bitmap,
}

impl Known {
    /// Initially every vertex has its own label.
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

    /// Whether `v` may be on a cycle with `target`, as far as is known: an edge into `reached`
    /// leads back to no vertex outside it.
    #[inline(always)]
    pub fn matters(&self, v: VertexId, inside: bool, target: VertexId) -> bool {
        target != v && !self.done.contains(target) && (inside || !self.reached.contains(target))
    }

    /// Processes the targets of `v`, an unsettled vertex: `v` joins the giant component, or is
    /// settled because it is on no cycle (both return false), or `keep` gets the targets that
    /// matter.
    #[inline(always)]
    pub fn process(
        &self,
        v: VertexId,
        targets: &[VertexId],
        mut keep: impl FnMut(VertexId),
    ) -> bool {
        let inside = self.reached.contains(v);
        let mut kept = false;
        for &target in targets {
            // Read once, because targets join concurrently.
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

    /// Processes a list in memory again: moves the targets that still matter to the front and
    /// returns their number; `None` if the vertex is settled by now.
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
