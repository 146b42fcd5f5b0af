//! The fetcher: the loop that keeps reads in flight.
//!
//! A [`Work`] names the next request and processes what has arrived; it is behind a pointer, so
//! that this loop is compiled once, not for each kernel. [`Reads::run`] submits while there is
//! room, polls, dispatches arrived pages, works at pages in memory meanwhile (or before, if the
//! work says so), and sleeps only when there are neither. It counts requests and bytes, feeds the
//! depth control, and stops when the run is cancelled. Pages arrive as extents in buffers of the
//! worker (`auto`), or one by one through the pool (`block`, `vertex`).
//!
//! A worker thread keeps its [`Fetcher`] between visits. A visit takes it and puts it back at its
//! end, so no two visits share one; after an error it is dropped with its requests in flight.
//!
//! Requests and the pool use physical page numbers:
//! [`Graph::physical`](cenote_store::Graph::physical) is applied where a request is planned and
//! where a page is looked up, and nowhere else.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_device::plan::DepthControl;
use cenote_pool::scan::{Arrived, Extent, Scan};
use cenote_pool::{Handle, PageId, PageRef};
use cenote_store::Decoded;

use crate::config::Strategy;
use crate::engine::Engine;
use crate::error::Result;
use crate::explain::Counts;

thread_local! {
    /// The idle fetcher of a worker thread. A worker thread belongs to one engine.
    static IDLE: Cell<Option<Fetcher>> = const { Cell::new(None) };
}

/// The read state of one thread.
pub(crate) struct Fetcher {
    /// For single pages and pages in memory; None without a pool.
    handle: Option<Handle>,
    /// For extents; opened by the first read.
    scan: Option<Scan<u64>>,
    /// Controls how many extents are in flight; adapts over the run.
    depth: DepthControl,
    /// The buffer for decoded pages.
    decoded: Decoded,
}

impl Fetcher {
    /// The calling thread's fetcher, or a new one.
    pub fn take(engine: &Engine) -> Self {
        let kept = if engine.on_worker() { IDLE.take() } else { None };
        kept.unwrap_or_else(|| Self {
            handle: engine.pages.as_ref().map(cenote_pool::Pool::handle),
            scan: None,
            depth: {
                let schedule = &engine.schedule;
                DepthControl::new(schedule.worker_depth(), schedule.worker_depth_max())
                    .at_least(schedule.worker_depth_min())
            },
            decoded: Decoded::new(),
        })
    }

    /// Keeps a fetcher without requests in flight for the thread's next visit.
    pub fn put_back(self, engine: &Engine) {
        if engine.on_worker() {
            IDLE.set(Some(self));
        }
    }

    /// Reads with the engine's strategy, until `failed` is set.
    pub fn reads<'f>(&'f mut self, engine: &'f Engine, failed: &'f AtomicBool) -> Reads<'f> {
        let Self { handle, scan, depth, decoded } = self;
        let single = engine.config.strategy != Strategy::Auto && handle.is_some();
        let handle = handle.as_ref();
        depth.paused();
        let (adapts, reuses, counts) = (true, false, Counts::default());
        Reads { engine, failed, handle, single, adapts, reuses, scan, depth, decoded, counts }
    }
}

/// The next action of a [`Work`].
pub(crate) enum Next {
    /// Read these physical pages; the number is how many of them are active.
    Read(Extent<u64>, u64),
    /// Call `next` again: it worked in memory instead of naming a request.
    Again,
    /// No request now.
    Nothing,
}

/// Names requests and processes the pages that arrive.
pub(crate) trait Work {
    /// Whether all arrived pages are processed before the next request is named.
    fn processes_arrived_first(&self) -> bool {
        false
    }

    /// The most requests submitted before the next poll.
    fn submitted_max(&self) -> usize {
        usize::MAX
    }

    /// The next request; called when there is room for one. `busy`: whether reads are in flight.
    fn next(&mut self, busy: bool, counts: &mut Counts) -> Result<Next>;

    /// Processes the pages of a request; `load` is the number that the work gave it.
    fn arrived(&mut self, load: u64, pages: &Pages<'_>, counts: &mut Counts) -> Result<()>;

    /// Whether there is work in memory. `room`: whether a request could be submitted.
    fn has_ready(&mut self, _room: bool) -> bool {
        false
    }

    /// Whether work in memory comes before pages that have arrived, instead of filling the time in
    /// which none has.
    fn ready_first(&self) -> bool {
        false
    }

    /// Does a part of the work in memory.
    fn ready(&mut self, _counts: &mut Counts) -> Result<()> {
        Ok(())
    }

    /// Called when nothing is in flight or ready: waits for work of other workers, unless the visit
    /// is `stopped`; false if there is no more work.
    fn wait(&mut self, _stopped: &dyn Fn() -> bool) -> bool {
        false
    }

    /// Whether the visit can end early.
    fn is_done(&self) -> bool {
        false
    }
}

/// Pages that have arrived.
pub(crate) enum Pages<'a> {
    /// One page in a frame of the pool, verified.
    Frame(PageRef<'a>),
    /// An extent as read from the device, and bytes per page.
    Buffer(&'a Arrived<u64>, usize),
}

impl Pages<'_> {
    /// The bytes of a physical page.
    pub fn page(&self, physical: PageId) -> &[u8] {
        match self {
            Self::Frame(guard) => {
                debug_assert_eq!(guard.page(), physical, "the frame of the page");
                guard
            }
            Self::Buffer(arrived, page_bytes) => arrived.page(physical, *page_bytes),
        }
    }

    /// Whether a physical page is among them.
    pub fn has(&self, physical: PageId) -> bool {
        match self {
            Self::Frame(guard) => guard.page() == physical,
            Self::Buffer(arrived, _) => arrived.has(physical),
        }
    }

    /// Whether the bytes have been verified.
    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Frame(_))
    }
}

/// A thread's reads during a visit.
pub(crate) struct Reads<'f> {
    engine: &'f Engine,
    failed: &'f AtomicBool,
    handle: Option<&'f Handle>,
    /// Whether pages are read one by one through the pool, not as extents.
    single: bool,
    /// Whether the depth follows the drive.
    adapts: bool,
    /// Whether pages that are still in a buffer are not read again.
    reuses: bool,
    scan: &'f mut Option<Scan<u64>>,
    depth: &'f mut DepthControl,
    pub decoded: &'f mut Decoded,
    pub counts: Counts,
}

impl<'f> Reads<'f> {
    /// The handle for pages in memory, where extents are read: then the [`Work`] looks them up.
    pub fn resident(&self) -> Option<&'f Handle> {
        self.handle.filter(|_| !self.single)
    }

    /// Whether pages are read one by one.
    pub fn is_single(&self) -> bool {
        self.single
    }

    /// Reads extents, whatever the strategy.
    pub fn extents(&mut self) {
        self.single = false;
    }

    /// Keeps the depth that the plan begins with.
    pub fn keep_depth(&mut self) {
        self.adapts = false;
    }

    /// Does not read pages again that are still in a buffer. For visits of few pages: a long one
    /// would find only those of the end of the visit before, which its estimate counts as read.
    pub fn reuse_buffers(&mut self) {
        self.reuses = true;
    }

    /// Requests to keep in flight.
    fn depth(&self) -> usize {
        if self.adapts { self.depth.depth() } else { self.engine.schedule.worker_depth() }
    }

    /// Whether another worker failed or the run was cancelled.
    pub fn is_stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.engine.config.cancel.is_raised()
    }

    /// Runs `work` to its end. After an error, requests may be in flight.
    pub fn run(&mut self, work: &mut dyn Work) -> Result<()> {
        let arrived_first = work.processes_arrived_first();
        let mut polled_all = true;
        loop {
            if self.is_stopped() || work.is_done() {
                return self.drain();
            }
            let submits = polled_all || !arrived_first;
            let goes_on = submits && self.submit(work)?;
            let is_ready = work.has_ready(self.has_room());
            if is_ready && work.ready_first() {
                work.ready(&mut self.counts)?;
                continue;
            }
            let wait = submits && !goes_on && !is_ready;
            let arrived = self.poll(submits, wait, work)?;
            polled_all = !arrived;
            if arrived {
                continue;
            }
            if is_ready {
                work.ready(&mut self.counts)?;
            } else if wait && self.in_flight() == 0 && !work.wait(&|| self.is_stopped()) {
                return Ok(());
            }
        }
    }

    /// Submits requests while there is room; true if there may be more.
    fn submit(&mut self, work: &mut dyn Work) -> Result<bool> {
        // Bounded, so that work in memory does not delay the next poll.
        for _ in 0..=self.depth().min(work.submitted_max() - 1) {
            if !self.has_room() {
                return Ok(false);
            }
            match work.next(self.in_flight() > 0, &mut self.counts)? {
                Next::Read(extent, active) => self.start(extent, active)?,
                Next::Again => {}
                Next::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    fn start(&mut self, extent: Extent<u64>, active: u64) -> Result<()> {
        let Extent { first_page, pages, load } = extent;
        match self.handle.filter(|_| self.single) {
            Some(handle) => {
                if !handle.submit(first_page, load)? {
                    self.counts.pages_cached += 1;
                    return Ok(());
                }
            }
            // The pages of a graph at an epoch do not change.
            None if self.reuses => {
                if self.opened()?.start_or_keep(extent) {
                    self.counts.pages_cached += active;
                    return Ok(());
                }
            }
            None => self.opened()?.start(extent),
        }
        self.counts.requests += 1;
        self.counts.bytes += pages * self.engine.graph.page_bytes() as u64;
        self.counts.pages_read += active;
        self.counts.pages_fetched += pages;
        Ok(())
    }

    fn opened(&mut self) -> Result<&mut Scan<u64>> {
        let (graph, schedule) = (&self.engine.graph, &self.engine.schedule);
        let depth = if self.adapts { schedule.worker_depth_max() } else { schedule.worker_depth() };
        // The scan that an earlier visit opened may be too small for this one.
        if self.scan.as_ref().is_none_or(|scan| scan.depth() < depth && scan.in_flight() == 0) {
            *self.scan = None;
            let (device, bytes) = (graph.device().as_ref(), schedule.request_bytes);
            *self.scan = Some(Scan::new(device, depth, bytes, graph.page_bytes())?);
        }
        Ok(self.scan.as_mut().expect("it was just opened"))
    }

    fn has_room(&self) -> bool {
        match (self.handle, &*self.scan) {
            (Some(handle), _) if self.single => handle.has_room(),
            (_, Some(scan)) => scan.has_room() && scan.in_flight() < self.depth(),
            (_, None) => true,
        }
    }

    /// Requests in flight, or arrived and not yet polled.
    fn in_flight(&self) -> usize {
        match (self.handle, &*self.scan) {
            (Some(handle), _) if self.single => handle.pending(),
            (_, Some(scan)) => scan.in_flight() + usize::from(scan.has_arrived()),
            (_, None) => 0,
        }
    }

    /// Passes one arrived request to `work`, if there is one; waits for it where `wait` is set.
    /// Extents are collected only where `collect` is set: otherwise a busy worker would see the
    /// last request in flight before it submits more.
    fn poll(&mut self, collect: bool, wait: bool, work: &mut dyn Work) -> Result<bool> {
        if let Some(handle) = self.handle.filter(|_| self.single) {
            let Some((load, guard)) = handle.poll(wait)? else { return Ok(false) };
            work.arrived(load, &Pages::Frame(guard), &mut self.counts)?;
            return Ok(true);
        }
        let Some(scan) = &mut *self.scan else { return Ok(false) };
        let clock = &self.engine.clock;
        if collect && scan.in_flight() > 0 {
            let wait = wait && !scan.has_arrived();
            let before_ns = if wait { clock.now_ns() } else { 0 };
            let is_full = scan.in_flight() >= self.depth.depth();
            scan.collect(wait)?;
            if wait {
                self.depth.waited(clock.now_ns() - before_ns, is_full);
            }
        }
        let Some(arrived) = scan.next_arrived() else { return Ok(false) };
        if self.adapts && !arrived.is_kept {
            let schedule = &self.engine.schedule;
            let planned = schedule.planned_cost(arrived.extent.pages);
            let window = self.depth.arrived(clock.now_ns(), planned);
            window.into_iter().for_each(|window| schedule.observe(window));
        }
        let page_bytes = self.engine.graph.page_bytes();
        work.arrived(arrived.extent.load, &Pages::Buffer(&arrived, page_bytes), &mut self.counts)?;
        scan.recycle(arrived);
        Ok(true)
    }

    /// Waits for all requests in flight and discards their pages.
    fn drain(&mut self) -> Result<()> {
        if let Some(handle) = self.handle.filter(|_| self.single) {
            while handle.poll(true)?.is_some() {}
        }
        let Some(scan) = &mut *self.scan else { return Ok(()) };
        loop {
            while let Some(arrived) = scan.next_arrived() {
                scan.recycle(arrived);
            }
            if scan.in_flight() == 0 {
                return Ok(());
            }
            scan.collect(true)?;
        }
    }
}
