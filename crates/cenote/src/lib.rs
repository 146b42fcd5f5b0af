//! Graphs deeper than memory: import, open, run algorithms, export.
//!
//! - [`export`]: writes the edges of a graph out again

pub mod export;
