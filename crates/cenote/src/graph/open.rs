//! Options for opening a graph.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

use cenote_device::backend::file::BackendChoice;
use cenote_device::profile::Profile;
use cenote_device::wrapper::IoBudget;
use cenote_device::{Device, Op};
use cenote_engine::THREADS_MAX;
use cenote_pool::Pool;
use cenote_store::LookupConfig;
use cenote_store::superblock::{SectionKind, Superblock};
use cenote_tier::device::Refreshed;

use super::{Graph, StoredGraph};
use crate::drive::{DriveOptions, FileOnDrive, Warning};
use crate::error::{Error, Result};
use crate::lock::{LockedDevice, ReaderLock};
use crate::shards::MANIFEST;
use crate::tiers::graph::TieredGraph;
use crate::tiers::members::{self, Access};

/// Pages take `1 / FRAMES_SHARE` of the memory of look-ups.
pub(super) const FRAMES_SHARE: u64 = 2;

/// Delta runs that are kept take at most `1 / RUNS_SHARE` of it.
pub(super) const RUNS_SHARE: u64 = 8;

/// Bounds of the reads in flight of look-ups, over all threads; within them, the drive's k_r.
const READS_MIN: usize = 16;
const READS_MAX: usize = 256;

/// How long and how often an open waits for the end of the write of a superblock or of a map.
const COMMIT_RETRY_INTERVAL: Duration = Duration::from_millis(2);
const COMMIT_RETRIES: u32 = 50;

/// Frames per read of a thread: those it may pin, and as many again to find a free one.
const FRAMES_PER_READ: usize = 4;

/// Options for opening a graph.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    migration: bool,
    drives: DriveOptions,
    lookups: Option<(u64, usize)>,
    at: Option<String>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { migration: true, drives: DriveOptions::default(), lookups: None, at: None }
    }
}

impl OpenOptions {
    /// Whether pages of a graph over tiers move between them while it is open [default: yes].
    /// Meanwhile no other process and no other [`Graph`] can read it.
    pub fn migration(mut self, migration: bool) -> Self {
        self.migration = migration;
        self
    }

    /// The system interface for I/O [default: io_uring, or threads where it is refused].
    pub fn backend(mut self, backend: BackendChoice) -> Self {
        self.drives.backend = backend;
        self
    }

    /// The profile for planning requests [default: the measured one of the drive].
    pub fn profile(mut self, profile: Profile) -> Self {
        self.drives.profile = Some(profile);
        self
    }

    /// Reserves memory, in bytes, for pages and lists of [`Graph::neighbors`] with `threads`, 1 to
    /// 512.
    pub fn lookups(mut self, memory_bytes: u64, threads: usize) -> Self {
        self.lookups = Some((memory_bytes, threads.clamp(1, THREADS_MAX)));
        self
    }

    /// The snapshot to open the graph at [default: the present state].
    pub fn at(mut self, name: impl Into<String>) -> Self {
        self.at = Some(name.into());
        self
    }

    /// Opens the graph.
    ///
    /// # Errors
    /// As [`Graph::open`], and as [`Graph::open_at`] for a snapshot.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Graph> {
        let path = path.as_ref();
        if path.join(MANIFEST).is_file() {
            let reason = "it holds the shards of a graph: open one of its .cenote files, or all of \
                          them in Python with `cenote.ray.open`";
            return Err(Error::input(path, reason));
        }
        let access = if self.migration { Access::Move } else { Access::Read };
        for _ in 0..COMMIT_RETRIES {
            if let Some(graph) = self.read(path, Opening::new(path, access, &self.drives)?)? {
                return Ok(graph);
            }
            std::thread::sleep(COMMIT_RETRY_INTERVAL);
        }
        Err(Error::locked(
            path,
            "a writer changes the graph faster than it can be opened: try again",
        ))
    }

    /// Reads the graph; `None` if a writer has changed the map of its tiers so much meanwhile that
    /// they have to be opened again.
    fn read(&self, path: &Path, opening: Opening) -> Result<Option<Graph>> {
        let plan = |superblock: &_| match self.lookups {
            None => LookupConfig::default(),
            Some((memory_bytes, threads)) => {
                let free = memory_bytes.saturating_sub(opening.device.memory_bytes() as u64);
                lookups(superblock, &opening.profile, free, threads)
            }
        };
        let stored = read_steadily(opening.lock.as_deref(), || match &self.at {
            None => StoredGraph::open_with(Arc::clone(&opening.device), plan),
            Some(name) => StoredGraph::open_at(Arc::clone(&opening.device), name, plan),
        });
        // The map is refreshed after the slot was read, so it has all pages that this names. If
        // the graph could not be read before, its pages may have been unknown.
        let stored = match (opening.refresh()?, stored) {
            (Refreshed::Outdated, _) | (Refreshed::Grown, Err(_)) => return Ok(None),
            (_, stored) => stored?,
        };
        let Opening { profile, mut warnings, budgets, lock, .. } = opening;
        let file_identity = file_identity(path);
        let file_identity =
            file_identity.filter(|_| lock.as_ref().is_none_or(|lock| lock.is_of(path)));
        // What a writer is about to write is not cut off.
        let cut =
            stored.cut_flush_fault().filter(|_| !lock.as_ref().is_some_and(|l| l.has_writer()));
        if let Some(lock) = lock {
            lock.narrow(stored.superblock().epoch)?;
        }
        warnings.extend(stored.other_slot_fault().map(|fault| Warning::DamagedSlot {
            fault: fault.to_string(),
            epoch: stored.superblock().epoch,
        }));
        warnings.extend(cut.map(|fault| Warning::CutLog { fault: fault.found() }));
        let (path, stored, ids) = (path.to_owned(), Arc::new(stored), OnceLock::new());
        Ok(Some(Graph { path, file_identity, stored, ids, profile, warnings, budgets }))
    }
}

/// The device of a graph, before the graph is read: a file, or tiers.
pub(super) struct Opening {
    pub device: Arc<dyn Device>,
    pub profile: Profile,
    pub warnings: Vec<Warning>,
    pub budgets: Vec<Arc<IoBudget>>,
    /// The lock of the file or the map, held by the device: on all epochs until it is narrowed.
    pub lock: Option<Arc<ReaderLock>>,
}

impl Opening {
    pub fn new(path: &Path, access: Access, drives: &DriveOptions) -> Result<Self> {
        loop {
            let (lock, warning) = ReaderLock::take(path);
            let opened = match members::is_map(path) {
                true => Self::of_tiers(path, access, drives, lock.as_ref())?,
                false => Self::of_file(drives.open(path, true)?),
            };
            // An import may have replaced the graph between the lock and the device.
            if lock.as_ref().is_none_or(|lock| lock.is_of(path)) {
                return Ok(opened.with(lock, warning));
            }
        }
    }

    fn of_file(FileOnDrive { device, drive, budget }: FileOnDrive) -> Self {
        let warnings = drive.warning.into_iter().collect();
        Self { device, profile: drive.profile, warnings, budgets: vec![budget], lock: None }
    }

    fn of_tiers(
        path: &Path,
        access: Access,
        drives: &DriveOptions,
        lock: Option<&ReaderLock>,
    ) -> Result<Self> {
        let mut tries = 0;
        let graph = loop {
            match TieredGraph::open(path, access, drives) {
                // A writer may have changed the map, or begun a generation, while it was read.
                Err(Error::Corrupt(_) | Error::Device(_))
                    if tries == 0
                        || tries < COMMIT_RETRIES && lock.is_some_and(ReaderLock::has_writer) =>
                {
                    tries += 1;
                    std::thread::sleep(COMMIT_RETRY_INTERVAL);
                }
                opened => break opened?,
            }
        };
        let (profile, members) = (graph.profile().clone(), graph.members());
        let (warnings, budgets) = (members.warnings.clone(), members.budgets.clone());
        Ok(Self { device: Arc::new(graph), profile, warnings, budgets, lock: None })
    }

    fn with(mut self, lock: Option<ReaderLock>, warning: Option<Warning>) -> Self {
        self.warnings.extend(warning);
        self.lock = lock.map(Arc::new);
        if let Some(lock) = &self.lock {
            self.device = Arc::new(LockedDevice::new(self.device, Arc::clone(lock)));
        }
        self
    }

    /// Takes over what a writer has mapped to tiers since this was opened.
    pub fn refresh(&self) -> Result<Refreshed> {
        let tiers = TieredGraph::of_device(self.device.as_ref());
        tiers.map_or(Ok(Refreshed::Newest), TieredGraph::refresh)
    }
}

/// The number and the time of creation of a file; a copy has others. `None` where the system does
/// not know them, and for a drive.
fn file_identity(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let created = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    metadata.is_file().then(|| format!("{:x}-{:x}", metadata.ino(), created.as_nanos()))
}

/// Opens a graph, again where a writer replaced a superblock while it was read.
fn read_steadily(
    lock: Option<&ReaderLock>,
    open: impl Fn() -> cenote_store::Result<StoredGraph>,
) -> cenote_store::Result<StoredGraph> {
    for _ in 0..COMMIT_RETRIES {
        let opened = open();
        let is_torn = opened.as_ref().map_or(true, |graph| graph.other_slot_fault().is_some());
        if !is_torn || !lock.is_some_and(ReaderLock::has_writer) {
            return opened;
        }
        std::thread::sleep(COMMIT_RETRY_INTERVAL);
    }
    open()
}

/// The configuration for look-ups of `threads` threads within `free` bytes.
fn lookups(superblock: &Superblock, profile: &Profile, free: u64, threads: usize) -> LookupConfig {
    let page_bytes = superblock.page_bytes as usize;
    let free = free.saturating_sub(index_bytes(superblock));
    let frames = free / FRAMES_SHARE / Pool::frame_bytes(page_bytes);
    let reads = profile.model().channels(Op::Read, page_bytes as u64) as usize;
    let reads = reads.clamp(READS_MIN, READS_MAX).div_ceil(threads);
    let least = FRAMES_PER_READ * threads;
    let read_depth = reads.min(frames as usize / least).max(1);
    let config = LookupConfig::default().frames(frames.max(least as u64)).read_depth(read_depth);
    config.run_bytes(free / RUNS_SHARE)
}

/// About how many bytes the page indexes of a graph take in memory.
fn index_bytes(superblock: &Superblock) -> u64 {
    let indexes = [SectionKind::OutIndex, SectionKind::InIndex];
    let sections = indexes.into_iter().filter_map(|kind| superblock.section(kind));
    sections.map(|section| section.pages * u64::from(superblock.page_bytes)).sum()
}
