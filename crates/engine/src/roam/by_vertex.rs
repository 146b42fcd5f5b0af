//! Roaming vertex by vertex, as the paper's Algorithm 6: a stack holds vertices, pops one, fetches
//! the pages of its list through the pool one after the other, and pushes what they make wanted.

use std::sync::atomic::AtomicU32;

use cenote_pool::Handle;
use cenote_store::{Decoded, List, VertexId};

use super::board::{Board, Own};
use super::flags::Flags;
use super::stack::{Links, Stack};
use super::{Plan, Roamer, count_single};
use crate::error::Result;
use crate::worker::Counts;

/// What the workers share.
pub(super) struct Shared {
    /// Vertices that lie on a stack.
    stacked: Flags,
    links: Links<AtomicU32>,
}

impl Shared {
    /// The state, and a stack with the sources.
    pub fn new<R>(plan: &Plan<'_, R>, sources: &[VertexId]) -> Result<(Self, Stack)> {
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
struct Walk {
    stack: Stack,
    vertex: VertexId,
    page: u64,
    last: u64,
}

/// One worker's part.
pub(super) fn work<R: Roamer>(
    plan: &Plan<'_, R>,
    shared: &Shared,
    board: &Board,
    handle: &Handle,
) -> Result<(R::Local, Counts)> {
    let own = Own::new(board, plan.how.threshold);
    let (waiting, free, going) = (Vec::new(), Vec::new(), Vec::new());
    let local = plan.roamer.local();
    let counts = Counts::default();
    let mut worker = Worker { plan, shared, handle, own, waiting, free, going, local, counts };
    worker.work()?;
    Ok((worker.local, worker.counts))
}

struct Worker<'w, R: Roamer> {
    plan: &'w Plan<'w, R>,
    shared: &'w Shared,
    handle: &'w Handle,
    own: Own<'w>,
    /// Walks whose page was asked for, by the tag under which it comes.
    waiting: Vec<Option<Walk>>,
    free: Vec<usize>,
    /// Walks in the middle of a list that have to ask for its next page.
    going: Vec<Walk>,
    local: R::Local,
    counts: Counts,
}

impl<R: Roamer> Worker<'_, R> {
    fn work(&mut self) -> Result<()> {
        let mut next = Vec::new();
        let mut decoded = Decoded::new();
        while !self.is_stopped() {
            while self.handle.has_room() {
                let Some(walk) = self.next_walk() else { break };
                self.ask(walk)?;
            }
            let Some((slot, guard)) = self.handle.take(true)? else {
                let Some(stack) = self.own.board.wait(|| self.is_stopped()) else { break };
                self.own.ready.push(stack);
                continue;
            };
            let mut walk = self.waiting[slot as usize].take().expect("a walk waits for the page");
            self.free.push(slot as usize);
            let (roamer, local) = (self.plan.roamer, &mut self.local);
            let take = |list: &List<'_>| roamer.list(local, list, &mut next);
            let (page, vertices) = (walk.page, [walk.vertex]);
            self.plan.adjacency.reparse_lists(page, &guard, &vertices, &mut decoded, take)?;
            drop(guard);
            next.drain(..).for_each(|v| self.shared.push(v, &mut walk.stack));
            self.go_on(walk);
        }
        while self.handle.take(true)?.is_some() {}
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.own.board.has_ended() || self.plan.engine.config.cancel.is_raised()
    }

    fn next_walk(&mut self) -> Option<Walk> {
        if let Some(walk) = self.going.pop() {
            return Some(walk);
        }
        loop {
            let mut stack = self.own.next(self.handle.asked() > 0)?;
            let Some(item) = stack.pop(&self.shared.links) else {
                self.own.board.retire();
                continue;
            };
            self.shared.stacked.clear(item);
            let vertex = VertexId::try_from(item).expect("vertex ids are u32");
            let pages = self.plan.adjacency.pages_of(vertex);
            return Some(Walk { stack, vertex, page: *pages.start(), last: *pages.end() });
        }
    }

    fn ask(&mut self, walk: Walk) -> Result<()> {
        let slot = self.free.pop().unwrap_or(self.waiting.len());
        if slot == self.waiting.len() {
            self.waiting.push(None);
        }
        let page = self.plan.adjacency.first_page() + walk.page;
        self.waiting[slot] = Some(walk);
        let read = self.handle.ask(page, slot as u64)?;
        count_single(&mut self.counts, read, self.plan.adjacency);
        Ok(())
    }

    /// A page of the walk's list has been worked off.
    fn go_on(&mut self, walk: Walk) {
        if walk.page < walk.last {
            self.going.push(Walk { page: walk.page + 1, ..walk });
        } else {
            self.own.settle(walk.stack, &self.shared.links);
        }
        if self.plan.roamer.is_done(&mut self.local) {
            self.own.board.end();
        }
    }
}
