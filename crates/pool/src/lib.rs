//! Keeps pages in memory: who leaves, who is written back, who comes early.
pub mod policy;
pub mod prefetch;

/// Number of a page: its offset on the device divided by the page size.
pub type PageId = u64;
