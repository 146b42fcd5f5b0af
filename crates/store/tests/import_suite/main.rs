//! Import against a naive oracle, in every format, with every way of failing.

mod data;
mod errors;
mod faults;
mod formats;
mod oracle;
mod properties;
