//! Puts a graph on disk and keeps it whole.
//!
//! - [`format`](mod@format): constants and kinds; [`header`]: the header of a page, its checksum
//! - [`superblock`]: what the graph is and where everything lies; `commit`: how it becomes another
//! - `table`: where each logical page lies on the device
//! - [`page`]: a verified view of an adjacency page; every page read from the device passes here
//! - [`packed`]: the packed codec: gaps of few bits
//! - [`index`]: the sparse page index in memory: from vertex to page and back
//! - [`graph`]: opens a stored graph and reads it; `lookup`: many lists at random
//! - [`store`]: changes, commits, and readers of the epochs before
//! - [`hub_neighbours`]: of each vertex the three neighbours with the longest lists
//! - [`ids`]: the user's own vertex ids
//! - [`order`]: vertices in another order than that of their ids
//! - [`weights`]: weights of edges, a column beside the lists
//! - [`writer`]: writes a graph in one pass; its packer puts lists into pages, in vertex order
//! - [`edges`](mod@edges): every edge once
//! - [`check`](mod@check): verifies every byte of a graph
//!
//! The format is described byte by byte in `FORMAT.md` beside this crate's sources.

#[cfg(target_endian = "big")]
compile_error!("graph files are little-endian and read in place: big-endian hosts are not served");

pub mod check;
mod commit;
mod degrees;
pub mod edges;
pub mod error;
pub mod format;
pub mod graph;
pub mod header;
pub mod hub_neighbours;
pub mod ids;
pub mod index;
mod lookup;
pub mod order;
pub mod packed;
pub mod page;
mod pages;
mod readers;
mod sink;
pub mod store;
mod stream;
pub mod superblock;
mod table;
pub mod weights;
mod words;
pub mod writer;

pub use check::{CheckReport, check, check_device};
pub use error::{PageError, PageFault, Result, StoreError};
pub use format::Codec;
pub use graph::Graph;
pub use hub_neighbours::{HubNeighbours, HubNeighboursChoice, HubNeighboursSection};
pub use ids::{Id, IdRef, IdTable, Ids};
pub use index::Adjacency;
pub use lookup::Lookup;
pub use order::Order;
pub use packed::decode::Decoded;
pub use page::{List, Page};
pub use pages::LookupConfig;
pub use store::{Store, Transaction};
pub use superblock::Superblock;
pub use table::PageRun;
pub use weights::{Weight, WeightColumn, WeightSummary, WeightType, Weights};
pub use writer::{Counts, GraphSpec, GraphWriter, IdsSource};

/// A vertex inside Cenote: dense, `0..vertices`, in the ascending order of the user's ids unless
/// the graph was imported with another [`Order`].
pub type VertexId = u32;

/// Which lists of a directed graph. On an undirected graph both mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Lists of targets: the edges that leave a vertex.
    Out,
    /// Lists of sources: the edges that enter a vertex.
    In,
}
