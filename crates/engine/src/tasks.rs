//! The pages of a visit, cut into chunks that workers take in file order.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_store::{Adjacency, VertexId};

use crate::error::{EngineError, Result};
use crate::frontier::ActiveSet;

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
    chunk: u64,
    next: AtomicU64,
}

impl<'a> TaskSource<'a> {
    /// `chunk_pages`: how many pages a worker takes at a time from a dense frontier.
    pub fn new(
        adjacency: &'a Adjacency,
        active: ActiveSet<'a>,
        chunk_pages: u64,
        workers: usize,
    ) -> Self {
        if let Some(list) = active.list() {
            let tasks = Cow::Owned(PageTask::of_lists(adjacency, list));
            let chunk = chunk_of(&tasks, chunk_pages, workers);
            let (end, next) = (0, AtomicU64::new(0));
            return Self { adjacency, active, tasks: Some(tasks), end, chunk, next };
        }
        let pages = dense_pages(adjacency, &active);
        // A range of few pages is shared by the workers too.
        let share = (pages.end - pages.start).div_ceil(2 * workers as u64).max(8);
        let chunk = match active {
            ActiveSet::Within { .. } => chunk_pages.min(share),
            _ => chunk_pages,
        };
        let (end, next) = (pages.end, AtomicU64::new(pages.start));
        Self { adjacency, active, tasks: None, end, chunk, next }
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
        Ok(Self { adjacency, active, tasks, end: 0, chunk, next: AtomicU64::new(0) })
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

    /// Appends the next chunk of tasks, ascending by page; false if no chunk is left. A chunk of a
    /// dense frontier may be empty.
    pub fn next_chunk(&self, into: &mut Vec<PageTask>) -> bool {
        let total = self.tasks.as_ref().map_or(self.end, |t| t.len() as u64);
        let from = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        if from >= total {
            return false;
        }
        let to = (from + self.chunk).min(total);
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
