//! The stored graph: round trips, damage, commits, fixtures.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod beside;
mod commits;
mod damage;
mod damaged_weights;
mod devices;
mod diff;
mod fixtures;
mod free_space;
#[path = "../graphs/mod.rs"]
mod graphs;
mod live;
mod log;
mod lookups;
mod overhead;
mod part;
mod repeats;
mod roundtrip;
mod run_reads;
mod runs;
mod sections;
mod snapshots;
mod threads;
mod unpacked;
mod update_weights;
mod updates;
mod values;
mod vertices;
