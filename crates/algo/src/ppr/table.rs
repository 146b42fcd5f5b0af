//! The mass that vertices hold for one seed: a hash table of those that hold any.

use cenote_engine::{HugeVec, VertexId, prefetch};

use crate::mix::GOLDEN;
use crate::report::Result;

/// Slots of an empty table: a page.
const SLOTS_MIN: usize = 1 << 8;

/// A vertex, its degree and its mass.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
pub(super) struct Slot {
    /// The vertex plus one; 0 where the slot is free.
    key: VertexId,
    /// At least 1.
    pub degree: u32,
    pub mass: u64,
}

/// Slots by the hash of their vertex; a vertex lies in the first free one from there on. Mapped, so
/// that their memory is free when a table is.
#[derive(Debug)]
pub(super) struct Table {
    slots: HugeVec<Slot>,
    len: usize,
}

/// Most vertices of so many slots.
fn len_max(slots: usize) -> usize {
    slots / 8 * 5
}

/// Slots of a table of so many vertices.
fn slots_for(vertices: usize) -> usize {
    let mut slots = SLOTS_MIN;
    while len_max(slots) < vertices {
        slots *= 2;
    }
    slots
}

impl Slot {
    pub fn vertex(&self) -> VertexId {
        self.key - 1
    }

    fn is_free(&self) -> bool {
        self.key == 0
    }
}

impl Table {
    pub fn new() -> Result<Self> {
        Ok(Self { slots: HugeVec::sparse(SLOTS_MIN)?, len: 0 })
    }

    /// Bytes of a table.
    pub fn bytes(&self) -> u64 {
        (self.slots.len() * size_of::<Slot>()) as u64
    }

    /// Bytes of a table of so many vertices while it has become that large.
    pub fn bytes_max(vertices: u64) -> u64 {
        let vertices = usize::try_from(vertices).unwrap_or(usize::MAX / 64);
        // The smaller one exists as long as its slots are moved.
        (slots_for(vertices) + slots_for(vertices) / 2) as u64 * size_of::<Slot>() as u64
    }

    /// Bytes more while it grows; `None` if `more` vertices have room.
    pub fn growth(&self, more: usize) -> Option<u64> {
        let slots = slots_for(self.len + more);
        (slots > self.slots.len()).then_some((slots * size_of::<Slot>()) as u64)
    }

    /// Makes room for `more` vertices.
    pub fn grow(&mut self, more: usize) -> Result<()> {
        let larger = HugeVec::sparse(slots_for(self.len + more))?;
        let before = std::mem::replace(&mut self.slots, larger);
        for slot in before.iter().filter(|slot| !slot.is_free()) {
            let at = self.find(slot.vertex());
            self.slots[at] = *slot;
        }
        Ok(())
    }

    #[inline(always)]
    fn home(&self, v: VertexId) -> usize {
        let shift = u64::BITS - self.slots.len().trailing_zeros();
        (u64::from(v).wrapping_mul(GOLDEN) >> shift) as usize
    }

    #[inline(always)]
    pub fn prefetch(&self, v: VertexId) {
        prefetch(&self.slots, self.home(v));
    }

    /// The slot of a vertex, or the free one for it.
    #[inline(always)]
    fn find(&self, v: VertexId) -> usize {
        let mut at = self.home(v);
        while self.slots[at].key != v + 1 && !self.slots[at].is_free() {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Adds mass to a vertex, for which there must be room. Returns its slot before and after.
    #[inline(always)]
    pub fn add(&mut self, v: VertexId, mass: u64, degree: impl FnOnce() -> u32) -> (u64, Slot) {
        let at = self.find(v);
        let slot = &mut self.slots[at];
        if slot.is_free() {
            *slot = Slot { key: v + 1, degree: degree().max(1), mass: 0 };
            self.len += 1;
        }
        let before = slot.mass;
        slot.mass += mass;
        (before, *slot)
    }

    /// Takes the mass of a vertex; 0 if it has none.
    pub fn take(&mut self, v: VertexId) -> u64 {
        let at = self.find(v);
        std::mem::take(&mut self.slots[at].mass)
    }

    /// The vertices, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots.iter().copied().filter(|slot| !slot.is_free())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn masses_add_up_as_in_a_map_while_the_table_grows() {
        let (mut table, mut expected) = (Table::new().unwrap(), BTreeMap::<VertexId, u64>::new());
        for i in 0..5000u32 {
            let v = i.wrapping_mul(2_654_435_761) % 1777;
            if table.growth(1).is_some() {
                table.grow(1).unwrap();
            }
            let (before, slot) = table.add(v, u64::from(i), || v % 3);
            assert_eq!(before, expected.get(&v).copied().unwrap_or(0));
            assert_eq!((slot.vertex(), slot.degree), (v, (v % 3).max(1)));
            *expected.entry(v).or_default() += u64::from(i);
            if i % 7 == 0 {
                assert_eq!(table.take(v), expected.insert(v, 0).unwrap());
            }
        }
        let found: BTreeMap<_, _> = table.iter().map(|slot| (slot.vertex(), slot.mass)).collect();
        assert_eq!(found, expected);
        assert!(table.bytes() <= Table::bytes_max(1777));
        assert_eq!(table.take(u32::MAX - 1), 0);
    }
}
