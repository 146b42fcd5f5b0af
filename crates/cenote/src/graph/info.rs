//! Description of a graph, from its first page and indexes.

use cenote_store::superblock::{IdKind, SectionKind, Superblock};
use cenote_store::{Adjacency, Direction, Id, Snapshot, VertexId, Weight, WeightSummary};
use serde::Serialize;

use super::Graph;
use crate::error::Result;
use crate::tiers::status::{self, TierStatus};

/// Description of a graph.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Info {
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges, as the user counts them.
    pub edges: u64,
    /// Entries of lists.
    pub stored_edges: u64,
    /// Pages of lists.
    pub pages: u64,
    /// Bytes of a page.
    pub page_size: u32,
    /// Bytes of the pages of lists.
    pub page_bytes: u64,
    /// Bytes of the graph's file or files.
    pub file_bytes: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether lists of in-neighbours are stored.
    pub in_edges: bool,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Type, smallest, largest and mean of the weights.
    pub weights: Option<WeightInfo>,
    /// Type of the values of vertices, and how many have one.
    pub values: Option<ValueInfo>,
    /// How lists are encoded.
    pub codec: &'static str,
    /// Whether the neighbours of largest degree of each vertex are stored in a section of their
    /// own.
    pub hub_neighbours: bool,
    /// Version of the file format.
    pub format_version: u32,
    /// Number of the commit: 1 after the import.
    pub epoch: u64,
    /// Vertices that updates have appended.
    pub appended_vertices: u64,
    /// Deleted vertices, whose numbers and ids stay in the file until it is compacted.
    pub deleted_vertices: u64,
    /// Edges that the log adds or deletes and that the lists do not have yet so.
    pub logged_changes: u64,
    /// Bytes of the file that the log takes.
    pub log_bytes: u64,
    /// Delta runs: sorted changes that the lists do not have yet.
    pub delta_runs: u64,
    /// Changes of lists in them; an undirected edge has two.
    pub delta_changes: u64,
    /// Their bytes, which each pass over the lists reads too until they are merged.
    pub delta_bytes: u64,
    /// Pages of lists that log and runs change, which a merge writes anew.
    pub dirty_pages: u64,
    /// Free space of each page of lists, in percent, as the graph was imported or compacted.
    pub free_space: u32,
    /// Pages of the file that updates have freed and not used again, without those that snapshots
    /// keep.
    pub free_pages: u64,
    /// Bytes of the pages that this state needs, the log's included: the file without free pages
    /// and without those that only snapshots need.
    pub used_bytes: u64,
    /// Bytes of the file divided by `used_bytes`: 1 after an import.
    pub space_amplification: f64,
    /// The name of the snapshot that the graph was opened at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The snapshots, the oldest first.
    pub snapshots: Vec<SnapshotInfo>,
    /// Pages of the file that only snapshots need.
    pub snapshot_pages: u64,
    /// Kind of the user's ids: `dense`, `integer` or `string`.
    pub ids: &'static str,
    /// Order of the vertices.
    pub order: &'static str,
    /// Seed of a shuffle.
    pub order_seed: Option<u64>,
    /// Repeated edges of the input; where they are stored, of the graph.
    pub duplicates: u64,
    /// Whether they are stored.
    pub duplicates_kept: bool,
    /// Self-loops of the input.
    pub self_loops: u64,
    /// Whether they are stored.
    pub self_loops_kept: bool,
    /// Length of the longest list.
    pub degree_max: u64,
    /// Its vertex.
    pub degree_max_vertex: Option<Id>,
    /// Parts of the file.
    pub sections: Vec<SectionInfo>,
    /// The tiers, of a graph over several drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Vec<TierStatus>>,
}

/// The weights of a graph.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WeightInfo {
    /// `f32`, `f64`, `u32` or `i64`.
    pub r#type: &'static str,
    /// Bytes of each in the file: fewer than those of the type where all are small integers.
    pub bytes: usize,
    /// The smallest; none without edges.
    pub min: Option<Weight>,
    /// The largest.
    pub max: Option<Weight>,
    /// Their mean.
    pub mean: f64,
}

impl From<&WeightSummary> for WeightInfo {
    fn from(summary: &WeightSummary) -> Self {
        let (min, max) = (summary.min(), summary.max());
        let (r#type, bytes) = (summary.kind().name(), summary.format().bytes());
        Self { r#type, bytes, min, max, mean: summary.mean() }
    }
}

/// The values of vertices.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ValueInfo {
    /// `u64`, `i64` or `f64`.
    pub r#type: &'static str,
    /// Vertices that have a value.
    pub count: u64,
}

/// A snapshot of a graph.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SnapshotInfo {
    /// Its name.
    pub name: String,
    /// The epoch that it keeps.
    pub epoch: u64,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges.
    pub edges: u64,
    /// Pages of the file that only this snapshot needs.
    pub pages_held: u64,
}

impl From<Snapshot> for SnapshotInfo {
    fn from(snapshot: Snapshot) -> Self {
        let Snapshot { name, epoch, created, vertices, edges, pages_held, .. } = snapshot;
        Self { name, epoch, created, vertices, edges, pages_held }
    }
}

/// A part of a graph's file.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SectionInfo {
    /// Its name.
    pub name: &'static str,
    /// Its first page.
    pub first_page: u64,
    /// Its length in pages.
    pub pages: u64,
    /// Items in it.
    pub items: u64,
}

impl Info {
    pub(super) fn of(graph: &Graph) -> Result<Self> {
        let superblock = graph.stored().superblock();
        let mut info = Self::new(superblock);
        info.snapshot = graph.snapshot_name().map(str::to_owned);
        info.snapshots = graph.snapshots()?.into_iter().map(SnapshotInfo::from).collect();
        info.snapshot_pages = graph.stored().snapshot_pages()?;
        info.free_pages = graph.stored().free_pages() - info.snapshot_pages;
        let unused = graph.stored().free_pages() * u64::from(superblock.page_bytes);
        assert!(unused < info.file_bytes, "a superblock is in use");
        info.used_bytes = info.file_bytes - unused;
        info.space_amplification = info.file_bytes as f64 / info.used_bytes as f64;
        info.logged_changes = graph.stored().logged_changes();
        info.delta_runs = graph.stored().runs() as u64;
        info.delta_changes = graph.stored().run_changes();
        for direction in [Direction::Out, Direction::In] {
            let lists = graph.stored().adjacency(direction);
            let lists = lists.filter(|_| direction == Direction::Out || superblock.directed);
            info.dirty_pages += lists.map_or(Ok(0), Adjacency::dirty_pages)?;
        }
        // Where no vertex has an edge, the first one may be deleted.
        let longest = superblock.degree_max_vertex..superblock.vertices as VertexId;
        let mut longest = longest.filter(|vertex| !graph.stored().is_deleted(*vertex));
        if let Some(vertex) = longest.next() {
            info.degree_max_vertex = Some(graph.ids()?.id_of(vertex)?);
        }
        if let Some(tiered) = graph.tiers() {
            info.tiers = Some(status::tiers(tiered.members())?);
        }
        Ok(info)
    }

    fn new(superblock: &Superblock) -> Self {
        let pages_of = |kind| superblock.section(kind).map_or(0, |section| section.pages);
        let pages = pages_of(SectionKind::OutAdjacency) + pages_of(SectionKind::InAdjacency);
        let page_bytes = u64::from(superblock.page_bytes);
        Self {
            vertices: superblock.live_vertices(),
            edges: superblock.edges,
            stored_edges: superblock.stored_out + superblock.stored_in,
            pages,
            page_size: superblock.page_bytes,
            page_bytes: pages * page_bytes,
            file_bytes: superblock.file_bytes(),
            directed: superblock.directed,
            in_edges: superblock.in_edges,
            weighted: superblock.weights.is_some(),
            weights: superblock.weights.as_ref().map(WeightInfo::from),
            values: superblock.value_type.map(|kind| ValueInfo {
                r#type: kind.name(),
                count: superblock
                    .section(SectionKind::VertexValues)
                    .map_or(0, |section| section.items),
            }),
            codec: superblock.codec().name(),
            hub_neighbours: superblock.has_hub_neighbours()
                || superblock.hub_neighbours_of_part().is_some(),
            format_version: superblock.format_version,
            epoch: superblock.epoch,
            appended_vertices: superblock.appended(),
            deleted_vertices: superblock.deleted(),
            logged_changes: 0,
            log_bytes: (superblock.log.end - superblock.log.start) * page_bytes,
            delta_runs: 0,
            delta_changes: 0,
            dirty_pages: 0,
            delta_bytes: pages_of(SectionKind::DeltaRuns) * page_bytes,
            free_space: superblock.free_space(),
            free_pages: 0,
            used_bytes: superblock.file_bytes(),
            space_amplification: 1.0,
            snapshot: None,
            snapshots: Vec::new(),
            snapshot_pages: 0,
            ids: match superblock.ids {
                IdKind::Dense => "dense",
                IdKind::Integers => "integer",
                IdKind::Strings => "string",
            },
            order: superblock.order.name(),
            order_seed: superblock.order.seed(),
            duplicates: superblock.duplicates,
            duplicates_kept: superblock.duplicates_kept,
            self_loops: superblock.self_loops,
            self_loops_kept: superblock.self_loops_kept,
            degree_max: superblock.degree_max,
            degree_max_vertex: None,
            sections: superblock
                .sections
                .iter()
                .map(|section| SectionInfo {
                    name: section.kind.name(),
                    first_page: section.first_page,
                    pages: section.pages,
                    items: section.items,
                })
                .collect(),
            tiers: None,
        }
    }
}
