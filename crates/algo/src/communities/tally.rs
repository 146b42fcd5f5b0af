//! A worker's sums of weights by community.

/// An open-addressing table from numbers to sums, emptied after each list.
#[derive(Debug, Default)]
pub(super) struct Tally {
    keys: Vec<u32>,
    sums: Vec<u64>,
    /// Slots in use, in order of insertion.
    used: Vec<u32>,
    shift: u32,
}

const EMPTY: u32 = u32::MAX;

impl Tally {
    /// The most bytes for lists of up to `longest` entries.
    pub fn bytes_for(longest: u64) -> u64 {
        // A growing vector needs the old copy for a moment.
        Self::slots(longest as usize) as u64 * 12 + longest * 4 * 3
    }

    fn slots(entries: usize) -> usize {
        (entries + entries / 2 + 4).next_power_of_two()
    }

    /// Empties the table, for a list of so many entries.
    #[inline]
    pub fn start(&mut self, entries: usize) {
        for &slot in &self.used {
            self.keys[slot as usize] = EMPTY;
        }
        self.used.clear();
        // Short lists use the front of the table alone, which stays in the cache.
        let slots = Self::slots(entries);
        if slots > self.keys.len() {
            self.keys = Vec::new();
            self.sums = Vec::new();
            self.keys.resize(slots, EMPTY);
            self.sums.resize(slots, 0);
        }
        self.shift = 32 - slots.trailing_zeros().min(31);
    }

    /// Adds to the sum of a number.
    #[inline(always)]
    pub fn add(&mut self, key: u32, weight: u64) {
        let mask = u32::MAX >> self.shift;
        let mut slot = key.wrapping_mul(0x9E37_79B9) >> self.shift;
        loop {
            let found = self.keys[slot as usize];
            if found == key {
                self.sums[slot as usize] += weight;
                return;
            }
            if found == EMPTY {
                self.keys[slot as usize] = key;
                self.sums[slot as usize] = weight;
                self.used.push(slot);
                return;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The sum of a number; 0 without one.
    #[inline]
    pub fn of(&self, key: u32) -> u64 {
        let mask = u32::MAX >> self.shift;
        let mut slot = key.wrapping_mul(0x9E37_79B9) >> self.shift;
        loop {
            match self.keys[slot as usize] {
                found if found == key => return self.sums[slot as usize],
                EMPTY => return 0,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// All numbers with their sums.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.used.iter().map(|&slot| (self.keys[slot as usize], self.sums[slot as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn sums_are_those_of_a_map(
            lists in proptest::collection::vec(
                proptest::collection::vec((0u32..300, 0u64..9), 0..200), 1..8),
        ) {
            let mut tally = Tally::default();
            for list in lists {
                let mut expected = BTreeMap::new();
                tally.start(list.len());
                for (key, weight) in list {
                    tally.add(key, weight);
                    *expected.entry(key).or_insert(0) += weight;
                }
                prop_assert_eq!(tally.iter().collect::<BTreeMap<_, _>>(), expected.clone());
                for key in 0..300 {
                    prop_assert_eq!(tally.of(key), expected.get(&key).copied().unwrap_or(0));
                }
            }
        }
    }
}
