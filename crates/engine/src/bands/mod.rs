//! Vertex state that does not fit in memory: in a file without a name, in bands of vertices.
//!
//! An algorithm keeps one *band* of consecutive vertices in memory at a time and streams the rest,
//! as GridGraph (USENIX ATC 2015) streams its chunks of vertices, Mosaic (EuroSys 2017) its tiles
//! and Graphene (FAST 2017) its lists. State and updates lie in one [`StateFile`]:
//!
//! - [`StateFile`]: arrays that are read and written in large requests, and mapped at the end
//! - [`Blocks`]: data that workers append in any order, in blocks that are read back by all of them
//! - [`Messages`]: changes of vertices that are not in memory, by the band of their target
//! - [`Outbox`]: their senders, in a run of many small visits
//! - [`StateArray`]: the answer of a run, in memory or in a mapped file
//!
//! The file has no name from its creation on: whatever ends the process, the system removes it.

mod array;
mod blocks;
mod counts;
mod messages;
mod outbox;
mod state_file;

pub use array::StateArray;
pub use blocks::{BlockRef, BlockWriter, Blocks};
pub(crate) use counts::StateCounts;
pub use counts::StateTotals;
pub use messages::{Messages, Sender};
pub use outbox::Outbox;
pub use state_file::{STATE_ALIGN_BYTES, SealedState, StateFile};
