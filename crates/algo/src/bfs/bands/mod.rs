//! Breadth-first search with less memory than the levels of all vertices take.
//!
//! In memory are sets of vertices, one bit each: the visited ones, the frontier and the next
//! frontier. A vertex gets its level once, so a step appends the vertices of its level to a *log*
//! in the state file, sorted by band, 4 bytes each; at the end every band takes its part of the log
//! and writes its levels. What that costs does not depend on the depth of the graph.
//!
//! Steps are top-down, bottom-up or over hub neighbours, as in memory; only that lists of unvisited
//! vertices are not kept, so each step decides again what is less to read.
//!
//! After many small steps, as on a grid or a road, a step finds the levels of a [`window`] at once,
//! page by page, where memory has room for a byte a vertex.
//!
//! - [`plan`]: sizes and estimate; [`run`](mod@run): the steps; [`kernels`]: one step; [`log`]: the
//!   log of levels
//!
//! Parents are proposed by each step ([`parents`](crate::bands::parents)).

mod kernels;
mod log;
mod plan;
mod run;
mod window;

pub(super) use plan::{choose, estimate};
pub(super) use run::run;
