//! The rest of a search of many small steps in memory: all lists as compressed sparse rows with
//! their weights, and Dijkstra's algorithm on a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan,
//! Journal of the ACM 37 (1990)). One thread: a step has too few vertices for more.

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
    4 * (n + 1) + entries(graph) * entry_bytes(graph) + heap_bytes(graph)
}

/// The most entries of the heap: twice as many as can be of use.
fn heap_max(vertices: usize) -> usize {
    2 * vertices
}

/// A vector grows by doubling, and needs the old copy meanwhile.
fn heap_bytes(graph: &Graph) -> u64 {
    3 * (size_of::<(u64, VertexId)>() * heap_max(graph.vertices())) as u64
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
        let mut heap = RadixHeap::default();
        active.for_each(|v| heap.push(distance(v), v));
        let (mut popped, mut bound_now) = (0u64, bound());
        while let Some((length, v)) = heap.pop() {
            popped += 1;
            if popped.is_multiple_of(CANCEL_VERTICES) {
                check_cancel()?;
                bound_now = bound();
            }
            if length > bound_now {
                break;
            }
            if length > distance(v) {
                continue;
            }
            for entry in self.lists.range(v) {
                let target = self.lists.targets[entry].load(Ordering::Relaxed);
                let sum = self.sum(length, entry);
                if sum < distance(target) && sum <= bound_now {
                    distances[target as usize].store(sum, Ordering::Relaxed);
                    heap.push(sum, target);
                }
            }
            if heap.len > heap_max(distances.len()) {
                heap.retain(|length, v| length == distance(v));
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

/// A monotone priority queue: no length that is pushed is smaller than the last that was popped.
/// Bucket b holds the lengths whose highest bit different from that of the last is bit b - 1.
#[derive(Debug)]
struct RadixHeap {
    buckets: [Vec<(u64, VertexId)>; 65],
    last: u64,
    len: usize,
}

impl Default for RadixHeap {
    fn default() -> Self {
        Self { buckets: [const { Vec::new() }; 65], last: 0, len: 0 }
    }
}

impl RadixHeap {
    #[inline(always)]
    fn push(&mut self, length: u64, v: VertexId) {
        let bucket = 64 - (length ^ self.last).leading_zeros();
        self.buckets[bucket as usize].push((length, v));
        self.len += 1;
    }

    /// Drops the entries for which `keep` is false.
    fn retain(&mut self, keep: impl Fn(u64, VertexId) -> bool) {
        self.buckets.iter_mut().for_each(|bucket| bucket.retain(|&(length, v)| keep(length, v)));
        self.len = self.buckets.iter().map(Vec::len).sum();
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(u64, VertexId)> {
        if self.buckets[0].is_empty() {
            let first = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
            let bucket = std::mem::take(&mut self.buckets[first]);
            self.len -= bucket.len();
            self.last = bucket.iter().map(|(length, _)| *length).min()?;
            bucket.into_iter().for_each(|(length, v)| self.push(length, v));
        }
        self.len -= 1;
        self.buckets[0].pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_come_out_in_order() {
        let mut heap = RadixHeap::default();
        for (v, length) in (0..).zip([5, 0, u64::MAX - 2, 5, 9, 1 << 40]) {
            heap.push(length, v);
        }
        let mut found = Vec::new();
        while let Some((length, v)) = heap.pop() {
            if v == 4 {
                heap.push(9, 7);
                heap.push(10, 8);
            }
            found.push(length);
        }
        assert_eq!(found, [0, 5, 5, 9, 9, 10, 1 << 40, u64::MAX - 2]);
    }
}
