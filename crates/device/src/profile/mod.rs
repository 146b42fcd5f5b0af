//! Measures devices into [`Profile`]s, and stores them.
//!
//! - [`profile`]: sweeps request sizes and depths on any [`Device`](crate::Device)
//! - [`profile_path`]: the same on a path, with a scratch file
//! - [`Profile`]: the measurements as data; the contract of `cenote profile --json`
//! - [`Calm`]: how calm drive and machine were meanwhile
//! - [`Identity`]: identifies the device under any path
//! - [`ProfileStore`]: saves profiles and finds them by the identity of a device

mod calm;
mod cell;
mod config;
mod data;
mod identity;
mod scratch;
mod store;
mod sweep;

pub use calm::Calm;
pub use config::ProfileConfig;
pub use data::{
    Conditions, CurveProfile, DEPTHS, PROFILE_VERSION, Pattern, Profile, ProfilePoint, SIZES,
    SizeProfile,
};
pub use identity::Identity;
pub use scratch::{SCRATCH_BYTES, profile_path};
pub use store::{ProfileStore, Saved};
pub use sweep::{Progress, ProgressFn, profile};

#[cfg(test)]
mod tests;
