//! Plain reads and writes of a few pages, for headers, map and journal, and for zeroing slots.

use std::sync::{Mutex, PoisonError};

use cenote_device::{Buffer, Completion, Device, Op, Queue, QueueConfig, Request};

use super::error::Result;
use super::page::PAGE_BYTES;

/// Bytes of a request.
const PIECE_BYTES: usize = 64 * PAGE_BYTES;

/// A buffer that is kept between transfers: to map one anew costs more than to fill it.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Option<Buffer>>);

impl Spare {
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

    /// Bytes that are kept.
    pub(super) fn memory_bytes(&self) -> usize {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().map_or(0, |buffer| buffer.len())
    }
}

/// Reads `len` bytes, whole pages.
pub(super) fn read(device: &dyn Device, spare: &Spare, offset: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    Line::open(device, spare, len)?.read(offset, &mut bytes)?;
    Ok(bytes)
}

/// Writes whole pages.
pub(super) fn write(device: &dyn Device, spare: &Spare, offset: u64, bytes: &[u8]) -> Result<()> {
    Line::open(device, spare, bytes.len())?.write(offset, bytes)
}

/// A queue of one, with its buffer, for several transfers in a row on one thread.
pub(super) struct Line<'a> {
    device: &'a dyn Device,
    spare: &'a Spare,
    queue: Box<dyn Queue>,
    buffer: Option<Buffer>,
    done: Vec<Completion>,
}

impl<'a> Line<'a> {
    /// For transfers of `len` bytes, if they are not to be cut into pieces more than necessary.
    pub(super) fn open(device: &'a dyn Device, spare: &'a Spare, len: usize) -> Result<Self> {
        let queue = device.queue(&QueueConfig::with_depth(1))?;
        let buffer = spare.take(len.clamp(PAGE_BYTES, PIECE_BYTES))?;
        Ok(Self { device, spare, queue, buffer: Some(buffer), done: Vec::with_capacity(1) })
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
        self.buffer.as_mut().expect("the buffer is back")
    }

    fn transfer(&mut self, op: Op, offset: u64, len: usize) -> Result<()> {
        let buffer = self.buffer.take().expect("the buffer is back");
        self.queue.push(Request { tag: 0, op, offset, len, buffer });
        let reaped = self.queue.reap(1, &mut self.done);
        let Some(completion) = self.done.pop() else {
            // A broken queue keeps the buffer; the next transfer allocates another.
            self.buffer = Some(self.spare.take(len)?);
            return Ok(reaped?);
        };
        let outcome = completion.whole(|| self.device.name());
        self.buffer = Some(completion.buffer);
        Ok(outcome?)
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.spare.give_back(buffer);
        }
    }
}
