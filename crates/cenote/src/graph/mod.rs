//! A stored graph: one file, or tiers.
//!
//! - [`OpenOptions`]: options to open it
//! - [`Info`]: its description
//! - [`Neighbors`]: the lists of single vertices; [`Sample`]: samples of them, layer by layer
//! - [`Visit`]: passes over lists in batches, for loops of the caller's own
//! - [`Export`]: its edges; [`Diff`]: those that changed; [`Subgraph`]: those of some vertices
//! - `part`: what graph files made of a part of a graph share

mod export;
mod info;
mod kind;
mod neighbors;
mod open;
pub(crate) mod part;
mod sample;
mod subgraph;
mod visit;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cenote_device::profile::Profile;
use cenote_device::wrapper::IoBudget;
use cenote_device::{Device, Op};
use cenote_engine::{Engine, EngineConfig, Needs};
pub use cenote_store::Snapshot;
pub use cenote_store::check::{CheckReport, Fault};
use cenote_store::superblock::IdKind;
use cenote_store::{Direction, Ids, StoreError, Value, VertexId, check_device, check_snapshot};
use cenote_tier::device::Refreshed;

pub use self::export::{Diff, Export, Exported};
pub use self::info::{Info, SectionInfo, SnapshotInfo, ValueInfo, WeightInfo};
pub use self::neighbors::{NeighborList, Neighbors};
pub use self::open::OpenOptions;
use self::open::Opening;
pub(crate) use self::sample::key_of as id_key;
pub use self::sample::{Sample, SampleOptions, SampledLayer};
pub use self::subgraph::{Extracted, Subgraph};
pub use self::visit::{ListBatch, ListReader, Pass, Visit};
use crate::drive::{DriveOptions, Warning};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::features::{FeatureType, FeatureWriter, Features};
use crate::tiers::graph::TieredGraph;
use crate::tiers::members::Access;
use crate::update::{Update, UpdateOptions};
pub use cenote_store::DiffReport;

/// How often a check that found a fault is repeated if a writer has the graph open.
const CHECK_RETRIES: u32 = 2;

/// And how often it is begun if the graph could not even be opened beside a writer.
const OPEN_RETRIES: u32 = 200;

/// The graph for the engine and a caller's own kernels.
pub use cenote_store::Graph as StoredGraph;

/// Whether the user's ids are strings.
pub fn has_names(graph: &StoredGraph) -> bool {
    graph.superblock().ids == IdKind::Strings
}

/// An open graph. Dropping or [closing](Self::close) it releases its files, locks and threads; an
/// answer keeps the files open as long as the answer lives.
#[derive(Debug)]
pub struct Graph {
    pub(crate) path: PathBuf,
    /// Distinguishes its file from all others, copies of it too, where the system can.
    pub(crate) file_identity: Option<String>,
    stored: Arc<StoredGraph>,
    /// See [`Graph::kept_ids`].
    ids: OnceLock<Ids>,
    profile: Profile,
    warnings: Vec<Warning>,
    /// The I/O budgets of its drives.
    pub(crate) budgets: Vec<Arc<IoBudget>>,
}

impl Graph {
    /// Opens a graph: one file, or tiers, whose pages then move as their policy decides.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is not a graph or damaged, [`Error::Locked`] if another process, or
    /// another [`Graph`] of this one, moves its pages.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::default().open(path)
    }

    /// Opens a graph as it was when a snapshot was made; see
    /// [`Update::snapshot`](crate::Update::snapshot). Its pages are kept until the [`Graph`] is
    /// dropped, even if the snapshot is removed.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the graph has no snapshot of this name. As [`Graph::open`].
    pub fn open_at(path: impl AsRef<Path>, name: &str) -> Result<Self> {
        OpenOptions::default().at(name).open(path)
    }

    /// Options to open a graph: `Graph::options().migration(false).open(path)`.
    pub fn options() -> OpenOptions {
        OpenOptions::default()
    }

    /// Verifies every byte of a graph, even of one that cannot be opened; only reads. `progress` is
    /// called with the pages done and the total pages, and returns whether to go on.
    ///
    /// # Errors
    /// The file could not be read; [`Error::Cancelled`] where `progress` ends it. Faults of the
    /// graph are in the report.
    pub fn check(
        path: impl AsRef<Path>,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<CheckReport> {
        Self::check_with(path.as_ref(), &mut |device| check_device(device, progress))
    }

    /// [`Graph::check`] of one snapshot alone, by its name. [`Graph::check`] verifies them all.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the graph has no snapshot of this name. As [`Graph::check`].
    pub fn check_at(
        path: impl AsRef<Path>,
        name: &str,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<CheckReport> {
        Self::check_with(path.as_ref(), &mut |device| check_snapshot(device, name, progress))
    }

    fn check_with(
        path: &Path,
        check: &mut dyn FnMut(Arc<dyn Device>) -> cenote_store::Result<CheckReport>,
    ) -> Result<CheckReport> {
        let mut tries = 0;
        loop {
            let opening = Opening::new(path, Access::Read, &DriveOptions::default())?;
            let has_writer = || opening.lock.as_ref().is_some_and(|lock| lock.has_writer());
            // The lock keeps all pages; a superblock may be torn because it is being written, or
            // name pages that were mapped to tiers since they were opened.
            let report = check(Arc::clone(&opening.device));
            let is_whole = report.as_ref().is_ok_and(CheckReport::is_whole);
            // A superblock at fault has no pages, and is soon read again.
            let is_opened = report.as_ref().is_ok_and(|report| report.pages > 0);
            let retries = if is_opened { CHECK_RETRIES } else { OPEN_RETRIES };
            let is_ended = matches!(report, Err(StoreError::Cancelled { .. }));
            if is_whole || is_ended || tries >= retries {
                return Ok(report?);
            }
            if !has_writer() && opening.refresh()? == Refreshed::Newest {
                return Ok(report?);
            }
            tries += 1;
        }
    }

    /// The path of its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u64 {
        self.stored.superblock().live_vertices()
    }

    /// Number of edges, as the user counts them.
    pub fn edges(&self) -> u64 {
        self.stored.superblock().edges
    }

    /// Warnings from opening it.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The profile for planning requests; for tiers, that of the slowest.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The user's ids.
    ///
    /// # Errors
    /// Their pages cannot be read.
    pub fn ids(&self) -> Result<Ids> {
        Ok(self.stored.ids()?)
    }

    /// The user's ids, which are opened once: the appended ones are in memory.
    pub(crate) fn kept_ids(&self) -> Result<&Ids> {
        if let Some(ids) = self.ids.get() {
            return Ok(ids);
        }
        let ids = self.stored.ids()?;
        Ok(self.ids.get_or_init(|| ids))
    }

    /// The vertex that the user calls `id`.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`] if there is none.
    pub fn vertex_of(&self, id: impl ToString) -> Result<VertexId> {
        crate::keys::vertex_of(&self.stored, &self.ids()?, &id.to_string(), "")
    }

    /// The value of the vertex that the user calls `id`, if it has one.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`] if there is no such vertex; its page cannot be read.
    pub fn value(&self, id: impl ToString) -> Result<Option<Value>> {
        Ok(self.stored.value(self.vertex_of(id)?)?)
    }

    /// Calls `visit` with the values of all vertices that have one, by ascending vertex.
    ///
    /// # Errors
    /// Their pages cannot be read; errors of `visit`, which end it.
    pub fn for_each_value(
        &self,
        visit: &mut dyn FnMut(VertexId, Value) -> cenote_store::Result<()>,
    ) -> Result<()> {
        Ok(self.stored.for_each_value(visit)?)
    }

    /// The lengths of all lists, by vertex: 8 bytes a vertex of memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the graph does not store the direction; its pages cannot be
    /// read.
    pub fn degrees(&self, direction: Direction) -> Result<Vec<u64>> {
        neighbors::check_direction(self, direction)?;
        let mut lengths = vec![0; self.stored.vertices()];
        self.stored.degrees(direction, &mut |first, degrees| {
            lengths[first as usize..][..degrees.len()].copy_from_slice(degrees);
        })?;
        Ok(lengths)
    }

    /// The graph for the engine.
    pub fn stored(&self) -> &Arc<StoredGraph> {
        &self.stored
    }

    /// An engine for the caller's own kernels, planned for the graph's drive.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`] if the budget is too small.
    pub fn engine(&self, config: EngineConfig, needs: &Needs) -> Result<Engine> {
        Ok(Engine::new(Arc::clone(&self.stored), self.planned(config), needs)?)
    }

    /// A configuration with the profile of the drive.
    pub(crate) fn planned(&self, config: EngineConfig) -> EngineConfig {
        self.allow_depth(config.depth.unwrap_or(0));
        config.profile(self.profile.clone())
    }

    /// Raises the limit of reads in flight to `depth`, if the profile's is lower.
    pub(crate) fn allow_depth(&self, depth: usize) {
        for budget in self.budgets.iter().filter(|budget| budget.limit(Op::Read) < depth) {
            budget.set_limits(depth, budget.limit(Op::Write));
        }
    }

    /// The lists of single vertices.
    pub fn neighbors(&self) -> Neighbors<'_> {
        Neighbors::new(self)
    }

    /// Passes over the lists of all vertices or of a frontier, in batches.
    pub fn visit(&self) -> Visit<'_> {
        Visit::new(self)
    }

    /// Creates a file of features: for each vertex a row of `columns` numbers, to be pushed by
    /// ascending number of the vertex. Replaces a file of this name when it is complete.
    ///
    /// # Errors
    /// [`Error::Parameter`] without columns; [`Error::InvalidInput`] for a path that must not be
    /// replaced; the file cannot be created.
    pub fn create_features(
        &self,
        path: impl AsRef<Path>,
        kind: FeatureType,
        columns: u32,
    ) -> Result<FeatureWriter> {
        FeatureWriter::create(self, path.as_ref(), kind, columns)
    }

    /// Opens a file of features of this graph.
    ///
    /// Rows belong to the numbers of vertices. Updates keep these, and a vertex that is added later
    /// has no row; a compaction and a new import give new ones, and then the file is refused.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a file that is damaged, cut off or none of features;
    /// [`Error::InvalidInput`] for that of another graph or numbering.
    pub fn features(&self, path: impl AsRef<Path>) -> Result<Features> {
        Features::open(self, path.as_ref())
    }

    /// An export of the edges.
    pub fn export(&self) -> Export<'_> {
        Export::new(self)
    }

    /// The subgraph of some vertices, or of those near them, to be written to a file.
    pub fn subgraph(&self) -> Subgraph<'_> {
        Subgraph::new(self)
    }

    /// What changed since an earlier state of the graph: a snapshot, or a graph that was opened
    /// before an update. Only the pages of lists that differ are read.
    pub fn diff<'g>(&'g self, before: &'g Graph) -> Diff<'g> {
        Diff::new(before, self)
    }

    /// Opens the graph of this path for changes. This [`Graph`] stays as it is; one that is opened
    /// after a commit has the changes. Over tiers whose pages this [`Graph`] moves, the changes go
    /// through it.
    ///
    /// # Errors
    /// As [`UpdateOptions::open`](crate::update::UpdateOptions::open).
    pub fn update(&self) -> Result<Update> {
        self.update_with(&Update::options())
    }

    /// [`Graph::update`] with options.
    ///
    /// # Errors
    /// As [`Graph::update`].
    pub fn update_with(&self, options: &UpdateOptions) -> Result<Update> {
        options.open_beside(&self.path, self.stored.device())
    }

    /// Its snapshots, the oldest first; none if it was opened at one.
    ///
    /// # Errors
    /// Their pages cannot be read.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        Ok(self.stored.snapshots()?)
    }

    /// The name of the snapshot that it was opened at.
    pub fn snapshot_name(&self) -> Option<&str> {
        self.stored.snapshot_name()
    }

    /// Its description.
    ///
    /// # Errors
    /// The id of the vertex of largest degree cannot be read.
    pub fn info(&self) -> Result<Info> {
        Info::of(self)
    }

    /// Its tiers; none for one file.
    pub fn tiers(&self) -> Option<&TieredGraph> {
        TieredGraph::of(&self.stored)
    }

    /// Stops migration, saves what the tiers' policy has learned, and releases the graph's
    /// resources. Dropping does the same but cannot report an error.
    ///
    /// # Errors
    /// Migration failed, or the state of the policy could not be saved.
    pub fn close(self) -> Result<()> {
        self.tiers().map_or(Ok(()), TieredGraph::stop_moving)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.tiers().map(TieredGraph::stop_moving) {
            tracing::warn!("moving pages between tiers ended early: {error}");
        }
    }
}
