//! Every algorithm against plain implementations over lists in memory, and its budgets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod bands;
mod betweenness;
mod bfs_many_levels;
mod budgets;
mod cdlp;
mod clusters;
mod communities;
mod degrees;
mod depth;
mod estimates;
mod hub_neighbours;
mod hyperball;
mod kcore;
mod logged_weights;
mod mis;
mod msf;
mod near;
mod orders;
mod pagerank;
mod pagerank_weighted;
mod plain;
mod ppr;
mod scattered;
mod scc;
mod searches;
mod similar;
mod sssp;
mod tiny;
mod triangles;
mod walk;
mod walk_by_weight;
