//! A graph over several devices: its blocks lie on tiers and move between them.
//!
//! - [`spec`]: parses `--tier`
//! - [`members`]: the files of such a graph: finds, locks and opens them
//! - [`kept`]: the saved state of a policy
//! - [`graph`]: the device of the graph, with the thread that moves blocks
//! - [`status`]: the use of each tier
//! - [`workspace`]: the files of an import
//!
//! The graph file holds the map of blocks to tiers; each tier is a file in the folder given by
//! `--tier`; `GRAPH.policy` beside the graph file holds the state of the policy.

pub mod graph;
pub mod kept;
pub mod members;
pub mod spec;
pub mod status;
pub mod workspace;
