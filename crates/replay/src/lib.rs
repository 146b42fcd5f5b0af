//! Replays page loads through a buffer pool or storage tiers, to compare policies.
//!
//! - [`pool_replay`]: runs loads with each policy, writer and prefetcher of the pool; see [`pool`]
//! - [`tier_replay`]: runs loads with each migration policy, in virtual time; see [`tier`]
//! - [`load`]: the loads of both, generated or read from traces
//! - [`choice`]: lists of policies, writers and prefetchers by their names
//! - [`chart`]: results as data for plots
//! - [`report`]: results as tables and as reports to look at
//! - [`Control`]: progress and cancellation
//!
//! Nothing is printed. The field names of rows, serialized, are a contract.
//!
//! ```
//! use cenote_replay::{Control, PoolReplayConfig, pool_replay};
//! let mut config = PoolReplayConfig::new("sim:optane-p4800x");
//! config.loads = vec!["ms".parse()?];
//! config.load.pages = Some(2_000);
//! config.load.ops = Some(5_000);
//! let result = pool_replay(&config, Control::default())?;
//! let ace = result.rows.iter().find(|row| row.writer == "ace").ok_or("no such row")?;
//! assert!(ace.speedup > Some(1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod chart;
pub mod choice;
mod control;
mod error;
pub mod load;
pub mod pool;
pub mod report;
pub mod tier;

pub use control::{Control, Progress};
pub use error::{ReplayError, Result};
pub use pool::{PoolReplay, PoolReplayConfig, pool_replay};
pub use tier::{TierReplay, TierReplayConfig, tier_replay};
