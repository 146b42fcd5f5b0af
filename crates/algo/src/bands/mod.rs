//! What algorithms share whose vertex state lies in a file, in bands of vertices.
//!
//! - [`plan`]: the sizes of bands and buffers within a budget, and the estimate
//! - [`gather`]: the values of all neighbours, for algorithms that need them at once
//! - [`changes`]: which vertices have neighbours that changed
//! - [`parents`]: of a search, which are proposed and found at the end

mod changes;
mod gather;
pub(crate) mod parents;
mod plan;

pub(crate) use changes::Changes;
pub(crate) use gather::{Gather, GatherPlan, Take};
pub(crate) use plan::{BandPlan, Layout, Shape, Traffic, VERTICES_ALIGN};
pub(crate) use plan::{band_of_each, block_bytes, buffer_bytes, fewest_bands, list_max};
