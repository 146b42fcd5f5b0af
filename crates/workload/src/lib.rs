//! Makes load: seeded graphs, and page accesses for a buffer pool, made or read from traces.
//!
//! - [`random`]: the counter-based generator that everything here draws from
//! - [`permutation`]: bijections on `0..n` without a table
//! - [`kron`]: Graph500's Kronecker (R-MAT) graph, the model of a social network
//! - [`uniform`]: Erdős–Rényi G(n, m): distinct edges, all alike
//! - [`ba`]: Barabási–Albert preferential attachment without communication
//! - [`grid`]: a plane with four neighbours: huge diameter, no hubs
//! - [`smallworld`]: Watts–Strogatz: a ring with shortcuts
//! - [`stream`]: many threads generate, one consumer receives in order
//! - [`page`]: reads and writes of pages: synthetic mixes, Zipf, trace files
//!
//! Every graph generator is an [`EdgeSource`]: edge `i` is a pure function of the parameters, the
//! seed and `i`. So a graph of any size streams in constant memory, and its edges are the same on
//! one thread and on a hundred.
//!
//! ```
//! use cenote_workload::{EdgeSource, kron::{Kron, KronConfig}};
//! let graph = Kron::new(KronConfig { scale: 10, ..KronConfig::default() })?;
//! let mut edges = Vec::new();
//! graph.fill(0..graph.edges(), &mut edges);
//! assert_eq!(edges.len(), 16 << 10);
//! # Ok::<(), cenote_workload::WorkloadError>(())
//! ```

pub mod ba;
mod error;
pub mod grid;
pub mod kron;
pub mod page;
pub mod permutation;
pub mod random;
pub mod smallworld;
pub mod stream;
pub mod uniform;

use std::fmt::Debug;
use std::ops::Range;

pub use error::{Result, WorkloadError};

/// An edge as `[source, target]`; vertices count from 0.
pub type Edge = [u32; 2];

/// Most vertices a generator makes: as many as Cenote numbers inside a graph.
pub const VERTICES_MAX: u64 = 1 << 32;

/// A graph whose edges are computed, not stored. Shared by threads.
pub trait EdgeSource: Send + Sync + Debug {
    /// Vertices that an edge may name: ids are below this. Some may occur in no edge.
    fn vertices(&self) -> u64;

    /// Edges of the whole graph, as generated: duplicates and self-loops count where the model
    /// makes any.
    fn edges(&self) -> u64;

    /// Appends the edges `range` to `out`, in order.
    ///
    /// # Panics
    /// If `range` ends after [`EdgeSource::edges`].
    fn fill(&self, range: Range<u64>, out: &mut Vec<Edge>);
}

/// Asserts that a range lies in the graph and makes room for it.
fn prepare(range: &Range<u64>, edges: u64, out: &mut Vec<Edge>) {
    assert!(range.end <= edges, "edges {range:?} of a graph with {edges}");
    out.reserve(range.end.saturating_sub(range.start) as usize);
}
