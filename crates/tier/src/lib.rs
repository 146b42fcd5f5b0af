//! Shows several devices as one and moves pages between them.
//!
//! - [`spec`]: what a tier can do, and how much it holds
//! - [`placement`]: which page lies on which tier
//! - [`policy`]: which pages move, one file each
//! - [`device`]: the tiers as one device, with a map that outlives power cuts
//!
//! Tiers are numbered from 0, the fastest. A policy sees every access and returns moves;
//! the owner of the placement carries them out and notifies the policy. No part of this looks at a
//! clock: time is what the caller says.

pub mod device;
mod error;
pub mod placement;
pub mod policy;
pub mod spec;

pub use error::{Result, TierError};
