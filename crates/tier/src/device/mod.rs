//! Several devices as one: [`TieredDevice`] is a [`Device`](cenote_device::Device) whose blocks lie
//! on any of its tiers and move between them while they are used.
//!
//! - [`TieredDevice`]: creates and opens a set of tiers; reads, writes, syncs; `set`: what all
//!   parts of one share
//! - [`Migrator`]: moves blocks; [`Worker`], `labour`: a thread that does so as a policy says;
//!   [`Rebalance`]: everything at once
//! - [`header`]: what makes a file a member of a set
//! - `map`, `entry`: where each block lies, in memory; `slots`, `alloc`: which places are free
//! - `journal`, `recover`, `layout`, `page`, `io`: the same on stable storage
//! - `grace`: when nobody reads a place any more
//! - `split`, `queue`, `buffers`: one request over several tiers
//! - `state`: what a policy's worker keeps from one run to the next
//!
//! # Map
//! The device is an array of *blocks* of fixed size. A block lies in a *slot* of one tier: tier
//! and slot are the map's entry. A block that nobody wrote has no slot and reads as zeros. Where
//! the slowest tier is large enough each block has its own slot there, so neighbours that were
//! never moved, or came back, are neighbours on the drive, and one request reads them; a small gap
//! in such a row is read through, because that costs less than a second request.
//!
//! # What is on stable storage
//! The *map file* holds two copies of the map and a journal behind each, which is written twice.
//! Epoch n is copy n mod 2 and its journal: when the journal is full, copy n + 1 is written, synced,
//! and then its head. Epoch n + 1 is exactly epoch n with its whole journal, so a damaged copy can
//! be made up for.
//! A page of the journal carries a checksum with the set's id, epoch and number, and tells how many
//! pages before it were synced when it was written: the first page that verifies in neither place
//! is the torn end, or damage if a later one says that it was stable.
//!
//! # A move
//! copy -> sync the target -> journal -> sync the journal -> switch the entry -> wait until nobody
//! reads the old slot -> free it. At any moment the map on stable storage names one whole copy. A
//! write to a block that is being copied goes to the old slot and cancels the move: the user never
//! waits for a copy. While the journal is synced, writes to these blocks wait. If the journal
//! fails then, nobody knows which entry a restart will find: the blocks of that batch can be read
//! until then (both copies are equal) and no longer written, and no block moves any more.
//!
//! # New blocks
//! A write to a block without a slot takes one at once, on the fastest tier with room; the map on
//! stable storage hears of it at the next sync, after the data. A slot that was used before is
//! zeroed first: the write may fail. Shrinking is committed before its slots are free.
//!
//! # A sync that failed
//! Linux tells of lost writes once. If a migration's sync hears of it, the user's next sync must
//! fail too: so every later sync of a tier whose sync failed does.

mod alloc;
mod buffers;
mod entry;
mod error;
mod generation;
mod grace;
pub mod header;
mod io;
mod journal;
mod labour;
mod layout;
mod map;
mod migrate;
mod page;
mod queue;
mod rebalance;
mod recover;
mod set;
mod slots;
mod split;
mod state;
mod tiered;
mod worker;

pub use error::{Result, TieredError};
pub use header::{Role, SetHeader, SetId, TierHeader};
pub use migrate::{Migrator, Outcome};
pub use page::checksum;
pub use rebalance::{Progress, Rebalance};
pub use set::{SetConfig, TierPart};
pub use tiered::{TierUse, TieredDevice};
pub use worker::{Worker, WorkerConfig, WorkerReport};
