//! Finds the changes of a page of lists in the runs, and keeps what was read.
//!
//! A pass over the lists asks for their pages in about ascending order on each thread, so it needs
//! each page of a run about once: a thread that goes on a little behind the page that it had last
//! reads many pages at once. Any other look-up reads one page.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cenote_device::{Buffer, Device, Queue, QueueConfig};

use super::page::{RunGroup, RunPage};
use super::run::RunPages;
use crate::error::{PageFault, Result, StoreError, equal};
use crate::format::PageKind;
use crate::header;
use crate::readers::lock;
use crate::table::SectionPages;

/// Most bytes that are read at once.
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// A thread that goes on at most so many chunks behind its last one is in a pass.
const AHEAD_CHUNKS: u64 = 8;

/// So many chunks of a run are kept where not all of it is, for threads that are not equally far.
const CHUNKS_KEPT: usize = 4;

thread_local! {
    /// Requests and bytes that the thread has read.
    static READS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Requests and bytes of delta runs that the calling thread has read since the last call.
pub fn take_run_reads() -> (u64, u64) {
    READS.take()
}

/// What a pass over the lists of a direction reads of delta runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunReads {
    /// Pages of all runs, which the first pass reads.
    pub pages: u64,
    /// Requests for them, about.
    pub requests: u64,
    /// Pages of runs that do not stay in memory, which further passes read again.
    pub pages_again: u64,
    /// Requests for them, about.
    pub requests_again: u64,
}

/// The runs of the lists of one direction.
pub(crate) struct ListRuns {
    /// Distinguishes their chunks from others.
    id: u64,
    device: Arc<dyn Device>,
    section: SectionPages,
    runs: Vec<Run>,
    chunk_pages_max: u64,
    /// Bytes of each run that are kept.
    kept_bytes: usize,
}

impl fmt::Debug for ListRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} delta runs", self.runs.len())
    }
}

struct Run {
    pages: RunPages,
    kept: Mutex<Kept>,
}

/// What is in memory of a run.
#[derive(Default)]
struct Kept {
    /// By their first pages; they do not overlap.
    chunks: BTreeMap<u64, Arc<RunChunk>>,
    /// Their first pages, the one that was read first in front.
    oldest: VecDeque<u64>,
    bytes: usize,
    queue: Option<Box<dyn Queue>>,
    /// That of a dropped chunk, for the next one: new memory costs more than the read into it.
    spare: Option<Buffer>,
}

/// Verified pages of a run.
#[derive(Debug)]
pub(crate) struct RunChunk {
    /// The `id` of its runs.
    of: u64,
    first: u64,
    pages: u64,
    bytes: Buffer,
}

impl Kept {
    fn chunk(&self, page: u64) -> Option<&Arc<RunChunk>> {
        let (_, before) = self.chunks.range(..=page).next_back()?;
        Some(before).filter(|chunk| chunk.holds(page))
    }

    /// The first page of the chunk behind a page that none holds.
    fn next(&self, page: u64) -> Option<u64> {
        self.chunks.range(page..).next().map(|(first, _)| *first)
    }

    fn insert(&mut self, chunk: &Arc<RunChunk>, kept_bytes: usize) {
        self.bytes += chunk.bytes.len();
        self.oldest.push_back(chunk.first);
        self.chunks.insert(chunk.first, Arc::clone(chunk));
        while self.bytes > kept_bytes && self.oldest.len() > 1 {
            let oldest = self.oldest.pop_front().expect("there are several");
            let dropped = self.chunks.remove(&oldest).expect("each chunk is in both");
            self.bytes -= dropped.bytes.len();
            self.spare = Arc::into_inner(dropped).map(|chunk| chunk.bytes);
        }
    }

    fn buffer(&mut self, len: usize) -> Result<Buffer> {
        match self.spare.take().filter(|spare| spare.len() == len) {
            Some(spare) => Ok(spare),
            None => Ok(Buffer::new(len)?),
        }
    }

    /// A queue without a request in flight.
    fn open(&mut self, device: &dyn Device) -> Result<&mut dyn Queue> {
        let open = match self.queue.take() {
            Some(open) => open,
            None => device.queue(&QueueConfig::with_depth(1).any_thread(true))?,
        };
        Ok(self.queue.insert(open).as_mut())
    }
}

fn count_read(len: usize) {
    let (requests, read) = READS.get();
    READS.set((requests + 1, read + len as u64));
}

impl RunChunk {
    fn holds(&self, page: u64) -> bool {
        page.wrapping_sub(self.first) < self.pages
    }
}

/// The place in a run at which a reader was last.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunCursor {
    chunk: Option<Arc<RunChunk>>,
    /// A page of the run, and the page of lists that was asked for.
    number: u64,
    asked: u64,
    /// Where the first group begins that is not before that.
    at: usize,
}

impl ListRuns {
    /// `bytes` are for what is kept of all runs; more for runs so many that a page of each does not
    /// fit.
    pub fn new(
        device: Arc<dyn Device>,
        section: SectionPages,
        runs: Vec<RunPages>,
        bytes: u64,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let page_bytes = section.page_bytes;
        let kept_bytes = (bytes as usize / runs.len().max(1)).max(CHUNKS_KEPT * page_bytes);
        let chunk = (kept_bytes / CHUNKS_KEPT).clamp(page_bytes, CHUNK_BYTES_MAX);
        let run = |pages| Run { pages, kept: Mutex::default() };
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            device,
            section,
            runs: runs.into_iter().map(run).collect(),
            chunk_pages_max: (chunk / page_bytes) as u64,
            kept_bytes,
        }
    }

    /// An error about the changes of a page of lists, of no run in particular.
    #[cold]
    pub fn fault(&self, page: u64, fault: PageFault) -> StoreError {
        let run = self.runs.iter().rev().find(|run| !run.pages.holding(page, None).is_empty());
        let place = run.map_or(0, |run| run.pages.holding(page, None).start);
        self.section.fault(place, fault)
    }

    /// Where the changes of a page of lists may be: physical pages and their epochs.
    pub fn places(&self, page: u64) -> Vec<(u64, u64)> {
        let holding = self.runs.iter().flat_map(|run| run.pages.holding(page, None));
        let identities = holding.map(|number| self.section.identity(number));
        identities.map(|identity| (identity.physical, identity.epoch)).collect()
    }

    /// Bytes of memory of the index, and of the pages that may be kept.
    pub fn memory_bytes(&self) -> usize {
        let of_run = |run: &Run| {
            let pages = (run.pages.pages.end - run.pages.pages.start) as usize;
            let kept = (pages * self.section.page_bytes).min(self.kept_bytes);
            kept + run.pages.firsts.capacity() * 8 + pages * size_of::<(u64, Arc<RunChunk>, u64)>()
        };
        self.runs.iter().map(of_run).sum()
    }

    /// What passes read. Of runs that do not stay in memory the next pass finds nothing, since it
    /// needs them in the same order.
    pub fn reads(&self) -> RunReads {
        let mut reads = RunReads::default();
        for Run { pages, .. } in &self.runs {
            let pages = pages.pages.end - pages.pages.start;
            let requests = pages.div_ceil(self.chunk_pages_max);
            reads.pages += pages;
            reads.requests += requests;
            if pages as usize * self.section.page_bytes > self.kept_bytes {
                reads.pages_again += pages;
                reads.requests_again += requests;
            }
        }
        reads
    }

    /// Bytes of a reader's own chunks, which may be kept no longer by the runs.
    pub fn cursor_bytes(&self) -> usize {
        let of_run = |run: &Run| {
            let pages = (run.pages.pages.end - run.pages.pages.start).min(self.chunk_pages_max);
            pages as usize * self.section.page_bytes + size_of::<RunCursor>()
        };
        self.runs.iter().map(of_run).sum()
    }

    /// Most entries that the runs together add to a page of lists.
    pub fn added_max(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.pages.added_max)).sum()
    }

    /// Calls `visit` with the changes of a page of lists, of the runs from `from` on, the oldest
    /// first. `cursors` are where the caller was last; those of other runs do no harm.
    pub fn of_page(
        &self,
        from: usize,
        page: u64,
        cursors: &mut Vec<RunCursor>,
        visit: &mut dyn FnMut(&RunGroup<'_>) -> Result<(), PageFault>,
    ) -> Result<()> {
        if cursors.len() < self.runs.len() {
            cursors.resize_with(self.runs.len(), RunCursor::default);
        }
        for (run, cursor) in self.runs.iter().zip(cursors).skip(from) {
            let last = self.is_at(cursor, cursor.number).then_some(cursor.number);
            for number in run.pages.holding(page, last) {
                if !self.is_at(cursor, number) {
                    let pages = self.pages_from(cursor.chunk.as_deref(), number);
                    cursor.chunk = Some(self.chunk(run, number, pages)?);
                    cursor.at = 0;
                }
                if let Some(group) = self.group(cursor, number, page) {
                    visit(&group).map_err(|fault| self.section.fault(number, fault))?;
                }
            }
        }
        Ok(())
    }

    /// The changes of a page of lists in a page of a run, which the cursor's chunk holds.
    fn group<'c>(&self, cursor: &'c mut RunCursor, number: u64, page: u64) -> Option<RunGroup<'c>> {
        if cursor.number != number || page < cursor.asked {
            cursor.at = 0;
        }
        (cursor.number, cursor.asked) = (number, page);
        let chunk = cursor.chunk.as_ref().expect("the cursor is there");
        let at = (number - chunk.first) as usize * self.section.page_bytes;
        let of_page = RunPage::reparse(&chunk.bytes[at..at + self.section.page_bytes]);
        of_page.group_of(page, &mut cursor.at)
    }

    fn is_at(&self, cursor: &RunCursor, number: u64) -> bool {
        cursor.chunk.as_ref().is_some_and(|chunk| chunk.of == self.id && chunk.holds(number))
    }

    /// How many pages to read from one on, for a thread that had a chunk last.
    fn pages_from(&self, last: Option<&RunChunk>, number: u64) -> u64 {
        let goes_on = last.filter(|last| last.of == self.id).is_some_and(|last| {
            let end = last.first + last.pages;
            (end..end + AHEAD_CHUNKS * self.chunk_pages_max).contains(&number)
        });
        if goes_on { self.chunk_pages_max } else { 1 }
    }

    /// The chunk with a page of a run, from memory or from the device: then of up to so many pages.
    fn chunk(&self, run: &Run, number: u64, pages: u64) -> Result<Arc<RunChunk>> {
        let mut kept = lock(&run.kept);
        if let Some(chunk) = kept.chunk(number) {
            return Ok(Arc::clone(chunk));
        }
        let (offset, len) = self.place(run, &kept, number, pages);
        let device = self.device.as_ref();
        let buffer = kept.buffer(len)?;
        let queue = kept.open(device)?;
        let read = cenote_device::read_exact_on(queue, device, offset, len, buffer);
        count_read(len);
        // After an error the queue may not be idle.
        let bytes = read.inspect_err(|_| kept.queue = None)?;
        let chunk = self.verified(run, number, bytes)?;
        kept.insert(&chunk, self.kept_bytes);
        Ok(chunk)
    }

    /// Offset and bytes of up to so many pages of a run that lie together and are not in memory.
    fn place(&self, run: &Run, kept: &Kept, number: u64, pages: u64) -> (u64, usize) {
        let SectionPages { section, table, page_bytes, .. } = &self.section;
        let end = kept.next(number).unwrap_or(run.pages.pages.end).min(number + pages);
        let place = table.run(section.first_page + number..section.first_page + end);
        (place.physical * *page_bytes as u64, place.pages as usize * page_bytes)
    }

    fn verified(&self, run: &Run, number: u64, bytes: Buffer) -> Result<Arc<RunChunk>> {
        let page_bytes = self.section.page_bytes;
        for (number, page) in (number..).zip(bytes.chunks_exact(page_bytes)) {
            self.check(run, number, page).map_err(|fault| self.section.fault(number, fault))?;
        }
        let pages = (bytes.len() / page_bytes) as u64;
        Ok(Arc::new(RunChunk { of: self.id, first: number, pages, bytes }))
    }

    fn check(&self, run: &Run, number: u64, bytes: &[u8]) -> Result<(), PageFault> {
        let header = header::verify(bytes, &self.section.identity(number), PageKind::DeltaRun)?;
        let mut groups = RunPage::parse(bytes, &header)?.groups();
        let first = groups.next().map_or(0, |group| group.page);
        let at = (number - run.pages.pages.start) as usize;
        equal("page of the first group", first, run.pages.firsts[at])
    }
}
