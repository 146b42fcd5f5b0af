//! Statistics of a pool.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::wrapper::Histogram;

/// Declares [`PoolStats`] and [`Counters`] with the same counts.
macro_rules! counts {
    ($($(#[$doc:meta])* $count:ident,)*) => {
        /// Counts since the pool was created. While the pool is used, some may be ahead of others.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct PoolStats {
            $($(#[$doc])* pub $count: u64,)*
            /// Batches by their number of pages; the index is the number.
            pub batch_sizes: Vec<u64>,
            /// Latencies of reads on the device.
            pub read_latency: Histogram,
            /// Latencies of writes on the device.
            pub write_latency: Histogram,
        }

        /// Counters of all handles of a pool. The hits are those of dropped handles; each handle
        /// counts its own.
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
    /// Requests for a page that was in memory or being read.
    hits,
    /// Requests for which a page was read.
    misses,
    /// Clean pages that were evicted.
    evicted_clean,
    /// Pages that had to be written before they were evicted.
    evicted_dirty,
    /// Pages written back.
    pages_written,
    /// Batches of concurrent writes of these pages.
    write_batches,
    /// Pages that were prefetched.
    prefetched,
    /// Prefetched pages that were used.
    prefetched_useful,
    /// Prefetched pages that were evicted unused.
    prefetched_wasted,
    /// Batches of concurrent reads: a miss with its prefetched pages is one.
    read_batches,
    /// Reads that failed, or whose page the check refused.
    reads_failed,
    /// Writes that failed; the pages stayed dirty.
    writes_failed,
    /// Searches for dirty pages that ended at their limit before the batch was full.
    searches_cut,
    /// Nanoseconds that handles waited for write-backs.
    write_wait_ns,
}

/// A counter shared by threads.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds one without a locked instruction, if only the calling thread adds.
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
