//! Requests in virtual flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::fault::Fate;
use super::{Core, POWER_CUT_ERRNO, State, Verdict};
use crate::Queue;
use crate::backend::{assert_request, assert_wait};
use crate::clock::Clock;
use crate::error::Result;
use crate::model::DeviceModel;
use crate::request::{Completion, IoFault, Op, Request};

/// What unread bytes of a buffer hold after a read that failed or came short: whoever uses them
/// in spite of the result shall be found out.
const POISON: u8 = 0xdb;

type Outcome = std::result::Result<usize, IoFault>;

/// A request that finishes at a known time.
struct Flying {
    request: Request,
    started_ns: u64,
    outcome: Outcome,
    /// The medium's name of a write.
    write: Option<u64>,
}

pub(super) struct SimQueue {
    core: Arc<Core>,
    air: Air,
}

/// What a queue has pushed and not yet reaped.
struct Air {
    pushed: Vec<Request>,
    /// By time of finish, then order of submission; the last is the slot.
    order: BinaryHeap<Reverse<(u64, u64, usize)>>,
    flying: Vec<Option<Flying>>,
    free: Vec<usize>,
    submitted: u64,
}

impl SimQueue {
    pub(super) fn new(core: Arc<Core>, depth: usize) -> Self {
        let air = Air {
            pushed: Vec::with_capacity(depth),
            order: BinaryHeap::with_capacity(depth),
            flying: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            submitted: 0,
        };
        Self { core, air }
    }
}

impl Air {
    /// Starts everything that was pushed.
    fn launch(&mut self, model: &DeviceModel, state: &mut State, now_ns: u64) {
        for mut request in self.pushed.drain(..) {
            let (outcome, write) = transfer(state, &mut request);
            let len = request.len as u64;
            let finish_ns = state.timing.start(model, request.op, len, now_ns);
            let slot = self.free.pop().expect("push counted the requests");
            self.flying[slot] = Some(Flying { request, started_ns: now_ns, outcome, write });
            self.order.push(Reverse((finish_ns, self.submitted, slot)));
            self.submitted += 1;
        }
    }

    /// Takes the next request to finish out of the air.
    fn land(&mut self) -> Option<Flying> {
        let Reverse((_, _, slot)) = self.order.pop()?;
        self.free.push(slot);
        self.flying[slot].take()
    }
}

impl Queue for SimQueue {
    fn depth(&self) -> usize {
        self.air.flying.len()
    }

    fn in_flight(&self) -> usize {
        self.air.pushed.len() + self.air.order.len()
    }

    fn push(&mut self, request: Request) {
        let block_bytes = self.core.config.block_bytes;
        assert_request(&request, block_bytes, self.in_flight(), self.depth());
        self.air.pushed.push(request);
    }

    fn submit(&mut self) -> Result<()> {
        let Self { core, air } = self;
        if !air.pushed.is_empty() {
            air.launch(&core.config.model, &mut core.lock(), core.clock.now_ns());
        }
        Ok(())
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        assert_wait(wait_for, self.in_flight());
        let Self { core, air } = self;
        let mut state = core.lock();
        let mut now_ns = core.clock.now_ns();
        air.launch(&core.config.model, &mut state, now_ns);
        let mut landed = 0;
        while let Some(&Reverse((finish_ns, _, _))) = air.order.peek() {
            if finish_ns > now_ns {
                if landed >= wait_for {
                    break;
                }
                now_ns = core.clock.advance_to(finish_ns);
            }
            landed += 1;
            let Some(flying) = air.land() else { break };
            completions.push(finish(&mut state, flying, now_ns));
        }
        Ok(())
    }
}

impl Drop for SimQueue {
    /// Completes what was pushed, as the other backends do.
    fn drop(&mut self) {
        let Self { core, air } = self;
        let mut state = core.lock();
        air.launch(&core.config.model, &mut state, core.clock.now_ns());
        while let Some(flying) = air.land() {
            finish(&mut state, flying, 0);
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
            // Filling nothing at the end of a buffer is slow: a masked store to an unmapped page.
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

/// Completes a request. What was in flight when the power failed never completes.
fn finish(state: &mut State, flying: Flying, now_ns: u64) -> Completion {
    let Flying { request, started_ns, mut outcome, write } = flying;
    if state.faults.is_power_cut() {
        outcome = Err(IoFault { errno: POWER_CUT_ERRNO });
    } else if let Some(write) = write {
        state.contents.complete(write);
    }
    request.complete(outcome, now_ns.saturating_sub(started_ns))
}
