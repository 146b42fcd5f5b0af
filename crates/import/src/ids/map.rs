//! The finished map from outer ids to vertices, whatever the outer ids are.

use super::integers::IntegerMap;
use super::strings::StringMap;
use crate::budget::Held;
use cenote_store::VertexId;
use cenote_store::order::Order;

/// From the numbers that sinks give to vertices.
#[derive(Debug)]
pub(crate) struct IdMap<'a> {
    pub ranks: RankMap<'a>,
    /// Another order of the vertices than that of their ids.
    pub placed: Option<Placed<'a>>,
}

/// From the numbers that sinks give to ranks: the places of their ids in ascending order.
#[derive(Debug)]
pub(crate) enum RankMap<'a> {
    /// Integers.
    Integers(IntegerMap<'a>),
    /// Strings, by their provisional numbers.
    Strings(StringMap<'a>),
}

/// The vertex of every rank.
#[derive(Debug)]
pub(crate) struct Placed<'a> {
    pub order: Order,
    pub vertex_of: Vec<VertexId>,
    pub _memory: Held<'a>,
}

impl<'a> IdMap<'a> {
    /// A map that makes every vertex its rank.
    pub fn natural(ranks: RankMap<'a>) -> Self {
        Self { ranks, placed: None }
    }

    /// Number of vertices.
    pub fn len(&self) -> u64 {
        match &self.ranks {
            RankMap::Integers(map) => map.len(),
            RankMap::Strings(map) => map.len(),
        }
    }

    /// The vertex. An id that is not in the map gives any number.
    #[inline]
    pub fn dense(&self, id: u64) -> VertexId {
        let rank = match &self.ranks {
            RankMap::Integers(map) if map.is_identity() => id as VertexId,
            RankMap::Integers(map) => map.dense(id),
            RankMap::Strings(map) => map.dense(id),
        };
        match &self.placed {
            None => rank,
            Some(placed) => placed.vertex_of.get(rank as usize).copied().unwrap_or(rank),
        }
    }

    /// Memory of the rank of every vertex, where it is not itself.
    pub fn ranks_bytes(&self) -> usize {
        self.placed.as_ref().map_or(0, |placed| size_of_val(placed.vertex_of.as_slice()))
    }

    /// Memory that a bitmap with more room would take more.
    pub fn bitmap_bytes(&self) -> usize {
        match &self.ranks {
            RankMap::Integers(map) => map.bitmap_bytes(),
            RankMap::Strings(_) => 0,
        }
    }

    /// What reports call the stored ids.
    pub fn kind(&self) -> &'static str {
        match &self.ranks {
            RankMap::Integers(map) if map.is_identity() => "none",
            RankMap::Integers(_) => "integer",
            RankMap::Strings(_) => "string",
        }
    }
}
