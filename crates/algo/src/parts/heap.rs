//! A heap of vertices by their distances.

use std::ops::Range;

use cenote_engine::{HugeVec, VertexId};

use super::Distances;
use crate::report::Result;

/// How many children a place of the heap has: those of one are read together.
const ARITY: usize = 4;

/// Consecutive vertices by their distances, the nearest first. A vertex whose distance falls moves
/// up, so that its memory does not depend on how often that happens. Distances that another thread
/// lowers meanwhile only change the order in which vertices come out.
pub(crate) struct Heap {
    /// The first vertex that it may have.
    first: VertexId,
    /// The vertex at each place: none of its children, from `ARITY * place + 1` on, is nearer.
    vertices: HugeVec<VertexId>,
    /// The place of each vertex, counted from 1; 0: it is not in the heap.
    places: HugeVec<u32>,
    len: usize,
}

impl Heap {
    /// Bytes of a heap for `n` vertices.
    pub fn bytes_for(n: u64) -> u64 {
        n * (size_of::<VertexId>() + size_of::<u32>()) as u64
    }

    /// An empty heap for up to `n` vertices.
    pub fn new(n: usize) -> Result<Self> {
        let (vertices, places) = (HugeVec::zeroed(n)?, HugeVec::zeroed(n)?);
        Ok(Self { first: 0, vertices, places, len: 0 })
    }

    /// Makes it a heap of the vertices of a range.
    ///
    /// # Panics
    /// If it is not empty, or has no room for them.
    pub fn begin(&mut self, range: &Range<VertexId>) {
        assert!(self.is_empty() && range.len() <= self.places.len(), "an empty heap with room");
        self.first = range.start;
    }

    /// Whether it has no vertices.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes all vertices out.
    pub fn clear(&mut self) {
        for place in 0..self.len {
            self.places[(self.vertices[place] - self.first) as usize] = 0;
        }
        self.len = 0;
    }

    #[inline(always)]
    fn put(&mut self, place: usize, v: VertexId) {
        self.vertices[place] = v;
        self.places[(v - self.first) as usize] = place as u32 + 1;
    }

    /// Adds a vertex, or moves it to where its distance belongs after this fell.
    #[inline(always)]
    pub fn raise(&mut self, v: VertexId, distances: &impl Distances) {
        let mut place = match self.places[(v - self.first) as usize] {
            0 => {
                self.len += 1;
                self.len - 1
            }
            place => place as usize - 1,
        };
        let distance = distances.distance(v);
        while place > 0 {
            let parent = (place - 1) / ARITY;
            let above = self.vertices[parent];
            if distances.distance(above) <= distance {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, v);
    }

    /// Takes the nearest vertex.
    #[inline(always)]
    pub fn pop(&mut self, distances: &impl Distances) -> Option<VertexId> {
        self.len = self.len.checked_sub(1)?;
        let (nearest, last) = (self.vertices[0], self.vertices[self.len]);
        let distance = distances.distance(last);
        let mut place = 0;
        loop {
            let children = ARITY * place + 1..self.len.min(ARITY * (place + 1) + 1);
            let of = |child: usize| (distances.distance(self.vertices[child]), child);
            match children.map(of).min() {
                Some((below, child)) if below < distance => {
                    self.put(place, self.vertices[child]);
                    place = child;
                }
                _ => break,
            }
        }
        self.put(place, last);
        self.places[(nearest - self.first) as usize] = 0;
        Some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct Cells(Vec<AtomicU64>);

    impl Distances for Cells {
        fn distance(&self, v: VertexId) -> u64 {
            self.0[v as usize].load(Ordering::Relaxed)
        }

        fn lower(&self, v: VertexId, to: u64) -> bool {
            self.0[v as usize].fetch_min(to, Ordering::Relaxed) > to
        }

        fn longer(&self, before: u64, weight: u64) -> u64 {
            before + weight
        }
    }

    #[test]
    fn vertices_come_out_nearest_first() {
        let distances = [5, 0, u64::MAX - 2, 5, 9, 1 << 40, 700, 800].map(AtomicU64::new);
        let distances = Cells(distances.into());
        let mut heap = Heap::new(8).unwrap();
        heap.begin(&(0..8));
        (0..8).rev().for_each(|v| heap.raise(v, &distances));
        let mut found = Vec::new();
        while let Some(v) = heap.pop(&distances) {
            found.push(distances.distance(v));
            if found.len() == 2 {
                // Nearer than before, once it came out, too, and once without a change.
                for (v, distance) in [(7, 6), (5, 7), (1, 8), (6, 700)] {
                    distances.0[v].store(distance, Ordering::Relaxed);
                    heap.raise(v as VertexId, &distances);
                }
            }
        }
        assert_eq!(found, [0, 5, 5, 6, 7, 8, 9, 700, u64::MAX - 2]);
        assert_eq!(heap.pop(&distances), None);
    }

    #[test]
    fn any_order_of_the_vertices_of_a_range_comes_out_sorted() {
        let (first, n) = (300, 2_000u32);
        let start = |v: u32| AtomicU64::new(u64::from(v * 977 % 251));
        let distances = Cells((0..first + n).map(start).collect());
        let mut heap = Heap::new(n as usize + 5).unwrap();
        // Those of a range before do not matter.
        heap.begin(&(0..first));
        (0..first).for_each(|v| heap.raise(v, &distances));
        heap.clear();
        assert!(heap.is_empty());
        heap.begin(&(first..first + n));
        (0..n).for_each(|v| heap.raise(first + v * 7 % n, &distances));
        (first..first + n).step_by(3).for_each(|v| {
            distances.lower(v, u64::from(v % 83));
            heap.raise(v, &distances);
        });
        let found: Vec<_> = std::iter::from_fn(|| heap.pop(&distances)).collect();
        assert!(found.iter().map(|&v| distances.distance(v)).is_sorted());
        let mut all = found;
        all.sort_unstable();
        assert!(all.into_iter().eq(first..first + n));
    }
}
