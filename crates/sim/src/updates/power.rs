//! One power supply for several simulated devices: what all of them hold at every change of any.
//!
//! A process whose devices are plugged in can also be ended at a change, which then reaches no
//! device, while the system goes on and keeps what was written and not synced.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_device::backend::sim::SimDevice;
use cenote_device::wrapper::Layer;
use cenote_device::{
    Completion, Device, DeviceError, IoFault, Op, Queue, QueueConfig, Request, Result,
};

use crate::Outcome;

/// `EIO`: what a process that has ended would see.
const ENDED_ERRNO: i32 = 5;

/// Looks at the devices after a change, by its number.
type Listener = Box<dyn Fn(u64) -> Outcome + Send>;

/// What all changes of a process go through, one at a time.
pub(super) struct Power {
    changes: AtomicU64,
    /// The first change that reaches no device any more.
    ends_at: u64,
    listener: Mutex<Option<Listener>>,
    /// The changes that are syncs of the map.
    map_syncs: Mutex<Vec<u64>>,
    /// The first fault that the listener found.
    fault: Mutex<Option<String>>,
}

impl fmt::Debug for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "power after {} changes", self.changes())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Power {
    pub fn new() -> Arc<Self> {
        Self::that_ends_at(u64::MAX)
    }

    /// The power of a process that ends before its n-th change.
    pub fn that_ends_at(change: u64) -> Arc<Self> {
        let (listener, map_syncs, fault) = Default::default();
        let changes = AtomicU64::new(0);
        Arc::new(Self { changes, ends_at: change, listener, map_syncs, fault })
    }

    /// Calls `listener` after every change from now on; while it looks nothing changes.
    pub fn listen(&self, listener: impl Fn(u64) -> Outcome + Send + 'static) {
        *lock(&self.listener) = Some(Box::new(listener));
    }

    /// Ends listening; the first fault that was found.
    pub fn heard(&self) -> Outcome {
        *lock(&self.listener) = None;
        lock(&self.fault).take().map_or(Ok(()), Err)
    }

    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// The changes so far that are syncs of the map, by their numbers.
    pub fn map_syncs(&self) -> Vec<u64> {
        lock(&self.map_syncs).clone()
    }

    /// Makes a change, unless the process has ended.
    fn change<T>(&self, change: impl FnOnce() -> T) -> Option<T> {
        self.change_of_kind(false, change)
    }

    fn change_of_kind<T>(&self, is_map_sync: bool, change: impl FnOnce() -> T) -> Option<T> {
        let listener = lock(&self.listener);
        let number = self.changes.fetch_add(1, Ordering::SeqCst);
        if is_map_sync {
            lock(&self.map_syncs).push(number);
        }
        if number >= self.ends_at {
            return None;
        }
        let done = change();
        if let Some(listener) = listener.as_ref().filter(|_| lock(&self.fault).is_none())
            && let Err(fault) = listener(number)
        {
            *lock(&self.fault) = Some(format!("change {number}: {fault}"));
        }
        Some(done)
    }
}

/// A simulated device that is plugged in.
#[derive(Debug)]
pub(super) struct Plugged {
    pub device: Arc<SimDevice>,
    pub power: Arc<Power>,
    /// Whether it holds the map of the set.
    pub is_map: bool,
    /// Whether its syncs make anything durable.
    pub is_synced: bool,
}

impl Plugged {
    fn ended(&self, action: &'static str) -> DeviceError {
        let source = std::io::Error::from_raw_os_error(ENDED_ERRNO);
        DeviceError::File { device: self.device.name(), action, source }
    }
}

impl Layer for Plugged {
    fn inner(&self) -> &dyn Device {
        self.device.as_ref()
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        let (inner, power) = (self.device.queue(config)?, Arc::clone(&self.power));
        Ok(Box::new(PluggedQueue { inner, power, refused: Vec::new() }))
    }

    fn sync(&self) -> Result<()> {
        let sync = || if self.is_synced { self.device.sync() } else { Ok(()) };
        let synced = self.power.change_of_kind(self.is_map, sync);
        synced.unwrap_or_else(|| Err(self.ended("sync")))
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        let resized = self.power.change(|| self.device.set_len(bytes));
        resized.unwrap_or_else(|| Err(self.ended("resize")))
    }
}

struct PluggedQueue {
    inner: Box<dyn Queue>,
    power: Arc<Power>,
    refused: Vec<Completion>,
}

impl Queue for PluggedQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.refused.len()
    }

    fn push(&mut self, request: Request) {
        if request.op == Op::Read {
            return self.inner.push(request);
        }
        let mut request = Some(request);
        self.power.change(|| {
            self.inner.push(request.take().expect("it is pushed once"));
            self.inner.submit().expect("a simulated device takes every request");
        });
        if let Some(request) = request {
            let fault = IoFault { errno: ENDED_ERRNO };
            self.refused.push(request.complete(Err(fault), 0));
        }
    }

    fn submit(&mut self) -> Result<()> {
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        let refused = self.refused.len();
        completions.append(&mut self.refused);
        self.inner.reap(wait_for.saturating_sub(refused), completions)
    }
}
