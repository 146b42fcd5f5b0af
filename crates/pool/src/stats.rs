//! What a pool did.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::wrapper::Histogram;

/// Counts since the pool was made. Taken while others work, they may be ahead of each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// Requests that found their page in memory or on its way.
    pub hits: u64,
    /// Requests for which a page was read.
    pub misses: u64,
    /// Pages that left while they were the same as the device's.
    pub evicted_clean: u64,
    /// Pages that had to be written before they could leave.
    pub evicted_dirty: u64,
    /// Pages written back.
    pub pages_written: u64,
    /// Batches of concurrent writes that they made.
    pub write_batches: u64,
    /// Batches by their number of pages; the index is the number.
    pub batch_sizes: Vec<u64>,
    /// Pages read early.
    pub prefetched: u64,
    /// Of those, pages that were used.
    pub prefetched_useful: u64,
    /// Of those, pages that left unused.
    pub prefetched_wasted: u64,
    /// Batches of concurrent reads: a miss and what was prefetched with it are one.
    pub read_batches: u64,
    /// Reads that failed, or whose page the check refused.
    pub reads_failed: u64,
    /// Writes that failed; their pages stayed dirty.
    pub writes_failed: u64,
    /// Searches for dirty pages that ended at their reach before the batch was full.
    pub searches_cut: u64,
    /// Nanoseconds that handles waited for write-backs.
    pub write_wait_ns: u64,
    /// How long reads took on the device.
    pub read_latency: Histogram,
    /// How long writes took on the device.
    pub write_latency: Histogram,
}

/// A counter that many threads add to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds one where only the calling thread adds: no locked instruction.
    #[inline]
    pub fn add_one_unshared(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// What all handles of a pool count on their slow paths.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Hits of handles that are gone; those of living handles are theirs.
    pub hits_retired: Counter,
    pub misses: Counter,
    pub evicted_clean: Counter,
    pub evicted_dirty: Counter,
    pub pages_written: Counter,
    pub write_batches: Counter,
    pub batch_sizes: Box<[Counter]>,
    pub prefetched: Counter,
    pub prefetched_useful: Counter,
    pub prefetched_wasted: Counter,
    pub read_batches: Counter,
    pub reads_failed: Counter,
    pub writes_failed: Counter,
    pub searches_cut: Counter,
    pub write_wait_ns: Counter,
}

impl Counters {
    /// For batches of at most `batch` pages.
    pub fn new(batch: usize) -> Self {
        let batch_sizes = (0..=batch).map(|_| Counter::default()).collect();
        Self { batch_sizes, ..Self::default() }
    }

    pub fn count_batch(&self, pages: usize) {
        if pages == 0 {
            return;
        }
        self.write_batches.add(1);
        self.batch_sizes[pages].add(1);
    }

    /// Counts `pages` that were written with `batch` of them in flight.
    pub fn count_stream(&self, pages: usize, batch: usize) {
        for _ in 0..pages / batch {
            self.count_batch(batch);
        }
        if !pages.is_multiple_of(batch) {
            self.count_batch(pages % batch);
        }
    }

    pub fn snapshot(&self) -> PoolStats {
        PoolStats {
            hits: self.hits_retired.get(),
            misses: self.misses.get(),
            evicted_clean: self.evicted_clean.get(),
            evicted_dirty: self.evicted_dirty.get(),
            pages_written: self.pages_written.get(),
            write_batches: self.write_batches.get(),
            batch_sizes: self.batch_sizes.iter().map(Counter::get).collect(),
            prefetched: self.prefetched.get(),
            prefetched_useful: self.prefetched_useful.get(),
            prefetched_wasted: self.prefetched_wasted.get(),
            read_batches: self.read_batches.get(),
            reads_failed: self.reads_failed.get(),
            writes_failed: self.writes_failed.get(),
            searches_cut: self.searches_cut.get(),
            write_wait_ns: self.write_wait_ns.get(),
            read_latency: Histogram::default(),
            write_latency: Histogram::default(),
        }
    }
}
