//! The I/O budget of one device: k_r reads and k_w writes at once, shared by all users.
//!
//! - [`IoBudget`]: the permits, their limits and their statistics
//! - [`BudgetDevice`]: a device whose queues start only what has a permit
//!
//! Beyond k a device's throughput does not grow, only its latency: a thread that waits for one page
//! then waits behind the batches of all others.
//!
//! # No deadlock
//! A request takes a permit when it starts and returns it when it is reaped. The holder of a permit
//! may never reap, so no queue waits for a permit alone: a queue with nothing in flight always
//! starts one request, even without a permit. So a queue sleeps only in the device's own `reap`, on
//! requests of its own, and a thread with several queues can wait on any of them.
//!
//! The cost: at most `limit + queues - 1` requests of a kind are in flight. Requests without a
//! permit count, so no queue gets a permit before the sum is below the limit again.
//!
//! A deep queue that is always busy leaves others little more than their one request. Give each of
//! several busy queues its share of k as depth.

mod queue;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

pub use queue::BudgetDevice;

use crate::model::DeviceModel;
use crate::op::Op;
use crate::request::Completion;
use crate::wrapper::Histogram;

/// Limits how many reads and writes are in flight on a device.
#[derive(Debug)]
pub struct IoBudget {
    reads: Gate,
    writes: Gate,
}

/// The permits of one kind of request, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Gate {
    limit: AtomicUsize,
    in_flight: AtomicUsize,
    in_flight_max: AtomicUsize,
    overdrafts: AtomicU64,
    waits: AtomicU64,
    wait_ns: AtomicU64,
    bytes: AtomicU64,
    completed: AtomicU64,
    /// Latencies of the device by bucket, once they are recorded.
    latency: OnceLock<Box<[AtomicU64]>>,
}

/// A snapshot of a budget's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetStats {
    /// Reads.
    pub reads: GateStats,
    /// Writes.
    pub writes: GateStats,
}

/// The counters of one kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateStats {
    /// Requests that may be in flight.
    pub limit: usize,
    /// Requests in flight.
    pub in_flight: usize,
    /// The most requests that were ever in flight.
    pub in_flight_max: usize,
    /// Requests that started without a permit because their queue had nothing in flight.
    pub overdrafts: u64,
    /// Requests that had to wait for a permit and have started since.
    pub waits: u64,
    /// The sum of their waits in nanoseconds, by the device's clock.
    pub wait_ns: u64,
    /// Bytes of the requests that completed.
    pub bytes: u64,
    /// Requests that completed, those of queues that were dropped too.
    pub completed: u64,
}

impl IoBudget {
    /// A budget of `reads` and `writes` at once, at least one of each.
    pub fn new(reads: usize, writes: usize) -> Arc<Self> {
        Arc::new(Self { reads: Gate::new(reads), writes: Gate::new(writes) })
    }

    /// The budget k_r and k_w of a device for requests of `bytes`; a profile's
    /// [`model`](crate::profile::Profile::model) has them too.
    pub fn of(model: &DeviceModel, bytes: u64) -> Arc<Self> {
        let size = model.at(bytes);
        Self::new(size.k_r as usize, size.k_w as usize)
    }

    /// Changes the limits, at least one of each. A smaller limit is reached as requests are reaped;
    /// a larger one is used by each queue's next `submit` or `reap`.
    pub fn set_limits(&self, reads: usize, writes: usize) {
        self.reads.limit.store(reads.max(1), Ordering::Relaxed);
        self.writes.limit.store(writes.max(1), Ordering::Relaxed);
    }

    /// Requests of a kind that may be in flight.
    pub fn limit(&self, op: Op) -> usize {
        self.gate(op).limit.load(Ordering::Relaxed)
    }

    /// The counters so far. Those of requests under way may be ahead of each other.
    pub fn stats(&self) -> BudgetStats {
        BudgetStats { reads: self.reads.stats(), writes: self.writes.stats() }
    }

    /// Records the latencies of requests from now on: 4 KiB of memory for each kind.
    pub fn record_latencies(&self) {
        self.reads.record_latencies();
        self.writes.record_latencies();
    }

    /// The latencies so far, without the waits for permits; empty unless they
    /// [are recorded](Self::record_latencies).
    pub fn latencies(&self, op: Op) -> Histogram {
        let counts = self.gate(op).latency.get().into_iter().flatten();
        Histogram::of_counts(counts.map(|count| count.load(Ordering::Relaxed)).collect())
    }

    fn gate(&self, op: Op) -> &Gate {
        match op {
            Op::Read => &self.reads,
            Op::Write => &self.writes,
        }
    }
}

impl Gate {
    fn new(limit: usize) -> Self {
        Self { limit: AtomicUsize::new(limit.max(1)), ..Self::default() }
    }

    /// Takes up to `wanted` permits; returns how many.
    #[inline]
    fn take(&self, wanted: usize) -> usize {
        let mut in_flight = self.in_flight.load(Ordering::Relaxed);
        loop {
            let free = self.limit.load(Ordering::Relaxed).saturating_sub(in_flight);
            let taken = wanted.min(free);
            if taken == 0 {
                return 0;
            }
            // Requests that returned these permits completed before: Acquire pairs with Release.
            match self.in_flight.compare_exchange_weak(
                in_flight,
                in_flight + taken,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.record_max(in_flight + taken);
                    return taken;
                }
                Err(found) => in_flight = found,
            }
        }
    }

    /// Counts a request without a permit.
    fn overdraw(&self) {
        let before = self.in_flight.fetch_add(1, Ordering::Acquire);
        self.record_max(before + 1);
        self.overdrafts.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn give_back(&self, count: usize, bytes: usize) {
        if count > 0 {
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
            self.completed.fetch_add(count as u64, Ordering::Relaxed);
            let before = self.in_flight.fetch_sub(count, Ordering::Release);
            debug_assert!(before >= count, "{count} permits came back of {before}");
        }
    }

    #[inline]
    fn record_max(&self, in_flight: usize) {
        // The maximum rarely changes, and reading is cheaper than writing.
        if in_flight > self.in_flight_max.load(Ordering::Relaxed) {
            self.in_flight_max.fetch_max(in_flight, Ordering::Relaxed);
        }
    }

    fn record_waits(&self, count: u64, wait_ns: u64) {
        self.waits.fetch_add(count, Ordering::Relaxed);
        self.wait_ns.fetch_add(wait_ns, Ordering::Relaxed);
    }

    fn record_latencies(&self) {
        self.latency.get_or_init(|| (0..Histogram::BUCKETS).map(|_| AtomicU64::new(0)).collect());
    }

    /// Counts the latency of a completion, if latencies are recorded.
    #[inline]
    fn record_latency(&self, completion: &Completion) {
        if let Some(counts) = self.latency.get() {
            let bucket = Histogram::bucket(completion.latency_ns);
            counts[bucket].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn stats(&self) -> GateStats {
        GateStats {
            limit: self.limit.load(Ordering::Relaxed),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            in_flight_max: self.in_flight_max.load(Ordering::Relaxed),
            overdrafts: self.overdrafts.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            wait_ns: self.wait_ns.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            completed: self.completed.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_run_out_come_back_and_follow_the_limit() {
        let gate = Gate::new(4);
        assert_eq!((gate.take(3), gate.take(3), gate.take(1)), (3, 1, 0));
        gate.overdraw();
        gate.give_back(1, 0);
        assert_eq!(gate.take(1), 0, "what is on top counts");
        gate.limit.store(6, Ordering::Relaxed);
        assert_eq!(gate.take(9), 2);
        gate.limit.store(1, Ordering::Relaxed);
        gate.give_back(5, 0);
        assert_eq!(gate.take(1), 0);
        gate.give_back(1, 0);
        assert_eq!(gate.take(2), 1);
        let stats = gate.stats();
        assert_eq!((stats.in_flight, stats.in_flight_max, stats.overdrafts), (1, 6, 1));
    }

    #[test]
    fn budget_of_a_model_is_its_k_and_never_zero() {
        let model = crate::model::preset::Preset::by_name("p4510").unwrap().model();
        let budget = IoBudget::of(&model, 4096);
        assert_eq!((budget.limit(Op::Read), budget.limit(Op::Write)), (80, 8));
        budget.set_limits(0, 3);
        assert_eq!((budget.limit(Op::Read), budget.limit(Op::Write)), (1, 3));
    }
}
