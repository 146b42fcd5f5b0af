//! Parses `--tier NAME=DIR[:CAPACITY]`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use cenote_tier::device::header::{NAME_BYTES_MAX, SetHeader, TierHeader};
use cenote_tier::spec::TIERS_MAX;

use crate::error::{Error, Result};
use crate::memory::{MemorySize, size};

const EXPECTED: &str = "expected NAME=DIR or NAME=DIR:CAPACITY, such as fast=/nvme:20GiB";

/// One tier as given by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierArg {
    /// Its name in reports.
    pub name: String,
    /// The folder of its file.
    pub folder: PathBuf,
    /// The most bytes of its file; none for all free space.
    pub capacity_bytes: Option<u64>,
}

impl FromStr for TierArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, place) = text.split_once('=').ok_or(EXPECTED)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || name.len() > 32 || !name.chars().all(is_plain) {
            return Err(format!("a tier's name has 1 to 32 letters, digits, - or _: {EXPECTED}"));
        }
        // A folder's name may contain colons.
        let (folder, capacity) = match place.rsplit_once(':') {
            Some((folder, capacity)) if !capacity.contains('/') => (folder, Some(capacity)),
            _ => (place, None),
        };
        if folder.is_empty() {
            return Err(EXPECTED.to_owned());
        }
        let capacity_bytes = match capacity.map(str::parse) {
            None => None,
            Some(Ok(MemorySize::Bytes(bytes))) => Some(bytes),
            Some(Ok(MemorySize::Percent(_))) => {
                return Err(format!("a capacity is in bytes: {EXPECTED}"));
            }
            Some(Err(reason)) => return Err(reason),
        };
        Ok(Self { name: name.to_owned(), folder: folder.into(), capacity_bytes })
    }
}

/// Checks that the tiers can form a graph.
pub fn check(tiers: &[TierArg]) -> Result<()> {
    let wrong = |reason| Err(Error::parameter("tier", reason));
    if !(2..=TIERS_MAX).contains(&tiers.len()) {
        return wrong(format!(
            "is given {} times: a graph has none or 2 to {TIERS_MAX}",
            tiers.len()
        ));
    }
    for (at, tier) in tiers.iter().enumerate() {
        if tiers[..at].iter().any(|other| other.name == tier.name) {
            return wrong(format!("{}: two tiers cannot have the same name", tier.name));
        }
        if !tier.folder.is_dir() {
            return wrong(format!("{}: no such folder", tier.folder.display()));
        }
    }
    Ok(())
}

/// Whether a block may have this size.
pub fn can_be_block(bytes: u32) -> bool {
    bytes.is_power_of_two() && (4 << 10..=1 << 20).contains(&bytes)
}

impl TierArg {
    /// The most bytes of its file: as given, or all free space.
    pub fn bytes(&self) -> Result<u64> {
        let free = free_bytes(&self.folder)?;
        let Some(bytes) = self.capacity_bytes else { return Ok(free) };
        if bytes <= free {
            return Ok(bytes);
        }
        let (name, folder) = (&self.name, self.folder.display());
        let reason =
            format!("{name}={folder}: only {} are free there, not {}", size(free), size(bytes));
        Err(Error::parameter("tier", reason))
    }

    /// The absolute path of the folder.
    pub fn folder(&self) -> Result<PathBuf> {
        self.folder.canonicalize().map_err(Error::io(self.folder.display().to_string()))
    }
}

/// Free bytes of a folder.
pub(super) fn free_bytes(folder: &Path) -> Result<u64> {
    let cannot = Error::io(format!("cannot find what is free in {}", folder.display()));
    let space = rustix::fs::statvfs(folder).map_err(|error| cannot(error.into()))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// The name of a tier in its set: its name and its file.
pub fn member_name(name: &str, file: &Path) -> Result<String> {
    let wrong = |reason| Err(Error::input(file, reason));
    let Some(path) = file.to_str() else {
        return wrong("the path of a tier has to be UTF-8".to_owned());
    };
    let name = format!("{name}={path}");
    if name.len() > NAME_BYTES_MAX {
        return wrong(format!(
            "the path of a tier is too long: with its name it may have {NAME_BYTES_MAX} bytes"
        ));
    }
    Ok(name)
}

/// Names and files of the tiers of a set, from the fastest; the inverse of [`member_name`].
pub fn named_files(header: &SetHeader) -> Vec<(&str, &Path)> {
    header.tiers.iter().map(named_file).collect()
}

/// The name of one tier, and its file.
pub fn named_file(tier: &TierHeader) -> (&str, &Path) {
    let (name, file) = tier.name.split_once('=').unwrap_or((&tier.name, ""));
    (name, Path::new(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_read_as_people_write_them() {
        let tier = |text: &str| text.parse::<TierArg>();
        let made = |name: &str, folder: &str, capacity_bytes| TierArg {
            name: name.into(),
            folder: folder.into(),
            capacity_bytes,
        };
        assert_eq!(tier("fast=/nvme:20GiB"), Ok(made("fast", "/nvme", Some(20 << 30))));
        assert_eq!(tier("slow=."), Ok(made("slow", ".", None)));
        assert_eq!(tier("a=/x:y/z"), Ok(made("a", "/x:y/z", None)));
        assert_eq!(tier("a=/x:y:1k"), Ok(made("a", "/x:y", Some(1024))));
        for wrong in ["", "fast", "=dir", "a b=dir", "fast=", "fast=dir:10%", "fast=dir:much"] {
            assert!(tier(wrong).is_err(), "{wrong} was taken");
        }
    }

    #[test]
    fn tiers_have_names_of_their_own_and_folders_that_exist() {
        let made = |text: &str| text.parse::<TierArg>().unwrap();
        assert!(check(&[made("a=/"), made("b=/")]).is_ok());
        assert!(check(&[made("a=/")]).is_err());
        assert!(check(&[made("a=/"), made("a=/")]).is_err());
        assert!(check(&[made("a=/"), made("b=/no such folder")]).is_err());
    }
}
