//! Hub neighbours: the three neighbours of every vertex that have the longest lists, in pages of
//! their own.
//!
//! A bottom-up search step or a union of components finds nearly all it needs among them: on a
//! Kronecker graph of scale 20 it reads the list of one vertex in 2,400 (in 400 with two hub
//! neighbours, in 65 with one). They take 12 bytes a vertex instead of 4 an entry.
//!
//! - [`HubNeighbours`]: the entry of one vertex; `Finder` computes it from a list
//! - [`LengthClass`]: the length of a list, as far as it matters; a part of a graph, as a shard,
//!   has only a part of its boundary's lists and takes the lengths in the whole graph
//! - [`HubNeighboursSection`]: where they lie, and how to read a page of them
//! - `write`: writes the section
//!
//! After the dissertation's design of blocks by degree. Testing the neighbours of highest degree
//! first is Beamer, Asanovic and Patterson's bottom-up step (SC 2012) on lists sorted by degree.

mod write;

use std::ops::Range;

use crate::VertexId;
use crate::error::{PageFault, Result, StoreError, equal, other};
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::graph::Graph;
use crate::header::{self, PageHeader};
use crate::page::Page;
use crate::superblock::Section;
use crate::table::SectionPages;

pub use write::LengthClass;
pub(crate) use write::{Classes, HubNeighboursWriter};

/// Hub neighbours of a vertex.
pub const HUB_NEIGHBOURS: usize = 3;

/// Fills an entry of fewer neighbours.
pub const NO_NEIGHBOUR: VertexId = VertexId::MAX;

/// Whether hub neighbours are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HubNeighboursChoice {
    /// If the mean list has [`MEAN_DEGREE_MIN`] entries or more: then they take at most an eighth
    /// of the lists' bytes.
    #[default]
    Auto,
    /// If the graph has lists of sources: undirected, or with in-edges.
    Yes,
    /// Never.
    No,
}

/// Mean length of the lists from which [`HubNeighboursChoice::Auto`] stores hub neighbours.
pub const MEAN_DEGREE_MIN: u64 = 24;

impl HubNeighboursChoice {
    /// Whether a graph of this size has hub neighbours.
    pub fn is_made(self, vertices: u64, entries: u64) -> bool {
        match self {
            HubNeighboursChoice::Auto => entries > 0 && entries / MEAN_DEGREE_MIN >= vertices,
            HubNeighboursChoice::Yes => vertices > 0,
            HubNeighboursChoice::No => false,
        }
    }
}

/// The hub neighbours of a vertex, without the vertex itself. If it has at most three neighbours,
/// all of them, ascending and padded with [`NO_NEIGHBOUR`]; else the three with the longest lists,
/// descending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct HubNeighbours(pub [VertexId; HUB_NEIGHBOURS]);

pub(crate) fn per_page(page_bytes: usize) -> usize {
    format::payload_bytes(page_bytes) / size_of::<HubNeighbours>()
}

impl HubNeighbours {
    /// Whether these are all neighbours of the vertex.
    #[inline(always)]
    pub fn is_whole(self) -> bool {
        self.0[0] <= self.0[1]
    }

    /// The neighbours.
    #[inline(always)]
    pub fn neighbours(&self) -> &[VertexId] {
        let count = self.0.iter().take_while(|&&v| v != NO_NEIGHBOUR).count();
        &self.0[..count]
    }
}

/// Where the hub neighbours of a graph lie, and how to read a page of them. Pages are numbered
/// within the section, `0..pages()`.
#[derive(Debug)]
pub struct HubNeighboursSection {
    pages: SectionPages,
}

impl HubNeighboursSection {
    pub(crate) fn new(pages: SectionPages) -> Self {
        Self { pages }
    }

    /// First logical page of the section.
    #[inline]
    pub fn first_page(&self) -> u64 {
        self.pages.section.first_page
    }

    /// Pages of the section.
    #[inline]
    pub fn pages(&self) -> u64 {
        self.pages.section.pages
    }

    /// The pages that hold those of some vertices.
    pub fn pages_of(&self, vertices: Range<VertexId>) -> Range<u64> {
        let per_page = per_page(self.pages.page_bytes) as u64;
        let [start, end] = [vertices.start, vertices.end].map(u64::from);
        let first = (start / per_page).min(self.pages());
        first..end.div_ceil(per_page).clamp(first, self.pages())
    }

    /// Verifies a page as read from the device. Returns its first vertex, and the hub neighbours
    /// from that vertex on.
    ///
    /// # Panics
    /// If `bytes` is no whole page or not aligned to 4 bytes.
    pub fn parse<'a>(&self, page: u64, bytes: &'a [u8]) -> Result<(VertexId, &'a [HubNeighbours])> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        let identity = self.pages.identity(page);
        let verified = header::verify(bytes, &identity, PageKind::HubNeighbours);
        let hub_neighbours = verified.and_then(|header| self.check(page, bytes, &header));
        hub_neighbours.map_err(|fault| self.pages.fault(page, fault))
    }

    /// The error of the page with the hub neighbours of a vertex.
    pub(crate) fn fault_at(&self, vertex: VertexId, fault: PageFault) -> StoreError {
        let page = u64::from(vertex) / per_page(self.pages.page_bytes) as u64;
        self.pages.fault(page, fault)
    }

    pub(crate) fn section(&self) -> Section {
        self.pages.section
    }

    /// The hub neighbours of a page with a right checksum.
    pub(crate) fn check<'a>(
        &self,
        page: u64,
        bytes: &'a [u8],
        header: &PageHeader,
    ) -> Result<(VertexId, &'a [HubNeighbours]), PageFault> {
        let vertices = self.pages.section.items;
        let per_page = per_page(self.pages.page_bytes) as u64;
        let first = page * per_page;
        let count = vertices.saturating_sub(first).min(per_page);
        equal("number of hub neighbours", header.entries.into(), count)?;
        equal("first vertex of a page of hub neighbours", header.first.into(), first)?;
        let payload = &bytes[HEADER_BYTES..][..count as usize * size_of::<HubNeighbours>()];
        let hub_neighbours: &[HubNeighbours] =
            bytemuck::try_cast_slice(payload).expect("pages lie in aligned buffers");
        let limit = vertices as u32;
        let is_vertex = |v: VertexId| v < limit || v == NO_NEIGHBOUR;
        // If the vertex has more neighbours, all three are present.
        let fits = |hubs: &HubNeighbours| hubs.0.iter().fold(true, |all, &v| all & is_vertex(v));
        let is_full = |hubs: &HubNeighbours| hubs.is_whole() | (hubs.0[0] < limit);
        if !hub_neighbours.iter().fold(true, |all, hubs| all & fits(hubs) & is_full(hubs)) {
            return Err(other("one of its hub neighbours is no vertex"));
        }
        Ok((header.first, hub_neighbours))
    }
}

impl Graph {
    /// The hub neighbours, if the graph has them. They come from the lists of sources, which on an
    /// undirected graph are all lists.
    pub fn hub_neighbours(&self) -> Option<HubNeighboursSection> {
        let section = *self.superblock().hub_neighbours()?;
        Some(HubNeighboursSection::new(self.section_pages(section)))
    }

    /// The hub neighbours of a part of a graph, if it has them: from the lists of sources, or of
    /// targets where it has no others, by the lengths of lists in the whole graph.
    pub fn hub_neighbours_of_part(&self) -> Option<HubNeighboursSection> {
        let section = *self.superblock().hub_neighbours_of_part()?;
        Some(HubNeighboursSection::new(self.section_pages(section)))
    }
}

/// Computes the hub neighbours of consecutive vertices.
pub(crate) struct Finder<'a> {
    classes: &'a Classes,
    open: Option<Best>,
    /// The hub neighbours of vertices whose lists are complete.
    pub found: Vec<HubNeighbours>,
}

impl<'a> Finder<'a> {
    pub fn new(classes: &'a Classes) -> Self {
        Self { classes, open: None, found: Vec::new() }
    }

    pub fn page(&mut self, page: &Page<'_>) {
        for list in page.lists() {
            if list.skip == 0 {
                self.end();
            }
            let best = self.open.get_or_insert_with(|| Best::new(list.vertex));
            best.take(list.targets, |v| self.classes.of(v));
        }
    }

    pub fn end(&mut self) {
        self.found.extend(self.open.take().map(Best::finish));
    }
}

/// Computes the hub neighbours of one vertex from its list, which may come in pieces.
pub(crate) struct Best {
    vertex: VertexId,
    last: Option<VertexId>,
    /// Number of neighbours, counted up to one more than are kept.
    others: usize,
    /// The best neighbours so far, each with the class of its list's length.
    best: [(i16, VertexId); HUB_NEIGHBOURS],
}

impl Best {
    pub fn new(vertex: VertexId) -> Self {
        Self { vertex, last: None, others: 0, best: [(-1, NO_NEIGHBOUR); HUB_NEIGHBOURS] }
    }

    /// Processes the next entries of the list. Of neighbours of one class the first stays.
    #[inline]
    pub fn take(&mut self, targets: &[VertexId], class_of: impl Fn(VertexId) -> i16) {
        self.count(targets);
        // Nearly all entries end here, so their cache misses overlap.
        let mut least = self.best[HUB_NEIGHBOURS - 1].0;
        for &target in targets {
            let class = class_of(target);
            if class > least {
                least = self.insert(class, target);
            }
        }
    }

    /// Counts the neighbours among the next entries, as far as the number matters.
    #[inline]
    fn count(&mut self, targets: &[VertexId]) {
        for &target in targets {
            if self.others > HUB_NEIGHBOURS {
                return;
            }
            if target != self.vertex && self.last != Some(target) {
                (self.last, self.others) = (Some(target), self.others + 1);
            }
        }
    }

    /// Inserts an entry of a higher class than the last of the best, unless it repeats one of them
    /// or is the vertex itself. Returns the class of the last.
    #[inline(never)]
    fn insert(&mut self, class: i16, target: VertexId) -> i16 {
        if target != self.vertex && self.best.iter().all(|best| best.1 != target) {
            let place = self.best.iter().take_while(|best| best.0 >= class).count();
            self.best[place..].rotate_right(1);
            self.best[place] = (class, target);
        }
        self.best[HUB_NEIGHBOURS - 1].0
    }

    pub fn finish(self) -> HubNeighbours {
        let mut hubs = self.best.map(|(_, v)| v);
        // NO_NEIGHBOUR is the largest number and so comes last.
        hubs.sort_unstable();
        if self.others > HUB_NEIGHBOURS {
            hubs.reverse();
        }
        HubNeighbours(hubs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_of(vertex: VertexId, list: &[VertexId], degrees: &[u64]) -> HubNeighbours {
        let classes = Classes::of_degrees(degrees.iter().copied());
        let mut best = Best::new(vertex);
        let (first, second) = list.split_at(list.len() / 2);
        best.take(first, |v| classes.of(v));
        best.take(second, |v| classes.of(v));
        best.finish()
    }

    #[test]
    fn short_lists_are_whole_and_of_long_ones_the_longest_neighbours_stay() {
        let degrees = [1, 8, 112, 3, 120, 0, 1000, 9, 126];
        let head = |vertex, list: &[VertexId]| head_of(vertex, list, &degrees);
        let short = |ids: &[VertexId]| {
            let mut head = [NO_NEIGHBOUR; HUB_NEIGHBOURS];
            head[..ids.len()].copy_from_slice(ids);
            HubNeighbours(head)
        };
        assert_eq!(head(0, &[]), short(&[]));
        assert_eq!(head(0, &[3]), short(&[3]));
        assert_eq!(head(0, &[1, 3, 6]), short(&[1, 3, 6]));
        assert_eq!(head(0, &[0, 1, 6]), short(&[1, 6]), "a vertex is no neighbour of itself");
        assert_eq!(head(0, &[1, 1, 1, 1]), short(&[1]), "a repeated neighbour is one");
        assert_eq!(head(0, &[1, 2, 3, 5]), HubNeighbours([3, 2, 1]));
        assert_eq!(head(7, &[1, 2, 3, 4, 6]), HubNeighbours([6, 4, 2]));
        assert_eq!(head(7, &[1, 2, 3, 4, 5]), HubNeighbours([4, 2, 1]));
        assert_eq!(
            head(7, &[2, 4, 6, 8]),
            HubNeighbours([6, 4, 2]),
            "112, 120 and 126 are of one class"
        );
        for head in [short(&[]), short(&[3]), short(&[1, 6]), short(&[1, 3, 6])] {
            assert!(head.is_whole());
        }
        assert!(!HubNeighbours([6, 4, 2]).is_whole());
        assert_eq!(short(&[3]).neighbours(), [3]);
    }
}
