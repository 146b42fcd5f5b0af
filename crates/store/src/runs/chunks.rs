//! The parts of runs that are in memory.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use cenote_device::{Buffer, Device, Op, Queue, QueueConfig, Request};

use super::page::RunPage;
use super::run::RunPages;
use crate::error::{PageFault, Result, equal};
use crate::format::PageKind;
use crate::header;
use crate::readers::lock;
use crate::table::SectionPages;

/// Most bytes that are read at once.
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// The memory for a run that does not stay in it is divided into so many chunks, of a page at
/// least. Several are needed: a pass visits pages of lists that are in memory before those that it
/// waits for, and threads are not equally far.
const CHUNKS_KEPT: usize = 16;

/// So many pages of a run are kept, however little the memory is.
const PAGES_KEPT_MIN: usize = 4;

/// Of the chunks that are kept, one of so many is for those that a pass will need next.
const AHEAD_SHARE: usize = 4;

thread_local! {
    /// Requests and bytes that the thread has asked for.
    static READS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Requests and bytes of delta runs that the calling thread has asked for since the last call.
pub fn take_run_reads() -> (u64, u64) {
    READS.take()
}

fn count_read(len: usize) {
    let (requests, read) = READS.get();
    READS.set((requests + 1, read + len as u64));
}

/// The runs of the lists of one direction, and what is in memory of them.
pub(super) struct Chunks {
    /// Distinguishes them from those of other runs.
    id: u64,
    pub device: Arc<dyn Device>,
    pub section: SectionPages,
    pub runs: Vec<Run>,
    memory: Mutex<Memory>,
}

/// The bytes for what is kept of all runs.
#[derive(Debug)]
struct Memory {
    /// If none are lent.
    usual: u64,
    lent: u64,
    loans: u64,
}

pub(super) struct Run {
    pub pages: RunPages,
    /// Most bytes of it that are kept.
    kept_bytes: AtomicUsize,
    kept: Mutex<Kept>,
    /// Notified when a chunk was read.
    was_read: Condvar,
}

/// What is in memory of a run.
#[derive(Default)]
struct Kept {
    /// By their first pages; neither they nor those that are being read overlap.
    chunks: BTreeMap<u64, Arc<RunChunk>>,
    /// Their first pages, the one that was read first in front.
    oldest: VecDeque<u64>,
    /// Those that are being read: their first pages, and how many they have.
    reading: BTreeMap<u64, u64>,
    /// Of both.
    bytes: usize,
    /// A queue without a request in flight.
    idle: Option<Box<dyn Queue>>,
    /// That of a dropped chunk, for the next one: new memory costs more than the read into it.
    spare: Option<Buffer>,
}

/// Pages of a run.
#[derive(Debug)]
pub(super) struct RunChunk {
    /// The `id` of its runs.
    of: u64,
    first: u64,
    pages: u64,
    bytes: Buffer,
    /// Whether a page was verified.
    are_verified: Box<[AtomicBool]>,
}

impl RunChunk {
    fn holds(&self, page: u64) -> bool {
        page.wrapping_sub(self.first) < self.pages
    }

    /// The page behind its last one.
    pub fn end(&self) -> u64 {
        self.first + self.pages
    }
}

impl Kept {
    fn chunk(&self, page: u64) -> Option<&Arc<RunChunk>> {
        let (_, before) = self.chunks.range(..=page).next_back()?;
        Some(before).filter(|chunk| chunk.holds(page))
    }

    /// The page behind those with a page that are being read together.
    fn reading_until(&self, page: u64) -> Option<u64> {
        let (first, pages) = self.reading.range(..=page).next_back()?;
        Some(first + pages).filter(|end| page < *end)
    }

    /// The first page of what is in memory, or is being read, behind a page that is neither.
    fn next(&self, page: u64) -> Option<u64> {
        let chunk = self.chunks.range(page..).next().map(|(first, _)| *first);
        let reading = self.reading.range(page..).next().map(|(first, _)| *first);
        chunk.into_iter().chain(reading).min()
    }

    /// Drops the oldest chunks until there is room for so many bytes more, or none is left.
    fn make_room(&mut self, len: usize, kept_bytes: usize) {
        while self.bytes + len > kept_bytes
            && let Some(oldest) = self.oldest.pop_front()
        {
            let dropped = self.chunks.remove(&oldest).expect("each chunk is in both");
            self.bytes -= dropped.bytes.len();
            self.recycle(dropped);
        }
    }

    /// Takes the memory of a chunk that is no longer kept, unless a reader still has it.
    fn recycle(&mut self, chunk: Arc<RunChunk>) {
        if let Some(chunk) = Arc::into_inner(chunk) {
            self.spare = Some(chunk.bytes);
        }
    }

    /// Adds a chunk that was being read.
    fn insert(&mut self, chunk: &Arc<RunChunk>) {
        self.reading.remove(&chunk.first).expect("it was being read");
        self.oldest.push_back(chunk.first);
        self.chunks.insert(chunk.first, Arc::clone(chunk));
    }
}

impl Run {
    fn new(pages: RunPages, kept_bytes: usize) -> Self {
        let kept_bytes = AtomicUsize::new(kept_bytes);
        Self { pages, kept_bytes, kept: Mutex::default(), was_read: Condvar::new() }
    }

    /// Most bytes of it that are kept.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes.load(Ordering::Relaxed)
    }

    /// Most pages of a chunk.
    pub fn chunk_pages(&self, page_bytes: usize) -> u64 {
        self.chunk_pages_of(self.kept_bytes(), page_bytes)
    }

    /// Most pages of a chunk if so many bytes are kept.
    pub fn chunk_pages_of(&self, kept_bytes: usize, page_bytes: usize) -> u64 {
        let stays = self.pages.len() as usize * page_bytes <= kept_bytes;
        let chunk = kept_bytes / if stays { AHEAD_SHARE } else { CHUNKS_KEPT };
        (chunk.clamp(page_bytes, CHUNK_BYTES_MAX) / page_bytes) as u64
    }

    /// The first page of the chunk with a page, where a pass reads it. All but the last have one
    /// length, so that they can use each other's memory.
    fn chunk_start(&self, page: u64, page_bytes: usize) -> u64 {
        page - (page - self.pages.pages.start) % self.chunk_pages(page_bytes)
    }

    /// The page behind it.
    pub fn chunk_end(&self, page: u64, page_bytes: usize) -> u64 {
        let end = self.chunk_start(page, page_bytes) + self.chunk_pages(page_bytes);
        end.min(self.pages.pages.end)
    }

    /// Most pages that are read before a pass needs them.
    fn ahead_pages(&self, page_bytes: usize) -> u64 {
        let kept_bytes = self.kept_bytes();
        let chunk_pages = self.chunk_pages_of(kept_bytes, page_bytes);
        let chunks = kept_bytes / (chunk_pages as usize * page_bytes);
        (chunks.min(CHUNKS_KEPT) / AHEAD_SHARE) as u64 * chunk_pages
    }

    /// No more reads are begun for passes while so many pages are being read: these cannot be
    /// dropped to make room, and each of many threads asks for some.
    fn reading_pages_max(&self, page_bytes: usize) -> u64 {
        (self.kept_bytes() / page_bytes / 2) as u64
    }

    /// Changes how much is kept.
    fn keep(&self, kept_bytes: usize) {
        self.kept_bytes.store(kept_bytes, Ordering::Relaxed);
        let mut kept = lock(&self.kept);
        kept.make_room(0, kept_bytes);
        kept.spare = None;
    }
}

/// Divides memory among runs of so many bytes, by the roots of these: then all of them are read in
/// the fewest chunks. What a small one does not need is for the others.
pub(super) fn shares(runs: &[usize], bytes: usize) -> Vec<usize> {
    let mut ascending: Vec<usize> = (0..runs.len()).collect();
    ascending.sort_by_key(|&run| runs[run]);
    let (mut shares, mut rest) = (vec![0; runs.len()], bytes);
    let mut roots: usize = runs.iter().map(|bytes| bytes.isqrt()).sum();
    for run in ascending {
        let root = runs[run].isqrt();
        let share = rest as u128 * root as u128 / roots.max(1) as u128;
        shares[run] = runs[run].min(share as usize);
        (rest, roots) = (rest - shares[run], roots - root);
    }
    shares
}

/// Most bytes that are kept of each of these runs.
fn kept_of(sizes: &[usize], bytes: u64, page_bytes: usize) -> Vec<usize> {
    let shares = shares(sizes, usize::try_from(bytes).unwrap_or(usize::MAX));
    shares.into_iter().map(|share| share.max(PAGES_KEPT_MIN * page_bytes)).collect()
}

impl Chunks {
    /// `bytes` are for what is kept of all runs; more is kept where they are too few for
    /// [`PAGES_KEPT_MIN`] pages of each.
    pub fn new(
        device: Arc<dyn Device>,
        section: SectionPages,
        runs: Vec<RunPages>,
        bytes: u64,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let page_bytes = section.page_bytes;
        let sizes: Vec<usize> = runs.iter().map(|run| run.len() as usize * page_bytes).collect();
        let runs = runs.into_iter().zip(kept_of(&sizes, bytes, page_bytes));
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            device,
            runs: runs.map(|(run, kept_bytes)| Run::new(run, kept_bytes)).collect(),
            section,
            memory: Mutex::new(Memory { usual: bytes, lent: 0, loans: 0 }),
        }
    }

    /// Most bytes that are kept of each run, where so many are for all.
    pub fn kept_of(&self, bytes: u64) -> Vec<usize> {
        let page_bytes = self.section.page_bytes;
        let sizes = self.runs.iter().map(|run| run.pages.len() as usize * page_bytes);
        kept_of(&sizes.collect::<Vec<_>>(), bytes, page_bytes)
    }

    /// Lends so many bytes for what is kept, until they are given back. What several lend is added
    /// up, and replaces the usual bytes.
    pub fn lend(&self, bytes: u64) {
        let mut memory = lock(&self.memory);
        (memory.lent, memory.loans) = (memory.lent + bytes, memory.loans + 1);
        self.keep(&memory);
    }

    /// Gives back bytes that were lent.
    pub fn give_back(&self, bytes: u64) {
        let mut memory = lock(&self.memory);
        (memory.lent, memory.loans) = (memory.lent - bytes, memory.loans - 1);
        self.keep(&memory);
    }

    fn keep(&self, memory: &Memory) {
        let bytes = if memory.loans > 0 { memory.lent } else { memory.usual };
        for (run, kept_bytes) in self.runs.iter().zip(self.kept_of(bytes)) {
            run.keep(kept_bytes);
        }
    }

    /// Whether a chunk is of these runs and has a page.
    pub fn holds(&self, chunk: &RunChunk, number: u64) -> bool {
        chunk.of == self.id && chunk.holds(number)
    }

    /// The pages of a chunk, if it is of these runs.
    pub fn pages_of(&self, chunk: Option<&RunChunk>) -> Option<Range<u64>> {
        chunk.filter(|chunk| chunk.of == self.id).map(|chunk| chunk.first..chunk.end())
    }

    /// A verified page of a chunk.
    pub fn page<'c>(&self, run: usize, chunk: &'c RunChunk, number: u64) -> Result<RunPage<'c>> {
        let (at, page_bytes) = ((number - chunk.first) as usize, self.section.page_bytes);
        let bytes = &chunk.bytes[at * page_bytes..][..page_bytes];
        let is_verified = &chunk.are_verified[at];
        // Two threads may both verify it, which does no harm.
        if !is_verified.load(Ordering::Relaxed) {
            let check = self.check(&self.runs[run].pages, number, bytes);
            check.map_err(|fault| self.section.fault(number, fault))?;
            is_verified.store(true, Ordering::Relaxed);
        }
        Ok(RunPage::reparse(bytes))
    }

    fn check(&self, pages: &RunPages, number: u64, bytes: &[u8]) -> Result<(), PageFault> {
        let header = header::verify(bytes, &self.section.identity(number), PageKind::DeltaRun)?;
        let mut groups = RunPage::parse(bytes, &header)?.groups();
        let first = groups.next().map_or(0, |group| group.page);
        equal("page of the first group", first, pages.firsts[(number - pages.pages.start) as usize])
    }

    /// The chunk with a page of a run, from memory or from the device: then of up to so many pages.
    pub fn chunk(self: &Arc<Self>, run: usize, number: u64, pages: u64) -> Result<Arc<RunChunk>> {
        let Run { kept, was_read, .. } = &self.runs[run];
        let mut kept = lock(kept);
        while kept.chunk(number).is_none() && kept.reading_until(number).is_some() {
            kept = was_read.wait(kept).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(chunk) = kept.chunk(number) {
            return Ok(Arc::clone(chunk));
        }
        let reading = self.begin(run, &mut kept, number, pages);
        let mut queue = kept.idle.take();
        drop(kept);
        let chunk = reading.read(&mut queue)?;
        lock(&self.runs[run].kept).idle = queue;
        Ok(chunk)
    }

    /// The reads of the next chunks of a run from a page on, as far as there is room for them.
    /// The caller has to do them.
    pub fn begin_next(self: &Arc<Self>, run: usize, from: u64) -> Vec<Reading> {
        let (of_run, page_bytes) = (&self.runs[run], self.section.page_bytes);
        let end = of_run.pages.pages.end.min(from + of_run.ahead_pages(page_bytes));
        let most = of_run.reading_pages_max(page_bytes);
        self.begin_in_parts(run, (from..end, most), |page| of_run.chunk_end(page, page_bytes))
    }

    /// The reads of the chunks with some pages of a run that a pass needs next, as far as there is
    /// room for them. The caller has to do them.
    pub fn begin_chunks(self: &Arc<Self>, run: usize, pages: Range<u64>) -> Vec<Reading> {
        let (of_run, page_bytes) = (&self.runs[run], self.section.page_bytes);
        let chunk_end = |page| of_run.chunk_end(page, page_bytes);
        let first = of_run.chunk_start(pages.start, page_bytes);
        let end = chunk_end(pages.end - 1).min(first + of_run.ahead_pages(page_bytes));
        self.begin_in_parts(run, (first..end, of_run.reading_pages_max(page_bytes)), chunk_end)
    }

    /// The reads of the pages of a run that are neither in memory nor being read. The caller has to
    /// do them.
    pub fn begin_all(self: &Arc<Self>, run: usize, pages: Range<u64>) -> Vec<Reading> {
        let chunk_pages = self.runs[run].chunk_pages(self.section.page_bytes);
        self.begin_in_parts(run, (pages, u64::MAX), |page| page + chunk_pages)
    }

    /// As [`Chunks::begin_all`], until `most` pages are being read. The read that begins with a
    /// page ends before the page `behind` it.
    fn begin_in_parts(
        self: &Arc<Self>,
        run: usize,
        (pages, most): (Range<u64>, u64),
        behind: impl Fn(u64) -> u64,
    ) -> Vec<Reading> {
        let mut kept = lock(&self.runs[run].kept);
        let (mut begun, mut at) = (Vec::new(), pages.start);
        while at < pages.end && kept.reading.values().sum::<u64>() < most {
            let known = kept.chunk(at).map(|chunk| chunk.end());
            at = known.or_else(|| kept.reading_until(at)).unwrap_or_else(|| {
                let end = pages.end.min(behind(at));
                let reading = self.begin(run, &mut kept, at, end - at);
                let end = at + reading.pages;
                begun.push(reading);
                end
            });
        }
        begun
    }

    /// Takes back a chunk from a reader.
    pub fn give_up(&self, run: usize, chunk: Arc<RunChunk>) {
        if chunk.of == self.id && Arc::strong_count(&chunk) == 1 {
            lock(&self.runs[run].kept).recycle(chunk);
        }
    }

    /// Whether so many pages of a run, or all that it has, are kept at once.
    pub fn has_room(&self, run: usize, pages: usize) -> bool {
        let of_run = &self.runs[run];
        pages.min(of_run.pages.len() as usize) * self.section.page_bytes <= of_run.kept_bytes()
    }

    /// Begins to read up to so many pages of a run that lie together, from one on that is neither
    /// in memory nor being read.
    fn begin(self: &Arc<Self>, run: usize, kept: &mut Kept, number: u64, pages: u64) -> Reading {
        let SectionPages { section, table, page_bytes, .. } = &self.section;
        let of_run = &self.runs[run];
        let end = kept.next(number).unwrap_or(of_run.pages.pages.end).min(number + pages);
        let place = table.run(section.first_page + number..section.first_page + end);
        let len = place.pages as usize * page_bytes;
        count_read(len);
        kept.make_room(len, of_run.kept_bytes());
        kept.bytes += len;
        kept.reading.insert(number, place.pages);
        Reading {
            chunks: Arc::clone(self),
            run,
            first: number,
            pages: place.pages,
            offset: place.physical * *page_bytes as u64,
            len,
            buffer: kept.spare.take().filter(|spare| spare.len() == len),
            is_read: false,
        }
    }
}

/// Pages that are being read, for which other threads wait. Whether it is read or not, they go on
/// once it is dropped.
pub(super) struct Reading {
    chunks: Arc<Chunks>,
    run: usize,
    first: u64,
    pages: u64,
    offset: u64,
    len: usize,
    buffer: Option<Buffer>,
    /// Whether they are in memory; others may already read them again then.
    is_read: bool,
}

impl Reading {
    /// The request for it.
    pub fn request(&mut self, tag: u64) -> Result<Request> {
        let buffer = match self.buffer.take() {
            Some(buffer) => buffer,
            None => Buffer::new(self.len)?,
        };
        Ok(Request { tag, op: Op::Read, offset: self.offset, len: self.len, buffer })
    }

    /// Reads it, on a queue without a request in flight, which is opened where there is none.
    pub fn read(mut self, queue: &mut Option<Box<dyn Queue>>) -> Result<Arc<RunChunk>> {
        let device = Arc::clone(&self.chunks.device);
        let Request { offset, len, buffer, .. } = self.request(0)?;
        let mut open = match queue.take() {
            Some(open) => open,
            None => device.queue(&QueueConfig::one_by_one())?,
        };
        let bytes =
            cenote_device::read_exact_on(open.as_mut(), device.as_ref(), offset, len, buffer)?;
        // After an error it may not be idle.
        *queue = Some(open);
        Ok(self.arrived(bytes))
    }

    /// Keeps what was read.
    pub fn arrived(mut self, bytes: Buffer) -> Arc<RunChunk> {
        let are_verified = (0..self.pages).map(|_| AtomicBool::new(false)).collect();
        let (of, first, pages) = (self.chunks.id, self.first, self.pages);
        let chunk = Arc::new(RunChunk { of, first, pages, bytes, are_verified });
        lock(&self.chunks.runs[self.run].kept).insert(&chunk);
        self.is_read = true;
        chunk
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Run { kept, was_read, .. } = &self.chunks.runs[self.run];
        if !self.is_read {
            let mut kept = lock(kept);
            kept.reading.remove(&self.first).expect("it was being read");
            kept.bytes -= self.len;
        }
        was_read.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_are_by_the_roots_of_runs_and_small_ones_get_no_more_than_they_need() {
        assert!(shares(&[], 100).is_empty());
        assert_eq!(shares(&[0, 0], 100), [0, 0]);
        assert_eq!(shares(&[500], 100), [100]);
        assert_eq!(shares(&[300, 300, 300], 99), [33, 33, 33]);
        assert_eq!(shares(&[900, 100, 400], 60), [30, 10, 20]);
        assert_eq!(shares(&[900, 1, 400], 120), [72, 1, 47]);
        assert_eq!(shares(&[5, 10, 40, 20], 100), [5, 10, 40, 20]);
    }
}
