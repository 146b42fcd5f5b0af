//! A thread's queue to all tiers: requests are split where blocks lie apart, and joined again.
//!
//! A request whose bytes lie in one row goes to its tier as it is. Of a request that is split, the
//! first part uses the caller's buffer, the others buffers of this queue ([`super::buffers`]).
//!
//! A queue waits on the fastest tier that has anything in flight: it answers soonest, and what the
//! slower ones have completed is collected then. So no thread spins or waits long.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cenote_device::request::{assert_request, assert_wait};
use cenote_device::{
    Buffer, Clock, Completion, Device, IoFault, Op, Queue, QueueConfig, Request, Slab,
};

use super::buffers::{Buffers, THROUGH};
use super::error::{EBUSY, EIO, ENOMEM, ENOSPC, TieredError};
use super::map::Pin;
use super::set::Core;
use super::split::{Piece, Run, add_zeros, bridge};

/// Accesses that a queue collects before it hands them to the policy.
const RECORD_AT: usize = 64;

/// Naps of a millisecond, without a commit, after which a waiting request fails: the holder of what
/// it needs is waiting for this thread.
const NAPS_MAX: u32 = 30_000;

pub(super) struct TieredQueue {
    core: Arc<Core>,
    clock: Arc<dyn Clock>,
    depth: usize,
    lanes: Vec<Lane>,
    joins: Slab<Join>,
    parts: Slab<Part>,
    /// Requests that wait for a commit.
    deferred: VecDeque<(Request, u64)>,
    done: Vec<Completion>,
    arrived: Vec<Completion>,
    runs: Vec<Run>,
    buffers: Buffers,
    accesses: Vec<u64>,
    /// Naps since something was done.
    naps: u32,
    /// Whether a write waits for a slot, and whether it is counted in `Core::waiting_writers`.
    lacks_slot: bool,
    is_waiting: bool,
}

/// One tier's queue, and what did not fit into it.
struct Lane {
    queue: Box<dyn Queue>,
    backlog: VecDeque<Request>,
}

/// A request of the caller.
struct Join {
    tag: u64,
    op: Op,
    offset: u64,
    len: usize,
    /// Bytes that exist.
    wanted: usize,
    buffer: Option<Buffer>,
    /// Buffers of the parts that came back, by their number.
    parts: Vec<Option<Buffer>>,
    pieces: Vec<Piece>,
    pending: usize,
    /// The first byte that was not moved, and why if it is a fault.
    end: usize,
    fault: Option<(usize, IoFault)>,
    /// The read-side section that it is in.
    section: usize,
    /// Blocks that are counted as being written.
    pinned: Range<u32>,
    begun_ns: u64,
}

/// A request to a tier.
struct Part {
    join: u64,
    number: usize,
    dest: usize,
    len: usize,
}

/// Why a request cannot start.
enum Hold {
    /// For a commit.
    Wait,
    /// For a slot.
    Room,
    Fail(IoFault),
}

impl TieredQueue {
    pub(super) fn open(
        core: &Arc<Core>,
        clock: Arc<dyn Clock>,
        config: &QueueConfig,
    ) -> cenote_device::Result<Self> {
        let lane = |device: &Arc<dyn Device>| {
            Ok(Lane { queue: device.queue(config)?, backlog: VecDeque::new() })
        };
        let lanes = core.tiers.iter().map(|tier| lane(&tier.device));
        Ok(Self {
            lanes: lanes.collect::<cenote_device::Result<_>>()?,
            core: Arc::clone(core),
            clock,
            depth: config.depth,
            joins: Slab::with_capacity(0),
            parts: Slab::with_capacity(0),
            deferred: VecDeque::new(),
            done: Vec::new(),
            arrived: Vec::new(),
            runs: Vec::new(),
            buffers: Buffers::default(),
            accesses: Vec::new(),
            naps: 0,
            lacks_slot: false,
            is_waiting: false,
        })
    }

    /// Starts a request, or keeps it until a commit has ended.
    fn start(&mut self, request: Request, begun_ns: u64) {
        let Request { op, offset, len, .. } = request;
        // Before the read-side section: deferred slots are not freed while one is entered.
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
                self.record(op, offset, wanted);
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
            Hold::Wait | Hold::Room => {
                self.lacks_slot |= matches!(hold, Hold::Room);
                self.deferred.push_back((request, begun_ns));
            }
            Hold::Fail(fault) => self.done.push(request.complete(Err(fault), 0)),
        }
    }

    /// The blocks of a write.
    fn blocks(&self, offset: u64, len: usize) -> Result<Range<u32>, Hold> {
        let block_bytes = self.core.block_bytes();
        let end = offset.saturating_add(len as u64).div_ceil(block_bytes);
        if end > self.core.blocks_max() {
            return Err(Hold::Fail(IoFault { errno: ENOSPC }));
        }
        Ok((offset / block_bytes) as u32..end as u32)
    }

    /// Each block of a write gets a slot.
    fn allocate(&self, offset: u64, len: usize) -> Result<(), Hold> {
        let fault = |error: TieredError| Hold::Fail(error.fault());
        self.core.before_change().map_err(fault)?;
        for block in self.blocks(offset, len)? {
            let is_absent = self.core.map.get(block).place().is_none();
            if is_absent && !self.core.allocate(block).map_err(Hold::Fail)? {
                return Err(Hold::Room);
            }
        }
        Ok(())
    }

    /// Finds the runs of a read; how many of its bytes exist.
    fn plan_read(&mut self, offset: u64, len: usize) -> (usize, Range<u32>) {
        let exist = self.core.len_bytes().saturating_sub(offset);
        let wanted = usize::try_from(exist).unwrap_or(usize::MAX).min(len);
        // Whole sectors: what lies behind the end is there and zero.
        let rounded = wanted.next_multiple_of(self.core.align).min(len);
        self.find_runs(offset, rounded);
        (wanted, 0..0)
    }

    /// Finds the runs of a write and counts it at each of its blocks.
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
            // Absent again: the device was cut meanwhile.
            Pin::Absent | Pin::Wait => Err(Hold::Wait),
            Pin::Refused => Err(Hold::Fail(IoFault { errno: EIO })),
        }
    }

    /// The rows in which the bytes lie; blocks without a slot are left out.
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

    /// Records the accessed blocks for the policy, unless the request is so large that it belongs
    /// to a pass over everything, which says nothing about any block.
    fn record(&mut self, op: Op, offset: u64, len: usize) {
        let most = self.core.recorded_bytes_max.load(Ordering::Relaxed);
        if len == 0 || len as u64 > most {
            return;
        }
        let block_bytes = self.core.block_bytes();
        let last = (offset + len as u64 - 1) / block_bytes;
        let write = u64::from(op == Op::Write) << 63;
        self.accesses.extend((offset / block_bytes..=last).map(|block| block | write));
        if self.accesses.len() >= RECORD_AT {
            self.core.record(&mut self.accesses);
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
        let mut join = Join {
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
            join.pending = 1;
            let join = self.joins.insert(join);
            self.send(join, 0, &runs[0], op, buffer);
        } else {
            self.scatter(join, &runs, rounded, buffer);
        }
        self.runs = runs;
    }

    /// Starts a request in parts.
    fn scatter(&mut self, mut join: Join, runs: &[Run], rounded: usize, buffer: Buffer) {
        let op = join.op;
        let gap = |tier: u8| match op {
            Op::Read => self.core.tiers[usize::from(tier)].gap_bytes.load(Ordering::Relaxed),
            Op::Write => 0,
        };
        let (requests, mut pieces) = bridge(runs, gap, rounded / THROUGH);
        add_zeros(&mut pieces, rounded);
        let Ok(bounces) = self.bounces(&requests, op, &buffer) else {
            join.buffer = Some(buffer);
            join.fault = Some((0, IoFault { errno: ENOMEM }));
            self.finish(join);
            return;
        };
        join.pieces = pieces;
        join.pending = requests.len();
        join.parts.resize_with(requests.len(), || None);
        let mut own = Some(buffer);
        if bounces.iter().all(Option::is_some) {
            join.buffer = own.take();
        }
        if requests.is_empty() {
            self.finish(join);
            return;
        }
        let join = self.joins.insert(join);
        for (number, (run, bounce)) in requests.iter().zip(bounces).enumerate() {
            let buffer = bounce.or_else(|| own.take()).expect("one part uses the caller's buffer");
            self.send(join, number, run, op, buffer);
        }
    }

    /// A buffer for each part but the one that begins where the caller's buffer does.
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

    fn send(&mut self, join: u64, number: usize, run: &Run, op: Op, buffer: Buffer) {
        let part = Part { join, number, dest: run.dest, len: run.len };
        let tag = self.parts.insert(part);
        let lane = &mut self.lanes[usize::from(run.tier)];
        lane.backlog.push_back(Request { tag, op, offset: run.at, len: run.len, buffer });
        lane.fill();
    }

    /// Collects what a tier has completed.
    fn collect(&mut self, tier: usize, wait_for: usize) -> cenote_device::Result<()> {
        if self.lanes[tier].queue.in_flight() == 0 {
            return Ok(());
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        let outcome = self.lanes[tier].queue.reap(wait_for, &mut arrived);
        for completion in arrived.drain(..) {
            self.arrive(completion);
        }
        self.arrived = arrived;
        self.lanes[tier].fill();
        outcome
    }

    fn arrive(&mut self, completion: Completion) {
        let part = self.parts.remove(completion.tag);
        let join = self.joins.get_mut(part.join);
        let moved = match completion.result {
            Ok(moved) => moved.min(part.len),
            Err(fault) => {
                if join.fault.is_none_or(|(at, _)| part.dest < at) {
                    join.fault = Some((part.dest, fault));
                }
                0
            }
        };
        if moved < part.len {
            join.cut(&part, moved);
        }
        if join.parts.is_empty() || part.number == 0 && join.buffer.is_none() {
            join.buffer = Some(completion.buffer);
        } else {
            join.parts[part.number] = Some(completion.buffer);
        }
        join.pending -= 1;
        if join.pending == 0 {
            let join = self.joins.remove(part.join);
            self.finish(join);
        }
    }

    /// Puts the parts together and answers the caller.
    fn finish(&mut self, mut join: Join) {
        let mut buffer = join.buffer.take().expect("the caller's buffer is back");
        if join.op == Op::Read && join.fault.is_none() {
            for piece in &join.pieces {
                let target = &mut buffer[piece.dest..piece.dest + piece.len];
                match piece.source {
                    None => target.fill(0),
                    Some((number, from)) => {
                        if let Some(bounce) = &join.parts[number] {
                            target.copy_from_slice(&bounce[from..from + piece.len]);
                        }
                    }
                }
            }
        }
        join.parts.into_iter().flatten().for_each(|bounce| self.buffers.give_back(bounce));
        join.pinned.for_each(|block| self.core.map.unpin(block));
        self.core.readers.leave(join.section);
        let result = match join.fault {
            Some((_, fault)) => Err(fault),
            None => Ok(join.end.min(join.wanted)),
        };
        let latency_ns = self.clock.now_ns().saturating_sub(join.begun_ns);
        let Join { tag, op, offset, len, .. } = join;
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

    /// Reports whether a write waits for a slot: migrations leave free slots to such writes.
    fn set_waiting(&mut self, is_waiting: bool) {
        if is_waiting && !self.is_waiting {
            self.core.waiting_writers.fetch_add(1, Ordering::SeqCst);
        }
        if self.is_waiting && !is_waiting {
            self.core.waiting_writers.fetch_sub(1, Ordering::SeqCst);
        }
        self.is_waiting = is_waiting;
    }

    fn submit_lanes(&mut self) -> cenote_device::Result<()> {
        self.lanes.iter_mut().try_for_each(|lane| {
            lane.fill();
            lane.queue.submit()
        })
    }

    /// Fails what never reached a tier, and waits for what did, on each tier whose queue works.
    fn end_lanes(&mut self) {
        for tier in 0..self.lanes.len() {
            while let Some(request) = self.lanes[tier].backlog.pop_front() {
                self.arrive(request.complete(Err(IoFault { errno: EIO }), 0));
            }
            while self.lanes[tier].queue.in_flight() > 0 && self.collect(tier, 1).is_ok() {}
        }
    }

    /// Fails the requests that wait.
    fn give_up(&mut self) {
        while let Some((request, _)) = self.deferred.pop_front() {
            self.done.push(request.complete(Err(IoFault { errno: EBUSY }), 0));
        }
    }

    /// Waits for something to happen.
    fn wait(&mut self, commits: u64) -> cenote_device::Result<()> {
        match self.lanes.iter().position(|lane| lane.queue.in_flight() > 0) {
            Some(tier) => self.collect(tier, 1),
            None => {
                if !self.core.wait_for_commit(commits) {
                    self.naps += 1;
                }
                if self.naps > NAPS_MAX {
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
        self.joins.len() + self.deferred.len() + self.done.len()
    }

    fn push(&mut self, request: Request) {
        assert_request(&request, self.core.align, self.in_flight(), self.depth);
        let now_ns = self.clock.now_ns();
        self.start(request, now_ns);
    }

    fn submit(&mut self) -> cenote_device::Result<()> {
        self.start_deferred();
        self.submit_lanes()
    }

    fn reap(
        &mut self,
        wait_for: usize,
        completions: &mut Vec<Completion>,
    ) -> cenote_device::Result<()> {
        assert_wait(wait_for, self.in_flight());
        let target = completions.len() + wait_for;
        loop {
            // Before the attempt: a commit that ends during it must not be slept over.
            let commits = self.core.commits();
            self.start_deferred();
            self.submit_lanes()?;
            (0..self.lanes.len()).try_for_each(|tier| self.collect(tier, 0))?;
            if !self.done.is_empty() {
                self.naps = 0;
            }
            completions.append(&mut self.done);
            if completions.len() >= target {
                return self.submit_lanes();
            }
            self.wait(commits)?;
        }
    }
}

impl Drop for TieredQueue {
    /// Completes what was pushed. Requests of a broken tier may still be under way: their blocks
    /// stay counted as written and their slots as read until the set is opened again, because
    /// another block in such a slot would be overwritten.
    fn drop(&mut self) {
        self.core.record(&mut self.accesses);
        let mut completions = Vec::new();
        while self.in_flight() > 0 {
            if self.reap(1, &mut completions).is_err() {
                self.give_up();
                self.end_lanes();
                break;
            }
            completions.clear();
        }
        self.set_waiting(false);
    }
}

impl Join {
    /// A part moved only its first bytes: the caller's end there.
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

impl Lane {
    /// Pushes as much as fits.
    fn fill(&mut self) {
        while self.queue.in_flight() < self.queue.depth() {
            let Some(request) = self.backlog.pop_front() else { return };
            self.queue.push(request);
        }
    }
}
