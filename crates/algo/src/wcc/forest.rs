//! Union-find over the edges of lists, by many threads.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{HugeVec, Kernel, List, Page, Purpose, VertexId};
use rayon::prelude::*;

use crate::report::Result;

/// A union-find forest: every vertex points to a smaller one of its component, a root to itself.
pub(crate) struct Forest(pub(super) HugeVec<AtomicU32>);

impl Forest {
    pub fn new(vertices: usize) -> Result<Self> {
        let forest = HugeVec::<AtomicU32>::zeroed(vertices)?;
        forest.par_iter().enumerate().for_each(|(v, parent)| {
            parent.store(v as VertexId, Ordering::Relaxed);
        });
        Ok(Self(forest))
    }

    /// The parent of each vertex.
    pub fn cells(&self) -> &[AtomicU32] {
        &self.0
    }

    /// Lets every vertex point to its root.
    pub fn flatten(&self) {
        self.0.par_iter().enumerate().for_each(|(v, parent)| {
            let mut v = v as VertexId;
            // As `root`, but a parent only ever becomes smaller: a thread that has read a
            // grandparent before another one stored the root would put an ancestor back.
            let root = loop {
                let parent = self.parent(v);
                let grandparent = self.parent(parent);
                if grandparent == parent {
                    break parent;
                }
                self.0[v as usize].fetch_min(grandparent, Ordering::Relaxed);
                v = grandparent;
            };
            parent.store(root, Ordering::Relaxed);
        });
    }

    #[inline(always)]
    pub fn parent(&self, v: VertexId) -> VertexId {
        self.0[v as usize].load(Ordering::Relaxed)
    }

    /// The root of `v` at some moment of the call. Halves the path: a vertex that is not a root
    /// never becomes one again, so storing an ancestor is right whatever other threads store.
    #[inline(always)]
    pub fn root(&self, mut v: VertexId) -> VertexId {
        loop {
            let parent = self.parent(v);
            if parent == v {
                return v;
            }
            let grandparent = self.parent(parent);
            if grandparent == parent {
                return parent;
            }
            self.0[v as usize].store(grandparent, Ordering::Relaxed);
            v = grandparent;
        }
    }

    /// Joins the trees of `a` and `b`; returns their root at that moment.
    #[inline(always)]
    pub fn join(&self, a: VertexId, b: VertexId) -> VertexId {
        let (mut a, mut b) = (self.root(a), self.root(b));
        while a != b {
            let (small, large) = (a.min(b), a.max(b));
            let linked = self.0[large as usize].compare_exchange(
                large,
                small,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if linked.is_ok() {
                return small;
            }
            (a, b) = (self.root(small), self.root(large));
        }
        a
    }
}

/// For undirected graphs: skips the rest of a list once its vertex is in the giant component.
pub(crate) struct JoinUntilGiant<'a> {
    pub forest: &'a Forest,
    /// A vertex of the giant component.
    pub giant: VertexId,
}

impl Kernel for JoinUntilGiant<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let mut giant = self.forest.root(self.giant);
        let mut root = self.forest.root(list.vertex);
        for &target in list.targets {
            if root == giant {
                return;
            }
            root = self.forest.join(root, target);
            giant = self.forest.root(giant);
        }
    }

    fn page(&self, (): &mut (), page: &Page<'_>, _: &Purpose<'_>) {
        for list in page.lists() {
            self.list(&mut (), &list);
        }
    }
}

/// For directed graphs: joins along every entry, since an edge is stored once.
pub(crate) struct JoinAll<'a>(pub &'a Forest);

impl Kernel for JoinAll<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let mut root = self.0.root(list.vertex);
        for &target in list.targets {
            if self.0.parent(target) != root {
                root = self.0.join(root, target);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_trees_are_flattened_by_more_threads_than_there_are_cores() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(16).build().unwrap();
        for round in 0..40_u32 {
            let forest = Forest::new(60_000).unwrap();
            for (v, parent) in (0_u32..).zip(forest.cells()).skip(1) {
                // Paths of some ten thousand vertices that often meet.
                let step = 1 + v.wrapping_mul(2_654_435_761 + round) % 5;
                parent.store(v.saturating_sub(step), Ordering::Relaxed);
            }
            pool.install(|| forest.flatten());
            assert!(forest.cells().iter().all(|parent| parent.load(Ordering::Relaxed) == 0));
        }
    }
}
