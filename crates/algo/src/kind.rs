//! What kind of graph it is, as far as its superblock says.

use cenote_engine::{Graph, Order};

/// A vertex of this many times the mean degree is a hub.
const HUB_DEGREES: f64 = 64.0;

/// Whether the graph looks like a lattice or a road network.
pub(crate) fn is_lattice(graph: &Graph) -> bool {
    let superblock = graph.superblock();
    let vertices = superblock.live_vertices().max(2);
    superblock.stored_out < 5 * vertices && superblock.degree_max < 50
}

/// Whether neighbours lie near one another in the file, however they are numbered.
pub(crate) fn is_clustered(graph: &Graph) -> bool {
    graph.superblock().order == Order::Cluster
}

/// Whether all vertices have few edges: it may be a lattice or a chain of dense parts, or random.
pub(crate) fn is_flat(graph: &Graph) -> bool {
    mean_degree(graph) <= 24.0 && graph.superblock().degree_max < 50
}

/// Whether a vertex has far more edges than most.
pub(crate) fn has_hubs(graph: &Graph) -> bool {
    graph.superblock().degree_max as f64 >= HUB_DEGREES * mean_degree(graph)
}

/// Entries of lists a vertex.
pub(crate) fn mean_degree(graph: &Graph) -> f64 {
    let superblock = graph.superblock();
    superblock.stored_out as f64 / superblock.live_vertices().max(1) as f64
}
