//! The use of each tier of a graph, and the error when there is no room on any.

use std::io;
use std::path::Path;

use cenote_device::profile::Profile;
use cenote_store::StoreError;
use cenote_tier::device::TierUse;
use cenote_tier::device::header::TierHeader;
use cenote_tier::spec::TierSpec;
use serde::Serialize;

use super::members::Members;
use super::spec::{free_bytes, named_file};
use crate::error::{Error, Result};
use crate::memory::size;

/// The system's error when a device is full.
const ENOSPC: i32 = 28;

/// One tier of a graph.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TierStatus {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// Bytes of the graph in it.
    pub used_bytes: u64,
    /// Its capacity in bytes.
    pub capacity_bytes: u64,
    /// Blocks of the graph in it.
    pub blocks: u64,
    /// Time to read a block, by its drive's profile, in microseconds.
    pub read_us: f64,
    /// The cost of a write in reads.
    pub alpha: f64,
    /// Read concurrency of its drive.
    pub k_r: u32,
    /// Write concurrency of its drive.
    pub k_w: u32,
    /// Whether its drive has no measured profile.
    pub profile_assumed: bool,
}

/// All tiers of a graph, from the fastest.
///
/// # Errors
/// A drive's profile cannot describe a tier.
pub fn tiers(members: &Members) -> Result<Vec<TierStatus>> {
    let header = members.device.header();
    let block_bytes = u64::from(header.block_bytes);
    let uses = members.device.tiers().into_iter().zip(&header.tiers);
    let known = members.speeds()?.into_iter().zip(&members.profiles);
    let status =
        |((used, tier), (speed, profile)): ((TierUse, &TierHeader), (TierSpec, &Profile))| {
            TierStatus {
                name: named_file(tier).0.to_owned(),
                file: used.file,
                used_bytes: used.blocks * block_bytes,
                capacity_bytes: (used.slots - used.spare) * block_bytes,
                blocks: used.blocks,
                read_us: speed.read_ns as f64 / 1e3,
                alpha: speed.alpha(),
                k_r: speed.k_r,
                k_w: speed.k_w,
                profile_assumed: profile.assumed,
            }
        };
    Ok(uses.zip(known).map(status).collect())
}

/// The error of a change of the graph `path`. If there was no room for new pages, it names the
/// tiers and what is left of each.
pub(crate) fn failed(path: &Path, members: &Members, error: StoreError) -> Error {
    let is_full = |error: &StoreError| match error {
        StoreError::Device(error) => error.fault().errno == ENOSPC,
        _ => false,
    };
    if !is_full(&error) {
        return error.into();
    }
    let tiers: Vec<String> = (members.device.tiers().iter().zip(&members.device.header().tiers))
        .map(|(tier, header)| room(tier, header, members.device.header().block_bytes))
        .collect();
    let context = format!(
        "{}: no room for the new pages on its tiers ({}): the graph is as it was; for more \
         room, export it and import it again",
        path.display(),
        tiers.join(", ")
    );
    Error::Io { context, source: io::Error::from_raw_os_error(ENOSPC) }
}

/// What is left of one tier, and of its drive if that is less.
fn room(tier: &TierUse, header: &TierHeader, block_bytes: u32) -> String {
    let (name, file) = named_file(header);
    let bytes = |slots: u64| slots * u64::from(block_bytes);
    let slots = tier.slots - tier.spare;
    let left = bytes(slots.saturating_sub(tier.blocks));
    let free = file.parent().and_then(|folder| free_bytes(folder).ok());
    let drive = match free.filter(|free| *free < left) {
        Some(free) => format!(", of which its drive has {} free", size(free)),
        None => String::new(),
    };
    format!("{name} has {} left of {}{drive}", size(left), size(bytes(slots)))
}
