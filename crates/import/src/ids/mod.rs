//! The user's ids: collected while the inputs are read, then ranked in ascending order.
//!
//! - `integers`: a bitmap where ids are dense, sorted runs where they are sparse
//! - `map`: the finished map
//! - `memory`: what ids take
//! - `names`: numbers of the names that a worker parses
//! - `strings`: a dictionary that numbers names provisionally and sorts them at the end

pub(crate) mod integers;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod strings;

/// Ids are ranked in `u32`; the two largest numbers are reserved.
pub(crate) const VERTICES_MAX: u64 = (1 << 32) - 2;
