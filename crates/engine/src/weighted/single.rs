//! Weighted visits through the pool, a page a request: `block`, and `vertex` alike.

use std::collections::VecDeque;

use cenote_pool::Handle;
use cenote_store::Decoded;

use super::batch::{Batch, cost_of_page};
use super::{WeightedKernel, WeightedVisit};
use crate::error::Result;
use crate::tasks::PageTask;
use crate::worker::{Counts, settle};

/// What a worker of single pages keeps.
#[derive(Default)]
struct Waiting {
    /// Batches that wait for pages of weights, and for how many. Emptied places are used again.
    batches: Vec<(Batch, usize)>,
    free: Vec<usize>,
    /// Pages of weights that are to be asked for, and for which batch.
    asks: VecDeque<(u64, usize)>,
    /// Bytes of all batches, and of the pages that are to become one.
    cost: u64,
}

impl Waiting {
    /// Puts a batch aside that needs some pages of weights.
    fn put(&mut self, batch: Batch, pages: Vec<u64>) {
        let waits = (batch, pages.len());
        let place = match self.free.pop() {
            Some(place) => {
                self.batches[place] = waits;
                place
            }
            None => {
                self.batches.push(waits);
                self.batches.len() - 1
            }
        };
        self.asks.extend(pages.into_iter().map(|page| (page, place)));
    }

    /// One page of weights of a batch is done.
    fn done(&mut self, place: usize) {
        let (batch, pages) = &mut self.batches[place];
        *pages -= 1;
        if *pages == 0 {
            self.cost -= batch.cost;
            *batch = Batch::default();
            self.free.push(place);
        }
    }
}

impl<K: WeightedKernel> WeightedVisit<'_, K> {
    /// Each wanted page once, in file order, and the weights of what is wanted of it.
    pub(super) fn by_page(&self, local: &mut K::Local, counts: &mut Counts) -> Result<()> {
        let pool = self.engine.pages.as_ref().expect("single pages have frames");
        let handle = pool.handle();
        let mut waiting = Waiting::default();
        let mut decoded = Decoded::new();
        let mut tasks: VecDeque<PageTask> = VecDeque::new();
        let mut exhausted = false;
        let (lists, weights) = (self.adjacency.first_page(), self.column.first_page());
        loop {
            if self.stopped() {
                return settle(&handle);
            }
            while handle.has_room() {
                if let Some((page, place)) = waiting.asks.pop_front() {
                    self.ask(&handle, weights + page, place as u64, counts)?;
                    continue;
                }
                if tasks.is_empty() && !exhausted {
                    let mut chunk = Vec::new();
                    exhausted = !self.source.next_chunk(&mut chunk);
                    tasks.extend(chunk);
                    continue;
                }
                let Some(task) = tasks.front().copied() else { break };
                let cost = 2 * cost_of_page(self.adjacency, self.column, task.page);
                if waiting.cost > 0 && waiting.cost + cost > self.copies_max {
                    break;
                }
                waiting.cost += cost;
                tasks.pop_front();
                // The task travels as the tag: who wants the page.
                let tag = u64::from(task.from) << 32 | u64::from(task.to);
                self.ask(&handle, lists + task.page, tag, counts)?;
            }
            let Some((tag, guard)) = handle.take(true)? else { return Ok(()) };
            let page = guard.page();
            match page.checked_sub(weights).filter(|page| *page < self.column.pages()) {
                Some(page) => {
                    let first = page * self.column.per_page() as u64;
                    let weights = self.column.reparse(page, &guard);
                    waiting.batches[tag as usize].0.serve(self.kernel, local, first, weights);
                    waiting.done(tag as usize);
                }
                None => {
                    let (from, to) = ((tag >> 32) as u32, tag as u32);
                    let task = PageTask { page: page - lists, from, to };
                    let mut batch = Batch::default();
                    let view = self.adjacency.reparse(task.page, &guard, &mut decoded)?;
                    self.for_each_wanted(&view, task, |list, ordinal| {
                        batch.push(list, ordinal);
                        Ok(())
                    })?;
                    batch.cost = 2 * cost_of_page(self.adjacency, self.column, task.page);
                    if batch.is_empty() {
                        waiting.cost -= batch.cost;
                    } else {
                        let pages = batch.weight_pages(self.column);
                        waiting.put(batch, pages);
                    }
                }
            }
        }
    }

    /// Asks for a page of the file and counts how it will come.
    fn ask(&self, handle: &Handle, page: u64, tag: u64, counts: &mut Counts) -> Result<()> {
        if handle.ask(page, tag)? {
            self.count(counts, 1, 1);
        } else {
            counts.pages_cached += 1;
        }
        Ok(())
    }
}
