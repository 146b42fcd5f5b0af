//! Checks that the numbers of a superblock agree with each other.

use super::{IdKind, Section, SectionKind, Superblock};
use crate::error::{PageFault, at_most, equal, other};
use crate::format::{self, EPOCH_OF_IMPORT, VERTICES_MAX};
use crate::hub_neighbours;
use crate::order::Order;
use crate::page;
use crate::runs::page::EDIT_BYTES;
use crate::values;
use crate::weights::column::per_page;

/// More pages than any device has; sums of two such numbers do not overflow.
const LOGICAL_PAGES_MAX: u64 = 1 << 52;

/// Largest epoch; incrementing it never overflows.
const EPOCH_MAX: u64 = 1 << 62;

/// Whether a superblock must have a section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Forbidden,
    Optional,
}

impl Superblock {
    pub(crate) fn check(&self) -> Result<(), PageFault> {
        self.check_sections()?;
        self.check_counts()
    }

    /// Checks that sections do not overlap and each kind occurs once.
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
        let free_space_max = u64::from(format::FREE_SPACE_MAX);
        at_most("percent of free space", self.free_space().into(), free_space_max)?;
        if self.in_edges && !self.directed {
            return Err(other("an undirected graph has no separate in-edges"));
        }
        at_most("vertices of the lists", self.listed_vertices, self.vertices)?;
        for kind in SectionKind::ALL {
            match (self.section(kind), self.presence(kind)) {
                (Some(section), Presence::Required | Presence::Optional) => {
                    self.check_section(section)?;
                }
                (None, Presence::Forbidden | Presence::Optional) => {}
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

    /// Whether the graph must have a section of a kind.
    fn presence(&self, kind: SectionKind) -> Presence {
        use Presence::{Forbidden, Optional, Required};
        use SectionKind::*;
        let has_runs = self.has_delta_runs();
        let required = |condition| if condition { Required } else { Forbidden };
        let optional = |condition| if condition { Optional } else { Forbidden };
        let weighted = self.weights.is_some();
        match kind {
            OutAdjacency | OutIndex => Required,
            InAdjacency | InIndex => required(self.in_edges),
            OutDegrees => Optional,
            InDegrees => optional(self.in_edges),
            OutHubNeighbours => optional(!self.directed),
            InHubNeighbours => optional(self.in_edges),
            PartHubNeighbours => optional(self.directed),
            OutWeights | OutWeightIndex => required(weighted),
            InWeights | InWeightIndex => required(weighted && self.in_edges),
            VertexOfRank | RankOfVertex => required(self.order != Order::Natural),
            // Vertices may have been appended to a graph with dense ids.
            Integers if self.section(AppendedIntegers).is_some() => {
                optional(self.ids == IdKind::Integers)
            }
            Integers => required(self.ids == IdKind::Integers),
            Strings => required(self.ids == IdKind::Strings),
            AppendedIntegers => optional(self.ids == IdKind::Integers),
            AppendedStrings => optional(self.ids == IdKind::Strings),
            DeltaRuns => optional(self.has_plain_edges() && self.listed_vertices > 0),
            DeltaIndex => required(has_runs),
            DeletedVertices => Optional,
            VertexValues => required(self.value_type.is_some()),
        }
    }

    /// Checks that items and pages of a section agree, which bounds allocations for its items.
    fn check_section(&self, section: &Section) -> Result<(), PageFault> {
        let page_bytes = self.page_bytes as usize;
        let words = format::words_per_page(page_bytes) as u64;
        let (n, Section { kind, codec, pages, items, .. }) = (self.vertices, *section);
        let (listed, has_runs) = (self.listed_vertices, self.has_delta_runs());
        let adjacency_pages = |kind| self.section(kind).map_or(0, |section| section.pages);
        at_most("appended vertices", self.appended(), n)?;
        // Vertices are only ever appended.
        let imported = n - self.appended();
        let is_stale = kind.derived_from().is_some() && self.fresh(kind).is_none();
        let of_vertices = if is_stale { items.min(listed) } else { listed };
        match kind {
            SectionKind::OutAdjacency | SectionKind::InAdjacency => {
                let is_out = kind == SectionKind::OutAdjacency;
                let stored = if is_out { self.stored_out } else { self.stored_in };
                if !has_runs {
                    equal("items of an adjacency section", items, stored)?;
                }
                if (pages == 0) != (listed == 0) {
                    equal("pages of an adjacency section", pages, listed.min(1))?;
                }
                let (entries, lists) = page::items_max(page_bytes, codec);
                at_most("stored entries", items, pages.saturating_mul(entries as u64))?;
                at_most("vertices", listed, pages.saturating_mul(lists as u64))
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
                equal("number of ids", items, imported)?;
                equal("pages of integer ids", pages, items.div_ceil(words))
            }
            SectionKind::VertexOfRank | SectionKind::RankOfVertex => {
                equal("number of ranks", items, imported)?;
                equal("pages of ranks", pages, items.div_ceil(words * 2))
            }
            SectionKind::OutHubNeighbours
            | SectionKind::InHubNeighbours
            | SectionKind::PartHubNeighbours => {
                equal("number of hub neighbours", items, of_vertices)?;
                let per_page = hub_neighbours::per_page(page_bytes) as u64;
                equal("pages of hub neighbours", pages, items.div_ceil(per_page))
            }
            SectionKind::DeltaRuns | SectionKind::DeltaIndex => self.check_runs(section),
            SectionKind::DeletedVertices | SectionKind::VertexValues => {
                self.check_vertices(section)
            }
            SectionKind::OutWeights => self.check_weights(section, self.stored_out),
            SectionKind::InWeights => self.check_weights(section, self.stored_in),
            SectionKind::OutDegrees | SectionKind::InDegrees | SectionKind::Strings => {
                let expected = if kind == SectionKind::Strings { imported } else { of_vertices };
                equal("items of a vertex section", items, expected)?;
                at_most("items of a vertex section", items, pages.saturating_mul(words * 8))
            }
        }
    }

    /// Checks the section of deleted vertices or of values, which is there only with an item.
    fn check_vertices(&self, section: &Section) -> Result<(), PageFault> {
        let Section { kind, pages, items, .. } = *section;
        let page_bytes = self.page_bytes as usize;
        if items == 0 {
            return Err(other(format!("its section of {} has none", kind.name())));
        }
        if kind == SectionKind::DeletedVertices {
            at_most("deleted vertices", items, self.vertices)?;
            let per_page = format::words_per_page(page_bytes) as u64 * 2;
            return equal("pages of deleted vertices", pages, items.div_ceil(per_page));
        }
        at_most("values of vertices", items, self.live_vertices())?;
        at_most("pages of values", pages, items)?;
        let per_page = values::per_page(page_bytes) as u64;
        at_most("values of vertices", items, pages.saturating_mul(per_page))
    }

    /// Checks the section of delta runs, or their index.
    fn check_runs(&self, section: &Section) -> Result<(), PageFault> {
        let Section { kind, pages, items, .. } = *section;
        let page_bytes = self.page_bytes as usize;
        if kind == SectionKind::DeltaIndex {
            let words = format::words_per_page(page_bytes) as u64;
            let run_pages = self.section(SectionKind::DeltaRuns).map_or(0, |runs| runs.pages);
            equal("items of a delta index", items, run_pages.saturating_mul(2))?;
            return equal("pages of a delta index", pages, items.div_ceil(words));
        }
        at_most("pages of delta runs without a change", u64::from(pages == 0), 0)?;
        let room = format::payload_bytes(page_bytes) / EDIT_BYTES;
        at_most("changes of delta runs", items, pages.saturating_mul(room as u64))?;
        let stored = self.stored_out.max(self.stored_in);
        let lists = self.section(SectionKind::OutAdjacency).map_or(0, |lists| lists.items);
        at_most("entries with delta runs", stored, lists.saturating_add(items))?;
        at_most("entries less by delta runs", lists.saturating_sub(stored), items)
    }

    /// Checks a section with the weights of so many entries.
    fn check_weights(&self, section: &Section, stored: u64) -> Result<(), PageFault> {
        let Section { pages, items, epoch, .. } = *section;
        // Changes leave addresses that no page of lists has.
        let items_max = if epoch == EPOCH_OF_IMPORT { stored } else { stored.saturating_mul(2) };
        at_most("weights of a section", items, items_max)?;
        at_most("entries with a weight", stored, items)?;
        let weights = self.weights.as_ref().expect("only weighted graphs have weights");
        let per_page = per_page(weights.format(), self.page_bytes as usize) as u64;
        equal("pages of weights", pages, items.div_ceil(per_page))
    }
}
