//! Checks the hub neighbours by a second pass over the lists: they depend on the lengths of lists
//! before and after the vertex's own. Takes one byte of memory per vertex. Those of a part depend
//! on lists that it does not have: they must be neighbours, as many as there should be.

use super::{Check, check_pages};
use crate::error::{Result, other, zero_behind};
use crate::format::HEADER_BYTES;
use crate::graph::Graph;
use crate::hub_neighbours::{Best, Classes, Finder, HubNeighbours, HubNeighboursSection};
use crate::packed::decode::Decoded;
use crate::stream::{Ahead, PageStream};
use crate::superblock::SectionKind;
use crate::{Direction, VertexId};

pub(super) fn check_hub_neighbours(check: &mut Check<'_>) -> Result<()> {
    let graph = check.graph;
    match graph.hub_neighbours_of_part() {
        Some(hub_neighbours) => check_part(check, &hub_neighbours)?,
        None => check_stale(check, SectionKind::PartHubNeighbours)?,
    }
    let Some(hub_neighbours) = graph.hub_neighbours() else {
        // Stale hub neighbours describe earlier lists, so only their pages are checked.
        for kind in [SectionKind::OutHubNeighbours, SectionKind::InHubNeighbours] {
            check_stale(check, kind)?;
        }
        return Ok(());
    };
    // After another fault, the expected hub neighbours are unknown.
    let is_sound = check.report.faults_total == 0;
    let mut classes = Classes::with_capacity(if is_sound { graph.vertices() } else { 0 });
    if is_sound {
        graph.degrees(Direction::In, &mut |_, degrees| {
            degrees.iter().for_each(|degree| classes.push(*degree));
        })?;
    }
    let mut lists = if is_sound { Some(HubsOfLists::new(graph, &classes)?) } else { None };
    let mut page = 0;
    let mut failed = Ok(());
    check_pages(check, hub_neighbours.section(), &mut |bytes, header| {
        let (_, found) = hub_neighbours.check(page, bytes, header)?;
        page += 1;
        match lists.as_mut().map(|lists| lists.next(found.len())).transpose() {
            Ok(Some(expected)) if expected != found => {
                return Err(other("its hub neighbours are not those of the lists"));
            }
            Ok(_) => {}
            Err(error) => {
                failed = Err(error);
                return Err(other("the lists could not be read again"));
            }
        }
        zero_behind("hub neighbour", &bytes[HEADER_BYTES + size_of_val(found)..])
    })?;
    failed
}

fn check_stale(check: &mut Check<'_>, kind: SectionKind) -> Result<()> {
    match check.graph.superblock().section(kind) {
        Some(&section) => check_pages(check, section, &mut |_, _| Ok(())).map(drop),
        None => Ok(()),
    }
}

fn check_part(check: &mut Check<'_>, hub_neighbours: &HubNeighboursSection) -> Result<()> {
    let mut page = 0;
    check_pages(check, hub_neighbours.section(), &mut |bytes, header| {
        let (_, found) = hub_neighbours.check(page, bytes, header)?;
        page += 1;
        zero_behind("hub neighbour", &bytes[HEADER_BYTES + size_of_val(found)..])
    })?;
    if check.report.faults_total > 0 {
        return Ok(());
    }
    match compare_part(check.graph, hub_neighbours) {
        Err(error) => check.note(error),
        Ok(()) => Ok(()),
    }
}

/// Compares the hub neighbours of a part with its lists.
fn compare_part(graph: &Graph, hub_neighbours: &HubNeighboursSection) -> Result<()> {
    let direction = if graph.has_in_edges() { Direction::In } else { Direction::Out };
    let lists = graph.adjacency(direction).expect("the graph has this direction");
    let numbers = lists.first_page()..lists.first_page() + lists.pages();
    let mut stream = graph.pages.stream(numbers, Ahead::FAR)?;
    let hubs = graph.pages.stream(hub_neighbours.section().range(), Ahead::FAR)?;
    let mut hubs = StoredHubs { section: hub_neighbours, stream: hubs, read: Vec::new(), first: 0 };
    let (mut decoded, mut open) = (Decoded::new(), None::<(VertexId, Best)>);
    while let Some((number, bytes)) = stream.next()? {
        let page = lists.parse(number - lists.first_page(), bytes, &mut decoded)?;
        for list in page.lists() {
            if list.skip == 0
                && let Some((vertex, best)) = open.take()
            {
                hubs.compare(vertex, best)?;
            }
            let stored = hubs.of(list.vertex)?;
            let (_, best) = open.get_or_insert_with(|| (list.vertex, Best::new(list.vertex)));
            // The stored ones come before all others, if they are in the list.
            best.take(list.targets, |v| i16::from(stored.neighbours().contains(&v)));
        }
    }
    open.map_or(Ok(()), |(vertex, best)| hubs.compare(vertex, best))
}

/// The stored hub neighbours of ascending vertices.
struct StoredHubs<'a> {
    section: &'a HubNeighboursSection,
    stream: PageStream,
    /// Those of the page read last, and its first vertex.
    read: Vec<HubNeighbours>,
    first: VertexId,
}

impl StoredHubs<'_> {
    fn of(&mut self, vertex: VertexId) -> Result<HubNeighbours> {
        while (vertex - self.first) as usize >= self.read.len() {
            let (number, bytes) = self.stream.next()?.expect("the section has all vertices");
            let page = number - self.section.first_page();
            let (first, read) = self.section.parse(page, bytes)?;
            (self.first, self.read) = (first, read.to_vec());
        }
        Ok(self.read[(vertex - self.first) as usize])
    }

    /// Compares those of a vertex with the ones found in its list.
    fn compare(&mut self, vertex: VertexId, found: Best) -> Result<()> {
        if self.of(vertex)? == found.finish() {
            return Ok(());
        }
        let fault = other(format!("the hub neighbours of vertex {vertex} are not in its list"));
        Err(self.section.fault_at(vertex, fault))
    }
}

struct HubsOfLists<'a> {
    graph: &'a Graph,
    stream: PageStream,
    decoded: Decoded,
    finder: Finder<'a>,
    returned: usize,
}

impl<'a> HubsOfLists<'a> {
    fn new(graph: &'a Graph, classes: &'a Classes) -> Result<Self> {
        let adjacency =
            graph.adjacency(Direction::In).expect("a graph with hub neighbours has in-edges");
        let pages = adjacency.first_page()..adjacency.first_page() + adjacency.pages();
        let stream = graph.pages.stream(pages, Ahead::FAR)?;
        let finder = Finder::new(classes);
        Ok(Self { graph, stream, decoded: Decoded::new(), finder, returned: 0 })
    }

    /// The next `count` hub neighbours, fewer at the end.
    fn next(&mut self, count: usize) -> Result<&[HubNeighbours]> {
        let adjacency = self.graph.adjacency(Direction::In).expect("it was there before");
        self.finder.found.drain(..std::mem::take(&mut self.returned));
        while self.finder.found.len() < count {
            let Some((number, bytes)) = self.stream.next()? else {
                self.finder.end();
                break;
            };
            let page = number - adjacency.first_page();
            self.finder.page(&adjacency.parse(page, bytes, &mut self.decoded)?);
        }
        self.returned = count.min(self.finder.found.len());
        Ok(&self.finder.found[..self.returned])
    }
}
