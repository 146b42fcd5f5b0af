//! Reads a run of pages in order, with several large reads on their way at once.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::{Arena, Buffer, Completion, Device, DeviceError, Op, Queue};
use cenote_device::{QueueConfig, Request};

use crate::error::Result;

/// How much is read ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    pub chunk_bytes: usize,
    pub depth: usize,
}

impl Ahead {
    /// For a pass over a long run: 2 MiB.
    pub const FAR: Ahead = Ahead { chunk_bytes: 256 << 10, depth: 8 };
    /// For a run that is read beside a longer one: 128 KiB.
    pub const NEAR: Ahead = Ahead { chunk_bytes: 64 << 10, depth: 2 };
}

/// Pages `pages` of a file, one after the other.
pub(crate) struct PageStream {
    device: Arc<dyn Device>,
    queue: Box<dyn Queue>,
    completions: Vec<Completion>,
    free: Vec<Buffer>,
    /// Chunks that have arrived, by chunk number modulo the depth.
    arrived: Vec<Option<Buffer>>,
    page_bytes: usize,
    chunk_pages: u64,
    pages: Range<u64>,
    chunks_asked: u64,
    next: u64,
}

impl PageStream {
    pub fn new(
        device: &Arc<dyn Device>,
        page_bytes: usize,
        pages: Range<u64>,
        ahead: Ahead,
    ) -> Result<Self> {
        let chunk_pages = (ahead.chunk_bytes / page_bytes).max(1) as u64;
        let chunks = (pages.end - pages.start).div_ceil(chunk_pages);
        let depth = ahead.depth.min(chunks.max(1) as usize);
        let chunk_bytes = chunk_pages.min((pages.end - pages.start).max(1)) as usize * page_bytes;
        let (arena, free) = Arena::carve(chunk_bytes, depth)?;
        let queue = device.queue(&QueueConfig { depth, arenas: vec![arena] })?;
        let arrived = (0..depth).map(|_| None).collect();
        let next = pages.start;
        Ok(Self {
            device: Arc::clone(device),
            queue,
            completions: Vec::with_capacity(depth),
            free,
            arrived,
            page_bytes,
            chunk_pages,
            pages,
            chunks_asked: 0,
            next,
        })
    }

    /// The next page and its number in the file, or `None` behind the last.
    pub fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        if self.next >= self.pages.end {
            return Ok(None);
        }
        let (chunk, within) = self.place(self.next);
        if within == 0 {
            self.release_before(chunk);
            self.ask()?;
            self.wait_for(chunk)?;
        }
        let page = self.next;
        self.next += 1;
        let slot = self.slot(chunk);
        let buffer = self.arrived[slot].as_ref().expect("the chunk was waited for");
        let start = within as usize * self.page_bytes;
        Ok(Some((page, &buffer[start..start + self.page_bytes])))
    }

    fn place(&self, page: u64) -> (u64, u64) {
        let position = page - self.pages.start;
        (position / self.chunk_pages, position % self.chunk_pages)
    }

    fn slot(&self, chunk: u64) -> usize {
        (chunk % self.arrived.len() as u64) as usize
    }

    fn release_before(&mut self, chunk: u64) {
        if let Some(done) = chunk.checked_sub(1) {
            let slot = self.slot(done);
            self.free.extend(self.arrived[slot].take());
        }
    }

    fn ask(&mut self) -> Result<()> {
        loop {
            let first = self.pages.start + self.chunks_asked * self.chunk_pages;
            if first >= self.pages.end {
                break;
            }
            let Some(buffer) = self.free.pop() else { break };
            let pages = self.chunk_pages.min(self.pages.end - first);
            let len = pages as usize * self.page_bytes;
            let (tag, offset) = (self.chunks_asked, first * self.page_bytes as u64);
            self.queue.push(Request { tag, op: Op::Read, offset, len, buffer });
            self.chunks_asked += 1;
        }
        Ok(self.queue.submit()?)
    }

    fn wait_for(&mut self, chunk: u64) -> Result<()> {
        while self.arrived[self.slot(chunk)].is_none() {
            self.queue.reap(1, &mut self.completions)?;
            for done in std::mem::take(&mut self.completions) {
                let slot = self.slot(done.tag);
                self.arrived[slot] = Some(take_read(self.device.as_ref(), done)?);
            }
        }
        Ok(())
    }
}

/// The buffer of a read that filled it, or why it did not.
pub(crate) fn take_read(device: &dyn Device, done: Completion) -> Result<Buffer> {
    let (op, offset, len) = (done.op, done.offset, done.len);
    let device = || device.name();
    match done.result {
        Ok(bytes) if bytes == len => Ok(done.buffer),
        Ok(found) => {
            Err(DeviceError::Short { device: device(), op, offset, expected: len, found }.into())
        }
        Err(fault) => Err(DeviceError::Io { device: device(), op, offset, len, fault }.into()),
    }
}
