//! Depth-first search from one source: parallel pseudo-DFS, and the classical serial one.
//!
//! - [`pseudo`]: which vertices can be reached, and whether given ones can; many stacks at once
//! - [`lexicographic`]: the preorder, parents and postorder of the search that follows the
//!   smallest unvisited neighbour first
//!
//! The set that is reached is the same with both. The order in which pseudo-DFS visits depends on
//! which page arrives first, so it is no part of its answer.

pub mod lexicographic;
pub mod pseudo;

use cenote_engine::{Direction, Graph, Strategy, VertexId};

use crate::estimate::Reads;
use crate::ranks::default_source;
use crate::report::{Result, check_vertices, pages};

const PAGE_BY_PAGE: &str = "the pages of each vertex by themselves, but for those in memory";

/// Pages that a search reads which asks for each list by itself. Those that stay in memory are the
/// ones that are asked for more often, so less is missed than they are few.
fn page_by_page(graph: &Graph, missing: f64) -> Reads {
    let all = pages(graph, Direction::Out) as f64;
    let asked = graph.vertices() as f64 + all;
    let likely = (asked * missing * missing).max(all);
    let reads = Reads::between(1.0, likely, (asked * missing).max(all));
    // Links of vertices that are not reached are not touched.
    reads.by(Strategy::Vertex).idling(4 * graph.vertices() as u64)
}

/// The source, by default the vertex of largest degree, once it and the targets are known to be
/// vertices.
fn checked_source(
    graph: &Graph,
    source: Option<VertexId>,
    targets: &[VertexId],
) -> Result<VertexId> {
    let source = source.map_or_else(|| default_source(graph), Ok)?;
    check_vertices(graph, "--source", &[source])?;
    check_vertices(graph, "--target", targets)?;
    Ok(source)
}
