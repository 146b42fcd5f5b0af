//! The engine's frames: a buffer pool over the graph.
//!
//! `auto` fills the frames with what its passes read first and never replaces it, which is what
//! repeated passes want. `block` and `vertex` ask the pool for each page, and Clock Sweep decides
//! what stays, as in the papers.

use std::sync::Arc;

use cenote_pool::check::{Damage, PageCheck};
use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;
use cenote_pool::{PageId, Pool, PoolConfig, Writer};
use cenote_store::{Adjacency, Direction, Graph};

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
        check: Some(Arc::new(Verified(Arc::clone(graph)))),
        patience_ms: PATIENCE_MS,
    };
    Ok(Some(Pool::new(Arc::clone(graph.device()), config)?))
}

/// The graph's own check of its pages.
#[derive(Debug)]
struct Verified(Arc<Graph>);

impl Verified {
    fn adjacency_of(&self, page: PageId) -> Option<&Adjacency> {
        [Direction::Out, Direction::In].into_iter().find_map(|direction| {
            let adjacency = self.0.adjacency(direction)?;
            let end = adjacency.first_page() + adjacency.pages();
            (adjacency.first_page()..end).contains(&page).then_some(adjacency)
        })
    }
}

impl PageCheck for Verified {
    fn seal(&self, page: PageId, _: &mut [u8]) {
        unreachable!("a run changes no page, and this is page {page}");
    }

    fn check(&self, page: PageId, bytes: &[u8]) -> std::result::Result<(), Damage> {
        let adjacency = self.adjacency_of(page).ok_or("it holds no lists")?;
        adjacency.parse(page - adjacency.first_page(), bytes)?;
        Ok(())
    }
}
