//! The buffer pool on devices that fail, lose power, or answer out of order.

#![cfg(not(feature = "model"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod faults;
mod hits;
mod loads;
mod power_cut;
mod queue_faults;
mod scans;
mod stress;
#[path = "../support/mod.rs"]
mod support;
