//! Several devices as one: [`TieredDevice`] is a [`Device`](cenote_device::Device) whose blocks lie
//! on any of its tiers and move between them while they are used.
//!
//! - [`TieredDevice`]: creates and opens a set of tiers; reads, writes, syncs; `set`: what queues
//!   and migrations share
//! - [`Migrator`]: moves blocks; [`Worker`], `migration_loop`, `worker_policy`: a thread that moves
//!   blocks as a policy decides; [`Rebalance`]: moves all blocks at once
//! - [`header`]: what makes a file a member of a set; `generation`: which copies of the members
//!   belong together
//! - `map`, `entry`: where each block lies, in memory; `slots`: which slots are free
//! - `journal`, `recover`, `layout`, `page`, `io`: the map on stable storage
//! - `reclaim`: when a slot has no readers any more
//! - `split`, `queue`, `buffers`: one request over several tiers
//! - `state`: what the worker of a policy saves from one run for the next
//!
//! # Map
//! The device is an array of *blocks* of fixed size. A block lies in a *slot* of one tier: tier
//! and slot are the map's entry. A block that was never written has no slot and reads as zeros.
//! Where the slowest tier is large enough each block has its own slot there, so neighbours that
//! were never moved, or came back, are neighbours on the drive, and one request reads them; a small
//! gap between two such rows is read through, because that costs less than a second request.
//!
//! # What is on stable storage
//! The *map file* holds two copies of the map, each with a header page and a journal, which is
//! written twice. Epoch n is copy n mod 2 and its journal: when the journal is full, copy n + 1 is
//! written and synced, then its header page. Epoch n + 1 is exactly epoch n with its whole journal,
//! so a damaged copy can be rebuilt from the other one.
//! A page of the journal carries a checksum with the set's id, epoch and number, and says how many
//! pages before it were synced when it was written: the first page that verifies in neither place
//! is the torn end, or damage if a later page says that it was stable.
//!
//! # A move
//! Copy, sync the target, write the journal, sync the journal, switch the entry, wait for the
//! readers of the old slot, free it. At any moment the map on stable storage names one whole copy.
//! A write to a block that is being copied goes to the old slot and cancels the move: users never
//! wait for a copy. While the journal is synced, writes to these blocks wait. If the journal fails
//! then, it is unknown which entry a restart will find: until then the blocks of that batch can be
//! read (both copies are equal) but not written, and no block moves any more.
//!
//! # New blocks
//! A write to a block without a slot takes one at once, on the fastest tier with room; the map on
//! stable storage records it at the next sync, after the data. A slot that was used before is
//! zeroed first, because the write may fail. A smaller length is committed before its slots are
//! free.
//!
//! # A sync that failed
//! Linux reports lost writes once. If a migration's sync gets that report, the user's next sync
//! must fail too: so every later sync of a tier whose sync failed does.

mod buffers;
mod entry;
mod error;
mod generation;
pub mod header;
mod io;
mod journal;
mod layout;
mod map;
mod migrate;
mod migration_loop;
mod page;
mod queue;
mod rebalance;
mod reclaim;
mod recover;
mod set;
mod slots;
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
pub use set::{SetConfig, TierPart};
pub use tiered::{TierUse, TieredDevice};
pub use worker::{Worker, WorkerReport};
pub use worker_policy::WorkerConfig;
