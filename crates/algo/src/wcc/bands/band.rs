//! One band in memory: a union-find of its vertices, whose trees know a neighbour below the band.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{Bitmap, Graph, HugeVec, StateFile, VertexId};

use super::super::forest;
use super::giant::{Edges, is_outside};
use super::plan::Layout;
use crate::parallel;
use crate::ranks::{for_each_by_id, is_natural};
use crate::report::Result;

/// A tree that has no neighbour below the band.
const NONE: VertexId = VertexId::MAX;

/// A tree in the giant component. No vertex has this number: vertices are fewer than 2^32 - 1.
const GIANT: VertexId = VertexId::MAX - 1;

/// The vertex with the smallest id of some vertices: the rank of the id, then the vertex.
pub(super) fn best_of(rank: VertexId, vertex: VertexId) -> u64 {
    u64::from(rank) << 32 | u64::from(vertex)
}

/// Where a tree leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// It is a component.
    Complete,
    /// It is in the giant component.
    Giant,
    /// It has this neighbour below the band.
    Below(VertexId),
}

/// The state of one band. Its memory serves all of them.
pub(super) struct Band {
    /// The first vertex.
    pub first: VertexId,
    /// Vertices.
    pub len: usize,
    /// Counted from the first vertex.
    parents: HugeVec<AtomicU32>,
    below: HugeVec<AtomicU32>,
    /// Vertices of each tree, with those that requests have brought.
    weights: HugeVec<AtomicU32>,
    /// Of each tree, where vertices are not in the order of their ids.
    best: Option<HugeVec<AtomicU64>>,
}

impl Band {
    pub fn new(graph: &Graph, layout: &Layout) -> Result<Self> {
        let len = layout.band.min(layout.vertices);
        let best = if is_natural(graph) { None } else { Some(HugeVec::zeroed(len)?) };
        Ok(Self {
            first: 0,
            len: 0,
            parents: HugeVec::zeroed(len)?,
            below: HugeVec::zeroed(len)?,
            weights: HugeVec::zeroed(len)?,
            best,
        })
    }

    /// Becomes the band `b`, with a tree for each vertex.
    pub fn begin(&mut self, graph: &Graph, layout: &Layout, b: usize) -> Result<()> {
        let first = b * layout.band;
        self.first = first as VertexId;
        self.len = layout.band.min(layout.vertices - first);
        let order = Ordering::Relaxed;
        parallel::for_each(self.len, |i| {
            self.parents[i].store(i as u32, order);
            self.below[i].store(NONE, order);
            self.weights[i].store(1, order);
        });
        if let Some(best) = &self.best {
            let mut rank = 0;
            for_each_by_id(graph, |v| {
                if let Some(i) = (v as usize).checked_sub(first).filter(|i| *i < self.len) {
                    best[i].store(best_of(rank, v), order);
                }
                rank += 1;
            })?;
        }
        Ok(())
    }

    fn parent(&self, i: u32) -> u32 {
        forest::parent(&self.parents, i)
    }

    /// The root of `i` at some moment of the call.
    #[inline(always)]
    pub fn root(&self, i: u32) -> u32 {
        forest::root(&self.parents, i)
    }

    /// Takes an edge whose larger end is in the band. May push another one, of a lower band.
    #[inline]
    pub fn edge(
        &self,
        layout: &Layout,
        giant: &Bitmap,
        edges: &mut Edges<'_>,
        (large, small): (VertexId, VertexId),
    ) {
        if !is_outside(giant, large, small) {
            return;
        }
        let i = large - self.first;
        match small.checked_sub(self.first) {
            Some(other) => _ = forest::join(&self.parents, i, other),
            // If the root gets another parent meanwhile, `fold` moves the neighbour.
            None => self.attach(layout, giant, edges, self.root(i), small),
        }
    }

    /// Gives a tree a neighbour below. Of two the tree keeps the smaller one, and an edge joins it
    /// with the other.
    fn attach(
        &self,
        layout: &Layout,
        giant: &Bitmap,
        edges: &mut Edges<'_>,
        root: u32,
        neighbour: VertexId,
    ) {
        let (cell, order) = (&self.below[root as usize], Ordering::Relaxed);
        let mut known = cell.load(order);
        loop {
            if known == neighbour {
                return;
            }
            if known == GIANT {
                giant.insert(neighbour);
                return;
            }
            let smaller = known.min(neighbour);
            match cell.compare_exchange(known, smaller, order, order) {
                Ok(NONE) => return,
                Ok(_) => return edges.push(layout, known, neighbour),
                Err(now) => known = now,
            }
        }
    }

    /// Takes what a tree above the band has sent to its neighbour in the band.
    pub fn receive(&self, neighbour: VertexId, weight: u32, best: u64) {
        let i = (neighbour - self.first) as usize;
        self.weights[i].fetch_add(weight, Ordering::Relaxed);
        if let Some(of) = &self.best {
            of[i].fetch_min(best, Ordering::Relaxed);
        }
    }

    /// Collects in the roots what vertices of their trees have, when all edges were taken.
    pub fn fold(&self, layout: &Layout, giant: &Bitmap, edges: &mut Edges<'_>) {
        let order = Ordering::Relaxed;
        let all = 0..self.len as u32;
        forest::flatten(&self.parents[..self.len]);
        let vertices = self.first..self.first + self.len as VertexId;
        for v in giant.iter_in(vertices) {
            let root = self.parent(v - self.first);
            let known = self.below[root as usize].swap(GIANT, order);
            if known != NONE && known != GIANT {
                giant.insert(known);
            }
        }
        for i in all.clone() {
            let root = self.parent(i);
            if root == i {
                continue;
            }
            let neighbour = self.below[i as usize].load(order);
            if neighbour != NONE {
                self.attach(layout, giant, edges, root, neighbour);
            }
            let (own, of_root) = (&self.weights[i as usize], &self.weights[root as usize]);
            of_root.store(of_root.load(order) + own.load(order), order);
            if let Some(best) = &self.best {
                best[root as usize].fetch_min(best[i as usize].load(order), order);
            }
        }
        parallel::for_each(self.len, |i| {
            let i = i as u32;
            if self.below[self.parent(i) as usize].load(order) == GIANT {
                giant.insert(self.first + i);
            }
        });
    }

    /// Calls `visit` with every tree: its root, where it leads, its vertices, and that with the
    /// smallest id.
    pub fn trees(&self, mut visit: impl FnMut(VertexId, Tree, u32, u64)) {
        let order = Ordering::Relaxed;
        for i in (0..self.len as u32).filter(|&i| self.parent(i) == i) {
            let tree = match self.below[i as usize].load(order) {
                NONE => Tree::Complete,
                GIANT => Tree::Giant,
                neighbour => Tree::Below(neighbour),
            };
            let root = self.first + i;
            let best = match &self.best {
                // The root is the smallest of the tree.
                None => best_of(root, root),
                Some(best) => best[i as usize].load(order),
            };
            visit(root, tree, self.weights[i as usize].load(order), best);
        }
    }

    /// Writes the roots to the place of the labels.
    pub fn write_roots(&mut self, file: &StateFile, labels: u64) -> Result<()> {
        let roots = std::mem::replace(&mut self.parents, HugeVec::zeroed(0)?).into_plain();
        let place = labels + 4 * u64::from(self.first);
        let written = file.write(place, &roots[..self.len]);
        self.parents = roots.into_atomic();
        Ok(written?)
    }

    /// Becomes the band `b` again, with the roots that were written and every root as its label.
    pub fn resume(
        &mut self,
        layout: &Layout,
        b: usize,
        (file, labels): (&StateFile, u64),
    ) -> Result<()> {
        let first = b * layout.band;
        self.first = first as VertexId;
        self.len = layout.band.min(layout.vertices - first);
        let mut roots = std::mem::replace(&mut self.parents, HugeVec::zeroed(0)?).into_plain();
        let read = file.read(labels + 4 * first as u64, &mut roots[..self.len]);
        self.parents = roots.into_atomic();
        parallel::for_each_of(&self.below[..self.len], |i, label| {
            label.store((first + i) as VertexId, Ordering::Relaxed);
        });
        Ok(read?)
    }

    /// Sets the label of a root.
    pub fn label_root(&self, root: VertexId, label: VertexId) {
        self.below[(root - self.first) as usize].store(label, Ordering::Relaxed);
    }

    /// Replaces the roots by labels; `of_giant` is that of the giant component.
    pub fn label(&self, giant: &Bitmap, of_giant: VertexId) {
        parallel::for_each_of(&self.parents[..self.len], |i, cell| {
            let root = cell.load(Ordering::Relaxed) as usize;
            let is_giant = giant.contains(self.first + i as VertexId);
            let of_root = || self.below[root].load(Ordering::Relaxed);
            cell.store(if is_giant { of_giant } else { of_root() }, Ordering::Relaxed);
        });
    }

    /// The label of a vertex, after [`Band::label`].
    pub fn label_of(&self, v: VertexId) -> VertexId {
        self.parent(v - self.first)
    }
}
