//! Checks the hub neighbours by a second pass over the lists: they depend on the lengths of lists
//! before and after the vertex's own. Takes one byte of memory per vertex.

use super::{Check, check_pages};
use crate::Direction;
use crate::error::{Result, other, zero_behind};
use crate::format::HEADER_BYTES;
use crate::graph::Graph;
use crate::hub_neighbours::{Classes, Finder, HubNeighbours};
use crate::packed::decode::Decoded;
use crate::stream::{Ahead, PageStream};
use crate::superblock::SectionKind;

pub(super) fn check_hub_neighbours(check: &mut Check<'_>) -> Result<()> {
    let graph = check.graph;
    let Some(hub_neighbours) = graph.hub_neighbours() else {
        // Stale hub neighbours describe earlier lists, so only their pages are checked.
        for kind in [SectionKind::OutHubNeighbours, SectionKind::InHubNeighbours] {
            if let Some(&section) = graph.superblock().section(kind) {
                check_pages(check, section, &mut |_, _| Ok(()))?;
            }
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
