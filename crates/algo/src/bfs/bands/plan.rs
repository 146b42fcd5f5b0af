//! Memory and reads of a search in bands.

use cenote_engine::{Bitmap, Direction, EngineConfig, EngineError, Frontier, Graph};

use super::super::{BfsConfig, asks_hub_neighbours};
use super::window::{self, Window};
use crate::bands::{BandPlan, Shape, Traffic, list_max, parents};
use crate::estimate::{Estimate, Reads, kept};
use crate::kind::is_lattice;
use crate::ranks::is_natural;
use crate::report::{Result, pages};

/// Passes over hub neighbours on social and Kronecker graphs.
const LEVELS_BY_HUBS: f64 = 3.4;

/// Passes over the pages beside the first.
const AGAIN: f64 = 0.6;

/// The same where levels are found a window at a time: a grid of 160,000 vertices, and one of 10^6.
const AGAIN_IN_WINDOWS: f64 = 1.3;

/// Parents that are proposed, a vertex; and where the first of a list is not the one of the
/// smallest id.
const PROPOSED: f64 = 2.0;
const PROPOSED_IN_ANY_ORDER: f64 = 3.5;

/// Bytes of the sets of vertices.
fn set_bytes(graph: &Graph, config: &EngineConfig, bfs: &BfsConfig) -> u64 {
    let n = graph.vertices();
    let sets = if asks_hub_neighbours(graph, config.strategy, bfs) { 2 } else { 1 };
    let frontier = Frontier::bytes_with_list_max(n, config.threads, list_max(n));
    sets * Bitmap::bytes_for(n) + 2 * frontier
}

/// Plans a search in bands, and whether with a [`window`](super::window); see
/// [`BandPlan::choose_first`].
pub(in super::super) fn choose(
    graph: &Graph,
    config: &EngineConfig,
    bfs: &BfsConfig,
    refused: EngineError,
) -> Result<(BandPlan, bool)> {
    let n = graph.vertices() as u64;
    let proposed = if is_natural(graph) { PROPOSED } else { PROPOSED_IN_ANY_ORDER };
    let found = if bfs.parents { parents::traffic(graph, proposed) } else { Traffic::default() };
    let shape = Shape {
        what: "bfs in bands of vertices",
        vertex_bytes: 4,
        before_bytes: set_bytes(graph, config, bfs),
        messages: 1 + u64::from(bfs.parents),
        message_bytes: 12 * n + if bfs.parents { parents::message_bytes_max(graph) } else { 0 },
        ..Shape::default()
    };
    let may_have_window = !bfs.parents && window::is_useful(graph);
    let window_bytes = if may_have_window { Window::bytes_for(graph) } else { 0 };
    let with_window = Shape { before_bytes: shape.before_bytes + window_bytes, ..shape };
    let (plan, chosen) = BandPlan::choose_first(graph, config, (&with_window, &shape), refused)?;
    let has_window = may_have_window && chosen.before_bytes == with_window.before_bytes;
    let of_window = if has_window { ", the levels of a window," } else { "" };
    let because = format!(
        "sets of the visited vertices and of the frontier{of_window} do, and then one of {} bands \
         of levels at a time{}",
        plan.layout.bands, found.because
    );
    // The log, if all vertices are reached: in a window neighbours have other levels.
    let log = if has_window && is_lattice(graph) { 12 * n } else { 4 * n };
    let plan = plan.with(Traffic {
        file_bytes: log + 4 * n + found.file_bytes,
        state_bytes_read: log + found.state_bytes_read,
        bytes_written: log + 4 * n + found.bytes_written,
        block_bytes: found.block_bytes,
        because,
    });
    Ok((plan, has_window))
}

/// The estimate of a search.
pub(in super::super) fn estimate(
    (plan, has_window): (BandPlan, bool),
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
        _ if has_window && is_lattice(graph) => (
            all * (1.0 + AGAIN_IN_WINDOWS * missing),
            "page by page, up to 253 levels at a time, each page about twice",
        ),
        _ => (
            all * (1.0 + AGAIN * missing),
            "each level reads its pages again, or those of unvisited vertices",
        ),
    };
    let reads = Reads::between(1.0, likely, (3.0 * all).max(1.5 * (all + single)));
    let estimate = plan.estimate(graph, reads, because);
    let proposals = if bfs.parents { parents::message_bytes_max(graph) } else { 0 };
    Estimate {
        // A search that reaches little has little to log.
        bytes_read_at_least: graph.page_bytes() as u64,
        bytes_read_at_most: estimate.bytes_read_at_most + proposals,
        ..estimate
    }
}
