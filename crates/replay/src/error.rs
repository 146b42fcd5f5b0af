//! Errors of replays.

use std::io;
use std::path::{Path, PathBuf};

use cenote_device::DeviceError;
use cenote_pool::PoolError;
use cenote_tier::TierError;
use cenote_workload::WorkloadError;

/// The result of a replay.
pub type Result<T> = std::result::Result<T, ReplayError>;

/// Why a replay failed. Messages name parameters in backticks, as in the configs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Invalid parameters.
    #[error("{0}")]
    Config(String),
    /// A replay of one combination failed.
    #[error("{what}: {source}")]
    Combination {
        /// Load, policy, writer and prefetcher.
        what: String,
        /// The reason.
        source: Box<ReplayError>,
    },
    /// A file could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The system refused a thread.
    #[error("cannot start {threads} threads: {source}: give fewer `threads`")]
    Threads {
        /// Threads that were to run.
        threads: usize,
        /// What the system says.
        source: io::Error,
    },
    /// The caller cancelled it.
    #[error("interrupted")]
    Cancelled,
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The pool failed.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Tiers or a policy refused their parameters.
    #[error(transparent)]
    Tier(#[from] TierError),
    /// A load or a trace is not usable.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

/// Checks a parameter; `reason` names the problem, the value and the expected values.
pub(crate) fn require(holds: bool, reason: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(ReplayError::Config(reason())) }
}

pub(crate) fn file_error(
    path: &std::path::Path,
    action: &'static str,
) -> impl FnOnce(io::Error) -> ReplayError {
    let path = path.to_owned();
    move |source| ReplayError::File { path, action, source }
}

impl ReplayError {
    /// The file that could not be used or read.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Combination { source, .. } => source.path(),
            Self::File { path, .. } | Self::Workload(WorkloadError::Read { path, .. }) => {
                Some(path)
            }
            _ => None,
        }
    }
}
