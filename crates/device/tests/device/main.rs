//! One suite over every backend, and the faults of each.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod budget;
mod faults;
mod memory;
mod property;
mod refused;
mod sim;
mod suite;
mod support;
mod timing_only;
mod waiting;
