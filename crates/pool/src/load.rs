//! Brings many pages into memory in large requests, in place of others.

use cenote_device::plan::Extent as Run;

use crate::PageId;
use crate::error::Result;
use crate::handle::{Handle, PageVersion};
use crate::pool::Pool;
use crate::scan::{Extent, Scan};

/// Unwanted pages between two wanted ones that are read through. A pool has no profile of its
/// drive, which says how many cost less than another request: 2 to 9 on measured drives.
const GAP_PAGES: u64 = 4;

/// Large reads of one thread into the frames of a pool, ahead of the threads that pin the pages.
/// Unlike a planned pass it evicts other pages for them.
#[derive(Debug)]
pub struct Loader {
    scan: Scan<Vec<(PageId, PageVersion)>>,
    request_pages: u64,
}

impl Loader {
    /// A loader with `depth` requests of at most `request_bytes`, whole pages, in flight: so many
    /// bytes are its buffers.
    ///
    /// # Errors
    /// The system refuses a queue or memory.
    pub fn new(pool: &Pool, depth: usize, request_bytes: usize) -> Result<Self> {
        let page_bytes = pool.config.page_bytes;
        let scan = Scan::new(pool.device.as_ref(), depth, request_bytes, page_bytes)?;
        Ok(Self { scan, request_pages: (request_bytes / page_bytes) as u64 })
    }

    /// Brings pages, which ascend, into memory. Not more than there are frames: later ones may take
    /// the place of earlier ones.
    ///
    /// # Errors
    /// A page beyond the end, a failed read, after which the loader cannot be used, a page that the
    /// pool's check refuses, no frame that can be emptied.
    pub fn load(&mut self, handle: &Handle, wanted: &[PageId]) -> Result<()> {
        let mut missing = Vec::with_capacity(wanted.len());
        for &page in wanted {
            handle.pool().check_page(page)?;
            if handle.resident(page).is_none() {
                missing.push((page, handle.version(page)));
            }
        }
        let mut rest = missing.as_slice();
        while !rest.is_empty() || self.scan.in_flight() > 0 {
            while !rest.is_empty() && self.scan.has_room() {
                let Run { first_page, pages } = run(rest, self.request_pages);
                let end = rest.partition_point(|(page, _)| *page < first_page + pages);
                let (load, after) = rest.split_at(end);
                rest = after;
                self.scan.start(Extent { first_page, pages, load: load.to_vec() });
            }
            self.scan.collect(true)?;
            while let Some(arrived) = self.scan.next_arrived() {
                let page_bytes = handle.pool().config.page_bytes;
                for &(page, version) in &arrived.extent.load {
                    handle.insert(page, arrived.page(page, page_bytes), version)?;
                }
                self.scan.recycle(arrived);
            }
        }
        Ok(())
    }
}

/// The pages of the request that begins with the first of the missing ones.
fn run(missing: &[(PageId, PageVersion)], most: u64) -> Run {
    let first_page = missing[0].0;
    let mut end = first_page + 1;
    for &(page, _) in &missing[1..] {
        if page > end + GAP_PAGES || page + 1 > first_page + most {
            break;
        }
        end = end.max(page + 1);
    }
    Run { first_page, pages: end - first_page }
}
