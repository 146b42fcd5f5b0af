//! Plans the reads of a run: request size, depth, and extents of active pages.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cenote_device::DEPTH_MAX;
use cenote_device::Op;
use cenote_device::plan::{Correction, Cost, CostFit, Observed, Planner};
use cenote_pool::{PageId, Pool};
use cenote_store::{Adjacency, PageRun};
use serde::Serialize;

use crate::config::{EngineConfig, Strategy};
use crate::tasks::{Chunks, PageTask};

/// A chunk of a dense frontier has so many pages at least, where more are left.
const CHUNK_PAGES_MIN: u64 = 256;

/// Buffers take 1 / `BUFFER_SHARE` of what the budget leaves: cached pages save more than the last
/// requests in flight.
const BUFFER_SHARE: u64 = 8;

/// With less than this for buffers, they take up to half of what the budget leaves.
const BUFFER_BYTES_MIN: u64 = 4 << 20;

/// The same of a run whose visits are of few pages.
const BUFFER_BYTES_MIN_FEW_PAGES: u64 = 128 << 10;

/// Where each visit reads all pages, buffers take so many bytes, but at most [`PASSES_SHARE`] of
/// what the budget leaves: within a tenth of the pages PageRank of a chain of cliques takes three
/// quarters of the time that it takes with half of what is left.
const BUFFER_BYTES_OF_PASSES: u64 = 3 << 20;

/// The most that buffers take of what the budget leaves, in such a run.
const PASSES_SHARE: (u64, u64) = (7, 8);

/// `auto` raises the depth to at most this multiple of the plan, for a drive that is shared or
/// slower than its profile.
const DEPTH_GROWTH: usize = 8;

/// The most requests in flight of one worker: the rest of its queue is for the pool's writes.
const WORKER_DEPTH_MAX: usize = DEPTH_MAX - 64;

/// The fewest full requests in a chunk.
const CHUNK_REQUESTS: u64 = 4;

/// Request size and depth of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Schedule {
    /// The most bytes of a request.
    pub request_bytes: usize,
    /// Requests in flight over all workers; with `auto`, at the start.
    pub depth: usize,
    /// The most requests in flight over all workers, if the drive needs more than its profile says.
    pub depth_max: usize,
    /// Whether the profile is an assumption, not measured on this drive.
    pub profile_assumed: bool,
    #[serde(skip)]
    depth_min: usize,
    page_bytes: usize,
    workers: usize,
    #[serde(skip)]
    planner: Planner,
    #[serde(skip)]
    learned: Arc<Learned>,
    #[serde(skip)]
    coalesce: bool,
}

/// How the costs of requests differ from the profile, as a run saw them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriveCorrection {
    /// The cost that every request has, over that of the profile.
    pub request: f64,
    /// The cost of a request's pages, over that of the profile.
    pub pages: f64,
    /// The widest gap between two single pages that the profile's costs read through.
    pub gap_pages_planned: u64,
    /// The widest gap that is read through with corrected costs.
    pub gap_pages: u64,
}

/// The factors and the gaps, in one line.
impl fmt::Display for DriveCorrection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, pages, gap_pages_planned, gap_pages } = self;
        write!(
            f,
            "a request costs {request:.1} x, its pages {pages:.1} x what the profile says: gaps of \
             up to {gap_pages} pages are read through, not {gap_pages_planned}"
        )
    }
}

/// What a run has learned of its drive.
#[derive(Debug)]
struct Learned {
    seen: Mutex<Seen>,
    planner: RwLock<Arc<Planner>>,
}

#[derive(Debug, Default)]
struct Seen {
    fit: CostFit,
    /// Whether a window was added since the last correction.
    is_new: bool,
    correction: Option<Correction>,
}

impl Learned {
    fn new(planner: &Planner) -> Self {
        Self { seen: Mutex::default(), planner: RwLock::new(Arc::new(planner.clone())) }
    }
}

impl Schedule {
    /// `left_bytes`: what the budget leaves for buffers, cached pages and optional memory.
    pub(crate) fn new(config: &EngineConfig, page_bytes: usize, left_bytes: u64) -> Self {
        let workers = config.threads.max(1);
        let coalesce = config.strategy == Strategy::Auto;
        let passes = config.passes && coalesce;
        let share = buffer_share(config, passes, left_bytes);
        let buffer_bytes = usize::try_from(share).unwrap_or(usize::MAX);
        let planner = Planner::new(&config.profile, page_bytes, buffer_bytes, workers);
        let (request_bytes, planned) = if coalesce {
            (planner.plan().request_bytes, planner.plan().depth)
        } else {
            (page_bytes, k_r(config, page_bytes))
        };
        // For single pages, one in flight and one that has arrived.
        let bytes_in_flight =
            if coalesce { request_bytes } else { 2 * Pool::frame_bytes(page_bytes) as usize };
        let depth = match config.depth {
            Some(depth) => clamp_depth(depth, left_bytes, bytes_in_flight, workers),
            None => planned.min(buffer_bytes / bytes_in_flight).max(workers),
        };
        let depth = depth.next_multiple_of(workers);
        let depth_max = if coalesce && config.depth.is_none() {
            let fitting = buffer_bytes / bytes_in_flight / workers * workers;
            (depth * DEPTH_GROWTH).min(fitting).max(depth)
        } else {
            depth
        };
        // So few bytes in flight are too few on any drive: no smaller depth is tried.
        let is_small = (request_bytes * depth_max) as u64 <= BUFFER_BYTES_MIN;
        let depth = if passes && is_small { depth_max } else { depth };
        let depth_min = if passes && is_small { depth } else { workers };
        Self {
            request_bytes,
            depth,
            depth_max,
            profile_assumed: config.profile.assumed,
            depth_min,
            page_bytes,
            workers,
            learned: Arc::new(Learned::new(&planner)),
            planner,
            coalesce,
        }
    }

    /// Bytes of the buffers of all workers: with `auto` its requests; otherwise the frames in
    /// flight, as many that have arrived, and one in use by each worker.
    pub fn buffer_bytes(&self) -> u64 {
        if self.coalesce {
            (self.request_bytes * self.depth_max) as u64
        } else {
            self.frames_in_use() as u64 * Pool::frame_bytes(self.page_bytes)
        }
    }

    /// The most pages of a request.
    pub(crate) fn request_pages(&self) -> u64 {
        (self.request_bytes / self.page_bytes) as u64
    }

    /// The most frames that the workers of `block` and `vertex` hold at once.
    pub(crate) fn frames_in_use(&self) -> usize {
        if self.coalesce { 0 } else { 2 * self.depth + self.workers }
    }

    /// Requests in flight of one worker.
    pub fn worker_depth(&self) -> usize {
        self.depth / self.workers
    }

    /// The fewest requests in flight of one worker that are tried.
    pub(crate) fn worker_depth_min(&self) -> usize {
        self.depth_min / self.workers
    }

    /// The most requests in flight of one worker.
    pub(crate) fn worker_depth_max(&self) -> usize {
        self.depth_max / self.workers
    }

    /// The planner that turns pages into requests, with the costs as corrected so far.
    pub(crate) fn planner(&self) -> Arc<Planner> {
        Arc::clone(&self.learned.planner.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the profile says a request of `pages` costs.
    pub(crate) fn planned_cost(&self, pages: u64) -> Cost {
        self.planner.extent_cost(pages)
    }

    /// Adds what a worker saw.
    pub(crate) fn observe(&self, window: Observed) {
        // Workers share the device, so each sees its requests take that many times as long.
        let seconds = window.seconds / self.workers as f64;
        let mut seen = self.learned.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.fit.add(Observed { seconds, ..window });
        seen.is_new = true;
    }

    /// Corrects the costs from what the workers saw; between visits.
    pub(crate) fn correct(&self) {
        let mut seen = self.learned.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::take(&mut seen.is_new) {
            return;
        }
        let found = seen.fit.correction();
        if found == seen.correction {
            return;
        }
        seen.correction = found;
        let planner = found.map_or_else(|| self.planner.clone(), |by| self.planner.corrected(by));
        *self.learned.planner.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(planner);
    }

    /// How the costs of requests on this drive differ from its profile, as the run saw it so far;
    /// `None` where they do not, or where it is not known.
    pub fn correction(&self) -> Option<DriveCorrection> {
        let seen = self.learned.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Correction { request, pages } = seen.correction?;
        let gap_pages_planned = self.planner.plan().gap_pages;
        let gap_pages = self.planner().plan().gap_pages;
        Some(DriveCorrection { request, pages, gap_pages_planned, gap_pages })
    }

    /// How many pages a worker takes at a time.
    pub(crate) fn chunks(&self, adjacency: &Adjacency) -> Chunks {
        Chunks::new(adjacency, self.chunk_pages(), self.request_pages(), self.workers)
    }

    /// The most pages in a chunk of a dense frontier.
    pub(crate) fn chunk_pages(&self) -> u64 {
        (CHUNK_REQUESTS * self.request_pages()).max(CHUNK_PAGES_MIN)
    }

    /// Groups ascending tasks into requests and calls `into` with the first physical page, the
    /// number of pages and the tasks of each; one page per request where `single`. `physical` maps
    /// the page of a task.
    pub(crate) fn extents(
        &self,
        tasks: &[PageTask],
        single: bool,
        physical: impl Fn(u64) -> PageId,
        mut into: impl FnMut(PageId, u64, &[PageTask]),
    ) {
        if single {
            return tasks.chunks(1).for_each(|task| into(physical(task[0].page), 1, task));
        }
        let planner = self.planner();
        // Ascending logical pages need not ascend on the device: a request covers an ascending run.
        for run in tasks.chunk_by(|a, b| physical(a.page) < physical(b.page)) {
            let mut rest = run;
            for extent in planner.extents(run.iter().map(|task| physical(task.page))) {
                let end = extent.first_page + extent.pages;
                let (own, after) =
                    rest.split_at(rest.partition_point(|task| physical(task.page) < end));
                into(extent.first_page, extent.pages, own);
                rest = after;
            }
        }
    }

    /// Seconds that the profile predicts for `requests` of `bytes` in total, at the depth of
    /// `auto`.
    pub fn seconds_predicted(&self, requests: u64, bytes: u64) -> f64 {
        self.planner.predicted_seconds(requests, bytes)
    }

    /// Full requests for `bytes`.
    pub fn requests_for_bytes(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.request_bytes as u64)
    }

    /// Requests for all of these pages, and the pages that they read: more where it is faster to
    /// read those between. `runs` are the places of consecutive pages.
    pub fn requests_for_runs(&self, runs: &[PageRun]) -> (u64, u64) {
        if let [run] = runs {
            return (self.requests_for_bytes(run.pages * self.page_bytes as u64), run.pages);
        }
        let (planner, mut requests, mut read) = (self.planner(), 0, 0);
        // A request covers an ascending run.
        for ascending in runs.chunk_by(|a, b| a.physical < b.physical) {
            let pages = ascending.iter().flat_map(|run| run.physical..run.physical + run.pages);
            for extent in planner.extents(pages) {
                requests += 1;
                read += extent.pages;
            }
        }
        (requests, read)
    }

    /// Bytes per second that the profile predicts for full requests of `auto`, whatever the
    /// strategy.
    pub fn bytes_per_second(&self) -> f64 {
        self.planner.bytes_per_second()
    }
}

/// Bytes of buffers, of those that the budget leaves.
fn buffer_share(config: &EngineConfig, passes: bool, left_bytes: u64) -> u64 {
    let least = if config.few_pages { BUFFER_BYTES_MIN_FEW_PAGES } else { BUFFER_BYTES_MIN };
    let usual = (left_bytes / BUFFER_SHARE).max(left_bytes.min(2 * least) / 2);
    let (part, whole) = PASSES_SHARE;
    let of_passes = (left_bytes / whole * part).min(BUFFER_BYTES_OF_PASSES);
    if passes { usual.max(of_passes) } else { usual }
}

/// The device's read concurrency for requests of one page.
fn k_r(config: &EngineConfig, page_bytes: usize) -> usize {
    config.profile.model().channels(Op::Read, page_bytes as u64) as usize
}

/// The configured depth, limited by half of the remaining memory and by the workers' queues.
fn clamp_depth(given: usize, left_bytes: u64, bytes_in_flight: usize, workers: usize) -> usize {
    let fitting = usize::try_from(left_bytes / 2).unwrap_or(usize::MAX) / bytes_in_flight;
    let fitting = fitting.min(WORKER_DEPTH_MAX.saturating_mul(workers));
    let depth = given.clamp(workers, fitting.max(workers));
    if depth != given {
        tracing::warn!(
            "{depth} instead of {given} requests in flight, {bytes_in_flight} bytes each: at least \
             one and at most {WORKER_DEPTH_MAX} for each of {workers} threads, and at most what \
             the memory budget holds"
        );
    }
    depth
}
