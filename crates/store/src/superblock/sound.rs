//! That the numbers of a superblock agree with each other.

use super::{IdKind, Section, SectionKind, Superblock};
use crate::error::{PageFault, at_most, equal, other};
use crate::format::{self, VERTICES_MAX};
use crate::hub_neighbours;
use crate::order::Order;
use crate::page;
use crate::weights::column::per_page;

/// More than any device has; sums of two do not overflow.
const LOGICAL_PAGES_MAX: u64 = 1 << 52;

/// Epochs that a graph may reach: a limit that no graph meets, so that counting on never overflows.
const EPOCH_MAX: u64 = 1 << 62;

/// Whether there is a section of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    Yes,
    No,
    Maybe,
}

impl Superblock {
    pub(crate) fn check(&self) -> Result<(), PageFault> {
        self.check_sections()?;
        self.check_counts()
    }

    /// Sections do not overlap, and each kind occurs once.
    fn check_sections(&self) -> Result<(), PageFault> {
        at_most("epoch", self.epoch, EPOCH_MAX)?;
        at_most("logical pages", self.logical_pages, LOGICAL_PAGES_MAX)?;
        for (i, section) in self.sections.iter().enumerate() {
            let name = section.kind.name();
            if self.sections[..i].iter().any(|other| other.kind == section.kind) {
                return Err(other(format!("it has two sections of {name}")));
            }
            let Section { first_page, pages, epoch, .. } = *section;
            at_most("pages of a section", pages, self.logical_pages)?;
            at_most("first page of a section", first_page, self.logical_pages - pages)?;
            if epoch == 0 {
                return Err(other(format!("the epoch of its section of {name} is 0")));
            }
            at_most("epoch of a section", epoch, self.epoch)?;
        }
        let mut runs: Vec<_> = self.sections.iter().map(Section::range).collect();
        runs.retain(|pages| !pages.is_empty());
        runs.sort_unstable_by_key(|pages| pages.start);
        match runs.windows(2).find(|pair| pair[0].end > pair[1].start) {
            Some(pair) => Err(other(format!("two sections hold page {}", pair[1].start))),
            None => Ok(()),
        }
    }

    fn check_counts(&self) -> Result<(), PageFault> {
        at_most("vertices", self.vertices, VERTICES_MAX)?;
        if self.in_edges && !self.directed {
            return Err(other("an undirected graph has no separate in-edges"));
        }
        for kind in SectionKind::ALL {
            match (self.section(kind), self.wants(kind)) {
                (Some(section), Wants::Yes | Wants::Maybe) => self.check_section(section)?,
                (None, Wants::No | Wants::Maybe) => {}
                (Some(_), _) => {
                    return Err(other(format!("a section of {} too many", kind.name())));
                }
                (None, _) => return Err(other(format!("no section of {}", kind.name()))),
            }
        }
        let stored_in = if self.in_edges { self.stored_out } else { 0 };
        equal("entries of the in-lists", self.stored_in, stored_in)?;
        if self.directed {
            equal("edges", self.edges, self.stored_out)?;
        } else {
            at_most("edges", self.edges, self.stored_out)?;
            at_most("stored entries", self.stored_out, self.edges.saturating_mul(2))?;
        }
        at_most("degree of the largest vertex", self.degree_max, self.stored_out)?;
        let vertex_last = self.vertices.saturating_sub(1);
        at_most("vertex of largest degree", u64::from(self.degree_max_vertex), vertex_last)
    }

    /// Whether the graph has a section of a kind.
    fn wants(&self, kind: SectionKind) -> Wants {
        use SectionKind::*;
        let yes = |condition| if condition { Wants::Yes } else { Wants::No };
        let maybe = |condition| if condition { Wants::Maybe } else { Wants::No };
        let weighted = self.weights.is_some();
        match kind {
            OutAdjacency | OutIndex => Wants::Yes,
            InAdjacency | InIndex => yes(self.in_edges),
            OutDegrees => Wants::Maybe,
            InDegrees => maybe(self.in_edges),
            OutHubNeighbours => maybe(!self.directed),
            InHubNeighbours => maybe(self.in_edges),
            OutWeights | OutWeightIndex => yes(weighted),
            InWeights | InWeightIndex => yes(weighted && self.in_edges),
            VertexOfRank | RankOfVertex => yes(self.order != Order::Natural),
            // Vertices may have been appended to those that the user calls by their numbers.
            Integers if self.section(AppendedIntegers).is_some() => {
                maybe(self.ids == IdKind::Integers)
            }
            Integers => yes(self.ids == IdKind::Integers),
            Strings => yes(self.ids == IdKind::Strings),
            AppendedIntegers => maybe(self.ids == IdKind::Integers),
            AppendedStrings => maybe(self.ids == IdKind::Strings),
        }
    }

    /// Items and pages of a section agree, so that nobody allocates for items that cannot be.
    fn check_section(&self, section: &Section) -> Result<(), PageFault> {
        let page_bytes = self.page_bytes as usize;
        let words = format::words_per_page(page_bytes) as u64;
        let (n, Section { kind, codec, pages, items, .. }) = (self.vertices, *section);
        let adjacency_pages = |kind| self.section(kind).map_or(0, |section| section.pages);
        at_most("appended vertices", self.appended(), n)?;
        // Vertices are appended, never taken away.
        let ranks = n - self.appended();
        let is_stale = kind.derived_from().is_some() && self.fresh(kind).is_none();
        let of_vertices = if is_stale { items.min(n) } else { n };
        match kind {
            SectionKind::OutAdjacency | SectionKind::InAdjacency => {
                let stored = if kind == SectionKind::OutAdjacency {
                    self.stored_out
                } else {
                    self.stored_in
                };
                equal("items of an adjacency section", items, stored)?;
                if (pages == 0) != (n == 0) {
                    equal("pages of an adjacency section", pages, n.min(1))?;
                }
                let (entries, lists) = page::items_max(page_bytes, codec);
                at_most("stored entries", items, pages.saturating_mul(entries as u64))?;
                at_most("vertices", n, pages.saturating_mul(lists as u64))
            }
            SectionKind::OutIndex | SectionKind::OutWeightIndex => {
                equal("items of an index", items, adjacency_pages(SectionKind::OutAdjacency))?;
                equal("pages of an index", pages, items.div_ceil(words))
            }
            SectionKind::InIndex | SectionKind::InWeightIndex => {
                equal("items of an in-index", items, adjacency_pages(SectionKind::InAdjacency))?;
                equal("pages of an in-index", pages, items.div_ceil(words))
            }
            SectionKind::AppendedIntegers => {
                equal("pages of appended integer ids", pages, items.div_ceil(words))
            }
            SectionKind::AppendedStrings => {
                at_most("items of appended string ids", items, pages.saturating_mul(words * 8))
            }
            SectionKind::Integers => {
                equal("number of ids", items, ranks)?;
                equal("pages of integer ids", pages, items.div_ceil(words))
            }
            SectionKind::VertexOfRank | SectionKind::RankOfVertex => {
                equal("number of ranks", items, ranks)?;
                equal("pages of ranks", pages, items.div_ceil(words * 2))
            }
            SectionKind::OutHubNeighbours | SectionKind::InHubNeighbours => {
                equal("number of hub neighbours", items, of_vertices)?;
                let per_page = hub_neighbours::per_page(page_bytes) as u64;
                equal("pages of hub neighbours", pages, items.div_ceil(per_page))
            }
            SectionKind::OutWeights | SectionKind::InWeights => {
                let stored =
                    if kind == SectionKind::OutWeights { self.stored_out } else { self.stored_in };
                equal("number of weights", items, stored)?;
                let weights = self.weights.as_ref().expect("sections of weights are wanted");
                let per_page = per_page(weights.kind, page_bytes) as u64;
                equal("pages of weights", pages, items.div_ceil(per_page))
            }
            SectionKind::OutDegrees | SectionKind::InDegrees | SectionKind::Strings => {
                let expected = if kind == SectionKind::Strings { ranks } else { of_vertices };
                equal("items of a vertex section", items, expected)?;
                at_most("items of a vertex section", items, pages.saturating_mul(words * 8))
            }
        }
    }
}
