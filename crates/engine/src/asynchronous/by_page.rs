//! Page by page: a stack holds the pages of active vertices.
//!
//! The state of a page is lock-free flags: `pending` (for each vertex whose list starts in the
//! page: it is active), `continued` (the piece that the page continues is active), `stacked` (the
//! page lies on a stack), `taken` (a worker reads or processes it). To activate a list, a worker
//! sets the list's flag before `stacked`; to pop a page, it clears `stacked` before it looks for
//! active lists; to release a page, it clears `taken` before it looks again. So no active list is
//! lost. Entries on stacks may be out of date; they are skipped.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use cenote_device::Slab;
use cenote_pool::Handle;
use cenote_pool::scan::Extent;
use cenote_store::{Adjacency, Decoded, EntryOrder, List, Page, VertexId};

use super::Plan;
use super::flags::Flags;
use super::queue::{OwnStacks, WorkQueue};
use super::residual::{Block, Residual};
use super::stack::{Links, Stack};
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Next, Pages, Reads, Work};
use crate::kernel::Kernel;

/// The most pages of a stack processed in memory before the worker polls.
const STEP_PAGES: usize = 64;

/// State that the workers share.
pub(super) struct Shared<'a> {
    adjacency: &'a Adjacency,
    pending: Flags,
    continued: Flags,
    stacked: Flags,
    taken: Flags,
    links: Links<AtomicU64>,
    residual: Residual,
}

impl<'a> Shared<'a> {
    /// The state, and a stack with the sources.
    pub fn new<K>(plan: &Plan<'a, K>, sources: &[VertexId]) -> Result<(Self, Stack)> {
        let adjacency = plan.adjacency;
        let (n, pages) = (plan.engine.graph.vertices() as u64, adjacency.pages());
        let shared = Self {
            adjacency,
            pending: Flags::new(n)?,
            continued: Flags::new(pages)?,
            stacked: Flags::new(pages)?,
            taken: Flags::new(pages)?,
            links: Links::new(pages)?,
            residual: Residual::new(pages, plan.engine.memory.scratch_bytes)?,
        };
        let mut first = Stack::default();
        sources.iter().for_each(|&v| shared.activate(v, None, &mut first));
        Ok((shared, first))
    }

    fn current(&self, page: u64) -> CurrentPage {
        let starting = self.starting_in(page);
        let runs_on = page + 1 < self.adjacency.pages() && self.adjacency.continues(page + 1);
        let end = if runs_on { starting.end.saturating_sub(1) } else { starting.end };
        let whole = starting.start..end;
        CurrentPage { page, starting, whole }
    }

    /// Vertices whose lists start in a page.
    fn starting_in(&self, page: u64) -> Range<u64> {
        let vertices = self.adjacency.vertices_in(page);
        u64::from(vertices.start) + u64::from(self.adjacency.continues(page))
            ..u64::from(vertices.end)
    }

    fn is_active(&self, page: u64) -> bool {
        self.continued.get(page) || self.pending.first_in(self.starting_in(page)).is_some()
    }

    /// Whether a page is active and has no residual lists in memory.
    fn is_to_be_read(&self, page: u64) -> bool {
        self.residual.block(page).is_none() && self.is_active(page)
    }

    /// Makes a list active. The worker's current page is not pushed: the worker looks at it again
    /// before it releases the page.
    fn activate(&self, v: VertexId, current: Option<&CurrentPage>, stack: &mut Stack) {
        if !self.pending.set(u64::from(v))
            || current.is_some_and(|current| current.whole.contains(&u64::from(v)))
        {
            return;
        }
        let current = current.map(|current| current.page);
        let pages = self.adjacency.pages_of(v);
        self.push(*pages.start(), current, stack);
        for page in pages.start() + 1..=*pages.end() {
            if self.continued.set(page) {
                self.push(page, current, stack);
            }
        }
    }

    fn push(&self, page: u64, current: Option<u64>, stack: &mut Stack) {
        if current != Some(page) && self.stacked.set(page) {
            stack.push(&self.links, page);
        }
    }
}

/// The page that a worker processes.
struct CurrentPage {
    page: u64,
    /// Vertices whose lists start in it.
    starting: Range<u64>,
    /// Vertices whose lists are complete in it: `starting`, perhaps without the last.
    whole: Range<u64>,
}

/// A stack whose request is in flight, and the pages that were taken for it, ascending.
struct Load {
    stack: Stack,
    /// First page and number of pages.
    extent: (u64, u64),
    taken: Vec<u64>,
}

/// What [`Worker::advance`] ended with.
enum Advanced {
    /// The stack needs this page, which has been taken.
    Needs(u64, Stack),
    /// The stack has more pages.
    GoesOn(Stack),
    /// The stack is empty.
    Ended,
}

/// One worker.
pub(super) struct Worker<'w, 'f, K: Kernel> {
    plan: &'w Plan<'w, K>,
    shared: &'w Shared<'w>,
    /// For pages in memory, where extents are read.
    resident: Option<&'f Handle>,
    single: bool,
    own: OwnStacks<'w>,
    pub local: K::Local,
    next: Vec<VertexId>,
    targets: Vec<u32>,
    scratch: Vec<u32>,
    decoded: Decoded,
    /// Requests in flight.
    loads: Slab<Load>,
}

impl<'w, 'f, K: Kernel> Worker<'w, 'f, K> {
    pub fn new(
        plan: &'w Plan<'w, K>,
        shared: &'w Shared<'w>,
        queue: &'w WorkQueue,
        reads: &Reads<'f>,
    ) -> Self {
        Self {
            plan,
            shared,
            resident: reads.resident(),
            single: reads.is_single(),
            own: OwnStacks::new(queue, plan.how.threshold),
            local: plan.kernel.local(),
            next: Vec::new(),
            targets: Vec::new(),
            scratch: Vec::new(),
            decoded: Decoded::new(),
            loads: Slab::with_capacity(0),
        }
    }

    /// Returns a stack after work on it; ends the visit if the kernel is done.
    fn settle(&mut self, stack: Stack) {
        self.own.settle(stack, &self.shared.links);
        if self.plan.kernel.is_done(&mut self.local) {
            self.own.queue.end();
        }
    }

    /// Processes the pages of a stack up to one that has to be read.
    fn advance(&mut self, mut stack: Stack, counts: &mut Counts) -> Result<Advanced> {
        let shared = self.shared;
        for _ in 0..STEP_PAGES {
            let Some(page) = stack.pop(&shared.links) else { return Ok(Advanced::Ended) };
            shared.stacked.clear(page);
            if !shared.is_active(page) || !shared.taken.set(page) {
                continue;
            }
            if !self.work_residual(page, &mut stack) {
                let number = self.plan.physical(page);
                let Some(bytes) = self.resident.and_then(|handle| handle.resident(number)) else {
                    return Ok(Advanced::Needs(page, stack));
                };
                let mut decoded = std::mem::take(&mut self.decoded);
                let read = (page, &bytes[..]);
                let order = EntryOrder::Ascending;
                let view =
                    self.plan.engine.unpacked.page(shared.adjacency, read, order, &mut decoded)?;
                self.work_page(page, &view, &mut stack, false);
                self.decoded = decoded;
            }
            counts.pages_cached += 1;
        }
        Ok(Advanced::GoesOn(stack))
    }

    /// The request for a taken page and, as an extent, other active pages nearby.
    fn request(&mut self, page: u64, stack: Stack) -> Next {
        let shared = self.shared;
        let (extent, taken) = if self.single {
            ((page, 1), vec![page])
        } else {
            let extent = self.extent_around(page);
            // Inactive pages between are taken too if their lists will be kept, so that no other
            // worker reads them.
            let is_useful = |near| shared.is_to_be_read(near) || shared.residual.has_room_for(near);
            let is_taken =
                |near: &u64| *near == page || (is_useful(*near) && shared.taken.set(*near));
            let pages = extent.0..extent.0 + extent.1;
            (extent, pages.filter(is_taken).collect())
        };
        let active = taken.len() as u64;
        let (first_page, pages) = (self.plan.physical(extent.0), extent.1);
        let load = self.loads.insert(Load { stack, extent, taken });
        Next::Read(Extent { first_page, pages, load }, active)
    }

    /// The first page and the number of pages of the best extent around an active page.
    fn extent_around(&self, page: u64) -> (u64, u64) {
        let (shared, graph) = (self.shared, &self.plan.engine.graph);
        let (planner, section) =
            (self.plan.engine.schedule.planner(), shared.adjacency.first_page());
        let reach = planner.extent_pages_max() - 1;
        let (from, to) =
            (page.saturating_sub(reach), (page + reach + 1).min(shared.adjacency.pages()));
        let runs = graph.extents(section + from..section + to);
        let runs = runs.map(|run| run.logical - section..run.logical - section + run.pages);
        let nearby = runs.into_iter().find(|run| run.contains(&page));
        let active = nearby.unwrap_or(page..page + 1).filter(|&near| {
            near == page || (shared.is_to_be_read(near) && !shared.taken.get(near))
        });
        let extent = planner.extents(active).find(|extent| extent.first_page + extent.pages > page);
        let extent = extent.expect("one of the extents holds the page");
        (extent.first_page, extent.pages)
    }

    /// Processes the pages of a request that are taken, or active by now, and keeps the lists that
    /// may become active later.
    fn work_extent(&mut self, load: &Load, stack: &mut Stack, pages: &Pages<'_>) -> Result<()> {
        let shared = self.shared;
        let mut taken = load.taken.iter().copied().peekable();
        let mut decoded = std::mem::take(&mut self.decoded);
        for page in load.extent.0..load.extent.0 + load.extent.1 {
            let is_own = taken.next_if_eq(&page).is_some();
            let is_free = || shared.is_active(page) && shared.taken.set(page);
            if !(is_own || is_free()) {
                continue;
            }
            let number = self.plan.physical(page);
            let bytes = pages.page(number);
            let view = if pages.is_verified() {
                shared.adjacency.reparse(page, bytes, &mut decoded)?
            } else {
                shared.adjacency.parse(page, bytes, &mut decoded)?
            };
            let is_kept = self.work_page(page, &view, stack, !self.single);
            if let Some(handle) = self.resident.filter(|_| !is_kept) {
                handle.insert_if_free(number, bytes);
            }
        }
        self.decoded = decoded;
        Ok(())
    }

    /// Processes a taken page; true if its residual lists are kept in memory.
    fn work_page(&mut self, page: u64, view: &Page<'_>, stack: &mut Stack, keep: bool) -> bool {
        let (shared, kernel) = (self.shared, self.plan.kernel);
        let current = shared.current(page);
        loop {
            while self.dispatch(&current, stack, view) == Dispatched::Lists {}
            let may_become_active = |v| kernel.may_become_active(v);
            let is_kept =
                keep && shared.residual.keep(page, view, may_become_active, &mut self.scratch);
            shared.taken.clear(page);
            if !shared.is_active(page) || !shared.taken.set(page) {
                return is_kept;
            }
        }
    }

    /// Processes the residual lists of a taken page. False if the page must be read: it then stays
    /// taken.
    fn work_residual(&mut self, page: u64, stack: &mut Stack) -> bool {
        let shared = self.shared;
        let Some(block) = shared.residual.block(page) else { return false };
        let lists = Kept { block, number: shared.adjacency.first_page() + page };
        let current = shared.current(page);
        loop {
            match self.dispatch(&current, stack, &lists) {
                Dispatched::Lists => continue,
                Dispatched::Missing => return false,
                Dispatched::Nothing => {}
            }
            shared.taken.clear(page);
            if !shared.is_active(page) || !shared.taken.set(page) {
                return true;
            }
        }
    }

    /// Passes the active lists of a taken page to the kernel.
    fn dispatch<L: Lists>(
        &mut self,
        current: &CurrentPage,
        stack: &mut Stack,
        lists: &L,
    ) -> Dispatched {
        let shared = self.shared;
        let mut targets = std::mem::take(&mut self.targets);
        let mut dispatched = Dispatched::Nothing;
        if shared.continued.get(current.page) {
            let v = shared.adjacency.vertices_in(current.page).start;
            let Some(list) = lists.list(v, &mut targets) else { return Dispatched::Missing };
            dispatched = Dispatched::Lists;
            if shared.continued.clear(current.page) {
                self.expand(&list, current, stack);
            }
        }
        let mut range = current.starting.clone();
        while let Some(v) = shared.pending.first_in(range.clone()) {
            range.start = v + 1;
            let vertex = VertexId::try_from(v).expect("vertex ids are u32");
            let Some(list) = lists.list(vertex, &mut targets) else { return Dispatched::Missing };
            dispatched = Dispatched::Lists;
            if shared.pending.clear(v) {
                self.expand(&list, current, stack);
            }
        }
        self.targets = targets;
        dispatched
    }

    fn expand(&mut self, list: &List<'_>, current: &CurrentPage, stack: &mut Stack) {
        self.plan.kernel.expand(&mut self.local, list, &mut self.next);
        for v in self.next.drain(..) {
            self.shared.activate(v, Some(current), stack);
        }
    }
}

impl<K: Kernel> Work for Worker<'_, '_, K> {
    fn processes_arrived_first(&self) -> bool {
        true
    }

    fn next(&mut self, busy: bool, counts: &mut Counts) -> Result<Next> {
        let Some(stack) = self.own.next(busy) else { return Ok(Next::Nothing) };
        match self.advance(stack, counts)? {
            Advanced::Needs(page, stack) => return Ok(self.request(page, stack)),
            Advanced::GoesOn(stack) => self.settle(stack),
            Advanced::Ended => self.own.queue.retire(),
        }
        Ok(Next::Again)
    }

    fn arrived(&mut self, load: u64, pages: &Pages<'_>, _: &mut Counts) -> Result<()> {
        let mut load = self.loads.remove(load);
        let mut stack = std::mem::take(&mut load.stack);
        self.work_extent(&load, &mut stack, pages)?;
        self.settle(stack);
        Ok(())
    }

    fn has_ready(&mut self, room: bool) -> bool {
        room && !self.own.ready.is_empty()
    }

    fn wait(&mut self, stopped: &dyn Fn() -> bool) -> bool {
        self.own.wait(stopped)
    }

    fn is_done(&self) -> bool {
        self.own.queue.has_ended()
    }
}

/// What [`Worker::dispatch`] found.
#[derive(PartialEq, Eq)]
enum Dispatched {
    Nothing,
    Lists,
    /// An active list is not in memory.
    Missing,
}

/// The lists of a page in memory.
trait Lists {
    /// The piece of `v`'s list, if it is in memory; `targets` is a buffer for it.
    fn list<'t>(&'t self, v: VertexId, targets: &'t mut Vec<u32>) -> Option<List<'t>>;
}

impl Lists for Page<'_> {
    fn list<'t>(&'t self, v: VertexId, _: &'t mut Vec<u32>) -> Option<List<'t>> {
        Some(self.list_of(v).expect("the index led to a page with the vertex"))
    }
}

/// The residual lists of a page, and its number in the file.
struct Kept<'a> {
    block: Block<'a>,
    number: u64,
}

impl Lists for Kept<'_> {
    fn list<'t>(&'t self, v: VertexId, targets: &'t mut Vec<u32>) -> Option<List<'t>> {
        self.block.list(v, self.number, targets)
    }
}
