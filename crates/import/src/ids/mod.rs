//! Outer ids: collected while the inputs are read, then each given its dense id, so that dense ids
//! follow the ascending order of the outer ids.
//!
//! - `integers`: a bitmap where ids are dense, sorted runs where they are sparse
//! - `map`: either of them, finished
//! - `strings`: a dictionary of names with provisional ids, sorted at the end

pub(crate) mod integers;
pub(crate) mod map;
pub(crate) mod strings;

/// Dense ids are `u32`; the two largest are kept free for marks.
pub(crate) const VERTICES_MAX: u64 = (1 << 32) - 2;
