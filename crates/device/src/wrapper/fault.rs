//! Fault injection: the simulator's faults over a real device.
//!
//! It has no volatile cache, so it differs from the simulated device in three points: a lost write
//! is lost at once, a torn write keeps leading blocks only, and after a power cut every operation
//! fails from then on.

use std::sync::{Arc, Mutex, MutexGuard};

use super::Layer;
use crate::backend::sim::{
    Fate, FaultPlan, FaultState, POWER_CUT_ERRNO, Verdict, torn_prefix_bytes,
};
use crate::error::{DeviceError, IoFault, Result};
use crate::op::Op;
use crate::request::{Completion, Request, assert_request, assert_wait};
use crate::{Device, Queue, QueueConfig, Slab};

/// A device that fails according to its plan.
#[derive(Debug)]
pub struct FaultDevice {
    inner: Arc<dyn Device>,
    state: Arc<Mutex<FaultState>>,
}

impl FaultDevice {
    /// Injects the faults of `plan` into `inner`.
    pub fn new(inner: Arc<dyn Device>, plan: FaultPlan) -> Self {
        let state = FaultState::new(plan, inner.block_bytes().max(1));
        Self { inner, state: Arc::new(Mutex::new(state)) }
    }

    /// Operations so far: requests, syncs and resizes, in the order in which they came.
    pub fn operations(&self) -> u64 {
        lock(&self.state).operations()
    }

    fn error(&self, action: &'static str, errno: i32) -> DeviceError {
        let source = std::io::Error::from_raw_os_error(errno);
        DeviceError::File { device: self.inner.name(), action, source }
    }
}

fn lock(state: &Mutex<FaultState>) -> MutexGuard<'_, FaultState> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Layer for FaultDevice {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        Ok(Box::new(FaultQueue {
            inner: self.inner.queue(config)?,
            state: Arc::clone(&self.state),
            waiting: Slab::with_capacity(config.depth),
            over: Vec::new(),
            block_bytes: self.inner.block_bytes(),
        }))
    }

    fn len_bytes(&self) -> Result<u64> {
        if lock(&self.state).is_power_cut() {
            return Err(self.error("size", POWER_CUT_ERRNO));
        }
        self.inner.len_bytes()
    }

    fn sync(&self) -> Result<()> {
        lock(&self.state).control().map_err(|errno| self.error("sync", errno))?;
        self.inner.sync()
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        lock(&self.state).resize(bytes).map_err(|errno| self.error("resize", errno))?;
        self.inner.set_len(bytes)
    }
}

/// The caller's tag and length of a request, and what its completion reports.
struct Waiting {
    tag: u64,
    len: usize,
    /// Bytes moved according to the completion, if the inner device moved all it was given.
    reported: usize,
}

struct FaultQueue {
    inner: Box<dyn Queue>,
    state: Arc<Mutex<FaultState>>,
    waiting: Slab<Waiting>,
    /// Completions of requests that never reach the inner device.
    over: Vec<Completion>,
    block_bytes: usize,
}

impl FaultQueue {
    /// Passes on the first `moved` bytes of a request, and reports `reported` as moved.
    fn pass(&mut self, request: Request, moved: usize, reported: usize) {
        if moved == 0 {
            self.over.push(request.complete(Ok(reported), 0));
            return;
        }
        let Request { tag, len, .. } = request;
        let tag = self.waiting.insert(Waiting { tag, len, reported });
        self.inner.push(Request { tag, len: moved, ..request });
    }
}

impl Queue for FaultQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.over.len()
    }

    fn push(&mut self, request: Request) {
        assert_request(&request, self.block_bytes, self.in_flight(), self.depth());
        let Request { op, offset, len, .. } = request;
        let verdict = lock(&self.state).judge(op, offset, len);
        match verdict {
            Verdict::Read(moved) => self.pass(request, moved, moved),
            Verdict::Write(Fate::Whole) => self.pass(request, len, len),
            Verdict::Write(Fate::Lost) => self.pass(request, 0, len),
            Verdict::Write(Fate::Torn(seed)) => {
                let moved = torn_prefix_bytes(seed, len, self.block_bytes);
                self.pass(request, moved, len);
            }
            Verdict::Fail(errno) => self.over.push(request.complete(Err(IoFault { errno }), 0)),
            Verdict::Cut => {
                let errno = POWER_CUT_ERRNO;
                self.over.push(request.complete(Err(IoFault { errno }), 0));
            }
        }
    }

    fn submit(&mut self) -> Result<()> {
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        assert_wait(wait_for, self.in_flight());
        let before = completions.len();
        let missing = wait_for.saturating_sub(self.over.len());
        completions.append(&mut self.over);
        let first_passed = completions.len();
        self.inner.reap(missing, completions)?;
        let state = lock(&self.state);
        for completion in &mut completions[first_passed..] {
            let Waiting { tag, len, reported } = self.waiting.remove(completion.tag);
            if completion.result == Ok(completion.len) {
                completion.result = Ok(reported);
            }
            completion.tag = tag;
            completion.len = len;
            if let (Op::Read, Ok(moved)) = (completion.op, completion.result) {
                state.flip(completion.offset, &mut completion.buffer[..moved]);
            }
        }
        if state.is_power_cut() {
            for completion in &mut completions[before..] {
                completion.result = Err(IoFault { errno: POWER_CUT_ERRNO });
            }
        }
        Ok(())
    }
}
