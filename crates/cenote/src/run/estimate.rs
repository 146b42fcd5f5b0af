//! Estimates of the memory, reads and time of a run.

use cenote_engine::EngineConfig;
use serde::Serialize;

use crate::memory::peak_rss_bytes;

/// Memory of threads and program code that is in use only during a run.
const PROGRAM_MORE_BYTES: u64 = 2 << 20;

/// Estimated memory, reads and device time of a run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The memory budget.
    pub memory_budget_bytes: u64,
    /// Peak memory of the process: what the run uses of its plan, and the program.
    pub memory_bytes: u64,
    /// Peak memory if the run reads as little as possible.
    pub memory_bytes_at_least: u64,
    /// Peak memory if the run uses all of its plan.
    pub memory_bytes_at_most: u64,
    /// The smallest sufficient budget, without cached pages and optional memory.
    pub memory_bytes_min: u64,
    /// Memory of the program beside the budget.
    pub program_bytes: u64,
    /// How the budget is divided, and what is read.
    #[serde(flatten)]
    pub plan: cenote_algo::Estimate,
}

impl Estimate {
    pub(super) fn new(
        algorithm: &'static str,
        config: &EngineConfig,
        estimate: cenote_algo::Estimate,
        memory_bytes_min: u64,
    ) -> Self {
        let plan = &estimate.memory;
        // The index, which this process has loaded too, is in the plan.
        let program_bytes = peak_rss_bytes().saturating_sub(plan.index_bytes) + PROGRAM_MORE_BYTES;
        Self {
            algorithm,
            memory_budget_bytes: config.memory_bytes,
            memory_bytes: estimate.used_bytes + program_bytes,
            memory_bytes_at_least: estimate.used_bytes_at_least + program_bytes,
            memory_bytes_at_most: plan.total_bytes() + program_bytes,
            memory_bytes_min,
            program_bytes,
            plan: estimate,
        }
    }
}
