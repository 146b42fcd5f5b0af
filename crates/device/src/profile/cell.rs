//! One cell of a sweep: keeps a number of requests of one kind in flight for a while.

use std::ops::Range;
use std::sync::Arc;

use super::data::Pattern;
use crate::clock::Clock;
use crate::error::Result;
use crate::memory::{Arena, Buffer};
use crate::op::Op;
use crate::request::{Completion, Request};
use crate::{Device, LogHistogram, Queue, QueueConfig, random};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) op: Op,
    pub(super) pattern: Pattern,
    pub(super) bytes: u64,
    pub(super) depth: u32,
}

#[derive(Clone, Debug)]
pub(super) struct CellResult {
    pub(super) iops: f64,
    pub(super) latencies: LogHistogram<128>,
    /// CPU time of the issuing thread over elapsed time.
    pub(super) cpu_share: f64,
}

/// A queue with its buffers, kept over many cells: opening a queue pins its memory.
pub(super) struct Bench<'a> {
    device: &'a dyn Device,
    queue: Box<dyn Queue + 'a>,
    clock: Arc<dyn Clock>,
    region: Range<u64>,
    /// Bytes of all requests of cells so far.
    pub(super) bytes_moved: u64,
    free: Vec<Buffer>,
    completions: Vec<Completion>,
}

impl<'a> Bench<'a> {
    /// For cells of at most `depth` requests of `bytes`.
    pub(super) fn open(
        device: &'a dyn Device,
        region: Range<u64>,
        depth: u32,
        bytes: u64,
        seed: u64,
    ) -> Result<Self> {
        let (arena, mut free) = Arena::carve(bytes as usize, depth as usize)?;
        let mut random = Random::new(seed);
        for buffer in &mut free {
            // Random bytes: drives may compress others or skip zeros.
            random.fill(buffer);
        }
        let queue = device.queue(&QueueConfig::with_depth(depth as usize).arenas(vec![arena]))?;
        let completions = Vec::with_capacity(depth as usize);
        let clock = device.clock();
        Ok(Self { device, queue, clock, region, bytes_moved: 0, free, completions })
    }

    /// Writes `range` in full with large requests until the clock shows `until_ns`, but at least
    /// its first `bytes_min`. Returns the bytes written, from the start.
    pub(super) fn fill(
        &mut self,
        range: Range<u64>,
        bytes_min: u64,
        until_ns: u64,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<u64> {
        let mut next = range.start;
        let mut done = 0;
        loop {
            let on_time = self.clock.now_ns() < until_ns || next - range.start < bytes_min;
            while on_time && next < range.end {
                let Some(buffer) = self.free.pop() else { break };
                let len = (range.end - next).min(buffer.len() as u64) as usize;
                self.queue.push(Request { tag: 0, op: Op::Write, offset: next, len, buffer });
                next += len as u64;
            }
            if self.queue.in_flight() == 0 {
                return Ok(next - range.start);
            }
            self.reap(|_| {})?;
            done = (next - range.start).max(done);
            progress(done)?;
        }
    }

    /// Keeps the cell's requests in flight. Counting starts when the first `depth` requests are
    /// done and lasts `seconds` and at least 2 x `depth` requests, but at most 8 x `seconds`.
    pub(super) fn run(&mut self, cell: &Cell, seconds: f64, seed: u64) -> Result<CellResult> {
        let mut offsets = Offsets::new(cell, &self.region, seed);
        let (depth, least) = (u64::from(cell.depth), 2 * u64::from(cell.depth));
        let (mut seen, mut counted) = (0, 0);
        let mut latencies = LogHistogram::default();
        for _ in 0..cell.depth {
            self.issue(cell, offsets.next())?;
        }
        let mut start_ns = self.clock.now_ns();
        let mut cpu_ns = thread_cpu_ns();
        loop {
            let counting = seen >= depth;
            let arrived = self.reap(|latency_ns| {
                if counting {
                    latencies.record(latency_ns);
                }
            })?;
            let now_ns = self.clock.now_ns();
            seen += arrived;
            if counting {
                counted += arrived;
            } else {
                (start_ns, cpu_ns) = (now_ns, thread_cpu_ns());
            }
            let elapsed = now_ns.saturating_sub(start_ns) as f64 / 1e9;
            let enough = elapsed >= seconds && counted >= least;
            if counting && (enough || elapsed >= 8.0 * seconds) {
                let cpu_share = thread_cpu_ns().saturating_sub(cpu_ns) as f64 / 1e9 / elapsed;
                self.drain()?;
                return Ok(CellResult { iops: counted as f64 / elapsed, latencies, cpu_share });
            }
            for _ in 0..arrived {
                self.issue(cell, offsets.next())?;
            }
        }
    }

    /// Submits each request by itself, as fio does. Some drives serve a batch of one call in turn:
    /// at depth 32 a virtual NVMe drive did 64,000 requests a second in batches, 76,000 one by one.
    fn issue(&mut self, cell: &Cell, offset: u64) -> Result<()> {
        let buffer = self.free.pop().expect("a cell is no deeper than its queue");
        let len = cell.bytes as usize;
        self.bytes_moved += cell.bytes;
        self.queue.push(Request { tag: 0, op: cell.op, offset, len, buffer });
        self.queue.submit()
    }

    /// Waits for at least one request and passes on each latency. Any fault ends the profile.
    fn reap(&mut self, mut latency_ns: impl FnMut(u64)) -> Result<u64> {
        self.completions.clear();
        self.queue.reap(1, &mut self.completions)?;
        let arrived = self.completions.len() as u64;
        for completion in self.completions.drain(..) {
            latency_ns(completion.latency_ns);
            let whole = completion.whole(|| self.device.name());
            self.free.push(completion.buffer);
            whole?;
        }
        Ok(arrived)
    }

    fn drain(&mut self) -> Result<()> {
        while self.queue.in_flight() > 0 {
            self.reap(|_| {})?;
        }
        Ok(())
    }
}

struct Offsets {
    start: u64,
    slots: u64,
    bytes: u64,
    /// The next slot of a sequential cell.
    next: Option<u64>,
    random: Random,
}

impl Offsets {
    fn new(cell: &Cell, region: &Range<u64>, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let slots = (region.end - region.start) / cell.bytes;
        let next = match cell.pattern {
            Pattern::Random => None,
            Pattern::Sequential => Some(random.below(slots)),
        };
        Self { start: region.start, slots, bytes: cell.bytes, next, random }
    }

    fn next(&mut self) -> u64 {
        let slot = match &mut self.next {
            None => self.random.below(self.slots),
            Some(next) => {
                let slot = *next;
                *next = (slot + 1) % self.slots;
                slot
            }
        };
        self.start + slot * self.bytes
    }
}

/// SplitMix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(random::GOLDEN);
        random::mix(self.0)
    }

    /// A number from 0 to `bound` - 1.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes());
        }
    }
}

/// CPU time of the calling thread in nanoseconds.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the struct that the pointer names, and nothing else.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if failed != 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
