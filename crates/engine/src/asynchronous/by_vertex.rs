//! Vertex by vertex, as the paper's Algorithm 6: a stack holds vertices, pops one, fetches the
//! pages of its list through the pool one after the other, and pushes what they make active.

use std::sync::atomic::AtomicU32;

use cenote_pool::scan::Extent;
use cenote_store::{Decoded, List, VertexId};

use super::Plan;
use super::flags::Flags;
use super::queue::{Own, WorkQueue};
use super::stack::{Links, Stack};
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Next, Pages, Work};
use crate::kernel::Kernel;

/// What the workers share.
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

/// A stack that is reading the list of a vertex: this page, and those up to the last.
pub(super) struct Walk {
    stack: Stack,
    vertex: VertexId,
    page: u64,
    last: u64,
}

/// One worker.
pub(super) struct Worker<'w, K: Kernel> {
    plan: &'w Plan<'w, K>,
    shared: &'w Shared,
    own: Own<'w>,
    /// The lists that are being read. They stay where they are while requests carry their numbers.
    walks: Vec<Walk>,
    /// Numbers of walks that are over.
    free: Vec<usize>,
    /// Walks in the middle of a list that have to submit its next page.
    going: Vec<usize>,
    next: Vec<VertexId>,
    decoded: Decoded,
    pub local: K::Local,
}

impl<'w, K: Kernel> Worker<'w, K> {
    pub fn new(plan: &'w Plan<'w, K>, shared: &'w Shared, queue: &'w WorkQueue) -> Self {
        Self {
            plan,
            shared,
            own: Own::new(queue, plan.how.threshold),
            walks: Vec::new(),
            free: Vec::new(),
            going: Vec::new(),
            next: Vec::new(),
            decoded: Decoded::new(),
            local: plan.kernel.local(),
        }
    }

    /// The number of a walk that has a page to submit.
    fn next_walk(&mut self, busy: bool) -> Option<usize> {
        if let Some(walk) = self.going.pop() {
            return Some(walk);
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
            let walk = Walk { stack, vertex, page: *pages.start(), last: *pages.end() };
            let number = self.free.pop().unwrap_or(self.walks.len());
            match self.walks.get_mut(number) {
                Some(place) => *place = walk,
                None => self.walks.push(walk),
            }
            return Some(number);
        }
    }
}

impl<K: Kernel> Work for Worker<'_, K> {
    type Load = usize;

    fn next(&mut self, busy: bool, _: &mut Counts) -> Result<Next<usize>> {
        Ok(self.next_walk(busy).map_or(Next::Nothing, |load| {
            let first_page = self.plan.physical(self.walks[load].page);
            Next::Read(Extent { first_page, pages: 1, load }, 1)
        }))
    }

    fn arrived(&mut self, number: usize, pages: &Pages<'_>, _: &mut Counts) -> Result<()> {
        let (kernel, local, next) = (self.plan.kernel, &mut self.local, &mut self.next);
        let take = |list: &List<'_>| kernel.expand(local, list, next);
        let walk = &mut self.walks[number];
        let (page, vertices) = (walk.page, [walk.vertex]);
        let bytes = pages.page(self.plan.physical(page));
        self.plan.adjacency.reparse_lists(page, bytes, &vertices, &mut self.decoded, take)?;
        self.next.drain(..).for_each(|v| self.shared.push(v, &mut walk.stack));
        if walk.page < walk.last {
            walk.page += 1;
            self.going.push(number);
        } else {
            self.own.settle(std::mem::take(&mut walk.stack), &self.shared.links);
            self.free.push(number);
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
