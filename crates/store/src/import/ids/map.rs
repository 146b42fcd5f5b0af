//! The finished map from outer to dense ids, whatever the outer ids are.

use super::integers::IntegerMap;
use super::strings::StringMap;
use crate::VertexId;

/// From the numbers that sinks give to dense ids.
#[derive(Debug)]
pub(crate) enum IdMap<'a> {
    /// Integers.
    Integers(IntegerMap<'a>),
    /// Strings, by their provisional numbers.
    Strings(StringMap<'a>),
}

impl IdMap<'_> {
    /// Number of vertices.
    pub fn len(&self) -> u64 {
        match self {
            IdMap::Integers(map) => map.len(),
            IdMap::Strings(map) => map.len(),
        }
    }

    /// The dense id.
    #[inline]
    pub fn dense(&self, id: u64) -> VertexId {
        match self {
            IdMap::Integers(map) if map.is_identity() => id as VertexId,
            IdMap::Integers(map) => map.dense(id),
            IdMap::Strings(map) => map.dense(id),
        }
    }

    /// What reports call the stored ids.
    pub fn kind(&self) -> &'static str {
        match self {
            IdMap::Integers(map) if map.is_identity() => "none",
            IdMap::Integers(_) => "integer",
            IdMap::Strings(_) => "string",
        }
    }
}
