//! A thread's queue on all tiers: splits requests over blocks that are not contiguous, and
//! assembles the parts.
//!
//! A request whose bytes are contiguous goes to its tier unchanged. Of a split request the first
//! part uses the caller's buffer, the others bounce buffers of this queue ([`super::buffers`]).
//!
//! A queue waits on the fastest tier that has requests in flight, and then also collects the
//! completions of slower tiers. So no thread spins or waits long.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_device::request::{assert_request, assert_wait};
use cenote_device::{Buffer, Clock, Completion, IoFault, Op, Queue, QueueConfig, Request, Slab};

use super::buffers::{Buffers, READ_THROUGH_DIVISOR};
use super::error::{EBUSY, EIO, ENOMEM, ENOSPC, TieredError};
use super::map::Pin;
use super::recorded::Recorder;
use super::set::{Core, TierState};
use super::split::{Piece, Run, add_zeros, bridge};

/// Waits of a millisecond, without a commit, after which a waiting request fails: probably another
/// request holds its slot or block and waits for this thread.
const WAITS_MAX: u32 = 30_000;

pub(super) struct TieredQueue {
    core: Arc<Core>,
    clock: Arc<dyn Clock>,
    depth: usize,
    tier_queues: Vec<TierQueue>,
    parents: Slab<Parent>,
    parts: Slab<Part>,
    /// Requests that wait for a commit.
    deferred: VecDeque<(Request, u64)>,
    done: Vec<Completion>,
    arrived: Vec<Completion>,
    runs: Vec<Run>,
    buffers: Buffers,
    recorder: Recorder,
    /// Waits since a request completed.
    waits: u32,
    /// Whether a write waits for a slot, and whether `Core::waiting_writers` counts it.
    lacks_slot: bool,
    is_waiting: bool,
}

/// One tier's queue, and the requests that did not fit into it.
struct TierQueue {
    queue: Box<dyn Queue>,
    backlog: VecDeque<Request>,
    /// Requests in flight on the tier, of all queues.
    in_flight: Arc<AtomicU32>,
}

struct Parent {
    tag: u64,
    op: Op,
    offset: u64,
    len: usize,
    /// Bytes of the request up to the end of the device.
    wanted: usize,
    buffer: Option<Buffer>,
    /// Returned buffers of the parts, by part number.
    parts: Vec<Option<Buffer>>,
    pieces: Vec<Piece>,
    pending: usize,
    /// The first byte that was not moved, and the first fault with its byte.
    end: usize,
    fault: Option<(usize, IoFault)>,
    /// The read-side section of the request.
    section: usize,
    /// Blocks that are counted as being written.
    pinned: Range<u32>,
    begun_ns: u64,
}

/// A part of a request, sent to one tier.
struct Part {
    parent: u64,
    number: usize,
    dest: usize,
    len: usize,
}

/// Why a request cannot start now.
enum Hold {
    /// It waits for a commit.
    Wait,
    /// It waits for a slot.
    Slot,
    Fail(IoFault),
}

impl TieredQueue {
    pub(super) fn open(
        core: &Arc<Core>,
        clock: Arc<dyn Clock>,
        config: &QueueConfig,
    ) -> cenote_device::Result<Self> {
        let tier_queue = |tier: &TierState| {
            let (queue, in_flight) = (tier.device.queue(config)?, Arc::clone(&tier.in_flight));
            Ok(TierQueue { queue, backlog: VecDeque::new(), in_flight })
        };
        let tier_queues = core.tiers.iter().map(tier_queue);
        Ok(Self {
            tier_queues: tier_queues.collect::<cenote_device::Result<_>>()?,
            core: Arc::clone(core),
            clock,
            depth: config.depth,
            parents: Slab::with_capacity(0),
            parts: Slab::with_capacity(0),
            deferred: VecDeque::new(),
            done: Vec::new(),
            arrived: Vec::new(),
            runs: Vec::new(),
            buffers: Buffers::default(),
            recorder: Recorder::default(),
            waits: 0,
            lacks_slot: false,
            is_waiting: false,
        })
    }

    fn start(&mut self, request: Request, begun_ns: u64) {
        let Request { op, offset, len, .. } = request;
        // Before the read-side section, in which no deferred slots would be freed.
        if op == Op::Write
            && let Err(hold) = self.allocate(offset, len)
        {
            return self.hold(request, begun_ns, hold);
        }
        let section = self.core.readers.enter();
        let planned = match op {
            Op::Read => Ok(self.plan_read(offset, len)),
            Op::Write => self.plan_write(offset, len),
        };
        match planned {
            Ok((wanted, pinned)) => {
                let block_bytes = self.core.block_bytes();
                self.recorder.access(&self.core.recorded, op, offset, wanted, block_bytes);
                self.launch(request, wanted, pinned, section, begun_ns);
            }
            Err(hold) => {
                self.core.readers.leave(section);
                self.hold(request, begun_ns, hold);
            }
        }
    }

    fn hold(&mut self, request: Request, begun_ns: u64, hold: Hold) {
        match hold {
            Hold::Wait | Hold::Slot => {
                self.lacks_slot |= matches!(hold, Hold::Slot);
                self.deferred.push_back((request, begun_ns));
            }
            Hold::Fail(fault) => self.done.push(request.complete(Err(fault), 0)),
        }
    }

    fn blocks(&self, offset: u64, len: usize) -> Result<Range<u32>, Hold> {
        let block_bytes = self.core.block_bytes();
        let end = offset.saturating_add(len as u64).div_ceil(block_bytes);
        if end > self.core.blocks_max() {
            return Err(Hold::Fail(IoFault { errno: ENOSPC }));
        }
        Ok((offset / block_bytes) as u32..end as u32)
    }

    /// Allocates a slot for each block of a write that has none.
    fn allocate(&self, offset: u64, len: usize) -> Result<(), Hold> {
        let fault = |error: TieredError| Hold::Fail(error.fault());
        self.core.before_change().map_err(fault)?;
        for block in self.blocks(offset, len)? {
            let is_absent = self.core.map.get(block).place().is_none();
            if is_absent && !self.core.allocate(block).map_err(Hold::Fail)? {
                return Err(Hold::Slot);
            }
        }
        Ok(())
    }

    /// Finds the runs of a read; returns how many of its bytes exist.
    fn plan_read(&mut self, offset: u64, len: usize) -> (usize, Range<u32>) {
        let exist = self.core.len_bytes().saturating_sub(offset);
        let wanted = usize::try_from(exist).unwrap_or(usize::MAX).min(len);
        // Whole sectors: the bytes beyond the end exist on the tier and are zero.
        let rounded = wanted.next_multiple_of(self.core.align).min(len);
        self.find_runs(offset, rounded);
        (wanted, 0..0)
    }

    /// Finds the runs of a write and pins its blocks.
    fn plan_write(&mut self, offset: u64, len: usize) -> Result<(usize, Range<u32>), Hold> {
        let blocks = self.blocks(offset, len)?;
        for block in blocks.clone() {
            if let Err(hold) = self.pin(block) {
                (blocks.start..block).for_each(|block| self.core.map.unpin(block));
                return Err(hold);
            }
        }
        self.find_runs(offset, len);
        self.core.reach(offset + len as u64);
        Ok((len, blocks))
    }

    fn pin(&self, block: u32) -> Result<(), Hold> {
        match self.core.map.pin(block) {
            Pin::At(_) => Ok(()),
            // Absent again: the device was truncated meanwhile.
            Pin::Absent | Pin::Wait => Err(Hold::Wait),
            Pin::Refused => Err(Hold::Fail(IoFault { errno: EIO })),
        }
    }

    /// Finds the contiguous runs of the bytes, without blocks that have no slot.
    fn find_runs(&mut self, offset: u64, len: usize) {
        let block_bytes = self.core.block_bytes();
        self.runs.clear();
        let mut dest = 0;
        while dest < len {
            let here = offset + dest as u64;
            let within = here % block_bytes;
            let bytes = ((block_bytes - within) as usize).min(len - dest);
            let block = u32::try_from(here / block_bytes).unwrap_or(u32::MAX);
            if let Some(place) = self.core.map.get(block).place() {
                let at = self.core.offset_of(place) + within;
                let run = Run { tier: place.tier, at, dest, len: bytes };
                if !self.runs.last_mut().is_some_and(|last| last.append(&run)) {
                    self.runs.push(run);
                }
            }
            dest += bytes;
        }
    }

    fn launch(
        &mut self,
        request: Request,
        wanted: usize,
        pinned: Range<u32>,
        section: usize,
        begun_ns: u64,
    ) {
        let Request { tag, op, offset, len, buffer } = request;
        let mut parent = Parent {
            tag,
            op,
            offset,
            len,
            wanted,
            buffer: None,
            parts: Vec::new(),
            pieces: Vec::new(),
            pending: 0,
            end: wanted,
            fault: None,
            section,
            pinned,
            begun_ns,
        };
        let runs = std::mem::take(&mut self.runs);
        let rounded = wanted.next_multiple_of(self.core.align).min(len);
        if runs.len() == 1 && runs[0].dest == 0 && runs[0].len == rounded {
            parent.pending = 1;
            let parent = self.parents.insert(parent);
            self.send(parent, 0, &runs[0], op, buffer);
        } else {
            self.scatter(parent, &runs, rounded, buffer);
        }
        self.runs = runs;
    }

    /// Splits a request into parts and starts them.
    fn scatter(&mut self, mut parent: Parent, runs: &[Run], rounded: usize, buffer: Buffer) {
        let op = parent.op;
        let gap = |tier: u8| match op {
            Op::Read => self.core.tiers[usize::from(tier)].gap_bytes.load(Ordering::Relaxed),
            Op::Write => 0,
        };
        let (requests, mut pieces) = bridge(runs, gap, rounded / READ_THROUGH_DIVISOR);
        add_zeros(&mut pieces, rounded);
        let Ok(bounces) = self.bounces(&requests, op, &buffer) else {
            parent.buffer = Some(buffer);
            parent.fault = Some((0, IoFault { errno: ENOMEM }));
            self.finish(parent);
            return;
        };
        parent.pieces = pieces;
        parent.pending = requests.len();
        parent.parts.resize_with(requests.len(), || None);
        let mut own = Some(buffer);
        if bounces.iter().all(Option::is_some) {
            parent.buffer = own.take();
        }
        if requests.is_empty() {
            self.finish(parent);
            return;
        }
        let parent = self.parents.insert(parent);
        for (number, (run, bounce)) in requests.iter().zip(bounces).enumerate() {
            let buffer = bounce.or_else(|| own.take()).expect("one part uses the caller's buffer");
            self.send(parent, number, run, op, buffer);
        }
    }

    /// Bounce buffers for all parts but the one at the start of the caller's buffer.
    fn bounces(
        &mut self,
        requests: &[Run],
        op: Op,
        buffer: &Buffer,
    ) -> cenote_device::Result<Vec<Option<Buffer>>> {
        let mut bounces = Vec::with_capacity(requests.len());
        let bytes = requests.iter().map(|run| run.dest + run.len).max().unwrap_or(0);
        self.buffers.expect(self.depth, bytes);
        for run in requests {
            if run.dest == 0 {
                bounces.push(None);
                continue;
            }
            let mut bounce = match self.buffers.take(run.len) {
                Ok(bounce) => bounce,
                Err(error) => {
                    let taken = bounces.into_iter().flatten();
                    taken.for_each(|bounce| self.buffers.give_back(bounce));
                    return Err(error);
                }
            };
            if op == Op::Write {
                bounce[..run.len].copy_from_slice(&buffer[run.dest..run.dest + run.len]);
            }
            bounces.push(Some(bounce));
        }
        Ok(bounces)
    }

    fn send(&mut self, parent: u64, number: usize, run: &Run, op: Op, buffer: Buffer) {
        let part = Part { parent, number, dest: run.dest, len: run.len };
        let tag = self.parts.insert(part);
        let tier_queue = &mut self.tier_queues[usize::from(run.tier)];
        tier_queue.backlog.push_back(Request { tag, op, offset: run.at, len: run.len, buffer });
        tier_queue.fill();
    }

    fn collect(&mut self, tier: usize, wait_for: usize) -> cenote_device::Result<()> {
        if self.tier_queues[tier].queue.in_flight() == 0 {
            return Ok(());
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        let outcome = self.tier_queues[tier].queue.reap(wait_for, &mut arrived);
        let ended = arrived.len() as u32;
        let in_flight = self.tier_queues[tier].in_flight.fetch_sub(ended, Ordering::Relaxed);
        self.recorder.responses(&self.core.recorded, tier as u8, in_flight, &arrived);
        if arrived.iter().any(|completion| completion.op == Op::Write) {
            self.core.tiers[tier].set_written();
        }
        for completion in arrived.drain(..) {
            self.arrive(completion);
        }
        self.arrived = arrived;
        self.tier_queues[tier].fill();
        outcome
    }

    fn arrive(&mut self, completion: Completion) {
        let part = self.parts.remove(completion.tag);
        let parent = self.parents.get_mut(part.parent);
        let moved = match completion.result {
            Ok(moved) => moved.min(part.len),
            Err(fault) => {
                if parent.fault.is_none_or(|(at, _)| part.dest < at) {
                    parent.fault = Some((part.dest, fault));
                }
                0
            }
        };
        if moved < part.len {
            parent.cut(&part, moved);
        }
        if parent.parts.is_empty() || part.number == 0 && parent.buffer.is_none() {
            parent.buffer = Some(completion.buffer);
        } else {
            parent.parts[part.number] = Some(completion.buffer);
        }
        parent.pending -= 1;
        if parent.pending == 0 {
            let parent = self.parents.remove(part.parent);
            self.finish(parent);
        }
    }

    /// Assembles the parts and completes the caller's request.
    fn finish(&mut self, mut parent: Parent) {
        let mut buffer = parent.buffer.take().expect("the caller's buffer was returned");
        if parent.op == Op::Read && parent.fault.is_none() {
            for piece in &parent.pieces {
                let target = &mut buffer[piece.dest..piece.dest + piece.len];
                match piece.source {
                    None => target.fill(0),
                    Some((number, from)) => {
                        if let Some(bounce) = &parent.parts[number] {
                            target.copy_from_slice(&bounce[from..from + piece.len]);
                        }
                    }
                }
            }
        }
        parent.parts.into_iter().flatten().for_each(|bounce| self.buffers.give_back(bounce));
        parent.pinned.for_each(|block| self.core.map.unpin(block));
        self.core.readers.leave(parent.section);
        let result = match parent.fault {
            Some((_, fault)) => Err(fault),
            None => Ok(parent.end.min(parent.wanted)),
        };
        let latency_ns = self.clock.now_ns().saturating_sub(parent.begun_ns);
        let Parent { tag, op, offset, len, .. } = parent;
        self.done.push(Completion { tag, op, offset, len, buffer, result, latency_ns });
    }

    fn start_deferred(&mut self) {
        self.lacks_slot = false;
        for _ in 0..self.deferred.len() {
            let Some((request, begun_ns)) = self.deferred.pop_front() else { break };
            self.start(request, begun_ns);
        }
        self.set_waiting(self.lacks_slot);
    }

    /// Counts this queue among those in which a write waits for a slot.
    fn set_waiting(&mut self, is_waiting: bool) {
        if is_waiting && !self.is_waiting {
            self.core.waiting_writers.fetch_add(1, Ordering::SeqCst);
        }
        if self.is_waiting && !is_waiting {
            self.core.waiting_writers.fetch_sub(1, Ordering::SeqCst);
        }
        self.is_waiting = is_waiting;
    }

    fn submit_tiers(&mut self) -> cenote_device::Result<()> {
        self.tier_queues.iter_mut().try_for_each(|tier_queue| {
            tier_queue.fill();
            tier_queue.queue.submit()
        })
    }

    /// Fails the requests in backlogs, and waits for those in flight on tiers whose queue works.
    fn drain_tiers(&mut self) {
        for tier in 0..self.tier_queues.len() {
            while let Some(request) = self.tier_queues[tier].backlog.pop_front() {
                self.arrive(request.complete(Err(IoFault { errno: EIO }), 0));
            }
            while self.tier_queues[tier].queue.in_flight() > 0 && self.collect(tier, 1).is_ok() {}
        }
    }

    /// Fails the deferred requests.
    fn give_up(&mut self) {
        while let Some((request, _)) = self.deferred.pop_front() {
            self.done.push(request.complete(Err(IoFault { errno: EBUSY }), 0));
        }
    }

    fn wait(&mut self, commits: u64) -> cenote_device::Result<()> {
        match self.tier_queues.iter().position(|tier_queue| tier_queue.queue.in_flight() > 0) {
            Some(tier) => self.collect(tier, 1),
            None => {
                if !self.core.wait_for_commit(commits) {
                    self.waits += 1;
                }
                if self.waits > WAITS_MAX {
                    self.give_up();
                }
                Ok(())
            }
        }
    }
}

impl Queue for TieredQueue {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.parents.len() + self.deferred.len() + self.done.len()
    }

    fn push(&mut self, request: Request) {
        assert_request(&request, self.core.align, self.in_flight(), self.depth);
        let now_ns = self.clock.now_ns();
        self.start(request, now_ns);
    }

    fn submit(&mut self) -> cenote_device::Result<()> {
        self.start_deferred();
        self.submit_tiers()
    }

    fn reap(
        &mut self,
        wait_for: usize,
        completions: &mut Vec<Completion>,
    ) -> cenote_device::Result<()> {
        assert_wait(wait_for, self.in_flight());
        let target = completions.len() + wait_for;
        loop {
            // Read before the attempt, so that a commit during it ends the wait.
            let commits = self.core.commits();
            self.start_deferred();
            self.submit_tiers()?;
            (0..self.tier_queues.len()).try_for_each(|tier| self.collect(tier, 0))?;
            if !self.done.is_empty() {
                self.waits = 0;
            }
            completions.append(&mut self.done);
            if completions.len() >= target {
                return self.submit_tiers();
            }
            self.wait(commits)?;
        }
    }
}

impl Drop for TieredQueue {
    /// Completes all requests. Those of a broken tier may still be in flight: their blocks stay
    /// pinned and their read-side sections entered until the set is opened again, so that no other
    /// block gets such a slot.
    fn drop(&mut self) {
        self.recorder.flush(&self.core.recorded);
        let mut completions = Vec::new();
        while self.in_flight() > 0 {
            if self.reap(1, &mut completions).is_err() {
                self.give_up();
                self.drain_tiers();
                break;
            }
            completions.clear();
        }
        for TierQueue { queue, in_flight, .. } in &self.tier_queues {
            in_flight.fetch_sub(queue.in_flight() as u32, Ordering::Relaxed);
        }
        self.set_waiting(false);
    }
}

impl Parent {
    /// Limits the result after a part that moved only its first `moved` bytes.
    fn cut(&mut self, part: &Part, moved: usize) {
        if self.pieces.is_empty() {
            self.end = self.end.min(part.dest + moved);
        }
        for piece in &self.pieces {
            let Some((number, from)) = piece.source else { continue };
            if number == part.number && from + piece.len > moved {
                self.end = self.end.min(piece.dest + moved.saturating_sub(from));
            }
        }
    }
}

impl TierQueue {
    /// Pushes requests of the backlog while there is room.
    fn fill(&mut self) {
        while self.queue.in_flight() < self.queue.depth() {
            let Some(request) = self.backlog.pop_front() else { return };
            self.in_flight.fetch_add(1, Ordering::Relaxed);
            self.queue.push(request);
        }
    }
}
