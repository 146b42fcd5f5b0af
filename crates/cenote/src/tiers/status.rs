//! The use of each tier of a graph.

use cenote_device::profile::Profile;
use cenote_tier::device::TierUse;
use cenote_tier::device::header::TierHeader;
use cenote_tier::spec::TierSpec;
use serde::Serialize;

use super::members::Members;
use super::spec::named_file;
use crate::error::Result;

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
