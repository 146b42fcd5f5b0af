//! Reads a run of pages in order, with several large reads on their way at once.

use std::ops::Range;

use cenote_device::Device;
use cenote_pool::scan::{Arrived, Extent, Scan};

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

/// Pages `pages` of a file, one after the other: a [`Scan`] of chunks that are put into order.
pub(crate) struct PageStream {
    /// Extents carry the number of their chunk.
    scan: Scan<u64>,
    /// Chunks that have arrived, by chunk number modulo the depth.
    arrived: Vec<Option<Arrived<u64>>>,
    page_bytes: usize,
    chunk_pages: u64,
    pages: Range<u64>,
    chunks_asked: u64,
    next: u64,
}

impl PageStream {
    pub fn new(
        device: &dyn Device,
        page_bytes: usize,
        pages: Range<u64>,
        ahead: Ahead,
    ) -> Result<Self> {
        let count = (pages.end - pages.start).max(1);
        let chunk_pages = ((ahead.chunk_bytes / page_bytes).max(1) as u64).min(count);
        let depth = ahead.depth.min(count.div_ceil(chunk_pages) as usize);
        Ok(Self {
            scan: Scan::new(device, depth, chunk_pages as usize * page_bytes, page_bytes)?,
            arrived: (0..depth).map(|_| None).collect(),
            page_bytes,
            chunk_pages,
            next: pages.start,
            pages,
            chunks_asked: 0,
        })
    }

    /// The next page and its number in the file, or `None` behind the last.
    pub fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        let page = self.next;
        if page >= self.pages.end {
            return Ok(None);
        }
        let position = page - self.pages.start;
        let chunk = position / self.chunk_pages;
        if position.is_multiple_of(self.chunk_pages) {
            self.turn(chunk)?;
        }
        self.next += 1;
        let arrived = self.arrived[self.slot(chunk)].as_ref().expect("the chunk was waited for");
        Ok(Some((page, arrived.page(page, self.page_bytes))))
    }

    fn slot(&self, chunk: u64) -> usize {
        (chunk % self.arrived.len() as u64) as usize
    }

    /// Gives the chunk before `chunk` back, asks for more, and waits for `chunk`.
    fn turn(&mut self, chunk: u64) -> Result<()> {
        let slot = self.slot(chunk);
        if let Some(done) = chunk.checked_sub(1).map(|before| self.slot(before))
            && let Some(done) = self.arrived[done].take()
        {
            self.scan.recycle(done);
        }
        self.ask();
        // Even where the chunk is there, so that what was asked for is on its way.
        self.collect(false)?;
        while self.arrived[slot].is_none() {
            assert!(self.scan.in_flight() > 0, "a stream that failed is read no further");
            self.collect(true)?;
        }
        Ok(())
    }

    /// Puts what has arrived into order.
    fn collect(&mut self, wait: bool) -> Result<()> {
        self.scan.collect(wait)?;
        while let Some(arrived) = self.scan.next_arrived() {
            let slot = self.slot(arrived.extent.load);
            self.arrived[slot] = Some(arrived);
        }
        Ok(())
    }

    /// Starts as many chunks as there is room for.
    fn ask(&mut self) {
        while self.scan.has_room() {
            let first_page = self.pages.start + self.chunks_asked * self.chunk_pages;
            if first_page >= self.pages.end {
                break;
            }
            let pages = self.chunk_pages.min(self.pages.end - first_page);
            self.scan.start(Extent { first_page, pages, load: self.chunks_asked });
            self.chunks_asked += 1;
        }
    }
}
