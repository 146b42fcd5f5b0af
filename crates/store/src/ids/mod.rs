//! The user's own vertex ids: integers or strings, read on demand.
//!
//! The ids of an import ascend: vertex `v` has the `v`-th smallest id. So one ordered section maps
//! both ways: from vertex to id by position, from id to vertex by binary search, which reads about
//! `log2(pages)` pages; the pages read last stay in the graph's pool. In a graph with another order
//! of vertices the section holds the ids by rank, and the tables of [`crate::order`] map between
//! rank and vertex. Vertices appended after the import have the next numbers; their ids are kept in
//! memory and merged with the others.
//!
//! - [`Ids`]: look-ups and passes over ids of any kind
//! - [`IdTable`]: all ids in memory, for access in random order
//! - [`Id`], [`IdRef`]: one id; [`IdColumn`]: many, by position
//! - `ascending`: the ids of an import by rank; `tail`: appended ids
//! - `stored`: searches stored ids
//! - `strings`: decodes the records of a page of strings
//! - `write`: writes the sections

mod ascending;
mod column;
mod stored;
mod strings;
mod table;
mod tail;
pub(crate) mod value;
mod write;

use std::ops::Range;
use std::sync::Arc;

use crate::VertexId;
use crate::deleted::Deleted;
use crate::error::{Result, StoreError};
use crate::log::log_fault;
use crate::order::Ranks;
use crate::pages::Pages;
use crate::stream::Ahead;
use crate::superblock::{IdKind, SectionKind};

use ascending::{Ascending, STREAMED_IDS};
use tail::{Merge, Tail};

pub use column::IdColumn;
pub use stored::StoredIds;
pub(crate) use strings::Records;
pub use table::IdTable;
pub use value::{Id, IdRef};
pub(crate) use write::{
    write_appended_integers, write_appended_strings, write_integers, write_strings,
};

/// The ids of a graph.
#[derive(Debug)]
pub struct Ids {
    pages: Arc<Pages>,
    ascending: Ascending,
    /// `None` where the vertices lie in the order of their ids.
    ranks: Option<Ranks>,
    /// The ids of appended vertices.
    tail: Option<Tail>,
}

impl Ids {
    pub(crate) fn open(pages: &Arc<Pages>) -> Result<Self> {
        let ascending = Ascending::open(pages);
        let kinds = [SectionKind::AppendedIntegers, SectionKind::AppendedStrings];
        let appended = |kind: &SectionKind| pages.layout.superblock.section(*kind).is_some();
        let stored = kinds.into_iter().find(appended).map(|kind| StoredIds::new(pages, kind));
        let logged = pages.layout.new_ids.as_slice();
        let tail = match (&stored, logged) {
            (None, []) => None,
            (stored, logged) => {
                let base = ascending.count() as VertexId;
                let twice = |fault| {
                    let (file, committed) = (&pages.layout.file, &pages.layout.committed);
                    match &stored {
                        Some(stored) if logged.is_empty() => stored.fault(0, fault),
                        _ => log_fault(file, committed, fault),
                    }
                };
                Some(Tail::load(stored.as_ref(), logged, base, &ascending, &twice)?)
            }
        };
        let (ranks, pages) = (Ranks::open(pages), Arc::clone(pages));
        Ok(Self { pages, ascending, ranks, tail })
    }

    /// The kind of the ids.
    pub fn kind(&self) -> IdKind {
        self.pages.layout.superblock.ids
    }

    /// One of `ids`, which ascend, that a vertex has already.
    pub(crate) fn any_of<'i>(&self, ids: &[IdRef<'i>]) -> Result<Option<IdRef<'i>>> {
        let tail = |id: &IdRef<'i>| self.tail.as_ref().and_then(|tail| tail.vertex_of(*id));
        let places = self.ascending.search_all(ids)?;
        let mut taken = ids.iter().zip(places);
        let taken = taken.find(|(id, place)| place.is_ok() || tail(id).is_some());
        Ok(taken.map(|(id, _)| *id))
    }

    /// The ids of vertices that came after the import, in the order of the vertices.
    pub(crate) fn appended(&self) -> Option<&IdColumn> {
        self.tail.as_ref().map(Tail::ids)
    }

    /// Number of vertices, the deleted ones included: the end of the ranks.
    pub fn vertices(&self) -> u64 {
        self.pages.layout.superblock.vertices
    }

    /// Number of vertices without the deleted ones.
    pub fn live_vertices(&self) -> u64 {
        self.vertices() - self.deleted().all().len() as u64
    }

    fn deleted(&self) -> &Deleted {
        &self.pages.layout.deleted
    }

    /// Whether every vertex is its own rank: its number is the place of its id among all ids.
    pub fn is_natural(&self) -> bool {
        self.ranks.is_none() && self.tail.is_none()
    }

    /// The vertices below this number lie in the order of their ids: all of an import in the
    /// natural order, but for those that came after it; none in another order.
    pub fn natural_end(&self) -> VertexId {
        if self.ranks.is_some() { 0 } else { self.ascending.count() as VertexId }
    }

    /// The ids below this number are the numbers of their vertices.
    pub(crate) fn own_numbers(&self) -> VertexId {
        match self.ascending {
            Ascending::Dense(count) if self.ranks.is_none() => count as VertexId,
            _ => 0,
        }
    }

    /// Bytes of memory held between calls: the appended ids, and the pages read last, which
    /// [`Graph::memory_bytes`](crate::Graph::memory_bytes) counts too.
    pub fn memory_bytes(&self) -> usize {
        self.ascending.memory_bytes() + self.appended_bytes()
    }

    /// Of these, the bytes of the appended ids.
    pub(crate) fn appended_bytes(&self) -> usize {
        self.tail.as_ref().map_or(0, Tail::memory_bytes)
    }

    /// An id in the form of text as an id of the graph's kind; `None` if no vertex can have it.
    pub fn parse<'i>(&self, id: &'i str) -> Option<IdRef<'i>> {
        match self.kind() {
            IdKind::Dense | IdKind::Integers => integer_of(id).map(IdRef::Integer),
            IdKind::Strings => Some(IdRef::String(id)),
        }
    }

    /// The vertex with this id, if there is one that is not deleted.
    pub fn vertex_of(&self, id: &str) -> Result<Option<VertexId>> {
        Ok(self.number_of(id)?.filter(|vertex| !self.deleted().contains(*vertex)))
    }

    /// The vertex with this id, deleted or not.
    fn number_of(&self, id: &str) -> Result<Option<VertexId>> {
        let Some(id) = self.parse(id) else { return Ok(None) };
        match (self.ascending.search(id)?, &self.ranks) {
            (Ok(rank), Some(ranks)) => ranks.vertex_of(rank).map(Some),
            (Ok(rank), None) => Ok(Some(rank)),
            (Err(_), _) => Ok(self.tail.as_ref().and_then(|tail| tail.vertex_of(id))),
        }
    }

    /// The vertices of ids, which ascend; `None` where the graph has no such vertex. Streams all
    /// ids if many are looked up.
    pub fn vertices_of(&self, ids: &[IdRef<'_>]) -> Result<Vec<Option<VertexId>>> {
        let mut vertices = self.numbers_of(ids)?;
        let is_deleted = |vertex: &VertexId| self.deleted().contains(*vertex);
        vertices.iter_mut().for_each(|vertex| *vertex = vertex.filter(|v| !is_deleted(v)));
        Ok(vertices)
    }

    /// The vertices of ids, which ascend, deleted ones too; `None` where the graph has no such id.
    /// Streams the ids between the first and the last if many of them are looked up.
    pub(crate) fn numbers_of(&self, ids: &[IdRef<'_>]) -> Result<Vec<Option<VertexId>>> {
        let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else { return Ok(Vec::new()) };
        let is_few = |among: u64| (ids.len() as u64).saturating_mul(STREAMED_IDS) < among;
        let all = 0..self.vertices() as VertexId;
        let ranks = match is_few(self.vertices()) {
            true => all,
            false => self.ranks_below(first)?..self.ranks_below(last)?.saturating_add(1),
        };
        if is_few((ranks.end - ranks.start).into()) {
            let places = self.ascending.search_all(ids)?;
            let vertex_of = |(id, place): (&IdRef<'_>, _)| match (place, &self.ranks) {
                (Ok(rank), Some(ranks)) => ranks.vertex_of(rank).map(Some),
                (Ok(rank), None) => Ok(Some(rank)),
                (Err(_), _) => Ok(self.tail.as_ref().and_then(|tail| tail.vertex_of(*id))),
            };
            return ids.iter().zip(places).map(vertex_of).collect();
        }
        let mut vertices = vec![None; ids.len()];
        let mut next = 0;
        self.for_each_number(ranks, |vertex, id| {
            while next < ids.len() && ids[next] < id {
                next += 1;
            }
            if ids.get(next) == Some(&id) {
                vertices[next] = Some(vertex);
            }
            Ok::<(), StoreError>(())
        })?;
        Ok(vertices)
    }

    /// How many ids are smaller than this one: its rank, if it is there.
    fn ranks_below(&self, id: IdRef<'_>) -> Result<VertexId> {
        let (Ok(below) | Err(below)) = self.ascending.search(id)?;
        Ok(below + self.tail.as_ref().map_or(0, |tail| tail.count_below(id)))
    }

    /// The id of a vertex.
    pub fn id_of(&self, vertex: VertexId) -> Result<Id> {
        self.pages.layout.check_vertex(vertex)?;
        match self.tail.as_ref().and_then(|tail| tail.id_of(vertex)) {
            Some(id) => Ok(id.to_id()),
            None => self.ascending.id_of(self.ascending_rank_of(vertex)?),
        }
    }

    /// The rank of a vertex: the place of its id among all ids, those of deleted vertices included,
    /// in ascending order.
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

    /// The rank of an imported vertex among the imported ones.
    fn ascending_rank_of(&self, vertex: VertexId) -> Result<VertexId> {
        self.ranks.as_ref().map_or(Ok(vertex), |ranks| ranks.rank_of(vertex))
    }

    /// Appends the ranks of `vertices`, which ascend, to `out`. Their pages stay in the pool as far
    /// as it has room.
    pub fn ranks_of(&self, vertices: &[VertexId], out: &mut Vec<VertexId>) -> Result<()> {
        if let Some(&last) = vertices.last() {
            // They ascend: if the last one exists, all do.
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

    /// Calls `visit` with the ids of `ranks`, which ascend. The pages stay in the pool as far as it
    /// has room, and `visit` runs while one of them is pinned.
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
            merge.visit_appended(&mut |_, id| visit(id))?;
            visit(id)
        })?;
        merge.visit_appended(&mut |_, id| visit(id))
    }

    /// Streams the ids of a range of ranks in ascending order, each with its vertex; passes over
    /// deleted vertices. An error of `visit` ends the pass.
    pub fn for_each<E: From<StoreError>>(
        &self,
        ranks: Range<VertexId>,
        mut visit: impl FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let deleted = self.deleted();
        if deleted.is_empty() {
            return self.for_each_number(ranks, visit);
        }
        self.for_each_number(ranks, |vertex, id| match deleted.contains(vertex) {
            true => Ok(()),
            false => visit(vertex, id),
        })
    }

    /// [`Ids::for_each`] with the deleted vertices.
    pub(crate) fn for_each_number<E: From<StoreError>>(
        &self,
        ranks: Range<VertexId>,
        mut visit: impl FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = u64::from(ranks.end).min(self.vertices()) as VertexId;
        let ranks = ranks.start.min(end)..end;
        let tail = self.tail.as_ref();
        let ascending = tail.map_or(ranks.clone(), |tail| tail.ascending(ranks.clone()));
        let mut vertices = match &self.ranks {
            Some(table) if !ascending.is_empty() => {
                Some(table.vertices(ascending.clone(), Ahead::NEAR)?)
            }
            _ => None,
        };
        let mut merge = Merge::new(tail, ranks);
        self.ascending.for_each(ascending, &mut |rank, id| {
            merge.visit_appended(&mut visit)?;
            let vertex = vertices.as_mut().map_or(Ok(rank), |vertices| vertices.next())?;
            visit(vertex, id)
        })?;
        merge.visit_appended(&mut visit)
    }

    /// Calls `visit` with all vertices that are not deleted, in the ascending order of their ids.
    pub fn for_each_vertex(&self, mut visit: impl FnMut(VertexId)) -> Result<()> {
        let deleted = self.deleted();
        if deleted.is_empty() {
            return self.for_each_vertex_number(visit);
        }
        self.for_each_vertex_number(|vertex| {
            if !deleted.contains(vertex) {
                visit(vertex);
            }
        })
    }

    fn for_each_vertex_number(&self, mut visit: impl FnMut(VertexId)) -> Result<()> {
        let ascending = 0..self.ascending.count() as VertexId;
        let mut vertices = match &self.ranks {
            Some(table) => Some(table.vertices(ascending.clone(), Ahead::FAR)?),
            None => None,
        };
        let Some(tail) = &self.tail else {
            let Some(mut vertices) = vertices else {
                ascending.for_each(visit);
                return Ok(());
            };
            let mut left = ascending.len();
            while left > 0 {
                let part = vertices.next_part()?;
                part.iter().for_each(|&vertex| visit(vertex));
                left -= part.len();
            }
            return Ok(());
        };
        let mut merge = Merge::new(Some(tail), 0..self.vertices() as VertexId);
        let mut appended = |vertex, _: IdRef<'_>| {
            visit(vertex);
            Ok::<(), StoreError>(())
        };
        for rank in ascending {
            merge.visit_appended(&mut appended)?;
            let vertex = vertices.as_mut().map_or(Ok(rank), |vertices| vertices.next())?;
            appended(vertex, IdRef::Integer(0))?;
        }
        merge.visit_appended(&mut appended)
    }

    /// Copies the rank of every vertex, in the order of the vertices. `false`, and nothing copied,
    /// where the file has no such table: in the natural order, and once vertices were added.
    pub fn copy_ranks(&self, to: &mut [VertexId]) -> Result<bool> {
        match (&self.ranks, &self.tail) {
            (Some(ranks), None) => ranks.copy_ranks(to).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Reads all ids, those of deleted vertices too, into memory, for access in random order.
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

/// Parses digits alone: `+7` and ` 7` are other names than `7`.
fn integer_of(id: &str) -> Option<u64> {
    id.bytes().all(|byte| byte.is_ascii_digit()).then(|| id.parse().ok()).flatten()
}
