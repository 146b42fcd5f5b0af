//! io_uring: one ring per queue, a registered file, registered buffers.
//!
//! This is the hot path of every run. A request costs no allocation and no lock: it is kept in a
//! slab under the index that the kernel returns, and one system call submits and waits for many.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use io_uring::{IoUring, opcode, squeue, types};

use super::Target;
use crate::clock::{Clock, RealClock};
use crate::error::{DeviceError, IoFault, Result};
use crate::memory::{Arena, Buffer};
use crate::op::Op;
use crate::request::{Completion, Request, assert_request, assert_wait};
use crate::{Queue, QueueConfig};

/// Most bytes that the kernel takes as one registered buffer.
const REGISTERED_BYTES_MAX: usize = 1 << 30;

/// The only registered file of a ring.
const FILE: types::Fixed = types::Fixed(0);

/// Checks that the kernel lets this process create a ring.
pub(super) fn probe() -> io::Result<()> {
    build_ring(1, false).map(drop)
}

/// A ring with the cheapest completion path of this kernel: completions run in the waiting thread
/// (Linux 6.1), which is then the only one that may submit; run without interrupts (5.19); or the
/// default.
fn build_ring(depth: usize, any_thread: bool) -> io::Result<IoUring> {
    let entries = u32::try_from(depth).expect("depth is checked");
    let mut deferred = IoUring::builder();
    deferred.setup_coop_taskrun().setup_taskrun_flag();
    let cooperative = deferred.clone();
    deferred.setup_single_issuer().setup_defer_taskrun();
    let builders = [deferred, cooperative, IoUring::builder()];
    for builder in builders.into_iter().skip(usize::from(any_thread)) {
        match builder.build(entries) {
            Err(refusal) if refusal.raw_os_error() == Some(libc::EINVAL) => {}
            built => return built,
        }
    }
    Err(io::Error::from_raw_os_error(libc::EINVAL))
}

/// An arena that is pinned for this ring, in pieces of at most 1 GiB.
struct Registered {
    arena: Arc<Arena>,
    first_index: usize,
}

struct Slot {
    request: Request,
    /// Bytes already moved, if a short transfer is being resumed.
    done: usize,
    submitted_ns: u64,
}

type Outcome = std::result::Result<usize, IoFault>;

pub(super) struct UringQueue {
    ring: IoUring,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Pushed and not yet submitted: their submission time is not set.
    pushed: Vec<u32>,
    /// Short transfers that are to be resumed.
    short: Vec<u32>,
    registered: Vec<Registered>,
    device_name: String,
    block_bytes: usize,
    clock: Arc<RealClock>,
    _file: Arc<File>,
}

impl UringQueue {
    pub(super) fn open(target: &Target, config: &QueueConfig) -> io::Result<Self> {
        let ring = build_ring(config.depth, config.any_thread)?;
        ring.submitter().register_files(&[target.file.as_raw_fd()])?;
        let registered = register_arenas(&ring, config);
        let depth = u32::try_from(config.depth).expect("depth is checked");
        Ok(Self {
            ring,
            slots: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            pushed: Vec::with_capacity(config.depth),
            short: Vec::with_capacity(config.depth),
            registered,
            device_name: target.name.clone(),
            block_bytes: target.block_bytes,
            clock: Arc::clone(&target.clock),
            _file: Arc::clone(&target.file),
        })
    }

    /// Pushes the rest of slot `index` into the ring.
    #[inline]
    fn enqueue(&mut self, index: u32) {
        let slot = self.slots[index as usize].as_mut().expect("the slot was filled");
        let entry = entry_for(slot, &self.registered).user_data(u64::from(index));
        // SAFETY: the entry points into a buffer that the slot owns. A slot is emptied only after
        // the kernel has completed it, and `drop` waits for that or leaks the slots.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("a ring has an entry for every slot");
    }

    /// Submits, and sleeps until `wait_for` completions are in the ring.
    fn enter(&self, wait_for: usize) -> Result<()> {
        loop {
            match self.ring.submit_and_wait(wait_for) {
                Err(signal) if signal.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) => return Ok(()),
                Err(source) => {
                    let action = "use the io_uring queue on";
                    return Err(DeviceError::File {
                        device: self.device_name.clone(),
                        action,
                        source,
                    });
                }
            }
        }
    }

    /// Sets the submission time of the requests that the next system call submits.
    fn set_submission_time(&mut self) {
        if self.pushed.is_empty() {
            return;
        }
        let now_ns = self.clock.now_ns();
        for index in self.pushed.drain(..) {
            let slot = self.slots[index as usize].as_mut().expect("the slot was filled");
            slot.submitted_ns = now_ns;
        }
    }

    /// Takes all completions from the ring and resumes short transfers.
    fn collect(&mut self, completions: &mut Vec<Completion>) -> usize {
        let before = completions.len();
        let mut now_ns = 0;
        for entry in self.ring.completion() {
            if now_ns == 0 {
                now_ns = self.clock.now_ns();
            }
            let index = u32::try_from(entry.user_data()).expect("user data is a slot index");
            let place = &mut self.slots[index as usize];
            let slot = place.as_mut().expect("a completion has its slot");
            let Some(outcome) = advance(slot, entry.result(), self.block_bytes) else {
                self.short.push(index);
                continue;
            };
            let slot = place.take().expect("it was there");
            self.free.push(index);
            let latency_ns = now_ns.saturating_sub(slot.submitted_ns);
            completions.push(slot.request.complete(outcome, latency_ns));
        }
        while let Some(index) = self.short.pop() {
            self.enqueue(index);
        }
        completions.len() - before
    }
}

impl Queue for UringQueue {
    fn depth(&self) -> usize {
        self.slots.len()
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn push(&mut self, request: Request) {
        assert_request(&request, self.block_bytes, self.in_flight(), self.depth());
        let index = self.free.pop().expect("a queue that is not full has a free slot");
        self.slots[index as usize] = Some(Slot { request, done: 0, submitted_ns: 0 });
        self.enqueue(index);
        self.pushed.push(index);
    }

    fn submit(&mut self) -> Result<()> {
        if self.pushed.is_empty() {
            return Ok(());
        }
        self.set_submission_time();
        self.enter(0)
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        assert_wait(wait_for, self.in_flight());
        let mut missing = wait_for;
        if self.pushed.is_empty() {
            missing = missing.saturating_sub(self.collect(completions));
        } else {
            self.set_submission_time();
        }
        let mut is_hint_followed = false;
        loop {
            let queue = self.ring.submission();
            // The kernel hints that it holds completions back until entered. The hint may stay set
            // without any (a worker sets it late), so it is followed once, not in a loop.
            let is_hinted = queue.taskrun() && !is_hint_followed;
            if missing == 0 && queue.is_empty() && !is_hinted {
                return Ok(());
            }
            drop(queue);
            self.enter(missing)?;
            is_hint_followed = true;
            missing = missing.saturating_sub(self.collect(completions));
        }
    }
}

impl Drop for UringQueue {
    /// Completes all requests: the kernel may write to their buffers until then.
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.in_flight() > 0 {
            if self.enter(self.in_flight()).is_err() {
                // The kernel may still use the buffers, so they are leaked.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
            self.collect(&mut completions);
        }
    }
}

/// Pins the arenas for the ring. A refusal only costs speed.
fn register_arenas(ring: &IoUring, config: &QueueConfig) -> Vec<Registered> {
    let mut pieces = Vec::new();
    let mut registered = Vec::with_capacity(config.arenas.len());
    for arena in &config.arenas {
        registered.push(Registered { arena: Arc::clone(arena), first_index: pieces.len() });
        for start in (0..arena.bytes()).step_by(REGISTERED_BYTES_MAX) {
            pieces.push(libc::iovec {
                iov_base: arena.base().wrapping_add(start).cast_mut().cast(),
                iov_len: (arena.bytes() - start).min(REGISTERED_BYTES_MAX),
            });
        }
    }
    if pieces.is_empty() {
        return registered;
    }
    // SAFETY: the pieces cover the arenas' mappings, which `Registered` keeps alive for as long
    // as the ring.
    let pinned = unsafe { ring.submitter().register_buffers(&pieces) };
    // Before Linux 5.12, whose feature this is, rings count as locked memory: the buffers must
    // leave room for the next worker's ring.
    let leave_room = || match ring.params().is_feature_native_workers() {
        true => Ok(()),
        false => build_ring(config.depth, config.any_thread).map(drop),
    };
    let Err(refusal) = pinned.and_then(|()| leave_room()) else { return registered };
    // Fails if nothing was registered.
    let _ = ring.submitter().unregister_buffers();
    warn_unregistered(&refusal);
    Vec::new()
}

/// Logs once why buffers are not registered.
fn warn_unregistered(refusal: &io::Error) {
    static LOGGED: AtomicBool = AtomicBool::new(false);
    if !LOGGED.swap(true, Ordering::Relaxed) {
        tracing::debug!(
            "I/O buffers are not registered with io_uring ({refusal}): some CPU time per request \
             is lost; raise the locked-memory limit (ulimit -l)"
        );
    }
}

/// The kernel's index of the registered piece that holds all `len` bytes at address `at`.
#[inline]
fn registered_index(
    registered: &[Registered],
    buffer: &Buffer,
    at: usize,
    len: usize,
) -> Option<u16> {
    let known = registered.iter().find(|known| Arc::ptr_eq(&known.arena, buffer.arena()))?;
    let start = at - known.arena.base().addr();
    let piece = start / REGISTERED_BYTES_MAX;
    let is_whole = piece == (start + len - 1) / REGISTERED_BYTES_MAX;
    if is_whole { u16::try_from(known.first_index + piece).ok() } else { None }
}

/// The submission entry for the rest of a slot.
#[inline]
fn entry_for(slot: &mut Slot, registered: &[Registered]) -> squeue::Entry {
    let request = &mut slot.request;
    let len = request.len - slot.done;
    let rest = u32::try_from(len).expect("lengths were checked");
    let offset = request.offset + slot.done as u64;
    let at = request.buffer[slot.done..].as_mut_ptr();
    let index = registered_index(registered, &request.buffer, at.addr(), len);
    match (request.op, index) {
        (Op::Read, Some(i)) => opcode::ReadFixed::new(FILE, at, rest, i).offset(offset).build(),
        (Op::Read, None) => opcode::Read::new(FILE, at, rest).offset(offset).build(),
        (Op::Write, Some(i)) => opcode::WriteFixed::new(FILE, at, rest, i).offset(offset).build(),
        (Op::Write, None) => opcode::Write::new(FILE, at, rest).offset(offset).build(),
    }
}

/// The outcome of a slot after a completion; `None` if the rest must be submitted again.
#[inline]
fn advance(slot: &mut Slot, moved: i32, block_bytes: usize) -> Option<Outcome> {
    match usize::try_from(moved) {
        Err(_) if moved == -libc::EINTR => None,
        Err(_) => Some(Err(IoFault { errno: -moved })),
        Ok(bytes) => {
            slot.done += bytes;
            // Nothing or a partial block moved: the file ends here. Else the kernel stopped early.
            let ended = bytes == 0 || !bytes.is_multiple_of(block_bytes);
            (slot.done == slot.request.len || ended).then_some(Ok(slot.done))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(len: usize) -> Slot {
        let buffer = Buffer::new(len.next_multiple_of(512)).unwrap();
        let request = Request { tag: 0, op: Op::Read, offset: 0, len, buffer };
        Slot { request, done: 0, submitted_ns: 0 }
    }

    #[test]
    fn short_transfer_is_resumed_until_the_file_ends() {
        let mut whole = slot(8192);
        assert_eq!(advance(&mut whole, 4096, 512), None);
        assert_eq!(advance(&mut whole, -libc::EINTR, 512), None);
        assert_eq!(advance(&mut whole, 4096, 512), Some(Ok(8192)));
        let mut ended = slot(8192);
        assert_eq!(advance(&mut ended, 4096, 512), None);
        assert_eq!(advance(&mut ended, 0, 512), Some(Ok(4096)));
        assert_eq!(advance(&mut slot(8192), 1000, 512), Some(Ok(1000)), "a piece of a block");
        assert_eq!(advance(&mut slot(8192), 1000, 1), None, "any piece may have more behind it");
        let broken = Some(Err(IoFault { errno: libc::EIO }));
        assert_eq!(advance(&mut slot(8192), -libc::EIO, 512), broken);
    }

    #[test]
    fn buffers_of_a_huge_arena_are_known_by_their_piece() {
        let (arena, buffers) = Arena::carve(768 << 20, 2).unwrap();
        let registered = [Registered { arena, first_index: 3 }];
        let index = |buffer: &Buffer, start: usize, len: usize| {
            registered_index(&registered, buffer, buffer.as_ptr().addr() + start, len)
        };
        assert_eq!(index(&buffers[0], 0, 768 << 20), Some(3));
        assert_eq!(index(&buffers[1], 0, 4096), Some(3));
        assert_eq!(index(&buffers[1], 256 << 20, 4096), Some(4));
        assert_eq!(index(&buffers[1], 0, (256 << 20) + 512), None, "it straddles two pieces");
        assert_eq!(index(&Buffer::new(4096).unwrap(), 0, 4096), None, "a foreign buffer");
    }
}
