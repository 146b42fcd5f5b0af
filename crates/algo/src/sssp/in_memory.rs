//! The rest of a search of many small steps in memory: all lists as compressed sparse rows with
//! their weights, and Dijkstra's algorithm on a heap ([`Heap`]) that has each vertex at most once.
//! One thread: a step has too few vertices for more.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Direction, Engine, Frontier, Graph, HugeVec, Kernel, List, VertexId, Weights,
};

use super::length::{Lengths, add_float, add_integer};
use crate::csr::{self, Csr, entries};
use crate::report::{AlgoError, Result};

/// Vertices between two checks for cancellation.
const CANCEL_VERTICES: u64 = 1 << 16;

/// Bytes of a list's entry: its target and its weight.
fn entry_bytes(graph: &Graph) -> u64 {
    4 + graph.superblock().weights.map_or(0, |weights| weights.kind.bytes() as u64)
}

/// Bytes of all lists, and of the heap.
pub(super) fn bytes_for(graph: &Graph) -> u64 {
    let n = graph.vertices() as u64;
    4 * (n + 1) + entries(graph) * entry_bytes(graph) + Heap::bytes_for(n)
}

/// Whether the lists should take memory from cached pages.
pub(super) fn is_worth_room(graph: &Graph) -> bool {
    csr::is_worth_room(graph) && entries(graph) < u64::from(u32::MAX)
}

/// Weights as they are stored; a column of width 0 where edges have none.
enum Column {
    None,
    Narrow(HugeVec<AtomicU32>),
    Wide(HugeVec<AtomicU64>),
}

/// All lists with their weights.
pub(super) struct WeightedCsr {
    lists: Csr,
    weights: Column,
    lengths: Lengths,
}

impl WeightedCsr {
    /// The lists of all vertices.
    pub fn load(engine: &Engine, all: &Frontier, lengths: Lengths) -> Result<Self> {
        let graph = engine.graph();
        let Some(lists) = Csr::with_room(graph, |_| true, u64::MAX)? else {
            let fault = "the lists are longer than the index says".to_owned();
            return Err(AlgoError::Contradiction { file: graph.device().name(), fault });
        };
        let len = lists.targets.len();
        let weights = match graph.superblock().weights.map(|weights| weights.kind.bytes()) {
            None => Column::None,
            Some(4) => Column::Narrow(HugeVec::zeroed(len)?),
            Some(_) => Column::Wide(HugeVec::zeroed(len)?),
        };
        let csr = Self { lists, weights, lengths };
        let (active, copy) = (ActiveSet::NotIn(all.bits()), Copy(&csr));
        match graph.is_weighted() {
            true => engine.visit_weighted("all lists", Direction::Out, active, &copy)?,
            false => engine.visit("all lists", Direction::Out, active, &copy)?,
        };
        Ok(csr)
    }

    /// The length of a path at `before`, longer by an entry.
    #[inline(always)]
    fn sum(&self, before: u64, entry: usize) -> u64 {
        match (&self.weights, self.lengths) {
            (Column::None, Lengths::Integers) => add_integer(before, 1),
            (Column::None, Lengths::Floats) => add_float(before, 1.0),
            (Column::Narrow(bits), lengths) => {
                let bits = bits[entry].load(Ordering::Relaxed);
                match lengths {
                    Lengths::Floats => add_float(before, f64::from(f32::from_bits(bits))),
                    Lengths::Integers => add_integer(before, bits.into()),
                }
            }
            (Column::Wide(bits), lengths) => {
                let bits = bits[entry].load(Ordering::Relaxed);
                match lengths {
                    Lengths::Floats => add_float(before, f64::from_bits(bits)),
                    Lengths::Integers => add_integer(before, bits),
                }
            }
        }
    }

    /// Searches on from the `active` vertices; paths longer than `bound()` are ignored. It is
    /// called now and then, and may fall.
    pub fn search(
        &self,
        distances: &[AtomicU64],
        active: impl Iterator<Item = VertexId>,
        bound: impl Fn() -> u64,
        check_cancel: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let distance = |v: VertexId| distances[v as usize].load(Ordering::Relaxed);
        let mut heap = Heap::new(distances)?;
        active.for_each(|v| heap.raise(v));
        let (mut popped, mut bound_now) = (0u64, bound());
        while let Some(v) = heap.pop() {
            let length = distance(v);
            popped += 1;
            if popped.is_multiple_of(CANCEL_VERTICES) {
                check_cancel()?;
                bound_now = bound();
            }
            if length > bound_now {
                break;
            }
            for entry in self.lists.range(v) {
                let target = self.lists.targets[entry].load(Ordering::Relaxed);
                let sum = self.sum(length, entry);
                if sum < distance(target) && sum <= bound_now {
                    distances[target as usize].store(sum, Ordering::Relaxed);
                    heap.raise(target);
                }
            }
        }
        Ok(())
    }
}

/// Copies lists and weights to their places.
struct Copy<'a>(&'a WeightedCsr);

impl Kernel for Copy<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        self.0.lists.copy(list);
    }

    fn weighted_list(&self, (): &mut (), list: &List<'_>, weights: Weights<'_>) {
        let places = self.0.lists.copy(list);
        let narrow = |at: usize, bits: u32| {
            if let Column::Narrow(column) = &self.0.weights {
                column[at].store(bits, Ordering::Relaxed);
            }
        };
        let wide = |at: usize, bits: u64| {
            if let Column::Wide(column) = &self.0.weights {
                column[at].store(bits, Ordering::Relaxed);
            }
        };
        match weights {
            Weights::F32(w) => places.zip(w).for_each(|(at, w)| narrow(at, w.to_bits())),
            Weights::U32(w) => places.zip(w).for_each(|(at, w)| narrow(at, *w)),
            Weights::F64(w) => places.zip(w).for_each(|(at, w)| wide(at, w.to_bits())),
            Weights::I64(w) => places.zip(w).for_each(|(at, w)| wide(at, w.cast_unsigned())),
        }
    }
}

/// How many children a place of the heap has: those of one are read together.
const ARITY: usize = 4;

/// Vertices by their distances, the nearest first. A vertex whose distance falls moves up, so that
/// its memory does not depend on how often that happens.
struct Heap<'a> {
    distances: &'a [AtomicU64],
    /// The vertex at each place: none of its children, from `ARITY * place + 1` on, is nearer.
    vertices: HugeVec<VertexId>,
    /// The place of each vertex, counted from 1; 0: it is not in the heap.
    places: HugeVec<u32>,
    len: usize,
}

impl<'a> Heap<'a> {
    /// Bytes of a heap for `n` vertices.
    fn bytes_for(n: u64) -> u64 {
        n * (size_of::<VertexId>() + size_of::<u32>()) as u64
    }

    fn new(distances: &'a [AtomicU64]) -> Result<Self> {
        let n = distances.len();
        let (vertices, places) = (HugeVec::zeroed(n)?, HugeVec::zeroed(n)?);
        Ok(Self { distances, vertices, places, len: 0 })
    }

    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.distances[v as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn put(&mut self, place: usize, v: VertexId) {
        self.vertices[place] = v;
        self.places[v as usize] = place as u32 + 1;
    }

    /// Adds a vertex, or moves it to where its distance belongs after this fell.
    #[inline(always)]
    fn raise(&mut self, v: VertexId) {
        let mut place = match self.places[v as usize] {
            0 => {
                self.len += 1;
                self.len - 1
            }
            place => place as usize - 1,
        };
        let distance = self.distance(v);
        while place > 0 {
            let parent = (place - 1) / ARITY;
            let above = self.vertices[parent];
            if self.distance(above) <= distance {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, v);
    }

    /// Takes the nearest vertex.
    #[inline(always)]
    fn pop(&mut self) -> Option<VertexId> {
        self.len = self.len.checked_sub(1)?;
        let (nearest, last) = (self.vertices[0], self.vertices[self.len]);
        let distance = self.distance(last);
        let mut place = 0;
        loop {
            let children = ARITY * place + 1..self.len.min(ARITY * (place + 1) + 1);
            let of = |child: usize| (self.distance(self.vertices[child]), child);
            match children.map(of).min() {
                Some((below, child)) if below < distance => {
                    self.put(place, self.vertices[child]);
                    place = child;
                }
                _ => break,
            }
        }
        self.put(place, last);
        self.places[nearest as usize] = 0;
        Some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_come_out_nearest_first() {
        let distances = [5, 0, u64::MAX - 2, 5, 9, 1 << 40, 700, 800].map(AtomicU64::new);
        let mut heap = Heap::new(&distances).unwrap();
        (0..8).rev().for_each(|v| heap.raise(v));
        let mut found = Vec::new();
        while let Some(v) = heap.pop() {
            found.push(heap.distance(v));
            if found.len() == 2 {
                // Nearer than before, once it came out, too, and once without a change.
                for (v, distance) in [(7, 6), (5, 7), (1, 8), (6, 700)] {
                    distances[v].store(distance, Ordering::Relaxed);
                    heap.raise(v as VertexId);
                }
            }
        }
        assert_eq!(found, [0, 5, 5, 6, 7, 8, 9, 700, u64::MAX - 2]);
        assert_eq!(heap.pop(), None);
    }

    #[test]
    fn any_order_of_vertices_comes_out_sorted() {
        let n = 2_000u32;
        let distances: Vec<_> = (0..n).map(|v| AtomicU64::new(u64::from(v * 977 % 251))).collect();
        let mut heap = Heap::new(&distances).unwrap();
        (0..n).for_each(|v| heap.raise(v * 7 % n));
        (0..n).step_by(3).for_each(|v| {
            distances[v as usize].fetch_min(u64::from(v % 83), Ordering::Relaxed);
            heap.raise(v);
        });
        let found: Vec<_> = std::iter::from_fn(|| heap.pop()).collect();
        assert!(found.iter().map(|&v| heap.distance(v)).is_sorted());
        let mut all = found;
        all.sort_unstable();
        assert!(all.into_iter().eq(0..n));
    }
}
