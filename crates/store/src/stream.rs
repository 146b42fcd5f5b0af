//! Reads a run of pages in order, with several large reads on their way at once.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::Device;
use cenote_pool::PageId;
use cenote_pool::scan::{Arrived, Extent, Scan};

use crate::error::Result;
use crate::table::{PageRun, PageTable};

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

/// Logical pages of a file, one after the other: a [`Scan`] of chunks that are put into order.
pub(crate) struct PageStream {
    /// Extents carry the number of their chunk.
    scan: Scan<u64>,
    table: Arc<PageTable>,
    /// Chunks that have arrived, by chunk number modulo the depth.
    arrived: Vec<Option<Arrived<u64>>>,
    page_bytes: usize,
    chunk_pages: u64,
    /// Pages that were not asked for yet.
    unasked: Range<PageId>,
    chunks_asked: u64,
    /// Chunks that were begun.
    chunks_begun: u64,
    /// What is left of the present chunk: physical pages, and the next logical one.
    rest: Range<PageId>,
    next: PageId,
    end: PageId,
}

impl PageStream {
    pub fn new(
        device: &dyn Device,
        table: &Arc<PageTable>,
        page_bytes: usize,
        pages: Range<PageId>,
        ahead: Ahead,
    ) -> Result<Self> {
        let count = (pages.end - pages.start).max(1);
        let chunk_pages = ((ahead.chunk_bytes / page_bytes).max(1) as u64).min(count);
        let depth = ahead.depth.min(count.div_ceil(chunk_pages) as usize);
        Ok(Self {
            scan: Scan::new(device, depth, chunk_pages as usize * page_bytes, page_bytes)?,
            table: Arc::clone(table),
            arrived: (0..depth).map(|_| None).collect(),
            page_bytes,
            chunk_pages,
            next: pages.start,
            end: pages.end,
            unasked: pages,
            chunks_asked: 0,
            chunks_begun: 0,
            rest: 0..0,
        })
    }

    /// The next page and its logical number, or `None` behind the last.
    pub fn next(&mut self) -> Result<Option<(PageId, &[u8])>> {
        if self.next >= self.end {
            return Ok(None);
        }
        if self.rest.is_empty() {
            self.turn()?;
        }
        let (page, physical) = (self.next, self.rest.start);
        self.next += 1;
        self.rest.start += 1;
        let arrived = self.arrived[self.slot(self.chunks_begun - 1)].as_ref();
        let arrived = arrived.expect("the chunk was waited for");
        Ok(Some((page, arrived.page(physical, self.page_bytes))))
    }

    /// The logical page that [`PageStream::next`] gives.
    pub fn next_page(&self) -> PageId {
        self.next
    }

    fn slot(&self, chunk: u64) -> usize {
        (chunk % self.arrived.len() as u64) as usize
    }

    /// Gives the chunk at hand back, asks for more, and waits for the next one.
    fn turn(&mut self) -> Result<()> {
        let slot = self.slot(self.chunks_begun);
        if let Some(done) = self.chunks_begun.checked_sub(1).map(|before| self.slot(before))
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
        let extent = &self.arrived[slot].as_ref().expect("it was waited for").extent;
        self.rest = extent.first_page..extent.first_page + extent.pages;
        self.chunks_begun += 1;
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

    /// Starts as many chunks as there is room for. None reaches from one run of the page table
    /// into the next.
    fn ask(&mut self) {
        while self.scan.has_room() && !self.unasked.is_empty() {
            let first = self.unasked.start;
            let end = self.unasked.end.min(first + self.chunk_pages);
            let PageRun { physical, pages, .. } = self.table.run(first..end);
            self.scan.start(Extent { first_page: physical, pages, load: self.chunks_asked });
            self.unasked.start += pages;
            self.chunks_asked += 1;
        }
    }
}
