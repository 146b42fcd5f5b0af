//! Searches against plain ones over lists in memory, for all strategies, 1 to 3 threads, small and
//! large budgets, on graphs with loops, hubs over many pages, and parts that cannot be reached.

mod bfs;
mod dfs;
mod reach;
