//! The most frequent of some labels; of equally frequent ones, the smallest.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{VertexId, prefetch_of_many};

use crate::neighbourhood::blocks_ahead;

/// Up to this many labels are sorted: emptying the table would cost more.
const SORTED_MAX: usize = 24;

/// Slots of the table: small enough for the first-level cache.
const SLOTS: usize = 2048;

/// The most different labels in the table; with more, labels are sorted instead.
const DIFFERENT_MAX: usize = SLOTS / 2;

/// A worker's buffers to find the most frequent label.
#[derive(Debug, Default)]
pub(crate) struct Frequent {
    labels: Vec<u32>,
    /// Label and count; a count of 0 is an empty slot.
    slots: Vec<(u32, u32)>,
    /// Slots in use.
    used: Vec<u16>,
}

impl Frequent {
    /// The most bytes for `longest` labels.
    pub fn bytes_for(longest: u64) -> u64 {
        // A growing vector needs the old copy for a moment.
        longest * 4 * 3 + (SLOTS * 8 + DIFFERENT_MAX * 2) as u64
    }

    /// The most frequent label of the neighbours of a vertex, whose first ones were prefetched.
    #[inline]
    pub fn of_neighbours(
        &mut self,
        labels: &[AtomicU32],
        neighbours: &[&[VertexId]],
    ) -> Option<u32> {
        let prefetch = |later: &[VertexId]| prefetch_of_many(labels, later);
        let blocks = neighbours.iter().flat_map(|slice| blocks_ahead(slice, prefetch));
        let label = |&u: &VertexId| labels[u as usize].load(Ordering::Relaxed);
        self.of(blocks.map(|block| block.iter().map(label)))
    }

    /// The most frequent label of all parts; `None` without labels.
    #[inline]
    pub fn of(
        &mut self,
        parts: impl Iterator<Item = impl ExactSizeIterator<Item = u32>>,
    ) -> Option<u32> {
        self.labels.clear();
        // With known lengths it grows at most once for each part.
        parts.for_each(|part| self.labels.extend(part));
        if self.labels.len() > SORTED_MAX
            && let Some(most) = self.count()
        {
            return Some(most);
        }
        self.labels.sort_unstable();
        most_of_sorted(&self.labels)
    }

    /// Counts with the table; `None` if there are too many different labels.
    fn count(&mut self) -> Option<u32> {
        self.slots.resize(SLOTS, (0, 0));
        let (mut most, mut most_count) = (u32::MAX, 0);
        let mut fits = true;
        for &label in &self.labels {
            let mut at = slot_of(label);
            while self.slots[at].1 > 0 && self.slots[at].0 != label {
                at = (at + 1) % SLOTS;
            }
            let slot = &mut self.slots[at];
            if slot.1 == 0 {
                if self.used.len() == DIFFERENT_MAX {
                    fits = false;
                    break;
                }
                self.used.push(at as u16);
            }
            *slot = (label, slot.1 + 1);
            let (count, better) = (slot.1, slot.1 == most_count && label < most);
            if count > most_count || better {
                (most, most_count) = (label, count);
            }
        }
        self.used.drain(..).for_each(|at| self.slots[at as usize].1 = 0);
        fits.then_some(most)
    }
}

#[inline(always)]
fn slot_of(label: u32) -> usize {
    (label.wrapping_mul(0x9E37_79B9) >> (32 - SLOTS.trailing_zeros())) as usize
}

fn most_of_sorted(labels: &[u32]) -> Option<u32> {
    let (mut most, mut most_count) = (None, 0);
    for run in labels.chunk_by(|a, b| a == b) {
        if run.len() > most_count {
            (most, most_count) = (Some(run[0]), run.len());
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_most_frequent_label_is_that_of_a_map(
            labels in proptest::collection::vec(0u32..4000, 0..3000),
            modulus in 1u32..4000,
        ) {
            let mut frequent = Frequent::default();
            for modulus in [modulus, 3] {
                let labels = labels.iter().map(|label| label % modulus);
                let mut counts = BTreeMap::new();
                labels.clone().for_each(|label| *counts.entry(label).or_insert(0) += 1);
                let expected = counts
                    .into_iter()
                    .max_by_key(|&(label, count)| (count, std::cmp::Reverse(label)))
                    .map(|(label, _)| label);
                prop_assert_eq!(frequent.of(std::iter::once(labels)), expected);
            }
        }
    }
}
