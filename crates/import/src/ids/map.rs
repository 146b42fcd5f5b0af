//! The finished map from ids to vertices.

use super::integers::IntegerMap;
use super::strings::StringMap;
use crate::budget::Held;
use cenote_store::VertexId;
use cenote_store::order::Order;

/// Maps the ids of a [`Sink`](crate::parse::Sink) to vertices.
#[derive(Debug)]
pub(crate) struct IdMap<'a> {
    pub ranks: RankMap<'a>,
    /// The order of the vertices, if it is not that of their ids.
    pub placed: Option<Placed<'a>>,
}

/// Maps the ids of a sink to ranks, their places in ascending order.
#[derive(Debug)]
pub(crate) enum RankMap<'a> {
    Integers(IntegerMap<'a>),
    /// By the provisional numbers of strings.
    Strings(StringMap<'a>),
}

#[derive(Debug)]
pub(crate) struct Placed<'a> {
    pub order: Order,
    pub vertex_of: Vec<VertexId>,
    pub _memory: Held<'a>,
}

impl<'a> IdMap<'a> {
    /// A map in which every vertex is its rank.
    pub fn natural(ranks: RankMap<'a>) -> Self {
        Self { ranks, placed: None }
    }

    pub fn len(&self) -> u64 {
        match &self.ranks {
            RankMap::Integers(map) => map.len(),
            RankMap::Strings(map) => map.len(),
        }
    }

    /// The vertex of an id. Any number for an id that is not in the map.
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

    /// The vertices of a batch of ids, as [`IdMap::dense`].
    pub fn dense_all(&self, ids: &[u64], vertices: &mut [VertexId]) {
        match &self.ranks {
            RankMap::Integers(map) if map.is_identity() => {
                vertices.iter_mut().zip(ids).for_each(|(vertex, &id)| *vertex = id as VertexId);
            }
            RankMap::Integers(map) => map.dense_all(ids, vertices),
            RankMap::Strings(map) => {
                vertices.iter_mut().zip(ids).for_each(|(vertex, &id)| *vertex = map.dense(id));
            }
        }
        let Some(placed) = &self.placed else { return };
        for vertex in vertices {
            *vertex = placed.vertex_of.get(*vertex as usize).copied().unwrap_or(*vertex);
        }
    }

    /// Bytes of the rank of every vertex, unless it is the vertex.
    pub fn ranks_bytes(&self) -> usize {
        self.placed.as_ref().map_or(0, |placed| size_of_val(placed.vertex_of.as_slice()))
    }

    /// Further memory of a bitmap with more room.
    pub fn bitmap_bytes(&self) -> usize {
        match &self.ranks {
            RankMap::Integers(map) => map.bitmap_bytes(),
            RankMap::Strings(_) => 0,
        }
    }

    /// Kind of the stored ids in reports.
    pub fn kind(&self) -> &'static str {
        match &self.ranks {
            RankMap::Integers(map) if map.is_identity() => "none",
            RankMap::Integers(_) => "integer",
            RankMap::Strings(_) => "string",
        }
    }
}
