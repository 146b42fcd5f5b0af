//! Shortest paths with less memory than the distances of all vertices take.
//!
//! Distances lie in the state file. A bucket of delta-stepping visits every band that has a vertex
//! nearer than its end: the band takes the messages that wait for it, relaxes the edges of its
//! vertices until none is left in the bucket, and sends the lengths of paths to other bands as
//! messages of 12 bytes. The distance of a vertex is the minimum over all paths in any order of
//! computation, so the answer is that of a run in memory to the last bit.
//!
//! Most edges lead to a vertex that has a shorter path already. An upper *bound* of its distance,
//! one byte a vertex in memory, shows that for nearly all of these edges, and no message is sent
//! ([`bounds`]).
//!
//! - [`plan`]: sizes and estimate; [`run`](mod@run): buckets and bands
//! - [`band`]: the distances of a band; [`relax`]: its edges; [`follow`]: those of few vertices;
//!   [`lists`]: all of them, in memory
//! - [`finish`]: what follows from all distances; [`parents`]: those of all vertices

mod band;
mod bounds;
mod finish;
mod follow;
mod lists;
mod parents;
mod plan;
mod relax;
mod run;

pub(super) use plan::{choose, estimate};
pub(super) use run::run;
