//! Rebuilds derived sections from the lists.

use super::Store;
use super::draft::{Draft, SectionEdit};
use crate::degrees::DegreePages;
use crate::error::Result;
use crate::format::Codec;
use crate::graph::Graph;
use crate::hub_neighbours::{Classes, HubNeighboursChoice, HubNeighboursWriter};
use crate::pages::LookupConfig;
use crate::superblock::SectionKind;
use crate::{Direction, VertexId};

impl Store {
    /// Rebuilds the degrees, and the hub neighbours if `hub_neighbours` demands them. Reads the
    /// lists once, or twice with hub neighbours, the second time on `threads`. Returns the new
    /// epoch.
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
        let (device, classes, threads) = (graph.device(), &classes, threads.max(1));
        let writer = HubNeighboursWriter { device, adjacency, classes, threads };
        let mut section = SectionEdit::new(draft)?;
        writer.write(&mut section, &mut |_| true)?;
        section.finish(of_hubs, Codec::Raw, vertices);
    }
    Ok(())
}
