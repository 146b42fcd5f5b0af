//! Searches against plain ones over lists in memory, for all strategies, 1 to 3 threads, small and
//! large budgets, on graphs with loops, hubs over many pages, and parts that cannot be reached.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod bfs;
mod dfs;
mod graphs;
mod reach;
