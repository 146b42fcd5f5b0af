//! Estimates of the memory and reads of a run, and the smallest budget that suffices.

use std::sync::Arc;

use cenote_engine::{
    Direction, Engine, EngineConfig, EngineError, Graph, MemoryPlan, Needs, Schedule, Strategy,
};
use serde::Serialize;

use crate::report::{Bands, Result, graph_pages};

/// The estimated memory and reads of a run. Where the reads depend on more of the graph's shape
/// than its index shows, such as on how much of it a search reaches, they are given as a range:
/// that of the graphs that were measured.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// How the memory budget is divided.
    pub memory: MemoryPlan,
    /// Bytes in use at the peak: frames that are never filled take no memory.
    #[serde(skip)]
    pub used_bytes: u64,
    /// Bytes in use at the peak if the run reads as little as possible.
    #[serde(skip)]
    pub used_bytes_at_least: u64,
    /// Bytes read, with those of delta runs; the most if the algorithm may stop early.
    pub bytes_read: u64,
    /// Requests for them, about.
    pub read_requests: u64,
    /// Bytes written to the file of vertex state that does not fit in memory.
    pub bytes_written: u64,
    /// How that state is divided; unset if it fits in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<Bands>,
    /// Usual minimum of the bytes read.
    pub bytes_read_at_least: u64,
    /// Usual maximum of the bytes read.
    pub bytes_read_at_most: u64,
    /// The reason for the bytes read, in words.
    pub because: String,
    /// Seconds of device time for `bytes_read`, by the profile.
    pub device_seconds: f64,
}

/// The pages that a run reads, and how much of its memory it uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    at_least: f64,
    likely: f64,
    at_most: f64,
    /// Share of the optional memory that is filled: at least, and likely.
    scratch: (f64, f64),
    /// Bytes of the state that only the worst case uses.
    spare_bytes: u64,
    /// Bytes of the state that are not used if the run reads as little as possible.
    idle_bytes: u64,
    caches: bool,
    takes_all_frames: bool,
    /// Pages of lists that are visited, with those in memory; as many as are read if 0.
    visited: f64,
}

impl Reads {
    /// This many pages, whatever the graph.
    pub fn about(pages: f64) -> Self {
        Self::between(pages, pages, pages)
    }

    /// A range of pages, depending on the graph.
    pub fn between(at_least: f64, likely: f64, at_most: f64) -> Self {
        let (at_least, at_most) = (at_least.min(likely), at_most.max(likely));
        Self {
            at_least,
            likely,
            at_most,
            scratch: (1.0, 1.0),
            spare_bytes: 0,
            idle_bytes: 0,
            caches: true,
            takes_all_frames: false,
            visited: 0.0,
        }
    }

    /// Sets the share of the optional memory that is filled: at least, and likely.
    pub fn filling(self, at_least: f64, likely: f64) -> Self {
        Self { scratch: (at_least, likely), ..self }
    }

    /// Sets the bytes of the state that only the worst case uses.
    pub fn sparing(self, spare_bytes: u64) -> Self {
        Self { spare_bytes, ..self }
    }

    /// Sets the bytes of the state that are not used if the run reads as little as possible.
    pub fn idling(self, idle_bytes: u64) -> Self {
        Self { idle_bytes, ..self }
    }

    /// Sets the pages of lists that are visited, with those in memory: delta runs are read for them
    /// too.
    pub fn visiting(self, visited: f64) -> Self {
        Self { visited, ..self }
    }

    /// Reads without caching.
    pub fn uncached(self) -> Self {
        Self { caches: false, ..self }
    }

    /// With a strategy; all but `auto` use all frames of the cache at once.
    pub fn by(self, strategy: Strategy) -> Self {
        Self { takes_all_frames: strategy != Strategy::Auto, ..self }
    }

    fn used_bytes(&self, memory: &MemoryPlan, bytes_read: u64, scratch: f64) -> u64 {
        let cache_bytes = match (self.caches, self.takes_all_frames) {
            (false, _) => 0,
            (true, false) => memory.cache_bytes.min(bytes_read),
            (true, true) => memory.cache_bytes,
        };
        memory.index_bytes
            + memory.state_bytes.saturating_sub(self.spare_bytes)
            + memory.buffer_bytes
            + memory.run_bytes
            + (memory.scratch_bytes as f64 * scratch) as u64
            + cache_bytes
    }

    /// The second half of the buffers is used only when more requests are in flight.
    fn used_bytes_at_least(&self, memory: &MemoryPlan, bytes_read: u64) -> u64 {
        let used = self.used_bytes(memory, bytes_read, self.scratch.0);
        let idle = memory.state_bytes.saturating_sub(self.spare_bytes).min(self.idle_bytes);
        used - idle - memory.buffer_bytes / 2
    }
}

impl Estimate {
    /// The estimate for `reads` with this plan.
    pub(crate) fn new(
        graph: &Graph,
        (schedule, memory): (Schedule, MemoryPlan),
        reads: Reads,
        because: impl Into<String>,
    ) -> Self {
        let page_bytes = graph.page_bytes() as f64;
        let (of_page, read_of_page) = of_scatter(graph, &schedule);
        let bytes = |pages: f64| (pages * read_of_page * page_bytes) as u64;
        let runs = |pages: f64| of_runs(graph, &memory, pages);
        // Pages in memory are as many for each of the three.
        let in_memory = (reads.visited - reads.likely).max(0.0);
        let with_runs = |pages: f64| bytes(pages + runs(pages + in_memory).0);
        let (at_least, likely) = (with_runs(reads.at_least), with_runs(reads.likely));
        let lists = schedule.requests_for_bytes(bytes(reads.likely));
        let lists = lists.max((reads.likely * of_page) as u64);
        let read_requests = lists + runs(reads.likely + in_memory).1 as u64;
        // Pages stay unpacked if they are visited again.
        let visits_again = reads.at_most.max(reads.visited) > graph_pages(graph) as f64;
        let unpacked = if reads.caches && visits_again { memory.unpacked_bytes } else { 0 };
        Self {
            memory,
            used_bytes: reads.used_bytes(&memory, likely, reads.scratch.1) + unpacked,
            used_bytes_at_least: reads.used_bytes_at_least(&memory, at_least),
            bytes_read: likely,
            bytes_read_at_least: at_least,
            bytes_read_at_most: with_runs(reads.at_most),
            read_requests,
            bytes_written: 0,
            bands: None,
            because: because.into(),
            device_seconds: schedule.seconds_predicted(read_requests, likely),
        }
    }
}

impl Estimate {
    /// Adds what a state file costs.
    pub(crate) fn with_bands(self, schedule: &Schedule, write_rate: f64, bands: Bands) -> Self {
        let Bands { state_bytes_read: read, bytes_written: written, .. } = bands;
        let requests = schedule.requests_for_bytes(read);
        let seconds = schedule.seconds_predicted(requests, read) + written as f64 / write_rate;
        Self {
            bytes_read: self.bytes_read + read,
            bytes_read_at_least: self.bytes_read_at_least + read,
            bytes_read_at_most: self.bytes_read_at_most + read,
            read_requests: self.read_requests + requests,
            device_seconds: self.device_seconds + seconds,
            bytes_written: written,
            bands: Some(bands),
            ..self
        }
    }
}

/// Requests for a page of lists in a pass over all, and the pages that they read of the file: after
/// merges lists lie in many places.
fn of_scatter(graph: &Graph, schedule: &Schedule) -> (f64, f64) {
    let (mut lists, mut requests, mut read) = (0, 0, 0);
    for direction in [Direction::Out, Direction::In] {
        let Some(adjacency) = graph.adjacency(direction) else { continue };
        let first = adjacency.first_page();
        let runs: Vec<_> = graph.extents(first..first + adjacency.pages()).collect();
        let of_direction = schedule.requests_for_runs(&runs);
        lists += adjacency.pages();
        requests += of_direction.0;
        read += of_direction.1;
    }
    let lists = lists.max(1) as f64;
    (requests as f64 / lists, (read as f64 / lists).max(1.0))
}

/// Pages of delta runs that visits of so many pages of lists read, and requests for them: all in
/// the first pass, and in further ones those that do not stay in memory.
fn of_runs(graph: &Graph, memory: &MemoryPlan, visited: f64) -> (f64, f64) {
    let lists = graph_pages(graph);
    let inward = if graph.is_directed() { 2 } else { 1 };
    let (mut pages, mut requests) = (0.0, 0.0);
    let passes = visited / lists.max(1) as f64;
    let (first, more) = (passes.min(1.0), (passes - 1.0).max(0.0));
    for direction in [Direction::Out, Direction::In].into_iter().take(inward) {
        let reads = graph.run_reads_with(direction, memory.run_bytes);
        pages += first * reads.pages as f64 + more * reads.pages_again as f64;
        requests += first * reads.requests as f64 + more * reads.requests_again as f64;
    }
    (pages, requests)
}

/// Fraction of `pages` that the cache can hold, 0 to 1.
pub(crate) fn kept(graph: &Graph, memory: &MemoryPlan, pages: u64) -> f64 {
    (memory.cached_pages(graph) as f64 / pages.max(1) as f64).min(1.0)
}

/// Whether a run that was refused may be made in bands of vertices: its state does not fit in
/// memory, and there is a folder for it.
pub(crate) fn may_be_in_bands(graph: &Graph, config: &EngineConfig, refused: &EngineError) -> bool {
    matches!(refused, EngineError::Budget { .. })
        && config.strategy == Strategy::Auto
        && config.state_dir.is_some()
        && graph.vertices() > 0
}

/// As [`Engine::plan`], for needs that grow with the budget.
pub(crate) fn plan_for(
    graph: &Graph,
    config: &EngineConfig,
    needs: impl Fn(&EngineConfig) -> Needs,
) -> Result<(Schedule, MemoryPlan)> {
    let planned = Engine::plan(graph, config, &needs(config));
    planned.map_err(|error| settled(graph, config, needs, error).into())
}

/// As [`Engine::new`], for needs that grow with the budget.
pub(crate) fn engine_for(
    graph: &Arc<Graph>,
    config: EngineConfig,
    needs: impl Fn(&EngineConfig) -> Needs,
) -> Result<Engine> {
    plan_for(graph, &config, &needs)?;
    let needs = needs(&config);
    Ok(Engine::new(Arc::clone(graph), config, &needs)?)
}

/// Replaces the suggestion in the error of a too small budget by one that suffices although the
/// needs grow with it. They grow by less than the budget does, so this ends.
fn settled(
    graph: &Graph,
    config: &EngineConfig,
    needs: impl Fn(&EngineConfig) -> Needs,
    error: EngineError,
) -> EngineError {
    let mut error = error;
    let mut config = config.clone();
    let configured = config.memory_bytes;
    while let EngineError::Budget { given, suggested, .. } = &mut error {
        *given = configured;
        config.memory_bytes = *suggested << 20;
        match Engine::plan(graph, &config, &needs(&config)) {
            Err(larger) => error = larger,
            Ok(_) => break,
        }
    }
    error
}
