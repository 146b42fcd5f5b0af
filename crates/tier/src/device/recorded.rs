//! What queues pass on to a worker: the accesses that the policy sees, and how long requests took.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cenote_device::{Completion, Op};

use super::lock::lock;

/// Most accesses that wait for the policy; more are dropped, and counted.
const ACCESSES_MAX: usize = 1 << 16;

/// Most ended requests that wait for the worker; more are dropped.
const RESPONSES_MAX: usize = 1 << 12;

/// Accesses, or ended requests, that a queue collects before it passes them on.
const RECORD_AT: usize = 64;

/// A request of a tier that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub tier: u8,
    pub op: Op,
    pub len: u32,
    /// Requests in flight on the tier, this one included, when it ended.
    pub in_flight: u32,
    pub latency_ns: u64,
}

/// What waits for the worker of a set.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Block, and in the highest bit whether it was a write.
    accesses: Mutex<Vec<u64>>,
    responses: Mutex<Vec<Response>>,
    /// Requests of more bytes are not recorded; 0 while no worker runs.
    bytes_max: AtomicU64,
    has_worker: AtomicBool,
    missed: AtomicU64,
}

impl Recorded {
    /// The most bytes that wait for a worker while it sees as many.
    pub const BYTES_MAX: usize =
        2 * (ACCESSES_MAX * size_of::<u64>() + RESPONSES_MAX * size_of::<Response>());

    /// Begins to record requests of up to so many bytes; false if a worker runs already.
    pub fn begin(&self, bytes_max: u64) -> bool {
        let begun = !self.has_worker.swap(true, Ordering::SeqCst);
        if begun {
            self.bytes_max.store(bytes_max, Ordering::Relaxed);
        }
        begun
    }

    /// Ends that, and drops what waits.
    pub fn end(&self) {
        self.bytes_max.store(0, Ordering::Relaxed);
        self.take(&mut Vec::new(), &mut Vec::new());
        self.has_worker.store(false, Ordering::SeqCst);
    }

    /// Moves all that waits.
    pub fn take(&self, accesses: &mut Vec<u64>, responses: &mut Vec<Response>) {
        accesses.clear();
        std::mem::swap(&mut *lock(&self.accesses), accesses);
        responses.clear();
        std::mem::swap(&mut *lock(&self.responses), responses);
    }

    /// Accesses that were dropped because too many waited.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    pub fn memory_bytes(&self) -> usize {
        lock(&self.accesses).capacity() * size_of::<u64>()
            + lock(&self.responses).capacity() * size_of::<Response>()
    }

    fn is_recorded(&self, len: usize) -> bool {
        len > 0 && len as u64 <= self.bytes_max.load(Ordering::Relaxed)
    }
}

/// What a queue has not passed on yet.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    accesses: Vec<u64>,
    responses: Vec<Response>,
}

impl Recorder {
    /// Records the blocks of a request, unless it is so large that it belongs to a full pass.
    pub fn access(&mut self, to: &Recorded, op: Op, offset: u64, len: usize, block_bytes: u64) {
        if !to.is_recorded(len) {
            return;
        }
        let last = (offset + len as u64 - 1) / block_bytes;
        let write = u64::from(op == Op::Write) << 63;
        self.accesses.extend((offset / block_bytes..=last).map(|block| block | write));
        if self.accesses.len() >= RECORD_AT {
            self.flush(to);
        }
    }

    /// Records requests of a tier that ended, with so many in flight until then.
    pub fn responses(&mut self, to: &Recorded, tier: u8, in_flight: u32, arrived: &[Completion]) {
        for Completion { op, len, result, latency_ns, .. } in arrived {
            if result.is_ok() && to.is_recorded(*len) {
                let (op, len, latency_ns) = (*op, *len as u32, *latency_ns);
                self.responses.push(Response { tier, op, len, in_flight, latency_ns });
            }
        }
        if self.responses.len() >= RECORD_AT {
            self.flush(to);
        }
    }

    /// Passes everything on.
    pub fn flush(&mut self, to: &Recorded) {
        let mut waiting = lock(&to.accesses);
        if waiting.len() + self.accesses.len() <= ACCESSES_MAX {
            waiting.append(&mut self.accesses);
        } else {
            to.missed.fetch_add(self.accesses.len() as u64, Ordering::Relaxed);
            self.accesses.clear();
        }
        drop(waiting);
        let mut waiting = lock(&to.responses);
        let room = RESPONSES_MAX - waiting.len();
        waiting.extend(self.responses.drain(..).take(room));
    }
}
