//! A device whose queues keep within an I/O budget.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Gate, IoBudget};
use crate::clock::Clock;
use crate::error::Result;
use crate::op::Op;
use crate::request::{Completion, Request, assert_request, assert_wait};
use crate::wrapper::Layer;
use crate::{Device, Queue, QueueConfig};

/// A device under a budget, which other devices on the same drive may share.
///
/// A queue accepts pushes up to its depth and starts them at `submit` or `reap`, reads and writes
/// each in the order of the pushes, while there are permits; the others wait for its next `submit`
/// or `reap`. A completion's latency is the device's own; [`IoBudget::stats`] has the time before.
#[derive(Debug)]
pub struct BudgetDevice {
    inner: Arc<dyn Device>,
    budget: Arc<IoBudget>,
}

impl BudgetDevice {
    /// Keeps the requests to `inner` within `budget`.
    pub fn new(device: Arc<dyn Device>, budget: Arc<IoBudget>) -> Self {
        Self { inner: device, budget }
    }

    /// The budget.
    pub fn budget(&self) -> &Arc<IoBudget> {
        &self.budget
    }
}

impl Layer for BudgetDevice {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        Ok(Box::new(BudgetQueue {
            inner: self.inner.queue(config)?,
            held: Held { budget: Arc::clone(&self.budget), reads: 0, writes: 0 },
            reads: WaitQueue::default(),
            writes: WaitQueue::default(),
            pushed: 0,
            clock: self.inner.clock(),
            block_bytes: self.inner.block_bytes(),
        }))
    }
}

/// Permits of a queue's requests in flight, returned on drop.
struct Held {
    budget: Arc<IoBudget>,
    reads: usize,
    writes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.reads.give_back(self.reads, 0);
        self.budget.writes.give_back(self.writes, 0);
    }
}

/// A request that was pushed and has not started.
struct Waiting {
    /// How many requests were pushed before it.
    index: u64,
    request: Request,
}

/// Waiting requests of one kind, in the order of the pushes.
#[derive(Default)]
struct WaitQueue {
    waiting: VecDeque<Waiting>,
    /// When the first ones were refused a permit; the others were never refused.
    refused_ns: VecDeque<u64>,
}

impl WaitQueue {
    /// Takes permits for as many of `waiting` as possible; returns how many.
    #[inline]
    fn admit(&self, gate: &Gate) -> usize {
        if self.waiting.is_empty() { 0 } else { gate.take(self.waiting.len()) }
    }

    fn first_index(&self) -> Option<u64> {
        self.waiting.front().map(|waiting| waiting.index)
    }

    /// Records how long the first `count` waited, which start now.
    fn record_start(&mut self, count: usize, gate: &Gate, clock: &dyn Clock) {
        let refused = count.min(self.refused_ns.len());
        if refused > 0 {
            let now_ns = clock.now_ns();
            let since = self.refused_ns.drain(..refused);
            let wait_ns = since.map(|since_ns| now_ns.saturating_sub(since_ns)).sum();
            gate.record_waits(refused as u64, wait_ns);
        }
    }

    /// Records that the remaining ones are refused a permit now.
    fn record_refused(&mut self, clock: &dyn Clock) {
        if self.refused_ns.len() < self.waiting.len() {
            self.refused_ns.resize(self.waiting.len(), clock.now_ns());
        }
    }
}

struct BudgetQueue {
    inner: Box<dyn Queue>,
    /// Dropped after `inner`, when the device has completed the requests.
    held: Held,
    reads: WaitQueue,
    writes: WaitQueue,
    pushed: u64,
    clock: Arc<dyn Clock>,
    block_bytes: usize,
}

impl BudgetQueue {
    #[inline]
    fn waiting(&self) -> usize {
        self.reads.waiting.len() + self.writes.waiting.len()
    }

    /// Starts the requests that get a permit, and at least one if none is in flight. Returns how
    /// many.
    #[inline]
    fn start(&mut self) -> usize {
        if self.waiting() == 0 {
            return 0;
        }
        let mut reads = self.reads.admit(&self.held.budget.reads);
        let mut writes = self.writes.admit(&self.held.budget.writes);
        if reads + writes == 0 && self.inner.in_flight() == 0 {
            match self.oldest(true, true) {
                Op::Read => (self.held.budget.reads.overdraw(), reads = 1),
                Op::Write => (self.held.budget.writes.overdraw(), writes = 1),
            };
        }
        self.held.reads += reads;
        self.held.writes += writes;
        self.pass(reads, writes);
        reads + writes
    }

    /// Pushes the first `reads` and `writes` to the device in the order of their pushes.
    fn pass(&mut self, reads: usize, writes: usize) {
        self.reads.record_start(reads, &self.held.budget.reads, &*self.clock);
        self.writes.record_start(writes, &self.held.budget.writes, &*self.clock);
        let (mut reads, mut writes) = (reads, writes);
        while reads + writes > 0 {
            let (queue, left) = match self.oldest(reads > 0, writes > 0) {
                Op::Read => (&mut self.reads, &mut reads),
                Op::Write => (&mut self.writes, &mut writes),
            };
            let first = queue.waiting.pop_front().expect("a request waits for each permit");
            *left -= 1;
            self.inner.push(first.request);
        }
        self.reads.record_refused(&*self.clock);
        self.writes.record_refused(&*self.clock);
    }

    /// The kind, among those allowed, whose first request was pushed first.
    #[inline]
    fn oldest(&self, reads: bool, writes: bool) -> Op {
        let first = |queue: &WaitQueue, is_allowed: bool| {
            if is_allowed { queue.first_index() } else { None }.unwrap_or(u64::MAX)
        };
        if first(&self.reads, reads) <= first(&self.writes, writes) { Op::Read } else { Op::Write }
    }

    /// Reaps from the device and returns the permits.
    fn collect(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        let before = completions.len();
        let outcome = self.inner.reap(wait_for, completions);
        let completed = &completions[before..];
        let (mut reads, mut bytes_read, mut bytes) = (0, 0, 0);
        for completion in completed {
            let is_read = usize::from(completion.op == Op::Read);
            reads += is_read;
            bytes_read += is_read * completion.len;
            bytes += completion.len;
            self.held.budget.gate(completion.op).record_latency(completion);
        }
        let writes = completed.len() - reads;
        self.held.reads -= reads;
        self.held.writes -= writes;
        self.held.budget.reads.give_back(reads, bytes_read);
        self.held.budget.writes.give_back(writes, bytes - bytes_read);
        outcome
    }
}

impl Queue for BudgetQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.waiting()
    }

    fn push(&mut self, request: Request) {
        assert_request(&request, self.block_bytes, self.in_flight(), self.depth());
        let queue = match request.op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        };
        queue.waiting.push_back(Waiting { index: self.pushed, request });
        self.pushed += 1;
    }

    fn submit(&mut self) -> Result<()> {
        self.start();
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        assert_wait(wait_for, self.in_flight());
        let target = completions.len() + wait_for;
        loop {
            self.start();
            let missing = target.saturating_sub(completions.len());
            // While requests wait, every returned permit is used at once.
            let wait_now = if self.waiting() == 0 { missing } else { missing.min(1) };
            self.collect(wait_now, completions)?;
            if completions.len() >= target {
                break;
            }
        }
        // Keeps the device busy while the caller processes the completions.
        if self.start() > 0 { self.inner.submit() } else { Ok(()) }
    }
}

impl Drop for BudgetQueue {
    /// Completes what was pushed, as the other devices do.
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.waiting() > 0 {
            self.start();
            if self.collect(1, &mut completions).is_err() {
                // The queue is broken: what never started is dropped with it.
                return;
            }
            completions.clear();
        }
    }
}
