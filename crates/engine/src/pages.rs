//! The engine's buffer pool.
//!
//! `auto` fills the frames with the first pages it reads and does not evict them, which is best for
//! repeated passes; small steps ([`NamedPages::of_step`](crate::NamedPages::of_step), with
//! [`few_pages`](crate::EngineConfig::few_pages) also small frontiers) keep those that they read
//! last. `block` and `vertex` pin each page, and Clock Sweep evicts, as in the
//! papers.

use std::sync::Arc;

use cenote_pool::{Pool, PoolConfig};
use cenote_store::Graph;

use crate::error::Result;
use crate::memory_plan::MemoryPlan;
use crate::schedule::Schedule;

/// How long a worker waits for a page that another is reading, in milliseconds.
const PATIENCE_MS: u64 = 60_000;

/// A pool of the frames that the memory plan leaves; None if it leaves no frame.
pub(crate) fn pool(
    graph: &Arc<Graph>,
    schedule: &Schedule,
    memory: &MemoryPlan,
) -> Result<Option<Arc<Pool>>> {
    let cached = memory.cache_bytes / Pool::frame_bytes(graph.page_bytes());
    let frames = schedule.frames_in_use() + usize::try_from(cached).unwrap_or(usize::MAX);
    if frames == 0 {
        return Ok(None);
    }
    let config = PoolConfig::classical(graph.page_bytes(), frames)
        .read_depth(schedule.worker_depth())
        .check(Some(graph.page_check()))
        .patience_ms(PATIENCE_MS);
    Ok(Some(Pool::new(Arc::clone(graph.device()), config)?))
}
