//! Ids of vertices appended after the import, held in memory.

use std::ops::Range;

use super::ascending::Ascending;
use super::{Id, IdColumn, IdRef, StoredIds};
use crate::VertexId;
use crate::error::{PageFault, Result, StoreError, other};
use crate::superblock::{IdKind, SectionKind};

#[derive(Debug)]
pub(super) struct Tail {
    /// The first appended vertex.
    base: VertexId,
    /// By vertex.
    ids: IdColumn,
    /// Ascending by id.
    sorted: Vec<Entry>,
    /// Place of each appended vertex in `sorted`.
    place: Vec<VertexId>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Number of smaller ids of the import.
    below: VertexId,
    /// Position in `Tail::ids`.
    at: VertexId,
}

impl Tail {
    /// Loads the ids, those of the log last, and finds their places among those of the import.
    /// `fault` makes an error of an id that occurs twice.
    pub fn load(
        stored: Option<&StoredIds>,
        logged: &[Id],
        base: VertexId,
        ascending: &Ascending,
        fault: &dyn Fn(PageFault) -> StoreError,
    ) -> Result<Self> {
        let is_string = |id: &Id| matches!(id, Id::String(_));
        let are_strings = match stored {
            Some(stored) => stored.kind() == SectionKind::AppendedStrings,
            None => logged.first().is_some_and(is_string),
        };
        if logged.iter().any(|id| is_string(id) != are_strings) {
            return Err(fault(other("the ids of new vertices are numbers and names")));
        }
        let kind = if are_strings { IdKind::Strings } else { IdKind::Integers };
        let mut ids = IdColumn::new(kind);
        let mut push = |_, id: IdRef<'_>| {
            ids.push(id);
            Ok::<(), StoreError>(())
        };
        if let Some(stored) = stored {
            let count = stored.count() as VertexId;
            match stored.kind() {
                SectionKind::AppendedIntegers => stored.for_each_integer(0..count, &mut push)?,
                _ => stored.for_each_string(base..base + count, &mut push)?,
            }
        }
        logged.iter().for_each(|id| ids.push(id.as_ref()));
        let twice = |id: &Id| {
            let mut text = id.to_string();
            text.truncate(text.floor_char_boundary(80));
            fault(other(format!("the id {text:?} occurs twice")))
        };
        let order: Vec<VertexId> = ids.ascending();
        let of_order: Vec<IdRef<'_>> = order.iter().map(|at| ids.get(*at as usize)).collect();
        if let Some(pair) = of_order.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(twice(&pair[0].to_id()));
        }
        let mut sorted = Vec::with_capacity(ids.len());
        for (&at, place) in order.iter().zip(ascending.search_all(&of_order)?) {
            match place {
                Ok(_) => return Err(twice(&ids.get(at as usize).to_id())),
                Err(below) => sorted.push(Entry { below, at }),
            }
        }
        let mut place = vec![0; ids.len()];
        (0..).zip(&sorted).for_each(|(i, entry)| place[entry.at as usize] = i);
        Ok(Self { base, ids, sorted, place })
    }

    /// By vertex.
    pub fn ids(&self) -> &IdColumn {
        &self.ids
    }

    pub fn memory_bytes(&self) -> usize {
        self.ids.memory_bytes()
            + self.sorted.capacity() * size_of::<Entry>()
            + self.place.capacity() * size_of::<VertexId>()
    }

    pub fn id_of(&self, vertex: VertexId) -> Option<IdRef<'_>> {
        let at = vertex.checked_sub(self.base)? as usize;
        (at < self.ids.len()).then(|| self.ids.get(at))
    }

    pub fn vertex_of(&self, id: IdRef<'_>) -> Option<VertexId> {
        let of = |entry: &Entry| self.ids.get(entry.at as usize);
        let found = self.sorted.binary_search_by_key(&id, of).ok()?;
        Some(self.base + self.sorted[found].at)
    }

    /// How many of them are smaller than an id.
    pub fn count_below(&self, id: IdRef<'_>) -> VertexId {
        let is_below = |entry: &Entry| self.ids.get(entry.at as usize) < id;
        self.sorted.partition_point(is_below) as VertexId
    }

    pub fn rank_of(&self, vertex: VertexId) -> Option<VertexId> {
        let place = *self.place.get(vertex.checked_sub(self.base)? as usize)?;
        Some(self.sorted[place as usize].below + place)
    }

    /// The rank among all ids of an imported id, given its rank among the imported ones.
    pub fn rank_of_ascending(&self, rank: VertexId) -> VertexId {
        rank + self.sorted.partition_point(|entry| entry.below <= rank) as VertexId
    }

    /// The number of appended ids with a smaller rank.
    fn before(&self, rank: VertexId) -> usize {
        let (mut low, mut high) = (0, self.sorted.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.sorted[middle].below + (middle as VertexId) < rank {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The vertex and id of a rank, if it is an appended one.
    pub fn at_rank(&self, rank: VertexId) -> Option<(VertexId, IdRef<'_>)> {
        let i = self.before(rank);
        let entry = self.sorted.get(i).filter(|entry| entry.below + i as VertexId == rank)?;
        Some((self.base + entry.at, self.ids.get(entry.at as usize)))
    }

    /// The imported ids among a range of ranks, as ranks among the imported ones.
    pub fn ascending(&self, ranks: Range<VertexId>) -> Range<VertexId> {
        let among = |rank| rank - self.before(rank) as VertexId;
        among(ranks.start)..among(ranks.end)
    }
}

/// Merges appended ids into a pass over imported ids, by ascending rank.
pub(super) struct Merge<'t, R> {
    tail: Option<&'t Tail>,
    ranks: R,
    next: Option<VertexId>,
}

impl<'t, R: Iterator<Item = VertexId>> Merge<'t, R> {
    pub fn new(tail: Option<&'t Tail>, mut ranks: R) -> Self {
        let next = ranks.next();
        Self { tail, ranks, next }
    }

    /// Calls `visit` with the appended ids before the next imported one, and steps over that.
    pub fn visit_appended<E>(
        &mut self,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(tail) = self.tail else { return Ok(()) };
        while let Some(rank) = self.next {
            self.next = self.ranks.next();
            match tail.at_rank(rank) {
                Some((vertex, id)) => visit(vertex, id)?,
                None => break,
            }
        }
        Ok(())
    }
}
