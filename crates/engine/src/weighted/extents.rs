//! Weighted visits of `auto`: planned extents of lists, and of their weights as soon as it is known
//! which are wanted; what is in memory is taken there.

use std::cell::RefCell;
use std::collections::VecDeque;

use cenote_device::plan::DepthControl;
use cenote_pool::scan::{Arrived, Extent, Scan};
use cenote_pool::{Handle, PageRef};
use cenote_store::{Decoded, List};

use super::WeightedVisit;
use super::serve::{Copies, Serve, Waiting, cost_of, groups};
use crate::error::Result;
use crate::tasks::PageTask;
use crate::worker::{self, Counts};

/// Pages found in memory that a worker sets aside before it processes some, so that its requests
/// are started first; of a visit to few pages no more than leave as many to every other worker.
const READY_MAX: u64 = 512;

thread_local! {
    /// The worker's buffers, kept from visit to visit.
    static WAYS: RefCell<Option<Ways>> = const { RefCell::new(None) };
}

/// A worker's ways to its pages.
struct Ways {
    /// To those in memory; None where there is no frame.
    handle: Option<Handle>,
    scan: Scan<Load>,
    depth: DepthControl,
}

/// Gives the buffers of weighted visits back: a worker has only one set.
pub fn forget_buffers() {
    WAYS.set(None);
}

/// What an extent is for.
struct Load {
    /// The place of the batch that waits for these pages of weights; of pages of lists none.
    batch: Option<usize>,
    tasks: Vec<PageTask>,
    /// Bytes that the copies of these lists may take.
    cost: u64,
}

/// A worker's way through a visit.
struct Flow<'v, 'a, S: Serve> {
    visit: &'v WeightedVisit<'a, S>,
    handle: Option<&'v Handle>,
    lists: VecDeque<Extent<Load>>,
    weights: VecDeque<Extent<Load>>,
    /// Pages of lists that are in memory.
    ready: VecDeque<(PageTask, PageRef<'v>)>,
    exhausted: bool,
    copies: Waiting<S::Batch>,
}

impl<S: Serve> WeightedVisit<'_, S> {
    pub(super) fn by_extent(&self, local: &mut S::Local, counts: &mut Counts) -> Result<()> {
        let Ways { handle, mut scan, mut depth } = match WAYS.take() {
            Some(ways) => ways,
            None => self.open()?,
        };
        let mut flow = Flow {
            visit: self,
            handle: handle.as_ref(),
            lists: VecDeque::new(),
            weights: VecDeque::new(),
            ready: VecDeque::new(),
            exhausted: false,
            copies: Waiting::new(),
        };
        let finished = flow.run(&mut scan, &mut depth, local, counts)?;
        drop(flow);
        // Of a visit that failed, requests may still be in flight: they end with the buffers.
        if finished {
            WAYS.set(Some(Ways { handle, scan, depth }));
        }
        Ok(())
    }

    fn open(&self) -> Result<Ways> {
        worker::forget_buffers();
        let handle = self.engine.pages.as_ref().map(cenote_pool::Pool::handle);
        let (graph, schedule) = (&self.engine.graph, &self.engine.schedule);
        let (depth, bytes) = (schedule.worker_depth_max(), schedule.request_bytes());
        let scan = Scan::new(graph.device().as_ref(), depth, bytes, graph.page_bytes())?;
        Ok(Ways { handle, scan, depth: schedule.depth_control() })
    }

    /// Whether a page that was read is worth a frame; `place` counts pages of lists and then those
    /// of weights. Full passes keep whole chunks spread evenly, as those without weights.
    fn is_kept(&self, place: u64) -> bool {
        if !self.source.is_whole_pass() {
            return true;
        }
        let frames = self.engine.pages.as_ref().map_or(0, |pool| pool.config().frames) as u128;
        let chunk = u128::from(place / self.engine.schedule.chunk_pages());
        let pages = u128::from((self.adjacency.pages() + self.column.pages()).max(1));
        frames >= pages || (chunk + 1) * frames / pages != chunk * frames / pages
    }
}

impl<'v, S: Serve> Flow<'v, '_, S> {
    /// Whether it came to its end; false where it was stopped.
    fn run(
        &mut self,
        scan: &mut Scan<Load>,
        depth: &mut DepthControl,
        local: &mut S::Local,
        counts: &mut Counts,
    ) -> Result<bool> {
        let clock = &self.visit.engine.clock;
        loop {
            if self.visit.stopped() {
                return Ok(false);
            }
            self.fill();
            self.start(scan, depth.depth(), counts);
            let has_ready = !self.ready.is_empty() && self.has_room_for_copies();
            if scan.in_flight() > 0 {
                let wait = !has_ready;
                let before_ns = if wait { clock.now_ns() } else { 0 };
                scan.collect(wait)?;
                if wait {
                    depth.waited(clock.now_ns() - before_ns);
                }
            }
            if let Some(arrived) = scan.next_arrived() {
                let worth = self.visit.engine.schedule.extent_seconds(arrived.extent.pages);
                depth.arrived(clock.now_ns(), worth);
                self.arrived(&arrived, local, counts)?;
                self.done(scan.recycle(arrived));
            } else if has_ready {
                let (task, page) = self.ready.pop_front().expect("there is one");
                counts.pages_cached += 1;
                self.resident(task, &page, local, counts)?;
            } else if self.is_finished() && scan.in_flight() == 0 {
                return Ok(true);
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.exhausted && self.ready.is_empty() && self.lists.is_empty() && self.weights.is_empty()
    }

    fn has_room_for_copies(&self) -> bool {
        self.copies.cost < self.visit.copies_max
    }

    /// Takes chunks of wanted pages until there is something to do.
    fn fill(&mut self) {
        let visit = self.visit;
        let section_page = visit.adjacency.first_page();
        let share = visit.source.listed().unwrap_or(u64::MAX) / visit.engine.config.threads as u64;
        let ready_max = (share / 2).clamp(1, READY_MAX) as usize;
        let (mut tasks, mut missing) = (Vec::new(), Vec::new());
        while !self.exhausted && self.lists.is_empty() && self.ready.len() < ready_max {
            tasks.clear();
            missing.clear();
            self.exhausted = !visit.source.next_chunk(&mut tasks);
            for task in &tasks {
                match self.handle.and_then(|handle| handle.resident(section_page + task.page)) {
                    Some(page) => self.ready.push_back((*task, page)),
                    None => missing.push(*task),
                }
            }
            let mut extents = VecDeque::new();
            let (adjacency, column) = (visit.adjacency, visit.column);
            for group in groups::<S>(adjacency, column, &missing, visit.copies_max) {
                visit.engine.schedule.extents(group, section_page, Vec::new, &mut extents);
            }
            self.lists.extend(extents.into_iter().map(|extent| {
                let Extent { first_page, pages, load: tasks } = extent;
                let cost = cost_of::<S>(visit.adjacency, visit.column, &tasks);
                Extent { first_page, pages, load: Load { batch: None, tasks, cost } }
            }));
        }
    }

    /// Starts what there is room for: weights first, because copies wait for them.
    fn start(&mut self, scan: &mut Scan<Load>, depth: usize, counts: &mut Counts) {
        while scan.has_room() && scan.in_flight() < depth {
            let extent = match self.weights.pop_front() {
                Some(extent) => extent,
                None => {
                    let Some(next) = self.lists.front() else { return };
                    let cost = next.load.cost;
                    if self.copies.cost > 0 && self.copies.cost + cost > self.visit.copies_max {
                        return;
                    }
                    self.copies.cost += cost;
                    self.lists.pop_front().expect("it was just looked at")
                }
            };
            self.visit.count(counts, extent.pages, extent.load.tasks.len() as u64);
            scan.start(extent);
        }
    }

    fn arrived(
        &mut self,
        arrived: &Arrived<Load>,
        local: &mut S::Local,
        counts: &mut Counts,
    ) -> Result<()> {
        let visit = self.visit;
        let (adjacency, column) = (visit.adjacency, visit.column);
        let page_bytes = adjacency.page_bytes();
        let Load { batch, tasks, cost } = &arrived.extent.load;
        if let Some(batch) = batch {
            for task in tasks {
                let number = column.first_page() + task.page;
                let bytes = arrived.page(number, page_bytes);
                let weights = column.parse(task.page, bytes)?;
                let first = task.page * column.per_page() as u64;
                visit.serve.weights(local, self.copies.batch(*batch), first, weights);
                self.offer(number, adjacency.pages() + task.page, bytes);
            }
            return Ok(());
        }
        let mut batch = S::Batch::default();
        let mut decoded = Decoded::new();
        for task in tasks {
            let number = adjacency.first_page() + task.page;
            let bytes = arrived.page(number, page_bytes);
            let page = adjacency.parse(task.page, bytes, &mut decoded)?;
            let arrival = visit.arrival(&page, bytes, *task);
            visit.serve.take(local, arrival, &mut batch, |_, _, _| false);
            self.offer(number, task.page, bytes);
        }
        self.ask_weights(batch, *cost, local, counts);
        Ok(())
    }

    fn offer(&self, number: u64, place: u64, bytes: &[u8]) {
        if let Some(handle) = self.handle.filter(|_| self.visit.is_kept(place)) {
            handle.offer(number, bytes);
        }
    }

    /// What remains to be done when an extent of weights was taken.
    fn done(&mut self, load: Load) {
        if let Some(place) = load.batch {
            self.copies.done(place);
        }
    }

    /// A page of lists that is in memory: with its weights at once where they are too.
    fn resident(
        &mut self,
        task: PageTask,
        bytes: &[u8],
        local: &mut S::Local,
        counts: &mut Counts,
    ) -> Result<()> {
        let visit = self.visit;
        let mut decoded = Decoded::new();
        let page = visit.adjacency.reparse(task.page, bytes, &mut decoded)?;
        let cost = cost_of::<S>(visit.adjacency, visit.column, &[task]);
        let mut batch = S::Batch::default();
        let mut near = Near { place: u64::MAX, page: None };
        let arrival = visit.arrival(&page, bytes, task);
        visit.serve.take(local, arrival, &mut batch, |local, list, ordinal| {
            self.serve_resident(list, ordinal, &mut near, local, counts)
        });
        self.copies.cost += cost;
        self.ask_weights(batch, cost, local, counts);
        Ok(())
    }

    /// Gives a list to the kernel if all its weights are in memory; false if they are not.
    fn serve_resident(
        &self,
        list: &List<'_>,
        ordinal: u64,
        near: &mut Near<'v>,
        local: &mut S::Local,
        counts: &mut Counts,
    ) -> bool {
        let column = self.visit.column;
        let Some(handle) = self.handle else { return false };
        let places = column.pages_of(ordinal..ordinal + list.targets.len() as u64);
        let first_page = column.first_page();
        // All or nothing: a page that leaves meanwhile cannot take a part of the list with it.
        let all = places
            .clone()
            .all(|place| place == near.place || handle.resident(first_page + place).is_some());
        if !all || places.end - places.start > 4 {
            return false;
        }
        let mut pages = places.clone().map(|place| match near.page.take() {
            Some(page) if place == near.place => Some(page),
            _ => handle.resident(first_page + place),
        });
        let pages: Option<Vec<PageRef<'v>>> = pages.by_ref().collect();
        let Some(pages) = pages else { return false };
        for (place, bytes) in places.zip(pages) {
            counts.pages_cached += u64::from(place != near.place);
            let weights = column.reparse(place, &bytes);
            let first = place * column.per_page() as u64;
            self.visit.serve.list(local, list, ordinal, first, weights);
            *near = Near { place, page: Some(bytes) };
        }
        true
    }

    /// Serves a batch from weights in memory, and plans the reading of the others.
    fn ask_weights(
        &mut self,
        mut batch: S::Batch,
        cost: u64,
        local: &mut S::Local,
        counts: &mut Counts,
    ) {
        let visit = self.visit;
        let column = visit.column;
        let mut missing = Vec::new();
        for place in batch.weight_pages(column) {
            match self.handle.and_then(|handle| handle.resident(column.first_page() + place)) {
                Some(page) => {
                    counts.pages_cached += 1;
                    let weights = column.reparse(place, &page);
                    let first = place * column.per_page() as u64;
                    visit.serve.weights(local, &mut batch, first, weights);
                }
                None => missing.push(PageTask { page: place, from: 0, to: 0 }),
            }
        }
        if missing.is_empty() {
            self.copies.cost -= cost;
            return;
        }
        let mut extents = VecDeque::new();
        let schedule = &visit.engine.schedule;
        schedule.extents(&missing, column.first_page(), Vec::new, &mut extents);
        let batch = Some(self.copies.put(batch, extents.len(), cost));
        self.weights.extend(extents.into_iter().map(|extent| {
            let Extent { first_page, pages, load: tasks } = extent;
            Extent { first_page, pages, load: Load { batch, tasks, cost: 0 } }
        }));
    }
}

/// The page of weights that was used last.
struct Near<'v> {
    place: u64,
    page: Option<PageRef<'v>>,
}
