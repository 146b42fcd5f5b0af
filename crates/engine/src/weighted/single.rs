//! Weighted visits through the pool, a page a request: `block`, and `vertex` alike.

use std::collections::VecDeque;

use cenote_pool::Handle;
use cenote_store::Decoded;

use super::WeightedVisit;
use super::serve::{Copies, Serve, Waiting};
use crate::error::Result;
use crate::tasks::PageTask;
use crate::worker::{Counts, settle};

impl<S: Serve> WeightedVisit<'_, S> {
    /// Each wanted page once, in file order, and the weights of what is wanted of it.
    pub(super) fn by_page(&self, local: &mut S::Local, counts: &mut Counts) -> Result<()> {
        let pool = self.engine.pages.as_ref().expect("single pages have frames");
        let handle = pool.handle();
        let mut waiting: Waiting<S::Batch> = Waiting::new();
        // Pages of weights that are to be asked for, and for which batch.
        let mut asks: VecDeque<(u64, usize)> = VecDeque::new();
        let mut decoded = Decoded::new();
        let mut tasks: VecDeque<PageTask> = VecDeque::new();
        let mut exhausted = false;
        let (lists, weights) = (self.adjacency.first_page(), self.column.first_page());
        loop {
            if self.stopped() {
                return settle(&handle);
            }
            while handle.has_room() {
                if let Some((page, place)) = asks.pop_front() {
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
                let cost = 2 * S::cost_of_page(self.adjacency, self.column, task.page);
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
                    let batch = waiting.batch(tag as usize);
                    self.serve.weights(local, batch, first, weights);
                    waiting.done(tag as usize);
                }
                None => {
                    let (from, to) = ((tag >> 32) as u32, tag as u32);
                    let task = PageTask { page: page - lists, from, to };
                    let mut batch = S::Batch::default();
                    let view = self.adjacency.reparse(task.page, &guard, &mut decoded)?;
                    let arrival = self.arrival(&view, &guard, task);
                    self.serve.take(local, arrival, &mut batch, |_, _, _| false);
                    let cost = 2 * S::cost_of_page(self.adjacency, self.column, task.page);
                    let pages = batch.weight_pages(self.column);
                    if pages.is_empty() {
                        waiting.cost -= cost;
                    } else {
                        let place = waiting.put(batch, pages.len(), cost);
                        asks.extend(pages.into_iter().map(|page| (page, place)));
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
