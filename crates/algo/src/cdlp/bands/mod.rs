//! Label propagation with less memory than the labels of all vertices take.
//!
//! Labels lie in the state file, before and after an iteration. As many lists as fit are loaded,
//! and the labels of all their entries looked up in one pass over all labels
//! ([`gather`](crate::bands)). In memory are two sets: the vertices that changed, and those with a
//! neighbour that did, whose lists alone are loaded once few labels change.
//!
//! - [`plan`]: memory and reads; [`run`](mod@run): the iterations
//! - [`groups`]: names and counts of communities

mod groups;
mod plan;
mod run;

pub(super) use plan::{choose, estimate};
pub(super) use run::run;
