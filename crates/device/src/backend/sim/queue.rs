//! The queue of a simulated device: requests in flight in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::fault::Fate;
use super::{Core, POWER_CUT_ERRNO, State, Verdict};
use crate::clock::Clock;
use crate::error::{IoFault, Result};
use crate::model::DeviceModel;
use crate::op::Op;
use crate::request::{Completion, Request, assert_request, assert_wait};
use crate::{Queue, Slab};

/// Fills the unread bytes of a buffer after a failed or short read, so that using them is noticed.
const POISON: u8 = 0xdb;

type Outcome = std::result::Result<usize, IoFault>;

struct Submitted {
    request: Request,
    started_ns: u64,
    outcome: Outcome,
    /// The number of a write in the contents.
    write: Option<u64>,
}

pub(super) struct SimQueue {
    core: Arc<Core>,
    depth: usize,
    pending: Pending,
}

struct Pending {
    pushed: Vec<Request>,
    submitted: Slab<Submitted>,
    /// Finish time, number of the request, tag in `submitted`.
    order: BinaryHeap<Reverse<(u64, u64, u64)>>,
    /// Requests submitted so far.
    count: u64,
}

impl SimQueue {
    pub(super) fn new(core: Arc<Core>, depth: usize) -> Self {
        let pending = Pending {
            pushed: Vec::with_capacity(depth),
            submitted: Slab::with_capacity(depth),
            order: BinaryHeap::with_capacity(depth),
            count: 0,
        };
        Self { core, depth, pending }
    }
}

impl Pending {
    fn submit(&mut self, model: &DeviceModel, state: &mut State, started_ns: u64) {
        for mut request in self.pushed.drain(..) {
            let (outcome, write) = transfer(state, &mut request);
            let len = request.len as u64;
            let finish_ns = state.timing.start(model, request.op, len, started_ns);
            let tag = self.submitted.insert(Submitted { request, started_ns, outcome, write });
            self.order.push(Reverse((finish_ns, self.count, tag)));
            self.count += 1;
        }
    }

    fn next_ns(&self) -> Option<u64> {
        self.order.peek().map(|Reverse((finish_ns, ..))| *finish_ns)
    }

    fn pop(&mut self) -> Option<Submitted> {
        self.order.pop().map(|Reverse((_, _, tag))| self.submitted.remove(tag))
    }
}

impl Queue for SimQueue {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.pending.pushed.len() + self.pending.submitted.len()
    }

    fn push(&mut self, request: Request) {
        assert_request(&request, self.core.config.block_bytes, self.in_flight(), self.depth);
        self.pending.pushed.push(request);
    }

    fn submit(&mut self) -> Result<()> {
        let Self { core, pending, .. } = self;
        if !pending.pushed.is_empty() {
            pending.submit(&core.config.model, &mut core.lock(), core.clock.now_ns());
        }
        Ok(())
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        assert_wait(wait_for, self.in_flight());
        let Self { core, pending, .. } = self;
        let mut state = core.lock();
        let mut now_ns = core.clock.now_ns();
        pending.submit(&core.config.model, &mut state, now_ns);
        let target = completions.len() + wait_for;
        while let Some(finish_ns) = pending.next_ns() {
            if finish_ns > now_ns {
                if completions.len() >= target {
                    break;
                }
                now_ns = core.clock.advance_to(finish_ns);
            }
            let done = pending.pop().map(|request| finish(&mut state, request, now_ns));
            completions.extend(done);
        }
        Ok(())
    }
}

impl Drop for SimQueue {
    /// Completes all requests, as the other backends do.
    fn drop(&mut self) {
        let Self { core, pending, .. } = self;
        let mut state = core.lock();
        pending.submit(&core.config.model, &mut state, core.clock.now_ns());
        while let Some(request) = pending.pop() {
            finish(&mut state, request, 0);
        }
    }
}

/// Moves the bytes of a request between its buffer and the medium.
fn transfer(state: &mut State, request: &mut Request) -> (Outcome, Option<u64>) {
    let State { contents, faults, .. } = state;
    let Request { op, offset, len, ref mut buffer, .. } = *request;
    let bytes = &mut buffer[..len];
    if offset.checked_add(len as u64).is_none_or(|end| end > i64::MAX as u64) {
        return (Err(IoFault { errno: libc::EINVAL }), None);
    }
    match faults.judge(op, offset, len) {
        Verdict::Read(limit) => {
            let moved = contents.read(offset, &mut bytes[..limit]);
            faults.flip(offset, &mut bytes[..moved]);
            // An empty fill at the end of a buffer is slow: a masked store to an unmapped page.
            if moved < len {
                bytes[moved..].fill(POISON);
            }
            (Ok(moved), None)
        }
        Verdict::Write(fate) => (Ok(len), contents.write(offset, bytes, fate)),
        Verdict::Cut => {
            contents.write(offset, bytes, Fate::Whole);
            (Err(IoFault { errno: POWER_CUT_ERRNO }), None)
        }
        Verdict::Fail(errno) => {
            if op == Op::Read {
                bytes.fill(POISON);
            }
            (Err(IoFault { errno }), None)
        }
    }
}

/// Completes a request; one that was in flight at the power cut fails.
fn finish(state: &mut State, submitted: Submitted, now_ns: u64) -> Completion {
    let Submitted { request, started_ns, mut outcome, write } = submitted;
    if state.faults.is_power_cut() {
        outcome = Err(IoFault { errno: POWER_CUT_ERRNO });
    } else if let Some(write) = write {
        state.contents.complete(write);
    }
    request.complete(outcome, now_ns.saturating_sub(started_ns))
}
