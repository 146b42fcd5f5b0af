//! Profiles of paths: with a scratch file in a directory, or by reading a file or device.

use std::fs::{self, File, OpenOptions as StdOpenOptions};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::calm::Watch;
use super::cell::Bench;
use super::config::ProfileConfig;
use super::data::{Conditions, Profile};
use super::identity::Identity;
use super::sweep::{Progress, ProgressFn, interrupted, profile};
use crate::Device;
use crate::backend::file::{self, OpenOptions};
use crate::error::{DeviceError, Result};
use crate::op::Op;

/// Default size of the scratch file: larger than the cache of most drives.
pub const SCRATCH_BYTES: u64 = 1 << 30;

/// Least size of a scratch file.
const SCRATCH_BYTES_MIN: u64 = 64 << 20;

/// Size and depth of the requests that fill the scratch file.
const FILL_BYTES: u64 = 1 << 20;
const FILL_DEPTH: u32 = 16;

/// Seconds that a quick profile spends on filling its scratch file.
const FILL_SECONDS_QUICK: f64 = 4.0;

/// Profiles the device under `path`.
///
/// In a directory it creates a scratch file of `scratch_bytes` without a name, which vanishes when
/// the process ends. The file is preallocated and written in full before it is read; a quick
/// profile uses what it can write in 4 seconds. A raw block device or a file is only read: nothing
/// is ever written outside a scratch file.
pub fn profile_path(
    path: &Path,
    config: &ProfileConfig,
    scratch_bytes: Option<u64>,
    progress: ProgressFn<'_>,
) -> Result<Profile> {
    let identity = Identity::of_path(path)?;
    let metadata = fs::metadata(path).map_err(DeviceError::file(path.display(), "examine"))?;
    let mut profile = if metadata.is_dir() {
        in_directory(path, &identity, config, scratch_bytes, progress)?
    } else if scratch_bytes.is_some() {
        let reason = "a scratch file needs a directory: nothing is written to a device or to an \
                      existing file; give a directory on it, or leave the scratch size out";
        return Err(DeviceError::profile(path.display(), reason));
    } else {
        let is_block_device = metadata.file_type().is_block_device();
        reads_only(path, &identity, config, is_block_device, progress)?
    };
    profile.device = identity.key.clone();
    describe_filesystem(path, &identity, &mut profile.conditions);
    profile.identity = identity;
    Ok(profile)
}

fn in_directory(
    directory: &Path,
    identity: &Identity,
    config: &ProfileConfig,
    scratch_bytes: Option<u64>,
    progress: ProgressFn<'_>,
) -> Result<Profile> {
    let mut notes = Vec::new();
    let bytes = fitting(directory, scratch_bytes, &mut notes)?;
    let file = unnamed_file(directory)?;
    preallocate(&file, bytes, directory, &mut notes)?;
    let name = format!("scratch file in {}", directory.display());
    let device = file::from_file(file, &name, &OpenOptions::default())?;
    let written = fill(&*device, bytes, config, progress)?;
    if written < bytes {
        notes.push(format!("the scratch file was cut to {} MiB to save time", written >> 20));
    }
    if device.block_bytes() == 1 {
        notes.push("the file system refuses direct I/O: the page cache was measured".into());
    }
    let mut profile = watched(&*device, 0..written, identity, config, progress)?;
    profile.conditions.scratch = true;
    profile.conditions.notes.append(&mut notes);
    Ok(profile)
}

fn reads_only(
    path: &Path,
    identity: &Identity,
    config: &ProfileConfig,
    is_block_device: bool,
    progress: ProgressFn<'_>,
) -> Result<Profile> {
    let device: Arc<dyn Device> = file::open(path, &OpenOptions::reading())?;
    let bytes = device.len_bytes()?;
    let config = ProfileConfig { ops: vec![Op::Read], ..config.clone() };
    let mut profile = watched(&*device, 0..bytes, identity, &config, progress)?;
    let what = if is_block_device { "a raw device" } else { "an existing file" };
    profile.conditions.notes.push(format!(
        "{what} is only read; blocks that were never written may answer faster than data"
    ));
    Ok(profile)
}

/// Measures, and records what others did meanwhile on the drive and on the processors.
fn watched(
    device: &dyn Device,
    region: Range<u64>,
    identity: &Identity,
    config: &ProfileConfig,
    progress: ProgressFn<'_>,
) -> Result<Profile> {
    let watch = Watch::start(identity.name.as_deref());
    let mut profile = profile(device, region, config, progress)?;
    let calm = watch.finish(profile.conditions.bytes_moved, profile.spread(None));
    profile.conditions.calm = Some(calm);
    Ok(profile)
}

/// The scratch size: the given or default one, at most half of the free space. A given size that is
/// larger is an error.
fn fitting(directory: &Path, given: Option<u64>, notes: &mut Vec<String>) -> Result<u64> {
    let wanted = given.unwrap_or(SCRATCH_BYTES);
    let space = rustix::fs::statvfs(directory)
        .map_err(|e| DeviceError::file(directory.display(), "size")(e.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let bytes = wanted.min(free / 2) / FILL_BYTES * FILL_BYTES;
    if wanted < FILL_BYTES {
        let reason =
            format!("a scratch file of {wanted} bytes is too small: it has at least 1 MiB");
        return Err(DeviceError::profile(directory.display(), reason));
    }
    if bytes < SCRATCH_BYTES_MIN.min(wanted) || bytes == 0 {
        let reason = format!(
            "{} MiB are free, and a scratch file takes at least {} MiB and half of them: free \
             some space or give another directory",
            free >> 20,
            SCRATCH_BYTES_MIN.min(wanted).max(FILL_BYTES) >> 20,
        );
        return Err(DeviceError::profile(directory.display(), reason));
    }
    if given.is_some_and(|given| given > free / 2) {
        let reason = format!(
            "a scratch file of {} MiB is more than half of the {} MiB that are free: give a \
             smaller scratch size or another directory",
            wanted >> 20,
            free >> 20
        );
        return Err(DeviceError::profile(directory.display(), reason));
    }
    if given.is_none() && bytes < wanted {
        notes.push(format!("the scratch file took {} MiB: half of the free space", bytes >> 20));
    }
    Ok(bytes)
}

/// A file that no directory names.
fn unnamed_file(directory: &Path) -> Result<File> {
    let mut options = StdOpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o600);
    match options.open(directory) {
        Err(e)
            if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) =>
        {
            named_and_unlinked(directory)
        }
        opened => opened.map_err(DeviceError::file(directory.display(), "make a scratch file in")),
    }
}

/// For file systems without unnamed files.
fn named_and_unlinked(directory: &Path) -> Result<File> {
    let path = directory.join(format!(".cenote-scratch-{}", std::process::id()));
    let mut options = StdOpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path).map_err(DeviceError::file(path.display(), "make"))?;
    fs::remove_file(&path).map_err(DeviceError::file(path.display(), "unlink"))?;
    Ok(file)
}

/// Reserves the blocks, so that a full disk is found before measuring.
fn preallocate(file: &File, bytes: u64, directory: &Path, notes: &mut Vec<String>) -> Result<()> {
    match rustix::fs::fallocate(file.as_fd(), rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP) => {
            notes.push("the file system cannot preallocate".into());
            file.set_len(bytes)
                .map_err(DeviceError::file(directory.display(), "resize a scratch file in"))
        }
        Err(refusal) => Err(DeviceError::file(
            directory.display(),
            "preallocate a scratch file in",
        )(refusal.into())),
    }
}

/// Writes the scratch file: reads of reserved blocks would not reach the drive.
fn fill(
    device: &dyn Device,
    bytes: u64,
    config: &ProfileConfig,
    progress: ProgressFn<'_>,
) -> Result<u64> {
    let mut bench = Bench::open(device, 0..bytes, FILL_DEPTH, FILL_BYTES, config.seed)?;
    let now_ns = device.clock().now_ns();
    let until_ns = match config.quick {
        true => now_ns + (FILL_SECONDS_QUICK * 1e9) as u64,
        false => u64::MAX,
    };
    let mut report = |done: u64| {
        let step = "writing the scratch file".to_owned();
        match progress(&Progress { done: done >> 20, total: bytes >> 20, step }) {
            true => Ok(()),
            false => Err(interrupted(device.name())),
        }
    };
    let written = bench.fill(0..bytes, SCRATCH_BYTES_MIN.min(bytes), until_ns, &mut report)?;
    device.sync()?;
    Ok(written)
}

fn describe_filesystem(path: &Path, identity: &Identity, conditions: &mut Conditions) {
    conditions.filesystem.clone_from(&identity.filesystem);
    if identity.filesystem.is_none() {
        return;
    }
    if let Ok(space) = rustix::fs::statvfs(path) {
        conditions.filesystem_bytes = Some(space.f_blocks.saturating_mul(space.f_frsize));
        let used = space.f_blocks.saturating_sub(space.f_bfree) as f64;
        conditions.filesystem_used_share = Some(used / (space.f_blocks as f64).max(1.0));
    }
}
