//! What algorithms share whose vertex state lies in a file, in bands of vertices.
//!
//! - [`plan`]: the sizes of bands and buffers within a budget, and the estimate

mod plan;

pub(crate) use plan::{BandPlan, Layout, Shape, Traffic};
