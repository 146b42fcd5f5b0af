//! Errors of the pool.

use cenote_device::DeviceError;

use crate::PageId;
use crate::check::Damage;

/// The result of a pool call.
pub type Result<T> = std::result::Result<T, PoolError>;

/// An error of the pool or of its device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The device below failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The page is beyond the end of the device.
    #[error("{device}: page {page} is behind the end: there are {pages} pages")]
    NoSuchPage {
        /// Name of the device.
        device: String,
        /// The page that was requested.
        page: PageId,
        /// Pages of the device.
        pages: u64,
    },
    /// The client's own check refused a page that was read.
    #[error("{device}: page {page} is damaged: {source}")]
    Damaged {
        /// Name of the device.
        device: String,
        /// The page.
        page: PageId,
        /// What the check found.
        source: Damage,
    },
    /// Every frame is pinned.
    #[error(
        "{device}: page {page} finds no room: all {frames} frames of the pool are pinned; \
         drop guards sooner or give the pool more memory"
    )]
    AllPinned {
        /// Name of the device.
        device: String,
        /// The page that was requested.
        page: PageId,
        /// Frames of the pool.
        frames: usize,
    },
    /// A page was latched by others for longer than the pool's timeout.
    #[error(
        "{device}: page {page} was held by another guard for {seconds} s; \
         does this thread hold it itself?"
    )]
    Held {
        /// Name of the device.
        device: String,
        /// The page.
        page: PageId,
        /// The timeout, [`patience_ms`](crate::PoolConfig::patience_ms).
        seconds: f64,
    },
    /// Dirty pages could not be written; they stay in memory, dirty.
    #[error(
        "{device}: {failed} of {tried} dirty pages could not be written and stay in memory \
         (first: page {page}: {source})"
    )]
    WriteBack {
        /// Name of the device.
        device: String,
        /// Pages that failed.
        failed: usize,
        /// Pages that were to be written.
        tried: usize,
        /// The first page that failed.
        page: PageId,
        /// Why it failed.
        source: DeviceError,
    },
    /// A sync or a bulk write failed earlier, so it is unknown which pages the device lost.
    #[error(
        "{device}: an earlier write or sync failed, so pages written before it may be lost; \
         open the file again and check it"
    )]
    Poisoned {
        /// Name of the device.
        device: String,
    },
    /// The configuration cannot work.
    #[error("buffer pool: {reason}")]
    Config {
        /// What is wrong and what would do.
        reason: String,
    },
}
