//! Values of vertices: at most one each, all of one type. Pages hold those of ascending vertices,
//! so that a batch rewrites only pages in which a value changes.
//!
//! - [`Value`], [`ValueType`]: a value and its type
//! - `stored`: the pages
//! - [`for_each_changed_value`]: those that differ between two states

mod diff;
mod stored;
mod value;

pub use diff::for_each_changed_value;
pub(crate) use stored::{StoredValues, ValuePage, fill, per_page};
pub use value::{Value, ValueType};
