//! All ids in memory, for access in random order.

use super::{IdColumn, IdRef, Ids};
use crate::VertexId;
use crate::error::{Result, StoreError};
use crate::superblock::IdKind;

/// The ids of a graph, in memory.
#[derive(Debug)]
pub struct IdTable {
    ids: Table,
    /// The rank of every vertex; `None` where each is its own rank.
    ranks: Option<Vec<VertexId>>,
}

#[derive(Debug)]
enum Table {
    Dense,
    Stored(IdColumn),
}

impl IdTable {
    pub(super) fn load(ids: &Ids, ranks: Option<Vec<VertexId>>) -> Result<Self> {
        if ids.kind() == IdKind::Dense {
            return Ok(Self { ids: Table::Dense, ranks });
        }
        let mut column = IdColumn::with_capacity(ids.kind(), ids.vertices() as usize);
        ids.for_each_number(0..ids.vertices() as VertexId, |_, id| {
            column.push(id);
            Ok::<(), StoreError>(())
        })?;
        Ok(Self { ids: Table::Stored(column), ranks })
    }

    /// The id of a vertex.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    #[inline]
    pub fn get(&self, vertex: VertexId) -> IdRef<'_> {
        let rank = self.rank(vertex);
        match &self.ids {
            Table::Dense => IdRef::Integer(u64::from(rank)),
            Table::Stored(ids) => ids.get(rank as usize),
        }
    }

    /// The place of the id of `vertex` among all ids in ascending order.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    #[inline]
    pub fn rank(&self, vertex: VertexId) -> VertexId {
        self.ranks.as_ref().map_or(vertex, |ranks| ranks[vertex as usize])
    }

    /// Orders the two ends of an undirected edge: the one with the smaller id first.
    #[inline]
    pub fn in_order(&self, ends: [VertexId; 2]) -> [VertexId; 2] {
        let [a, b] = ends;
        if self.rank(a) <= self.rank(b) { [a, b] } else { [b, a] }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        let ids = match &self.ids {
            Table::Dense => 0,
            Table::Stored(ids) => ids.memory_bytes(),
        };
        ids + self.ranks.as_ref().map_or(0, |ranks| ranks.capacity() * 4)
    }
}
