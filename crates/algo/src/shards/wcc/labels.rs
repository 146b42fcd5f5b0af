//! The labels of a shard's components.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{HugeVec, VertexId};

use super::GIANT;
use crate::report::Result;
use crate::shards::Part;
use crate::wcc::Forest;

/// A label is the number of a vertex, where that of the hub is taken for the smallest one: it is
/// [`GIANT`], and each smaller number is one more.
pub(super) struct Labels {
    /// After the pass the root of each vertex.
    pub forest: Forest,
    /// Of each root `!label` if that is smaller than the label of its number, else 0.
    lowered: HugeVec<AtomicU32>,
    numbers: Arc<Vec<u64>>,
    own: Range<VertexId>,
    hub: u32,
    /// The own vertices that name a component; the hub names its own.
    pub components: u64,
    /// The smallest number of a vertex that is known to be in the component of the hub.
    pub least: u64,
}

impl Labels {
    pub fn new(part: &Part, hub: u64) -> Result<Self> {
        Ok(Self {
            forest: Forest::new(part.places())?,
            lowered: HugeVec::zeroed(part.places())?,
            numbers: Arc::clone(&part.numbers),
            own: part.own(),
            hub: hub as u32,
            components: 0,
            least: u64::MAX,
        })
    }

    /// The number of the hub.
    pub fn hub(&self) -> u64 {
        self.hub.into()
    }

    /// What a checkpoint has beside the roots.
    pub fn lowered(&self) -> &[AtomicU32] {
        &self.lowered
    }

    fn of_number(&self, number: u64) -> u32 {
        let number = number as u32;
        if number == self.hub { GIANT } else { number + u32::from(number < self.hub) }
    }

    /// The number of the vertex that a label stands for; `None` for [`GIANT`].
    pub fn number(&self, label: u32) -> Option<u32> {
        (label != GIANT).then(|| label - u32::from(label <= self.hub))
    }

    /// The label of the component of `v`.
    #[inline(always)]
    pub fn of(&self, v: VertexId) -> u32 {
        let root = self.forest.parent(v) as usize;
        match self.lowered[root].load(Ordering::Relaxed) {
            0 => self.of_number(self.numbers[root]),
            lowered => !lowered,
        }
    }

    /// Gives the component of `v` a label if it is smaller than its own.
    pub fn lower(&mut self, v: VertexId, label: u32) {
        let root = self.forest.parent(v);
        let (number, cell) = (self.numbers[root as usize], &self.lowered[root as usize]);
        let before = cell.load(Ordering::Relaxed);
        if label >= self.of(v) && (label, before) != (GIANT, 0) {
            return;
        }
        cell.store(!label, Ordering::Relaxed);
        self.components -= u64::from(before == 0 && self.own.contains(&root));
        if label == GIANT {
            self.least = self.least.min(number);
        }
    }

    /// Counts the components by their names, after the pass.
    pub fn count(&mut self, part: &Part) {
        let has_hub = part.vertex_of(self.hub()).is_some_and(|hub| self.own.contains(&hub));
        let is_name = |v: VertexId| {
            self.forest.parent(v) == v && self.lowered[v as usize].load(Ordering::Relaxed) == 0
        };
        self.components = part.count_own(is_name) as u64 + u64::from(has_hub);
    }

    /// Computes what follows from the arrays, which have come from a checkpoint.
    pub fn restored(&mut self, part: &Part) {
        self.count(part);
        let is_giant = |v: &VertexId| self.forest.parent(*v) == *v && self.of(*v) == GIANT;
        let root = (0..self.numbers.len() as VertexId).find(is_giant);
        self.least = root.map_or(u64::MAX, |root| self.numbers[root as usize]);
    }
}
