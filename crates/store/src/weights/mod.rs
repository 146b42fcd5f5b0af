//! Weights of edges: a column beside the lists, in pages of its own that only weighted runs read.
//!
//! - [`value`]: the types of a weight, and its forms: a value, its bytes, and bits that sort
//! - [`column`](mod@column): where the weights of a page of lists lie, and verified views of pages
//! - `stream`: all weights in order, beside a pass over the lists
//! - `spool`: writes the pages of a column while the lists are being packed

pub mod column;
pub(crate) mod spool;
pub(crate) mod stream;
pub mod value;

pub use column::{WeightColumn, Weights};
pub use value::{Weight, WeightSummary, WeightType};
