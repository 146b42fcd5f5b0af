//! Vertex by vertex (CAVE, Algorithm 6): a stack pops a vertex, fetches the pages of its list
//! through the pool one after the other, and pushes the vertices that become active.

use std::sync::atomic::AtomicU32;

use cenote_pool::scan::Extent;
use cenote_store::{Decoded, List, VertexId};

use super::Plan;
use super::flags::Flags;
use super::queue::{OwnStacks, WorkQueue};
use super::stack::{Links, Stack};
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Next, Pages, Work};
use crate::kernel::Kernel;

/// State that the workers share.
pub(super) struct Shared {
    /// Vertices that lie on a stack.
    stacked: Flags,
    links: Links<AtomicU32>,
}

impl Shared {
    /// The state, and a stack with the sources.
    pub fn new<K>(plan: &Plan<'_, K>, sources: &[VertexId]) -> Result<(Self, Stack)> {
        let n = plan.engine.graph.vertices() as u64;
        let shared = Self { stacked: Flags::new(n)?, links: Links::new(n)? };
        let mut first = Stack::default();
        sources.iter().for_each(|&v| shared.push(v, &mut first));
        Ok((shared, first))
    }

    fn push(&self, v: VertexId, stack: &mut Stack) {
        if self.stacked.set(u64::from(v)) {
            stack.push(&self.links, u64::from(v));
        }
    }
}

/// A stack that reads the list of a vertex, from `page` to `last`.
pub(super) struct ListRead {
    stack: Stack,
    vertex: VertexId,
    page: u64,
    last: u64,
}

/// One worker.
pub(super) struct Worker<'w, K: Kernel> {
    plan: &'w Plan<'w, K>,
    shared: &'w Shared,
    own: OwnStacks<'w>,
    /// Lists being read, in slots: requests carry the slot.
    list_reads: Vec<ListRead>,
    free_slots: Vec<usize>,
    /// Slots of lists whose next page is to be submitted.
    unsubmitted: Vec<usize>,
    next: Vec<VertexId>,
    decoded: Decoded,
    pub local: K::Local,
}

impl<'w, K: Kernel> Worker<'w, K> {
    pub fn new(plan: &'w Plan<'w, K>, shared: &'w Shared, queue: &'w WorkQueue) -> Self {
        Self {
            plan,
            shared,
            own: OwnStacks::new(queue, plan.how.threshold),
            list_reads: Vec::new(),
            free_slots: Vec::new(),
            unsubmitted: Vec::new(),
            next: Vec::new(),
            decoded: Decoded::new(),
            local: plan.kernel.local(),
        }
    }

    /// The slot of a list that has a page to submit.
    fn next_slot(&mut self, busy: bool) -> Option<usize> {
        if let Some(slot) = self.unsubmitted.pop() {
            return Some(slot);
        }
        loop {
            let mut stack = self.own.next(busy)?;
            let Some(item) = stack.pop(&self.shared.links) else {
                self.own.queue.retire();
                continue;
            };
            self.shared.stacked.clear(item);
            let vertex = VertexId::try_from(item).expect("vertex ids are u32");
            let pages = self.plan.adjacency.pages_of(vertex);
            let read = ListRead { stack, vertex, page: *pages.start(), last: *pages.end() };
            let slot = self.free_slots.pop().unwrap_or(self.list_reads.len());
            match self.list_reads.get_mut(slot) {
                Some(free) => *free = read,
                None => self.list_reads.push(read),
            }
            return Some(slot);
        }
    }
}

impl<K: Kernel> Work for Worker<'_, K> {
    fn next(&mut self, busy: bool, _: &mut Counts) -> Result<Next> {
        Ok(self.next_slot(busy).map_or(Next::Nothing, |slot| {
            let first_page = self.plan.physical(self.list_reads[slot].page);
            Next::Read(Extent { first_page, pages: 1, load: slot as u64 }, 1)
        }))
    }

    fn arrived(&mut self, slot: u64, pages: &Pages<'_>, _: &mut Counts) -> Result<()> {
        let (kernel, local, next) = (self.plan.kernel, &mut self.local, &mut self.next);
        let mut take = |list: &List<'_>| kernel.expand(local, list, next);
        let slot = slot as usize;
        let read = &mut self.list_reads[slot];
        let (page, vertices) = (read.page, [read.vertex]);
        let bytes = pages.page(self.plan.physical(page));
        self.plan.adjacency.reparse_lists(page, bytes, &vertices, &mut self.decoded, &mut take)?;
        self.next.drain(..).for_each(|v| self.shared.push(v, &mut read.stack));
        if read.page < read.last {
            read.page += 1;
            self.unsubmitted.push(slot);
        } else {
            self.own.settle(std::mem::take(&mut read.stack), &self.shared.links);
            self.free_slots.push(slot);
        }
        if self.plan.kernel.is_done(&mut self.local) {
            self.own.queue.end();
        }
        Ok(())
    }

    fn wait(&mut self, stopped: &dyn Fn() -> bool) -> bool {
        self.own.wait(stopped)
    }

    fn is_done(&self) -> bool {
        self.own.queue.has_ended()
    }
}
