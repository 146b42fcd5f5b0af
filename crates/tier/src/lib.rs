//! Shows several devices as one and moves pages between them.
//!
//! - [`spec`]: what a tier can do, and how much it holds
//! - [`placement`]: which page lies on which tier
//! - [`policy`]: which pages move, one file each
//! - [`device`]: the tiers as one device, with a map that outlives power cuts
//! - [`replay`]: the tiers in virtual time: what a policy is worth
//!
//! Tiers are numbered from 0, the fastest. A policy sees every access and returns moves;
//! the owner of the placement carries them out and notifies the policy. No part of this looks at a
//! clock: time is what the caller says.
//!
//! ```
//! use cenote_tier::placement::Placement;
//! use cenote_tier::policy::{Context, PolicySpec};
//! use cenote_tier::replay::{Arrivals, Replay, Request};
//! use cenote_tier::spec::TierSpec;
//! let tiers = TierSpec::text();
//! let placement = Placement::shuffled(1_000, &[30, 80, 1_000], 1)?;
//! let spec: PolicySpec = "tlru".parse()?;
//! let context = Context { tiers: &tiers, placement: &placement, seed: 1, oracle: None };
//! let policy = spec.build(&context)?;
//! let mut replay = Replay::new(&tiers, placement, policy, Arrivals::Closed { clients: 8 })?;
//! for i in 0..10_000u32 {
//!     replay.push(Request { page: i * i % 50, write: i % 2 == 0 })?;
//! }
//! let report = replay.finish();
//! assert!(report.runtime_ns > 0 && report.ops == 10_000);
//! # Ok::<(), cenote_tier::TierError>(())
//! ```

pub mod device;
mod error;
pub mod placement;
pub mod policy;
pub mod replay;
pub mod spec;

pub use error::{Result, TierError};
