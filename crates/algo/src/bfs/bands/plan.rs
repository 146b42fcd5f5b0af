//! Memory and reads of a search in bands.

use cenote_engine::{Bitmap, Direction, EngineConfig, EngineError, Frontier, Graph};

use super::super::{BfsConfig, asks_hub_neighbours};
use crate::bands::{BandPlan, Shape, Traffic, list_max};
use crate::estimate::{Estimate, Reads, kept};
use crate::report::{Result, pages};

/// Passes over hub neighbours on social and Kronecker graphs.
const LEVELS_BY_HUBS: f64 = 3.4;

/// Passes over the pages beside the first.
const AGAIN: f64 = 0.6;

/// Bytes of the sets of vertices.
fn set_bytes(graph: &Graph, config: &EngineConfig, bfs: &BfsConfig) -> u64 {
    let n = graph.vertices();
    let sets = if asks_hub_neighbours(graph, config.strategy, bfs) { 2 } else { 1 };
    let frontier = Frontier::bytes_with_list_max(n, config.threads, list_max(n));
    sets * Bitmap::bytes_for(n) + 2 * frontier
}

/// Plans a search in bands; see [`BandPlan::choose`]. Parents need their memory.
pub(in super::super) fn choose(
    graph: &Graph,
    config: &EngineConfig,
    bfs: &BfsConfig,
    refused: EngineError,
) -> Result<BandPlan> {
    if bfs.parents {
        return Err(refused.into());
    }
    let n = graph.vertices() as u64;
    let shape = Shape {
        what: "bfs in bands of vertices",
        vertex_bytes: 4,
        before_bytes: set_bytes(graph, config, bfs),
        has_messages: true,
        message_bytes: 12 * n,
        ..Shape::default()
    };
    let plan = BandPlan::choose(graph, config, &shape, refused)?;
    let because = format!(
        "sets of the visited vertices and of the frontier do, and then one of {} bands of levels \
         at a time",
        plan.layout.bands
    );
    // The log, if all vertices are reached, and the levels.
    Ok(plan.with(Traffic {
        file_bytes: 8 * n,
        state_bytes_read: 4 * n,
        bytes_written: 8 * n,
        block_bytes: 0,
        because,
    }))
}

/// The estimate of a search.
pub(in super::super) fn estimate(
    plan: BandPlan,
    graph: &Graph,
    config: &EngineConfig,
    bfs: &BfsConfig,
) -> Estimate {
    let all = pages(graph, Direction::Out);
    let missing = 1.0 - kept(graph, &plan.memory, all);
    let (all, single) = (all as f64, graph.vertices() as f64 * missing);
    let (likely, because) = match graph.hub_neighbours() {
        Some(hub_neighbours) if asks_hub_neighbours(graph, config.strategy, bfs) => (
            LEVELS_BY_HUBS * hub_neighbours.pages() as f64,
            "the hub neighbours, and the pages of vertices that they do not lead to",
        ),
        _ => (
            all * (1.0 + AGAIN * missing),
            "each level reads its pages again, or those of unvisited vertices",
        ),
    };
    let reads = Reads::between(1.0, likely, (3.0 * all).max(1.5 * (all + single)));
    let estimate = plan.estimate(graph, reads, because);
    // A search that reaches little has little to log.
    Estimate { bytes_read_at_least: graph.page_bytes() as u64, ..estimate }
}
