//! Graphs deeper than memory: import, open, run algorithms, export.
//!
#![doc = include_str!("../README.md")]
//!
//! # Contents
//!
//! - [`Graph`], [`OpenOptions`](graph::OpenOptions): a stored graph, one file or tiers
//! - [`Run`](run::Run), [`Answer`](run::Answer), [`algorithm`]: algorithms and their answers
//! - [`graph`]: look-ups, description, check, export
//! - [`Error`], [`Warning`]: errors, and conditions that a caller should know
//! - [`MemorySize`]: sizes such as `64MiB`
//! - [`output`], [`export`]: files of answers and of edges
//! - [`features`]: rows of numbers for vertices, in a file beside the graph
//! - [`report`]: reports to look at
//! - [`Import`], [`import`]: builds graph files from edges
//! - [`Components`], [`Degrees`], [`straight`]: components and degrees straight from edges, without
//!   a graph file
//! - [`tiers`]: a graph over several devices
//! - [`Update`], [`update`]: changes of a stored graph
//! - [`Compact`], [`compact`]: rewrites a graph that was changed
//! - [`shards`]: graphs in several files, for several machines

pub mod algorithm;
pub mod compact;
pub mod components;
pub mod degrees;
pub mod drive;
pub mod error;
pub mod export;
pub mod features;
pub mod graph;
pub mod import;
mod keys;
mod lock;
pub mod memory;
pub mod output;
pub mod report;
pub mod run;
pub mod shards;
pub mod straight;
pub mod tiers;
pub mod update;
mod watch;

pub use cenote_algo as algo;
pub use cenote_engine as engine;
pub use cenote_store::{Direction, Id, IdRef, Op, Value, ValueType, VertexId, Weight};
pub use compact::Compact;
pub use components::Components;
pub use degrees::Degrees;
pub use drive::Warning;
pub use engine::Strategy;
pub use error::{Error, Result};
pub use graph::Graph;
pub use import::Import;
pub use memory::MemorySize;
pub use output::{OutputFile, partial};
pub use update::Update;
