//! The lists of the vertices: in memory where it has room for them, else in a stored graph.

use cenote_pool::Handle;

use super::grow::Nodes;
use super::{CAPACITY, VERTEX};
use crate::error::Result;
use cenote_store::page::List;
use cenote_store::{Direction, Graph, VertexId};

/// The lists of targets of a graph.
pub enum Lists<'a> {
    /// One behind the other.
    Loaded {
        /// Where the list of each vertex begins, and the end of the last.
        starts: Vec<u32>,
        targets: Vec<u32>,
    },
    /// In a stored graph, which a handle reads.
    Stored(&'a Graph, Handle),
}

impl<'a> Lists<'a> {
    /// Bytes of memory of the lists of so many vertices with so many entries.
    pub fn memory(vertices: usize, entries: usize) -> usize {
        (vertices + 1 + entries) * size_of::<u32>()
    }

    /// Reads all lists in one pass. There are fewer than 2^32 entries.
    pub fn load(graph: &Graph) -> Result<Self> {
        let entries = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_edges());
        let mut starts = Vec::with_capacity(graph.vertices() + 1);
        let mut targets = Vec::with_capacity(entries as usize);
        graph.scan(Direction::Out, &mut |_, page| {
            for list in page.lists() {
                let List { vertex, targets: part, .. } = list;
                // Also the empty lists before; a list in several pages begins in the first.
                while starts.len() <= vertex as usize {
                    starts.push(targets.len() as u32);
                }
                targets.extend_from_slice(part);
            }
            Ok(())
        })?;
        starts.resize(graph.vertices() + 1, targets.len() as u32);
        Ok(Self::Loaded { starts, targets })
    }

    pub fn stored(graph: &'a Graph) -> Result<Self> {
        Ok(Self::Stored(graph, graph.handle()?))
    }
}

impl Lists<'_> {
    /// The share of the entries that lie close to their list, in natural order and in another:
    /// within lists as long together as those of a cluster. `None` if the lists are not loaded.
    pub fn together(&self, ranks: &[VertexId], vertex_of: &[VertexId]) -> Option<(f64, f64)> {
        let Self::Loaded { starts, targets } = self else { return None };
        let list = |rank: VertexId| {
            let at = |rank: usize| starts[rank] as usize;
            &targets[at(rank as usize)..at(rank as usize + 1)]
        };
        let vertices = ranks.len() as VertexId;
        let count = |together: usize| together as f64 / targets.len().max(1) as f64;
        let natural = count_together(vertices, list, |rank| rank);
        let of_vertex = |v: VertexId| list(ranks[v as usize]);
        let other = count_together(vertices, of_vertex, |rank| vertex_of[rank as usize]);
        Some((count(natural), count(other)))
    }
}

/// The entries that lie close to their list, where `place` is that of an entry's list.
fn count_together<'a>(
    vertices: VertexId,
    list: impl Fn(VertexId) -> &'a [VertexId],
    place: impl Fn(VertexId) -> VertexId,
) -> usize {
    let (mut first, mut size, mut together) = (0, 0, 0);
    for v in 0..vertices {
        size += list(v).len() as u64 + VERTEX;
        if size >= CAPACITY || v + 1 == vertices {
            let entries = (first..=v).flat_map(&list);
            together += entries.filter(|&&entry| (first..=v).contains(&place(entry))).count();
            (first, size) = (v + 1, 0);
        }
    }
    together
}

impl Nodes for Lists<'_> {
    fn visit(&mut self, vertex: u32, each: &mut impl FnMut(u32)) -> Result<u64> {
        let mut entries = 0;
        let mut visit = |targets: &[u32]| {
            entries += targets.len() as u64;
            targets.iter().for_each(|&target| each(target));
        };
        match self {
            Lists::Loaded { starts, targets } => {
                let at = |vertex: usize| starts[vertex] as usize;
                visit(&targets[at(vertex as usize)..at(vertex as usize + 1)]);
            }
            Lists::Stored(graph, handle) => {
                graph.look_up(handle, Direction::Out, vertex, &mut visit)?;
            }
        }
        Ok(entries + VERTEX)
    }
}
