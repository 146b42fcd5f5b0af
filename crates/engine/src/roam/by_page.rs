//! Roaming page by page: a stack holds pages on which pushed vertices wait.
//!
//! Of a page four things are known, each a flag, so that no worker waits for another:
//! `pending` (of each vertex that starts here, whether its list is wanted), `continued` (whether
//! the piece is wanted of the list that runs into the page), `stacked` (it lies on a stack),
//! `taken` (a worker reads or works at it). Who makes something wanted sets its flag first and then
//! `stacked`; who pops a page clears `stacked` first and then looks what is wanted; who is done
//! with a page clears `taken` first and then looks again. So whatever is wanted is seen by one of
//! them, and since what is wanted is told by flags, an entry on a stack may be out of date: it is
//! passed over.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use cenote_pool::Handle;
use cenote_pool::scan::{Arrived, Extent, Scan};
use cenote_store::{Adjacency, Decoded, List, Page, VertexId};

use super::board::{Board, Own};
use super::flags::Flags;
use super::leftovers::{Block, Leftovers};
use super::stack::{Links, Stack};
use super::{Plan, Roamer, count_single};
use crate::error::Result;
use crate::worker::Counts;

/// Pages that a stack works off in memory before the worker looks at what has arrived.
const STEP_PAGES: usize = 64;

/// What the workers share.
pub(super) struct Shared<'a> {
    adjacency: &'a Adjacency,
    pending: Flags,
    continued: Flags,
    stacked: Flags,
    taken: Flags,
    links: Links<AtomicU64>,
    leftovers: Leftovers,
}

impl<'a> Shared<'a> {
    /// The state, and a stack on which the sources wait.
    pub fn new<R>(plan: &Plan<'a, R>, sources: &[VertexId]) -> Result<(Self, Stack)> {
        let adjacency = plan.adjacency;
        let (n, pages) = (plan.engine.graph.vertices() as u64, adjacency.pages());
        let shared = Self {
            adjacency,
            pending: Flags::new(n)?,
            continued: Flags::new(pages)?,
            stacked: Flags::new(pages)?,
            taken: Flags::new(pages)?,
            links: Links::new(pages)?,
            leftovers: Leftovers::new(pages, plan.engine.memory.scratch_bytes)?,
        };
        let mut first = Stack::default();
        sources.iter().for_each(|&v| shared.want(v, None, &mut first));
        Ok((shared, first))
    }

    fn here(&self, page: u64) -> Here {
        let starting = self.starting_in(page);
        let runs_on = page + 1 < self.adjacency.pages() && self.adjacency.continues(page + 1);
        let end = if runs_on { starting.end.saturating_sub(1) } else { starting.end };
        let whole = starting.start..end;
        Here { page, starting, whole }
    }

    /// Vertices whose lists start in a page.
    fn starting_in(&self, page: u64) -> Range<u64> {
        let vertices = self.adjacency.vertices_in(page);
        u64::from(vertices.start) + u64::from(self.adjacency.continues(page))
            ..u64::from(vertices.end)
    }

    fn is_wanted(&self, page: u64) -> bool {
        self.continued.get(page) || self.pending.first_in(self.starting_in(page)).is_some()
    }

    /// Whether it is wanted and has left nothing in memory.
    fn is_to_be_read(&self, page: u64) -> bool {
        self.leftovers.block(page).is_none() && self.is_wanted(page)
    }

    /// Makes a list wanted. The page that the worker works at, `here`, needs no entry: it looks
    /// again before it leaves.
    fn want(&self, v: VertexId, here: Option<&Here>, stack: &mut Stack) {
        if !self.pending.set(u64::from(v))
            || here.is_some_and(|here| here.whole.contains(&u64::from(v)))
        {
            return;
        }
        let here = here.map(|here| here.page);
        let pages = self.adjacency.pages_of(v);
        self.put(*pages.start(), here, stack);
        for page in pages.start() + 1..=*pages.end() {
            if self.continued.set(page) {
                self.put(page, here, stack);
            }
        }
    }

    fn put(&self, page: u64, here: Option<u64>, stack: &mut Stack) {
        if here != Some(page) && self.stacked.set(page) {
            stack.push(&self.links, page);
        }
    }
}

/// The page that a worker works at.
struct Here {
    page: u64,
    /// Vertices that start in it.
    starting: Range<u64>,
    /// Vertices whose list is whole in it: all of `starting` but perhaps the last.
    whole: Range<u64>,
}

/// A stack whose request is in flight, and the pages that were taken for it, ascending.
struct Load {
    stack: Stack,
    taken: Vec<u64>,
}

/// What became of a stack.
enum Turn {
    /// It needs this page, taken for it.
    Needs(u64, Stack),
    /// There is more to do in memory.
    GoesOn(Stack),
    /// It is empty.
    Ended,
}

/// One worker.
pub(super) struct Worker<'w, R: Roamer> {
    plan: &'w Plan<'w, R>,
    shared: &'w Shared<'w>,
    own: Own<'w>,
    local: R::Local,
    counts: Counts,
    next: Vec<VertexId>,
    targets: Vec<u32>,
    scratch: Vec<u32>,
    decoded: Decoded,
}

impl<'w, R: Roamer> Worker<'w, R> {
    pub fn new(plan: &'w Plan<'w, R>, shared: &'w Shared<'w>, board: &'w Board) -> Self {
        Self {
            plan,
            shared,
            own: Own::new(board, plan.how.threshold),
            local: plan.roamer.local(),
            counts: Counts::default(),
            next: Vec::new(),
            targets: Vec::new(),
            scratch: Vec::new(),
            decoded: Decoded::new(),
        }
    }

    /// `auto`: what is wanted around a page comes with it, as the plan for the drive says.
    pub fn by_extent(mut self, handle: Option<&Handle>) -> Result<(R::Local, Counts)> {
        let schedule = &self.plan.engine.schedule;
        let device = self.plan.engine.graph.device().as_ref();
        let page_bytes = self.shared.adjacency.page_bytes();
        let (depth, bytes) = (schedule.worker_depth(), schedule.request_bytes());
        let mut scan: Scan<Load> = Scan::new(device, depth, bytes, page_bytes)?;
        while !self.is_stopped() {
            let mut turns = 0;
            while scan.has_room() && turns <= depth {
                let Some(stack) = self.own.next(scan.in_flight() > 0) else { break };
                turns += 1;
                match self.advance(stack, handle)? {
                    Turn::Needs(page, stack) => scan.start(self.extent_around(page, stack)),
                    Turn::GoesOn(stack) => self.settle(stack),
                    Turn::Ended => self.own.board.retire(),
                }
            }
            if scan.in_flight() == 0 && self.own.ready.is_empty() {
                let Some(stack) = self.own.board.wait(|| self.is_stopped()) else { break };
                self.own.ready.push(stack);
                continue;
            }
            scan.collect(self.own.ready.is_empty() || !scan.has_room())?;
            while let Some(mut arrived) = scan.next_arrived() {
                let mut stack = std::mem::take(&mut arrived.extent.load.stack);
                self.work_extent(&arrived, &mut stack, handle)?;
                scan.recycle(arrived);
                self.settle(stack);
            }
        }
        while scan.in_flight() > 0 {
            scan.collect(true)?;
            while let Some(arrived) = scan.next_arrived() {
                scan.recycle(arrived);
            }
        }
        Ok((self.local, self.counts))
    }

    /// `block`: page by page through the pool.
    pub fn by_single(mut self, handle: &Handle) -> Result<(R::Local, Counts)> {
        let mut waiting: Vec<Option<Stack>> = Vec::new();
        let mut free: Vec<usize> = Vec::new();
        while !self.is_stopped() {
            while handle.has_room() {
                let Some(stack) = self.own.next(handle.asked() > 0) else { break };
                match self.advance(stack, None)? {
                    Turn::Needs(page, stack) => {
                        let slot = free.pop().unwrap_or(waiting.len());
                        if slot == waiting.len() {
                            waiting.push(None);
                        }
                        waiting[slot] = Some(stack);
                        let number = self.shared.adjacency.first_page() + page;
                        let read = handle.ask(number, slot as u64)?;
                        count_single(&mut self.counts, read, self.shared.adjacency);
                    }
                    Turn::GoesOn(stack) => self.settle(stack),
                    Turn::Ended => self.own.board.retire(),
                }
            }
            let Some((slot, guard)) = handle.take(true)? else {
                let Some(stack) = self.own.board.wait(|| self.is_stopped()) else { break };
                self.own.ready.push(stack);
                continue;
            };
            let mut stack = waiting[slot as usize].take().expect("a stack waits for the page");
            free.push(slot as usize);
            let number = guard.page() - self.shared.adjacency.first_page();
            let mut decoded = std::mem::take(&mut self.decoded);
            let page = self.shared.adjacency.reparse(number, &guard, &mut decoded)?;
            self.work_page(number, &page, &mut stack, false);
            self.decoded = decoded;
            drop(guard);
            self.settle(stack);
        }
        while handle.take(true)?.is_some() {}
        Ok((self.local, self.counts))
    }

    fn is_stopped(&self) -> bool {
        self.own.board.has_ended() || self.plan.engine.config.cancel.is_raised()
    }

    /// A stack has been worked at.
    fn settle(&mut self, stack: Stack) {
        self.own.settle(stack, &self.shared.links);
        if self.plan.roamer.is_done(&mut self.local) {
            self.own.board.end();
        }
    }

    /// Goes on with a stack up to a page that has to be read.
    fn advance(&mut self, mut stack: Stack, handle: Option<&Handle>) -> Result<Turn> {
        let shared = self.shared;
        for _ in 0..STEP_PAGES {
            let Some(page) = stack.pop(&shared.links) else { return Ok(Turn::Ended) };
            shared.stacked.clear(page);
            if !shared.is_wanted(page) || !shared.taken.set(page) {
                continue;
            }
            if self.work_leftovers(page, &mut stack) {
                self.counts.pages_cached += 1;
                continue;
            }
            let number = shared.adjacency.first_page() + page;
            let Some(guard) = handle.and_then(|handle| handle.resident(number)) else {
                return Ok(Turn::Needs(page, stack));
            };
            let mut decoded = std::mem::take(&mut self.decoded);
            let view = shared.adjacency.reparse(page, &guard, &mut decoded)?;
            self.work_page(page, &view, &mut stack, false);
            self.decoded = decoded;
            self.counts.pages_cached += 1;
        }
        Ok(Turn::GoesOn(stack))
    }

    /// The request that brings a taken page, and with it what else is wanted nearby.
    fn extent_around(&mut self, page: u64, stack: Stack) -> Extent<Load> {
        let shared = self.shared;
        let planner = self.plan.engine.schedule.planner();
        let reach = planner.extent_pages_max() - 1;
        let nearby = page.saturating_sub(reach)..(page + reach + 1).min(shared.adjacency.pages());
        let wanted = nearby.filter(|&near| {
            near == page || (shared.is_to_be_read(near) && !shared.taken.get(near))
        });
        let extent = planner.extents(wanted).find(|extent| extent.first_page + extent.pages > page);
        let extent = extent.expect("one of the extents holds the page");
        let all = extent.first_page..extent.first_page + extent.pages;
        // What only lies between is taken too where it will be kept, so that nobody else reads it.
        let is_useful = |near| shared.is_to_be_read(near) || shared.leftovers.has_room_for(near);
        let taken = all.filter(|&near| near == page || (is_useful(near) && shared.taken.set(near)));
        let taken: Vec<u64> = taken.collect();
        self.counts.requests += 1;
        self.counts.bytes += extent.pages * shared.adjacency.page_bytes() as u64;
        self.counts.pages_fetched += extent.pages;
        let first_page = shared.adjacency.first_page() + extent.first_page;
        Extent { first_page, pages: extent.pages, load: Load { stack, taken } }
    }

    /// Works off every page of an extent on which something waits by now, and keeps what may be
    /// wanted later of those that only lay between.
    fn work_extent(
        &mut self,
        arrived: &Arrived<Load>,
        stack: &mut Stack,
        handle: Option<&Handle>,
    ) -> Result<()> {
        let shared = self.shared;
        let Extent { first_page, pages, load } = &arrived.extent;
        let first = first_page - shared.adjacency.first_page();
        let mut taken = load.taken.iter().copied().peekable();
        let mut decoded = std::mem::take(&mut self.decoded);
        for page in first..first + pages {
            let is_ours = taken.next_if_eq(&page).is_some();
            let is_free = || shared.is_wanted(page) && shared.taken.set(page);
            if !(is_ours || is_free()) {
                continue;
            }
            let number = shared.adjacency.first_page() + page;
            let bytes = arrived.page(number, shared.adjacency.page_bytes());
            let view = shared.adjacency.parse(page, bytes, &mut decoded)?;
            self.counts.pages_read += 1;
            let is_kept = self.work_page(page, &view, stack, true);
            if let Some(handle) = handle.filter(|_| !is_kept) {
                handle.offer(number, bytes);
            }
        }
        self.decoded = decoded;
        Ok(())
    }

    /// Works off a taken page; whether what may be wanted of it later is in memory.
    fn work_page(&mut self, page: u64, view: &Page<'_>, stack: &mut Stack, keep: bool) -> bool {
        let (shared, roamer) = (self.shared, self.plan.roamer);
        let here = shared.here(page);
        loop {
            while self.serve(&here, stack, view) == Served::Some {}
            let may_come = |v| roamer.may_come(v);
            let is_kept = keep && shared.leftovers.keep(page, view, may_come, &mut self.scratch);
            shared.taken.clear(page);
            if !shared.is_wanted(page) || !shared.taken.set(page) {
                return is_kept;
            }
        }
    }

    /// Works off a taken page by what it left. False where it has to be read after all: it is
    /// still taken then.
    fn work_leftovers(&mut self, page: u64, stack: &mut Stack) -> bool {
        let shared = self.shared;
        let Some(block) = shared.leftovers.block(page) else { return false };
        let left = Left { block, number: shared.adjacency.first_page() + page };
        let here = shared.here(page);
        loop {
            match self.serve(&here, stack, &left) {
                Served::Some => continue,
                Served::Missing => return false,
                Served::Nothing => {}
            }
            shared.taken.clear(page);
            if !shared.is_wanted(page) || !shared.taken.set(page) {
                return true;
            }
        }
    }

    /// Brings to the roamer what is wanted of a taken page.
    fn serve<L: Lists>(&mut self, here: &Here, stack: &mut Stack, lists: &L) -> Served {
        let shared = self.shared;
        let mut targets = std::mem::take(&mut self.targets);
        let mut served = Served::Nothing;
        if shared.continued.get(here.page) {
            let v = shared.adjacency.vertices_in(here.page).start;
            let Some(list) = lists.list(v, &mut targets) else { return Served::Missing };
            served = Served::Some;
            if shared.continued.clear(here.page) {
                self.roam(&list, here, stack);
            }
        }
        let mut range = here.starting.clone();
        while let Some(v) = shared.pending.first_in(range.clone()) {
            range.start = v + 1;
            let vertex = VertexId::try_from(v).expect("vertex ids are u32");
            let Some(list) = lists.list(vertex, &mut targets) else { return Served::Missing };
            served = Served::Some;
            if shared.pending.clear(v) {
                self.roam(&list, here, stack);
            }
        }
        self.targets = targets;
        served
    }

    fn roam(&mut self, list: &List<'_>, here: &Here, stack: &mut Stack) {
        self.plan.roamer.list(&mut self.local, list, &mut self.next);
        for v in self.next.drain(..) {
            self.shared.want(v, Some(here), stack);
        }
    }
}

/// What [`Worker::serve`] found to do.
#[derive(PartialEq, Eq)]
enum Served {
    Nothing,
    Some,
    /// A list is wanted that is not here.
    Missing,
}

/// Where the lists of a page are.
trait Lists {
    /// The piece of `v`'s list, if it is here; `targets` is memory to put it in.
    fn list<'t>(&'t self, v: VertexId, targets: &'t mut Vec<u32>) -> Option<List<'t>>;
}

impl Lists for Page<'_> {
    fn list<'t>(&'t self, v: VertexId, _: &'t mut Vec<u32>) -> Option<List<'t>> {
        Some(self.list_of(v).expect("the index led to a page with the vertex"))
    }
}

/// What a page left, and its number in the file.
struct Left<'a> {
    block: Block<'a>,
    number: u64,
}

impl Lists for Left<'_> {
    fn list<'t>(&'t self, v: VertexId, targets: &'t mut Vec<u32>) -> Option<List<'t>> {
        self.block.list(v, self.number, targets)
    }
}
