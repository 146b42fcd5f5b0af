//! Plain reads and writes of a few pages, for headers, map and journal.

use cenote_device::{Buffer, Completion, Device, Op, Queue, QueueConfig, Request};

use super::error::Result;
use super::page::PAGE_BYTES;

/// Bytes of a request.
const PIECE_BYTES: usize = 64 * PAGE_BYTES;

/// Reads `len` bytes, a multiple of the page.
pub(super) fn read(device: &dyn Device, offset: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let mut single = Single::new(device, len)?;
    for (at, piece) in (offset..).step_by(PIECE_BYTES).zip(bytes.chunks_mut(PIECE_BYTES)) {
        single.transfer(device, Op::Read, at, piece.len())?;
        piece.copy_from_slice(&single.bytes()[..piece.len()]);
    }
    Ok(bytes)
}

/// Writes whole pages.
pub(super) fn write(device: &dyn Device, offset: u64, bytes: &[u8]) -> Result<()> {
    let mut single = Single::new(device, bytes.len())?;
    for (at, piece) in (offset..).step_by(PIECE_BYTES).zip(bytes.chunks(PIECE_BYTES)) {
        single.bytes()[..piece.len()].copy_from_slice(piece);
        single.transfer(device, Op::Write, at, piece.len())?;
    }
    Ok(())
}

/// A queue of one, with its buffer.
struct Single {
    queue: Box<dyn Queue>,
    buffer: Option<Buffer>,
    done: Vec<Completion>,
}

impl Single {
    fn new(device: &dyn Device, len: usize) -> Result<Self> {
        assert!(len.is_multiple_of(PAGE_BYTES), "whole pages only");
        let queue = device.queue(&QueueConfig::with_depth(1))?;
        let buffer = Buffer::new(len.clamp(PAGE_BYTES, PIECE_BYTES))?;
        Ok(Self { queue, buffer: Some(buffer), done: Vec::with_capacity(1) })
    }

    fn bytes(&mut self) -> &mut [u8] {
        self.buffer.as_mut().expect("the buffer is back")
    }

    fn transfer(&mut self, device: &dyn Device, op: Op, offset: u64, len: usize) -> Result<()> {
        let buffer = self.buffer.take().expect("the buffer is back");
        self.queue.push(Request { tag: 0, op, offset, len, buffer });
        self.queue.reap(1, &mut self.done)?;
        let completion = self.done.pop().expect("reap(1) returns a completion");
        let outcome = completion.whole(|| device.name());
        self.buffer = Some(completion.buffer);
        Ok(outcome?)
    }
}
