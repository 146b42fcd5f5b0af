//! Statistics of a run.

use std::time::Instant;

use cenote_algo::Bands;
use cenote_engine::{DriveCorrection, MemoryPlan, StepRecord};
use serde::Serialize;

use super::{Algorithm, Job};
use crate::memory::{cpu_seconds, page_bytes, peak_rss_bytes};
use crate::tiers::graph::TieredGraph;
use crate::tiers::kept::Done;

/// Statistics and summary of a run.
#[derive(Debug, Serialize)]
pub struct Report<'a, S> {
    /// The statistics.
    #[serde(flatten)]
    pub stats: &'a Stats,
    /// The summary of the result.
    pub result: S,
}

/// Statistics of a run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Vertices of the graph.
    pub vertices: u64,
    /// Edges of the graph, as the user counts them.
    pub edges: u64,
    /// Seconds of the run.
    pub seconds: f64,
    /// Iterations, rounds or steps, as the algorithm counts them.
    pub iterations: u64,
    /// Bytes read, those of vertex state in a file included.
    pub bytes_read: u64,
    /// Read requests.
    pub read_requests: u64,
    /// Bytes read of vertex state in a file.
    pub state_bytes_read: u64,
    /// Bytes written, all of vertex state in a file.
    pub bytes_written: u64,
    /// Write requests.
    pub write_requests: u64,
    /// Bytes read per second.
    pub bytes_per_second: f64,
    /// Peak resident memory of the process.
    pub peak_rss_bytes: u64,
    /// Memory budget of the run.
    pub memory_budget_bytes: u64,
    /// Processor time of the whole process while it ran, all threads.
    pub cpu_seconds: f64,
    /// Bytes per second that the profile predicts for the requests of `auto`, whatever the
    /// strategy.
    pub bytes_per_second_possible: f64,
    /// How pages were read.
    pub strategy: String,
    /// Worker threads.
    pub threads: usize,
    /// The system interface for I/O.
    pub backend: &'static str,
    /// The most bytes of a request.
    pub request_bytes: usize,
    /// Requests in flight.
    pub depth: usize,
    /// Whether the drive has no measured profile.
    pub profile_assumed: bool,
    /// How the costs of requests differed from the profile; unset where the run found none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_correction: Option<DriveCorrection>,
    /// Bytes of the graph's list pages.
    pub page_bytes: u64,
    /// Bytes read of the graph over bytes of its list pages.
    pub passes: f64,
    /// Fraction of the pages that the cache could hold.
    pub cached_fraction: f64,
    /// How the memory budget was divided.
    pub memory_plan: MemoryPlan,
    /// How vertex state that does not fit in memory was divided, as planned; unset if it fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<Bands>,
    /// Migration between the tiers of the graph since it was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration: Option<Done>,
    /// Whether the result was checked by the serial verifier.
    pub verified: bool,
    /// Visits of the engine.
    #[serde(skip)]
    pub engine_steps: u64,
    /// The record of each step, with `explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
}

/// Measures a run from its start.
pub(crate) struct Stopwatch {
    started: Instant,
    cpu_seconds: f64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { started: Instant::now(), cpu_seconds: cpu_seconds() }
    }

    /// The statistics of a job since the start, with its steps if `keeps_steps`.
    pub fn stop<A: Algorithm>(
        &self,
        job: &Job<'_>,
        output: &A::Output,
        keeps_steps: bool,
    ) -> Stats {
        let seconds = self.started.elapsed().as_secs_f64();
        let (run, graph, config) = (A::engine_run(output), job.graph, &job.engine);
        let page_bytes = page_bytes(graph);
        Stats {
            algorithm: A::NAME,
            vertices: graph.superblock().live_vertices(),
            edges: graph.superblock().edges,
            seconds,
            iterations: A::iterations(output),
            bytes_read: run.stats.bytes_read,
            read_requests: run.stats.read_requests,
            state_bytes_read: run.stats.state_bytes_read,
            bytes_written: run.stats.bytes_written,
            write_requests: run.stats.write_requests,
            bytes_per_second: run.stats.bytes_read as f64 / seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            memory_budget_bytes: config.memory_bytes,
            cpu_seconds: cpu_seconds() - self.cpu_seconds,
            bytes_per_second_possible: run.schedule.bytes_per_second(),
            strategy: config.strategy.to_string(),
            threads: config.threads,
            backend: graph.device().backend(),
            request_bytes: run.schedule.request_bytes,
            depth: run.schedule.depth,
            profile_assumed: run.schedule.profile_assumed,
            drive_correction: run.schedule.correction(),
            page_bytes,
            passes: (run.stats.bytes_read - run.stats.state_bytes_read) as f64
                / (page_bytes as f64).max(1.0),
            cached_fraction: run.cached_fraction,
            memory_plan: run.memory,
            bands: run.bands.clone(),
            migration: TieredGraph::of(graph).and_then(TieredGraph::moved),
            verified: false,
            engine_steps: run.stats.steps,
            steps: if keeps_steps { run.steps.clone() } else { Vec::new() },
        }
    }
}
