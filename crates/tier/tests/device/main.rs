//! Tiers as one device: against a single one, while blocks move, and when the power fails.

#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod crash;
mod damage;
mod eio;
mod files;
mod format;
mod members;
mod oracle;
mod races;
mod refresh;
mod stress;
mod support;
mod threads;
mod worker;
