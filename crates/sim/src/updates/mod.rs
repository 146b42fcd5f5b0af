//! Graphs that change: steps on a device that fails or loses its power at any change, and what
//! is found when it is opened again.
//!
//! - [`history`]: a random graph, steps that change it, and the graph that each must make
//! - `first`: random graphs with which histories begin
//! - `series`: batches that become delta runs, and a merge beside them
//! - `play`: the steps on a device, with readers of older states
//! - [`crash`]: a history up to a fault, and what must hold afterwards
//! - [`threads`]: threads that commit at the same time, until the power is cut
//! - [`tiered`]: histories over tiers whose blocks move; `power`: one power supply for all members
//! - `edge_weights`: weights of edges; `weigh`: those of batches, and their comparison
//! - [`algorithms`]: all algorithms, with answers by the users' ids

pub mod algorithms;
pub mod crash;
mod edge_weights;
mod first;
pub mod history;
mod play;
mod power;
mod series;
pub mod threads;
pub mod tiered;
mod weigh;

pub use crash::{Kind, Point, Sweep};
pub use history::{History, State, Step};
