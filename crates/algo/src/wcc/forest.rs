//! Union-find over the edges of lists, by many threads.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{EntryOrder, HugeVec, Kernel, List, Page, Purpose, VertexId};

use crate::parallel;
use crate::report::Result;

/// A union-find forest: every vertex points to a smaller one of its component, a root to itself.
/// The functions beside it do the same with a band of one.
pub(crate) struct Forest(pub(super) HugeVec<AtomicU32>);

impl Forest {
    pub fn new(vertices: usize) -> Result<Self> {
        let forest = HugeVec::<AtomicU32>::zeroed(vertices)?;
        parallel::for_each_of(&forest, |v, parent| {
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
        flatten(&self.0);
    }

    /// The same; calls `each` with every vertex and its root.
    pub fn flatten_with(&self, each: impl Fn(VertexId, VertexId) + Sync) {
        flatten_with(&self.0, each);
    }

    #[inline(always)]
    pub fn parent(&self, v: VertexId) -> VertexId {
        parent(&self.0, v)
    }

    /// The root of `v` at some moment of the call.
    #[inline(always)]
    pub fn root(&self, v: VertexId) -> VertexId {
        root(&self.0, v)
    }

    /// Joins the trees of `a` and `b`; returns their root at that moment.
    #[inline(always)]
    pub fn join(&self, a: VertexId, b: VertexId) -> VertexId {
        join(&self.0, a, b)
    }
}

#[inline(always)]
pub(super) fn parent(parents: &[AtomicU32], v: u32) -> u32 {
    parents[v as usize].load(Ordering::Relaxed)
}

/// The root of `v` at some moment of the call. Halves the path: one that is not a root never
/// becomes one again, so storing an ancestor is right whatever other threads store.
#[inline(always)]
pub(super) fn root(parents: &[AtomicU32], mut v: u32) -> u32 {
    loop {
        let of_v = parent(parents, v);
        if of_v == v {
            return v;
        }
        let grandparent = parent(parents, of_v);
        if grandparent == of_v {
            return of_v;
        }
        parents[v as usize].store(grandparent, Ordering::Relaxed);
        v = grandparent;
    }
}

/// Joins the trees of `a` and `b`, of which the smaller root remains; returns it as it is at that
/// moment.
#[inline(always)]
pub(super) fn join(parents: &[AtomicU32], a: u32, b: u32) -> u32 {
    let order = Ordering::Relaxed;
    let (mut a, mut b) = (root(parents, a), root(parents, b));
    while a != b {
        let (small, large) = (a.min(b), a.max(b));
        if parents[large as usize].compare_exchange(large, small, order, order).is_ok() {
            return small;
        }
        (a, b) = (root(parents, small), root(parents, large));
    }
    a
}

/// Lets each point to its root, while no trees are joined.
pub(super) fn flatten(parents: &[AtomicU32]) {
    flatten_with(parents, |_, _| {});
}

fn flatten_with(parents: &[AtomicU32], each: impl Fn(u32, u32) + Sync) {
    parallel::for_each_of(parents, |first, of_first| {
        let mut v = first as u32;
        // As `root`, but a parent only ever becomes smaller: a thread that has read a grandparent
        // before another one stored the root would put an ancestor back.
        let root = loop {
            let of_v = parent(parents, v);
            let grandparent = parent(parents, of_v);
            if grandparent == of_v {
                break of_v;
            }
            parents[v as usize].fetch_min(grandparent, Ordering::Relaxed);
            v = grandparent;
        };
        of_first.store(root, Ordering::Relaxed);
        each(first as u32, root);
    });
}

/// For undirected graphs: skips the rest of a list once its vertex is in the giant component.
pub(crate) struct JoinUntilGiant<'a> {
    pub forest: &'a Forest,
    /// A vertex of the giant component.
    pub giant: VertexId,
}

impl Kernel for JoinUntilGiant<'_> {
    type Local = ();

    const ORDER: EntryOrder = EntryOrder::Any;

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

    const ORDER: EntryOrder = EntryOrder::Any;

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
