//! Counts requests and bytes, and records latencies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Layer;
use crate::error::Result;
use crate::op::Op;
use crate::request::{Completion, Request};
use crate::{Device, LogHistogram, Queue, QueueConfig};

/// A histogram of latencies, accurate to 1/8.
pub type Histogram = LogHistogram<8>;

/// A device that counts the requests to the device inside.
#[derive(Debug)]
pub struct StatsDevice {
    inner: Arc<dyn Device>,
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
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

/// A snapshot of the counters.
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
    /// Latencies of reads.
    pub read_latency: Histogram,
    /// Latencies of writes.
    pub write_latency: Histogram,
}

impl StatsDevice {
    /// Counts the requests to `inner` from now on.
    pub fn new(inner: Arc<dyn Device>) -> Self {
        Self { inner, counters: Arc::default() }
    }

    /// The counters so far. Those of requests that are being reaped may be ahead of each other.
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

impl Default for OpCounters {
    fn default() -> Self {
        let latency = (0..Histogram::BUCKETS).map(|_| AtomicU64::new(0)).collect();
        let [requests, bytes, failures] = Default::default();
        Self { requests, bytes, failures, latency }
    }
}

impl OpCounters {
    fn histogram(&self) -> Histogram {
        Histogram::of_counts(self.latency.iter().map(get).collect())
    }
}

impl Stats {
    /// The counts since an earlier snapshot of the same device.
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

impl Layer for StatsDevice {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        let inner = self.inner.queue(config)?;
        Ok(Box::new(StatsQueue { inner, counters: Arc::clone(&self.counters) }))
    }

    fn sync(&self) -> Result<()> {
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.inner.sync()
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
            counters.latency[Histogram::bucket(completion.latency_ns)]
                .fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
