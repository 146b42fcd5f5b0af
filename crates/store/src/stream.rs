//! Streams consecutive pages in order, with several large reads in flight.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::Device;
use cenote_pool::PageId;
use cenote_pool::scan::{Arrived, Extent, Scan};

use crate::error::Result;
use crate::table::{PageRun, PageTable};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    pub chunk_bytes: usize,
    pub depth: usize,
}

impl Ahead {
    /// For a long pass: 2 MiB.
    pub const FAR: Ahead = Ahead { chunk_bytes: 256 << 10, depth: 8 };
    /// For a pass beside a longer one: 128 KiB.
    pub const NEAR: Ahead = Ahead { chunk_bytes: 64 << 10, depth: 2 };
}

/// A stream of logical pages: the chunks of a [`Scan`] in order.
pub(crate) struct PageStream {
    /// The load of an extent is the number of its chunk.
    scan: Scan<u64>,
    table: Arc<PageTable>,
    /// Arrived chunks, by chunk number modulo the depth.
    arrived: Vec<Option<Arrived<u64>>>,
    page_bytes: usize,
    chunk_pages: u64,
    unsubmitted: Range<PageId>,
    chunks_submitted: u64,
    chunks_started: u64,
    /// What remains of the current chunk: physical pages, and the next logical one.
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
            unsubmitted: pages,
            chunks_submitted: 0,
            chunks_started: 0,
            rest: 0..0,
        })
    }

    /// The next page and its logical number, or `None` after the last.
    pub fn next(&mut self) -> Result<Option<(PageId, &[u8])>> {
        if self.next >= self.end {
            return Ok(None);
        }
        if self.rest.is_empty() {
            self.next_chunk()?;
        }
        let (page, physical) = (self.next, self.rest.start);
        self.next += 1;
        self.rest.start += 1;
        let arrived = self.arrived[self.slot(self.chunks_started - 1)].as_ref();
        let arrived = arrived.expect("the chunk was waited for");
        Ok(Some((page, arrived.page(physical, self.page_bytes))))
    }

    /// The logical page that [`PageStream::next`] returns next.
    pub fn next_page(&self) -> PageId {
        self.next
    }

    fn slot(&self, chunk: u64) -> usize {
        (chunk % self.arrived.len() as u64) as usize
    }

    /// Recycles the current chunk, submits more, and waits for the next one.
    fn next_chunk(&mut self) -> Result<()> {
        let slot = self.slot(self.chunks_started);
        if let Some(done) = self.chunks_started.checked_sub(1).map(|before| self.slot(before))
            && let Some(done) = self.arrived[done].take()
        {
            self.scan.recycle(done);
        }
        self.submit();
        // Even if the chunk is there, to submit the new requests.
        self.collect(false)?;
        while self.arrived[slot].is_none() {
            assert!(self.scan.in_flight() > 0, "a stream must not be read after an error");
            self.collect(true)?;
        }
        let extent = &self.arrived[slot].as_ref().expect("it was waited for").extent;
        self.rest = extent.first_page..extent.first_page + extent.pages;
        self.chunks_started += 1;
        Ok(())
    }

    /// Sorts arrived chunks into their slots.
    fn collect(&mut self, wait: bool) -> Result<()> {
        self.scan.collect(wait)?;
        while let Some(arrived) = self.scan.next_arrived() {
            let slot = self.slot(arrived.extent.load);
            self.arrived[slot] = Some(arrived);
        }
        Ok(())
    }

    /// Queues as many chunks as there is room for. None spans two runs of the page table.
    fn submit(&mut self) {
        while self.scan.has_room() && !self.unsubmitted.is_empty() {
            let first = self.unsubmitted.start;
            let end = self.unsubmitted.end.min(first + self.chunk_pages);
            let PageRun { physical, pages, .. } = self.table.run(first..end);
            self.scan.start(Extent { first_page: physical, pages, load: self.chunks_submitted });
            self.unsubmitted.start += pages;
            self.chunks_submitted += 1;
        }
    }
}
