//! Tiered storage: several devices as one, and policies that move pages between them.
//!
//! - [`spec`]: latency, asymmetry and concurrency of a tier
//! - [`placement`]: the tier of each page
//! - [`policy`]: which pages move, one file each
//! - [`device`]: the tiers as one device, with a durable map
//!
//! Tiers are numbered from 0, the fastest. A policy sees every access and returns moves; the owner
//! of the placement carries them out and notifies the policy. The caller passes in the time.

pub mod device;
mod error;
pub mod placement;
pub mod policy;
pub mod spec;

pub use error::{Result, TierError};
