//! Errors of a set of tiers on stable storage.

use cenote_device::{DeviceError, IoFault};
use thiserror::Error;

// Values of errno.
pub(super) const EIO: i32 = 5;
pub(super) const ENOMEM: i32 = 12;
pub(super) const EBUSY: i32 = 16;
pub(super) const ENOSPC: i32 = 28;

/// The result of an operation on a set of tiers.
pub type Result<T> = std::result::Result<T, TieredError>;

/// Why a set of tiers cannot be created, opened or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TieredError {
    /// One of the devices failed.
    #[error(transparent)]
    Device(#[from] DeviceError),

    /// A file that is not the expected member of the set.
    #[error("{file}: {reason}")]
    Member {
        /// Which file.
        file: String,
        /// What it is instead, and what to do.
        reason: String,
    },

    /// The map is damaged.
    #[error("{file}: the map of the tiers is damaged: {reason}")]
    Damaged {
        /// Which file.
        file: String,
        /// Where and how.
        reason: String,
    },

    /// A tier and the map are copies of different times.
    #[error(
        "{older} is an older copy (generation {older_generation}) than {newer} (generation \
         {newer_generation}): put back all files of the graph as they were at one time"
    )]
    Stale {
        /// The file that is older.
        older: String,
        /// Its generation.
        older_generation: u32,
        /// The file that is newer.
        newer: String,
        /// Its generation.
        newer_generation: u32,
    },

    /// Tiers that cannot be.
    #[error("tiers: {0}")]
    Options(String),

    /// The journal failed before: what a restart finds is not known.
    #[error("{file}: the journal of the tiers failed before; open the graph anew")]
    Frozen {
        /// The map file.
        file: String,
    },

    /// A saved state of a policy that cannot be used.
    #[error("the policy's state that was kept: {reason}")]
    State {
        /// What is wrong with it.
        reason: String,
    },

    /// A tier's sync failed before: what was written to it may be lost.
    #[error("{file}: a sync failed before; what was written since the last good one may be lost")]
    SyncFailed {
        /// The tier.
        file: String,
    },
}

impl TieredError {
    /// As the fault of a request.
    pub(super) fn fault(&self) -> IoFault {
        match self {
            Self::Device(error) => error.fault(),
            _ => IoFault { errno: EIO },
        }
    }

    /// As the error of a device, for callers that know nothing of tiers.
    pub(super) fn into_device(self, device: String, action: &'static str) -> DeviceError {
        match self {
            Self::Device(error) => error,
            other => DeviceError::File {
                device,
                action,
                source: std::io::Error::other(other.to_string()),
            },
        }
    }
}
