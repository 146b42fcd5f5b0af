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

use cenote_engine::{Graph, VertexId};

use crate::report::{Result, check_vertices};

/// The source, by default the vertex of largest degree, once it and the targets are known to be
/// vertices.
fn checked_source(
    graph: &Graph,
    source: Option<VertexId>,
    targets: &[VertexId],
) -> Result<VertexId> {
    let source = source.unwrap_or(graph.superblock().degree_max_vertex);
    check_vertices(graph, "--source", &[source])?;
    check_vertices(graph, "--target", targets)?;
    Ok(source)
}
