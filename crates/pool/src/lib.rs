//! A buffer pool (ACE): caches pages, evicts them, writes dirty pages back in batches, and
//! prefetches pages.
//!
//! - [`Pool`]: frames over a device, and the order of latches
//! - [`Handle`]: a thread's access to a pool: [`Handle::pin`], [`Handle::pin_mut`],
//!   [`Handle::submit`]
//! - [`policy`]: replacement policies, each a virtual order of eviction
//! - [`Writer`]: which dirty pages are written back when: the victim alone, a background
//!   [`Cleaner`], or ACE
//! - [`prefetch`]: TaP and the history table
//! - [`scan`]: planned passes that do not replace the pool's pages
//! - [`load`]: large reads into the frames, ahead of their use
//! - [`append`]: bulk writes past the frames
//! - [`check`]: checksums of pages
//!
//! ACE, the asymmetry- and concurrency-aware buffer pool (dissertation, chapter 4): when the
//! victim is dirty, the next n_w dirty pages of the virtual order are written at once. On a device
//! that does k_w writes in the time of one, n_w = k_w, the other writes are free, and the next
//! victims are clean.
//!
//! ```
//! use cenote_device::backend::file::{self, OpenOptions};
//! use cenote_device::profile::Profile;
//! use cenote_pool::{Pool, PoolConfig};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("file");
//! # std::fs::write(&path, [7; 64 << 12])?;
//! let device = file::open(&path, &OpenOptions::default())?;
//! let pool = Pool::new(device, PoolConfig::ace(4096, 16, &Profile::assumed().model()))?;
//! let handle = pool.handle(); // one for each thread
//! for page in 0..64 {
//!     handle.pin_mut(page)?[0] = page as u8;
//! }
//! assert_eq!(handle.pin(3)?[..2], [3, 7]);
//! handle.sync()?; // everything changed before is on stable storage
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod append;
pub mod check;
mod cleaner;
mod config;
mod error;
mod frame;
mod guard;
mod handle;
pub mod load;
pub mod policy;
mod pool;
pub mod prefetch;
pub mod scan;
mod stats;
mod sync;
mod table;
mod transfer;

pub use cleaner::{Cleaner, CleanerThread};
pub use config::{PoolConfig, Writer};
pub use error::{PoolError, Result};
pub use guard::{PageMut, PageRef};
pub use handle::{Handle, PageVersion, RECORDS_MAX};
pub use pool::Pool;
pub use stats::PoolStats;

/// Number of a page: its offset on the device divided by the page size.
pub type PageId = u64;
