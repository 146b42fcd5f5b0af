//! The order of clusters: vertices that are near in the graph lie near in the file.
//!
//! Clusters are grown breadth first from a seed until they are as large as a page (graph growing:
//! Karypis and Kumar, "A fast and high quality multilevel scheme for partitioning irregular
//! graphs", SIAM J. Sci. Comput. 20, 1998, section 3.2). The next seed is the vertex that was
//! touched first and is in no cluster. Then clusters are the nodes of a smaller graph, which are
//! grown to clusters of eight times the size, and so on until there is one. So a part of the order
//! of any length lies together in the graph: a page, a read of many pages, what memory holds.
//!
//! - `lists`: the lists of the vertices, in memory or in a stored graph, and how close they lie
//! - `grow`: the clusters of one level

mod grow;
mod lists;

use std::cmp::Reverse;

use self::grow::{Clusters, Nodes, grow};
pub(super) use self::lists::{Loaded, Stored};
use crate::error::{ImportError, Result};
use crate::report::Progress;
use cenote_store::{Direction, Graph, VertexId};

/// Entries of lists in a cluster of vertices, each of which counts as [`VERTEX`] more.
pub const CAPACITY: u64 = 1024;
/// What a vertex takes in a page beside the entries of its list, in entries.
pub const VERTEX: u64 = 2;
/// How many times as large the clusters of the next level are.
const GROWTH: u64 = 8;
/// The neighbours of a cluster that the next level knows: those with which it shares most edges.
const NEIGHBOURS_MAX: usize = 8;

/// Bytes of memory for a graph with so many vertices and bytes of lists, beside its lists.
pub(super) fn memory(vertices: usize, graph_bytes: usize) -> usize {
    // Clusters, joined vertices, seeds, the queue, and which are ends.
    let each = 4 * size_of::<VertexId>() + size_of::<u8>();
    // A cluster is at least half full; both it and its neighbour know that they are neighbours.
    let clusters = 2 * (graph_bytes / size_of::<VertexId>() + vertices) / CAPACITY as usize + 1;
    vertices * each + clusters * (2 * NEIGHBOURS_MAX * size_of::<Shared>() + 2 * size_of::<u64>())
}

/// How many edges a cluster shares with another one: their numbers, and the edges.
type Shared = (u32, u32, u32);

/// The vertices, by their ranks in natural order, in the order of clusters.
pub(super) fn order(
    lists: &mut impl Nodes,
    degrees: &[Degree],
    progress: &dyn Progress,
) -> Result<Vec<VertexId>> {
    let with = |wanted: Degree| {
        (0..).zip(degrees).filter_map(move |(v, &degree)| (degree == wanted).then_some(v))
    };
    // Where paths end, a cluster can grow one way only.
    let starts = with(Degree::One).chain(with(Degree::More)).chain(with(Degree::None));
    let mut capacity = CAPACITY;
    let mut levels = vec![grow(lists, degrees.len(), starts, capacity, progress)?];
    while let Some(last) = levels.last_mut().filter(|level| level.len() > 1) {
        capacity *= GROWTH;
        let mut clusters = Quotient::of(last);
        let nodes = 0..last.len() as u32;
        levels.push(grow(&mut clusters, nodes.len(), nodes, capacity, progress)?);
    }
    let top = levels.last().map_or(0, Clusters::len) as u32;
    let expand = |clusters: Vec<u32>, level: Clusters| {
        clusters.iter().flat_map(|&cluster| level.nodes_of(cluster)).copied().collect()
    };
    Ok(levels.into_iter().rev().fold((0..top).collect(), expand))
}

/// As much of a vertex's degree as its start of a cluster depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Degree {
    None,
    One,
    More,
}

impl Degree {
    /// Those of all vertices.
    pub fn all(graph: &Graph) -> Result<Vec<Self>> {
        let mut degrees = Vec::with_capacity(graph.vertices());
        graph.degrees(Direction::Out, &mut |_, lengths| {
            degrees.extend(lengths.iter().map(|&length| Self::from(length)));
        })?;
        Ok(degrees)
    }
}

impl From<u64> for Degree {
    fn from(degree: u64) -> Self {
        match degree {
            0 => Degree::None,
            1 => Degree::One,
            _ => Degree::More,
        }
    }
}

/// The graph of clusters: two are neighbours if they share edges.
struct Quotient {
    weights: Vec<u64>,
    /// Where the list of each begins, and the end of the last.
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Quotient {
    fn of(clusters: &mut Clusters) -> Self {
        let mut shared = std::mem::take(&mut clusters.shared);
        shared.extend_from_within(..);
        let half = shared.len() / 2;
        shared[half..].iter_mut().for_each(|(a, b, _)| std::mem::swap(a, b));
        // Those with which a cluster shares most edges come first.
        shared.sort_unstable_by_key(|&(a, b, edges)| (a, Reverse(edges), b));
        let starts = (0..=clusters.len() as u32)
            .map(|cluster| shared.partition_point(|&(a, ..)| a < cluster) as u32)
            .collect();
        let neighbours = shared.into_iter().map(|(_, b, _)| b).collect();
        Self { weights: std::mem::take(&mut clusters.weights), starts, neighbours }
    }
}

impl Nodes for Quotient {
    fn visit(&mut self, node: u32, each: &mut impl FnMut(u32)) -> Result<u64> {
        let at = |node: usize| self.starts[node] as usize;
        let node = node as usize;
        self.neighbours[at(node)..at(node + 1)].iter().for_each(|&neighbour| each(neighbour));
        Ok(self.weights[node])
    }
}

fn check_cancelled(progress: &dyn Progress) -> Result<()> {
    if progress.cancelled() { Err(ImportError::Cancelled) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ImportConfig, Input};
    use crate::edges::Edges;
    use crate::report::NoProgress;
    use crate::workspace::FileWorkspace;
    use cenote_device::backend::file::{self, OpenOptions};
    use cenote_device::mix;

    /// The order of the clusters of a graph with lists in memory, and with stored ones.
    fn orders(pairs: &[(u64, u64)], directed: bool) -> [Vec<VertexId>; 2] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("g.cenote");
        let config = ImportConfig::default().directed(directed);
        let inputs = [Input::from(Edges::slice(pairs))];
        let workspace = FileWorkspace::new(&out, &[], None, false).unwrap();
        crate::import_edges(&inputs, &workspace, &config, &NoProgress).unwrap();
        let graph = Graph::open(file::open(&out, &OpenOptions::reading()).unwrap()).unwrap();
        let degrees = Degree::all(&graph).unwrap();
        let (mut loaded, mut stored) =
            (Loaded::load(&graph).unwrap(), Stored::new(&graph).unwrap());
        [
            order(&mut loaded, &degrees, &NoProgress).unwrap(),
            order(&mut stored, &degrees, &NoProgress).unwrap(),
        ]
    }

    #[test]
    fn lists_in_memory_and_stored_ones_give_the_same_order_of_all_vertices() {
        let random = |n: u64, count: u64| -> Vec<(u64, u64)> {
            (0..count).map(|at| (mix(at) % n, mix(at + count) % n)).collect()
        };
        let star = (1..9000).map(|leaf| (0, leaf)).collect();
        let path = (0..9000).map(|v| (mix(v) % 9001, mix(v + 1) % 9001)).collect();
        let islands = (0..9000).map(|v| (2 * v, 2 * v + 1)).collect();
        for pairs in [random(9000, 12_000), random(300, 60_000), star, path, islands] {
            for directed in [false, true] {
                let [loaded, stored] = orders(&pairs, directed);
                assert!(loaded == stored);
                let mut all = loaded;
                all.sort_unstable();
                assert!(all.into_iter().eq(0..stored.len() as VertexId));
            }
        }
    }
}
