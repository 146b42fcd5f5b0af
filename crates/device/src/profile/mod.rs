//! Measures a device into a [`Profile`], keeps it, and finds it again.
//!
//! - [`Profile`]: what was measured, as data; the contract of `cenote profile --json`
//! - [`Identity`]: tells one device from another, whatever path leads to it

mod data;
mod identity;

pub use data::{
    Conditions, CurveProfile, DEPTHS, PROFILE_VERSION, Pattern, Profile, ProfilePoint, SIZES,
    SizeProfile,
};
pub use identity::Identity;
