//! A device that calls the test at each of its doors.

use std::fmt;
use std::sync::Arc;

use cenote_device::wrapper::Layer;
use cenote_device::{Completion, Device, Queue, QueueConfig, Request, Result};

/// Where a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Before a queue is opened.
    Open,
    /// Before requests start.
    Submit,
    /// Before completions are collected; with how many reads and writes are in flight.
    Reap {
        /// Reads pushed and not reaped.
        reads: usize,
        /// Writes pushed and not reaped.
        writes: usize,
    },
    /// After requests were collected.
    Reaped,
    /// Before a sync.
    Sync,
    /// After a sync that worked.
    Synced,
}

/// What a hook does: sleep, count, wait for another thread, or fail the call.
pub type Hook = dyn Fn(Door) -> Result<()> + Send + Sync;

/// A device with a hook.
pub struct Hooked {
    inner: Arc<dyn Device>,
    hook: Arc<Hook>,
}

impl Hooked {
    /// `inner`, with `hook` called before everything.
    pub fn new(
        inner: Arc<dyn Device>,
        hook: impl Fn(Door) -> Result<()> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { inner, hook: Arc::new(hook) })
    }
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooked({:?})", self.inner)
    }
}

impl Layer for Hooked {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        (self.hook)(Door::Open)?;
        let inner = self.inner.queue(config)?;
        Ok(Box::new(HookedQueue { inner, hook: Arc::clone(&self.hook), reads: 0, writes: 0 }))
    }

    fn sync(&self) -> Result<()> {
        (self.hook)(Door::Sync)?;
        self.inner.sync()?;
        (self.hook)(Door::Synced)
    }
}

struct HookedQueue {
    inner: Box<dyn Queue>,
    hook: Arc<Hook>,
    reads: usize,
    writes: usize,
}

impl HookedQueue {
    fn count(&mut self, op: cenote_device::Op) -> &mut usize {
        match op {
            cenote_device::Op::Read => &mut self.reads,
            cenote_device::Op::Write => &mut self.writes,
        }
    }
}

impl Queue for HookedQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn push(&mut self, request: Request) {
        *self.count(request.op) += 1;
        self.inner.push(request);
    }

    fn submit(&mut self) -> Result<()> {
        (self.hook)(Door::Submit)?;
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        (self.hook)(Door::Reap { reads: self.reads, writes: self.writes })?;
        let before = completions.len();
        self.inner.reap(wait_for, completions)?;
        for completion in &completions[before..] {
            *self.count(completion.op) -= 1;
        }
        (self.hook)(Door::Reaped)
    }
}
