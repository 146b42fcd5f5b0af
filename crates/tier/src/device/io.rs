//! Synchronous reads and writes of pages, for headers, map and journal, and for zeroing slots.

use std::sync::{Mutex, PoisonError};

use cenote_device::{Buffer, Completion, Device, Op, Queue, QueueConfig, Request};

use super::error::Result;
use super::page::PAGE_BYTES;

/// Most bytes of a request.
const PIECE_BYTES: usize = 64 * PAGE_BYTES;

/// A buffer that is kept between transfers: mapping a new one costs more than filling it.
#[derive(Debug, Default)]
pub(super) struct IoBuffer(Mutex<Option<Buffer>>);

impl IoBuffer {
    fn take(&self, bytes: usize) -> cenote_device::Result<Buffer> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept.filter(|buffer| buffer.len() >= bytes) {
            Some(buffer) => Ok(buffer),
            None => Buffer::new(bytes),
        }
    }

    fn give_back(&self, buffer: Buffer) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(buffer);
    }

    /// Bytes of the kept buffer.
    pub(super) fn memory_bytes(&self) -> usize {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().map_or(0, |buffer| buffer.len())
    }
}

/// Reads `len` bytes, whole pages.
pub(super) fn read(
    device: &dyn Device,
    cache: &IoBuffer,
    offset: u64,
    len: usize,
) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    PageIo::open(device, cache, len)?.read(offset, &mut bytes)?;
    Ok(bytes)
}

/// Writes whole pages.
pub(super) fn write(
    device: &dyn Device,
    cache: &IoBuffer,
    offset: u64,
    bytes: &[u8],
) -> Result<()> {
    PageIo::open(device, cache, bytes.len())?.write(offset, bytes)
}

/// Synchronous I/O of pages on one thread: a queue of depth 1 with its buffer.
pub(super) struct PageIo<'a> {
    device: &'a dyn Device,
    cache: &'a IoBuffer,
    queue: Box<dyn Queue>,
    buffer: Option<Buffer>,
    done: Vec<Completion>,
}

impl<'a> PageIo<'a> {
    /// Opens a queue for transfers of about `len` bytes; longer ones are split.
    pub(super) fn open(device: &'a dyn Device, cache: &'a IoBuffer, len: usize) -> Result<Self> {
        let queue = device.queue(&QueueConfig::one_by_one())?;
        let buffer = cache.take(len.clamp(PAGE_BYTES, PIECE_BYTES))?;
        Ok(Self { device, cache, queue, buffer: Some(buffer), done: Vec::with_capacity(1) })
    }

    /// Fills `bytes`, whole pages.
    pub(super) fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let most = self.piece_bytes(bytes.len());
        for (at, piece) in (offset..).step_by(most).zip(bytes.chunks_mut(most)) {
            self.transfer(Op::Read, at, piece.len())?;
            piece.copy_from_slice(&self.bytes()[..piece.len()]);
        }
        Ok(())
    }

    /// Writes whole pages.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let most = self.piece_bytes(bytes.len());
        for (at, piece) in (offset..).step_by(most).zip(bytes.chunks(most)) {
            self.bytes()[..piece.len()].copy_from_slice(piece);
            self.transfer(Op::Write, at, piece.len())?;
        }
        Ok(())
    }

    fn piece_bytes(&self, len: usize) -> usize {
        assert!(len.is_multiple_of(PAGE_BYTES), "whole pages only");
        self.buffer.as_ref().map_or(PAGE_BYTES, |buffer| buffer.len())
    }

    fn bytes(&mut self) -> &mut [u8] {
        self.buffer.as_mut().expect("the buffer was returned")
    }

    fn transfer(&mut self, op: Op, offset: u64, len: usize) -> Result<()> {
        let buffer = self.buffer.take().expect("the buffer was returned");
        self.queue.push(Request { tag: 0, op, offset, len, buffer });
        let reaped = self.queue.reap(1, &mut self.done);
        let Some(completion) = self.done.pop() else {
            // A broken queue keeps the buffer, so the next transfer needs another.
            self.buffer = Some(self.cache.take(len)?);
            return Ok(reaped?);
        };
        let outcome = completion.whole(|| self.device.name());
        self.buffer = Some(completion.buffer);
        Ok(outcome?)
    }
}

impl Drop for PageIo<'_> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.cache.give_back(buffer);
        }
    }
}
