//! Seeded graph generators, and page accesses for buffer pools, synthetic or from traces.
//!
//! - [`random`]: the counter-based random generator of all workloads
//! - [`permutation`]: bijections on `0..n` without a table
//! - [`kron`]: Graph500's Kronecker (R-MAT) graph, which models social networks
//! - [`uniform`]: Erdős–Rényi G(n, m), uniformly random distinct edges
//! - [`ba`]: Barabási–Albert preferential attachment without communication
//! - [`grid`]: a grid with a huge diameter and no hubs
//! - [`smallworld`]: Watts–Strogatz, a ring with shortcuts
//! - [`stream`]: generates edges on many threads and consumes them in order
//! - [`page`]: reads and writes of pages: synthetic mixes, Zipf, trace files
//!
//! Every graph generator is an [`EdgeSource`]: edge `i` is a pure function of the parameters, the
//! seed and `i`. So a graph of any size streams in constant memory, and its edges do not depend on
//! the number of threads.
//!
//! ```
//! use cenote_workload::{EdgeSource, kron::{Kron, KronConfig}};
//! let graph = Kron::new(KronConfig::default().scale(10))?;
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
mod setters;
pub mod smallworld;
pub mod stream;
pub mod uniform;

use std::fmt::Debug;
use std::ops::Range;

pub use error::{Result, WorkloadError};
use setters::setters;

/// An edge as `[source, target]`; vertices are numbered from 0.
pub type Edge = [u32; 2];

/// Most vertices of a generated graph.
pub const VERTICES_MAX: u64 = 1 << 32;

/// A graph whose edges are computed on demand, on any thread.
pub trait EdgeSource: Send + Sync + Debug {
    /// Number of vertices, some of which may have no edges.
    fn vertices(&self) -> u64;

    /// Number of edges as generated, including duplicates and self-loops.
    fn edges(&self) -> u64;

    /// Appends the edges `range` to `out`, in order.
    ///
    /// # Panics
    /// If `range` ends after [`EdgeSource::edges`].
    fn fill(&self, range: Range<u64>, out: &mut Vec<Edge>);
}

/// Asserts that a range is within the graph and reserves memory for it.
fn prepare(range: &Range<u64>, edges: u64, out: &mut Vec<Edge>) {
    assert!(range.end <= edges, "edges {range:?} of a graph with {edges}");
    out.reserve(range.end.saturating_sub(range.start) as usize);
}
