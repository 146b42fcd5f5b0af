//! Blocks of a state file: workers append records in any order, and read blocks back side by side.
//!
//! Every worker thread has a queue and buffers of its own. A writer has one block open for each
//! *slot*, such as a band of targets; a block is written when a record does not fit it any more.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_device::{Arena, Buffer, Completion, Op, Queue, QueueConfig, Request};

use super::state_file::{STATE_ALIGN_BYTES, StateFile};
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Requests of one worker in flight.
const DEPTH: usize = 4;

const ALIGN: usize = STATE_ALIGN_BYTES as usize;

/// As many blocks are read by one worker: waking the others would cost more.
const INLINE_BLOCKS_MAX: usize = 2;

/// Where a block lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef {
    offset: u64,
    bytes: u32,
    /// CRC-32C, which detects lost and torn writes.
    checksum: u32,
}

/// Queue and buffers of one worker thread.
struct Lane {
    queue: Box<dyn Queue>,
    free: Vec<Buffer>,
    completions: Vec<Completion>,
}

/// Writes and reads blocks of one state file.
pub struct Blocks<'e> {
    engine: &'e Engine,
    file: &'e StateFile,
    slots: usize,
    block_bytes: usize,
    /// By the number of the worker thread.
    lanes: Vec<Mutex<Option<Lane>>>,
}

impl<'e> Blocks<'e> {
    /// Blocks of at most `block_bytes`, a multiple of [`STATE_ALIGN_BYTES`], for writers with
    /// `slots` slots.
    pub fn new(engine: &'e Engine, file: &'e StateFile, slots: usize, block_bytes: usize) -> Self {
        assert!(block_bytes.is_multiple_of(ALIGN) && block_bytes > 0, "blocks are aligned");
        let lanes = (0..engine.config().threads).map(|_| Mutex::default()).collect();
        Self { engine, file, slots, block_bytes, lanes }
    }

    /// Bytes of memory of all workers.
    pub fn memory_bytes(threads: usize, slots: usize, block_bytes: usize) -> u64 {
        (threads * (slots + DEPTH) * block_bytes) as u64
    }

    /// The lane of the calling worker thread.
    fn take_lane(&self) -> Result<Lane> {
        let kept = self.slot_of_thread().lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(lane) = kept {
            return Ok(lane);
        }
        let (arena, free) = Arena::carve(self.block_bytes, self.slots + DEPTH)?;
        let config = QueueConfig::with_depth(DEPTH).arenas(vec![arena]);
        let queue = self.file.device().queue(&config)?;
        Ok(Lane { queue, free, completions: Vec::with_capacity(DEPTH) })
    }

    fn put_back(&self, lane: Lane) {
        *self.slot_of_thread().lock().unwrap_or_else(PoisonError::into_inner) = Some(lane);
    }

    fn slot_of_thread(&self) -> &Mutex<Option<Lane>> {
        let worker = rayon::current_thread_index().expect("blocks belong to worker threads");
        &self.lanes[worker]
    }

    /// A writer for the calling worker thread.
    pub fn writer(&self) -> BlockWriter<'_> {
        let open = (0..self.slots).map(|_| None).collect();
        BlockWriter { blocks: self, lane: None, open, written: Vec::new() }
    }

    /// Passes each of `refs` once to `each`, on all workers, and returns what these have collected.
    /// Each worker calls `end` when it has done its part.
    ///
    /// # Errors
    /// The device fails; the run is cancelled; errors of `each`.
    pub fn for_each<L: Send>(
        &self,
        refs: &[BlockRef],
        local: impl Fn() -> L + Sync,
        each: impl Fn(&mut L, &[u8]) -> Result<()> + Sync,
        end: impl Fn(&mut L) -> Result<()> + Sync,
    ) -> Result<Vec<L>> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let part = || -> Result<L> {
            let mut local = local();
            let mut reader = BlockReader { blocks: self, refs, next: &next, failed: &failed };
            reader
                .run(&mut |bytes| each(&mut local, bytes))
                .and_then(|()| end(&mut local))
                .inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            Ok(local)
        };
        self.engine.check_cancel()?;
        if refs.len() <= INLINE_BLOCKS_MAX {
            return Ok(vec![self.engine.workers.install(part)?]);
        }
        let parts = self.engine.workers.broadcast(|_| part());
        let locals = parts.into_iter().collect();
        self.engine.check_cancel()?;
        locals
    }
}

impl fmt::Debug for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blocks({} of {} bytes a worker)", self.slots, self.block_bytes)
    }
}

/// The blocks that one worker reads.
#[derive(Debug)]
struct BlockReader<'b> {
    blocks: &'b Blocks<'b>,
    refs: &'b [BlockRef],
    next: &'b AtomicUsize,
    failed: &'b AtomicBool,
}

impl BlockReader<'_> {
    fn run(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut lane = self.blocks.take_lane()?;
        loop {
            while lane.queue.in_flight() < DEPTH
                && let Some(block) = self.next_block()
            {
                let buffer = lane.free.pop().expect("a buffer for each request");
                let tag = u64::from(block.checksum) << 32 | u64::from(block.bytes);
                let len = (block.bytes as usize).next_multiple_of(ALIGN);
                let offset = block.offset;
                lane.queue.push(Request { tag, op: Op::Read, offset, len, buffer });
            }
            if lane.queue.in_flight() == 0 {
                break;
            }
            let Lane { queue, free, completions } = &mut lane;
            queue.reap(1, completions)?;
            for completion in completions.drain(..) {
                let done = self.blocks.file.completed(queue.as_mut(), completion)?;
                let done = done.expect("reads are not continued");
                let bytes = &done.buffer[..done.tag as u32 as usize];
                if checksum(bytes) != (done.tag >> 32) as u32 {
                    let file = self.blocks.file.device().name();
                    return Err(EngineError::StateDamaged { file, offset: done.offset });
                }
                each(bytes)?;
                free.push(done.buffer);
            }
        }
        self.blocks.put_back(lane);
        Ok(())
    }

    fn next_block(&self) -> Option<BlockRef> {
        let cancel = &self.blocks.engine.config().cancel;
        if self.failed.load(Ordering::Relaxed) || cancel.is_raised() {
            return None;
        }
        self.refs.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

/// A block that is being filled.
struct Open {
    buffer: Buffer,
    filled: usize,
}

/// Appends records to blocks, on the worker thread that made it. [`BlockWriter::finish`] writes
/// what is still in memory.
pub struct BlockWriter<'b> {
    blocks: &'b Blocks<'b>,
    lane: Option<Lane>,
    open: Vec<Option<Open>>,
    written: Vec<(usize, BlockRef)>,
}

impl BlockWriter<'_> {
    /// Room of at least `least` bytes in the open block of a slot, and whether the block is new.
    ///
    /// # Errors
    /// [`EngineError::StateFull`](crate::EngineError::StateFull); the device fails.
    #[inline]
    pub fn room(&mut self, slot: usize, least: usize) -> Result<(bool, &mut [u8])> {
        let block_bytes = self.blocks.block_bytes;
        debug_assert!(least <= block_bytes, "a record fits a block");
        let is_full = self.open[slot].as_ref().is_none_or(|open| block_bytes - open.filled < least);
        if is_full {
            self.close(slot)?;
            let buffer = self.take()?;
            self.open[slot] = Some(Open { buffer, filled: 0 });
        }
        let Open { buffer, filled } = self.open[slot].as_mut().expect("it was just opened");
        Ok((*filled == 0, &mut buffer[*filled..block_bytes]))
    }

    /// Adds the first `bytes` of the room to the block.
    #[inline]
    pub fn fill(&mut self, slot: usize, bytes: usize) {
        self.open[slot].as_mut().expect("room was taken").filled += bytes;
    }

    /// Appends a record.
    ///
    /// # Errors
    /// As [`BlockWriter::room`].
    #[inline]
    pub fn push(&mut self, slot: usize, record: &[u8]) -> Result<()> {
        let (_, room) = self.room(slot, record.len())?;
        room[..record.len()].copy_from_slice(record);
        self.fill(slot, record.len());
        Ok(())
    }

    fn take(&mut self) -> Result<Buffer> {
        if self.lane.is_none() {
            self.lane = Some(self.blocks.take_lane()?);
        }
        let lane = self.lane.as_mut().expect("it was just taken");
        while lane.free.is_empty() {
            reap(self.blocks.file, lane)?;
        }
        Ok(lane.free.pop().expect("a free buffer"))
    }

    /// Writes the open block of a slot.
    fn close(&mut self, slot: usize) -> Result<()> {
        let Some(Open { mut buffer, filled }) = self.open[slot].take() else { return Ok(()) };
        let lane = self.lane.as_mut().expect("an open block has a lane");
        let len = filled.next_multiple_of(ALIGN);
        buffer[filled..len].fill(0);
        let offset = self.blocks.file.reserve(len as u64);
        let bytes = u32::try_from(filled).expect("blocks are small");
        let checksum = checksum(&buffer[..filled]);
        self.written.push((slot, BlockRef { offset, bytes, checksum }));
        while lane.queue.in_flight() == DEPTH {
            reap(self.blocks.file, lane)?;
        }
        lane.queue.push(Request { tag: 0, op: Op::Write, offset, len, buffer });
        Ok(lane.queue.submit()?)
    }

    /// Writes all open blocks and returns the blocks since the last call, each with its slot.
    ///
    /// # Errors
    /// As [`BlockWriter::room`].
    pub fn finish(&mut self) -> Result<Vec<(usize, BlockRef)>> {
        (0..self.open.len()).try_for_each(|slot| self.close(slot))?;
        if let Some(mut lane) = self.lane.take() {
            while lane.queue.in_flight() > 0 {
                reap(self.blocks.file, &mut lane)?;
            }
            self.blocks.put_back(lane);
        }
        Ok(std::mem::take(&mut self.written))
    }
}

impl fmt::Debug for BlockWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockWriter({} blocks written)", self.written.len())
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

fn reap(file: &StateFile, lane: &mut Lane) -> Result<()> {
    lane.queue.reap(1, &mut lane.completions)?;
    for completion in lane.completions.drain(..) {
        if let Some(done) = file.completed(lane.queue.as_mut(), completion)? {
            lane.free.push(done.buffer);
        }
    }
    Ok(())
}
