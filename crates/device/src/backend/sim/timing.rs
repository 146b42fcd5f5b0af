//! How long a request takes in virtual time.

use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::{mix, unit};
use crate::clock::Clock;
use crate::model::{self, DeviceModel};
use crate::request::Op;

/// Virtual time: it stands still unless somebody moves it.
#[derive(Debug, Default)]
pub struct SimClock(AtomicU64);

impl SimClock {
    /// Lets time pass, such as for computing.
    pub fn advance(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }

    /// Lets time pass until `ns`; no effect if it is later already. Returns what time it is then.
    pub(super) fn advance_to(&self, ns: u64) -> u64 {
        self.0.fetch_max(ns, Ordering::Relaxed).max(ns)
    }
}

impl Clock for SimClock {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A request that the device is busy with.
#[derive(Clone, Copy, Debug)]
struct Busy {
    finish_ns: u64,
    bytes: u64,
}

/// What the device is busy with.
#[derive(Debug)]
pub(super) struct Timing {
    jitter: f64,
    seed: u64,
    started: u64,
    /// By operation, in the order of finish.
    reads: Vec<Busy>,
    writes: Vec<Busy>,
}

impl Timing {
    pub(super) fn new(jitter: f64, seed: u64) -> Self {
        assert!(jitter >= 0.0 && jitter.is_finite(), "jitter {jitter} is not a share");
        Self { jitter, seed, started: 0, reads: Vec::new(), writes: Vec::new() }
    }

    /// Starts a request at `now_ns` and says when it finishes.
    pub(super) fn start(&mut self, model: &DeviceModel, op: Op, bytes: u64, now_ns: u64) -> u64 {
        let longer = 1.0 + self.jitter * unit(mix(self.seed ^ 0x71e5, self.started));
        self.started += 1;
        let busy = match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        };
        let past = busy.partition_point(|other| other.finish_ns <= now_ns);
        busy.drain(..past);
        let (start_ns, service_ns) = match model.timing {
            model::Timing::Ideal => {
                let channels = model.channels(op, bytes).max(1) as usize;
                (free_channel(busy, channels, now_ns), model.service_ns(op, bytes))
            }
            model::Timing::Curve => (now_ns, model.latency_ns(op, bytes, sharers(busy, bytes))),
        };
        let finish_ns = start_ns + (service_ns as f64 * longer) as u64;
        let place = busy.partition_point(|other| other.finish_ns <= finish_ns);
        busy.insert(place, Busy { finish_ns, bytes });
        finish_ns
    }
}

/// When fewer than `channels` requests remain.
fn free_channel(busy: &[Busy], channels: usize, now_ns: u64) -> u64 {
    let enough = busy.len().checked_sub(channels).map(|waits_for| busy[waits_for].finish_ns);
    enough.unwrap_or(now_ns).max(now_ns)
}

/// With how many requests of its own size, itself included, a request shares the device: a smaller
/// one counts for less, by its bytes.
fn sharers(busy: &[Busy], bytes: u64) -> u32 {
    let others: f64 = busy.iter().map(|other| (other.bytes as f64 / bytes as f64).min(1.0)).sum();
    1 + others.round() as u32
}
