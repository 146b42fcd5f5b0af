//! Edge weights: a column beside the lists, in pages of its own that only weighted runs read.
//!
//! - [`value`]: types and values of weights, and ordered bits
//! - [`column`](mod@column): places of the weights, and verified views of their pages
//! - `logged`: weights of pages that are read with changes of the log
//! - `stream`: streams all weights in the order of the lists
//! - `spool`: writes a column while the lists are being packed

pub mod column;
mod logged;
pub(crate) mod spool;
pub(crate) mod stream;
pub mod value;

pub use column::{WeightColumn, Weights};
pub use value::{Weight, WeightSummary, WeightType};
