//! Edge weights: a column beside the lists, in pages of its own that only weighted runs read.
//!
//! - [`value`]: types and values of weights, and ordered bits
//! - [`format`](mod@format): the bytes of a weight in its pages
//! - [`slice`](mod@slice): slices of weights
//! - [`summary`]: the smallest, largest and mean weight
//! - [`column`](mod@column): places of the weights, and verified views of their pages
//! - `logged`: weights of pages that are read with changes of the log
//! - `stream`: streams all weights in the order of the lists
//! - `spool`: writes a column while the lists are being packed

pub mod column;
pub mod format;
mod logged;
pub mod slice;
pub(crate) mod spool;
pub(crate) mod stream;
pub mod summary;
pub mod value;

pub use column::WeightColumn;
pub use format::WeightFormat;
pub use slice::{WeightNumber, WeightNumbers, Weights};
pub use summary::WeightSummary;
pub use value::{Weight, WeightType};
