//! Graph algorithms, one file each: its definition, its source, the trick, and a plain serial
//! verifier.
//!
//! - [`bfs`]: breadth-first search: levels and parents
//! - [`lcc`]: local clustering coefficient
//! - [`mis`]: a maximal independent set
//! - [`pagerank`]: PageRank by power iteration
//! - [`triangles`]: triangles of the graph, and of each vertex
//! - [`wcc`]: weakly connected components
//!
//! Results are defined so that they do not depend on threads, strategy, queue depth or device.

pub mod bfs;
pub mod lcc;
pub mod mis;
pub mod pagerank;
mod report;
mod residue;
pub mod triangles;
pub mod wcc;

pub use report::{AlgoError, Estimate, Result, Run};
