//! Import against a naive oracle, in every format, with every way of failing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arrow;
mod data;
mod errors;
mod faults;
mod formats;
mod hostile;
mod memory;
mod oracle;
mod orders;
mod parquet;
mod properties;
mod weights;
