//! The budget that suffices whatever the communities.
//!
//! How large the graph between subsets is shows during the run. Its bound does not: it has at most
//! as many nodes as the graph has vertices, and as many pairs as the graph has edges.

use cenote_engine::{Engine, EngineConfig, EngineError, Graph, MemoryPlan, Needs, Schedule};

use super::gather;
use super::level::budget_error;
use crate::estimate::{engine_for, plan_for};
use crate::report::{AlgoError, Result};

/// Bytes of vertex state that levels use in its place.
pub(super) fn freed_bytes(vertices: usize) -> u64 {
    16 * vertices as u64 + gather::least_bytes()
}

/// The most optional memory that levels of a graph can use.
pub(super) fn scratch_bytes(graph: &Graph) -> u64 {
    let n = graph.vertices();
    gather::most_bytes(n, graph.superblock().stored_out).saturating_sub(freed_bytes(n))
}

/// As [`plan_for`]; an error names a budget that suffices for any communities.
pub(super) fn plan(
    graph: &Graph,
    config: &EngineConfig,
    needs: impl Fn(&EngineConfig) -> Needs,
) -> Result<(Schedule, MemoryPlan)> {
    let planned = plan_for(graph, config, &needs);
    planned.map_err(|error| with_levels(graph, config, &needs, error))
}

/// As [`engine_for`]; an error names a budget that suffices for any communities.
pub(super) fn engine(
    graph: &std::sync::Arc<Graph>,
    config: EngineConfig,
    needs: impl Fn(&EngineConfig) -> Needs,
) -> Result<Engine> {
    let made = engine_for(graph, config.clone(), &needs);
    made.map_err(|error| with_levels(graph, &config, &needs, error))
}

fn with_levels(
    graph: &Graph,
    config: &EngineConfig,
    needs: impl Fn(&EngineConfig) -> Needs,
    error: AlgoError,
) -> AlgoError {
    let AlgoError::Engine(EngineError::Budget { what, given, breakdown, .. }) = error else {
        return error;
    };
    let most = gather::most_bytes(graph.vertices(), graph.superblock().stored_out);
    let breakdown = format!("{breakdown}, the graph between communities at most {most}");
    match sufficient(graph, config, needs) {
        Ok(needed) => budget_error(what, (given, needed), breakdown),
        Err(error) => error,
    }
}

/// A budget in bytes, of whole MiB, with which no run fails, nor with a larger one.
///
/// # Errors
/// As [`Engine::plan`], but none of a too small budget.
pub(super) fn sufficient(
    graph: &Graph,
    config: &EngineConfig,
    needs: impl Fn(&EngineConfig) -> Needs,
) -> Result<u64> {
    let mut config = config.clone();
    loop {
        let needs = needs(&config);
        let bytes = match Engine::plan(graph, &config, &needs) {
            // Cached pages may come before optional memory.
            Ok((_, plan)) if plan.scratch_bytes < needs.scratch_bytes => {
                config.memory_bytes + needs.scratch_bytes - plan.scratch_bytes
            }
            Ok(_) => return Ok(config.memory_bytes),
            Err(EngineError::Budget { suggested, .. }) => suggested << 20,
            Err(other) => return Err(other.into()),
        };
        config.memory_bytes = bytes.next_multiple_of(1 << 20);
    }
}
