//! How a run reads: request size, depth, and the extents of active pages.

use cenote_device::DEPTH_MAX;
use cenote_device::Op;
use cenote_device::plan::{DepthControl, Planner};
use cenote_pool::{PageId, Pool};
use serde::Serialize;

use crate::config::{EngineConfig, Strategy};
use crate::tasks::PageTask;

/// Pages that a worker takes at a time, at least: finding the active ones among them is worth it.
const CHUNK_PAGES_MIN: u64 = 256;

/// Buffers take at most this part of what the budget leaves, unless that is very little: pages
/// that stay in memory save more than the last requests in flight.
const BUFFER_SHARE: u64 = 8;

/// Buffers that are worth half of very little.
const BUFFER_BYTES_MIN: u64 = 4 << 20;

/// A drive that is shared or slower than its profile may need so many times the depth.
const DEPTH_GROWTH: usize = 8;

/// Requests in flight of one worker at most: its queue takes some more for what a pool writes.
const WORKER_DEPTH_MAX: usize = DEPTH_MAX - 64;

/// Full requests in a chunk, at least.
const CHUNK_REQUESTS: u64 = 4;

/// Request size and depth of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Schedule {
    /// Bytes of a request at most.
    pub request_bytes: usize,
    /// Requests in flight over all workers; of `auto` those that it starts with.
    pub depth: usize,
    /// Requests in flight over all workers, at most, where the drive turns out to need more than
    /// its profile says.
    pub depth_max: usize,
    /// Whether the profile was measured on this drive or is an assumption.
    pub profile_assumed: bool,
    page_bytes: usize,
    workers: usize,
    #[serde(skip)]
    planner: Planner,
    #[serde(skip)]
    coalesce: bool,
}

impl Schedule {
    /// `left_bytes`: what the budget has left for buffers, cached pages and optional memory.
    pub(crate) fn new(config: &EngineConfig, page_bytes: usize, left_bytes: u64) -> Self {
        let workers = config.threads.max(1);
        let share = (left_bytes / BUFFER_SHARE).max(left_bytes.min(2 * BUFFER_BYTES_MIN) / 2);
        let buffer_bytes = usize::try_from(share).unwrap_or(usize::MAX);
        let planner = Planner::new(&config.profile, page_bytes, buffer_bytes, workers);
        let coalesce = config.strategy == Strategy::Auto;
        let (request_bytes, planned) = if coalesce {
            (planner.plan().request_bytes, planner.plan().depth)
        } else {
            (page_bytes, k_r(config, page_bytes))
        };
        // A request in flight, and for single pages one that arrived meanwhile.
        let bytes_in_flight =
            if coalesce { request_bytes } else { 2 * Pool::frame_bytes(page_bytes) as usize };
        let depth = match config.depth {
            Some(asked) => asked_depth(asked, left_bytes, bytes_in_flight, workers),
            None => planned.min(buffer_bytes / bytes_in_flight).max(workers),
        };
        let depth = depth.next_multiple_of(workers);
        let depth_max = if coalesce && config.depth.is_none() {
            let fitting = buffer_bytes / bytes_in_flight / workers * workers;
            (depth * DEPTH_GROWTH).min(fitting).max(depth)
        } else {
            depth
        };
        let profile_assumed = config.profile.assumed;
        Self {
            request_bytes,
            depth,
            depth_max,
            profile_assumed,
            page_bytes,
            workers,
            planner,
            coalesce,
        }
    }

    /// Memory that the buffers of all workers take: of `auto` its requests; of the others the
    /// frames that are in flight, those that arrived meanwhile, and the one that each worker looks
    /// at.
    pub fn buffer_bytes(&self) -> u64 {
        if self.coalesce {
            (self.request_bytes * self.depth_max) as u64
        } else {
            self.frames_in_use() as u64 * Pool::frame_bytes(self.page_bytes)
        }
    }

    /// Frames that workers of `block` and `vertex` may hold at once.
    pub(crate) fn frames_in_use(&self) -> usize {
        if self.coalesce { 0 } else { 2 * self.depth + self.workers }
    }

    /// Requests that one worker keeps in flight.
    pub fn worker_depth(&self) -> usize {
        self.depth / self.workers
    }

    /// Requests that one worker keeps in flight at most, whatever the drive turns out to need.
    pub(crate) fn worker_depth_max(&self) -> usize {
        self.depth_max / self.workers
    }

    /// The depth of one worker, from here on.
    pub(crate) fn depth_control(&self) -> DepthControl {
        DepthControl::new(self.worker_depth(), self.worker_depth_max())
    }

    /// What a request of so many pages is worth: seconds by the profile.
    pub(crate) fn extent_seconds(&self, pages: u64) -> f64 {
        self.planner.extent_seconds(pages)
    }

    /// What turns pages into requests.
    pub(crate) fn planner(&self) -> &Planner {
        &self.planner
    }

    /// Pages that a worker takes at a time from a dense frontier.
    pub(crate) fn chunk_pages(&self) -> u64 {
        (CHUNK_REQUESTS * (self.request_bytes / self.page_bytes) as u64).max(CHUNK_PAGES_MIN)
    }

    /// Groups ascending tasks into requests, each given by its first physical page, its pages, and
    /// the tasks that it is for; one page each where `single`. `physical` says where a task's page
    /// is.
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
        // Logical pages that ascend need not do so on the device: each request goes forwards.
        for run in tasks.chunk_by(|a, b| physical(a.page) < physical(b.page)) {
            let mut rest = run;
            for extent in self.planner.extents(run.iter().map(|task| physical(task.page))) {
                let end = extent.first_page + extent.pages;
                let (own, after) =
                    rest.split_at(rest.partition_point(|task| physical(task.page) < end));
                into(extent.first_page, extent.pages, own);
                rest = after;
            }
        }
    }

    /// Seconds that the profile predicts for these requests at the depth of `auto`.
    pub fn seconds_predicted(&self, requests: u64, bytes: u64) -> f64 {
        self.planner.predicted_seconds(requests, bytes)
    }

    /// Seconds that the profile predicts for `bytes` in full requests.
    pub fn seconds_for_bytes(&self, bytes: u64) -> f64 {
        self.seconds_predicted(bytes.div_ceil(self.request_bytes as u64), bytes)
    }

    /// Bytes per second that the profile promises for the full requests of `auto`, whatever the
    /// strategy: what the drive could do.
    pub fn bytes_per_second(&self) -> f64 {
        self.planner.bytes_per_second()
    }
}

/// The device's read concurrency for requests of one page.
fn k_r(config: &EngineConfig, page_bytes: usize) -> usize {
    config.profile.model().channels(Op::Read, page_bytes as u64) as usize
}

/// The depth that the configuration names, as far as half of the memory left and the workers'
/// queues hold it.
fn asked_depth(asked: usize, left_bytes: u64, bytes_in_flight: usize, workers: usize) -> usize {
    let fitting = usize::try_from(left_bytes / 2).unwrap_or(usize::MAX) / bytes_in_flight;
    let fitting = fitting.min(WORKER_DEPTH_MAX.saturating_mul(workers));
    let depth = asked.clamp(workers, fitting.max(workers));
    if depth != asked {
        tracing::warn!(
            "{depth} instead of {asked} requests in flight, {bytes_in_flight} bytes each: at least \
             one and at most {WORKER_DEPTH_MAX} for each of {workers} threads, and at most what \
             the memory budget holds"
        );
    }
    depth
}
