//! How the memory budget of a run is divided.

use std::sync::OnceLock;

use cenote_pool::Pool;
use cenote_store::{Adjacency, Direction, Graph, LookupConfig, UnpackedPages, WeightColumn};
use serde::Serialize;

use crate::config::EngineConfig;
use crate::error::{EngineError, Result};

/// The memory that an algorithm needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The algorithm's name, for messages.
    pub what: &'static str,
    /// Required bytes: vertex state, frontiers.
    pub state_bytes: u64,
    /// The most optional bytes that it can use to read less.
    pub scratch_bytes: u64,
}

/// How the memory budget is divided, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryPlan {
    /// The graph's page index, and the maps of a graph over several drives.
    pub index_bytes: u64,
    /// The algorithm's state.
    pub state_bytes: u64,
    /// I/O buffers of all workers (`block` and `vertex`: the frames that they read into), one
    /// decoded page per worker where pages are packed, and pages of delta runs that each holds.
    pub buffer_bytes: u64,
    /// The algorithm's optional memory.
    pub scratch_bytes: u64,
    /// Cached pages.
    pub cache_bytes: u64,
    /// Pages of delta runs that are kept.
    pub run_bytes: u64,
    /// Copies of packed pages that stay unpacked, where all pages are cached.
    pub unpacked_bytes: u64,
}

/// The memory for pages of delta runs, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunMemory {
    /// What is kept.
    kept: u64,
    /// What the workers hold beside.
    held: u64,
}

impl RunMemory {
    fn new(graph: &Graph, threads: usize, kept: u64) -> Self {
        let kept = graph.run_bytes_with(kept, 0);
        Self { kept, held: graph.run_bytes_with(kept, threads) - kept }
    }

    /// What a run needs.
    pub fn least(graph: &Graph, threads: usize) -> Self {
        Self::new(graph, threads, LookupConfig::RUN_BYTES)
    }

    /// All pages, if so many bytes more than the least suffice for them.
    fn all(graph: &Graph, threads: usize, more_bytes: u64) -> Option<Self> {
        let all = Self::new(graph, threads, graph.run_bytes_all());
        Some(all).filter(|all| all.bytes() <= Self::least(graph, threads).bytes() + more_bytes)
    }

    pub fn bytes(&self) -> u64 {
        self.kept + self.held
    }
}

impl MemoryPlan {
    /// The sum of all parts.
    pub fn total_bytes(&self) -> u64 {
        self.index_bytes
            + self.state_bytes
            + self.buffer_bytes
            + self.scratch_bytes
            + self.cache_bytes
            + self.run_bytes
            + self.unpacked_bytes
    }

    /// How many pages the cache can hold.
    pub fn cached_pages(&self, graph: &Graph) -> u64 {
        self.cache_bytes / Pool::frame_bytes(graph.page_bytes())
    }

    /// Fraction of the graph's adjacency pages that the cache can hold, 0 to 1.
    pub fn cached_fraction(&self, graph: &Graph) -> f64 {
        (self.cached_pages(graph) as f64 / adjacency_pages(graph).max(1) as f64).min(1.0)
    }

    /// Divides `config.memory_bytes`. `buffer_bytes` is what the schedule needs.
    pub(crate) fn divide(
        graph: &Graph,
        config: &EngineConfig,
        needs: &Needs,
        buffer_bytes: u64,
    ) -> Result<Self> {
        let index_bytes = graph.memory_bytes_without_runs() as u64;
        let runs = RunMemory::least(graph, config.threads);
        let fixed_bytes = index_bytes + runs.bytes() + buffer_bytes;
        let needed = fixed_bytes.saturating_add(needs.state_bytes);
        let Some(left) = config.memory_bytes.checked_sub(needed) else {
            let tiers = match graph.device().memory_bytes() {
                0 => String::new(),
                bytes => format!("of which tiers {bytes}, "),
            };
            let runs = match runs.bytes() {
                0 => String::new(),
                bytes => format!("delta runs {bytes}, "),
            };
            return Err(EngineError::Budget {
                what: format!("{} ({})", needs.what, config.strategy),
                given: config.memory_bytes,
                needed,
                suggested: needed.div_ceil(1 << 20),
                breakdown: format!(
                    "vertex state {}, page index {index_bytes}, {tiers}{runs}I/O buffers \
                     {buffer_bytes}",
                    needs.state_bytes
                ),
            });
        };
        let frame_bytes = Pool::frame_bytes(graph.page_bytes());
        let useful = frame_bytes * useful_pages(graph, config);
        let limit = config.cache_bytes.unwrap_or(u64::MAX).min(useful);
        // If all pages fit they come before scratch memory, since then no page is read twice.
        let scratch_left = if limit <= left { left - limit } else { left / 2 };
        let scratch_bytes = needs.scratch_bytes.min(scratch_left);
        let cache_bytes = (left - scratch_bytes).min(limit);
        let cache_bytes = if cache_bytes < frame_bytes { 0 } else { cache_bytes };
        let spare = left - scratch_bytes - cache_bytes;
        let least = runs.bytes();
        let runs = RunMemory::all(graph, config.threads, spare).unwrap_or(runs);
        let spare = spare - (runs.bytes() - least);
        let unpacks = !config.passes || unpacks_in_passes(graph);
        let unpacked_bytes = match unpacks && cache_bytes >= useful {
            true => spare.min(UnpackedPages::bytes_for_all(graph)),
            false => 0,
        };
        Ok(Self {
            index_bytes,
            state_bytes: needs.state_bytes,
            buffer_bytes: buffer_bytes + runs.held,
            scratch_bytes,
            cache_bytes,
            run_bytes: runs.kept,
            unpacked_bytes,
        })
    }
}

/// Limits for the bytes of copies waiting in one worker, by kind of visit and direction. Computed
/// once, because that takes a look at the index of every page.
#[derive(Debug, Default)]
pub(crate) struct CopiesMax {
    pub lists: [OnceLock<u64>; 2],
    pub pages: [OnceLock<u64>; 2],
}

/// Full passes use unpacked pages if all of them take so many bytes at most, which caches of a
/// processor hold. Ten iterations of PageRank took 0.7 to 0.8 times as long with 13 to 20 MB, 0.97
/// with 65, and 1.2 with 130: reading four bytes an entry from memory takes as long as unpacking.
const UNPACKED_PASS_BYTES: u64 = 32 << 20;

/// Whether full passes gain by pages that stay unpacked.
pub(crate) fn unpacks_in_passes(graph: &Graph) -> bool {
    UnpackedPages::bytes_for_all(graph) <= UNPACKED_PASS_BYTES
}

/// Bytes of one worker's buffer for decoded pages.
pub(crate) fn decoded_bytes(graph: &Graph) -> u64 {
    let bytes = |direction| graph.adjacency(direction).map_or(0, Adjacency::decoded_bytes);
    bytes(Direction::Out).max(bytes(Direction::In)) as u64
}

/// Pages that a run may read more than once.
pub(crate) fn useful_pages(graph: &Graph, config: &EngineConfig) -> u64 {
    let weights = |direction| graph.weights(direction).map_or(0, WeightColumn::pages);
    let weights = match (config.weighted, graph.is_directed()) {
        (false, _) => 0,
        (true, false) => weights(Direction::Out),
        (true, true) => weights(Direction::Out) + weights(Direction::In),
    };
    adjacency_pages(graph) + weights
}

/// Pages that hold lists, in either direction.
pub(crate) fn adjacency_pages(graph: &Graph) -> u64 {
    let pages = |direction| graph.adjacency(direction).map_or(0, Adjacency::pages);
    let inward = if graph.is_directed() { pages(Direction::In) } else { 0 };
    pages(Direction::Out) + inward
}
