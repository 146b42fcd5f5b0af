//! The pages of a visit, cut into chunks that workers take in file order.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_store::{Adjacency, VertexId};

use crate::frontier::Wanted;

/// A page that is wanted, and which of the frontier's listed vertices want it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageTask {
    /// Page, relative to the adjacency's first.
    pub page: u64,
    /// Indexes into the frontier's list, half-open; empty where the frontier is not a list and
    /// the page is to be searched for wanted vertices.
    pub from: u32,
    pub to: u32,
}

/// Hands out the page tasks of one visit. Shared by the workers.
pub(crate) struct TaskSource<'a> {
    adjacency: &'a Adjacency,
    wanted: Wanted<'a>,
    tasks: Option<Vec<PageTask>>,
    chunk: u64,
    next: AtomicU64,
}

impl<'a> TaskSource<'a> {
    /// `chunk_pages`: how many pages a worker takes at a time from a dense frontier.
    pub fn new(
        adjacency: &'a Adjacency,
        wanted: Wanted<'a>,
        chunk_pages: u64,
        workers: usize,
    ) -> Self {
        let tasks = wanted.list().map(|list| tasks_of_list(adjacency, list));
        let chunk = match &tasks {
            Some(tasks) => (tasks.len() as u64 / (workers as u64 * 4)).clamp(8, chunk_pages),
            None => chunk_pages,
        };
        Self { adjacency, wanted, tasks, chunk, next: AtomicU64::new(0) }
    }

    /// Page tasks, where the frontier is a list.
    pub fn listed(&self) -> Option<u64> {
        self.tasks.as_ref().map(|tasks| tasks.len() as u64)
    }

    /// Appends the next chunk's tasks, ascending by page; false where nothing is left. A chunk of
    /// a dense frontier may turn out empty.
    pub fn next_chunk(&self, into: &mut Vec<PageTask>) -> bool {
        let total = self.tasks.as_ref().map_or(self.adjacency.pages(), |t| t.len() as u64);
        let from = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        if from >= total {
            return false;
        }
        let to = (from + self.chunk).min(total);
        match &self.tasks {
            Some(tasks) => into.extend_from_slice(&tasks[from as usize..to as usize]),
            None => into.extend(
                (from..to)
                    .filter(|&p| self.wanted.any_in(self.adjacency.vertices_in(p)))
                    .map(|page| PageTask { page, from: 0, to: 0 }),
            ),
        }
        true
    }
}

/// The pages of each listed vertex, each page once.
fn tasks_of_list(adjacency: &Adjacency, list: &[VertexId]) -> Vec<PageTask> {
    let mut tasks: Vec<PageTask> = Vec::with_capacity(list.len());
    for (i, &v) in list.iter().enumerate() {
        let i = u32::try_from(i).expect("a list of u32 vertices is indexed by u32");
        for page in adjacency.pages_of(v) {
            match tasks.last_mut() {
                Some(last) if last.page == page => last.to = i + 1,
                _ => tasks.push(PageTask { page, from: i, to: i + 1 }),
            }
        }
    }
    tasks
}

/// Pages that hold a wanted list: what a visit would have to fetch.
pub(crate) fn pages_wanted(adjacency: &Adjacency, wanted: &Wanted<'_>) -> u64 {
    if let Some(list) = wanted.list() {
        let mut pages = 0;
        let mut last: Option<u64> = None;
        for &v in list {
            let range: RangeInclusive<u64> = adjacency.pages_of(v);
            let (first, end) = (*range.start(), *range.end());
            pages += end - first + 1 - u64::from(last == Some(first));
            last = Some(end);
        }
        return pages;
    }
    (0..adjacency.pages()).filter(|&p| wanted.any_in(adjacency.vertices_in(p))).count() as u64
}
