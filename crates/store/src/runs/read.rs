//! Finds the changes of a page of lists in the runs, and keeps what was read.
//!
//! A pass over the lists asks for their pages in about ascending order on each thread, so it needs
//! each page of a run about once. A visit says which pages of lists it will read next, and what
//! belongs to them is read meanwhile. Else a thread that goes on a little behind the pages that it
//! had last reads many pages at once, and the next ones are read while it works. Any other look-up
//! reads the pages, most often one, that have the changes of its page of lists.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use cenote_device::Device;

use super::ahead::ReadAhead;
use super::chunks::{Chunks, Reading, Run, RunChunk};
use super::page::{EDIT_BYTES, RunGroup};
use super::run::RunPages;
use crate::error::{PageFault, Result, StoreError};
use crate::table::SectionPages;

/// A thread that goes on at most so many pages behind its last chunk is in a pass: to read on costs
/// less than a request for each page that it needs.
const PASS_PAGES: u64 = 16;

/// Pages of a run that are read for nothing rather than with another request, between two that are
/// needed.
const GAP_PAGES: u64 = 2;

/// Of the pages of a run that are kept, a look-up may have one of so many asked for before it needs
/// them: other threads look up lists, too, and pages stay that were used.
const ASKED_SHARE: usize = 4;

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
    chunks: Arc<Chunks>,
    /// Started by the first pass; none where that failed.
    ahead: OnceLock<Option<ReadAhead>>,
}

impl fmt::Debug for ListRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} delta runs", self.chunks.runs.len())
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
    /// As [`Chunks::new`].
    pub fn new(
        device: Arc<dyn Device>,
        section: SectionPages,
        runs: Vec<RunPages>,
        bytes: u64,
    ) -> Self {
        let chunks = Arc::new(Chunks::new(device, section, runs, bytes));
        Self { chunks, ahead: OnceLock::new() }
    }

    /// An error about the changes of a page of lists, of no run in particular.
    #[cold]
    pub fn fault(&self, page: u64, fault: PageFault) -> StoreError {
        let mut holding = self.runs().rev().map(|run| run.holding(page, None));
        let place = holding.find(|numbers| !numbers.is_empty()).map_or(0, |numbers| numbers.start);
        self.chunks.section.fault(place, fault)
    }

    /// Where the changes of a page of lists may be: physical pages and their epochs.
    pub fn places(&self, page: u64) -> Vec<(u64, u64)> {
        let holding = self.runs().flat_map(|run| run.holding(page, None));
        let identities = holding.map(|number| self.chunks.section.identity(number));
        identities.map(|identity| (identity.physical, identity.epoch)).collect()
    }

    /// Bytes of memory of the index.
    pub fn index_bytes(&self) -> usize {
        let of_run = |run: &RunPages| {
            run.firsts.capacity() * 8 + run.len() as usize * size_of::<(u64, Arc<RunChunk>, u64)>()
        };
        self.runs().map(of_run).sum()
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        self.runs().map(|run| run.len() * self.page_bytes() as u64).sum()
    }

    /// Bytes of the pages that may be kept now.
    pub fn kept_bytes(&self) -> usize {
        let of_run =
            |run: &Run| (run.pages.len() as usize * self.page_bytes()).min(run.kept_bytes());
        self.chunks.runs.iter().map(of_run).sum()
    }

    /// Bytes of the pages that are kept with so many for all runs, and of the chunks of so many
    /// readers, which may be kept no longer by the runs. A run that is not kept as a whole has the
    /// memory of one more chunk at hand for the next one.
    pub fn bytes_with(&self, bytes: u64, readers: usize) -> u64 {
        let of_run = |(run, kept_bytes): (&Run, usize)| {
            let all = run.pages.len() as usize * self.page_bytes();
            let chunk = run.chunk_pages_of(kept_bytes, self.page_bytes());
            let chunk = run.pages.len().min(chunk) as usize * self.page_bytes();
            let of_readers = readers * (chunk + size_of::<RunCursor>());
            let spare = if readers > 0 && kept_bytes < all { chunk } else { 0 };
            (all.min(kept_bytes) + of_readers + spare) as u64
        };
        self.chunks.runs.iter().zip(self.chunks.kept_of(bytes)).map(of_run).sum()
    }

    /// As [`Chunks::lend`].
    pub fn lend(&self, bytes: u64) {
        self.chunks.lend(bytes);
    }

    /// As [`Chunks::give_back`].
    pub fn give_back(&self, bytes: u64) {
        self.chunks.give_back(bytes);
    }

    /// What passes read, with what may be kept now.
    pub fn reads(&self) -> RunReads {
        self.reads_of(self.chunks.runs.iter().map(Run::kept_bytes))
    }

    /// What passes read, with so many bytes for what is kept of all runs.
    pub fn reads_with(&self, bytes: u64) -> RunReads {
        self.reads_of(self.chunks.kept_of(bytes).into_iter())
    }

    /// What passes read, with so many bytes kept of each run. Of runs that do not stay in memory
    /// the next pass finds nothing, since it needs them in the same order.
    fn reads_of(&self, kept: impl Iterator<Item = usize>) -> RunReads {
        let mut reads = RunReads::default();
        for (run, kept_bytes) in self.chunks.runs.iter().zip(kept) {
            let pages = run.pages.len();
            let requests = pages.div_ceil(run.chunk_pages_of(kept_bytes, self.page_bytes()));
            reads.pages += pages;
            reads.requests += requests;
            if pages as usize * self.page_bytes() > kept_bytes {
                reads.pages_again += pages;
                reads.requests_again += requests;
            }
        }
        reads
    }

    /// Most entries that the runs together add to a page of lists.
    pub fn added_max(&self) -> u64 {
        self.runs().map(|run| u64::from(run.added_max)).sum()
    }

    /// An upper bound of the entries that the runs add to any so many pages of lists together.
    pub fn added_max_of(&self, pages: u64) -> u64 {
        let page_edits = (self.page_bytes() / EDIT_BYTES) as u64;
        self.runs().map(|run| run.added_max_of(pages, page_edits)).sum()
    }

    fn runs(&self) -> impl DoubleEndedIterator<Item = &RunPages> {
        self.chunks.runs.iter().map(|run| &run.pages)
    }

    fn page_bytes(&self) -> usize {
        self.chunks.section.page_bytes
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
        let runs = self.chunks.runs.len();
        if cursors.len() < runs {
            cursors.resize_with(runs, RunCursor::default);
        }
        for ((run, pages), cursor) in self.runs().enumerate().zip(cursors).skip(from) {
            let last = self.is_at(cursor, cursor.number).then_some(cursor.number);
            let holding = pages.holding(page, last);
            let before = self.chunks.pages_of(cursor.chunk.as_deref());
            for number in holding.clone() {
                if !self.is_at(cursor, number) {
                    let chunk = self.chunk(run, before.clone(), number..holding.end)?;
                    cursor.at = 0;
                    if let Some(before) = cursor.chunk.replace(chunk) {
                        self.chunks.give_up(run, before);
                    }
                }
                if let Some(group) = self.group(run, cursor, number, page)? {
                    visit(&group).map_err(|fault| self.chunks.section.fault(number, fault))?;
                }
            }
        }
        Ok(())
    }

    /// Has the parts of runs read that have the changes of a range of pages of lists, all of which
    /// a pass will read next.
    pub fn read_for_pass(&self, pages: Range<u64>) {
        if pages.is_empty() || matches!(self.ahead.get(), Some(None)) {
            return;
        }
        for (run, of_run) in self.runs().enumerate() {
            let needed =
                of_run.holding(pages.start, None).start..of_run.holding(pages.end - 1, None).end;
            if !needed.is_empty() {
                self.read_begun(self.chunks.begin_chunks(run, needed));
            }
        }
    }

    /// Has the pages of runs read that have the changes of `pages` of lists, up to that at `at` at
    /// least, while the caller reads these pages, `in_flight` at a time. They ascend; `asked` is
    /// how many of them were asked for before, of each run. Of a run of which too little is kept
    /// for that, pages are read when they are needed.
    pub fn read_for(&self, pages: &[u64], at: usize, in_flight: usize, asked: &mut Vec<usize>) {
        if matches!(self.ahead.get(), Some(None)) {
            return;
        }
        asked.resize(self.chunks.runs.len(), 0);
        for ((run, of_run), asked) in self.runs().enumerate().zip(asked) {
            if !self.chunks.has_room(run, in_flight * ASKED_SHARE) {
                continue;
            }
            let chunk_pages = self.chunks.runs[run].chunk_pages(self.page_bytes());
            while *asked <= at {
                let mut needed = of_run.holding(pages[*asked], None);
                *asked += 1;
                while let Some(page) = pages.get(*asked) {
                    let next = of_run.holding(*page, None);
                    let is_near = next.start <= needed.end + GAP_PAGES;
                    if !is_near || next.end - needed.start > chunk_pages {
                        break;
                    }
                    needed.end = next.end;
                    *asked += 1;
                }
                self.read_begun(self.chunks.begin_all(run, needed));
            }
        }
    }

    /// The changes of a page of lists in a page of a run, which the cursor's chunk holds.
    fn group<'c>(
        &self,
        run: usize,
        cursor: &'c mut RunCursor,
        number: u64,
        page: u64,
    ) -> Result<Option<RunGroup<'c>>> {
        if cursor.number != number || page < cursor.asked {
            cursor.at = 0;
        }
        (cursor.number, cursor.asked) = (number, page);
        let chunk = cursor.chunk.as_ref().expect("the cursor is there");
        let of_page = self.chunks.page(run, chunk, number)?;
        Ok(of_page.group_of(page, &mut cursor.at))
    }

    fn is_at(&self, cursor: &RunCursor, number: u64) -> bool {
        cursor.chunk.as_ref().is_some_and(|chunk| self.chunks.holds(chunk, number))
    }

    /// The chunk with the first of some pages of a run, for a thread that had a chunk of the pages
    /// `before`.
    fn chunk(
        &self,
        run: usize,
        before: Option<Range<u64>>,
        Range { start, end }: Range<u64>,
    ) -> Result<Arc<RunChunk>> {
        let of_run = &self.chunks.runs[run];
        let chunk_pages = of_run.chunk_pages(self.page_bytes());
        let near = PASS_PAGES.min(chunk_pages);
        let behind = before.as_ref().and_then(|before| start.checked_sub(before.end));
        let goes_on = |pages| behind.is_some_and(|behind| behind < pages);
        let pages = match goes_on(PASS_PAGES) {
            true => of_run.chunk_end(start, self.page_bytes()) - start,
            false => chunk_pages.min(end - start),
        };
        let chunk = self.chunks.chunk(run, start, pages)?;
        // A list may go on in the next page: behind several pages it is surely a pass. One that
        // leaves out whole chunks does not need the next ones either.
        if goes_on(near) && before.is_some_and(|before| before.end - before.start >= near) {
            self.read_ahead(run, chunk.end());
        }
        Ok(chunk)
    }

    /// Has the next chunks of a run, from a page on, read while the caller works.
    fn read_ahead(&self, run: usize, from: u64) {
        if !matches!(self.ahead.get(), Some(None)) {
            self.read_begun(self.chunks.begin_next(run, from));
        }
    }

    /// Has chunks read while the caller works. Where there is no thread, they are read when they
    /// are needed.
    fn read_begun(&self, begun: Vec<Reading>) {
        if !begun.is_empty()
            && let Some(ahead) = self.ahead.get_or_init(|| ReadAhead::start(&self.chunks.device))
        {
            ahead.read(begun);
        }
    }
}
