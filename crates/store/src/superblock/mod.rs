//! The superblock: what a graph is at one epoch, and where everything lies.
//!
//! Each commit writes it into one of two slots, page 0 and page 1.
//!
//! - [`Superblock`], [`Section`]: what it says
//! - `raw`: how it lies in a page
//! - `sound`: that its numbers agree with each other

mod raw;
mod sound;

use std::ops::Range;

use cenote_pool::PageId;

use crate::format::{Codec, PageKind, SLOTS};
use crate::order::Order;
use crate::weights::WeightSummary;

pub use raw::SECTIONS_MAX;
use raw::slot_of;
pub(crate) use raw::{Slot, page_bytes_of, slot_fault};

/// How the superblock's page is called in errors.
pub const SECTION: &str = "superblock";

/// What a run of pages holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum SectionKind {
    /// Lists of targets.
    OutAdjacency = 1,
    /// Lists of sources.
    InAdjacency = 2,
    /// Page index of the lists of targets.
    OutIndex = 3,
    /// Page index of the lists of sources.
    InIndex = 4,
    /// Lengths of the lists of targets.
    OutDegrees = 5,
    /// Lengths of the lists of sources.
    InDegrees = 6,
    /// The user's vertex ids, integers.
    Integers = 7,
    /// The user's vertex ids, strings.
    Strings = 8,
    /// Weights of the lists of targets.
    OutWeights = 9,
    /// Weights of the lists of sources.
    InWeights = 10,
    /// The vertex of every rank.
    VertexOfRank = 11,
    /// The rank of every vertex.
    RankOfVertex = 12,
    /// Of each vertex the neighbours with the longest lists: of its list of targets.
    OutHubNeighbours = 13,
    /// The same of its list of sources.
    InHubNeighbours = 14,
    /// Where the weights of each page of lists of targets are.
    OutWeightIndex = 15,
    /// The same of lists of sources.
    InWeightIndex = 16,
    /// Ids of vertices that came after the import, integers.
    AppendedIntegers = 17,
    /// The same, strings.
    AppendedStrings = 18,
}

impl SectionKind {
    /// All kinds that this program knows.
    pub const ALL: [SectionKind; 18] = [
        Self::OutAdjacency,
        Self::InAdjacency,
        Self::OutIndex,
        Self::InIndex,
        Self::OutDegrees,
        Self::InDegrees,
        Self::Integers,
        Self::Strings,
        Self::OutWeights,
        Self::InWeights,
        Self::VertexOfRank,
        Self::RankOfVertex,
        Self::OutHubNeighbours,
        Self::InHubNeighbours,
        Self::OutWeightIndex,
        Self::InWeightIndex,
        Self::AppendedIntegers,
        Self::AppendedStrings,
    ];

    /// How errors name a page of the section.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutAdjacency => "adjacency",
            Self::InAdjacency => "in-adjacency",
            Self::OutIndex => "index",
            Self::InIndex => "in-index",
            Self::OutDegrees => "degrees",
            Self::InDegrees => "in-degrees",
            Self::Integers => "integer ids",
            Self::Strings => "string ids",
            Self::OutWeights => "weights",
            Self::InWeights => "in-weights",
            Self::VertexOfRank => "vertex of rank",
            Self::RankOfVertex => "rank of vertex",
            Self::OutHubNeighbours => "hub neighbours",
            Self::InHubNeighbours => "in-hub neighbours",
            Self::OutWeightIndex => "weight index",
            Self::InWeightIndex => "in-weight index",
            Self::AppendedIntegers => "appended integer ids",
            Self::AppendedStrings => "appended string ids",
        }
    }

    /// Kind of the section's pages.
    pub fn page_kind(self) -> PageKind {
        match self {
            Self::OutAdjacency | Self::InAdjacency => PageKind::Adjacency,
            Self::OutIndex | Self::InIndex | Self::OutWeightIndex | Self::InWeightIndex => {
                PageKind::Index
            }
            Self::OutDegrees | Self::InDegrees => PageKind::Degrees,
            Self::Integers | Self::AppendedIntegers => PageKind::Integers,
            Self::Strings | Self::AppendedStrings => PageKind::Strings,
            Self::OutWeights | Self::InWeights => PageKind::Weights,
            Self::VertexOfRank | Self::RankOfVertex => PageKind::Order,
            Self::OutHubNeighbours | Self::InHubNeighbours => PageKind::HubNeighbours,
        }
    }

    /// The lists that a derived section is made from and can be made from again; `None` for a
    /// section that nothing else tells.
    pub fn derived_from(self) -> Option<SectionKind> {
        match self {
            Self::OutDegrees | Self::OutHubNeighbours => Some(Self::OutAdjacency),
            Self::InDegrees | Self::InHubNeighbours => Some(Self::InAdjacency),
            _ => None,
        }
    }
}

/// A run of pages of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// What the pages hold.
    pub kind: SectionKind,
    /// How its pages are encoded; raw unless they hold lists.
    pub codec: Codec,
    /// First logical page.
    pub first_page: u64,
    /// Number of pages.
    pub pages: u64,
    /// Number of items: list entries, index words, degrees, ids or ranks.
    pub items: u64,
    /// The epoch whose graph the section describes. Lists: the last that changed one of them.
    pub epoch: u64,
}

impl Section {
    /// Its logical pages.
    pub fn range(&self) -> Range<PageId> {
        self.first_page..self.first_page + self.pages
    }
}

/// How the user names vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// By the numbers `0..vertices`: no map is stored.
    Dense,
    /// By integers of 64 bits.
    Integers,
    /// By strings.
    Strings,
}

/// A superblock, decoded and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Version of the format that wrote the file.
    pub format_version: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Features that a reader may ignore.
    pub features_optional: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether a directed graph has lists of sources too.
    pub in_edges: bool,
    /// How the user names vertices.
    pub ids: IdKind,
    /// In which order the vertices lie.
    pub order: Order,
    /// Whether an edge may stand in a list more than once.
    pub duplicates_kept: bool,
    /// Whether a vertex may stand in its own list.
    pub self_loops_kept: bool,
    /// What is known of the weights, where edges have one.
    pub weights: Option<WeightSummary>,
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges as the user counts them.
    pub edges: u64,
    /// Entries of all lists of targets.
    pub stored_out: u64,
    /// Entries of all lists of sources.
    pub stored_in: u64,
    /// Repeated edges that the import found (and kept or left out).
    pub duplicates: u64,
    /// Self-loops that the import found (and kept or left out).
    pub self_loops: u64,
    /// Length of the longest list of targets.
    pub degree_max: u64,
    /// The smallest vertex with such a list.
    pub degree_max_vertex: u32,
    /// Number that goes into every checksum and tells graphs apart.
    pub salt: u64,
    /// Counts the commits of this graph; 1 after an import.
    pub epoch: u64,
    /// Pages of the file, those that are free included.
    pub pages_total: u64,
    /// Logical page numbers that were ever used are smaller than this.
    pub logical_pages: u64,
    /// The runs of logical pages.
    pub sections: Vec<Section>,
}

impl Superblock {
    /// The section of a kind, if the graph has it.
    pub fn section(&self, kind: SectionKind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }

    /// How the lists are encoded.
    pub fn codec(&self) -> Codec {
        self.section(SectionKind::OutAdjacency).map_or(Codec::Raw, |section| section.codec)
    }

    /// A derived section, if there is one and it describes the present lists.
    pub fn fresh(&self, kind: SectionKind) -> Option<&Section> {
        let lists = self.section(kind.derived_from()?)?;
        self.section(kind).filter(|section| section.epoch >= lists.epoch)
    }

    /// The hub neighbours of the vertices, if the graph has them and they describe the present
    /// lists.
    pub fn hub_neighbours(&self) -> Option<&Section> {
        let kinds = [SectionKind::OutHubNeighbours, SectionKind::InHubNeighbours];
        kinds.into_iter().find_map(|kind| self.fresh(kind))
    }

    /// Whether each vertex has its hub neighbours.
    pub fn has_hub_neighbours(&self) -> bool {
        self.hub_neighbours().is_some()
    }

    /// Vertices that came after the import: their ids do not ascend with the others.
    pub fn appended(&self) -> u64 {
        let kinds = [SectionKind::AppendedIntegers, SectionKind::AppendedStrings];
        kinds.into_iter().find_map(|kind| self.section(kind)).map_or(0, |section| section.items)
    }

    /// The slot that holds it.
    pub fn slot(&self) -> PageId {
        slot_of(self.epoch)
    }

    /// The slot that holds the commit before it, or nothing.
    pub fn other_slot(&self) -> PageId {
        SLOTS - 1 - self.slot()
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        self.pages_total * u64::from(self.page_bytes)
    }
}
