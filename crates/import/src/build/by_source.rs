//! Makes the lists of a range without weights: groups its keys by source, then sorts each list.
//!
//! A counting sort by source moves every target once, to its list, which then sorts in the caches.
//! A sort of whole keys moves 8 bytes four times over all memory of the range instead.

use super::Built;
use crate::partition::{KeySpace, Range};
use cenote_store::VertexId;

/// Below this many keys the grouping is not worth its counters.
const KEYS_MIN: usize = 1 << 10;
/// From this length on a list is sorted by digits.
const LONG: usize = 256;
/// Lists of this length pay for digits of more values.
const VERY_LONG: usize = 1 << 13;
const DIGIT_BITS: u32 = 8;
const WIDE_DIGIT_BITS: u32 = 12;

/// The numbers of the lists that were made of a range, and of their targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    pub lists: usize,
    pub targets: usize,
    pub built: Built,
}

/// How keys become lists.
#[derive(Clone, Copy)]
pub(super) struct Grouping {
    pub space: KeySpace,
    pub range: Range,
    pub keep_duplicates: bool,
}

impl Grouping {
    /// Makes the lists of `keys`, which are relative to the low end of the range: targets in
    /// `scratch`, as long as the keys, and `pack(vertex, length)` of each list in `keys`. `None` if
    /// sources are too many for it, or keys too few; nothing is changed then.
    pub fn lists(
        &self,
        keys: &mut [u64],
        scratch: &mut [u64],
        pack: impl Fn(VertexId, usize) -> u64,
    ) -> Option<Made> {
        let Range { low, last } = self.range;
        let first = self.space.source(low);
        let sources = (self.space.source(last) - first) as usize + 1;
        let count = keys.len();
        if count < KEYS_MIN || sources > count {
            return None;
        }
        let scratch: &mut [u32] = bytemuck::cast_slice_mut(scratch);
        let (targets, ends) = scratch[..2 * count].split_at_mut(count);
        let ends = &mut ends[..sources];
        self.group(keys, first, targets, ends);
        let mut made = Made::default();
        let mut start = 0;
        for (&end, vertex) in ends.iter().zip(first..) {
            let end = end as usize;
            if start == end {
                continue;
            }
            // Each list before has a key at least: behind their words, two for each, is room.
            let spare: &mut [u32] = bytemuck::cast_slice_mut(&mut *keys);
            let spare = &mut spare[2 * start..][..end - start];
            sort(&mut targets[start..end], spare, self.space.id_bits());
            let from = made.targets;
            self.compact(vertex, targets, start..end, &mut made);
            keys[made.lists] = pack(vertex, made.targets - from);
            made.lists += 1;
            start = end;
        }
        made.built.stored = made.targets as u64;
        Some(made)
    }

    /// Moves the targets of each source next to each other; `ends` becomes where each list ends.
    fn group(&self, keys: &[u64], first: VertexId, targets: &mut [u32], ends: &mut [u32]) {
        let space = self.space;
        let offset = self.range.low - space.key(first, 0);
        ends.fill(0);
        for key in keys {
            ends[space.source(key + offset) as usize] += 1;
        }
        let mut before = 0;
        for end in ends.iter_mut() {
            before += std::mem::replace(end, before);
        }
        for key in keys {
            let place = &mut ends[space.source(key + offset) as usize];
            targets[*place as usize] = space.target(key + offset);
            *place += 1;
        }
    }

    /// Moves a sorted list behind the lists before it, without its repeats unless they are kept.
    fn compact(
        &self,
        vertex: VertexId,
        targets: &mut [u32],
        list: std::ops::Range<usize>,
        made: &mut Made,
    ) {
        let (mut repeats, mut loops) = (0, 0u64);
        let (count, mut before) = (list.len(), None);
        for at in list {
            let target = targets[at];
            let repeats_before = before == Some(target);
            before = Some(target);
            repeats += u64::from(repeats_before);
            loops += u64::from(target == vertex);
            targets[made.targets] = target;
            made.targets += usize::from(self.keep_duplicates || !repeats_before);
        }
        debug_assert!(repeats < count as u64, "the first entry repeats none");
        let repeated_loops = loops.saturating_sub(1);
        made.built.repeated += repeats - repeated_loops;
        made.built.repeated_loops += repeated_loops;
        made.built.loops += if self.keep_duplicates { loops } else { loops.min(1) };
    }
}

/// Sorts a list; `spare` has its length and is overwritten.
fn sort(list: &mut [u32], spare: &mut [u32], bits: u32) {
    if list.len() < LONG {
        return list.sort_unstable();
    }
    if list.is_sorted() {
        return;
    }
    if list.len() < VERY_LONG {
        sort_by_digits::<DIGIT_BITS, { 1 << DIGIT_BITS }>(list, spare, bits);
    } else {
        sort_by_digits::<WIDE_DIGIT_BITS, { 1 << WIDE_DIGIT_BITS }>(list, spare, bits);
    }
}

/// Radix sort of numbers of so many bits, least significant digits first.
fn sort_by_digits<const BITS: u32, const VALUES: usize>(
    list: &mut [u32],
    spare: &mut [u32],
    bits: u32,
) {
    let digit = |target: u32, shift: u32| (target >> shift) as usize % VALUES;
    let (mut from, mut to) = (&mut *list, spare);
    let mut is_moved = false;
    for shift in (0..bits).step_by(BITS as usize) {
        let mut places = [0u32; VALUES];
        from.iter().for_each(|&target| places[digit(target, shift)] += 1);
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for &target in from.iter() {
            let place = &mut places[digit(target, shift)];
            to[*place as usize] = target;
            *place += 1;
        }
        (from, to) = (to, from);
        is_moved = !is_moved;
    }
    if is_moved {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        *state ^ *state >> 29
    }

    #[test]
    fn lists_of_every_length_are_sorted() {
        let mut state = 1;
        for bits in [1, 8, 9, 12, 17, 24, 31, 32] {
            for length in [0, 1, 20, LONG, LONG + 1, 5000, VERY_LONG + 1] {
                let random = (0..length).map(|_| (random(&mut state) >> (64 - bits)) as u32);
                let mut list: Vec<u32> = random.collect();
                let mut oracle = list.clone();
                oracle.sort();
                let mut spare = vec![0; length];
                sort(&mut list, &mut spare, bits);
                assert_eq!(list, oracle, "{length} of {bits} bits");
                sort(&mut list, &mut spare, bits);
                assert_eq!(list, oracle, "{length} of {bits} bits again");
            }
        }
    }

    /// Lists, and the counts of [`Made`], by a sort of all pairs.
    fn oracle(mut pairs: Vec<(u32, u32)>, keep: bool) -> (Vec<(u32, Vec<u32>)>, Made) {
        pairs.sort();
        let mut lists: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut made = Made::default();
        for (at, &(source, target)) in pairs.iter().enumerate() {
            let repeats = at > 0 && pairs[at - 1] == (source, target);
            made.built.repeated_loops += u64::from(repeats && source == target);
            made.built.repeated += u64::from(repeats && source != target);
            if repeats && !keep {
                continue;
            }
            made.built.loops += u64::from(source == target);
            made.targets += 1;
            match lists.last_mut() {
                Some((last, list)) if *last == source => list.push(target),
                _ => lists.push((source, vec![target])),
            }
        }
        made.lists = lists.len();
        made.built.stored = made.targets as u64;
        (lists, made)
    }

    #[test]
    fn grouped_lists_are_those_of_sorted_pairs() {
        const VERTICES: u64 = 3000;
        let mut state = 5;
        let space = KeySpace::new(VERTICES);
        for (sources, targets, count) in [(700, 3000, 5000), (1, 40, 9000), (2, 3000, 20_000)] {
            for keep_duplicates in [false, true] {
                // The range begins and ends within lists.
                let range = Range { low: space.key(9, 30), last: space.key(8 + sources, 2990) };
                let pairs: Vec<(u32, u32)> = std::iter::repeat_with(|| {
                    let source = 9 + random(&mut state) as u32 % sources;
                    (source, random(&mut state) as u32 % targets)
                })
                .filter(|&(s, t)| (range.low..=range.last).contains(&space.key(s, t)))
                .take(count)
                .collect();
                let keys = pairs.iter().map(|&(s, t)| space.key(s, t) - range.low);
                let (mut keys, mut scratch) = (keys.collect::<Vec<_>>(), vec![7; count]);
                let grouping = Grouping { space, range, keep_duplicates };
                let pack = |vertex: u32, length| u64::from(vertex) << 32 | length as u64;
                let made = grouping.lists(&mut keys, &mut scratch, pack).expect("fits");
                let (lists, counts) = oracle(pairs, keep_duplicates);
                assert_eq!(made, counts);
                let found: &[u32] = bytemuck::cast_slice(&scratch);
                let all: Vec<u32> = lists.iter().flat_map(|(_, list)| list.clone()).collect();
                assert_eq!(found[..made.targets], all);
                let packed = lists.iter().map(|(vertex, list)| pack(*vertex, list.len()));
                assert!(keys[..made.lists].iter().copied().eq(packed));
            }
        }
    }

    #[test]
    fn few_keys_and_many_sources_are_left_to_the_sort() {
        let space = KeySpace::new(1 << 20);
        let range = Range { low: 0, last: space.last() };
        let grouping = Grouping { space, range, keep_duplicates: false };
        for count in [10, 2000] {
            let (mut keys, mut scratch) = (vec![3; count], vec![0; count]);
            assert_eq!(grouping.lists(&mut keys, &mut scratch, |_, _| 0), None);
            assert!(keys.iter().all(|&key| key == 3));
        }
    }
}
