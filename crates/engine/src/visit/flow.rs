//! The work of one worker in a visit: reads pages of lists in file order, works at pages in memory
//! meanwhile, and reads weights as soon as it is known which are needed.

use std::collections::VecDeque;

use cenote_device::Slab;
use cenote_pool::scan::Extent;
use cenote_pool::{Handle, PageRef};
use cenote_store::{Decoded, List, WeightColumn};

use super::copies::{Copies, Waiting, cost_of, groups};
use super::dispatch::{Dispatch, Fetched, Give};
use super::{Keeps, Section, Visit};
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Next, Pages, Reads, Work};
use crate::read_ahead::Ahead;
use crate::tasks::PageTask;

/// The most pages in memory that a worker queues, so that requests are submitted before it works
/// at them; in a visit of few pages, at most half of its share.
const READY_MAX: u64 = 512;

/// Where a worker reads one of so many pages at least, it needs nearly all delta runs of them.
const DENSE_SHARE: u64 = 4;

/// The purpose of an extent.
struct Load {
    /// For pages of weights, the slot of the copies that wait for them; None for pages of lists.
    copies: Option<u64>,
    tasks: Vec<PageTask>,
    /// The most bytes that the copies of these lists take.
    cost: u64,
    /// Pages before the first and behind the last of the tasks, for later steps.
    ahead: Ahead,
}

/// Dispatches the lists of a visit, those of one worker.
pub(super) fn run<C: Copies>(
    visit: &Visit<'_>,
    dispatch: &mut dyn Dispatch<C>,
    reads: &mut Reads<'_>,
) -> Result<()> {
    let mut flow = Flow::new(visit, dispatch, reads);
    reads.run(&mut flow)?;
    *reads.decoded = flow.decoded;
    Ok(())
}

struct Flow<'v, 'f, C: Copies> {
    visit: &'v Visit<'v>,
    dispatch: &'v mut dyn Dispatch<C>,
    /// For pages in memory, where extents are read.
    resident: Option<&'f Handle>,
    single: bool,
    decoded: Decoded,
    lists: VecDeque<Extent<Load>>,
    weights: VecDeque<Extent<Load>>,
    /// Pages of lists that are in memory.
    ready: VecDeque<(PageTask, PageRef<'f>)>,
    ready_max: usize,
    /// Whether these come first: [`Visit::is_in_order`].
    ready_first: bool,
    exhausted: bool,
    /// Requests in flight.
    loads: Slab<Load>,
    copies: Waiting<C>,
    tasks: Vec<PageTask>,
    missing: Vec<PageTask>,
    /// Empty task lists for reuse.
    spare: Vec<Vec<PageTask>>,
    /// Whether a page was processed since the last chunk was taken. A worker that fills all of its
    /// depth before that leaves the other workers little of a small visit.
    processed: bool,
}

impl<'v, 'f, C: Copies> Flow<'v, 'f, C> {
    fn new(visit: &'v Visit<'v>, dispatch: &'v mut dyn Dispatch<C>, reads: &mut Reads<'f>) -> Self {
        let workers = visit.engine.config.threads as u64;
        let share = visit.source.pages_max() / workers;
        Self {
            visit,
            dispatch,
            resident: reads.resident(),
            single: reads.is_single(),
            decoded: std::mem::take(reads.decoded),
            lists: VecDeque::new(),
            weights: VecDeque::new(),
            ready: VecDeque::new(),
            ready_max: (share / 2).clamp(1, READY_MAX) as usize,
            ready_first: visit.is_in_order(),
            exhausted: false,
            loads: Slab::with_capacity(0),
            copies: Waiting::new(),
            tasks: Vec::new(),
            missing: Vec::new(),
            spare: Vec::new(),
            processed: true,
        }
    }

    fn column(&self) -> &'v WeightColumn {
        self.visit.column.expect("only visits with weights have copies")
    }

    fn has_room_for_copies(&self) -> bool {
        !C::WAIT || self.copies.cost < self.visit.copies_max
    }

    /// Takes chunks of active pages until there is work.
    fn fill(&mut self) {
        while !self.exhausted && self.lists.is_empty() && self.ready.len() < self.ready_max {
            self.take_chunk();
        }
    }

    fn take_chunk(&mut self) {
        let Visit { adjacency, source, copies_max, .. } = self.visit;
        self.tasks.clear();
        self.missing.clear();
        self.exhausted = !source.next_chunk(&mut self.tasks);
        if let (Some(first), Some(last)) = (self.tasks.first(), self.tasks.last()) {
            let pages = first.page..last.page + 1;
            if self.tasks.len() as u64 * DENSE_SHARE >= pages.end - pages.start {
                adjacency.read_runs_for(pages);
            }
        }
        for &task in &self.tasks {
            let physical = self.visit.physical(Section::Lists, task.page);
            match self.resident.and_then(|handle| handle.resident(physical)) {
                Some(page) => self.ready.push_back((task, page)),
                None => self.missing.push(task),
            }
        }
        let missing = std::mem::take(&mut self.missing);
        if C::WAIT {
            let column = self.column();
            for group in groups::<C>(adjacency, column, &missing, *copies_max) {
                self.plan(group, Section::Lists, None);
            }
        } else {
            self.plan(&missing, Section::Lists, None);
        }
        self.missing = missing;
    }

    /// Plans the requests for pages of a section; returns their number.
    fn plan(&mut self, tasks: &[PageTask], section: Section, copies: Option<u64>) -> usize {
        let Self { visit, spare, lists, weights, single, .. } = self;
        let Visit { engine, adjacency, column, .. } = visit;
        let mut requests = 0;
        let physical = |page| visit.physical(section, page);
        engine.schedule.extents(tasks, *single, physical, |first_page, pages, own| {
            let mut tasks = spare.pop().unwrap_or_default();
            tasks.extend_from_slice(own);
            let cost = match (copies, column) {
                (None, Some(column)) => cost_of::<C>(adjacency, column, own),
                _ => 0,
            };
            let ahead = match visit.keeps {
                Keeps::Last if !*single => {
                    visit.ahead(section, first_page..first_page + pages, own)
                }
                _ => Ahead::default(),
            };
            let first_page = first_page - ahead.before;
            let pages = ahead.before + pages + ahead.after;
            let load = Load { copies, tasks, cost, ahead };
            let into = if section == Section::Weights { &mut *weights } else { &mut *lists };
            into.push_back(Extent { first_page, pages, load });
            requests += 1;
        });
        requests
    }

    fn lists_arrived(&mut self, load: &Load, pages: &Pages<'_>, counts: &mut Counts) -> Result<()> {
        let (adjacency, unpacked) = (self.visit.adjacency, self.visit.unpacked());
        let mut copies = C::default();
        self.keep_unasked(Section::Lists, load, pages);
        for &task in &load.tasks {
            let bytes = pages.page(self.visit.physical(Section::Lists, task.page));
            if !pages.is_verified() {
                adjacency.verify(task.page, bytes)?;
            }
            let page = Fetched { adjacency, unpacked, bytes, task };
            let never = &mut |_: &List<'_>, _: u64, _: &mut Give<'_>| false;
            self.dispatch.page(page, &mut self.decoded, &mut copies, never)?;
            self.keep(Section::Lists, task.page, bytes);
        }
        self.submit_weights(copies, load.cost, counts);
        Ok(())
    }

    fn weights_arrived(&mut self, place: u64, load: &Load, pages: &Pages<'_>) -> Result<()> {
        let column = self.column();
        self.keep_unasked(Section::Weights, load, pages);
        for task in &load.tasks {
            let bytes = pages.page(self.visit.physical(Section::Weights, task.page));
            let weights = if pages.is_verified() {
                column.reparse(task.page, bytes)
            } else {
                column.parse(task.page, bytes)?
            };
            let first = task.page * column.per_page() as u64;
            let copies = self.copies.get_mut(place);
            self.dispatch.weights(copies, first, weights);
            self.keep(Section::Weights, task.page, bytes);
        }
        self.copies.part_done(place);
        Ok(())
    }

    /// Caches a page if [`Visit::is_kept`].
    fn keep(&self, section: Section, page: u64, bytes: &[u8]) {
        if let Some(handle) = self.resident.filter(|_| self.visit.is_kept(section, page)) {
            let physical = self.visit.physical(section, page);
            match self.visit.keeps {
                Keeps::Last => handle.insert_replacing(physical, bytes),
                _ => handle.insert_if_free(physical, bytes),
            };
        }
    }

    /// In small steps, caches the pages of an extent that no task named: those in gaps, and those
    /// read ahead. A damaged page is left out: the visit that needs it reports it.
    fn keep_unasked(&self, section: Section, load: &Load, pages: &Pages<'_>) {
        let (Some(first), Some(last)) = (load.tasks.first(), load.tasks.last()) else { return };
        if self.visit.keeps != Keeps::Last || pages.is_verified() {
            return;
        }
        let (first, last, ahead) = (first.page, last.page, load.ahead);
        self.keep_between(section, (first - ahead.before, first), pages);
        for two in load.tasks.windows(2) {
            self.keep_between(section, (two[0].page + 1, two[1].page), pages);
        }
        self.keep_between(section, (last + 1, last + 1 + ahead.after), pages);
    }

    /// Caches the pages from one to before another, of those that arrived.
    fn keep_between(&self, section: Section, (first, end): (u64, u64), pages: &Pages<'_>) {
        for page in first..end {
            // After changes of the lists, consecutive pages may lie apart in the file.
            let physical = self.visit.physical(section, page);
            if pages.has(physical) {
                let bytes = pages.page(physical);
                if self.visit.verify(section, page, bytes).is_ok() {
                    self.keep(section, page, bytes);
                }
            }
        }
    }

    /// Gives copies their weights in memory, and plans the requests for the others.
    fn submit_weights(&mut self, mut copies: C, cost: u64, counts: &mut Counts) {
        if !C::WAIT {
            return;
        }
        let column = self.column();
        let mut missing = Vec::new();
        for place in copies.weight_pages(column) {
            let physical = self.visit.physical(Section::Weights, place);
            match self.resident.and_then(|handle| handle.resident(physical)) {
                Some(page) => {
                    counts.pages_cached += 1;
                    let weights = column.reparse(place, &page);
                    let first = place * column.per_page() as u64;
                    self.dispatch.weights(&mut copies, first, weights);
                }
                None => missing.push(PageTask { page: place, from: 0, to: 0 }),
            }
        }
        if missing.is_empty() {
            self.copies.cost -= cost;
            return;
        }
        let place = self.copies.insert(copies, cost);
        let parts = self.plan(&missing, Section::Weights, Some(place));
        self.copies.expect_parts(place, parts);
    }
}

impl<C: Copies> Flow<'_, '_, C> {
    fn read(&mut self, extent: Extent<Load>) -> Next {
        let Extent { first_page, pages, load } = extent;
        let active = load.tasks.len() as u64;
        Next::Read(Extent { first_page, pages, load: self.loads.insert(load) }, active)
    }
}

impl<C: Copies> Work for Flow<'_, '_, C> {
    fn next(&mut self, busy: bool, _: &mut Counts) -> Result<Next> {
        if !busy || std::mem::take(&mut self.processed) {
            self.fill();
        }
        // Weights first, because copies wait for them.
        if let Some(extent) = self.weights.pop_front() {
            return Ok(self.read(extent));
        }
        let Some(next) = self.lists.front() else { return Ok(Next::Nothing) };
        let cost = next.load.cost;
        if self.copies.cost > 0 && self.copies.cost + cost > self.visit.copies_max {
            return Ok(Next::Nothing);
        }
        self.copies.cost += cost;
        let extent = self.lists.pop_front().expect("it was just looked at");
        Ok(self.read(extent))
    }

    fn arrived(&mut self, load: u64, pages: &Pages<'_>, counts: &mut Counts) -> Result<()> {
        let mut load = self.loads.remove(load);
        self.processed = true;
        match load.copies {
            Some(place) => self.weights_arrived(place, &load, pages)?,
            None => self.lists_arrived(&load, pages, counts)?,
        }
        load.tasks.clear();
        self.spare.push(load.tasks);
        Ok(())
    }

    fn has_ready(&mut self, _: bool) -> bool {
        !self.ready.is_empty() && self.has_room_for_copies()
    }

    fn ready_first(&self) -> bool {
        self.ready_first
    }

    /// Dispatches a page of lists in memory, and at once the weights that are in memory too.
    fn ready(&mut self, counts: &mut Counts) -> Result<()> {
        let Some((task, bytes)) = self.ready.pop_front() else { return Ok(()) };
        self.processed = true;
        counts.pages_cached += 1;
        let Visit { adjacency, column, .. } = self.visit;
        let mut copies = C::default();
        let mut weights = ResidentWeights { visit: self.visit, handle: self.resident, last: None };
        let page = Fetched { adjacency, unpacked: self.visit.unpacked(), bytes: &bytes, task };
        let now = &mut |list: &List<'_>, address: u64, give: &mut Give<'_>| {
            weights.give(list, address, give, counts)
        };
        self.dispatch.page(page, &mut self.decoded, &mut copies, now)?;
        if let Some(column) = column {
            let cost = cost_of::<C>(adjacency, column, &[task]);
            self.copies.cost += cost;
            self.submit_weights(copies, cost, counts);
        }
        Ok(())
    }

    fn wait(&mut self, _: &dyn Fn() -> bool) -> bool {
        !(self.exhausted
            && self.ready.is_empty()
            && self.lists.is_empty()
            && self.weights.is_empty())
    }
}

/// Gives lists in memory their weights where these are in memory too.
struct ResidentWeights<'v, 'f> {
    visit: &'v Visit<'v>,
    handle: Option<&'f Handle>,
    /// The page of weights that was used last.
    last: Option<(u64, PageRef<'f>)>,
}

impl ResidentWeights<'_, '_> {
    /// Gives a list its weights if all are in memory; false if they are not.
    fn give(
        &mut self,
        list: &List<'_>,
        address: u64,
        give: &mut Give<'_>,
        counts: &mut Counts,
    ) -> bool {
        let (Some(handle), Some(column)) = (self.handle, self.visit.column) else { return false };
        let places = column.pages_of(address..address + list.targets.len() as u64);
        // The weights of most lists are on the page of those before.
        if let Some((place, page)) = &self.last
            && places == (*place..place + 1)
        {
            give(place * column.per_page() as u64, column.reparse(*place, page));
            return true;
        }
        let physical = |place| self.visit.physical(Section::Weights, place);
        // All pages are pinned before the list is dispatched: one may be evicted meanwhile.
        let is_last = |place| self.last.as_ref().is_some_and(|(last, _)| *last == place);
        let is_resident = |place| is_last(place) || handle.resident(physical(place)).is_some();
        if places.end - places.start > 4 || !places.clone().all(is_resident) {
            return false;
        }
        let mut last = self.last.take();
        let pages = places.map(|place| match last.take() {
            Some((known, page)) if known == place => Some((place, page, false)),
            _ => Some((place, handle.resident(physical(place))?, true)),
        });
        let Some(pages) = pages.collect::<Option<Vec<_>>>() else { return false };
        for (place, page, is_new) in pages {
            counts.pages_cached += u64::from(is_new);
            let weights = column.reparse(place, &page);
            let first = place * column.per_page() as u64;
            give(first, weights);
            self.last = Some((place, page));
        }
        true
    }
}
