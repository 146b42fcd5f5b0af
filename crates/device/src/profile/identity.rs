//! Identifies the device under a path.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{DeviceError, Result};

/// A device's identity: the same for every path on it and, if the drive has a serial number, after
/// a reboot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// Name of the profile's file: letters, digits, `-`, `_` and `.` only.
    pub key: String,
    /// The block device's name, such as `nvme0n1`; `None` for file systems without one.
    pub name: Option<String>,
    /// Model, if the drive reports one.
    pub model: Option<String>,
    /// Serial number or world-wide name, if the drive reports one.
    pub serial: Option<String>,
    /// Bytes of the whole drive.
    pub bytes: Option<u64>,
    /// The partition, if the path lies on one. Partitions of a drive share its profile.
    pub partition: Option<String>,
    /// True for a spinning disk, as the kernel sees it (virtual drives often claim to be one).
    pub rotational: Option<bool>,
    /// Type of the file system that the path lies on.
    pub filesystem: Option<String>,
}

impl Identity {
    /// The identity of a simulated or assumed device: only a name.
    pub fn named(name: &str) -> Self {
        Self { key: clean(name), ..Self::default() }
    }

    /// The device of a file, a directory or a raw block device. A path that does not exist yet is
    /// on the device of its nearest existing parent.
    pub fn of_path(path: &Path) -> Result<Self> {
        let existing = existing(path);
        let metadata = fs::metadata(&existing);
        let metadata = metadata.map_err(DeviceError::file(existing.display(), "examine"))?;
        if metadata.file_type().is_block_device() {
            return Ok(of_block(metadata.rdev()).unwrap_or_else(|| bare(metadata.rdev())));
        }
        let mount = Mount::of(&existing, metadata.dev());
        // btrfs, overlay and others report an anonymous number; the mount may name the device.
        let source = mount.as_ref().and_then(|m| fs::metadata(&m.source).ok());
        let source = source.filter(|s| s.file_type().is_block_device()).map(|s| s.rdev());
        let mut identity = of_block(metadata.dev())
            .or_else(|| source.and_then(of_block))
            .unwrap_or_else(|| of_filesystem(&existing, mount.as_ref(), metadata.dev()));
        identity.filesystem = mount.map(|m| m.kind);
        Ok(identity)
    }
}

/// The path itself or its nearest existing parent.
fn existing(path: &Path) -> PathBuf {
    let mut path = path;
    while !path.exists() {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => path = parent,
            Some(_) => return PathBuf::from("."),
            None => break,
        }
    }
    path.to_owned()
}

/// Identity by the device's entry in sysfs; partitions lead to their drive.
fn of_block(device: u64) -> Option<Identity> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let entry = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let is_partition = entry.join("partition").exists();
    let drive = if is_partition { entry.parent()?.to_owned() } else { entry.clone() };
    let file_name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let name = file_name(&drive)?;
    let serials = ["wwid", "device/wwid", "device/serial", "serial", "dm/uuid", "md/uuid"];
    let sectors = attribute(&drive, "size").and_then(|s| s.parse::<u64>().ok());
    let mut identity = Identity {
        key: String::new(),
        model: attribute(&drive, "device/model").or_else(|| attribute(&drive, "dm/name")),
        serial: serials.iter().find_map(|file| attribute(&drive, file)),
        bytes: sectors.map(|s| s * 512),
        partition: if is_partition { file_name(&entry) } else { None },
        rotational: attribute(&drive, "queue/rotational").map(|r| r == "1"),
        filesystem: None,
        name: Some(name.clone()),
    };
    // Virtual drives report no model and share a serial number, so the name is added.
    let name = match (&identity.model, &identity.serial) {
        (Some(model), Some(serial)) => format!("{model}-{serial}"),
        (_, serial) => {
            let serial = serial.as_deref().unwrap_or("");
            format!("{name}-{serial}-{}", identity.bytes.unwrap_or(0))
        }
    };
    identity.key = clean(&name);
    Some(identity)
}

/// Identity of a file system without a block device: by its id where it has one.
fn of_filesystem(path: &Path, mount: Option<&Mount>, device: u64) -> Identity {
    let kind = mount.map_or("filesystem", |m| m.kind.as_str());
    let fsid = rustix::fs::statvfs(path).map_or(0, |s| s.f_fsid);
    let id = match (fsid, mount) {
        // tmpfs and overlay may have no id, so the mount point is used.
        (0, Some(mount)) => mount.target.display().to_string(),
        (0, None) => device.to_string(),
        (id, _) => format!("{id:x}"),
    };
    Identity { key: clean(&format!("{kind}-{id}")), ..Identity::default() }
}

/// A block device that is missing in sysfs: only its number is known.
fn bare(device: u64) -> Identity {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Identity::named(&format!("block-{major}-{minor}"))
}

fn attribute(drive: &Path, file: &str) -> Option<String> {
    let text = fs::read_to_string(drive.join(file)).ok()?;
    let text = text.trim();
    if text.is_empty() { None } else { Some(text.to_owned()) }
}

/// Replaces what a file name should not contain by `-`.
fn clean(text: &str) -> String {
    let mut key = String::new();
    for c in text.chars() {
        let c = if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '-' };
        if !(c == '-' && (key.is_empty() || key.ends_with('-'))) {
            key.push(c);
        }
    }
    let key: String = key.trim_matches(['-', '.']).chars().take(120).collect();
    if key.is_empty() { "device".to_owned() } else { key }
}

/// The mount that a path lies on.
struct Mount {
    source: PathBuf,
    target: PathBuf,
    kind: String,
}

impl Mount {
    fn of(path: &Path, device: u64) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
        Self::find(&table, &path, device)
    }

    /// The deepest mount point above `path`; among mounts on one point the last one, unless only
    /// an earlier one has the device's number.
    fn find(table: &str, path: &Path, device: u64) -> Option<Self> {
        let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let mut best: BTreeMap<(usize, bool, usize), Self> = BTreeMap::new();
        for (line_number, line) in table.lines().enumerate() {
            let (head, tail) = line.split_once(" - ")?;
            let (head, tail): (Vec<_>, Vec<_>) =
                (head.split(' ').collect(), tail.split(' ').collect());
            let (Some(target), [kind, source, ..]) = (head.get(4), tail.as_slice()) else {
                continue;
            };
            let target = PathBuf::from(unescape(target));
            if path.starts_with(&target) {
                let key = (
                    target.components().count(),
                    head.get(2) == Some(&number.as_str()),
                    line_number,
                );
                let source = PathBuf::from(unescape(source));
                best.insert(key, Self { source, target, kind: (*kind).to_owned() });
            }
        }
        best.pop_last().map(|(_, mount)| mount)
    }
}

/// Undoes the octal escapes of mountinfo.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_on_a_file_system_has_one_identity() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a file");
        fs::write(&file, "x").unwrap();
        let identity = Identity::of_path(dir.path()).unwrap();
        assert_eq!(Identity::of_path(&file).unwrap(), identity);
        assert_eq!(Identity::of_path(&dir.path().join("not/yet/there")).unwrap(), identity);
        assert!(!identity.key.is_empty());
        assert!(identity.key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)));
        assert!(identity.filesystem.is_some());
    }

    #[test]
    fn a_relative_path_that_is_missing_belongs_to_the_working_directory() {
        let here = Identity::of_path(Path::new(".")).unwrap();
        assert_eq!(Identity::of_path(Path::new("missing-file")).unwrap(), here);
    }

    #[test]
    fn keys_never_leave_the_directory() {
        assert_eq!(clean("../../etc/passwd"), "etc-passwd");
        assert_eq!(clean("QEMU HARDDISK  #1 "), "QEMU-HARDDISK-1");
        assert_eq!(clean("///"), "device");
        assert_eq!(clean(&"x".repeat(999)).len(), 120);
    }

    #[test]
    fn the_deepest_and_latest_mount_wins() {
        let table = "\
            1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
            2 1 0:40 / /data rw - btrfs /dev/sdb rw\n\
            3 1 0:41 / /with\\040space rw - tmpfs none rw\n\
            4 1 0:42 / /data rw - overlay over rw\n";
        let find = |path: &str| Mount::find(table, Path::new(path), 0).unwrap().kind;
        assert_eq!(find("/data/graph"), "overlay");
        assert_eq!(find("/database"), "ext4");
        assert_eq!(find("/with space/x"), "tmpfs");
        let hidden = Mount::find(table, Path::new("/data/x"), rustix::fs::makedev(0, 40)).unwrap();
        assert_eq!((hidden.kind.as_str(), hidden.source.to_str()), ("btrfs", Some("/dev/sdb")));
    }
}
