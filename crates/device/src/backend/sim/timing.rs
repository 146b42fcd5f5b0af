//! Latencies of requests in virtual time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::{mix, unit};
use crate::clock::Clock;
use crate::model::{self, DeviceModel};
use crate::op::Op;

/// A clock of virtual time, which stands still unless it is advanced.
#[derive(Debug, Default)]
pub struct SimClock(AtomicU64);

impl SimClock {
    /// Advances the clock by `ns`, such as for computing.
    pub fn advance(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }

    /// Advances the clock to `ns`, unless it is later already. Returns the time.
    pub(super) fn advance_to(&self, ns: u64) -> u64 {
        self.0.fetch_max(ns, Ordering::Relaxed).max(ns)
    }
}

impl Clock for SimClock {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy, Debug)]
struct Busy {
    finish_ns: u64,
    bytes: u64,
}

#[derive(Debug)]
pub(super) struct Timing {
    jitter: f64,
    seed: u64,
    started: u64,
    reads: OpTiming,
    writes: OpTiming,
}

#[derive(Debug, Default)]
struct OpTiming {
    /// Requests in flight, by finish time.
    busy: VecDeque<Busy>,
    /// The model's values of each requested size, by size: computing them is the most expensive
    /// part of a request.
    cached: Vec<CachedSize>,
}

/// The model's values of one operation and size.
#[derive(Debug)]
struct CachedSize {
    bytes: u64,
    service_ns: u64,
    channels: usize,
    /// By concurrency minus 1; 0 if not computed yet.
    latency_ns: Vec<u64>,
}

impl CachedSize {
    fn of(model: &DeviceModel, op: Op, bytes: u64) -> Self {
        let channels = model.channels(op, bytes).max(1) as usize;
        Self { bytes, service_ns: model.service_ns(op, bytes), channels, latency_ns: Vec::new() }
    }

    fn latency_ns(&mut self, model: &DeviceModel, op: Op, concurrency: usize) -> u64 {
        if self.latency_ns.len() < concurrency {
            self.latency_ns.resize(concurrency, 0);
        }
        let cached = &mut self.latency_ns[concurrency - 1];
        if *cached == 0 {
            let concurrency = u32::try_from(concurrency).unwrap_or(u32::MAX);
            *cached = model.latency_ns(op, self.bytes, concurrency);
        }
        *cached
    }
}

impl Timing {
    pub(super) fn new(jitter: f64, seed: u64) -> Self {
        assert!(jitter >= 0.0 && jitter.is_finite(), "jitter {jitter} is not a share");
        Self { jitter, seed, started: 0, reads: OpTiming::default(), writes: OpTiming::default() }
    }

    /// Starts a request at `now_ns` and returns its finish time.
    pub(super) fn start(&mut self, model: &DeviceModel, op: Op, bytes: u64, now_ns: u64) -> u64 {
        let factor = self.jitter_factor();
        let OpTiming { busy, cached } = match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        };
        while busy.front().is_some_and(|first| first.finish_ns <= now_ns) {
            busy.pop_front();
        }
        let place = cached.partition_point(|cached| cached.bytes < bytes);
        if cached.get(place).is_none_or(|cached| cached.bytes != bytes) {
            cached.insert(place, CachedSize::of(model, op, bytes));
        }
        let cached = &mut cached[place];
        let (start_ns, service_ns) = match model.timing {
            model::Timing::Ideal => {
                (free_channel(busy, cached.channels, now_ns), cached.service_ns)
            }
            model::Timing::Curve => {
                (now_ns, cached.latency_ns(model, op, concurrency(busy, bytes)))
            }
        };
        let finish_ns = start_ns + (service_ns as f64 * factor) as u64;
        let place = busy.partition_point(|other| other.finish_ns <= finish_ns);
        busy.insert(place, Busy { finish_ns, bytes });
        finish_ns
    }

    /// The factor by which the next request takes longer than the model says.
    fn jitter_factor(&mut self) -> f64 {
        let index = self.started;
        self.started += 1;
        if self.jitter == 0.0 {
            return 1.0;
        }
        1.0 + self.jitter * unit(mix(self.seed ^ 0x71e5, index))
    }
}

/// When fewer than `channels` requests are left in flight.
fn free_channel(busy: &VecDeque<Busy>, channels: usize, now_ns: u64) -> u64 {
    let enough = busy.len().checked_sub(channels).map(|waits_for| busy[waits_for].finish_ns);
    enough.unwrap_or(now_ns).max(now_ns)
}

/// The concurrency for a request of `bytes`, itself included: smaller requests in flight count in
/// proportion to their bytes.
fn concurrency(busy: &VecDeque<Busy>, bytes: u64) -> usize {
    let (mut whole, mut parts) = (1, 0.0);
    for other in busy {
        if other.bytes >= bytes {
            whole += 1;
        } else {
            parts += other.bytes as f64 / bytes as f64;
        }
    }
    whole + parts.round() as usize
}
