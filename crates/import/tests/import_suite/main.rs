//! Imports in every format and with every kind of failure, compared with a naive oracle.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arrow;
mod budgets;
mod columns;
mod data;
mod errors;
mod faults;
mod formats;
mod hostile;
mod hostile_parquet;
mod memory;
mod oracle;
mod orders;
mod parquet;
mod properties;
mod vertices;
mod weights;
