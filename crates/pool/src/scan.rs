//! Planned passes: reads of many pages in large requests, past the frames.
//!
//! A pass does not predict later uses of its pages, so it leaves the policy's order unchanged:
//! pages in memory are read there, all others are read into buffers of the pass. Pages are inserted
//! while frames are empty ([`Handle::insert_if_free`]); repeated passes then find that fixed part
//! in memory, while LRU or Clock would find nothing. Where the pages that were read last are the
//! likeliest to be read again, [`Handle::insert_replacing`] puts them in place of others.

use std::collections::VecDeque;

use cenote_device::plan::Planner;
use cenote_device::{Arena, Buffer, Completion, Device, Op, Queue, QueueConfig, Request, Slab};

use crate::PageId;
use crate::error::{PoolError, Result};
use crate::handle::{Handle, PageVersion};

/// The most free buffers in which [`Scan::start_or_keep`] looks for pages.
const KEPT_MAX: usize = 16;

/// Adjacent pages that are read by one request, with data of the caller.
#[derive(Debug, Default)]
pub struct Extent<T> {
    /// First page.
    pub first_page: PageId,
    /// Pages.
    pub pages: u64,
    /// The caller's data.
    pub load: T,
}

/// An extent that was read, with its bytes.
#[derive(Debug)]
pub struct Arrived<T> {
    /// The extent that was requested.
    pub extent: Extent<T>,
    /// Whether it was found in a free buffer instead of read.
    pub is_kept: bool,
    filled: Filled,
}

/// A buffer and the pages that were last read into it; none at first.
#[derive(Debug)]
struct Filled {
    first_page: PageId,
    pages: u64,
    buffer: Buffer,
}

impl<T> Arrived<T> {
    /// The bytes of a page of the extent.
    ///
    /// # Panics
    /// If the extent does not hold the page.
    pub fn page(&self, page: PageId, page_bytes: usize) -> &[u8] {
        assert!(self.has(page), "page {page} is in the extent");
        let at = (page - self.filled.first_page) as usize * page_bytes;
        &self.filled.buffer[at..at + page_bytes]
    }

    /// Whether the extent holds a page.
    pub fn has(&self, page: PageId) -> bool {
        let Extent { first_page, pages, .. } = self.extent;
        (first_page..first_page + pages).contains(&page)
    }
}

/// Large reads of one thread. Every buffer is free, in flight, or in an [`Arrived`] until
/// [`Scan::recycle`].
pub struct Scan<T> {
    queue: Box<dyn Queue>,
    device: String,
    page_bytes: u64,
    /// The buffer that was used last is the last.
    free: VecDeque<Filled>,
    in_flight: Slab<Extent<T>>,
    completions: Vec<Completion>,
    arrived: VecDeque<Arrived<T>>,
}

impl<T> Scan<T> {
    /// A scan with `depth` requests of at most `request_bytes` in flight. Where the buffers are
    /// together larger than the device they are not registered: the kernel would touch all of
    /// them, which takes longer than it saves.
    ///
    /// # Errors
    /// The system refuses a queue or memory, or does not tell the length of the device.
    pub fn new(
        device: &dyn Device,
        depth: usize,
        request_bytes: usize,
        page_bytes: usize,
    ) -> Result<Self> {
        assert!(depth > 0 && request_bytes.is_multiple_of(page_bytes), "whole pages are read");
        let (arenas, free) = if device.len_bytes()? < (depth * request_bytes) as u64 {
            (Vec::new(), Arena::carve_sparse(request_bytes, depth)?.1)
        } else {
            let (arena, free) = Arena::carve(request_bytes, depth)?;
            (vec![arena], free)
        };
        let empty = |buffer| Filled { first_page: 0, pages: 0, buffer };
        let free = free.into_iter().map(empty).collect();
        let queue = device.queue(&QueueConfig::with_depth(depth).arenas(arenas))?;
        Ok(Self {
            queue,
            device: device.name(),
            page_bytes: page_bytes as u64,
            free,
            in_flight: Slab::with_capacity(depth),
            completions: Vec::with_capacity(depth),
            arrived: VecDeque::with_capacity(depth),
        })
    }

    /// Requests that may be in flight at once.
    pub fn depth(&self) -> usize {
        self.queue.depth()
    }

    /// Whether another extent can start now.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    /// Starts an extent.
    ///
    /// # Panics
    /// If [`Scan::has_room`] is false, or the extent is larger than a request.
    pub fn start(&mut self, extent: Extent<T>) {
        // The buffer that was used last is the most likely to be in the processor's caches.
        let free = self.free.pop_back();
        self.start_in(free, extent);
    }

    fn start_in(&mut self, free: Option<Filled>, extent: Extent<T>) {
        let Filled { buffer, .. } = free.expect("there is room");
        let len = extent.pages * self.page_bytes;
        let offset = extent.first_page * self.page_bytes;
        let tag = self.in_flight.insert(extent);
        let len = usize::try_from(len).expect("a request fits its buffer");
        self.queue.push(Request { tag, op: Op::Read, offset, len, buffer });
    }

    /// Starts an extent as [`Scan::start`] does, or lets it arrive at once if one of the buffers
    /// that were used last still has its pages; true if it did. Only for files whose pages do not
    /// change while the scan lives.
    ///
    /// # Panics
    /// As [`Scan::start`].
    pub fn start_or_keep(&mut self, extent: Extent<T>) -> bool {
        let Extent { first_page, pages, .. } = extent;
        let holds = |filled: &Filled| {
            filled.first_page <= first_page
                && first_page + pages <= filled.first_page + filled.pages
        };
        let among = self.free.len().saturating_sub(KEPT_MAX)..self.free.len();
        match among.rev().find(|&place| holds(&self.free[place])) {
            Some(place) => {
                let filled = self.free.remove(place).expect("it was just looked at");
                self.arrived.push_back(Arrived { extent, is_kept: true, filled });
                true
            }
            None => {
                let oldest = self.free.pop_front();
                self.start_in(oldest, extent);
                false
            }
        }
    }

    /// Submits started extents and collects completed ones; with `wait`, at least one.
    ///
    /// # Errors
    /// A failed read, after which the scan cannot be used.
    pub fn collect(&mut self, wait: bool) -> Result<()> {
        let wait_for = usize::from(wait && self.arrived.is_empty() && self.in_flight() > 0);
        self.queue.reap(wait_for, &mut self.completions)?;
        for completion in self.completions.drain(..) {
            let extent = self.in_flight.remove(completion.tag);
            completion.whole(|| self.device.clone())?;
            let Extent { first_page, pages, .. } = extent;
            let filled = Filled { first_page, pages, buffer: completion.buffer };
            self.arrived.push_back(Arrived { extent, is_kept: false, filled });
        }
        Ok(())
    }

    /// Whether an extent has arrived and was not taken yet.
    pub fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Takes the extent that completed first.
    pub fn next_arrived(&mut self) -> Option<Arrived<T>> {
        self.arrived.pop_front()
    }

    /// Returns the buffer to the scan, and the caller's data to the caller.
    pub fn recycle(&mut self, arrived: Arrived<T>) -> T {
        self.free.push_back(arrived.filled);
        arrived.extent.load
    }
}

impl<T> std::fmt::Debug for Scan<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scan({}, {} in flight)", self.device, self.in_flight())
    }
}

/// Calls `each` once for each of the `wanted` pages (ascending), in any order: pages in memory as
/// they are, dirty or not; the others read in extents of `planner`.
///
/// # Errors
/// A failed read, a page that the pool's check refuses, and errors of `each`.
pub fn pass<E: From<PoolError>>(
    handle: &Handle,
    planner: &Planner,
    wanted: impl IntoIterator<Item = PageId>,
    mut each: impl FnMut(PageId, &[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let (pool, plan) = (handle.pool(), planner.plan());
    let page_bytes = pool.config().page_bytes;
    let device = pool.device.as_ref();
    let mut scan = Scan::new(device, plan.depth, plan.request_bytes, page_bytes)?;
    let mut wanted = wanted.into_iter().peekable();
    let mut missing = Vec::new();
    let mut extents: VecDeque<Extent<Vec<(PageId, PageVersion)>>> = VecDeque::new();
    while wanted.peek().is_some() || !extents.is_empty() || scan.in_flight() > 0 {
        if extents.is_empty() {
            for page in wanted.by_ref().take(plan.depth * planner.extent_pages_max() as usize) {
                pool.check_page(page)?;
                match handle.resident(page) {
                    Some(guard) => each(page, &guard)?,
                    None => missing.push(page),
                }
            }
            let mut rest = missing.as_slice();
            for extent in planner.extents(missing.iter().copied()) {
                let end = extent.first_page + extent.pages;
                let (load, after) = rest.split_at(rest.partition_point(|&page| page < end));
                rest = after;
                let (first_page, pages) = (extent.first_page, extent.pages);
                let load = load.iter().map(|&page| (page, handle.version(page))).collect();
                extents.push_back(Extent { first_page, pages, load });
            }
            missing.clear();
        }
        while scan.has_room() {
            let Some(extent) = extents.pop_front() else { break };
            scan.start(extent);
        }
        scan.collect(true)?;
        while let Some(arrived) = scan.next_arrived() {
            for &(page, version) in &arrived.extent.load {
                show(handle, page, version, arrived.page(page, page_bytes), &mut each)?;
            }
            scan.recycle(arrived);
        }
    }
    Ok(())
}

/// Calls `each` with a page that a scan has read since `version`, or with a newer one in the pool.
fn show<E: From<PoolError>>(
    handle: &Handle,
    page: PageId,
    version: PageVersion,
    bytes: &[u8],
    each: &mut impl FnMut(PageId, &[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    if let Some(newer) = handle.resident(page) {
        return each(page, &newer);
    }
    let check = handle.pool().config().check.as_ref();
    let is_damaged = || check.is_some_and(|check| check.check(page, bytes).is_err());
    if !handle.is_current(page, version) || is_damaged() {
        // The page may have been written during the read, so read it again.
        return each(page, &handle.pin(page)?);
    }
    handle.insert_if_current(page, bytes, version);
    each(page, bytes)
}
