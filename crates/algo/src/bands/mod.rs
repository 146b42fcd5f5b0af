//! What algorithms share whose vertex state lies in a file, in bands of vertices.
//!
//! - [`plan`]: the sizes of bands and buffers within a budget, and the estimate
//! - [`gather`]: the values of all neighbours, for algorithms that need them at once
//! - [`fall`]: values that fall to a limit, such as bounds of core numbers
//! - [`names`]: entries of lists that are values or names of vertices
//! - [`changes`]: which vertices have neighbours that changed
//! - [`parents`]: of a search, which are proposed and found at the end

mod changes;
mod fall;
mod gather;
mod names;
pub(crate) mod parents;
mod plan;

pub(crate) use changes::Changes;
pub(crate) use fall::Fall;
pub(crate) use gather::{Gather, GatherPlan, Take};
pub(crate) use plan::{BandPlan, Layout, Shape, Traffic, VERTICES_ALIGN};
pub(crate) use plan::{band_of_each, block_bytes, buffer_bytes, fewest_bands, list_max};
