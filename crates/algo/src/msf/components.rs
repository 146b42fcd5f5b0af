//! Components, each with the lightest edge to another one that was offered to it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{Engine, HugeVec, VertexId, prefetch};
use rayon::prelude::*;

use crate::parallel;
use crate::report::Result;

/// Entries whose components are fetched while others are compared.
pub(super) const AHEAD: usize = 16;

/// Locks of slots: a component's is that of its number modulo this.
const LOCKS: usize = 1 << 10;

/// Ranks that are looked at between two checks whether the run is cancelled.
const CHECK_EACH: usize = 1 << 16;

/// An edge between two ranks. The order of edges is by weight, then by ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    /// Bits in the order of the weights.
    pub weight: u64,
    /// The smaller end in the upper half, the larger one in the lower.
    ends: u64,
}

impl Edge {
    /// No edge: behind all others, since no edge leads from the largest rank to itself.
    pub const NONE: Self = Self { weight: u64::MAX, ends: u64::MAX };

    #[inline(always)]
    pub fn new(weight: u64, a: VertexId, b: VertexId) -> Self {
        Self { weight, ends: u64::from(a.min(b)) << 32 | u64::from(a.max(b)) }
    }

    #[inline(always)]
    pub fn ends(self) -> (VertexId, VertexId) {
        ((self.ends >> 32) as VertexId, self.ends as VertexId)
    }

    fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// A place for an edge.
#[derive(Debug, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Slot {
    weight: AtomicU64,
    ends: AtomicU64,
}

impl Slot {
    #[inline(always)]
    pub fn get(&self) -> Edge {
        let [weight, ends] = [&self.weight, &self.ends].map(|part| part.load(Ordering::Relaxed));
        Edge { weight, ends }
    }

    #[inline(always)]
    pub fn set(&self, edge: Edge) {
        self.weight.store(edge.weight, Ordering::Relaxed);
        self.ends.store(edge.ends, Ordering::Relaxed);
    }
}

/// Components of ranks: trees whose roots name them.
///
/// The slot of a root holds the lightest edge that was offered to its component; that of any other
/// rank the edge by which its component was joined to another: all of these are the forest.
#[derive(Debug)]
pub(super) struct Components {
    /// Between joins the root itself.
    parents: HugeVec<AtomicU32>,
    slots: HugeVec<Slot>,
    locks: Vec<Mutex<()>>,
    /// Edges of the forest, when they are gathered.
    gathered: usize,
}

impl Components {
    /// Bytes of the components of a graph.
    pub fn bytes_for(vertices: usize) -> u64 {
        let locks = LOCKS * size_of::<Mutex<()>>();
        (vertices * (size_of::<AtomicU32>() + size_of::<Slot>()) + locks) as u64
    }

    /// Every rank by itself.
    pub fn new(vertices: usize) -> Result<Self> {
        let (parents, slots) =
            (HugeVec::<AtomicU32>::zeroed(vertices)?, HugeVec::<Slot>::zeroed(vertices)?);
        parallel::for_each(vertices, |v| {
            parents[v].store(v as VertexId, Ordering::Relaxed);
            slots[v].set(Edge::NONE);
        });
        let locks = (0..LOCKS).map(|_| Mutex::new(())).collect();
        Ok(Self { parents, slots, locks, gathered: 0 })
    }

    /// The component of a rank, between joins.
    #[inline(always)]
    pub fn of(&self, rank: VertexId) -> VertexId {
        self.parents[rank as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn prefetch(&self, rank: VertexId) {
        prefetch(&self.parents, rank as usize);
    }

    /// Puts an edge into the slot of a component, unless a lighter one is there.
    #[inline]
    pub fn offer(&self, component: VertexId, edge: Edge) {
        let slot = &self.slots[component as usize];
        // Weights in a slot only fall, so most offers need no lock.
        if slot.weight.load(Ordering::Relaxed) < edge.weight {
            return;
        }
        let lock = &self.locks[component as usize % LOCKS];
        let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if edge < slot.get() {
            slot.set(edge);
        }
    }

    /// Joins every component to another one by the edge in its slot.
    pub fn join(&mut self, engine: &Engine) -> Result<()> {
        for root in 0..self.parents.len() as VertexId {
            if root.is_multiple_of(CHECK_EACH as VertexId) {
                engine.check_cancel()?;
            }
            let edge = self.slots[root as usize].get();
            if self.of(root) != root || !edge.is_some() {
                continue;
            }
            let (a, b) = edge.ends();
            let (a, b) = (self.find(a), self.find(b));
            match if a == root { b } else { a } {
                // The other component has the same edge in its slot, and is joined by it.
                other if other == root => self.slots[root as usize].set(Edge::NONE),
                other => self.parents[root as usize].store(other, Ordering::Relaxed),
            }
        }
        parallel::for_each_of(&self.parents, |v, parent| {
            parent.store(self.find(v as VertexId), Ordering::Relaxed);
        });
        Ok(())
    }

    /// The root of a rank. Halves the path to it.
    fn find(&self, mut rank: VertexId) -> VertexId {
        loop {
            let parent = self.of(rank);
            let above = self.of(parent);
            if above == parent {
                return parent;
            }
            // Another thread may have stored a nearer ancestor meanwhile: any one is right.
            self.parents[rank as usize].store(above, Ordering::Relaxed);
            rank = above;
        }
    }

    /// Moves the edges of the forest to the front, in the order of their ends; returns how many
    /// there are. Nothing can be joined any more.
    pub fn gather(&mut self) -> usize {
        let mut edges = 0;
        for at in 0..self.slots.len() {
            let edge = self.slots[at].get();
            if self.of(at as VertexId) != at as VertexId && edge.is_some() {
                self.slots[edges].set(edge);
                edges += 1;
            }
        }
        self.gathered = edges;
        self.slots[..edges].par_sort_unstable_by_key(|slot| slot.get().ends);
        edges
    }

    /// The gathered edges.
    pub fn forest(&self) -> &[Slot] {
        &self.slots[..self.gathered]
    }
}
