//! What a run reports: the fields that scripts rely on, and a page for people.

use std::time::Instant;

use anyhow::Result;
use cenote_algo::Run;
use cenote_engine::{EngineConfig, Graph, MemoryPlan, StepRecord};
use serde::Serialize;

use super::plan::page_bytes;
use crate::output::{self, count, size};
use cenote::memory::peak_rss_bytes;
use cenote::tiers::graph::TieredGraph;
use cenote::tiers::kept::Done;

/// One run. The fields up to `result` are a contract with scripts.
#[derive(Debug, Serialize)]
pub struct Summary<R> {
    pub algorithm: &'static str,
    pub vertices: u64,
    pub edges: u64,
    pub seconds: f64,
    pub iterations: u64,
    pub bytes_read: u64,
    pub read_requests: u64,
    pub bytes_per_second: f64,
    pub peak_rss_bytes: u64,
    pub memory_budget_bytes: u64,
    pub result: R,
    /// Processor time of the whole process while it ran, all threads.
    pub cpu_seconds: f64,
    /// What the profile says that the drive moves with the requests of `auto`, whatever the
    /// strategy of this run.
    pub bytes_per_second_possible: f64,
    pub strategy: String,
    pub threads: usize,
    pub backend: &'static str,
    pub request_bytes: usize,
    pub depth: usize,
    pub profile_assumed: bool,
    /// Bytes of the graph's list pages.
    pub page_bytes: u64,
    /// Bytes read over bytes of the graph's list pages.
    pub passes: f64,
    /// Share of the pages that the cache could hold.
    pub cached_fraction: f64,
    pub memory_plan: MemoryPlan,
    /// What moved between the tiers of the graph during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration: Option<Done>,
    /// Whether the answer was checked by the serial verifier.
    pub verified: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
}

/// Measures a run from its start.
pub struct Stopwatch {
    started: Instant,
    cpu_seconds: f64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { started: Instant::now(), cpu_seconds: cpu_seconds() }
    }

    /// What `algorithm` did since the start.
    pub fn stop<R>(
        &self,
        algorithm: &'static str,
        graph: &Graph,
        config: &EngineConfig,
        run: &Run,
        iterations: u64,
        result: R,
    ) -> Summary<R> {
        let seconds = self.started.elapsed().as_secs_f64();
        let page_bytes = page_bytes(graph);
        Summary {
            algorithm,
            vertices: graph.superblock().vertices,
            edges: graph.superblock().edges,
            seconds,
            iterations,
            bytes_read: run.stats.bytes_read,
            read_requests: run.stats.read_requests,
            bytes_per_second: run.stats.bytes_read as f64 / seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            memory_budget_bytes: config.memory_bytes,
            result,
            cpu_seconds: cpu_seconds() - self.cpu_seconds,
            bytes_per_second_possible: run.schedule.bytes_per_second(),
            strategy: config.strategy.to_string(),
            threads: config.threads,
            backend: graph.device().backend(),
            request_bytes: run.schedule.request_bytes,
            depth: run.schedule.depth,
            profile_assumed: run.schedule.profile_assumed,
            page_bytes,
            passes: run.stats.bytes_read as f64 / (page_bytes as f64).max(1.0),
            cached_fraction: run.cached_fraction,
            memory_plan: run.memory,
            migration: TieredGraph::of(graph).and_then(TieredGraph::moved),
            verified: false,
            steps: run.steps.clone(),
        }
    }
}

/// Processor time of this process, all threads.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

impl<R: Serialize> Summary<R> {
    /// Prints it, as JSON or for people; `answer` are the lines that tell the result.
    pub fn print(&self, json: bool, answer: Vec<(&str, String)>) -> Result<()> {
        if json {
            return output::json(self);
        }
        let mut facts = answer;
        facts.extend(self.facts());
        output::facts(&facts)?;
        if !self.steps.is_empty() {
            output::line(format!("\n{}", steps_table(&self.steps)))?;
        }
        Ok(())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let rate = |bytes_per_second: f64| format!("{:.2} GB/s", bytes_per_second / 1e9);
        let mut facts = vec![
            (
                "time",
                format!(
                    "{:.3} s, {:.0}% of {} cores busy",
                    self.seconds,
                    100.0 * self.cpu_seconds / (self.seconds * self.threads as f64).max(1e-9),
                    self.threads
                ),
            ),
            (
                "read",
                format!(
                    "{} in {} requests: {:.2} x the graph's pages",
                    size(self.bytes_read),
                    count(self.read_requests),
                    self.passes
                ),
            ),
            (
                "rate",
                format!(
                    "{} of {} possible ({} {})",
                    rate(self.bytes_per_second),
                    rate(self.bytes_per_second_possible),
                    self.backend,
                    if self.profile_assumed { "assumed" } else { "measured" }
                ),
            ),
            (
                "memory",
                format!(
                    "{} at the peak, budget {} (graph {})",
                    size(self.peak_rss_bytes),
                    size(self.memory_budget_bytes),
                    size(self.page_bytes)
                ),
            ),
            (
                "plan",
                format!(
                    "{}, requests of {} at depth {}, {:.1}% of pages cached",
                    self.strategy,
                    size(self.request_bytes as u64),
                    self.depth,
                    100.0 * self.cached_fraction
                ),
            ),
        ];
        if let Some(Done { accesses, moved, dropped, failed }) = self.migration {
            let lost = match dropped + failed {
                0 => String::new(),
                lost => format!(", {} could not", count(lost)),
            };
            let told =
                format!("{} blocks moved{lost}, of {} accesses", count(moved), count(accesses));
            facts.push(("tiers", told));
        }
        if self.verified {
            facts.push(("verified", "yes, by the serial verifier".to_owned()));
        }
        facts
    }
}

/// The steps as a table.
fn steps_table(steps: &[StepRecord]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "step",
        "frontier",
        "cached",
        "wanted",
        "gap",
        "requests",
        "bytes",
        "predicted s",
        "s",
    ]);
    for step in steps {
        table.add_row([
            step.label.clone(),
            step.frontier.map_or("-".to_owned(), count),
            count(step.pages_cached),
            count(step.pages_read),
            count(step.pages_gap),
            count(step.requests),
            size(step.bytes),
            format!("{:.4}", step.seconds_predicted),
            format!("{:.4}", step.seconds),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    table.to_string()
}
