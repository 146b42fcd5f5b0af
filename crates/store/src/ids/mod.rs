//! The user's own vertex ids: integers or strings, read on demand.
//!
//! The ids of an import ascend: vertex `v` is the `v`-th smallest id. So one ordered section serves
//! both ways: from vertex to id by position, from id to vertex by binary search over the pages. A
//! search touches about `log2(pages)` of them; the few read last stay in the graph's pool. Where
//! the vertices lie in another order, the section tells the ids of ranks, and the tables of
//! [`crate::order`] lead from rank to vertex and back. Vertices that came after the import have the
//! next numbers, whatever their ids: these are in memory, and ranked among the others.
//!
//! - [`Ids`]: lookups and passes, whatever the kind
//! - [`IdTable`]: all ids in memory, for whoever names vertices in random order
//! - `ascending`: the ids of an import by their ranks; `tail`: those that were appended
//! - `stored`: how stored ids are searched
//! - `strings`: the records of a page of strings
//! - `write`: the sections as the writer makes them

mod ascending;
mod stored;
mod strings;
mod table;
mod tail;
mod write;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::VertexId;
use crate::error::{Result, StoreError};
use crate::order::Ranks;
use crate::pages::Pages;
use crate::superblock::{IdKind, SectionKind};

use ascending::Ascending;
use tail::{Merge, Tail};

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
    pages: Arc<Pages>,
    ascending: Ascending,
    /// Where vertices do not lie in the order of their ids.
    ranks: Option<Ranks>,
    /// Of vertices that came after the import.
    tail: Option<Tail>,
}

impl Ids {
    pub(crate) fn open(pages: &Arc<Pages>) -> Result<Self> {
        let ascending = Ascending::open(pages);
        let kinds = [SectionKind::AppendedIntegers, SectionKind::AppendedStrings];
        let appended = |kind: &SectionKind| pages.layout.superblock.section(*kind).is_some();
        let tail = kinds.into_iter().find(appended).map(|kind| {
            let base = ascending.count() as VertexId;
            Tail::load(&StoredIds::new(pages, kind), base, &ascending)
        });
        let (ranks, pages) = (Ranks::open(pages), Arc::clone(pages));
        Ok(Self { pages, ascending, ranks, tail: tail.transpose()? })
    }

    /// How the user names vertices.
    pub fn kind(&self) -> IdKind {
        self.pages.layout.superblock.ids
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u64 {
        self.pages.layout.superblock.vertices
    }

    /// Whether every vertex is the rank of its id: the place of the id among all in ascending
    /// order.
    pub fn is_natural(&self) -> bool {
        self.ranks.is_none() && self.tail.is_none()
    }

    /// Memory that is held between calls: the ids that were appended, and the pages read last,
    /// which are the graph's, whose memory counts them too.
    pub fn memory_bytes(&self) -> usize {
        self.ascending.memory_bytes() + self.tail.as_ref().map_or(0, Tail::memory_bytes)
    }

    /// The vertex that the user calls `id`, if there is one.
    pub fn vertex_of(&self, id: &str) -> Result<Option<VertexId>> {
        let id = match self.kind() {
            IdKind::Dense | IdKind::Integers => integer_of(id).map(IdRef::Integer),
            IdKind::Strings => Some(IdRef::String(id)),
        };
        let Some(id) = id else { return Ok(None) };
        match (self.ascending.search(id)?, &self.ranks) {
            (Ok(rank), Some(ranks)) => ranks.vertex_of(rank).map(Some),
            (Ok(rank), None) => Ok(Some(rank)),
            (Err(_), _) => Ok(self.tail.as_ref().and_then(|tail| tail.vertex_of(id))),
        }
    }

    /// What the user calls `vertex`.
    pub fn id_of(&self, vertex: VertexId) -> Result<Id> {
        self.pages.layout.check_vertex(vertex)?;
        match self.tail.as_ref().and_then(|tail| tail.id_of(vertex)) {
            Some(id) => Ok(id.clone()),
            None => self.ascending.id_of(self.ascending_rank_of(vertex)?),
        }
    }

    /// The rank of a vertex: the place of its id among all ids in ascending order.
    pub fn rank_of(&self, vertex: VertexId) -> Result<VertexId> {
        self.pages.layout.check_vertex(vertex)?;
        match &self.tail {
            None => self.ascending_rank_of(vertex),
            Some(tail) => match tail.rank_of(vertex) {
                Some(rank) => Ok(rank),
                None => Ok(tail.rank_of_ascending(self.ascending_rank_of(vertex)?)),
            },
        }
    }

    /// The rank of a vertex of the import among these.
    fn ascending_rank_of(&self, vertex: VertexId) -> Result<VertexId> {
        self.ranks.as_ref().map_or(Ok(vertex), |ranks| ranks.rank_of(vertex))
    }

    /// Appends the ranks of `vertices`, which ascend, to `out`. Their pages stay in memory, as far
    /// as there is room.
    pub fn ranks_of(&self, vertices: &[VertexId], out: &mut Vec<VertexId>) -> Result<()> {
        if let Some(&last) = vertices.last() {
            // They ascend: if this one exists all do.
            self.pages.layout.check_vertex(last)?;
        }
        let base = self.ascending.count();
        let (vertices, appended) =
            vertices.split_at(vertices.partition_point(|&v| u64::from(v) < base));
        let start = out.len();
        match &self.ranks {
            Some(ranks) => ranks.ranks_of(vertices, out)?,
            None => out.extend_from_slice(vertices),
        }
        if let Some(tail) = &self.tail {
            out[start..].iter_mut().for_each(|rank| *rank = tail.rank_of_ascending(*rank));
            out.extend(appended.iter().filter_map(|&vertex| tail.rank_of(vertex)));
        }
        Ok(())
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
            self.pages.layout.check_vertex(last)?;
        }
        let Some(tail) = &self.tail else {
            return self.ascending.for_each_of(ranks, &mut visit);
        };
        let ascending: Vec<VertexId> = ranks
            .iter()
            .filter(|rank| tail.at_rank(**rank).is_none())
            .map(|&rank| tail.ascending(rank..rank).start)
            .collect();
        let mut merge = Merge::new(Some(tail), ranks.iter().copied());
        self.ascending.for_each_of(&ascending, &mut |id| {
            merge.turn(&mut |_, id| visit(id))?;
            visit(id)
        })?;
        merge.turn(&mut |_, id| visit(id))
    }

    /// Streams the ids of a range of ranks in ascending order, each with its vertex: where the
    /// vertices lie in the order of their ids, those of a range of vertices. `visit` may stop the
    /// pass by an error.
    pub fn for_each<E: From<StoreError>>(
        &self,
        ranks: Range<VertexId>,
        mut visit: impl FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = u64::from(ranks.end).min(self.vertices()) as VertexId;
        let ranks = ranks.start.min(end)..end;
        let tail = self.tail.as_ref();
        let ascending = tail.map_or(ranks.clone(), |tail| tail.ascending(ranks.clone()));
        let mut vertices = match &self.ranks {
            Some(table) if !ascending.is_empty() => Some(table.vertices(ascending.clone())?),
            _ => None,
        };
        let mut merge = Merge::new(tail, ranks);
        self.ascending.for_each(ascending, &mut |rank, id| {
            merge.turn(&mut visit)?;
            let vertex = vertices.as_mut().map_or(Ok(rank), |vertices| vertices.next())?;
            visit(vertex, id)
        })?;
        merge.turn(&mut visit)
    }

    /// Passes all vertices on, in the ascending order of their ids.
    pub fn for_each_vertex(&self, mut visit: impl FnMut(VertexId)) -> Result<()> {
        let ascending = 0..self.ascending.count() as VertexId;
        let mut vertices = match &self.ranks {
            Some(table) => Some(table.vertices(ascending.clone())?),
            None => None,
        };
        let mut merge = Merge::new(self.tail.as_ref(), 0..self.vertices() as VertexId);
        let mut appended = |vertex, _: IdRef<'_>| {
            visit(vertex);
            Ok::<(), StoreError>(())
        };
        for rank in ascending {
            merge.turn(&mut appended)?;
            let vertex = vertices.as_mut().map_or(Ok(rank), |vertices| vertices.next())?;
            appended(vertex, IdRef::Integer(0))?;
        }
        merge.turn(&mut appended)
    }

    /// Reads all ids into memory, for access in random order.
    pub fn load(&self) -> Result<IdTable> {
        let mut ranks = self.ranks.as_ref().map(Ranks::load).transpose()?;
        if let Some(tail) = &self.tail {
            let base = self.ascending.count() as VertexId;
            let ascending = ranks.unwrap_or_else(|| (0..base).collect());
            let appended = base..self.vertices() as VertexId;
            let all = ascending.into_iter().map(|rank| tail.rank_of_ascending(rank));
            ranks = Some(all.chain(appended.filter_map(|vertex| tail.rank_of(vertex))).collect());
        }
        IdTable::load(self, ranks)
    }
}

/// Only digits: `+7` and ` 7` are not what the user's file said.
fn integer_of(id: &str) -> Option<u64> {
    id.bytes().all(|byte| byte.is_ascii_digit()).then(|| id.parse().ok()).flatten()
}
