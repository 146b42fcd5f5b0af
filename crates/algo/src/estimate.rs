//! What a run will need, estimated beforehand: memory and bytes; and the budget that will do.

use std::sync::Arc;

use cenote_engine::{
    Engine, EngineConfig, EngineError, Graph, MemoryPlan, Needs, Schedule, Strategy,
};
use serde::Serialize;

use crate::report::{Result, graph_pages};

/// What a run will need, estimated beforehand. Where that depends on more of the graph's shape than
/// its index has, such as how much of it a search reaches, there is a range, as wide as it is on
/// the graphs that were measured.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Where the memory will go, at most.
    pub memory: MemoryPlan,
    /// Bytes of it that will be in use at the peak: pages that are never read take no memory.
    #[serde(skip)]
    pub used_bytes: u64,
    /// The same, if as little is read as may be.
    #[serde(skip)]
    pub used_bytes_at_least: u64,
    /// Bytes that will be read, at most where the algorithm may stop early.
    pub bytes_read: u64,
    /// Bytes that will be read at least, as a rule.
    pub bytes_read_at_least: u64,
    /// Bytes that will be read at most, as a rule.
    pub bytes_read_at_most: u64,
    /// What the bytes follow from, in words.
    pub because: String,
    /// Seconds of device time for them by the profile.
    pub device_seconds: f64,
}

/// Pages that a run will read, and how much of the memory that it was given is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    at_least: f64,
    likely: f64,
    at_most: f64,
    /// Share of the optional memory that is filled, at least and likely.
    scratch: (f64, f64),
    /// Bytes of the state that are set aside for the worst case alone.
    spare_bytes: u64,
    idle_bytes: u64,
    caches: bool,
    takes_all_frames: bool,
}

impl Reads {
    /// So many pages, whatever the shape.
    pub fn about(pages: f64) -> Self {
        Self::between(pages, pages, pages)
    }

    /// As the shape has it.
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
        }
    }

    /// The share of the optional memory that is filled, at least and likely.
    pub fn filling(self, at_least: f64, likely: f64) -> Self {
        Self { scratch: (at_least, likely), ..self }
    }

    /// Bytes of the state that only the worst case takes.
    pub fn sparing(self, spare_bytes: u64) -> Self {
        Self { spare_bytes, ..self }
    }

    /// Bytes of the state that are not touched where as little is read as may be.
    pub fn idling(self, idle_bytes: u64) -> Self {
        Self { idle_bytes, ..self }
    }

    /// No page is worth keeping.
    pub fn uncached(self) -> Self {
        Self { caches: false, ..self }
    }

    /// By a strategy that reads into the frames of the cache, all of which it takes at once.
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
            + (memory.scratch_bytes as f64 * scratch) as u64
            + cache_bytes
    }

    /// Buffers beyond the first half wait for more requests in flight.
    fn used_bytes_at_least(&self, memory: &MemoryPlan, bytes_read: u64) -> u64 {
        let used = self.used_bytes(memory, bytes_read, self.scratch.0);
        let idle = memory.state_bytes.saturating_sub(self.spare_bytes).min(self.idle_bytes);
        used - idle - memory.buffer_bytes / 2
    }
}

impl Estimate {
    /// What `reads` come to with this plan.
    pub(crate) fn new(
        graph: &Graph,
        (schedule, memory): (Schedule, MemoryPlan),
        reads: Reads,
        because: impl Into<String>,
    ) -> Self {
        let bytes = |pages: f64| (pages * graph.page_bytes() as f64) as u64;
        let (at_least, likely) = (bytes(reads.at_least), bytes(reads.likely));
        Self {
            memory,
            used_bytes: reads.used_bytes(&memory, likely, reads.scratch.1),
            used_bytes_at_least: reads.used_bytes_at_least(&memory, at_least),
            bytes_read: likely,
            bytes_read_at_least: at_least,
            bytes_read_at_most: bytes(reads.at_most),
            because: because.into(),
            device_seconds: schedule.seconds_for_bytes(likely),
        }
    }
}

/// Share of so many pages that the cache can hold, 0 to 1.
pub(crate) fn kept(graph: &Graph, memory: &MemoryPlan, pages: u64) -> f64 {
    let all = graph_pages(graph) as f64;
    (memory.cached_fraction(graph) * all / pages.max(1) as f64).min(1.0)
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

/// The error of a budget that is too small, with one that does even where the needs have grown
/// with it. They grow by less than the budget does, so this ends.
fn settled(
    graph: &Graph,
    config: &EngineConfig,
    needs: impl Fn(&EngineConfig) -> Needs,
    error: EngineError,
) -> EngineError {
    let mut error = error;
    let mut config = config.clone();
    let asked = config.memory_bytes;
    while let EngineError::Budget { given, suggested, .. } = &mut error {
        *given = asked;
        config.memory_bytes = *suggested << 20;
        match Engine::plan(graph, &config, &needs(&config)) {
            Err(larger) => error = larger,
            Ok(_) => break,
        }
    }
    error
}
