//! Ids of vertices that came after the import: in memory, and ranked among the others.

use std::ops::Range;

use super::ascending::Ascending;
use super::{Id, IdRef, StoredIds};
use crate::VertexId;
use crate::error::{Result, StoreError, other};
use crate::superblock::SectionKind;

/// The ids that were appended.
#[derive(Debug)]
pub(super) struct Tail {
    /// Vertices before the first that was appended.
    base: VertexId,
    /// By vertex.
    ids: Vec<Id>,
    /// Ascending by id.
    sorted: Vec<Entry>,
    /// Where each vertex stands in `sorted`.
    place: Vec<VertexId>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Ascending ids that are smaller.
    below: VertexId,
    /// Which of the ids that were appended.
    at: VertexId,
}

impl Tail {
    /// Reads the ids and finds their places among the ascending ones.
    pub fn load(stored: &StoredIds, base: VertexId, ascending: &Ascending) -> Result<Self> {
        let mut ids = Vec::new();
        let mut push = |_, id: IdRef<'_>| {
            ids.push(id.to_id());
            Ok::<(), StoreError>(())
        };
        let count = stored.count() as VertexId;
        match stored.kind() {
            SectionKind::AppendedIntegers => stored.for_each_integer(0..count, &mut push)?,
            _ => stored.for_each_string(base..base + count, &mut push)?,
        }
        let twice = |id: &Id| {
            let mut text = id.to_string();
            text.truncate(text.floor_char_boundary(80));
            stored.fault(0, other(format!("the id {text:?} occurs twice")))
        };
        let mut sorted = Vec::with_capacity(ids.len());
        for (at, id) in (0..).zip(&ids) {
            match ascending.search(id.as_ref())? {
                Ok(_) => return Err(twice(id)),
                Err(below) => sorted.push(Entry { below, at }),
            }
        }
        let id = |entry: &Entry| &ids[entry.at as usize];
        sorted.sort_unstable_by_key(id);
        if let Some(pair) = sorted.windows(2).find(|pair| id(&pair[0]) == id(&pair[1])) {
            return Err(twice(id(&pair[0])));
        }
        let mut place = vec![0; ids.len()];
        (0..).zip(&sorted).for_each(|(i, entry)| place[entry.at as usize] = i);
        Ok(Self { base, ids, sorted, place })
    }

    pub fn memory_bytes(&self) -> usize {
        let text = |id: &Id| match id {
            Id::Integer(_) => 0,
            Id::String(string) => string.capacity(),
        };
        self.ids.iter().map(text).sum::<usize>()
            + self.ids.capacity() * size_of::<Id>()
            + self.sorted.capacity() * size_of::<Entry>()
            + self.place.capacity() * size_of::<VertexId>()
    }

    /// The id of a vertex that was appended.
    pub fn id_of(&self, vertex: VertexId) -> Option<&Id> {
        self.ids.get(vertex.checked_sub(self.base)? as usize)
    }

    pub fn vertex_of(&self, id: IdRef<'_>) -> Option<VertexId> {
        let of = |entry: &Entry| self.ids[entry.at as usize].as_ref();
        let found = self.sorted.binary_search_by_key(&id, of).ok()?;
        Some(self.base + self.sorted[found].at)
    }

    /// The rank of a vertex that was appended.
    pub fn rank_of(&self, vertex: VertexId) -> Option<VertexId> {
        let place = *self.place.get(vertex.checked_sub(self.base)? as usize)?;
        Some(self.sorted[place as usize].below + place)
    }

    /// The rank among all ids of an ascending id, by its rank among those.
    pub fn rank_of_ascending(&self, rank: VertexId) -> VertexId {
        rank + self.sorted.partition_point(|entry| entry.below <= rank) as VertexId
    }

    /// How many of the ids that were appended have a smaller rank.
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

    /// The vertex of a rank and its id, if it was appended.
    pub fn at_rank(&self, rank: VertexId) -> Option<(VertexId, &Id)> {
        let i = self.before(rank);
        let entry = self.sorted.get(i).filter(|entry| entry.below + i as VertexId == rank)?;
        Some((self.base + entry.at, &self.ids[entry.at as usize]))
    }

    /// The ascending ids among a range of ranks, by their ranks among those.
    pub fn ascending(&self, ranks: Range<VertexId>) -> Range<VertexId> {
        let among = |rank| rank - self.before(rank) as VertexId;
        among(ranks.start)..among(ranks.end)
    }
}

/// Ranks that ascend, of which some are of ids that were appended. Those come between the others.
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

    /// Passes on what was appended before the next ascending id, and passes over that.
    pub fn turn<E>(
        &mut self,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(tail) = self.tail else { return Ok(()) };
        while let Some(rank) = self.next {
            self.next = self.ranks.next();
            match tail.at_rank(rank) {
                Some((vertex, id)) => visit(vertex, id.as_ref())?,
                None => break,
            }
        }
        Ok(())
    }
}
