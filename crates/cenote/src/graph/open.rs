//! How a graph is opened.

use std::path::Path;
use std::sync::Arc;

use cenote_device::backend::file::BackendChoice;
use cenote_device::profile::Profile;
use cenote_device::wrapper::IoBudget;
use cenote_device::{Device, Op};
use cenote_engine::THREADS_MAX;
use cenote_pool::Pool;
use cenote_store::LookupConfig;
use cenote_store::superblock::{SectionKind, Superblock};

use super::{Graph, StoredGraph};
use crate::drive::{DriveOptions, FileOnDrive, Warning};
use crate::error::Result;
use crate::tiers::graph::TieredGraph;
use crate::tiers::members::{self, Access};

/// Part of the memory of look-ups that lists take, and as much as pages do.
pub(super) const LISTS_SHARE: u64 = 2;

/// Reads in flight of look-ups, over all threads: those that the drive serves at once, within these
/// bounds.
const READS_MIN: usize = 16;
const READS_MAX: usize = 256;

/// Frames of a thread for each of its reads: what it may have pinned, and as much again so that it
/// finds room.
const FRAMES_PER_READ: usize = 4;

/// How a graph is opened; the defaults are the good choice.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    migration: bool,
    drives: DriveOptions,
    lookups: Option<(u64, usize)>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { migration: true, drives: DriveOptions::default(), lookups: None }
    }
}

impl OpenOptions {
    /// Whether pages of a graph over tiers move between them while it is open [default: yes]. While
    /// they move no other process and no other [`Graph`] can read it.
    pub fn migration(mut self, migration: bool) -> Self {
        self.migration = migration;
        self
    }

    /// Which system interface moves the bytes [default: io_uring, or threads where it is refused].
    pub fn backend(mut self, backend: BackendChoice) -> Self {
        self.drives.backend = backend;
        self
    }

    /// By which profile requests are planned [default: the one that was measured of the drive].
    pub fn profile(mut self, profile: Profile) -> Self {
        self.drives.profile = Some(profile);
        self
    }

    /// Makes room for [`Graph::neighbors`] of many vertices: so many bytes, for pages and lists, of
    /// so many threads, 1 to 512.
    pub fn lookups(mut self, memory_bytes: u64, threads: usize) -> Self {
        self.lookups = Some((memory_bytes, threads.clamp(1, THREADS_MAX)));
        self
    }

    /// Opens the graph.
    ///
    /// # Errors
    /// As [`Graph::open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Graph> {
        let path = path.as_ref();
        let access = if self.migration { Access::Move } else { Access::Read };
        let Opening { device, profile, mut warnings, budgets } =
            Opening::new(path, access, &self.drives)?;
        let stored = match self.lookups {
            None => StoredGraph::open(device)?,
            Some((memory_bytes, threads)) => {
                let free = memory_bytes.saturating_sub(device.memory_bytes() as u64);
                let plan = |superblock: &_| lookups(superblock, &profile, free, threads);
                StoredGraph::open_with(device, plan)?
            }
        };
        warnings.extend(stored.other_slot_fault().map(|fault| Warning::DamagedSlot {
            fault: fault.to_string(),
            epoch: stored.superblock().epoch,
        }));
        let (path, stored) = (path.to_owned(), Arc::new(stored));
        Ok(Graph { path, stored, profile, warnings, budgets })
    }
}

/// The device of a graph, before the graph on it is read: a file, or several on tiers.
pub(super) struct Opening {
    pub device: Arc<dyn Device>,
    pub profile: Profile,
    pub warnings: Vec<Warning>,
    pub budgets: Vec<Arc<IoBudget>>,
}

impl Opening {
    pub fn new(path: &Path, access: Access, drives: &DriveOptions) -> Result<Self> {
        if members::is_map(path) {
            let graph = TieredGraph::open(path, access, drives)?;
            let (profile, members) = (graph.profile().clone(), graph.members());
            let (warnings, budgets) = (members.warnings.clone(), members.budgets.clone());
            return Ok(Self { device: Arc::new(graph), profile, warnings, budgets });
        }
        let FileOnDrive { device, drive, budget } = drives.open(path, true)?;
        let warnings = drive.warning.into_iter().collect();
        Ok(Self { device, profile: drive.profile, warnings, budgets: vec![budget] })
    }
}

/// Look-ups of `threads` threads within `free` bytes.
fn lookups(superblock: &Superblock, profile: &Profile, free: u64, threads: usize) -> LookupConfig {
    let page_bytes = superblock.page_bytes as usize;
    let free = free.saturating_sub(index_bytes(superblock));
    let frames = free / LISTS_SHARE / Pool::frame_bytes(page_bytes);
    let reads = profile.model().channels(Op::Read, page_bytes as u64) as usize;
    let reads = reads.clamp(READS_MIN, READS_MAX).div_ceil(threads);
    let least = FRAMES_PER_READ * threads;
    let read_depth = reads.min(frames as usize / least).max(1);
    LookupConfig::default().frames(frames.max(least as u64)).read_depth(read_depth)
}

/// What the page indexes of a graph take in memory, about.
fn index_bytes(superblock: &Superblock) -> u64 {
    let indexes = [SectionKind::OutIndex, SectionKind::InIndex];
    let sections = indexes.into_iter().filter_map(|kind| superblock.section(kind));
    sections.map(|section| section.pages * u64::from(superblock.page_bytes)).sum()
}
