//! A stored graph under its path: one file, or tiers.
//!
//! - [`OpenOptions`]: how it is opened
//! - [`Info`]: what it holds
//! - [`Neighbors`]: the lists of single vertices
//! - [`Export`]: its edges, written out again

mod export;
mod info;
mod neighbors;
mod open;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_device::Op;
use cenote_device::profile::Profile;
use cenote_device::wrapper::IoBudget;
use cenote_engine::{Engine, EngineConfig, Needs};
pub use cenote_store::check::{CheckReport, Fault};
use cenote_store::{Ids, VertexId, check_device};

pub use self::export::{Export, Exported};
pub use self::info::{Info, SectionInfo, WeightInfo};
pub use self::neighbors::{NeighborList, Neighbors};
pub use self::open::OpenOptions;
use self::open::Opening;
use crate::drive::{DriveOptions, Warning};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::tiers::graph::TieredGraph;
use crate::tiers::members::Access;

/// The graph as the engine and a caller's own kernels see it.
pub use cenote_store::Graph as StoredGraph;

/// An open graph. Dropped or [closed](Self::close), it gives its files, locks and threads back; an
/// answer of it keeps the files open as long as the answer lives.
#[derive(Debug)]
pub struct Graph {
    pub(crate) path: PathBuf,
    stored: Arc<StoredGraph>,
    profile: Profile,
    warnings: Vec<Warning>,
    /// The I/O budgets of its drives.
    pub(crate) budgets: Vec<Arc<IoBudget>>,
}

impl Graph {
    /// Opens a graph: one file, or tiers whose pages move from now on as their policy says.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where it is no graph or a damaged one, [`Error::Locked`] where another
    /// process, or another [`Graph`] of this one, moves its pages.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::default().open(path)
    }

    /// Options to open a graph with: `Graph::options().migration(false).open(path)`.
    pub fn options() -> OpenOptions {
        OpenOptions::default()
    }

    /// Verifies every byte of a graph, even of one that cannot be opened; reads only. `progress` is
    /// called with the pages that are done and the pages in all.
    ///
    /// # Errors
    /// The file could not be read. Its faults are in the report.
    pub fn check(
        path: impl AsRef<Path>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport> {
        let opening = Opening::new(path.as_ref(), Access::Read, &DriveOptions::default())?;
        Ok(check_device(opening.device, progress)?)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u64 {
        self.stored.superblock().vertices
    }

    /// Number of edges, as the user counts them.
    pub fn edges(&self) -> u64 {
        self.stored.superblock().edges
    }

    /// What should be known of how it was opened.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The profile by which requests are planned; of tiers that of the slowest.
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

    /// The vertex that the user calls `id`.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`] where there is none.
    pub fn vertex_of(&self, id: impl ToString) -> Result<VertexId> {
        crate::keys::vertex_of(&self.stored, &self.ids()?, &id.to_string(), "")
    }

    /// The graph as the engine sees it.
    pub fn stored(&self) -> &Arc<StoredGraph> {
        &self.stored
    }

    /// An engine for the caller's own kernels, planned for the graph's drive.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`] where the budget does not hold what it needs.
    pub fn engine(&self, config: EngineConfig, needs: &Needs) -> Result<Engine> {
        self.allow_depth(config.depth.unwrap_or(0));
        let config = config.profile(self.profile.clone());
        Ok(Engine::new(Arc::clone(&self.stored), config, needs)?)
    }

    /// Allows so many reads at once, where that is more than the drive is known to serve.
    pub(crate) fn allow_depth(&self, depth: usize) {
        for budget in self.budgets.iter().filter(|budget| budget.limit(Op::Read) < depth) {
            budget.set_limits(depth, budget.limit(Op::Write));
        }
    }

    /// The lists of single vertices.
    pub fn neighbors(&self) -> Neighbors<'_> {
        Neighbors::new(self)
    }

    /// The edges, to be written out again.
    pub fn export(&self) -> Export<'_> {
        Export::new(self)
    }

    /// What it holds.
    ///
    /// # Errors
    /// The id of the vertex of largest degree cannot be read.
    pub fn info(&self) -> Result<Info> {
        Info::of(self)
    }

    /// The tiers it lies on; none where it is one file.
    pub fn tiers(&self) -> Option<&TieredGraph> {
        TieredGraph::of(&self.stored)
    }

    /// Ends migration, keeps what the tiers' policy has learned, and gives back what the graph
    /// holds. Dropping does the same and cannot report an error.
    ///
    /// # Errors
    /// Moving pages ended early, or what was learned could not be kept.
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
