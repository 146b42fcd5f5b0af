//! What state files have read and written.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::Op;

/// Counts of all state files of an engine.
#[derive(Debug, Default)]
pub(crate) struct StateCounts {
    reads: AtomicU64,
    bytes_read: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
}

/// Requests to state files and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateTotals {
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

impl StateCounts {
    /// Adds a request.
    pub fn add(&self, op: Op, bytes: usize) {
        let (requests, sum) = match op {
            Op::Read => (&self.reads, &self.bytes_read),
            Op::Write => (&self.writes, &self.bytes_written),
        };
        requests.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> StateTotals {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        StateTotals {
            reads: get(&self.reads),
            bytes_read: get(&self.bytes_read),
            writes: get(&self.writes),
            bytes_written: get(&self.bytes_written),
        }
    }
}
