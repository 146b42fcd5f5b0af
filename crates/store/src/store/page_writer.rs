//! Writes single pages; those that lie next to each other go to the device together.

use cenote_device::{Buffer, Completion, Device, Op, Queue, QueueConfig, Request, Result};
use cenote_pool::PageId;

/// Pages on their way to a device.
pub(super) struct PageWriter {
    device: String,
    queue: Box<dyn Queue>,
    completions: Vec<Completion>,
    page_bytes: usize,
    run_bytes: usize,
    /// The pages that wait for their neighbours.
    run: Option<Run>,
    spare: Vec<Buffer>,
    pages: u64,
}

struct Run {
    first: PageId,
    pages: usize,
    buffer: Buffer,
}

impl PageWriter {
    /// `depth` requests are in flight at most, each of at most so many bytes, but a page at least.
    pub fn new(
        device: &dyn Device,
        page_bytes: usize,
        depth: usize,
        request_bytes: usize,
    ) -> Result<Self> {
        let depth = depth.max(1);
        Ok(Self {
            device: device.name(),
            queue: device.queue(&QueueConfig::with_depth(depth))?,
            completions: Vec::with_capacity(depth),
            page_bytes,
            run_bytes: (request_bytes / page_bytes).max(1) * page_bytes,
            run: None,
            spare: Vec::new(),
            pages: 0,
        })
    }

    /// Pages that were written so far.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Writes a page, at the latest when [`PageWriter::settle`] is called.
    pub fn write(&mut self, page: PageId, bytes: &[u8]) -> Result<()> {
        let room = self.run_bytes / self.page_bytes;
        let follows = |run: &Run| run.first + run.pages as u64 == page && run.pages < room;
        if !self.run.as_ref().is_some_and(follows) {
            self.flush()?;
            let buffer = self.spare.pop().map_or_else(|| Buffer::new(self.run_bytes), Ok)?;
            self.run = Some(Run { first: page, pages: 0, buffer });
        }
        let run = self.run.as_mut().expect("it was just begun");
        run.buffer[run.pages * self.page_bytes..][..self.page_bytes].copy_from_slice(bytes);
        run.pages += 1;
        self.pages += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let Some(Run { first, pages, buffer }) = self.run.take() else { return Ok(()) };
        if self.queue.in_flight() == self.queue.depth() {
            self.reap(1)?;
        }
        let (offset, len) = (first * self.page_bytes as u64, pages * self.page_bytes);
        self.queue.push(Request { tag: first, op: Op::Write, offset, len, buffer });
        self.queue.submit()
    }

    fn reap(&mut self, wait_for: usize) -> Result<()> {
        let mut reaped = self.queue.reap(wait_for, &mut self.completions);
        for done in self.completions.drain(..) {
            reaped = reaped.and(done.whole(|| self.device.clone()));
            self.spare.push(done.buffer);
        }
        reaped
    }

    /// Returns when all pages are on the device; they are durable after a sync.
    pub fn settle(&mut self) -> Result<()> {
        self.flush()?;
        while self.queue.in_flight() > 0 {
            self.reap(self.queue.in_flight())?;
        }
        Ok(())
    }
}
