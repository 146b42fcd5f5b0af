//! What a run will need.

use cenote_engine::EngineConfig;
use serde::Serialize;

use crate::memory::peak_rss_bytes;

/// Threads and what runs use of the program's code and an estimate does not.
const PROGRAM_MORE_BYTES: u64 = 2 << 20;

/// What a run will need: memory, bytes to read, time of the device.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Memory that the run may take.
    pub memory_budget_bytes: u64,
    /// Memory of the process at its peak: what the run uses of its plan, and the program.
    pub memory_bytes: u64,
    /// The same, if as little is read as may be.
    pub memory_bytes_at_least: u64,
    /// The same, if all of the plan is used.
    pub memory_bytes_at_most: u64,
    /// What would just do: everything but cached pages and optional memory.
    pub memory_bytes_min: u64,
    /// What the program itself takes beside its budget.
    pub program_bytes: u64,
    /// Where the memory goes, and what is read.
    #[serde(flatten)]
    pub plan: cenote_algo::Estimate,
}

impl Estimate {
    pub(super) fn new(
        algorithm: &'static str,
        config: &EngineConfig,
        estimate: cenote_algo::Estimate,
    ) -> Self {
        let plan = &estimate.memory;
        // The index, which this process has read too, is in the plan.
        let program_bytes = peak_rss_bytes().saturating_sub(plan.index_bytes) + PROGRAM_MORE_BYTES;
        Self {
            algorithm,
            memory_budget_bytes: config.memory_bytes,
            memory_bytes: estimate.used_bytes + program_bytes,
            memory_bytes_at_least: estimate.used_bytes_at_least + program_bytes,
            memory_bytes_at_most: plan.total_bytes() + program_bytes,
            memory_bytes_min: plan.index_bytes + plan.state_bytes + plan.buffer_bytes,
            program_bytes,
            plan: estimate,
        }
    }
}
