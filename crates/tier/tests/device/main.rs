//! Tiers as one device: against a single one, while blocks move, and when the power fails.

mod crash;
mod oracle;
mod support;
mod threads;
mod worker;
