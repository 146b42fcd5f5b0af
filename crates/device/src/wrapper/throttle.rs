//! A slower drive: fewer bytes per second and longer latency, in real time, by sleeping.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Layer;
use crate::error::Result;
use crate::request::{Completion, Request, assert_request, assert_wait};
use crate::{Device, Queue, QueueConfig, Slab};

/// Limits of a [`ThrottleDevice`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Throttle {
    /// Bytes per second of all queues together; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Latency that is added to every request.
    pub latency: Duration,
}

/// A device that completes requests no sooner than its [`Throttle`] allows.
#[derive(Debug)]
pub struct ThrottleDevice {
    inner: Arc<dyn Device>,
    limiter: Arc<RateLimiter>,
}

/// Limits bytes per second: transfers follow one after the other.
#[derive(Debug)]
struct RateLimiter {
    throttle: Throttle,
    free_at: Mutex<Instant>,
}

impl RateLimiter {
    /// When a request that starts now may complete.
    fn ready_at(&self, bytes: usize, now: Instant) -> Instant {
        let Some(rate) = self.throttle.bytes_per_second else {
            return now + self.throttle.latency;
        };
        let transfer = Duration::from_secs_f64(bytes as f64 / rate as f64);
        let mut free_at = self.free_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *free_at = (*free_at).max(now) + transfer;
        *free_at + self.throttle.latency
    }
}

impl ThrottleDevice {
    /// Throttles `inner`.
    pub fn new(inner: Arc<dyn Device>, throttle: Throttle) -> Self {
        assert_ne!(throttle.bytes_per_second, Some(0), "a rate of 0 would never end");
        Self {
            inner,
            limiter: Arc::new(RateLimiter { throttle, free_at: Mutex::new(Instant::now()) }),
        }
    }
}

impl Layer for ThrottleDevice {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        Ok(Box::new(ThrottleQueue {
            inner: self.inner.queue(config)?,
            limiter: Arc::clone(&self.limiter),
            waiting: Slab::with_capacity(config.depth),
            held: Slab::with_capacity(config.depth),
            order: BinaryHeap::with_capacity(config.depth),
            arrived: Vec::with_capacity(config.depth),
            block_bytes: self.inner.block_bytes(),
        }))
    }
}

/// The caller's tag of a request, and its times.
#[derive(Clone, Copy)]
struct Waiting {
    tag: u64,
    pushed_at: Instant,
    ready_at: Instant,
}

struct ThrottleQueue {
    inner: Box<dyn Queue>,
    limiter: Arc<RateLimiter>,
    /// Requests in the inner queue.
    waiting: Slab<Waiting>,
    /// Completions that are held back, and the order of their times.
    held: Slab<(Waiting, Completion)>,
    order: BinaryHeap<Reverse<(Instant, u64)>>,
    arrived: Vec<Completion>,
    block_bytes: usize,
}

impl ThrottleQueue {
    /// Moves completions from the inner queue into the held ones.
    fn collect(&mut self, wait_for: usize) -> Result<()> {
        self.inner.reap(wait_for, &mut self.arrived)?;
        for completion in self.arrived.drain(..) {
            let waiting = self.waiting.remove(completion.tag);
            let place = self.held.insert((waiting, completion));
            self.order.push(Reverse((waiting.ready_at, place)));
        }
        Ok(())
    }

    /// Hands out the completions that are ready; returns how many.
    fn release(&mut self, completions: &mut Vec<Completion>) -> usize {
        let now = Instant::now();
        let before = completions.len();
        while let Some(&Reverse((ready_at, place))) = self.order.peek()
            && ready_at <= now
        {
            self.order.pop();
            let (waiting, mut completion) = self.held.remove(place);
            completion.tag = waiting.tag;
            let latency_ns = now.duration_since(waiting.pushed_at).as_nanos();
            completion.latency_ns = u64::try_from(latency_ns).unwrap_or(u64::MAX);
            completions.push(completion);
        }
        completions.len() - before
    }
}

impl Queue for ThrottleQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.order.len()
    }

    fn push(&mut self, request: Request) {
        assert_request(&request, self.block_bytes, self.in_flight(), self.depth());
        let pushed_at = Instant::now();
        let ready_at = self.limiter.ready_at(request.len, pushed_at);
        let tag = self.waiting.insert(Waiting { tag: request.tag, pushed_at, ready_at });
        self.inner.push(Request { tag, ..request });
    }

    fn submit(&mut self) -> Result<()> {
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        assert_wait(wait_for, self.in_flight());
        let mut missing = wait_for;
        loop {
            self.collect(0)?;
            missing = missing.saturating_sub(self.release(completions));
            if missing == 0 {
                return Ok(());
            }
            match self.order.peek() {
                // The next to be ready may still be in the inner queue. Then this one comes first,
                // and that one is late by less than the inner device's own latency.
                Some(Reverse((ready_at, _))) => {
                    std::thread::sleep(ready_at.saturating_duration_since(Instant::now()))
                }
                None => self.collect(1)?,
            }
        }
    }
}
