//! Queues of waiting walks: small chunks, a list of chunks for each bucket of pages, so only full
//! chunks take a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_engine::VertexId;

use super::log::{Log, LogPart};
use super::past::Past;
use super::weigh::Sums;

/// Parts of the file with a queue each.
const BUCKETS: u64 = 128;

/// Walks per chunk.
pub(super) const CHUNK: usize = 128;

/// A walk that waits for a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walker<P> {
    pub page: u32,
    pub row: u32,
    /// The number of its next step.
    pub step: u32,
    pub at: VertexId,
    pub past: P,
}

pub(super) type Chunk<P> = Vec<Walker<P>>;

/// Bytes of the chunks of `rows` walks.
pub(super) fn chunk_bytes<P: Past>(rows: u64, pages: u64, workers: usize) -> u64 {
    let buckets = BUCKETS.min(pages.max(1));
    let chunk = CHUNK as u64 * size_of::<Walker<P>>() as u64 + size_of::<Chunk<P>>() as u64;
    // Full chunks, and those that each worker fills.
    let chunks = rows.div_ceil(CHUNK as u64) + buckets * (workers as u64 + 1);
    chunks * chunk
}

/// One worker's open chunks, its part of the log, and its buffer for sums.
pub(super) struct Outbox<P> {
    open: Vec<Chunk<P>>,
    pub log: LogPart,
    pub sums: Sums,
}

/// The waiting walks between windows.
pub(super) struct Waiting<P> {
    pub pages_per_bucket: u64,
    full: Vec<Mutex<Vec<Chunk<P>>>>,
    free: Mutex<Vec<Chunk<P>>>,
    idle: Mutex<Vec<Outbox<P>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Past> Waiting<P> {
    pub fn new(pages: u64) -> Self {
        let pages_per_bucket = pages.div_ceil(BUCKETS).max(1);
        let buckets = pages.div_ceil(pages_per_bucket);
        Self {
            pages_per_bucket,
            full: (0..buckets).map(|_| Mutex::default()).collect(),
            free: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    fn chunk(&self) -> Chunk<P> {
        lock(&self.free).pop().unwrap_or_else(|| Vec::with_capacity(CHUNK))
    }

    /// An outbox for one worker, to be returned with [`Waiting::put_back`].
    pub fn outbox(&self, log: &Log<'_>) -> Outbox<P> {
        let fresh = || Outbox {
            open: self.full.iter().map(|_| Vec::new()).collect(),
            log: log.part(),
            sums: Sums::default(),
        };
        lock(&self.idle).pop().unwrap_or_else(fresh)
    }

    pub fn put_back(&self, outbox: Outbox<P>) {
        lock(&self.idle).push(outbox);
    }

    pub fn push(&self, outbox: &mut Outbox<P>, walker: Walker<P>) {
        let bucket = (u64::from(walker.page) / self.pages_per_bucket) as usize;
        let open = &mut outbox.open[bucket];
        if open.capacity() == 0 {
            *open = self.chunk();
        }
        open.push(walker);
        if open.len() == CHUNK {
            lock(&self.full[bucket]).push(std::mem::take(open));
        }
    }

    /// The number of walks in each bucket.
    pub fn counts(&self) -> Vec<usize> {
        let idle = lock(&self.idle);
        let count = |(bucket, full): (usize, &Mutex<Vec<Chunk<P>>>)| {
            let open: usize = idle.iter().map(|outbox| outbox.open[bucket].len()).sum();
            lock(full).len() * CHUNK + open
        };
        self.full.iter().enumerate().map(count).collect()
    }

    /// Takes chunks of a bucket until there may be no room for another; returns how many walks.
    pub fn take(&self, bucket: usize, mut room: usize, into: &mut Vec<Chunk<P>>) -> usize {
        let mut taken = 0;
        let mut take = |chunk: Chunk<P>| {
            room -= chunk.len();
            taken += chunk.len();
            into.push(chunk);
            room >= CHUNK
        };
        for outbox in lock(&self.idle).iter_mut() {
            let open = &mut outbox.open[bucket];
            if !open.is_empty() && !take(std::mem::take(open)) {
                return taken;
            }
        }
        let mut full = lock(&self.full[bucket]);
        while let Some(chunk) = full.pop() {
            if !take(chunk) {
                break;
            }
        }
        taken
    }

    pub fn release(&self, chunks: &mut Vec<Chunk<P>>) {
        let mut free = lock(&self.free);
        for mut chunk in chunks.drain(..) {
            chunk.clear();
            free.push(chunk);
        }
    }

    /// The outboxes of the workers, when no walk waits any more.
    pub fn end(&self) -> Vec<Outbox<P>> {
        std::mem::take(&mut *lock(&self.idle))
    }
}
