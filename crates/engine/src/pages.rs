//! The engine's frames: a buffer pool over the graph.
//!
//! `auto` fills the frames with what its passes read first and never replaces it, which is what
//! repeated passes want. `block` and `vertex` pin each page in the pool, and Clock Sweep decides
//! what stays, as in the papers.

use std::sync::Arc;

use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;
use cenote_pool::{Pool, PoolConfig, Writer};
use cenote_store::Graph;

use crate::error::Result;
use crate::memory_plan::MemoryPlan;
use crate::schedule::Schedule;

/// How long a worker waits for a page that another is reading, in milliseconds.
const PATIENCE_MS: u64 = 60_000;

/// A pool of the frames that the plan leaves; None where that is none.
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
    let config = PoolConfig {
        page_bytes: graph.page_bytes(),
        frames,
        policy: PolicyKind::Clock,
        writer: Writer::Classical,
        prefetch: PrefetchKind::None,
        evict_batch: 1,
        read_depth: schedule.worker_depth(),
        check: Some(graph.page_check()),
        patience_ms: PATIENCE_MS,
    };
    Ok(Some(Pool::new(Arc::clone(graph.device()), config)?))
}
