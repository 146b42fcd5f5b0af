//! The library as its users call it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod arrow;
mod beside;
mod compact;
mod export;
mod export_and_import;
mod features;
#[path = "../../../store/tests/graphs/mod.rs"]
mod graphs;
mod import;
mod library;
mod own_numbers;
mod replaced;
mod sample;
mod shard_runs;
mod shards;
mod since;
mod snapshots;
mod subgraph;
mod tiers;
mod update;
mod update_memory;
mod vertices;
mod visit;
