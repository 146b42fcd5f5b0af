//! The fetcher: the one loop that keeps reads in flight.
//!
//! Whatever brings pages into memory is a [`Work`]: it names the next request, and takes what has
//! arrived. [`Reads::run`] submits while there is room, polls, dispatches what has arrived, works
//! at what is in memory meanwhile, and sleeps only when neither is there. It counts requests and
//! bytes, feeds the depth control, and ends early where the run is stopped. Pages come as extents
//! into buffers of the worker (`auto`), or one by one through the pool (`block`, `vertex`).
//!
//! A worker thread keeps its [`Fetcher`] from visit to visit. A visit takes it and puts it back at
//! its end, so no two ever share one; after an error it is dropped, and what was in flight with it.
//!
//! Pages of a section are numbered logically. Requests and the pool go by physical pages:
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
    /// The fetcher of a worker thread while no visit uses it. A worker thread belongs to one
    /// engine.
    static IDLE: Cell<Option<Fetcher>> = const { Cell::new(None) };
}

/// What one thread reads by.
pub(crate) struct Fetcher {
    /// The way to single pages and to pages in memory; None where there is no frame.
    handle: Option<Handle>,
    /// The way to extents, which carry the slot of their load; opened when the first is read.
    scan: Option<Scan<usize>>,
    /// How many extents are in flight; learned over the run.
    depth: DepthControl,
    /// Where packed pages are decoded.
    decoded: Decoded,
}

impl Fetcher {
    /// The calling thread's fetcher, or a new one.
    pub fn take(engine: &Engine) -> Self {
        let kept = if engine.on_worker() { IDLE.take() } else { None };
        kept.unwrap_or_else(|| Self {
            handle: engine.pages.as_ref().map(cenote_pool::Pool::handle),
            scan: None,
            depth: engine.schedule.depth_control(),
            decoded: Decoded::new(),
        })
    }

    /// Keeps a fetcher that has nothing in flight for the thread's next visit.
    pub fn put_back(self, engine: &Engine) {
        if engine.on_worker() {
            IDLE.set(Some(self));
        }
    }

    /// Reads by the engine's strategy, until `failed` is set.
    pub fn reads<'f>(&'f mut self, engine: &'f Engine, failed: &'f AtomicBool) -> Reads<'f> {
        let Self { handle, scan, depth, decoded } = self;
        let single = engine.config.strategy != Strategy::Auto && handle.is_some();
        let handle = handle.as_ref();
        let counts = Counts::default();
        Reads { engine, failed, handle, single, scan, depth, decoded, counts }
    }
}

/// What a [`Work`] has to do next.
pub(crate) enum Next<L> {
    /// To read these physical pages, of which so many are active.
    Read(Extent<L>, u64),
    /// It did something in memory instead, and may have more at once.
    Again,
    /// Nothing for the moment.
    Nothing,
}

/// Where requests come from, and where pages go.
pub(crate) trait Work {
    /// What a request carries.
    type Load;

    /// Whether it takes all that has arrived before it names the next request.
    const ARRIVED_FIRST: bool = false;

    /// Requests submitted at most before it looks for what has arrived.
    const SUBMITTED_MAX: usize = usize::MAX;

    /// The next request, where there is room for one. `busy`: whether reads are under way.
    fn next(&mut self, busy: bool, counts: &mut Counts) -> Result<Next<Self::Load>>;

    /// Takes what a request brought.
    fn arrived(&mut self, load: Self::Load, pages: &Pages<'_>, counts: &mut Counts) -> Result<()>;

    /// Whether there is something to do without reading. `room`: whether a request could be
    /// submitted.
    fn has_ready(&mut self, _room: bool) -> bool {
        false
    }

    /// Does a part of that.
    fn ready(&mut self, _counts: &mut Counts) -> Result<()> {
        Ok(())
    }

    /// Nothing is in flight and nothing is ready: whether there is more nevertheless. Where that
    /// depends on other workers it waits for them, unless the visit is `stopped`.
    fn wait(&mut self, _stopped: &dyn Fn() -> bool) -> bool {
        false
    }

    /// Whether what was looked for is found.
    fn is_done(&self) -> bool {
        false
    }
}

/// Pages that have arrived.
pub(crate) enum Pages<'a> {
    /// One page, in a frame of the pool, which has verified it.
    Frame(PageRef<'a>),
    /// An extent as it came from the device, and bytes per page.
    Buffer(&'a Arrived<usize>, usize),
}

impl Pages<'_> {
    /// The bytes of a physical page.
    #[inline(always)]
    pub fn page(&self, physical: PageId) -> &[u8] {
        match self {
            Self::Frame(guard) => {
                debug_assert_eq!(guard.page(), physical, "the frame of the page");
                guard
            }
            Self::Buffer(arrived, page_bytes) => arrived.page(physical, *page_bytes),
        }
    }

    /// Whether the bytes were verified before.
    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Frame(_))
    }
}

/// A thread's reads during a visit.
pub(crate) struct Reads<'f> {
    engine: &'f Engine,
    failed: &'f AtomicBool,
    handle: Option<&'f Handle>,
    /// One by one through the pool, or as extents.
    single: bool,
    scan: &'f mut Option<Scan<usize>>,
    depth: &'f mut DepthControl,
    pub decoded: &'f mut Decoded,
    pub counts: Counts,
}

impl<'f> Reads<'f> {
    /// The way to pages in memory, where the strategy leaves that to the [`Work`].
    pub fn resident(&self) -> Option<&'f Handle> {
        self.handle.filter(|_| !self.single)
    }

    /// Whether pages come one by one.
    pub fn is_single(&self) -> bool {
        self.single
    }

    /// Extents, whatever the strategy.
    pub fn extents(&mut self) {
        self.single = false;
    }

    /// Whether the visit is to end early.
    pub fn is_stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.engine.config.cancel.is_raised()
    }

    /// Does `work` to its end. After an error, requests may be in flight.
    pub fn run<W: Work>(&mut self, work: &mut W) -> Result<()> {
        let mut loads = Slots::new();
        let mut polled_all = true;
        loop {
            if self.is_stopped() || work.is_done() {
                return self.drain();
            }
            let submits = polled_all || !W::ARRIVED_FIRST;
            let goes_on = submits && self.submit(work, &mut loads)?;
            let is_ready = work.has_ready(self.has_room());
            let wait = submits && !goes_on && !is_ready;
            let arrived = self.poll(wait, work, &mut loads)?;
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

    /// Submits requests while there is room; whether there may be more of them at once.
    #[inline(always)]
    fn submit<W: Work>(&mut self, work: &mut W, loads: &mut Slots<W::Load>) -> Result<bool> {
        // Work that does much in memory looks at what has arrived from time to time.
        for _ in 0..=self.depth.depth().min(W::SUBMITTED_MAX - 1) {
            if !self.has_room() {
                return Ok(false);
            }
            match work.next(self.in_flight() > 0, &mut self.counts)? {
                Next::Read(extent, active) => self.start(extent, active, loads)?,
                Next::Again => {}
                Next::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    #[inline(always)]
    fn start<L>(&mut self, extent: Extent<L>, active: u64, loads: &mut Slots<L>) -> Result<()> {
        let Extent { first_page, pages, load } = extent;
        let load = loads.insert(load);
        match self.handle.filter(|_| self.single) {
            Some(handle) => {
                if !handle.submit(first_page, load as u64)? {
                    self.counts.pages_cached += 1;
                    return Ok(());
                }
            }
            None => self.opened()?.start(Extent { first_page, pages, load }),
        }
        self.counts.requests += 1;
        self.counts.bytes += pages * self.engine.graph.page_bytes() as u64;
        self.counts.pages_read += active;
        self.counts.pages_fetched += pages;
        Ok(())
    }

    fn opened(&mut self) -> Result<&mut Scan<usize>> {
        if self.scan.is_none() {
            let (graph, schedule) = (&self.engine.graph, &self.engine.schedule);
            let (depth, bytes) = (schedule.worker_depth_max(), schedule.request_bytes);
            *self.scan =
                Some(Scan::new(graph.device().as_ref(), depth, bytes, graph.page_bytes())?);
        }
        Ok(self.scan.as_mut().expect("it was just opened"))
    }

    #[inline(always)]
    fn has_room(&self) -> bool {
        match (self.handle, &*self.scan) {
            (Some(handle), _) if self.single => handle.has_room(),
            (_, Some(scan)) => scan.has_room() && scan.in_flight() < self.depth.depth(),
            (_, None) => true,
        }
    }

    /// Requests under way, or arrived and not yet polled.
    #[inline(always)]
    fn in_flight(&self) -> usize {
        match (self.handle, &*self.scan) {
            (Some(handle), _) if self.single => handle.pending(),
            (_, Some(scan)) => scan.in_flight(),
            (_, None) => 0,
        }
    }

    /// Something that has arrived, and the slot of its load; `wait` says whether to wait for it.
    #[inline(always)]
    fn poll<W: Work>(
        &mut self,
        wait: bool,
        work: &mut W,
        loads: &mut Slots<W::Load>,
    ) -> Result<bool> {
        if let Some(handle) = self.handle.filter(|_| self.single) {
            let Some((tag, guard)) = handle.poll(wait)? else { return Ok(false) };
            let load = loads.remove(tag as usize);
            work.arrived(load, &Pages::Frame(guard), &mut self.counts)?;
            return Ok(true);
        }
        let Some(scan) = &mut *self.scan else { return Ok(false) };
        let clock = &self.engine.clock;
        if scan.in_flight() > 0 {
            let before_ns = if wait { clock.now_ns() } else { 0 };
            scan.collect(wait)?;
            if wait {
                self.depth.waited(clock.now_ns() - before_ns);
            }
        }
        let Some(arrived) = scan.next_arrived() else { return Ok(false) };
        let worth = self.engine.schedule.extent_seconds(arrived.extent.pages);
        self.depth.arrived(clock.now_ns(), worth);
        let load = loads.remove(arrived.extent.load);
        let page_bytes = self.engine.graph.page_bytes();
        work.arrived(load, &Pages::Buffer(&arrived, page_bytes), &mut self.counts)?;
        scan.recycle(arrived);
        Ok(true)
    }

    /// Waits until nothing is in flight, and drops what comes.
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

/// Things under a small number, while a request carries the number as its tag.
pub(crate) struct Slots<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slots<T> {
    pub fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    #[inline(always)]
    pub fn insert(&mut self, thing: T) -> usize {
        let place = self.free.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(thing);
        place
    }

    pub fn get_mut(&mut self, place: usize) -> &mut T {
        self.places[place].as_mut().expect("it is there until it is removed")
    }

    #[inline(always)]
    pub fn remove(&mut self, place: usize) -> T {
        self.free.push(place);
        self.places[place].take().expect("it is removed once")
    }
}
