//! What a pool did.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::wrapper::Histogram;

/// The counts of [`PoolStats`], and as many counters.
macro_rules! counts {
    ($($(#[$doc:meta])* $count:ident,)*) => {
        /// Counts since the pool was made. Taken while others work, some may be ahead of others.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct PoolStats {
            $($(#[$doc])* pub $count: u64,)*
            /// Batches by their number of pages; the index is the number.
            pub batch_sizes: Vec<u64>,
            /// How long reads took on the device.
            pub read_latency: Histogram,
            /// How long writes took on the device.
            pub write_latency: Histogram,
        }

        /// What all handles of a pool count on their slow paths. The hits are those of handles that
        /// are gone; each living handle counts its own.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub $count: Counter,)*
            pub batch_sizes: Box<[Counter]>,
        }

        impl Counters {
            pub fn snapshot(&self) -> PoolStats {
                PoolStats {
                    $($count: self.$count.get(),)*
                    batch_sizes: self.batch_sizes.iter().map(Counter::get).collect(),
                    ..PoolStats::default()
                }
            }
        }
    };
}

counts! {
    /// Requests that found their page in memory or on its way.
    hits,
    /// Requests for which a page was read.
    misses,
    /// Pages that left while they were the same as the device's.
    evicted_clean,
    /// Pages that had to be written before they could leave.
    evicted_dirty,
    /// Pages written back.
    pages_written,
    /// Batches of concurrent writes that they made.
    write_batches,
    /// Pages read early.
    prefetched,
    /// Of those, pages that were used.
    prefetched_useful,
    /// Of those, pages that left unused.
    prefetched_wasted,
    /// Batches of concurrent reads: a miss and what was prefetched with it are one.
    read_batches,
    /// Reads that failed, or whose page the check refused.
    reads_failed,
    /// Writes that failed; their pages stayed dirty.
    writes_failed,
    /// Searches for dirty pages that ended at their reach before the batch was full.
    searches_cut,
    /// Nanoseconds that handles waited for write-backs.
    write_wait_ns,
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
}
