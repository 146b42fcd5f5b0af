//! `--tier NAME=DIR[:CAPACITY]`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use cenote_tier::device::header::{NAME_BYTES_MAX, SetHeader, TierHeader};
use cenote_tier::spec::TIERS_MAX;

use crate::memory::{MemorySize, size};

const EXPECTED: &str = "expected NAME=DIR or NAME=DIR:CAPACITY, such as fast=/nvme:20GiB";

/// One tier as the user describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierArg {
    /// What reports call it.
    pub name: String,
    /// Where its file goes.
    pub folder: PathBuf,
    /// Bytes of its file at most; none for what is free there.
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
        // A folder may have colons in its name.
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

/// Whether the tiers can make a graph together.
pub fn check(tiers: &[TierArg]) -> Result<()> {
    ensure!(
        (2..=TIERS_MAX).contains(&tiers.len()),
        "--tier: {} given, a graph has none or 2 to {TIERS_MAX}",
        tiers.len()
    );
    for (at, tier) in tiers.iter().enumerate() {
        ensure!(
            !tiers[..at].iter().any(|other| other.name == tier.name),
            "--tier {}: two tiers cannot have the same name",
            tier.name
        );
        ensure!(tier.folder.is_dir(), "--tier {}: no such folder", tier.folder.display());
    }
    Ok(())
}

/// Whether blocks may have so many bytes.
pub fn can_be_block(bytes: u32) -> bool {
    bytes.is_power_of_two() && (4 << 10..=1 << 20).contains(&bytes)
}

impl TierArg {
    /// Bytes that its file may have: as it says, or what is free now.
    pub fn bytes(&self) -> Result<u64> {
        let free = free_bytes(&self.folder)?;
        let Some(bytes) = self.capacity_bytes else { return Ok(free) };
        ensure!(
            bytes <= free,
            "--tier {}={}: only {} are free there, not {}",
            self.name,
            self.folder.display(),
            size(free),
            size(bytes)
        );
        Ok(bytes)
    }

    /// The folder, from the root on.
    pub fn folder(&self) -> Result<PathBuf> {
        self.folder.canonicalize().with_context(|| self.folder.display().to_string())
    }
}

/// Bytes that a user may take in a folder.
fn free_bytes(folder: &Path) -> Result<u64> {
    let space = rustix::fs::statvfs(folder)
        .with_context(|| format!("cannot tell what is free in {}", folder.display()))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// What a set calls a tier: its name and its file.
pub fn member_name(name: &str, file: &Path) -> Result<String> {
    let file = file
        .to_str()
        .with_context(|| format!("{}: the path of a tier has to be UTF-8", file.display()))?;
    let name = format!("{name}={file}");
    ensure!(
        name.len() <= NAME_BYTES_MAX,
        "{file}: the path of a tier is too long: with its name it may have {NAME_BYTES_MAX} bytes"
    );
    Ok(name)
}

/// The same back, for the tiers of a set: names and files, from the fastest.
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
