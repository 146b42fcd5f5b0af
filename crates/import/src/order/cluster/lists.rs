//! The lists of the vertices: in memory where it has room for them, else in a stored graph.

use cenote_pool::Handle;

use super::VERTEX;
use super::grow::Nodes;
use crate::error::Result;
use cenote_store::page::List;
use cenote_store::{Direction, Graph};

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
