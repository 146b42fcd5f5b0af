//! Answers straight from edges, which are not imported: one pass over the inputs, nothing on disk.
//!
//! Workers parse blocks; each id gets a number when it is met first, from a concurrent hash table
//! ([`table`]) or the dictionary of names, and each edge changes what is known of its two numbers.
//! Edges are not kept. At the end ids are sorted.
//!
//! - [`components()`], [`degrees`]: what is found
//! - [`run`]: the pass
//! - [`integers`], [`names`]: what workers do with ids of either kind; [`state`]: what is known of
//!   each vertex meanwhile, for components a [`forest`]
//! - [`answer`]: sorted ids; [`labels`]: the labels of components

mod answer;
mod components;
mod degrees;
mod forest;
mod integers;
mod labels;
mod names;
mod run;
mod state;
mod table;

pub use self::answer::VertexIds;
pub use self::components::{Components, ComponentsConfig, components};
pub use self::degrees::{EdgeDegrees, EdgeDegreesConfig, edge_degrees};
pub use self::run::PassStats;
