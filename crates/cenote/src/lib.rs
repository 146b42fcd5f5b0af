//! Graphs deeper than memory: import, open, run algorithms, export.
//!
//! - [`export`]: writes the edges of a graph out again
//! - [`Import`], [`import`]: builds graph files from edges
//! - [`tiers`]: a graph over several devices
//! - [`drive`]: what the users of a drive share
//! - [`memory`]: sizes as people write them: `64MiB`, `1GB`, `10%`
//! - [`partial`]: a file that appears under its name only when it is whole

pub mod drive;
pub mod export;
pub mod import;
pub mod memory;
pub mod partial;
pub mod tiers;

pub use import::Import;
