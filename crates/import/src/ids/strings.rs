//! String ids: a dictionary that numbers names in order of arrival and sorts them at the end.
//!
//! The dictionary is sharded by hash, so that workers rarely contend. The provisional number of a
//! name depends on timing; its rank, its place among all names by bytes, does not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHasher;

use crate::budget::{Budget, Held};
use crate::error::{ImportError, Result};
use crate::ids::VERTICES_MAX;
use crate::ids::integers::IntegerSet;
use crate::ids::memory::IdsMemory;
use crate::workers::{self, Shared};
use cenote_store::VertexId;

const SHARDS: usize = 64;
pub(crate) const NAME_BYTES_MAX: usize = u16::MAX as usize;
const WHAT: &str = "the dictionary of string ids";
const SLOT_FREE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Dictionary<'a> {
    shards: Vec<Mutex<Shard<'a>>>,
    next: AtomicU64,
    budget: &'a Budget,
}

#[derive(Debug)]
struct Shard<'a> {
    /// Open addressing; a power of two, at most three quarters full.
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    /// Bytes of the names. Pieces grow with the shard and never move.
    pieces: Vec<Vec<u8>>,
    memory: Held<'a>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    entry: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    piece: u32,
    start: u32,
    provisional: u32,
    len: u16,
}

impl Entry {
    fn bytes<'p>(&self, pieces: &'p [Vec<u8>]) -> &'p [u8] {
        let start = self.start as usize;
        &pieces[self.piece as usize][start..start + usize::from(self.len)]
    }
}

impl<'a> Dictionary<'a> {
    /// Names met so far.
    pub fn count(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Most memory of so many names with so many bytes.
    pub fn memory(names: u64, text_bytes: usize) -> IdsMemory {
        let names = names as usize;
        // Pieces double up to 1 MiB, and entries and slots double: the latter are dropped at the
        // end, when a rank and a place follow for each name.
        let text = text_bytes + text_bytes.min(SHARDS << 20) + (SHARDS << 10);
        let entries = 2 * names.max(8 * SHARDS) * size_of::<Entry>();
        let slots = (names * 8 / 3).max(16 * SHARDS) * size_of::<Slot>();
        let held = text + entries + names * 16;
        // An `auto` import has taken them for integers before.
        let collecting = slots + IntegerSet::COLLECTING_BYTES + IntegerSet::MAP_BYTES;
        IdsMemory { held, collecting, ..IdsMemory::default() }
    }

    pub fn new(budget: &'a Budget) -> Result<Self> {
        let shards = (0..SHARDS).map(|_| Shard::new(budget).map(Mutex::new));
        Ok(Self { shards: shards.collect::<Result<_>>()?, next: AtomicU64::new(0), budget })
    }

    /// The provisional number of a name, which is added unless it is there.
    pub fn intern(&self, name: &[u8]) -> Result<u64> {
        let hash = hash_of(name);
        let shard = &self.shards[(hash >> 58) as usize];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        shard.intern(name, hash as u32, &self.next)
    }

    /// Ends collecting: sorts and ranks the names.
    pub fn finish(self, workers: usize) -> Result<StringMap<'a>> {
        let count = self.next.into_inner();
        if count > VERTICES_MAX {
            return Err(ImportError::Vertices { vertices: count });
        }
        let memory = self.budget.hold(count as usize * 16, WHAT)?;
        let mut shards: Vec<Shard<'a>> = self
            .shards
            .into_iter()
            .map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let sorted = sort_shards(&mut shards, workers)?;
        let mut dense = vec![0; count as usize];
        let mut order = Vec::with_capacity(count as usize);
        merge_shards(&shards, &sorted, |shard, entry| {
            dense[shards[shard].entries[entry as usize].provisional as usize] = order.len() as u32;
            order.push(((shard as u64) << 32) | u64::from(entry));
        });
        Ok(StringMap { shards, order, dense, _memory: memory })
    }
}

/// FxHash with a final mix, since its low bits alone are weak.
pub(crate) fn hash_of(name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    let mixed = hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

impl<'a> Shard<'a> {
    fn new(budget: &'a Budget) -> Result<Self> {
        let slots = vec![Slot { hash: 0, entry: SLOT_FREE }; 16];
        let memory = budget.hold(slots.len() * size_of::<Slot>(), WHAT)?;
        Ok(Self { slots, entries: Vec::new(), pieces: Vec::new(), memory })
    }

    fn name(&self, entry: u32) -> &[u8] {
        self.entries[entry as usize].bytes(&self.pieces)
    }

    fn intern(&mut self, name: &[u8], hash: u32, next: &AtomicU64) -> Result<u64> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.entry == SLOT_FREE {
                break;
            }
            if slot.hash == hash && self.name(slot.entry) == name {
                return Ok(u64::from(self.entries[slot.entry as usize].provisional));
            }
            at = (at + 1) & mask;
        }
        let provisional = next.fetch_add(1, Ordering::Relaxed);
        if provisional >= VERTICES_MAX {
            return Err(ImportError::Vertices { vertices: provisional + 1 });
        }
        let entry = self.store(name, provisional as u32)?;
        self.slots[at] = Slot { hash, entry };
        if self.entries.len() * 4 > self.slots.len() * 3 {
            self.grow_slots()?;
        }
        Ok(provisional)
    }

    fn store(&mut self, name: &[u8], provisional: u32) -> Result<u32> {
        let full = self.pieces.last().is_none_or(|p| p.capacity() - p.len() < name.len());
        if full {
            let piece_bytes = (1024 << self.pieces.len().min(10)).max(name.len());
            self.memory.grow(piece_bytes, WHAT)?;
            self.pieces.push(Vec::with_capacity(piece_bytes));
        }
        if self.entries.len() == self.entries.capacity() {
            let more = self.entries.len().max(16);
            self.memory.grow(more * size_of::<Entry>(), WHAT)?;
            self.entries.reserve_exact(more);
        }
        let piece = self.pieces.len() - 1;
        let start = self.pieces[piece].len() as u32;
        self.pieces[piece].extend_from_slice(name);
        let len = u16::try_from(name.len()).expect("the parser limits names");
        self.entries.push(Entry { piece: piece as u32, start, provisional, len });
        Ok(self.entries.len() as u32 - 1)
    }

    fn grow_slots(&mut self) -> Result<()> {
        let size = self.slots.len() * 2;
        self.memory.grow(size / 2 * size_of::<Slot>(), WHAT)?;
        let mut slots = vec![Slot { hash: 0, entry: SLOT_FREE }; size];
        for slot in self.slots.iter().filter(|slot| slot.entry != SLOT_FREE) {
            let mut at = slot.hash as usize & (size - 1);
            while slots[at].entry != SLOT_FREE {
                at = (at + 1) & (size - 1);
            }
            slots[at] = *slot;
        }
        self.slots = slots;
        Ok(())
    }

    /// Entries in the order of their names. Drops the hash table.
    fn sorted(&mut self) -> Vec<u32> {
        self.memory.shrink_to(self.memory.bytes() - self.slots.len() * size_of::<Slot>());
        self.slots = Vec::new();
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| self.name(a).cmp(self.name(b)));
        order
    }
}

fn sort_shards(shards: &mut [Shard<'_>], threads: usize) -> Result<Vec<Vec<u32>>> {
    let mut sorted: Vec<Vec<u32>> = Vec::new();
    sorted.resize_with(shards.len(), Vec::new);
    let work = Shared::new(shards.iter_mut().zip(&mut sorted).collect());
    workers::on_all(threads, || {
        while let Some((shard, order)) = work.next() {
            *order = shard.sorted();
        }
        Ok(())
    })?;
    drop(work);
    Ok(sorted)
}

fn merge_shards(shards: &[Shard<'_>], sorted: &[Vec<u32>], mut each: impl FnMut(usize, u32)) {
    let mut first_names = BinaryHeap::new();
    let mut rest: Vec<_> = sorted.iter().map(|order| order.iter().copied()).collect();
    for (shard, order) in rest.iter_mut().enumerate() {
        first_names
            .extend(order.next().map(|entry| Reverse((shards[shard].name(entry), shard, entry))));
    }
    while let Some(Reverse((_, shard, entry))) = first_names.pop() {
        each(shard, entry);
        let next = rest[shard].next();
        first_names.extend(next.map(|entry| Reverse((shards[shard].name(entry), shard, entry))));
    }
}

/// Names in ascending order, without their numbers.
#[derive(Debug)]
pub(crate) struct Names {
    shards: Vec<(Vec<Entry>, Vec<Vec<u8>>)>,
    order: Vec<u64>,
}

impl Names {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn get(&self, rank: VertexId) -> &[u8] {
        let place = self.order[rank as usize];
        let (entries, pieces) = &self.shards[(place >> 32) as usize];
        entries[(place & u64::from(u32::MAX)) as usize].bytes(pieces)
    }
}

#[derive(Debug)]
pub(crate) struct StringMap<'a> {
    shards: Vec<Shard<'a>>,
    order: Vec<u64>,
    dense: Vec<VertexId>,
    _memory: Held<'a>,
}

impl StringMap<'_> {
    pub fn len(&self) -> u64 {
        self.order.len() as u64
    }

    #[inline]
    pub fn dense(&self, provisional: u64) -> VertexId {
        self.dense[provisional as usize]
    }

    /// Drops all but the names.
    pub fn into_names(self) -> Names {
        let shards = self.shards.into_iter().map(|shard| (shard.entries, shard.pieces));
        Names { shards: shards.collect(), order: self.order }
    }

    pub fn name(&self, vertex: VertexId) -> &[u8] {
        let place = self.order[vertex as usize];
        self.shards[(place >> 32) as usize].name(place as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_ids_follow_the_order_of_the_bytes() {
        let budget = Budget::new(64 << 20);
        let dictionary = Dictionary::new(&budget).unwrap();
        let names: Vec<String> = (0..30_000u32)
            .map(|i| format!("n{}", i.wrapping_mul(2_654_435_761) % 20_000))
            .collect();
        let numbers: Vec<u64> =
            names.iter().map(|name| dictionary.intern(name.as_bytes()).unwrap()).collect();
        let map = dictionary.finish(2).unwrap();
        let oracle: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(map.len(), oracle.len() as u64);
        for (dense, name) in oracle.iter().enumerate() {
            assert_eq!(map.name(dense as u32), name.as_bytes());
        }
        for (name, &number) in names.iter().zip(&numbers) {
            assert_eq!(map.name(map.dense(number)), name.as_bytes());
        }
    }

    #[test]
    fn a_dictionary_beyond_the_budget_is_an_error() {
        let budget = Budget::new(1 << 20);
        let dictionary = Dictionary::new(&budget).unwrap();
        let refused = (0..100_000u32)
            .find_map(|i| dictionary.intern(format!("name number {i}").as_bytes()).err())
            .expect("does not fit");
        assert!(refused.to_string().contains("dictionary of string ids"), "{refused}");
    }
}
