//! PageRank with shares that do not fit in memory.
//!
//! *Pull*: shares lie in a state file. One *band* of them is in memory at a time, and the vertices
//! whose sums are being added up come in *windows*: for each band and each window, the entries of
//! the window's lists that lie in the band are added to the sums of the window. Sums are integers
//! ([`WideSum`](super::fixed::WideSum)), so the ranks are those of a run in memory to the last bit.
//! Lists are visited for the bands that they reach. Between these the sums of a window wait in the
//! file; after the last one its vertices get their next shares, in the place of the old ones, which
//! no later band needs.
//!
//! *Push*, on directed graphs without in-edges, is its mirror: the band holds the mass that its
//! vertices have received, and windows bring the ranks of those that give.
//!
//! The entries of a band come from the lists, where binary search finds them since lists ascend, or
//! from *blocks*: one pass writes them sorted by band and window, as GridGraph's grid is (Zhu, Han
//! and Chen, USENIX ATC 2015). [`plan`] compares the bytes of both with the drive's rates.
//!
//! By weight, a pass adds up the weights of each out-list first (its total), and blocks have the
//! weights of their entries.
//!
//! - [`layout`]: sizes; [`plan`]: what is cheapest; [`sample`]: how lists spread over bands
//! - [`reach`]: which lists have entries in a band
//! - [`grid`]: blocks of entries; [`sums`]: the sums of a window
//! - [`divisors`]: out-degrees or totals; [`totals`]: adds these up
//! - [`state`]: what both ways share; [`pull`], [`push`]: the iterations

mod divisors;
mod grid;
mod layout;
mod plan;
mod pull;
mod push;
mod reach;
mod run;
mod sample;
mod state;
mod sums;
mod totals;

pub(super) use plan::{BandPlan, choose};
pub(super) use run::run;
