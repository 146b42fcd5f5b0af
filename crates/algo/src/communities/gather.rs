//! The graph of the next level: one vertex, a *node*, for each subset of vertices, and between two
//! nodes one edge that weighs as much as all edges between their vertices.
//!
//! A pass over the stored lists adds up weights by pairs of nodes in a hash table, which then
//! becomes lists. Weights are integers and lists are sorted, so the order of arrival does not
//! matter.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Bitmap, HugeVec, VertexId};

use super::level::{Entry, Level, Room, entry};
use super::lists::{TakeList, Weigh, visit};
use super::partition::{ISOLATED, Partition, get};
use super::tally::Tally;
use crate::mix::mix;
use crate::parallel;
use crate::report::Result;

/// Bytes of a slot of the table.
const SLOT_BYTES: u64 = 16;

/// Bytes of a pair of nodes in the lists of both.
const PAIR_BYTES: u64 = 2 * size_of::<Entry>() as u64;

/// The first table has one slot for so many entries of lists.
const ENTRIES_PER_SLOT: u64 = 4;

/// A table that was too small is followed by one with so many times as many.
const GROWTH: u64 = 2;

/// The least slots: a fifth of them is more than the threads, each of which may fill one too many.
const SLOTS_MIN: u64 = 1 << 12;

/// The slots that suffice for so many entries of lists: each pair of nodes is in two of them, and a
/// table is full at four fifths.
fn enough(entries: u64) -> u64 {
    let pairs = entries / 2;
    pairs + pairs / 4 + SLOTS_MIN
}

/// The most bytes that levels of a graph of so many vertices and entries need.
pub(super) fn most_bytes(vertices: usize, entries: u64) -> u64 {
    // A table may take half of what is beside the nodes, and is there while lists are made of it.
    let (table, lists) = (enough(entries) * SLOT_BYTES, entries / 2 * PAIR_BYTES);
    Level::bytes_for(vertices as u64, 0) + (2 * table).max(lists + lists.max(table))
}

/// The least bytes of a table.
pub(super) fn least_bytes() -> u64 {
    SLOTS_MIN * SLOT_BYTES
}

/// Consecutive numbers for labels, in ascending order of these.
pub(super) struct Numbers {
    used: Bitmap,
    /// For each 64 labels, how many smaller ones are used.
    before: HugeVec<u32>,
    pub count: u32,
}

impl Numbers {
    pub fn of(labels: &[AtomicU32]) -> Result<Self> {
        let used = Bitmap::new(labels.len())?;
        parallel::for_each_of(labels, |_, label| {
            let label = label.load(Ordering::Relaxed);
            if label != ISOLATED && !used.contains(label) {
                used.insert(label);
            }
        });
        let mut before = HugeVec::zeroed(labels.len() / 64 + 1)?;
        let mut count = 0;
        for (word, before) in before.iter_mut().enumerate() {
            *before = count;
            let end = labels.len().min(word * 64 + 64);
            count += used.iter_in((word * 64) as u32..end as u32).count() as u32;
        }
        Ok(Self { used, before, count })
    }

    pub fn bytes_for(vertices: usize) -> u64 {
        Bitmap::bytes_for(vertices) * 3 / 2 + 8
    }

    #[inline]
    pub fn number(&self, label: u32) -> u32 {
        let word = label / 64;
        self.before[word as usize] + self.used.iter_in(word * 64..label).count() as u32
    }
}

impl Partition<'_> {
    /// The graph between the nodes that `other` names for each vertex, of so many nodes.
    pub fn gather(&mut self, nodes: usize, room: &Room) -> Result<Level> {
        let entries = self.engine.graph().superblock().stored_out;
        let enough = enough(entries);
        // The lists that follow take as much as a full table, or more.
        let most = (room.beside(nodes) / 2 / SLOT_BYTES).max(SLOTS_MIN);
        let mut slots = (entries / ENTRIES_PER_SLOT).max(SLOTS_MIN).min(enough).min(most);
        loop {
            let degrees = HugeVec::zeroed(nodes)?;
            let pairs = Pairs::new(slots)?;
            let gather = Gather { partition: self, pairs: &pairs, degrees: &degrees };
            let label = format!("iteration {}: gather", self.iteration);
            visit(self.engine, &label, ActiveSet::All, self.scale, &gather)?;
            if !pairs.is_full.load(Ordering::Relaxed) {
                return pairs.into_level(degrees.into_plain(), room);
            }
            let more = (slots * GROWTH).min(enough);
            if slots >= most {
                return Err(room.exceeded(nodes, 2 * more * SLOT_BYTES));
            }
            slots = more.min(most);
        }
    }
}

/// Sums of weights by pairs of nodes.
struct Pairs {
    /// The smaller node plus one in the upper half, the larger one in the lower; 0 is empty.
    keys: HugeVec<AtomicU64>,
    weights: HugeVec<AtomicU64>,
    used: AtomicU64,
    used_max: u64,
    is_full: AtomicBool,
}

impl Pairs {
    fn new(slots: u64) -> Result<Self> {
        assert!(slots >= SLOTS_MIN, "the state has room for the least table");
        let slots = slots as usize;
        let (keys, weights) = (HugeVec::zeroed(slots)?, HugeVec::zeroed(slots)?);
        let used_max = slots as u64 - (slots as u64).div_ceil(5);
        Ok(Self {
            keys,
            weights,
            used: AtomicU64::new(0),
            used_max,
            is_full: AtomicBool::new(false),
        })
    }

    #[inline(always)]
    fn slot_of(&self, key: u64) -> usize {
        ((u128::from(mix(key)) * self.keys.len() as u128) >> 64) as usize
    }

    /// Adds to the weight of a pair; the smaller node comes first.
    #[inline]
    fn add(&self, a: u32, b: u32, weight: u64) {
        let key = (u64::from(a) + 1) << 32 | u64::from(b);
        let mut slot = self.slot_of(key);
        loop {
            let mut found = self.keys[slot].load(Ordering::Relaxed);
            if found == 0 {
                if self.used.load(Ordering::Relaxed) >= self.used_max {
                    self.is_full.store(true, Ordering::Relaxed);
                    return;
                }
                let taken =
                    self.keys[slot].compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed);
                match taken {
                    Ok(_) => {
                        self.used.fetch_add(1, Ordering::Relaxed);
                        found = key;
                    }
                    Err(other) => found = other,
                }
            }
            if found == key {
                self.weights[slot].fetch_add(weight, Ordering::Relaxed);
                return;
            }
            slot = if slot + 1 == self.keys.len() { 0 } else { slot + 1 };
        }
    }

    /// Calls `take` with the nodes and the weight of all pairs, from all threads.
    fn for_each(&self, take: impl Fn(usize, usize, u64) + Sync) {
        parallel::for_each_of(&self.keys, |slot, key| {
            let key = key.load(Ordering::Relaxed);
            if key != 0 {
                let weight = self.weights[slot].load(Ordering::Relaxed);
                take((key >> 32) as usize - 1, key as u32 as usize, weight);
            }
        });
    }

    /// The lists of all nodes, sorted.
    fn into_level(self, degrees: HugeVec<u64>, room: &Room) -> Result<Level> {
        let nodes = degrees.len();
        let pairs = self.used.load(Ordering::Relaxed);
        // The next level is made when the table is gone.
        let lists = pairs * PAIR_BYTES;
        let bytes = lists + lists.max(self.keys.len() as u64 * SLOT_BYTES);
        if bytes > room.beside(nodes) {
            return Err(room.exceeded(nodes, bytes));
        }
        let starts: HugeVec<AtomicU64> = HugeVec::zeroed(nodes + 1)?;
        self.for_each(|a, b, _| {
            starts[a].fetch_add(1, Ordering::Relaxed);
            starts[b].fetch_add(1, Ordering::Relaxed);
        });
        let mut end = 0;
        for start in starts.iter() {
            end += start.load(Ordering::Relaxed);
            start.store(end, Ordering::Relaxed);
        }
        let words: HugeVec<AtomicU32> =
            HugeVec::zeroed(2 * pairs as usize * size_of::<Entry>() / 4)?;
        self.for_each(|a, b, weight| {
            for (from, to) in [(a, b), (b, a)] {
                // Filled from its end, so each start is where it should be afterwards.
                let place = starts[from].fetch_sub(1, Ordering::Relaxed) as usize - 1;
                let entry = entry(to as u32, weight);
                for (word, part) in words[place * entry.len()..].iter().zip(entry) {
                    word.store(part, Ordering::Relaxed);
                }
            }
        });
        let mut level = Level { starts: starts.into_plain(), words: words.into_plain(), degrees };
        level.sort();
        Ok(level)
    }
}

/// Adds up the weights between nodes.
struct Gather<'a, 'e> {
    partition: &'a Partition<'e>,
    pairs: &'a Pairs,
    degrees: &'a [AtomicU64],
}

impl TakeList for Gather<'_, '_> {
    type Local = Tally;

    fn local(&self) -> Tally {
        Tally::default()
    }

    fn take(&self, tally: &mut Tally, v: VertexId, targets: &[VertexId], weights: impl Weigh) {
        let nodes = &self.partition.other;
        let own = get(nodes, v);
        if own == ISOLATED || self.pairs.is_full.load(Ordering::Relaxed) {
            return;
        }
        let mut degree = 0;
        tally.start(targets.len());
        for (at, &target) in targets.iter().enumerate() {
            let weight = weights.of(at);
            degree += if target == v { 2 * weight } else { weight };
            let node = get(nodes, target);
            // The other end adds the other half.
            if node > own && node != ISOLATED && weight > 0 {
                tally.add(node, weight);
            }
        }
        self.degrees[own as usize].fetch_add(degree, Ordering::Relaxed);
        for (node, weight) in tally.iter() {
            self.pairs.add(own, node, weight);
        }
    }
}
