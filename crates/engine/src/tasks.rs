//! The pages of a visit, cut into chunks that workers take in file order.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_store::{Adjacency, VertexId};

use crate::error::{EngineError, Result};
use crate::frontier::ActiveSet;

/// A worker takes at most one of this many parts of what its share of a dense frontier's pages
/// would be, so that all workers end at about the same time.
const LAST_SHARES: u64 = 4;

/// The fewest pages that a worker takes at a time from a dense frontier.
const LAST_PAGES_MIN: u64 = 32;

/// A page to fetch, with a range of the caller's indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTask {
    /// Page, relative to the adjacency's first.
    pub page: u64,
    /// Start of a half-open range of indices into an array of the caller; in visits of a sparse
    /// frontier, into its list; in visits of a dense frontier, empty.
    pub from: u32,
    /// End of the range.
    pub to: u32,
}

impl PageTask {
    /// The pages that hold the lists of ascending `vertices`, each once, with the range of indices
    /// into `vertices`.
    pub fn of_lists(adjacency: &Adjacency, vertices: &[VertexId]) -> Vec<Self> {
        let mut tasks: Vec<Self> = Vec::with_capacity(vertices.len());
        for (i, &v) in (0..).zip(vertices) {
            for page in adjacency.pages_of(v) {
                match tasks.last_mut() {
                    Some(last) if last.page == page => last.to = i + 1,
                    _ => tasks.push(Self { page, from: i, to: i + 1 }),
                }
            }
        }
        tasks
    }
}

/// The pages that a visit is to read, ascending, and what kind of visit it is: that decides which
/// of them stay in memory.
#[derive(Clone, Copy, Debug)]
pub struct NamedPages<'a> {
    pub(crate) tasks: &'a [PageTask],
    pub(crate) is_step: bool,
}

impl<'a> NamedPages<'a> {
    /// Those of a pass through the file, or of a part of one: the pages stay that find an empty
    /// frame, so that further passes find a fixed part of theirs in memory.
    pub fn of_pass(tasks: &'a [PageTask]) -> Self {
        Self { tasks, is_step: false }
    }

    /// Those of one of many small steps through the graph, of which the next needs pages nearby:
    /// if they are few beside the frames, the pages that were read last stay, also those in gaps
    /// between others, and a request that continues one of an earlier step reads ahead.
    pub fn of_step(tasks: &'a [PageTask]) -> Self {
        Self { tasks, is_step: true }
    }
}

/// The page tasks of one visit, shared by the workers.
pub(crate) struct TaskSource<'a> {
    adjacency: &'a Adjacency,
    active: ActiveSet<'a>,
    tasks: Option<Cow<'a, [PageTask]>>,
    /// The end of the pages of a dense set.
    end: u64,
    /// The most pages of a chunk.
    chunk: u64,
    workers: u64,
    /// The most pages of a request.
    request: u64,
    next: AtomicU64,
}

impl<'a> TaskSource<'a> {
    /// The most pages that a worker takes at a time from a dense frontier, and those of a request.
    pub fn new(
        adjacency: &'a Adjacency,
        active: ActiveSet<'a>,
        (chunk_pages, request): (u64, u64),
        workers: usize,
    ) -> Self {
        let count = workers as u64;
        if let Some(list) = active.list() {
            let tasks = Cow::Owned(PageTask::of_lists(adjacency, list));
            let chunk = chunk_of(&tasks, chunk_pages, workers);
            let (end, next) = (0, AtomicU64::new(0));
            let tasks = Some(tasks);
            return Self { adjacency, active, tasks, end, chunk, workers: count, request, next };
        }
        let pages = dense_pages(adjacency, &active);
        // A range of few pages is shared by the workers too.
        let share = (pages.end - pages.start).div_ceil(2 * workers as u64).max(8);
        let chunk = match active {
            ActiveSet::Within { .. } => chunk_pages.min(share),
            _ => chunk_pages,
        };
        let (end, next) = (pages.end, AtomicU64::new(pages.start));
        Self { adjacency, active, tasks: None, end, chunk, workers: count, request, next }
    }

    /// A source of exactly these tasks.
    ///
    /// # Errors
    /// [`EngineError::Tasks`] if a page is beyond the adjacency, or pages do not ascend.
    pub fn of_tasks(
        adjacency: &'a Adjacency,
        tasks: &'a [PageTask],
        chunk_pages: u64,
        workers: usize,
    ) -> Result<Self> {
        let pages = adjacency.pages();
        if let Some(two) = tasks.windows(2).find(|two| two[0].page >= two[1].page) {
            return Err(EngineError::Tasks { page: two[1].page, before: two[0].page, pages });
        }
        if let Some(last) = tasks.last().filter(|last| last.page >= pages) {
            return Err(EngineError::Tasks { page: last.page, before: 0, pages });
        }
        let chunk = chunk_of(tasks, chunk_pages, workers);
        let (active, tasks) = (ActiveSet::All, Some(Cow::Borrowed(tasks)));
        let (end, workers, next) = (0, workers as u64, AtomicU64::new(0));
        Ok(Self { adjacency, active, tasks, end, chunk, workers, request: 1, next })
    }

    /// Whether the visit reads every page.
    pub fn is_whole_pass(&self) -> bool {
        self.tasks.is_none() && matches!(self.active, ActiveSet::All)
    }

    /// Vertices of the frontier, where there is one.
    pub fn frontier(&self) -> Option<u64> {
        match self.active {
            ActiveSet::In(frontier) => Some(frontier.count()),
            _ => None,
        }
    }

    /// How many tasks, where they are listed.
    pub fn listed(&self) -> Option<u64> {
        self.tasks.as_ref().map(|tasks| tasks.len() as u64)
    }

    /// The most pages that a worker should have before it: few towards the end of a dense frontier.
    pub fn share_left(&self) -> u64 {
        if self.tasks.is_some() {
            return u64::MAX;
        }
        let from = self.next.load(Ordering::Relaxed);
        part_of(self.end.saturating_sub(from), self.workers)
    }

    /// Takes the next chunk; `None` if none is left.
    fn next_range(&self) -> Option<Range<u64>> {
        if let Some(tasks) = &self.tasks {
            let from = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            let end = tasks.len() as u64;
            return (from < end).then(|| from..(from + self.chunk).min(end));
        }
        let part = |from: u64| whole(part_of(self.end - from, self.workers), self.request);
        let chunk = |from: u64| self.chunk.min(part(from));
        let after = |from: u64| (from + chunk(from)).min(self.end);
        let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |from| {
            (from < self.end).then(|| after(from))
        });
        taken.ok().map(|from| from..after(from))
    }

    /// Appends the next chunk of tasks, ascending by page; false if no chunk is left. A chunk of a
    /// dense frontier may be empty.
    pub fn next_chunk(&self, into: &mut Vec<PageTask>) -> bool {
        let Some(Range { start: from, end: to }) = self.next_range() else { return false };
        match &self.tasks {
            Some(tasks) => into.extend_from_slice(&tasks[from as usize..to as usize]),
            None => into.extend(
                (from..to)
                    .filter(|&p| self.active.any_in(self.adjacency.vertices_in(p)))
                    .map(|page| PageTask { page, from: 0, to: 0 }),
            ),
        }
        true
    }
}

/// The pages among which those of a dense set are.
fn dense_pages(adjacency: &Adjacency, active: &ActiveSet<'_>) -> Range<u64> {
    match *active {
        ActiveSet::Within { from, to } if from >= to => 0..0,
        ActiveSet::Within { from, to } => {
            *adjacency.pages_of(from).start()..adjacency.pages_of(to - 1).end() + 1
        }
        _ => 0..adjacency.pages(),
    }
}

/// How many of the pages that are left of a dense frontier a worker takes at most.
fn part_of(left: u64, workers: u64) -> u64 {
    (left / (LAST_SHARES * workers)).max(LAST_PAGES_MIN)
}

/// As many whole requests as there are in so many pages; of less than one, all.
fn whole(pages: u64, request: u64) -> u64 {
    if pages < request { pages } else { pages / request * request }
}

/// How many listed tasks a worker takes at a time.
fn chunk_of(tasks: &[PageTask], chunk_pages: u64, workers: usize) -> u64 {
    (tasks.len() as u64 / (workers as u64 * 4)).clamp(8, chunk_pages)
}

/// How many pages hold an active list.
pub(crate) fn active_pages(adjacency: &Adjacency, active: &ActiveSet<'_>) -> u64 {
    if let Some(list) = active.list() {
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
    dense_pages(adjacency, active).filter(|&p| active.any_in(adjacency.vertices_in(p))).count()
        as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_shrink_so_that_no_worker_is_left_with_much_of_a_pass() {
        for (pages, workers) in [(1, 2), (16, 1), (100, 2), (2_473, 2), (2_473, 7), (500_000, 64)] {
            let (mut left, mut chunks) = (pages, 0);
            while left > 0 {
                let chunk = whole(part_of(left, workers), 64).min(left);
                let others = left - chunk;
                assert!(chunk <= 32 || (workers * 4 - 1) * chunk <= others + workers * 4, "{left}");
                (left, chunks) = (others, chunks + 1);
            }
            assert!(chunks <= 40 * workers, "{chunks} chunks of {pages} pages");
            assert_eq!([20, 64, 200].map(|pages| whole(pages, 64)), [20, 64, 192]);
        }
    }
}
