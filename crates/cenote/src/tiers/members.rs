//! The files of a graph over tiers: finds, locks and opens them.

use std::fs::{File, Metadata, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cenote_device::Op;
use cenote_device::backend::file;
use cenote_device::model::DeviceModel;
use cenote_device::profile::Profile;
use cenote_device::wrapper::IoBudget;
use cenote_tier::device::header::{MAGIC, Role, SetHeader};
use cenote_tier::device::{TieredDevice, TieredError};
use cenote_tier::spec::TierSpec;

use super::spec::named_files;
use crate::drive::{Drive, DriveOptions, FileOnDrive, Warning};
use crate::error::{Error, Result};

/// A reader waits up to a second for a process that moves pages.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(50);
const LOCK_RETRIES: u32 = 20;

/// The reason of [`Error::Locked`] while pages move.
const IS_MOVING: &str = "another process is moving the graph's pages, or another open graph of \
    this one: wait until that ends, or open it there without `migration`";

/// How a graph is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its pages are read and not moved. Others may also read.
    Read,
    /// Pages are written, and blocks stay where they are. Others may also read; the caller has the
    /// lock of the graph's writer.
    Write,
    /// Blocks are moved, too. No other process may access the graph meanwhile.
    Move,
}

/// The open tiers of a graph.
#[derive(Debug)]
pub struct Members {
    /// The tiers as one device.
    pub device: TieredDevice,
    /// The access: only reads if the files cannot be written or are in use.
    pub access: Access,
    /// The profile of each tier, from the fastest.
    pub profiles: Vec<Profile>,
    /// What is missing or wrong with the profiles.
    pub warnings: Vec<Warning>,
    /// The I/O budget of each tier's drive.
    pub budgets: Vec<Arc<IoBudget>>,
    /// The locked map.
    pub lock: Arc<File>,
}

/// Whether a file is the map of a graph over tiers.
pub fn is_map(path: &Path) -> bool {
    // Opening a pipe would block; other faults are reported when the graph is opened.
    if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut start = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MAGIC
}

/// Refuses a graph in one file.
pub fn require_map(path: &Path) -> Result<()> {
    // A file that cannot be opened is reported when the graph is opened.
    if is_map(path) || File::open(path).is_err() {
        return Ok(());
    }
    Err(Error::input(path, "no graph over tiers: `cenote import --tier` makes one"))
}

impl Members {
    /// Opens all members of the graph `path`. Requests to a tier share the budget of its drive.
    pub fn open(path: &Path, access: Access, options: &DriveOptions) -> Result<Self> {
        let (file, access) = lock(path, access)?;
        let members = Self::open_with(path, file, access, options)?;
        // An import may have replaced the graph between the lock and the reads.
        if !members.is_here(path) {
            return Err(Error::locked(
                path,
                "the graph was replaced while it was opened: try again",
            ));
        }
        Ok(members)
    }

    /// Whether `path` still names this graph: an import may replace it while it is in use.
    pub fn is_here(&self, path: &Path) -> bool {
        is_same(&self.lock, path)
    }

    fn open_with(path: &Path, lock: File, access: Access, options: &DriveOptions) -> Result<Self> {
        match Self::open_locked(path, access, options) {
            Err(error) if access == Access::Move && is_refusal(&error) => {
                tracing::warn!("{error}: the graph is read, and no page of it moves");
                let device = Self::open_locked(path, Access::Read, options)?;
                Ok(device.with(lock, Access::Read))
            }
            opened => Ok(opened?.with(lock, access)),
        }
    }

    fn open_locked(path: &Path, access: Access, options: &DriveOptions) -> Result<Opened> {
        let read_only = access == Access::Read;
        let map = file::open(path, &options.files(read_only))?;
        let header = TieredDevice::describe(map.as_ref())?;
        let (mut devices, mut drives, mut budgets) = (Vec::new(), Vec::new(), Vec::new());
        for (name, file) in named_files(&header) {
            let found = find(path, name, file)?;
            let FileOnDrive { device, drive, budget } = options.open(&found, read_only)?;
            devices.push(device);
            budgets.push(budget);
            drives.push(drive);
        }
        let device = TieredDevice::open(map, devices)?;
        for (tier, drive) in (0..).zip(&drives) {
            device.set_gap_bytes(tier, gap_bytes(&drive.profile.model()));
        }
        Ok(Opened { device, drives, budgets })
    }

    /// The performance of the tiers for requests of one block.
    pub fn speeds(&self) -> Result<Vec<TierSpec>> {
        let block_bytes = u64::from(self.device.header().block_bytes);
        let speed = |model| Ok(TierSpec::of_model(&model, block_bytes)?);
        self.models().into_iter().map(speed).collect()
    }

    /// The performance of the tiers' drives for requests of any size.
    pub fn models(&self) -> Vec<DeviceModel> {
        self.profiles.iter().map(Profile::model).collect()
    }
}

struct Opened {
    device: TieredDevice,
    drives: Vec<Drive>,
    budgets: Vec<Arc<IoBudget>>,
}

impl Opened {
    fn with(self, lock: File, access: Access) -> Members {
        let warnings = self.drives.iter().filter_map(|drive| drive.warning.clone()).collect();
        let profiles = self.drives.into_iter().map(|drive| drive.profile).collect();
        let (device, budgets, lock) = (self.device, self.budgets, Arc::new(lock));
        Members { device, profiles, warnings, budgets, access, lock }
    }
}

/// Whether a path names an open file.
pub fn is_same(file: &File, path: &Path) -> bool {
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(named)) => identity(open) == identity(named),
        _ => false,
    }
}

/// Locks the map: exclusively to move pages, shared to read or write.
fn lock(path: &Path, access: Access) -> Result<(File, Access)> {
    let file = File::open(path).map_err(Error::io(format!("cannot open {}", path.display())))?;
    let cannot = Error::io(format!("cannot lock {}", path.display()));
    if access == Access::Move {
        match file.try_lock() {
            Ok(()) => return Ok((file, Access::Move)),
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
            Err(TryLockError::WouldBlock) => {}
        }
    }
    match lock_shared(&file) {
        Ok(()) if access == Access::Move => {
            tracing::warn!(
                "{}: others are reading or changing the graph: no page of it moves in this run",
                path.display()
            );
        }
        Ok(()) => {}
        Err(TryLockError::Error(error)) => return Err(cannot(error)),
        Err(TryLockError::WouldBlock) => {
            return Err(Error::locked(path, IS_MOVING));
        }
    }
    Ok((file, if access == Access::Write { Access::Write } else { Access::Read }))
}

/// Takes a shared lock; waits a second at most for a process that moves pages.
fn lock_shared(file: &File) -> Result<(), TryLockError> {
    for _ in 0..LOCK_RETRIES {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
            done => return done,
        }
    }
    file.try_lock_shared()
}

/// Whether an error means that a file is read-only.
fn is_refusal(error: &Error) -> bool {
    let refused = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    matches!(error, Error::Io { source, .. } if refused.contains(&source.kind()))
}

/// The path itself, or the target of a link.
pub fn behind_link(path: &Path) -> PathBuf {
    let behind = path.is_symlink().then(|| path.canonicalize().ok()).flatten();
    behind.unwrap_or_else(|| path.to_owned())
}

/// The file of a tier: where it was created, or beside the graph.
fn find(graph: &Path, name: &str, file: &Path) -> Result<PathBuf> {
    if file.exists() {
        return Ok(file.to_owned());
    }
    let beside = behind_link(graph).with_file_name(file.file_name().unwrap_or_default());
    if beside.is_file() {
        return Ok(beside);
    }
    let file = file.display();
    let reason =
        format!("its tier {name} is missing: bring {file} back, or put it beside the graph");
    Err(Error::input(graph, reason))
}

/// Bytes moved in the time of one more request: gaps of up to this size are read.
fn gap_bytes(model: &DeviceModel) -> u64 {
    const SMALL: u64 = 4096;
    const LARGE: u64 = 256 << 10;
    let rate = |bytes| model.iops(Op::Read, bytes, model.channels(Op::Read, bytes));
    let seconds_per_byte = (1.0 / rate(LARGE) - 1.0 / rate(SMALL)) / (LARGE - SMALL) as f64;
    let gap = (1.0 / rate(SMALL) / seconds_per_byte.max(1e-15)) as u64;
    gap.saturating_sub(SMALL).min(1 << 20) / SMALL * SMALL
}

/// The existing files of the tiers of a graph that an import replaces. None for a graph in one file
/// or no graph. None for a link, which is replaced without the graph behind it.
pub fn files_of_replaced(graph: &Path) -> Result<Vec<PathBuf>> {
    if graph.is_symlink() || !is_map(graph) {
        return Ok(Vec::new());
    }
    let map = file::open(graph, &file::OpenOptions::reading())?;
    let header = match TieredDevice::describe(map.as_ref()) {
        Ok(header) => header,
        // A damaged graph may be replaced.
        Err(error) => {
            tracing::warn!("{error}: the files of its tiers stay where they are");
            return Ok(Vec::new());
        }
    };
    let mut files = Vec::new();
    for (tier, (name, file)) in named_files(&header).into_iter().enumerate() {
        let Ok(found) = find(graph, name, file) else { continue };
        // By now the file may belong to another graph.
        if is_member(&found, &header, tier) {
            files.push(found);
        }
    }
    Ok(files)
}

pub(super) fn is_member(path: &Path, header: &SetHeader, tier: usize) -> bool {
    header_of(path)
        .is_ok_and(|(found, role)| found.id == header.id && role == Role::Tier(tier as u8))
}

/// Whether a file is a tier of a graph, which would be lost with it. A link is none.
pub fn is_tier(path: &Path) -> bool {
    let is_tier = || header_of(path).is_ok_and(|(_, role)| matches!(role, Role::Tier(_)));
    !path.is_symlink() && is_map(path) && is_tier()
}

fn header_of(path: &Path) -> Result<(SetHeader, Role), TieredError> {
    let device = file::open(path, &file::OpenOptions::reading())?;
    SetHeader::read(device.as_ref())
}
