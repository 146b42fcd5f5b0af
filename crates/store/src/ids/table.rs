//! All ids in memory, for access in random order.

use super::{IdRef, Ids};
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
    Integers(Vec<u64>),
    Strings { text: String, ends: Vec<u64> },
}

impl IdTable {
    pub(super) fn load(ids: &Ids, ranks: Option<Vec<VertexId>>) -> Result<Self> {
        let count = ids.vertices() as usize;
        let all = 0..ids.vertices() as VertexId;
        let table = match ids.kind() {
            IdKind::Dense => Table::Dense,
            IdKind::Integers => {
                let mut integers = Vec::with_capacity(count);
                ids.for_each_number(all, |_, id| {
                    if let IdRef::Integer(integer) = id {
                        integers.push(integer);
                    }
                    Ok::<(), StoreError>(())
                })?;
                Table::Integers(integers)
            }
            IdKind::Strings => {
                let (mut text, mut ends) = (String::new(), Vec::with_capacity(count));
                ids.for_each_number(all, |_, id| {
                    if let IdRef::String(string) = id {
                        text.push_str(string);
                        ends.push(text.len() as u64);
                    }
                    Ok::<(), StoreError>(())
                })?;
                Table::Strings { text, ends }
            }
        };
        Ok(Self { ids: table, ranks })
    }

    /// The id of a vertex.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    #[inline]
    pub fn get(&self, vertex: VertexId) -> IdRef<'_> {
        let rank = self.rank(vertex);
        let at = rank as usize;
        match &self.ids {
            Table::Dense => IdRef::Integer(u64::from(rank)),
            Table::Integers(integers) => IdRef::Integer(integers[at]),
            Table::Strings { text, ends } => {
                let start = if at == 0 { 0 } else { ends[at - 1] as usize };
                IdRef::String(&text[start..ends[at] as usize])
            }
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
            Table::Integers(integers) => integers.capacity() * 8,
            Table::Strings { text, ends } => text.capacity() + ends.capacity() * 8,
        };
        ids + self.ranks.as_ref().map_or(0, |ranks| ranks.capacity() * 4)
    }
}
