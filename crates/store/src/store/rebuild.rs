//! Derived sections, made again from the lists.

use super::Store;
use super::transaction::{NewPages, Transaction};
use crate::degrees::DegreePages;
use crate::error::Result;
use crate::format::Codec;
use crate::graph::Graph;
use crate::hub_neighbours::{Classes, HubNeighboursChoice, HubNeighboursWriter};
use crate::pages::LookupConfig;
use crate::superblock::{Section, SectionKind};
use crate::{Direction, VertexId};

impl Store {
    /// Makes the derived sections anew: the degrees, and the hub neighbours where `hub_neighbours`
    /// says that the graph is to have them. Reads the lists once, or twice with hub neighbours, on
    /// so many threads. The new epoch.
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
            rebuild(&mut transaction, &graph, direction, hub_neighbours, threads)?;
        }
        transaction.commit()
    }
}

fn rebuild(
    transaction: &mut Transaction<'_>,
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
    let pages = degrees.write(&mut NewPages::new(transaction)?)?;
    replace(transaction, of_degrees, Some(pages), vertices);
    let pages = match makes_hubs {
        true => {
            let (device, classes, threads) = (graph.device(), &classes, threads.max(1));
            let writer = HubNeighboursWriter { device, adjacency, classes, threads };
            writer.write(&mut NewPages::new(transaction)?, &mut |_| true)?
        }
        false => None,
    };
    replace(transaction, of_hubs, pages, vertices);
    Ok(())
}

/// Puts a section, whose pages were allocated last, in the place of the one before.
fn replace(transaction: &mut Transaction<'_>, kind: SectionKind, pages: Option<u64>, items: u64) {
    let epoch = transaction.epoch();
    if let Some(old) = transaction.superblock().section(kind).cloned() {
        transaction.free(old.range());
    }
    let superblock = transaction.superblock();
    let end = superblock.logical_pages;
    superblock.sections.retain(|section| section.kind != kind);
    superblock.sections.extend(pages.map(|pages| Section {
        kind,
        codec: Codec::Raw,
        first_page: end - pages,
        pages,
        items,
        epoch,
    }));
}
