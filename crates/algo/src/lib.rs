//! Graph algorithms, one file each: its definition, its source, the trick, and a plain serial
//! verifier.
//!
//! - [`betweenness`]: betweenness centrality from given sources
//! - [`bfs`]: breadth-first search: levels and parents
//! - [`cdlp`]: communities by label propagation
//! - [`communities`]: communities of high modularity: Leiden and Louvain
//! - [`degrees`]: the number of edges of every vertex
//! - [`dfs`]: depth-first search: parallel pseudo-DFS, and in lexicographic order
//! - [`hyperball`]: neighbourhood function and distance centralities, by HyperLogLog counters
//! - [`kcore`]: core numbers
//! - [`lcc`]: local clustering coefficient
//! - [`mis`]: a maximal independent set
//! - [`msf`]: a minimum spanning forest
//! - [`pagerank`]: PageRank by power iteration
//! - [`ppr`]: personalised PageRank of many seeds side by side
//! - [`reach`]: whether vertices can be reached
//! - [`scc`]: strongly connected components
//! - [`shards`]: the part of a shard in algorithms over several machines
//! - [`similar`]: similarity of vertices by common neighbours
//! - [`triangles`]: triangles of the graph, and of each vertex
//! - [`walk`]: random walks: uniform, node2vec, with restart
//! - [`sssp`]: shortest paths over weighted edges
//! - [`wcc`]: weakly connected components
//!
//! Results are defined so that they do not depend on threads, strategy, queue depth or device.

mod bands;
pub mod betweenness;
pub mod bfs;
pub mod cdlp;
pub mod communities;
mod csr;
pub mod degrees;
pub mod dfs;
mod estimate;
mod groups;
pub mod hyperball;
pub mod kcore;
mod kind;
pub mod lcc;
pub mod mis;
pub mod mix;
pub mod msf;
mod near;
mod neighbourhood;
mod page_of;
pub mod pagerank;
mod parallel;
mod parts;
mod plain;
pub mod ppr;
mod ranks;
pub mod reach;
mod report;
mod residual;
pub mod scc;
pub mod shards;
pub mod similar;
pub mod sssp;
pub mod triangles;
pub mod walk;
pub mod wcc;
mod worklist;

pub use estimate::Estimate;
pub use ranks::{NO_PARENT, default_source};
pub use report::{AlgoError, Bands, Result, Run};
