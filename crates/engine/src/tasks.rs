//! The pages of a visit, cut into chunks that workers take in file order.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_store::{Adjacency, VertexId};

use crate::error::{EngineError, Result};
use crate::frontier::ActiveSet;

/// The fewest raw pages of 4 KiB that a worker takes at a time, where more are left.
const CHUNK_RAW_PAGES_MIN: u64 = 8;

/// Entries of a full raw page of 4 KiB.
const RAW_PAGE_ENTRIES: u64 = 1 << 10;

/// How many raw pages of 4 KiB hold the entries of a page, in the mean: the work of visiting it.
fn raw_pages_of(adjacency: &Adjacency) -> u64 {
    (adjacency.stored_edges() / adjacency.pages().max(1)).div_ceil(RAW_PAGE_ENTRIES).max(1)
}

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
    /// The pages of a dense set; where tasks are listed, their places.
    pages: Range<u64>,
    chunks: Chunks,
    next: AtomicU64,
}

/// How many pages a worker takes at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    /// The most, and the fewest where more are left.
    pages_max: u64,
    pages_min: u64,
    request_pages: u64,
    workers: u64,
}

impl Chunks {
    /// `request_pages`: pages of a full request.
    pub fn new(adjacency: &Adjacency, pages_max: u64, request_pages: u64, workers: usize) -> Self {
        let pages_min = (CHUNK_RAW_PAGES_MIN / raw_pages_of(adjacency)).max(1);
        Self { pages_max, pages_min, request_pages, workers: workers as u64 }
    }

    /// How many come next of a dense set of `all` pages, of which `rest` are left: full requests,
    /// and fewer towards the end, so that all workers end at about the same time.
    fn next_of(self, all: u64, rest: u64) -> u64 {
        let share = |pages: u64| pages.div_ceil(2 * self.workers).max(self.pages_min);
        let request = self.request_pages.min(share(all));
        share(rest).next_multiple_of(request).min(self.pages_max)
    }

    /// How many listed tasks a worker takes at a time.
    fn of_tasks(self, tasks: usize) -> u64 {
        (tasks as u64 / (4 * self.workers)).clamp(self.pages_min, self.pages_max)
    }
}

impl<'a> TaskSource<'a> {
    pub fn new(adjacency: &'a Adjacency, active: ActiveSet<'a>, chunks: Chunks) -> Self {
        let tasks: Option<Cow<'_, [PageTask]>> =
            active.list().map(|list| PageTask::of_lists(adjacency, list).into());
        let pages = match &tasks {
            Some(tasks) => 0..tasks.len() as u64,
            None => dense_pages(adjacency, &active),
        };
        Self { adjacency, active, tasks, next: AtomicU64::new(pages.start), pages, chunks }
    }

    /// A source of exactly these tasks.
    ///
    /// # Errors
    /// [`EngineError::Tasks`] if a page is beyond the adjacency, or pages do not ascend.
    pub fn of_tasks(
        adjacency: &'a Adjacency,
        tasks: &'a [PageTask],
        chunks: Chunks,
    ) -> Result<Self> {
        let pages = adjacency.pages();
        if let Some(two) = tasks.windows(2).find(|two| two[0].page >= two[1].page) {
            return Err(EngineError::Tasks { page: two[1].page, before: two[0].page, pages });
        }
        if let Some(last) = tasks.last().filter(|last| last.page >= pages) {
            return Err(EngineError::Tasks { page: last.page, before: 0, pages });
        }
        let (active, places) = (ActiveSet::All, 0..tasks.len() as u64);
        let tasks = Some(Cow::Borrowed(tasks));
        Ok(Self { adjacency, active, tasks, pages: places, chunks, next: AtomicU64::new(0) })
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

    /// How many raw pages of 4 KiB the lists of the listed pages fill.
    pub fn listed_raw(&self) -> Option<u64> {
        Some(self.listed()?.saturating_mul(raw_pages_of(self.adjacency)))
    }

    /// The most pages that may be visited.
    pub fn pages_max(&self) -> u64 {
        self.pages.end - self.pages.start
    }

    /// Appends the next chunk of tasks, ascending by page; false if no chunk is left. A chunk of a
    /// dense frontier may be empty.
    pub fn next_chunk(&self, into: &mut Vec<PageTask>) -> bool {
        let Some((from, to)) = self.take() else { return false };
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

    /// Takes the next chunk out of the pages.
    fn take(&self) -> Option<(u64, u64)> {
        let (all, end) = (self.pages_max(), self.pages.end);
        let listed = self.tasks.as_ref().map(|tasks| self.chunks.of_tasks(tasks.len()));
        let behind = |from: u64| {
            let rest = end.checked_sub(from).filter(|rest| *rest > 0)?;
            Some(from + listed.unwrap_or_else(|| self.chunks.next_of(all, rest)).min(rest))
        };
        let from = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, behind).ok()?;
        Some((from, behind(from).expect("it was just taken")))
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

    /// The chunks of a pass over `pages`.
    fn chunks_of(chunks: Chunks, pages: u64) -> Vec<u64> {
        let mut left = pages;
        let mut taken = Vec::new();
        while left > 0 {
            taken.push(chunks.next_of(pages, left).min(left));
            left -= taken[taken.len() - 1];
        }
        taken
    }

    #[test]
    fn every_worker_has_a_share_of_a_pass_in_full_requests() {
        let chunks = Chunks { pages_max: 64, pages_min: 2, request_pages: 16, workers: 2 };
        let long = chunks_of(chunks, 1_000);
        assert_eq!(long[..3], [64; 3]);
        assert!(long.iter().rev().skip(1).all(|chunk| chunk % 16 == 0), "{long:?}");
        assert_eq!(long[long.len() - 3..].iter().max(), Some(&16), "{long:?}");
        // Of fewer pages than a request for each worker, every worker has some all the same.
        assert_eq!(chunks_of(chunks, 20), [5; 4]);
        assert_eq!(chunks_of(chunks, 4), [2; 2]);
    }
}
