//! A handle's requests in flight: reads of pages and writes of copies.
//!
//! A page is written from a copy, so it can be read and changed meanwhile, and is still in memory,
//! dirty, if the write fails.

use std::collections::VecDeque;
use std::sync::Arc;

use cenote_device::{
    Arena, Buffer, Completion, Device, DeviceError, Op, Queue, QueueConfig, Request, Slab,
};

use crate::PageId;
use crate::error::{PoolError, Result};
use crate::policy::{Entrance, FrameId};
use crate::pool::Pool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The calling thread waits for it.
    Pin,
    /// The client submitted it under this tag.
    Submitted(u64),
    /// It is prefetched.
    Prefetch,
    /// The client got an error for it: if the read completes, the page just stays in memory.
    Abandoned,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    frame: FrameId,
    page: PageId,
    /// `None` for a write.
    purpose: Option<Purpose>,
}

/// A submitted page, by its tag: the frame with its latch shared, or the error.
pub(crate) type Arrived = (u64, Result<FrameId>);

/// Dirty pages that could not be written.
#[derive(Debug, Default)]
pub(crate) struct WriteFaults {
    pub failed: usize,
    pub first: Option<(PageId, DeviceError)>,
}

/// Requests in flight of one handle.
pub(crate) struct Transfer {
    /// Opened for the first request.
    queue: Option<Box<dyn Queue>>,
    /// See [`QueueConfig::any_thread`].
    any_thread: bool,
    /// Buffers for copies of pages.
    staging: Vec<Buffer>,
    flights: Slab<Flight>,
    completions: Vec<Completion>,
    /// Submitted pages that are ready.
    pub arrived: VecDeque<Arrived>,
    /// The read that the calling thread waits for; its latch stays exclusive.
    pub pinned: Option<Result<()>>,
    pub reads_in_flight: usize,
    /// Of the reads, those that the client submitted.
    pub submitted_in_flight: usize,
    /// Of the reads; at most n_e - 1.
    pub prefetches_in_flight: usize,
    /// Of the reads, those whose requests have failed already.
    abandoned_in_flight: usize,
    pub writes_in_flight: usize,
    pub faults: WriteFaults,
}

impl Transfer {
    pub fn new(any_thread: bool) -> Self {
        Self {
            queue: None,
            any_thread,
            staging: Vec::new(),
            flights: Slab::with_capacity(0),
            completions: Vec::new(),
            arrived: VecDeque::new(),
            pinned: None,
            reads_in_flight: 0,
            submitted_in_flight: 0,
            prefetches_in_flight: 0,
            abandoned_in_flight: 0,
            writes_in_flight: 0,
            faults: WriteFaults::default(),
        }
    }

    /// Opens the queue, unless it is open. To be called before latching anything for a request, so
    /// that a failure leaves nothing latched.
    pub fn open(&mut self, pool: &Pool) -> Result<()> {
        if self.queue.is_some() {
            return Ok(());
        }
        let config = &pool.config;
        let writes = config.writer.batch();
        // Submitted pages, one pinned, n_e - 1 prefetched; a batch of writes.
        let depth = config.read_depth + config.evict_batch + writes;
        let (arena, staging) = Arena::carve(config.page_bytes, writes)?;
        let arenas = vec![arena, Arc::clone(pool.frames.arena())];
        let config = QueueConfig::with_depth(depth).arenas(arenas).any_thread(self.any_thread);
        self.queue = Some(pool.device.queue(&config)?);
        self.staging = staging;
        self.flights = Slab::with_capacity(depth);
        self.completions.reserve(depth);
        Ok(())
    }

    /// Starts reading `page` into `frame`, which the caller latches exclusively and has entered
    /// into the page table.
    pub fn read(
        &mut self,
        pool: &Pool,
        frame: FrameId,
        page: PageId,
        purpose: Purpose,
    ) -> Result<()> {
        // SAFETY: the caller holds the frame's latch exclusively.
        let buffer = unsafe { pool.frames.take_buffer(frame) };
        self.reads_in_flight += 1;
        if let Some(count) = self.count_of(purpose) {
            *count += 1;
        }
        let flight = Flight { frame, page, purpose: Some(purpose) };
        let (tag, started) = self.start(pool, flight, Op::Read, buffer);
        if started.is_err() {
            self.abandon(tag);
        }
        started
    }

    /// Copies the page of `frame`, which is claimed for writing, releases the latch and starts
    /// writing the copy.
    pub fn write(&mut self, pool: &Pool, frame: FrameId) -> Result<()> {
        let mut copy = self.staging.pop().expect("batches are no larger than the staging area");
        let page = pool.frames.page(frame).expect("a claimed page stays");
        pool.frames.begin_copy(frame);
        // SAFETY: the claim came with a share of the frame's latch.
        copy.copy_from_slice(unsafe { pool.frames.bytes(frame) });
        pool.frames.frame(frame).latch.unlock_shared();
        if let Some(check) = &pool.config.check {
            check.seal(page, &mut copy);
        }
        pool.table.advance_version(page);
        self.writes_in_flight += 1;
        self.start(pool, Flight { frame, page, purpose: None }, Op::Write, copy).1
    }

    /// Waits until there are buffers for `copies`.
    pub fn make_write_room(&mut self, pool: &Pool, copies: usize) -> Result<()> {
        self.open(pool)?;
        while self.staging.len() < copies {
            self.collect(pool, true)?;
        }
        Ok(())
    }

    /// The counter for reads of this purpose.
    fn count_of(&mut self, purpose: Purpose) -> Option<&mut usize> {
        match purpose {
            Purpose::Pin => None,
            Purpose::Submitted(_) => Some(&mut self.submitted_in_flight),
            Purpose::Prefetch => Some(&mut self.prefetches_in_flight),
            Purpose::Abandoned => Some(&mut self.abandoned_in_flight),
        }
    }

    /// Marks a read for which the client gets an error; it may still complete.
    fn abandon(&mut self, tag: u64) {
        let flight = self.flights.get_mut(tag);
        let before = flight.purpose.replace(Purpose::Abandoned).expect("it is a read");
        if let Some(count) = self.count_of(before) {
            *count -= 1;
        }
        self.abandoned_in_flight += 1;
    }

    /// Opens the queue and waits for abandoned reads, which occupy places in it.
    pub fn make_read_room(&mut self, pool: &Pool) -> Result<()> {
        self.open(pool)?;
        while self.abandoned_in_flight > 0 {
            self.collect(pool, true)?;
        }
        Ok(())
    }

    /// Waits until all reads are done, including that of the page to pin in `frame`, whose latch
    /// is then exclusive.
    pub fn finish_pin(&mut self, pool: &Pool, frame: FrameId) -> Result<()> {
        let Err(fault) = self.finish_reads(pool) else {
            return self.pinned.take().expect("the read is done");
        };
        let is_pin = |flight: &Flight| flight.purpose == Some(Purpose::Pin);
        let pin = self.flights.iter_mut().find(|(_, flight)| is_pin(flight)).map(|(tag, _)| tag);
        if let Some(tag) = pin {
            self.abandon(tag);
        }
        if let Some(Ok(())) = self.pinned.take() {
            pool.frames.frame(frame).latch.unlock_exclusive();
        }
        Err(fault)
    }

    /// Starts a request; returns its tag.
    fn start(&mut self, pool: &Pool, flight: Flight, op: Op, buffer: Buffer) -> (u64, Result<()>) {
        let len = pool.config.page_bytes;
        let offset = flight.page * len as u64;
        let tag = self.flights.insert(flight);
        let queue = self.queue.as_mut().expect("the queue is open");
        queue.push(Request { tag, op, offset, len, buffer });
        // One by one: some virtual drives serve a batch of one call in turn.
        (tag, queue.submit().map_err(PoolError::from))
    }

    /// Collects completions; with `wait`, at least one if any request is in flight.
    pub fn collect(&mut self, pool: &Pool, wait: bool) -> Result<()> {
        let wait_for = usize::from(wait && self.reads_in_flight + self.writes_in_flight > 0);
        let Some(queue) = &mut self.queue else { return Ok(()) };
        queue.reap(wait_for, &mut self.completions)?;
        for completion in std::mem::take(&mut self.completions) {
            let flight = self.flights.remove(completion.tag);
            match flight.purpose {
                Some(purpose) => self.end_read(pool, flight, purpose, completion),
                None => self.end_write(pool, flight, completion),
            }
        }
        Ok(())
    }

    /// Waits until all reads are done.
    pub fn finish_reads(&mut self, pool: &Pool) -> Result<()> {
        while self.reads_in_flight > 0 {
            self.collect(pool, true)?;
        }
        Ok(())
    }

    /// Waits until all writes are done; returns the failures since the last call.
    pub fn finish_writes(&mut self, pool: &Pool) -> Result<WriteFaults> {
        while self.writes_in_flight > 0 {
            self.collect(pool, true)?;
        }
        Ok(std::mem::take(&mut self.faults))
    }

    fn end_write(&mut self, pool: &Pool, flight: Flight, completion: Completion) {
        self.writes_in_flight -= 1;
        let fault = completion.whole(|| pool.name()).err();
        self.staging.push(completion.buffer);
        pool.table.advance_version(flight.page);
        pool.with_policy_locked(|policy| {
            pool.frames.end_write(flight.frame, fault.is_none());
            if fault.is_none() {
                policy.cleaned(flight.frame);
            }
        });
        let Some(fault) = fault else {
            pool.counters.pages_written.add(1);
            return;
        };
        pool.counters.writes_failed.add(1);
        tracing::warn!("page {} stays dirty: {fault}", flight.page);
        self.faults.failed += 1;
        self.faults.first.get_or_insert((flight.page, fault));
    }

    fn end_read(&mut self, pool: &Pool, flight: Flight, purpose: Purpose, completion: Completion) {
        self.reads_in_flight -= 1;
        if let Some(count) = self.count_of(purpose) {
            *count -= 1;
        }
        let Flight { frame, page, .. } = flight;
        let fault = completion.whole(|| pool.name()).err().map(PoolError::from).or_else(|| {
            let check = pool.config.check.as_ref()?;
            let source = check.check(page, &completion.buffer).err()?;
            Some(PoolError::Damaged { device: pool.name(), page, source })
        });
        // SAFETY: the start of the read latched the frame exclusively; it still is.
        unsafe { pool.frames.put_buffer(frame, completion.buffer) };
        let arrived = match fault {
            None => {
                let is_wanted = matches!(purpose, Purpose::Pin | Purpose::Submitted(_));
                let entrance = if is_wanted { Entrance::Hot } else { Entrance::Cold };
                pool.admit(frame, page, entrance);
                Ok(())
            }
            Some(fault) => {
                pool.counters.reads_failed.add(1);
                pool.table.remove(&pool.frames, frame);
                pool.give_free(frame);
                Err(fault)
            }
        };
        let latch = &pool.frames.frame(frame).latch;
        match (purpose, arrived) {
            (Purpose::Pin, arrived) => self.pinned = Some(arrived),
            (Purpose::Submitted(tag), Ok(())) => {
                latch.downgrade();
                self.arrived.push_back((tag, Ok(frame)));
            }
            (Purpose::Submitted(tag), Err(fault)) => self.arrived.push_back((tag, Err(fault))),
            (Purpose::Prefetch, Ok(())) => {
                pool.frames.mark_prefetched(frame);
                latch.unlock_exclusive();
            }
            (Purpose::Abandoned, Ok(())) => latch.unlock_exclusive(),
            (Purpose::Prefetch | Purpose::Abandoned, Err(fault)) => {
                tracing::debug!("page {page} was not read: {fault}");
            }
        }
    }
}
