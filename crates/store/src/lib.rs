//! The on-disk format of graphs: writes, verifies, reads and changes them.
//!
//! - [`format`](mod@format): constants and kinds; [`header`]: page headers and checksums
//! - [`superblock`]: what a graph is and where its sections lie; `commit`: writes the next one
//! - `table`: the page table, from logical to physical pages
//! - [`page`]: verified views of adjacency pages
//! - [`packed`]: the packed codec: gaps of few bits
//! - [`index`]: the sparse page index in memory: from vertex to page and back
//! - [`graph`]: opens a stored graph and reads it; `lookup`: many lists in random order
//! - `log`: small batches of changes, durable before the lists have them; `delta`: reads lists with
//!   them
//! - [`store`]: transactions, commits, and readers of older epochs
//! - [`snapshot`](crate::Snapshot): states that are kept under a name
//! - [`update`]: changes in batches, each one commit
//! - `deleted`: vertices that are no longer there, whose numbers stay
//! - [`diff`]: what changed between two states
//! - [`hub_neighbours`]: for each vertex the three neighbours with the longest lists
//! - [`ids`]: the user's vertex ids
//! - [`order`]: orders of the vertices other than that of their ids
//! - [`values`]: values of vertices
//! - [`weights`]: edge weights, a column beside the lists
//! - [`writer`]: writes a graph in one pass
//! - [`edges`](mod@edges): iterates over all edges
//! - [`check`](mod@check): verifies every byte of a graph
//!
//! `FORMAT.md` beside this crate's sources describes the format byte by byte.

#[cfg(target_endian = "big")]
compile_error!("graph files are little-endian and read in place: big-endian hosts are not served");

pub mod check;
mod commit;
mod degrees;
mod deleted;
mod delta;
pub mod diff;
pub mod edges;
pub mod error;
pub mod format;
mod gallop;
pub mod graph;
pub mod header;
pub mod hub_neighbours;
pub mod ids;
pub mod index;
mod load;
mod log;
mod lookup;
pub mod order;
pub mod packed;
pub mod page;
mod pages;
mod ranges;
mod readers;
mod runs;
mod sink;
mod snapshot;
pub mod store;
mod stream;
pub mod superblock;
mod table;
mod unpacked;
pub mod update;
pub mod values;
pub mod weights;
mod words;
mod workers;
pub mod writer;

pub use check::{CheckReport, check, check_device, check_snapshot};
pub use delta::{EntryOrder, WeightPlace, WeightRun};
pub use diff::{DiffReport, for_each_change};
pub use error::{PageError, PageFault, Result, StoreError};
pub use format::Codec;
pub use graph::Graph;
pub use hub_neighbours::{HubNeighbours, HubNeighboursChoice, HubNeighboursSection, LengthClass};
pub use ids::{Id, IdColumn, IdRef, IdTable, Ids};
pub use index::Adjacency;
pub use lookup::{Choose, Chosen, ListsRead, Lookup};
pub use order::Order;
pub use packed::decode::Decoded;
pub use page::{List, Page};
pub use pages::LookupConfig;
pub use runs::{KeptRuns, RunReads, take_run_reads};
pub use snapshot::Snapshot;
pub use store::{PreparedMerge, Store, Transaction, WriteLimits};
pub use superblock::Superblock;
pub use table::PageRun;
pub use unpacked::UnpackedPages;
pub use update::watch::{UpdateProgress, Watch};
pub use update::{Answer, Batch, Change, Op, Updated};
pub use values::{Value, ValueType, for_each_changed_value};
pub use weights::{
    Weight, WeightColumn, WeightFormat, WeightNumber, WeightNumbers, WeightSummary, WeightType,
    Weights,
};
pub use writer::{Counts, GraphSpec, GraphWriter, IdsSource};

/// A vertex number: dense, `0..vertices`, in the ascending order of the user's ids unless the graph
/// was imported with another [`Order`].
pub type VertexId = u32;

/// A direction of edges. On an undirected graph both have the same lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Lists of targets: edges that leave a vertex.
    Out,
    /// Lists of sources: edges that enter a vertex.
    In,
}

impl Direction {
    /// The other one.
    pub fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}
