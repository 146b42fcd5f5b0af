//! Several devices as one: [`TieredDevice`] is a [`Device`](cenote_device::Device) whose blocks lie
//! on any of its tiers and move between them while they are used.
//!
//! - [`TieredDevice`]: creates and opens a set of tiers; reads, writes, syncs; `set`: the state
//!   that queues and migrations share
//! - [`Migrator`]: moves blocks; [`Worker`], `migration_loop`, `worker_policy`: a thread that moves
//!   blocks by a policy; [`Rebalance`]: moves all blocks at once
//! - [`header`]: identifies the files of a set; `generation`: detects stale copies of them
//! - `map`, `entry`: the place of each block, in memory; `slots`: the free slots
//! - `journal`, `recover`, `layout`, `page`, `io`: the map on stable storage
//! - `reclaim`: frees slots that have no readers any more
//! - `split`, `queue`, `buffers`: one request over several tiers
//! - `recorded`: what queues pass on to the worker
//! - `speeds`: how fast the tiers are, as requests show it
//! - `state`: the worker's state that is saved between runs
//!
//! # Map
//! The device is an array of *blocks* of fixed size. A block lies in a *slot* of one tier: tier
//! and slot are the map's entry. A block that was never written has no slot and reads as zeros.
//! If the slowest tier is large enough, each block has its own slot there, so neighbours that were
//! never moved, or came back, are neighbours on the drive, and one request reads them. A small gap
//! between two such runs is read through, because that costs less than a second request.
//!
//! # Stable storage
//! The *map file* holds two copies of the map, each with a header page and a journal, which is
//! written twice. Epoch n is copy n mod 2 and its journal: when the journal is full, copy n + 1 is
//! written and synced, then its header page. Epoch n + 1 is exactly epoch n with its whole journal,
//! so a damaged copy can be rebuilt from the other one.
//! A page of the journal has a checksum with the set's id, epoch and number, and the number of
//! pages that were synced when it was written. The first page that verifies in neither journal is
//! the torn end, or damage if a later page counts it as synced.
//!
//! # Moves
//! Copy, sync the target, write the journal, sync the journal, switch the entry, wait for the
//! readers of the old slot, free it. At any moment the map on stable storage names one whole copy.
//! A write to a block that is being copied goes to the old slot and cancels the move, so users
//! never wait for a copy. While the journal is synced, writes to these blocks wait. If that fails,
//! it is unknown which entry a restart will find: until then the blocks of that batch can be read
//! (both copies are equal) but not written, and no block moves.
//!
//! # New blocks
//! A write to a block without a slot takes one at once, on the fastest tier with room; the next
//! sync records it in the map on stable storage, after the data. A slot that was used before is
//! zeroed first, because the write may fail. A truncation is committed before its slots are freed.
//!
//! # Commits of the store above, beside moves
//! The store writes pages, syncs, writes its slot, syncs. A sync here is: take the list of new
//! blocks, sync the tiers that were written, journal these blocks. What keeps both orders true:
//! - A slot names a page: its write had completed before the first sync, so its block is in the
//!   list or in the journal already, and its tier is marked as written.
//! - A write and a move of one block: the write cancels the copy, or waits until the journal has
//!   the new place and then goes there. So no switch hides bytes that a sync has acknowledged.
//! - A new block in a slot that a move freed: the slot was freed after the sync of the journal with
//!   that move, so no map on stable storage has both blocks there.
//! - Two syncs at once: the journal's lock covers a sync as a whole. The second one waits, so a
//!   tier that the first one has taken as its own to sync is synced when the second returns.
//! - A process that was killed may have left unsynced bytes, which the next one reads: all tiers
//!   count as written when a set is opened, and the first change syncs the map file first.
//!
//! # Failed syncs
//! Linux reports lost writes only once, perhaps to a migration's sync. So after a failed sync of a
//! tier every later sync of it fails too.

mod buffers;
mod entry;
mod error;
mod generation;
pub mod header;
mod io;
mod journal;
mod layout;
mod lock;
mod map;
mod migrate;
mod migration_loop;
mod page;
mod queue;
mod rebalance;
mod reclaim;
mod recorded;
mod recover;
mod set;
mod slots;
mod speeds;
mod split;
mod state;
mod tiered;
mod worker;
mod worker_policy;

pub use error::{Result, TieredError};
pub use header::{Role, SetHeader, SetId, TierHeader};
pub use migrate::{Migrator, Outcome};
pub use page::checksum;
pub use rebalance::{Progress, Rebalance};
pub use set::{Refreshed, SetConfig, TierPart};
pub use tiered::{TierUse, TieredDevice};
pub use worker::{Worker, WorkerReport};
pub use worker_policy::WorkerConfig;
