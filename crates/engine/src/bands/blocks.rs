//! Blocks of a state file: workers append records in any order, and read blocks back side by side.
//!
//! Every worker thread has a queue and buffers of its own. A writer has one block open for each
//! *slot*, such as a band of targets; a block is written when a record does not fit it any more.
//! The blocks of a slot lie in extents of several, so that few references are in memory. A block
//! begins with the bytes of its records and their CRC-32C, which detects lost and torn writes.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_device::{Arena, Buffer, Completion, Op, Queue, QueueConfig, Request};

use super::state_file::{STATE_ALIGN_BYTES, StateFile};
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Requests of one worker in flight.
const DEPTH: usize = 4;

const ALIGN: usize = STATE_ALIGN_BYTES as usize;

/// As many blocks are read by one worker: waking the others would cost more.
const INLINE_BLOCKS_MAX: u32 = 2;

/// Blocks of an extent. Only what is written of it takes room on the disk.
const EXTENT_BLOCKS: u32 = 16;

/// Bytes in a block before its records.
const HEAD_BYTES: usize = 8;

/// Where consecutive blocks lie in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef {
    offset: u64,
    blocks: u32,
    /// Bytes written of the last block.
    last_bytes: u32,
}

impl BlockRef {
    /// Bytes of memory of the references to so many bytes of records in blocks of `block_bytes`.
    pub fn bytes_for(bytes: u64, block_bytes: usize) -> u64 {
        bytes / (u64::from(EXTENT_BLOCKS) * block_bytes as u64) * size_of::<Self>() as u64
    }
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
    /// Places of extents that are not needed any more.
    free: Mutex<Vec<u64>>,
}

impl<'e> Blocks<'e> {
    /// Blocks of at most `block_bytes`, a multiple of [`STATE_ALIGN_BYTES`], for writers with
    /// `slots` slots.
    pub fn new(engine: &'e Engine, file: &'e StateFile, slots: usize, block_bytes: usize) -> Self {
        assert!(block_bytes.is_multiple_of(ALIGN) && block_bytes > 0, "blocks are aligned");
        let lanes = (0..engine.config().threads).map(|_| Mutex::default()).collect();
        Self { engine, file, slots, block_bytes, lanes, free: Mutex::default() }
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

    /// Allows that blocks are written over.
    pub fn recycle(&self, refs: &[BlockRef]) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(refs.iter().map(|extent| extent.offset));
    }

    /// The place of an extent.
    fn reserve(&self) -> u64 {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = u64::from(EXTENT_BLOCKS) * self.block_bytes as u64;
        free.unwrap_or_else(|| self.file.reserve(bytes))
    }

    /// A writer for the calling worker thread.
    pub fn writer(&self) -> BlockWriter<'_> {
        let open = (0..self.slots).map(|_| None).collect();
        let extents = vec![None; self.slots];
        BlockWriter { blocks: self, lane: None, open, extents, written: Vec::new() }
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
        let (next, failed) = (Mutex::new((0, 0)), AtomicBool::new(false));
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
        if refs.iter().map(|extent| extent.blocks).sum::<u32>() <= INLINE_BLOCKS_MAX {
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
    /// The next extent, and the block in it.
    next: &'b Mutex<(usize, u32)>,
    failed: &'b AtomicBool,
}

impl BlockReader<'_> {
    fn run(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut lane = self.blocks.take_lane()?;
        loop {
            while lane.queue.in_flight() < DEPTH
                && let Some((offset, len)) = self.next_block()
            {
                let buffer = lane.free.pop().expect("a buffer for each request");
                let tag = 0;
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
                let Some(bytes) = records(&done.buffer[..done.len]) else {
                    let file = self.blocks.file.device().name();
                    return Err(EngineError::StateDamaged { file, offset: done.offset });
                };
                each(bytes)?;
                free.push(done.buffer);
            }
        }
        self.blocks.put_back(lane);
        Ok(())
    }

    /// Place and bytes of the next block.
    fn next_block(&self) -> Option<(u64, usize)> {
        let cancel = &self.blocks.engine.config().cancel;
        if self.failed.load(Ordering::Relaxed) || cancel.is_raised() {
            return None;
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, block) = *next;
        let BlockRef { offset, blocks, last_bytes } = *self.refs.get(place)?;
        let is_last = block + 1 == blocks;
        *next = if is_last { (place + 1, 0) } else { (place, block + 1) };
        let block_bytes = self.blocks.block_bytes;
        let len = if is_last { last_bytes as usize } else { block_bytes };
        Some((offset + u64::from(block) * block_bytes as u64, len))
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
    /// The extent of each slot that has room: its place in `written`.
    extents: Vec<Option<usize>>,
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
        debug_assert!(HEAD_BYTES + least <= block_bytes, "a record fits a block");
        let is_full = self.open[slot].as_ref().is_none_or(|open| block_bytes - open.filled < least);
        if is_full {
            self.close(slot)?;
            let buffer = self.take()?;
            self.open[slot] = Some(Open { buffer, filled: HEAD_BYTES });
        }
        let Open { buffer, filled } = self.open[slot].as_mut().expect("it was just opened");
        Ok((*filled == HEAD_BYTES, &mut buffer[*filled..block_bytes]))
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
        let bytes = u32::try_from(filled - HEAD_BYTES).expect("blocks are small");
        let checksum = checksum(&buffer[HEAD_BYTES..filled]);
        buffer[..4].copy_from_slice(&bytes.to_le_bytes());
        buffer[4..HEAD_BYTES].copy_from_slice(&checksum.to_le_bytes());
        // All but the last one of an extent are written whole.
        let is_whole = filled + ALIGN > self.blocks.block_bytes;
        let len = if is_whole { self.blocks.block_bytes } else { filled.next_multiple_of(ALIGN) };
        buffer[filled..len].fill(0);
        let offset = self.place(slot, len);
        let lane = self.lane.as_mut().expect("an open block has a lane");
        while lane.queue.in_flight() == DEPTH {
            reap(self.blocks.file, lane)?;
        }
        lane.queue.push(Request { tag: 0, op: Op::Write, offset, len, buffer });
        Ok(lane.queue.submit()?)
    }

    /// The place of the next block of a slot, of which `len` bytes are written.
    fn place(&mut self, slot: usize, len: usize) -> u64 {
        let block_bytes = self.blocks.block_bytes as u64;
        let at = *self.extents[slot].get_or_insert_with(|| {
            let offset = self.blocks.reserve();
            self.written.push((slot, BlockRef { offset, blocks: 0, last_bytes: 0 }));
            self.written.len() - 1
        });
        let extent = &mut self.written[at].1;
        let offset = extent.offset + u64::from(extent.blocks) * block_bytes;
        extent.blocks += 1;
        extent.last_bytes = u32::try_from(len).expect("blocks are small");
        if extent.blocks == EXTENT_BLOCKS || (len as u64) < block_bytes {
            self.extents[slot] = None;
        }
        offset
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
        self.extents.fill(None);
        Ok(std::mem::take(&mut self.written))
    }
}

impl fmt::Debug for BlockWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockWriter({} blocks written)", self.written.len())
    }
}

/// The records of a block; `None` if they are not those that were written.
fn records(block: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
    let bytes = block.get(HEAD_BYTES..HEAD_BYTES.checked_add(word(0) as usize)?)?;
    (checksum(bytes) == word(4)).then_some(bytes)
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
