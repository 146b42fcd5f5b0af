//! Depth-first search from one source: parallel pseudo-DFS, and the serial lexicographic search.
//!
//! - [`pseudo`]: which vertices, or which of given ones, can be reached; many stacks in parallel
//! - [`lexicographic`]: preorder, parents and postorder of the search that always follows the
//!   smallest unvisited neighbour
//!
//! Both reach the same vertices. The order in which pseudo-DFS visits them depends on which page
//! arrives first, so it is not part of the result.

pub mod lexicographic;
pub mod pseudo;

use cenote_engine::{Direction, Graph, Strategy, VertexId};

use crate::estimate::Reads;
use crate::ranks::default_source;
use crate::report::{Result, check_vertices, pages};

const PAGE_BY_PAGE: &str = "the pages of each vertex by themselves, but for those in memory";

/// Pages that a search reads if it fetches each list by itself. Cached pages are those used most
/// often, so reads shrink faster than the share of missing pages.
fn page_by_page(graph: &Graph, missing: f64) -> Reads {
    let all = pages(graph, Direction::Out) as f64;
    let requested = graph.vertices() as f64 + all;
    let likely = (requested * missing * missing).max(all);
    let reads = Reads::between(1.0, likely, (requested * missing).max(all));
    // Links of vertices that are not reached are not touched.
    reads.by(Strategy::Vertex).idling(4 * graph.vertices() as u64)
}

/// The source, by default the vertex of largest degree; checks it and the targets.
fn checked_source(
    graph: &Graph,
    source: Option<VertexId>,
    targets: &[VertexId],
) -> Result<VertexId> {
    let source = source.map_or_else(|| default_source(graph), Ok)?;
    check_vertices(graph, "source", &[source])?;
    check_vertices(graph, "target", targets)?;
    Ok(source)
}
