//! A concurrent hash table from integer ids to numbers, given in the order in which they are met.
//!
//! A bucket is a cache line with five ids and their numbers; an id that finds its bucket full lies
//! in the next one with room. Buckets are in the order of the hash, so a larger table is filled
//! from a smaller one in one pass over both, and what was read is freed meanwhile.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::Zeroable;
use cenote_device::HugeVec;
use cenote_device::memory::{HUGE_PAGE_BYTES, prefetch};
use cenote_store::VertexId;

use crate::error::Result;

const BUCKET_IDS: usize = 5;

/// Bytes of a bucket.
pub(super) const BUCKET_BYTES: usize = size_of::<Bucket>();

/// Buckets after which what was read is freed, as far as it fills huge pages.
const CHUNK: usize = HUGE_PAGE_BYTES / BUCKET_BYTES / 8;

/// Bytes beside the larger table while a smaller one is moved into it: a huge page that was not
/// read to its end, and the chunk behind it.
pub(super) const CHUNK_BYTES: usize = HUGE_PAGE_BYTES + CHUNK * BUCKET_BYTES;

/// In the state of a bucket, beside its number of ids: it is being written.
const LOCKED: u32 = 1 << 8;
const COUNT: u32 = LOCKED - 1;

#[derive(Debug, Zeroable)]
#[repr(C, align(64))]
struct Bucket {
    ids: [AtomicU64; BUCKET_IDS],
    numbers: [AtomicU32; BUCKET_IDS],
    state: AtomicU32,
}

const _: () = assert!(BUCKET_BYTES == 64, "a bucket is a cache line");

/// Most ids of so many buckets: 85% of their places.
pub(super) fn ids_max(buckets: usize) -> usize {
    buckets * BUCKET_IDS / 20 * 17
}

#[derive(Debug)]
pub(super) struct Table(HugeVec<Bucket>);

impl Table {
    /// An empty table. Takes memory when it is written to.
    pub fn new(buckets: usize) -> Result<Self> {
        assert!(ids_max(buckets) > 0, "a table has room");
        Ok(Self(HugeVec::zeroed(buckets)?))
    }

    pub fn buckets(&self) -> usize {
        self.0.len()
    }

    /// The bucket of a hash.
    #[inline]
    pub fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.buckets() as u128) >> 64) as usize
    }

    #[inline]
    pub fn prefetch(&self, bucket: usize) {
        prefetch(&self.0, bucket);
    }

    #[inline]
    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets() { 0 } else { bucket + 1 }
    }

    /// The place of the number of an id that belongs into bucket `home`; `next` gives the number of
    /// a new one. The caller sees to it that the table has room.
    #[inline]
    pub fn number(&self, id: u64, home: usize, next: &AtomicU32) -> &AtomicU32 {
        let mut at = home;
        loop {
            let bucket = &self.0[at];
            let count = bucket.state.load(Ordering::Acquire) & COUNT;
            if let Some(number) = bucket.find(id, count) {
                return number;
            }
            if (count as usize) < BUCKET_IDS
                && let Some(number) = bucket.insert(id, next)
            {
                return number;
            }
            at = self.after(at);
        }
    }

    /// All ids and numbers. Frees the table meanwhile.
    pub fn drain(mut self, mut visit: impl FnMut(u64, VertexId)) {
        for start in (0..self.buckets()).step_by(CHUNK) {
            let end = self.buckets().min(start + CHUNK);
            for bucket in &self.0[start..end] {
                let count = bucket.state.load(Ordering::Relaxed) & COUNT;
                for at in 0..count as usize {
                    let number = bucket.numbers[at].load(Ordering::Relaxed);
                    visit(bucket.ids[at].load(Ordering::Relaxed), number);
                }
            }
            self.0.release(end.saturating_sub(CHUNK_BYTES / BUCKET_BYTES)..end);
        }
    }

    /// Adds an id that is not in the table, which has room for it.
    pub fn push(&mut self, id: u64, number: VertexId, hash: u64) {
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.0[at];
            let count = *bucket.state.get_mut() as usize;
            if count < BUCKET_IDS {
                *bucket.ids[count].get_mut() = id;
                *bucket.numbers[count].get_mut() = number;
                *bucket.state.get_mut() += 1;
                return;
            }
            at = self.after(at);
        }
    }
}

impl Bucket {
    /// Finds an id among the first `count`. Compares all five without a branch for each: no
    /// processor can predict which one it is. Saves an eighth of the time of components.
    #[inline]
    fn find(&self, id: u64, count: u32) -> Option<&AtomicU32> {
        let mut equal = 0;
        for (at, other) in self.ids.iter().enumerate() {
            equal |= u32::from(other.load(Ordering::Relaxed) == id) << at;
        }
        equal &= (1 << count) - 1;
        let at = equal.trailing_zeros() as usize;
        (equal != 0).then(|| &self.numbers[at])
    }

    /// Adds an id, unless another thread has; `None` if the bucket is full by now.
    #[cold]
    fn insert(&self, id: u64, next: &AtomicU32) -> Option<&AtomicU32> {
        let count = loop {
            let count = self.state.load(Ordering::Relaxed) & COUNT;
            let (order, failed) = (Ordering::Acquire, Ordering::Relaxed);
            if self.state.compare_exchange_weak(count, count | LOCKED, order, failed).is_ok() {
                break count as usize;
            }
            std::hint::spin_loop();
        };
        let mut number = self.find(id, count as u32);
        let mut ids = count;
        if number.is_none() && count < BUCKET_IDS {
            let new = next.fetch_add(1, Ordering::Relaxed);
            self.ids[count].store(id, Ordering::Relaxed);
            self.numbers[count].store(new, Ordering::Relaxed);
            (number, ids) = (Some(&self.numbers[count]), count + 1);
        }
        self.state.store(ids as u32, Ordering::Release);
        number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn ids_keep_their_numbers_while_threads_add_and_tables_grow() {
        // Hashes of which many are equal, so that buckets overflow into the first ones, too.
        let hash = |id: u64| if id.is_multiple_of(5) { u64::MAX } else { cenote_device::mix(id) };
        let (next, mut table) = (AtomicU32::new(0), Table::new(40).unwrap());
        let mut numbers: BTreeMap<u64, VertexId> = BTreeMap::new();
        for (round, ids) in [0..100u64, 50..400, 0..1000].into_iter().enumerate() {
            let buckets = [40, 130, 300][round];
            if buckets > table.buckets() {
                let smaller = std::mem::replace(&mut table, Table::new(buckets).unwrap());
                smaller.drain(|id, number| table.push(id, number, hash(id)));
            }
            let place = |id: u64| table.number(id, table.home(hash(id)), &next);
            let number = |id: u64| place(id).load(Ordering::Relaxed);
            let found: Vec<Vec<_>> = std::thread::scope(|scope| {
                let all = || ids.clone().map(|id| (id, number(id))).collect();
                let threads: Vec<_> = (0..3).map(|_| scope.spawn(all)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for (id, number) in found.into_iter().flatten() {
                assert_eq!(*numbers.entry(id).or_insert(number), number, "id {id}");
            }
        }
        let mut all: Vec<_> = numbers.values().copied().collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1000), "each number is given once");
        let mut drained = BTreeMap::new();
        table.drain(|id, number| assert_eq!(drained.insert(id, number), None));
        assert_eq!(drained, numbers);
    }
}
