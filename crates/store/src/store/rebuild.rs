//! Rebuilds derived sections from the lists.

use super::Store;
use super::draft::{Draft, SectionEdit};
use crate::degrees::DegreePages;
use crate::error::Result;
use crate::format::Codec;
use crate::graph::Graph;
use crate::hub_neighbours::{Classes, HubNeighboursChoice, HubNeighboursWriter, LengthClass};
use crate::index::Adjacency;
use crate::pages::LookupConfig;
use crate::superblock::SectionKind;
use crate::{Direction, VertexId};

impl Store {
    /// Rebuilds the degrees, and the hub neighbours if `hub_neighbours` demands them; not those of
    /// a part, for which the lists do not suffice. Reads the lists once, or twice with hub
    /// neighbours, the second time on `threads`. Returns the new epoch.
    pub fn rebuild_derived(
        &self,
        hub_neighbours: HubNeighboursChoice,
        threads: usize,
    ) -> Result<u64> {
        let mut transaction = self.begin()?;
        let graph = self.graph(|_| LookupConfig::default())?;
        let directions: &[Direction] = match graph.superblock().in_edges {
            true => &[Direction::Out, Direction::In],
            false => &[Direction::Out],
        };
        for &direction in directions {
            rebuild(&mut transaction.draft, &graph, direction, hub_neighbours, threads)?;
        }
        transaction.commit()
    }

    /// Writes the hub neighbours of a part of a graph, which is directed: from its lists of
    /// sources, or of targets where it has no others. `lengths` has for each vertex the class of
    /// its list's length in the whole graph. Reads the lists once, on `threads`. `go_on` is called
    /// now and then; returns false, and nothing is changed, if it did.
    ///
    /// # Panics
    /// If the graph is undirected, or `lengths` has another number of vertices.
    pub fn write_hub_neighbours_of_part(
        &self,
        lengths: Vec<LengthClass>,
        threads: usize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let mut transaction = self.begin()?;
        let graph = self.graph(|_| LookupConfig::default())?;
        assert!(graph.is_directed(), "the file of a part has the lists of its own vertices alone");
        assert_eq!(lengths.len(), graph.vertices(), "a length for each vertex");
        let direction = if graph.has_in_edges() { Direction::In } else { Direction::Out };
        let adjacency = graph.adjacency(direction).expect("the graph has this direction");
        let draft = &mut transaction.draft;
        let classes = &Classes::from(lengths);
        let of_hubs = SectionKind::PartHubNeighbours;
        draft.remove(of_hubs);
        let lists = (adjacency, classes);
        if !write_hubs(draft, &graph, lists, of_hubs, threads, go_on)? {
            return Ok(false);
        }
        transaction.commit().map(|_| true)
    }

    /// Memory of [`Store::write_hub_neighbours_of_part`] for so many vertices.
    pub fn hub_neighbours_bytes(vertices: u64, threads: usize) -> u64 {
        vertices + HubNeighboursWriter::memory_bytes(threads) as u64
    }
}

fn write_hubs(
    draft: &mut Draft<'_>,
    graph: &Graph,
    (adjacency, classes): (&Adjacency, &Classes),
    kind: SectionKind,
    threads: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<bool> {
    let (device, threads) = (graph.device(), threads.max(1));
    let writer = HubNeighboursWriter { device, adjacency, classes, threads };
    let mut section = SectionEdit::new(draft)?;
    let is_done = writer.write(&mut section, &mut |_| go_on())?.is_some();
    if is_done {
        section.finish(kind, Codec::Raw, graph.vertices() as u64);
    }
    Ok(is_done)
}

fn rebuild(
    draft: &mut Draft<'_>,
    graph: &Graph,
    direction: Direction,
    choice: HubNeighboursChoice,
    threads: usize,
) -> Result<()> {
    use SectionKind::{InDegrees, InHubNeighbours, OutDegrees, OutHubNeighbours};
    let (of_degrees, of_hubs) = match direction {
        Direction::Out => (OutDegrees, OutHubNeighbours),
        Direction::In => (InDegrees, InHubNeighbours),
    };
    let adjacency = graph.adjacency(direction).expect("the graph has this direction");
    let looks_back = direction == Direction::In || !graph.is_directed();
    let vertices = graph.vertices() as u64;
    let makes_hubs = looks_back && choice.is_made(vertices, adjacency.stored_edges());
    let mut degrees = DegreePages::new(graph.page_bytes());
    let mut classes = Classes::with_capacity(if makes_hubs { graph.vertices() } else { 0 });
    graph.degrees_from_lists(direction, &mut |first, batch| {
        for (vertex, &degree) in (first..).zip(batch) {
            degrees.push(vertex as VertexId, degree);
            if makes_hubs {
                classes.push(degree);
            }
        }
    })?;
    let mut section = SectionEdit::new(draft)?;
    degrees.write(&mut section)?;
    section.finish(of_degrees, Codec::Raw, vertices);
    draft.remove(of_hubs);
    if makes_hubs {
        write_hubs(draft, graph, (adjacency, &classes), of_hubs, threads, &mut || true)?;
    }
    Ok(())
}
