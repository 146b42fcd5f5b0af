//! The user's own vertex ids: integers or strings in ascending order, read on demand.
//!
//! Vertex `v` is the `v`-th smallest id. So one ordered section serves both ways: from vertex to id
//! by position, from id to vertex by binary search over the pages. A search touches about
//! `log2(pages)` of them; the few read last stay in the graph's pool. Where the vertices lie in
//! another order, the section tells the ids of ranks, and the tables of [`crate::order`] lead from
//! rank to vertex and back.
//!
//! - [`Ids`]: lookups and passes, whatever the kind
//! - [`IdTable`]: all ids in memory, for whoever names vertices in random order
//! - `stored`: how stored ids are searched
//! - `strings`: the records of a page of strings
//! - `write`: the sections as the writer makes them

mod stored;
mod strings;
mod table;
mod write;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::VertexId;
use crate::error::{Result, StoreError};
use crate::order::Ranks;
use crate::pages::Pages;
use crate::superblock::{IdKind, SectionKind};

pub use stored::StoredIds;
pub(crate) use strings::Records;
pub use table::IdTable;
pub(crate) use write::{write_integers, write_strings};

/// An id of the user's, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(untagged)]
pub enum IdRef<'a> {
    /// A number.
    Integer(u64),
    /// A name.
    String(&'a str),
}

/// An id of the user's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Integer(u64),
    /// A name.
    String(String),
}

impl IdRef<'_> {
    /// A copy that owns its name.
    pub fn to_id(self) -> Id {
        match self {
            IdRef::Integer(integer) => Id::Integer(integer),
            IdRef::String(string) => Id::String(string.to_owned()),
        }
    }
}

impl fmt::Display for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdRef::Integer(integer) => integer.fmt(f),
            IdRef::String(string) => string.fmt(f),
        }
    }
}

impl Id {
    /// A borrow of it.
    pub fn as_ref(&self) -> IdRef<'_> {
        match self {
            Id::Integer(integer) => IdRef::Integer(*integer),
            Id::String(string) => IdRef::String(string),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// The ids of a graph.
#[derive(Debug)]
pub struct Ids {
    ascending: Ascending,
    /// Where vertices do not lie in the order of their ids.
    ranks: Option<Ranks>,
}

/// The ids by their ranks.
#[derive(Debug)]
enum Ascending {
    /// They are the ranks.
    Dense {
        file: Arc<str>,
        vertices: u64,
    },
    Integers(StoredIds),
    Strings(StoredIds),
}

impl Ids {
    pub(crate) fn open(pages: &Arc<Pages>) -> Self {
        let superblock = &pages.layout.superblock;
        let ascending = match superblock.ids {
            IdKind::Dense => {
                let (file, vertices) = (Arc::clone(&pages.layout.file), superblock.vertices);
                Ascending::Dense { file, vertices }
            }
            IdKind::Integers => Ascending::Integers(StoredIds::new(pages, SectionKind::Integers)),
            IdKind::Strings => Ascending::Strings(StoredIds::new(pages, SectionKind::Strings)),
        };
        Self { ascending, ranks: Ranks::open(pages) }
    }

    /// How the user names vertices.
    pub fn kind(&self) -> IdKind {
        match &self.ascending {
            Ascending::Dense { .. } => IdKind::Dense,
            Ascending::Integers(_) => IdKind::Integers,
            Ascending::Strings(_) => IdKind::Strings,
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u64 {
        match &self.ascending {
            Ascending::Dense { vertices, .. } => *vertices,
            Ascending::Integers(stored) | Ascending::Strings(stored) => stored.vertices(),
        }
    }

    /// Whether every vertex is the rank of its id: the place of the id among all in ascending
    /// order.
    pub fn is_natural(&self) -> bool {
        self.ranks.is_none()
    }

    /// Memory that is held between calls: the pages read last. They are the graph's, whose memory
    /// counts them too.
    pub fn memory_bytes(&self) -> usize {
        match &self.ascending {
            Ascending::Dense { .. } => 0,
            Ascending::Integers(stored) | Ascending::Strings(stored) => stored.memory_bytes(),
        }
    }

    /// The vertex that the user calls `id`, if there is one.
    pub fn vertex_of(&self, id: &str) -> Result<Option<VertexId>> {
        let rank = match &self.ascending {
            Ascending::Dense { vertices, .. } => {
                let rank = integer_of(id).filter(|rank| rank < vertices);
                rank.map(|rank| rank as VertexId)
            }
            Ascending::Integers(stored) => match integer_of(id) {
                Some(integer) => stored.vertex_of_integer(integer)?,
                None => None,
            },
            Ascending::Strings(stored) => stored.vertex_of_string(id)?,
        };
        match (rank, &self.ranks) {
            (Some(rank), Some(ranks)) => ranks.vertex_of(rank).map(Some),
            _ => Ok(rank),
        }
    }

    /// What the user calls `vertex`.
    pub fn id_of(&self, vertex: VertexId) -> Result<Id> {
        let rank = self.rank_of(vertex)?;
        match &self.ascending {
            Ascending::Dense { .. } => Ok(Id::Integer(u64::from(rank))),
            Ascending::Integers(stored) => stored.integer_of(rank).map(Id::Integer),
            Ascending::Strings(stored) => stored.string_of(rank).map(Id::String),
        }
    }

    /// The rank of a vertex: the place of its id among all ids in ascending order.
    pub fn rank_of(&self, vertex: VertexId) -> Result<VertexId> {
        self.check_vertex(vertex)?;
        self.ranks.as_ref().map_or(Ok(vertex), |ranks| ranks.rank_of(vertex))
    }

    fn check_vertex(&self, vertex: VertexId) -> Result<()> {
        let (file, vertices) = match &self.ascending {
            Ascending::Dense { file, vertices } => (file, *vertices),
            Ascending::Integers(stored) | Ascending::Strings(stored) => {
                (stored.file(), stored.vertices())
            }
        };
        if u64::from(vertex) >= vertices {
            let (file, vertex) = (file.to_string(), u64::from(vertex));
            return Err(StoreError::NoVertex { file, vertex, vertices });
        }
        Ok(())
    }

    /// Appends the ranks of `vertices`, which ascend, to `out`. Their pages stay in memory, as far
    /// as there is room.
    pub fn ranks_of(&self, vertices: &[VertexId], out: &mut Vec<VertexId>) -> Result<()> {
        if let Some(&last) = vertices.last() {
            // They ascend: if this one exists all do.
            self.check_vertex(last)?;
        }
        match &self.ranks {
            Some(ranks) => ranks.ranks_of(vertices, out),
            None => {
                out.extend_from_slice(vertices);
                Ok(())
            }
        }
    }

    /// Passes on the ids of `ranks`, which ascend: where the vertices lie in the order of their
    /// ids, those of vertices. The pages that they lie in stay in memory, as far as there is room,
    /// and one of them is held while `visit` has an id of it.
    pub fn for_each_of<E: From<StoreError>>(
        &self,
        ranks: &[VertexId],
        mut visit: impl FnMut(IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        debug_assert!(ranks.is_sorted(), "ranks ascend");
        if let Some(&last) = ranks.last() {
            self.check_vertex(last)?;
        }
        match &self.ascending {
            Ascending::Dense { .. } => {
                ranks.iter().try_for_each(|&rank| visit(IdRef::Integer(rank.into())))
            }
            Ascending::Integers(stored) => stored.integers_of(ranks, &mut visit),
            Ascending::Strings(stored) => stored.strings_of(ranks, &mut visit),
        }
    }

    /// Streams the ids of a range of ranks in ascending order, each with its vertex: where the
    /// vertices lie in the order of their ids, those of a range of vertices. `visit` may stop the
    /// pass by an error.
    pub fn for_each<E: From<StoreError>>(
        &self,
        ranks: Range<VertexId>,
        mut visit: impl FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(table) = &self.ranks else { return self.for_each_rank(ranks, &mut visit) };
        let end = u64::from(ranks.end).min(self.vertices()) as VertexId;
        if ranks.start >= end {
            return Ok(());
        }
        let mut vertices = table.vertices(ranks.start..end)?;
        self.for_each_rank(ranks, &mut |_, id| visit(vertices.next()?, id))
    }

    /// Passes all vertices on, in the ascending order of their ids.
    pub fn for_each_vertex(&self, mut visit: impl FnMut(VertexId)) -> Result<()> {
        let all = 0..self.vertices() as VertexId;
        let Some(table) = &self.ranks else {
            all.for_each(visit);
            return Ok(());
        };
        let mut vertices = table.vertices(all.clone())?;
        for _ in all {
            visit(vertices.next()?);
        }
        Ok(())
    }

    /// Streams the ids of a range of ranks in ascending order, each with its rank.
    fn for_each_rank<E: From<StoreError>>(
        &self,
        ranks: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = u64::from(ranks.end).min(self.vertices()) as VertexId;
        let ranks = ranks.start..end;
        if ranks.is_empty() {
            return Ok(());
        }
        match &self.ascending {
            Ascending::Dense { .. } => {
                for rank in ranks {
                    visit(rank, IdRef::Integer(u64::from(rank)))?;
                }
                Ok(())
            }
            Ascending::Integers(stored) => stored.for_each_integer(ranks, visit),
            Ascending::Strings(stored) => stored.for_each_string(ranks, visit),
        }
    }

    /// Reads all ids into memory, for access in random order.
    pub fn load(&self) -> Result<IdTable> {
        let ranks = self.ranks.as_ref().map(Ranks::load).transpose()?;
        IdTable::load(self, ranks)
    }
}

/// Only digits: `+7` and ` 7` are not what the user's file said.
fn integer_of(id: &str) -> Option<u64> {
    id.bytes().all(|byte| byte.is_ascii_digit()).then(|| id.parse().ok()).flatten()
}
