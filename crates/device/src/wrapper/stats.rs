//! Counts what passes through: requests, bytes, latencies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Clock;
use crate::error::Result;
use crate::request::{Completion, Op, Request};
use crate::{Device, Queue, QueueConfig};

/// Parts of an octave in a histogram: a latency is known to one part in eight.
const PARTS: usize = 8;
const BUCKETS: usize = 64 * PARTS;

/// A device that counts.
#[derive(Debug)]
pub struct StatsDevice {
    inner: Arc<dyn Device>,
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Counters {
    read: OpCounters,
    write: OpCounters,
    syncs: AtomicU64,
}

#[derive(Debug)]
struct OpCounters {
    requests: AtomicU64,
    bytes: AtomicU64,
    failures: AtomicU64,
    latency: Box<[AtomicU64]>,
}

/// What passed so far, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads that completed, failed ones included.
    pub reads: u64,
    /// Writes that completed, failed ones included.
    pub writes: u64,
    /// Bytes that reads moved.
    pub bytes_read: u64,
    /// Bytes that writes moved.
    pub bytes_written: u64,
    /// Reads that failed.
    pub reads_failed: u64,
    /// Writes that failed.
    pub writes_failed: u64,
    /// Calls of sync.
    pub syncs: u64,
    /// How long reads took.
    pub read_latency: Histogram,
    /// How long writes took.
    pub write_latency: Histogram,
}

/// Latencies in buckets, each an eighth of an octave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Requests by bucket, as far as the last that has any.
    counts: Vec<u64>,
}

impl StatsDevice {
    /// Counts what passes to `inner` from now on.
    pub fn new(inner: Arc<dyn Device>) -> Self {
        let counters = Counters {
            read: OpCounters::new(),
            write: OpCounters::new(),
            syncs: AtomicU64::new(0),
        };
        Self { inner, counters: Arc::new(counters) }
    }

    /// What passed so far. Numbers of requests still being reaped may be ahead of each other.
    pub fn stats(&self) -> Stats {
        let Counters { read, write, syncs } = &*self.counters;
        Stats {
            reads: get(&read.requests),
            writes: get(&write.requests),
            bytes_read: get(&read.bytes),
            bytes_written: get(&write.bytes),
            reads_failed: get(&read.failures),
            writes_failed: get(&write.failures),
            syncs: get(syncs),
            read_latency: read.histogram(),
            write_latency: write.histogram(),
        }
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl OpCounters {
    fn new() -> Self {
        Self {
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            latency: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn histogram(&self) -> Histogram {
        let mut counts: Vec<u64> = self.latency.iter().map(get).collect();
        let used = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        counts.truncate(used);
        Histogram { counts }
    }
}

impl Stats {
    /// What passed since an earlier snapshot of the same device.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_written: self.bytes_written - earlier.bytes_written,
            reads_failed: self.reads_failed - earlier.reads_failed,
            writes_failed: self.writes_failed - earlier.writes_failed,
            syncs: self.syncs - earlier.syncs,
            read_latency: self.read_latency.since(&earlier.read_latency),
            write_latency: self.write_latency.since(&earlier.write_latency),
        }
    }
}

impl Histogram {
    /// Requests counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The latency that a share (0 to 1) of the requests did not exceed, in nanoseconds, at most an
    /// eighth too high; `None` if nothing was counted.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let count = self.count();
        let rank = ((count as f64 * share.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|&here| {
            seen += here;
            seen >= rank
        });
        reached.map(bucket_end_ns)
    }

    fn since(&self, earlier: &Self) -> Self {
        let before = earlier.counts.iter().chain(std::iter::repeat(&0));
        Self { counts: self.counts.iter().zip(before).map(|(now, then)| now - then).collect() }
    }
}

/// Below 8 ns a bucket per nanosecond, then eight per octave.
fn bucket(ns: u64) -> usize {
    if ns < PARTS as u64 {
        return ns as usize;
    }
    let octave = ns.ilog2() as usize;
    (octave - 2) * PARTS + (ns >> (octave - 3)) as usize % PARTS
}

/// The greatest latency of a bucket.
fn bucket_end_ns(bucket: usize) -> u64 {
    if bucket < PARTS {
        return bucket as u64;
    }
    let shift = bucket / PARTS - 1;
    let start = (PARTS + bucket % PARTS) as u64;
    (start << shift) + ((1 << shift) - 1)
}

impl Device for StatsDevice {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    fn len_bytes(&self) -> Result<u64> {
        self.inner.len_bytes()
    }

    fn block_bytes(&self) -> usize {
        self.inner.block_bytes()
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        let inner = self.inner.queue(config)?;
        Ok(Box::new(StatsQueue { inner, counters: Arc::clone(&self.counters) }))
    }

    fn sync(&self) -> Result<()> {
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.inner.sync()
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        self.inner.set_len(bytes)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.inner.clock()
    }

    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes()
    }

    fn queue_bytes(&self, depth: usize, request_bytes: usize) -> usize {
        self.inner.queue_bytes(depth, request_bytes)
    }
}

struct StatsQueue {
    inner: Box<dyn Queue>,
    counters: Arc<Counters>,
}

impl Queue for StatsQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn push(&mut self, request: Request) {
        self.inner.push(request);
    }

    fn submit(&mut self) -> Result<()> {
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        let before = completions.len();
        self.inner.reap(wait_for, completions)?;
        for completion in &completions[before..] {
            let counters = match completion.op {
                Op::Read => &self.counters.read,
                Op::Write => &self.counters.write,
            };
            counters.requests.fetch_add(1, Ordering::Relaxed);
            match completion.result {
                Ok(bytes) => counters.bytes.fetch_add(bytes as u64, Ordering::Relaxed),
                Err(_) => counters.failures.fetch_add(1, Ordering::Relaxed),
            };
            counters.latency[bucket(completion.latency_ns)].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_every_latency_without_gap_or_overlap() {
        let last = bucket(u64::MAX);
        assert!(last < BUCKETS);
        for index in 0..last {
            let end = bucket_end_ns(index);
            assert_eq!((bucket(end), bucket(end + 1)), (index, index + 1));
        }
        assert_eq!(bucket_end_ns(last), u64::MAX);
    }

    #[test]
    fn quantiles_are_at_most_an_eighth_too_high() {
        let mut counts = vec![0; BUCKETS];
        for ns in 1..=10_000 {
            counts[bucket(ns)] += 1;
        }
        let histogram = Histogram { counts };
        for (share, exact) in [(0.5, 5_000), (0.99, 9_900), (1.0, 10_000), (0.0, 1)] {
            let found = histogram.quantile_ns(share).unwrap();
            assert!(found >= exact && found <= exact + exact / 8, "{share}: {found}, not {exact}");
        }
        assert_eq!(Histogram::default().quantile_ns(0.5), None);
    }
}
