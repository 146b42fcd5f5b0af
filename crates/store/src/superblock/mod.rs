//! The superblock: the properties of a graph at one epoch, and where its sections lie. Each commit
//! writes it into one of two slots, pages 0 and 1.
//!
//! - [`Superblock`], [`Section`]: its content
//! - `features`: what a program must know to read the graph
//! - `label`: the names of snapshots
//! - `raw`: its encoding in a page
//! - `sound`: consistency of its numbers

mod features;
mod label;
mod raw;
mod sound;

use std::ops::Range;

use cenote_pool::PageId;

use crate::format::{Codec, EPOCH_OF_IMPORT, PageKind, SLOTS};
use crate::order::Order;
use crate::values::ValueType;
use crate::weights::{WeightSummary, WeightType};

pub use label::{NAME_BYTES_MAX, SNAPSHOTS_MAX};
pub(crate) use label::{SnapshotLabel, name_fault};
pub use raw::SECTIONS_MAX;
use raw::slot_of;
pub(crate) use raw::{Slot, page_bytes_of, slot_fault};

/// Name of the superblock's page in errors.
pub const SECTION: &str = "superblock";

/// Kind of a section: what its pages hold.
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
    /// Hub neighbours from the lists of targets.
    OutHubNeighbours = 13,
    /// Hub neighbours from the lists of sources.
    InHubNeighbours = 14,
    /// Where the weights of each page of lists of targets are.
    OutWeightIndex = 15,
    /// Where the weights of each page of lists of sources are.
    InWeightIndex = 16,
    /// Ids of appended vertices, integers.
    AppendedIntegers = 17,
    /// Ids of appended vertices, strings.
    AppendedStrings = 18,
    /// Numbers of deleted vertices.
    DeletedVertices = 23,
    /// Sorted runs of changes that the lists do not have yet.
    DeltaRuns = 25,
    /// Where the changes of a page of lists are in the runs.
    DeltaIndex = 26,
    /// Values of vertices.
    VertexValues = 24,
    /// Hub neighbours in a part of a graph, by the lengths of lists in the whole one.
    PartHubNeighbours = 27,
}

impl SectionKind {
    /// All kinds that this program knows.
    pub const ALL: [SectionKind; 23] = [
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
        Self::DeletedVertices,
        Self::DeltaRuns,
        Self::DeltaIndex,
        Self::VertexValues,
        Self::PartHubNeighbours,
    ];

    /// Name of the section in errors.
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
            Self::DeltaRuns => "delta runs",
            Self::DeltaIndex => "delta index",
            Self::DeletedVertices => "deleted vertices",
            Self::VertexValues => "vertex values",
            Self::PartHubNeighbours => "hub neighbours of a part",
        }
    }

    /// Kind of its pages.
    pub fn page_kind(self) -> PageKind {
        match self {
            Self::OutAdjacency | Self::InAdjacency => PageKind::Adjacency,
            Self::OutIndex
            | Self::InIndex
            | Self::OutWeightIndex
            | Self::InWeightIndex
            | Self::DeltaIndex => PageKind::Index,
            Self::OutDegrees | Self::InDegrees => PageKind::Degrees,
            Self::Integers | Self::AppendedIntegers => PageKind::Integers,
            Self::Strings | Self::AppendedStrings => PageKind::Strings,
            Self::OutWeights | Self::InWeights => PageKind::Weights,
            Self::VertexOfRank | Self::RankOfVertex => PageKind::Order,
            Self::OutHubNeighbours | Self::InHubNeighbours | Self::PartHubNeighbours => {
                PageKind::HubNeighbours
            }
            Self::DeltaRuns => PageKind::DeltaRun,
            Self::DeletedVertices => PageKind::Deleted,
            Self::VertexValues => PageKind::Values,
        }
    }

    /// The lists that a derived section is computed from; `None` for other sections.
    pub fn derived_from(self) -> Option<SectionKind> {
        match self {
            // With in-edges too: a change of edges changes the lists of both directions.
            Self::OutDegrees | Self::OutHubNeighbours | Self::PartHubNeighbours => {
                Some(Self::OutAdjacency)
            }
            Self::InDegrees | Self::InHubNeighbours => Some(Self::InAdjacency),
            _ => None,
        }
    }
}

/// A run of logical pages of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// What the pages hold.
    pub kind: SectionKind,
    /// Codec of the pages; raw unless they hold lists.
    pub codec: Codec,
    /// First logical page.
    pub first_page: u64,
    /// Number of pages.
    pub pages: u64,
    /// Number of items: list entries, index words, degrees, ids, ranks, vertices or values.
    pub items: u64,
    /// The epoch that the section describes; that of lists is the last one that changed them.
    pub epoch: u64,
}

impl Section {
    /// Logical pages of the section.
    pub fn range(&self) -> Range<PageId> {
        self.first_page..self.first_page + self.pages
    }
}

/// Kind of the user's vertex ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// The numbers `0..vertices`, which are not stored.
    Dense,
    /// 64-bit integers.
    Integers,
    /// Strings.
    Strings,
}

/// A superblock, decoded and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Format version of the file.
    pub format_version: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Feature bits that a reader may ignore.
    pub features_optional: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether a directed graph has lists of sources.
    pub in_edges: bool,
    /// Kind of the user's vertex ids.
    pub ids: IdKind,
    /// Order of the vertices.
    pub order: Order,
    /// Whether a list may contain an edge more than once.
    pub duplicates_kept: bool,
    /// Whether a list may contain its own vertex.
    pub self_loops_kept: bool,
    /// Type of the values of vertices, if any vertex has one.
    pub value_type: Option<ValueType>,
    /// Summary of the weights, if the graph is weighted.
    pub weights: Option<WeightSummary>,
    /// Number of vertices, the deleted ones included: the end of their numbers.
    pub vertices: u64,
    /// Number of edges as the user counts them: each undirected edge once.
    pub edges: u64,
    /// Number of entries of all lists of targets.
    pub stored_out: u64,
    /// Number of entries of all lists of sources.
    pub stored_in: u64,
    /// Repeated edges that the import found, kept or not; of a graph that keeps them with those
    /// that changes have added, without those that they have deleted.
    pub duplicates: u64,
    /// Self-loops that the import found, kept or not.
    pub self_loops: u64,
    /// Length of the longest list of targets.
    pub degree_max: u64,
    /// The smallest vertex with such a list.
    pub degree_max_vertex: u32,
    /// Random number that goes into every checksum and distinguishes graphs.
    pub salt: u64,
    /// Number of the commit; 1 after an import.
    pub epoch: u64,
    /// Pages of the file, including free ones.
    pub pages_total: u64,
    /// End of the logical page numbers ever used.
    pub logical_pages: u64,
    /// Physical pages of the log; empty if there is none.
    pub log: Range<PageId>,
    /// Physical pages of the snapshots, one for each, the oldest first; empty if there are none.
    pub snapshots: Range<PageId>,
    /// The epoch that wrote those pages; 0 if there are none.
    pub snapshots_epoch: u64,
    /// Vertices that the log adds, whose ids are in no section.
    pub logged_vertices: u64,
    /// Vertices that the pages of the lists have: fewer than there are where the delta runs add
    /// some.
    pub listed_vertices: u64,
    /// The runs of logical pages.
    pub sections: Vec<Section>,
}

/// Of the optional features, those that are the free space of pages.
const FREE_SPACE_BITS: u64 = 63;

impl Superblock {
    /// Free space of pages of lists, in percent: the import packed them only so far, and splits
    /// leave as much.
    pub fn free_space(&self) -> u32 {
        (self.features_optional & FREE_SPACE_BITS) as u32
    }

    /// The section of a kind, if the graph has it.
    pub fn section(&self, kind: SectionKind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }

    /// Codec of the lists.
    pub fn codec(&self) -> Codec {
        self.section(SectionKind::OutAdjacency).map_or(Codec::Raw, |section| section.codec)
    }

    /// A derived section, unless it is missing or stale.
    pub fn fresh(&self, kind: SectionKind) -> Option<&Section> {
        let lists = self.section(kind.derived_from()?)?;
        self.section(kind).filter(|section| section.epoch >= lists.epoch)
    }

    /// The hub neighbours, unless they are missing or stale.
    pub fn hub_neighbours(&self) -> Option<&Section> {
        let kinds = [SectionKind::OutHubNeighbours, SectionKind::InHubNeighbours];
        kinds.into_iter().find_map(|kind| self.fresh(kind))
    }

    /// Whether the graph has up-to-date hub neighbours.
    pub fn has_hub_neighbours(&self) -> bool {
        self.hub_neighbours().is_some()
    }

    /// The hub neighbours of a part of a graph, unless they are missing or stale.
    pub fn hub_neighbours_of_part(&self) -> Option<&Section> {
        self.fresh(SectionKind::PartHubNeighbours)
    }

    /// Whether the lists of targets are as the import packed them: then the pages within a long
    /// list are full.
    pub fn has_imported_lists(&self) -> bool {
        let lists = self.section(SectionKind::OutAdjacency);
        lists.is_some_and(|lists| lists.epoch == EPOCH_OF_IMPORT)
    }

    /// Whether nothing was committed since the import; a log is made by a commit.
    pub fn is_as_imported(&self) -> bool {
        self.epoch == EPOCH_OF_IMPORT
    }

    /// Type of the weights, if edges have some.
    pub fn weight_type(&self) -> Option<WeightType> {
        self.weights.map(|weights| weights.kind())
    }

    /// Whether the log may have changes of edges: those that repeat are changed by commits.
    pub fn logs_edges(&self) -> bool {
        !self.duplicates_kept
    }

    /// Whether edges have no weights and do not repeat: else delta runs cannot have changes of
    /// them.
    pub fn has_plain_edges(&self) -> bool {
        self.weights.is_none() && !self.duplicates_kept
    }

    /// Whether there are changes in delta runs, which the pages of the lists do not have.
    pub fn has_delta_runs(&self) -> bool {
        self.section(SectionKind::DeltaRuns).is_some()
    }

    /// Number of vertices appended after the import, whose ids do not ascend with the others.
    pub fn appended(&self) -> u64 {
        let kinds = [SectionKind::AppendedIntegers, SectionKind::AppendedStrings];
        let section = kinds.into_iter().find_map(|kind| self.section(kind));
        section.map_or(0, |section| section.items) + self.logged_vertices
    }

    /// Number of deleted vertices, which keep their numbers until the graph is compacted.
    pub fn deleted(&self) -> u64 {
        self.section(SectionKind::DeletedVertices).map_or(0, |section| section.items)
    }

    /// Number of vertices without the deleted ones.
    pub fn live_vertices(&self) -> u64 {
        self.vertices.saturating_sub(self.deleted())
    }

    /// The slot of this commit.
    pub fn slot(&self) -> PageId {
        slot_of(self.epoch)
    }

    /// The slot of the previous commit.
    pub fn other_slot(&self) -> PageId {
        SLOTS - 1 - self.slot()
    }

    /// Size of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.pages_total * u64::from(self.page_bytes)
    }
}
