//! A graph over several devices: its pages lie on tiers and move between them while it is used.
//!
//! - [`spec`]: what `--tier` says
//! - [`members`]: the files that make up such a graph, found and locked
//! - [`kept`]: what a policy has learned, from run to run
//! - [`graph`]: the device under a run, with the thread that moves blocks
//! - [`workspace`]: where an import puts one
//!
//! The graph file holds the map of blocks to tiers; each tier is a file of its own in the folder
//! that `--tier` named; `GRAPH.policy` beside the graph file holds what the policy has learned.

pub mod graph;
pub mod kept;
pub mod members;
pub mod spec;
pub mod workspace;
