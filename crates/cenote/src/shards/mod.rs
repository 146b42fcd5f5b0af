//! Sharded graphs: ranges of vertices, an ordinary graph file each, in one folder.
//!
//! - [`Sharding`]: cuts a graph into shards and writes their folder
//! - [`Manifest`], [`ShardEntry`]: what the folder holds
//! - [`check`]: verifies all of it
//! - [`OpenShard`]: a shard's part in an algorithm over all of them: [`ShardAlgorithm`],
//!   [`ShardRun`]
//! - `numbers`: the numbers of vertices across shards; `rows`: the edges of a range; `hubs`: hub
//!   neighbours
//!
//! Across shards a vertex has a *number*: its place among the ids of the graph in ascending order,
//! deleted vertices left out. A smaller number is a smaller id, so algorithms that break ties by
//! ids can break them by numbers. A shard *owns* a range of numbers and has the lists of these
//! vertices. The ids of its graph file are numbers, so its own vertices are a run of the file's
//! vertices. The other ends of its edges, which other shards own, are in it as vertices without
//! full lists: its *boundary*. Those of one owner are a run as well. That is all that an exchange
//! of values between shards needs to know: no table from one to the other is stored.
//!
//! A shard is a directed graph: for an undirected graph its out-lists are the lists of its own
//! vertices. If a directed graph has in-edges, so have its shards. The format of the folder is in
//! `docs/shards.md`.

mod check;
mod hubs;
mod ids;
mod manifest;
mod numbers;
mod open;
mod rows;
mod write;

pub use self::check::{ShardFault, ShardsReport, check};
pub use self::manifest::{MANIFEST, Manifest, ShardEntry};
pub use self::open::OpenShard;
pub use self::write::{Sharding, ShardsWritten, check_output};
pub use cenote_algo::shards::{Message, Part, Received, ShardAlgorithm, ShardRun, Step, Values};
