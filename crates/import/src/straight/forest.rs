//! A concurrent union-find over vertices numbered as they are met.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_device::HugeVec;
use cenote_device::memory::prefetch;
use cenote_store::VertexId;

use super::state::State;
use crate::error::Result;

const SEGMENT_BITS: u32 = 20;
const SEGMENT: usize = 1 << SEGMENT_BITS;

/// Sets of vertices: trees that link the larger root below the smaller (Jayanti and Tarjan, PODC
/// 2016), so a parent's number is smaller than its child's whatever the order of the threads.
#[derive(Debug, Default)]
pub(super) struct Forest {
    /// The parent plus one, 0 for a root: a vertex that was not met yet is one, too. Segments never
    /// move.
    segments: Vec<HugeVec<AtomicU32>>,
}

impl Forest {
    #[inline]
    fn slot(&self, vertex: VertexId) -> &AtomicU32 {
        let at = vertex as usize;
        &self.segments[at >> SEGMENT_BITS][at & (SEGMENT - 1)]
    }

    #[inline]
    fn parent(&self, vertex: VertexId) -> VertexId {
        match self.slot(vertex).load(Ordering::Relaxed) {
            0 => vertex,
            next => next - 1,
        }
    }

    /// The root of a vertex. Halves the path to it.
    #[inline]
    pub fn find(&self, mut vertex: VertexId) -> VertexId {
        loop {
            let parent = self.parent(vertex);
            let above = self.parent(parent);
            if above == parent {
                return parent;
            }
            // Another thread may have stored a nearer ancestor meanwhile: any one is right.
            self.slot(vertex).store(above + 1, Ordering::Relaxed);
            vertex = above;
        }
    }

    /// Joins the sets of two vertices. Returns an ancestor of each, their root where it looked for
    /// it.
    #[inline(always)]
    pub fn unite(&self, a: VertexId, b: VertexId) -> [VertexId; 2] {
        if a == b {
            return [a, b];
        }
        let above = [self.parent(a), self.parent(b)];
        if above[0] == above[1] {
            return above;
        }
        [self.unite_roots([a, b]); 2]
    }

    /// Looks for the roots of both, and links one below the other. Returns the root.
    fn unite_roots(&self, [mut a, mut b]: [VertexId; 2]) -> VertexId {
        loop {
            (a, b) = (self.find(a), self.find(b));
            if a == b {
                return a;
            }
            let (root, child) = (a.min(b), a.max(b));
            let slot = self.slot(child);
            if slot.compare_exchange(0, root + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return root;
            }
        }
    }
}

impl State for Forest {
    const VERTEX_BYTES: usize = size_of::<AtomicU32>();

    fn grow(&mut self, vertices: usize) -> Result<()> {
        while self.segments.len() * SEGMENT < vertices {
            self.segments.push(HugeVec::zeroed(SEGMENT)?);
        }
        Ok(())
    }

    #[inline]
    fn prefetch(&self, vertex: VertexId) {
        let at = vertex as usize;
        prefetch(&self.segments[at >> SEGMENT_BITS], at & (SEGMENT - 1));
    }

    /// An ancestor stands for a vertex: most are soon looked up as the root of the largest set,
    /// which the processor's caches hold, rather than at places of their own. Saves a tenth of
    /// the time of components.
    #[inline(always)]
    fn edge(&self, source: VertexId, target: VertexId) -> [VertexId; 2] {
        self.unite(source, target)
    }

    /// Joins nothing.
    fn self_loop(&self, _: VertexId) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_those_of_a_flood_fill_whatever_the_threads() {
        const VERTICES: u32 = 20_000;
        let end = |i: u32, salt: u64| {
            (cenote_device::mix(u64::from(i) ^ salt << 32) % u64::from(VERTICES)) as u32
        };
        let edges: Vec<_> = (0..13_000).map(|i| (end(i, 1), end(i, 2))).collect();
        let mut forest = Forest::default();
        forest.grow(VERTICES as usize).unwrap();
        std::thread::scope(|scope| {
            for part in edges.chunks(5_000) {
                let forest = &forest;
                scope.spawn(move || part.iter().for_each(|&(a, b)| _ = forest.unite(a, b)));
            }
        });
        let mut neighbours = vec![Vec::new(); VERTICES as usize];
        for &(a, b) in &edges {
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
        let mut label = vec![u32::MAX; VERTICES as usize];
        for first in 0..VERTICES {
            let mut stack = vec![first];
            while let Some(vertex) = stack.pop() {
                if label[vertex as usize] == u32::MAX {
                    label[vertex as usize] = first;
                    stack.extend(&neighbours[vertex as usize]);
                }
            }
        }
        // Roots are the smallest of their sets.
        assert!((0..VERTICES).all(|vertex| forest.find(vertex) == label[vertex as usize]));
    }
}
