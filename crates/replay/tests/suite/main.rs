//! Replayed page loads.

mod tiers;
mod tpcc;
