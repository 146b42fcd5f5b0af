//! One worker's part of a visit.
//!
//! Each worker thread owns a [`Reader`]; it takes chunks of wanted pages in file order, keeps its
//! share of the queue depth in flight, and processes what has arrived. It sleeps only when
//! nothing has arrived and no wanted page is in memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_store::{Adjacency, Page, VertexId};
use rustc_hash::FxHashMap;

use crate::cache::CachedPage;
use crate::config::Strategy;
use crate::engine::Engine;
use crate::error::Result;
use crate::frontier::Wanted;
use crate::kernel::Kernel;
use crate::reader::{Arrived, Fetch, Reader};
use crate::tasks::{PageTask, TaskSource};

/// Pages found in memory that a worker sets aside before it processes some, so that its requests
/// are started first.
const READY_MAX: usize = 512;

thread_local! {
    /// The worker's reader, kept from visit to visit. Worker threads belong to one engine.
    static READER: RefCell<Option<Reader>> = const { RefCell::new(None) };
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
pub(crate) struct Visit<'a, K: Kernel> {
    pub engine: &'a Engine,
    pub adjacency: &'a Adjacency,
    pub wanted: Wanted<'a>,
    pub kernel: &'a K,
    pub source: TaskSource<'a>,
    pub failed: AtomicBool,
}

impl<K: Kernel> Visit<'_, K> {
    /// One worker's part, on its own thread.
    pub fn work(&self) -> Result<(K::Local, Counts)> {
        READER.with_borrow_mut(|reader| {
            let mut local = self.kernel.local();
            let mut counts = Counts::default();
            let outcome = match self.engine.config.strategy {
                Strategy::Vertex => self.by_vertex(reader, &mut local, &mut counts),
                _ => self.by_extent(reader, &mut local, &mut counts),
            };
            if let Err(error) = outcome {
                // Requests may still be in flight: the reader is not fit for another visit.
                *reader = None;
                self.failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            if let Some(reader) = reader {
                counts.requests += std::mem::take(&mut reader.requests);
                counts.bytes += std::mem::take(&mut reader.bytes);
            }
            Ok((local, counts))
        })
    }

    fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.engine.config.cancel.is_raised()
    }

    fn reader<'r>(&self, reader: &'r mut Option<Reader>) -> Result<&'r mut Reader> {
        if reader.is_none() {
            let schedule = &self.engine.schedule;
            *reader = Some(Reader::new(
                self.engine.graph.device().as_ref(),
                schedule.worker_depth(),
                schedule.request_bytes(),
                self.engine.graph.page_bytes(),
            )?);
        }
        Ok(reader.as_mut().expect("it was just made"))
    }

    /// `auto` and `block`: wanted pages in file order, as extents.
    fn by_extent(
        &self,
        reader: &mut Option<Reader>,
        local: &mut K::Local,
        counts: &mut Counts,
    ) -> Result<()> {
        let mut tasks = Vec::new();
        let mut missing: Vec<PageTask> = Vec::new();
        let mut ready: VecDeque<(PageTask, CachedPage)> = VecDeque::new();
        let mut fetches: VecDeque<Fetch> = VecDeque::new();
        let mut exhausted = false;
        loop {
            if self.stopped() {
                return reader.as_mut().map_or(Ok(()), drain);
            }
            while !exhausted && fetches.is_empty() && ready.len() < READY_MAX {
                tasks.clear();
                exhausted = !self.source.next_chunk(&mut tasks);
                missing.clear();
                for task in &tasks {
                    match self.engine.cache.get(self.adjacency.first_page() + task.page) {
                        Some(page) => ready.push_back((*task, page)),
                        None => missing.push(*task),
                    }
                }
                if !missing.is_empty() {
                    let reader = self.reader(reader)?;
                    self.engine.schedule.fetches(&missing, || reader.task_list(), &mut fetches);
                }
            }
            if let Some(reader) = reader.as_mut() {
                while reader.has_room() {
                    let Some(fetch) = fetches.pop_front() else { break };
                    counts.pages_read += fetch.tasks.len() as u64;
                    counts.pages_fetched += fetch.pages;
                    reader.start(self.adjacency.first_page(), fetch);
                }
                reader.collect(ready.is_empty())?;
                if let Some(arrived) = reader.next_arrived() {
                    self.process_arrived(&arrived, local)?;
                    reader.recycle(arrived);
                    continue;
                }
            }
            if let Some((task, page)) = ready.pop_front() {
                counts.pages_cached += 1;
                self.process(&self.adjacency.reparse(task.page, &page)?, task, local);
            } else if exhausted
                && fetches.is_empty()
                && reader.as_ref().is_none_or(|r| r.in_flight() == 0)
            {
                return Ok(());
            }
        }
    }

    fn process_arrived(&self, arrived: &Arrived, local: &mut K::Local) -> Result<()> {
        let page_bytes = self.engine.graph.page_bytes();
        for task in &arrived.fetch.tasks {
            let at = (task.page - arrived.fetch.first_page) as usize * page_bytes;
            let bytes = &arrived.buffer[at..at + page_bytes];
            let page = self.adjacency.parse(task.page, bytes)?;
            self.process(&page, *task, local);
            self.offer(task.page, bytes);
        }
        Ok(())
    }

    fn process(&self, page: &Page<'_>, task: PageTask, local: &mut K::Local) {
        match self.wanted.list() {
            Some(vertices) => {
                for &v in &vertices[task.from as usize..task.to as usize] {
                    self.process_vertex(page, v, local);
                }
            }
            None => self.kernel.page(local, page, &self.wanted),
        }
    }

    fn process_vertex(&self, page: &Page<'_>, v: VertexId, local: &mut K::Local) {
        let list = page.list_of(v).expect("the index led to a page with the vertex");
        self.kernel.list(local, &list);
    }

    /// Keeps a page that was read. Full passes keep whole chunks spread evenly over the file, so
    /// that on the next pass there is always something to read beside what is in memory.
    fn offer(&self, page: u64, bytes: &[u8]) {
        let cache = &self.engine.cache;
        if self.engine.config.strategy == Strategy::Auto && matches!(self.wanted, Wanted::All) {
            let chunk = u128::from(page / self.engine.schedule.chunk_pages());
            let (frames, pages) =
                (u128::from(cache.frames()), u128::from(self.adjacency.pages().max(1)));
            if frames < pages && (chunk + 1) * frames / pages == chunk * frames / pages {
                return;
            }
        }
        cache.offer(self.adjacency.first_page() + page, bytes);
    }

    /// `vertex`: CAVE's `ProcessQueue`. Each vertex fetches its pages through the cache; a page
    /// that several vertices of this worker wait for is in flight once.
    fn by_vertex(
        &self,
        reader: &mut Option<Reader>,
        local: &mut K::Local,
        counts: &mut Counts,
    ) -> Result<()> {
        let reader = self.reader(reader)?;
        let mut waiting: FxHashMap<u64, Vec<VertexId>> = FxHashMap::default();
        let mut tasks = Vec::new();
        while self.source.next_chunk(&mut tasks) {
            for task in tasks.drain(..) {
                for v in self.vertices_of(task) {
                    if self.stopped() {
                        return drain(reader);
                    }
                    let number = self.adjacency.first_page() + task.page;
                    if let Some(vertices) = waiting.get_mut(&task.page) {
                        vertices.push(v);
                    } else if let Some(page) = self.engine.cache.get(number) {
                        counts.pages_cached += 1;
                        self.process_vertex(&self.adjacency.reparse(task.page, &page)?, v, local);
                    } else {
                        while !reader.has_room() {
                            self.take_waiting(reader, true, &mut waiting, local)?;
                        }
                        waiting.insert(task.page, vec![v]);
                        let mut tasks = reader.task_list();
                        tasks.push(task);
                        let fetch = Fetch { first_page: task.page, pages: 1, tasks };
                        counts.pages_read += 1;
                        counts.pages_fetched += 1;
                        reader.start(self.adjacency.first_page(), fetch);
                        self.take_waiting(reader, false, &mut waiting, local)?;
                    }
                }
            }
        }
        while reader.in_flight() > 0 {
            self.take_waiting(reader, true, &mut waiting, local)?;
        }
        Ok(())
    }

    /// The vertices that a task is for.
    fn vertices_of(&self, task: PageTask) -> Vec<VertexId> {
        match self.wanted.list() {
            Some(list) => list[task.from as usize..task.to as usize].to_vec(),
            None => {
                self.adjacency.vertices_in(task.page).filter(|&v| self.wanted.contains(v)).collect()
            }
        }
    }

    /// Processes the pages that have arrived, for each vertex that waits for them.
    fn take_waiting(
        &self,
        reader: &mut Reader,
        wait: bool,
        waiting: &mut FxHashMap<u64, Vec<VertexId>>,
        local: &mut K::Local,
    ) -> Result<()> {
        reader.collect(wait)?;
        while let Some(arrived) = reader.next_arrived() {
            let page_number = arrived.fetch.first_page;
            let bytes = &arrived.buffer[..self.engine.graph.page_bytes()];
            let page = self.adjacency.parse(page_number, bytes)?;
            for v in waiting.remove(&page_number).expect("somebody wanted the page") {
                self.process_vertex(&page, v, local);
            }
            self.offer(page_number, bytes);
            reader.recycle(arrived);
        }
        Ok(())
    }
}

/// Waits until nothing is in flight, so that the reader can be used again.
fn drain(reader: &mut Reader) -> Result<()> {
    while reader.in_flight() > 0 {
        reader.collect(true)?;
        while let Some(arrived) = reader.next_arrived() {
            reader.recycle(arrived);
        }
    }
    Ok(())
}
