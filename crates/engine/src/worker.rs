//! One worker's part of a visit.
//!
//! Each worker thread owns a [`Reader`]; it takes chunks of wanted pages in file order, keeps its
//! share of the queue depth in flight, and processes what has arrived. It sleeps only when
//! nothing has arrived and no wanted page is in memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_device::plan::DepthControl;
use cenote_pool::scan::{Arrived, Extent, Scan};
use cenote_pool::{Handle, PageRef};
use cenote_store::{Adjacency, Decoded, List, VertexId};
use rustc_hash::FxHashMap;

use crate::config::Strategy;
use crate::engine::Engine;
use crate::error::Result;
use crate::serve::Serve;
use crate::tasks::{PageTask, TaskSource};
use crate::weighted;

/// Pages found in memory that a worker sets aside before it processes some, so that its requests
/// are started first.
const READY_MAX: usize = 512;

thread_local! {
    /// The worker's ways to its pages, kept from visit to visit. Worker threads belong to one
    /// engine.
    static ACCESS: RefCell<Option<Access>> = const { RefCell::new(None) };
}

/// A worker's ways to its pages.
struct Access {
    /// To single pages; None where there is no frame.
    handle: Option<Handle>,
    /// To extents; opened when the first is read.
    scan: Option<Scan<Vec<PageTask>>>,
    /// How many extents are in flight; learned over the run.
    depth: DepthControl,
    /// Task lists to be used again.
    lists: Vec<Vec<PageTask>>,
    /// Where packed pages are decoded.
    decoded: Decoded,
}

impl Access {
    fn to(engine: &Engine) -> Self {
        Self {
            handle: engine.pages.as_ref().map(cenote_pool::Pool::handle),
            scan: None,
            depth: engine.schedule.depth_control(),
            lists: Vec::new(),
            decoded: Decoded::new(),
        }
    }
}

/// The way to extents, opened where it is not.
fn opened<'r>(
    scan: &'r mut Option<Scan<Vec<PageTask>>>,
    engine: &Engine,
) -> Result<&'r mut Scan<Vec<PageTask>>> {
    if scan.is_none() {
        weighted::forget_buffers();
        let (graph, schedule) = (&engine.graph, &engine.schedule);
        let (depth, request_bytes) = (schedule.worker_depth_max(), schedule.request_bytes());
        let device = graph.device().as_ref();
        *scan = Some(Scan::new(device, depth, request_bytes, graph.page_bytes())?);
    }
    Ok(scan.as_mut().expect("it was just made"))
}

/// Lends the calling worker's way to extents, and what it has learned of their depth, to a visit of
/// another kind. Whoever returns without an error has nothing in flight.
pub(crate) fn with_scan(
    engine: &Engine,
    work: impl FnOnce(&mut Scan<Vec<PageTask>>, &mut DepthControl) -> Result<()>,
) -> Result<()> {
    ACCESS.with_borrow_mut(|access| {
        let Access { scan, depth, .. } = access.get_or_insert_with(|| Access::to(engine));
        let worked = opened(scan, engine).and_then(|scan| work(scan, depth));
        if worked.is_err() {
            // Requests may still be in flight: they end with the way to them.
            *access = None;
        }
        worked
    })
}

/// What the workers of one visit counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub requests: u64,
    pub bytes: u64,
    pub pages_cached: u64,
    pub pages_read: u64,
    pub pages_fetched: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.pages_cached += other.pages_cached;
        self.pages_read += other.pages_read;
        self.pages_fetched += other.pages_fetched;
    }
}

/// One visit as its workers see it.
pub(crate) struct Visit<'a, S: Serve> {
    pub engine: &'a Engine,
    pub adjacency: &'a Adjacency,
    pub serve: S,
    pub source: TaskSource<'a>,
    pub failed: AtomicBool,
}

impl<S: Serve> Visit<'_, S> {
    /// One worker's part, on its own thread.
    pub fn work(&self) -> Result<(S::Local, Counts)> {
        ACCESS.with_borrow_mut(|access| {
            let ways = access.get_or_insert_with(|| Access::to(self.engine));
            let mut local = self.serve.local();
            let mut counts = Counts::default();
            let Access { handle, decoded, .. } = &mut *ways;
            let outcome = match (self.engine.config.strategy, handle) {
                (Strategy::Vertex, Some(handle)) if S::BY_VERTEX => {
                    self.by_vertex(handle, decoded, &mut local, &mut counts)
                }
                (Strategy::Vertex | Strategy::Block, Some(handle)) => {
                    self.by_page(handle, decoded, &mut local, &mut counts)
                }
                _ => self.by_extent(ways, &mut local, &mut counts),
            };
            if let Err(error) = outcome {
                // Requests may still be in flight: they end with the ways to them.
                *access = None;
                self.failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            Ok((local, counts))
        })
    }

    fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.engine.config.cancel.is_raised()
    }

    /// `auto`: wanted pages in file order, as extents; pages in memory while those are read.
    fn by_extent(
        &self,
        access: &mut Access,
        local: &mut S::Local,
        counts: &mut Counts,
    ) -> Result<()> {
        let Access { handle, scan, depth, lists, decoded } = access;
        let handle = handle.as_ref();
        let section_page = self.adjacency.first_page();
        let mut tasks = Vec::new();
        let mut missing: Vec<PageTask> = Vec::new();
        let mut ready: VecDeque<(PageTask, PageRef<'_>)> = VecDeque::new();
        let mut extents: VecDeque<Extent<Vec<PageTask>>> = VecDeque::new();
        let mut exhausted = false;
        loop {
            if self.stopped() {
                return scan.as_mut().map_or(Ok(()), drain);
            }
            while !exhausted && extents.is_empty() && ready.len() < READY_MAX {
                tasks.clear();
                exhausted = !self.source.next_chunk(&mut tasks);
                missing.clear();
                for task in &tasks {
                    match handle.and_then(|handle| handle.resident(section_page + task.page)) {
                        Some(page) => ready.push_back((*task, page)),
                        None => missing.push(*task),
                    }
                }
                let list = || lists.pop().unwrap_or_default();
                self.engine.schedule.extents(&missing, section_page, list, &mut extents);
            }
            if !extents.is_empty() {
                let scan = opened(scan, self.engine)?;
                while scan.has_room() && scan.in_flight() < depth.depth() {
                    let Some(extent) = extents.pop_front() else { break };
                    counts.requests += 1;
                    counts.bytes += extent.pages * self.adjacency.page_bytes() as u64;
                    counts.pages_read += extent.load.len() as u64;
                    counts.pages_fetched += extent.pages;
                    scan.start(extent);
                }
            }
            if let Some(scan) = scan {
                self.collect(scan, ready.is_empty(), depth)?;
                if let Some(arrived) = scan.next_arrived() {
                    let worth = self.engine.schedule.extent_seconds(arrived.extent.pages);
                    depth.arrived(self.engine.clock.now_ns(), worth);
                    self.process_arrived(&arrived, handle, decoded, local)?;
                    let mut list = scan.recycle(arrived);
                    list.clear();
                    lists.push(list);
                    continue;
                }
            }
            if let Some((task, page)) = ready.pop_front() {
                counts.pages_cached += 1;
                self.serve_page(task, &page, decoded, local)?;
            } else if exhausted
                && extents.is_empty()
                && scan.as_ref().is_none_or(|scan| scan.in_flight() == 0)
            {
                return Ok(());
            }
        }
    }

    /// Collects what has arrived, and tells the depth how long that took and what it was worth.
    fn collect(
        &self,
        scan: &mut Scan<Vec<PageTask>>,
        wait: bool,
        depth: &mut DepthControl,
    ) -> Result<()> {
        let clock = &self.engine.clock;
        let before_ns = if wait { clock.now_ns() } else { 0 };
        scan.collect(wait)?;
        if wait {
            depth.waited(clock.now_ns() - before_ns);
        }
        Ok(())
    }

    fn process_arrived(
        &self,
        arrived: &Arrived<Vec<PageTask>>,
        handle: Option<&Handle>,
        decoded: &mut Decoded,
        local: &mut S::Local,
    ) -> Result<()> {
        for task in &arrived.extent.load {
            let number = self.adjacency.first_page() + task.page;
            let bytes = arrived.page(number, self.adjacency.page_bytes());
            self.adjacency.verify(task.page, bytes)?;
            self.serve_page(*task, bytes, decoded, local)?;
            if let Some(handle) = handle.filter(|_| self.is_kept(task.page)) {
                handle.offer(number, bytes);
            }
        }
        Ok(())
    }

    /// Brings a page that was verified to its task.
    fn serve_page(
        &self,
        task: PageTask,
        bytes: &[u8],
        decoded: &mut Decoded,
        local: &mut S::Local,
    ) -> Result<()> {
        if let Some(vertices) = self.serve.listed(task) {
            let take = |list: &List<'_>| self.serve.list(local, list);
            self.adjacency.reparse_lists(task.page, bytes, vertices, decoded, take)?;
        } else {
            self.serve.page(local, &self.adjacency.reparse(task.page, bytes, decoded)?, task);
        }
        Ok(())
    }

    /// Whether a page that was read is worth a frame. Full passes keep whole chunks spread evenly
    /// over the file, so that on the next pass there is always something to read beside what is in
    /// memory.
    fn is_kept(&self, page: u64) -> bool {
        if !self.source.is_whole_pass() {
            return true;
        }
        let frames = self.engine.pages.as_ref().map_or(0, |pool| pool.config().frames);
        let chunk = u128::from(page / self.engine.schedule.chunk_pages());
        let (frames, pages) = (frames as u128, u128::from(self.adjacency.pages().max(1)));
        frames >= pages || (chunk + 1) * frames / pages != chunk * frames / pages
    }

    /// `block`: CAVE's `ProcessQueueBlock`. Each wanted page once, in file order, one a request.
    fn by_page(
        &self,
        handle: &Handle,
        decoded: &mut Decoded,
        local: &mut S::Local,
        counts: &mut Counts,
    ) -> Result<()> {
        let mut tasks = Vec::new();
        let mut next = 0;
        let mut exhausted = false;
        loop {
            if self.stopped() {
                return settle(handle);
            }
            while handle.has_room() {
                if next == tasks.len() && !exhausted {
                    (next, exhausted) = (0, {
                        tasks.clear();
                        !self.source.next_chunk(&mut tasks)
                    });
                    continue;
                }
                let Some(task) = tasks.get(next) else { break };
                next += 1;
                // The task travels as the tag: who wants the page.
                let tag = u64::from(task.from) << 32 | u64::from(task.to);
                self.ask(handle, task.page, tag, counts)?;
            }
            let Some((tag, guard)) = handle.take(true)? else { return Ok(()) };
            let page = guard.page() - self.adjacency.first_page();
            let task = PageTask { page, from: (tag >> 32) as u32, to: tag as u32 };
            self.serve_page(task, &guard, decoded, local)?;
        }
    }

    /// Asks for a page and counts how it will come.
    fn ask(&self, handle: &Handle, page: u64, tag: u64, counts: &mut Counts) -> Result<()> {
        let read = handle.ask(self.adjacency.first_page() + page, tag)?;
        counts.pages_cached += u64::from(!read);
        counts.requests += u64::from(read);
        counts.bytes += u64::from(read) * self.adjacency.page_bytes() as u64;
        counts.pages_read += u64::from(read);
        counts.pages_fetched += u64::from(read);
        Ok(())
    }

    /// `vertex`: CAVE's `ProcessQueue`. Each vertex fetches its pages through the pool; a page
    /// that several vertices of this worker wait for is asked for once.
    fn by_vertex(
        &self,
        handle: &Handle,
        decoded: &mut Decoded,
        local: &mut S::Local,
        counts: &mut Counts,
    ) -> Result<()> {
        let mut waiting: FxHashMap<u64, Vec<VertexId>> = FxHashMap::default();
        let mut tasks = Vec::new();
        while self.source.next_chunk(&mut tasks) {
            for task in tasks.drain(..) {
                for v in self.serve.vertices(task) {
                    if self.stopped() {
                        return settle(handle);
                    }
                    if let Some(vertices) = waiting.get_mut(&task.page) {
                        vertices.push(v);
                        continue;
                    }
                    while !handle.has_room() {
                        self.take_waiting(handle, true, &mut waiting, decoded, local)?;
                    }
                    waiting.insert(task.page, vec![v]);
                    self.ask(handle, task.page, 0, counts)?;
                    while self.take_waiting(handle, false, &mut waiting, decoded, local)? {}
                }
            }
        }
        while self.take_waiting(handle, true, &mut waiting, decoded, local)? {}
        Ok(())
    }

    /// Processes the next page that has arrived, for each vertex that waits for it; false where
    /// there is none.
    fn take_waiting(
        &self,
        handle: &Handle,
        wait: bool,
        waiting: &mut FxHashMap<u64, Vec<VertexId>>,
        decoded: &mut Decoded,
        local: &mut S::Local,
    ) -> Result<bool> {
        let Some((_, guard)) = handle.take(wait)? else { return Ok(false) };
        let number = guard.page() - self.adjacency.first_page();
        let vertices = waiting.remove(&number).expect("somebody wanted the page");
        let take = |list: &List<'_>| self.serve.list(local, list);
        self.adjacency.reparse_lists(number, &guard, &vertices, decoded, take)?;
        Ok(true)
    }
}

/// Gives the buffers of unweighted visits back: a worker has only one set.
pub(crate) fn forget_buffers() {
    ACCESS.with_borrow_mut(|access| {
        if let Some(access) = access {
            access.scan = None;
        }
    });
}

/// Waits until nothing is in flight, so that the scan can be used again.
fn drain(scan: &mut Scan<Vec<PageTask>>) -> Result<()> {
    while scan.in_flight() > 0 {
        scan.collect(true)?;
        while let Some(arrived) = scan.next_arrived() {
            scan.recycle(arrived);
        }
    }
    Ok(())
}

/// Takes what was asked for and lets it go, so that the handle can be used again.
pub(crate) fn settle(handle: &Handle) -> Result<()> {
    while handle.take(true)?.is_some() {}
    Ok(())
}
