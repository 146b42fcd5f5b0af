//! The edges between components, in memory: the residual graph of a minimum spanning forest.

use std::sync::atomic::{AtomicUsize, Ordering};

use cenote_engine::{Engine, HugeVec};

use super::components::{Components, Edge, Slot};
use crate::parallel;
use crate::report::Result;

/// Places that a worker takes at a time.
const CHUNK: usize = 1 << 10;

/// Edges among which a thread finds those to keep at a time.
const BLOCK: usize = 1 << 14;

/// Edges that workers fill in, in chunks.
#[derive(Debug)]
pub(super) struct Between {
    slots: HugeVec<Slot>,
    taken: AtomicUsize,
}

/// The chunk of one worker.
#[derive(Debug)]
pub(super) struct Part<'a> {
    between: &'a Between,
    next: usize,
    end: usize,
}

impl Between {
    /// Places for the edges of so many entries, which are at both ends, and for chunks that are not
    /// full.
    fn places(entries: u64, workers: usize) -> u64 {
        entries / 2 + (CHUNK * (workers + 1)) as u64
    }

    /// Bytes for the edges of so many entries.
    pub fn bytes_for(entries: u64, workers: usize) -> u64 {
        Self::places(entries, workers) * size_of::<Slot>() as u64
    }

    /// Room for the edges of so many entries.
    pub fn new(entries: u64, workers: usize) -> Result<Self> {
        let places = usize::try_from(Self::places(entries, workers)).unwrap_or(usize::MAX);
        Ok(Self { slots: HugeVec::sparse(places)?, taken: AtomicUsize::new(0) })
    }

    /// The part of one worker.
    pub fn part(&self) -> Part<'_> {
        Part { between: self, next: 0, end: 0 }
    }

    /// Joins components by these edges until none is left between two of them.
    pub fn join(&mut self, components: &mut Components, engine: &Engine) -> Result<()> {
        let taken = self.slots.len().min(*self.taken.get_mut());
        let mut left = &self.slots[..taken];
        loop {
            let kept = retain(left, components);
            left = &left[..kept];
            if left.is_empty() {
                return Ok(());
            }
            parallel::for_each_of(left, |_, slot| {
                let edge = slot.get();
                let (a, b) = edge.ends();
                components.offer(components.of(a), edge);
                components.offer(components.of(b), edge);
            });
            components.join(engine)?;
        }
    }
}

/// Moves the edges between components to the front; returns how many there are.
fn retain(slots: &[Slot], components: &Components) -> usize {
    let of_blocks = parallel::collect_of_blocks(BLOCK, slots.len(), |range| {
        let (block, mut kept) = (&slots[range], 0);
        for edge in block.iter().map(Slot::get) {
            let (a, b) = edge.ends();
            // A place that was not filled holds zeros, a self-loop.
            if a != b && components.of(a) != components.of(b) {
                block[kept].set(edge);
                kept += 1;
            }
        }
        kept
    });
    let mut kept = 0;
    for (block, of_block) in of_blocks.into_iter().enumerate() {
        for at in 0..of_block {
            slots[kept].set(slots[block * BLOCK + at].get());
            kept += 1;
        }
    }
    kept
}

impl Part<'_> {
    /// Keeps an edge.
    #[inline(always)]
    pub fn push(&mut self, edge: Edge) {
        if self.next == self.end {
            self.next = self.between.taken.fetch_add(CHUNK, Ordering::Relaxed);
            self.end = self.next + CHUNK;
        }
        // Only lists that contradict each other, which `check` reports, have more edges.
        if let Some(slot) = self.between.slots.get(self.next) {
            slot.set(edge);
            self.next += 1;
        }
    }
}
