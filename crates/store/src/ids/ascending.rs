//! The ids of an import, by rank.

use std::ops::Range;
use std::sync::Arc;

use super::{Id, IdRef, StoredIds};
use crate::VertexId;
use crate::error::{Result, StoreError};
use crate::pages::Pages;
use crate::superblock::{IdKind, SectionKind};

/// Stored ids that are read as fast in a row as one is found by a search.
pub(super) const STREAMED_IDS: u64 = 512;

/// Ids in ascending order.
#[derive(Debug)]
pub(super) enum Ascending {
    /// Integers equal to the ranks; the field is their number.
    Dense(u64),
    Integers(StoredIds),
    Strings(StoredIds),
}

impl Ascending {
    pub fn open(pages: &Arc<Pages>) -> Self {
        let superblock = &pages.layout.superblock;
        let has_integers = superblock.section(SectionKind::Integers).is_some();
        match superblock.ids {
            IdKind::Strings => Self::Strings(StoredIds::new(pages, SectionKind::Strings)),
            IdKind::Integers if has_integers => {
                Self::Integers(StoredIds::new(pages, SectionKind::Integers))
            }
            _ => Self::Dense(superblock.vertices - superblock.appended()),
        }
    }

    pub fn count(&self) -> u64 {
        match self {
            Self::Dense(count) => *count,
            Self::Integers(stored) | Self::Strings(stored) => stored.count(),
        }
    }

    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Dense(_) => 0,
            Self::Integers(stored) | Self::Strings(stored) => stored.memory_bytes(),
        }
    }

    /// The rank of an id, or the number of smaller ids as the error.
    pub fn search(&self, id: IdRef<'_>) -> Result<Result<VertexId, VertexId>> {
        match (self, id) {
            (Self::Dense(count), IdRef::Integer(id)) if id < *count => Ok(Ok(id as VertexId)),
            (Self::Dense(count), _) => Ok(Err(*count as VertexId)),
            (Self::Integers(stored), IdRef::Integer(id)) => stored.search_integer(id),
            (Self::Strings(stored), IdRef::String(id)) => stored.search_string(id),
            // Ids of another kind than the graph's.
            _ => Ok(Err(0)),
        }
    }

    /// [`Ascending::search`] for ids that ascend: all ids are streamed past them if there is one of
    /// them for about each page.
    pub fn search_all(&self, ids: &[IdRef<'_>]) -> Result<Vec<Result<VertexId, VertexId>>> {
        debug_assert!(ids.is_sorted(), "ids ascend");
        let is_streamed = (ids.len() as u64).saturating_mul(STREAMED_IDS) >= self.count();
        if let (Self::Integers(stored), false) = (self, is_streamed) {
            let integer = |id: &IdRef<'_>| match id {
                IdRef::Integer(id) => Some(*id),
                IdRef::String(_) => None,
            };
            if let Some(integers) = ids.iter().map(integer).collect::<Option<Vec<u64>>>() {
                return stored.search_integers(&integers);
            }
        }
        if matches!(self, Self::Dense(_)) || !is_streamed {
            return ids.iter().map(|id| self.search(*id)).collect();
        }
        let end = self.count() as VertexId;
        let mut places = Vec::with_capacity(ids.len());
        self.for_each(0..end, &mut |rank, stored| {
            while let Some(id) = ids.get(places.len()).filter(|id| **id <= stored) {
                places.push(if *id == stored { Ok(rank) } else { Err(rank) });
            }
            Ok::<(), StoreError>(())
        })?;
        places.resize(ids.len(), Err(end));
        Ok(places)
    }

    pub fn id_of(&self, rank: VertexId) -> Result<Id> {
        match self {
            Self::Dense(_) => Ok(Id::Integer(u64::from(rank))),
            Self::Integers(stored) => stored.integer_of(rank).map(Id::Integer),
            Self::Strings(stored) => stored.string_of(rank).map(Id::String),
        }
    }

    /// Calls `visit` with the ids of `ranks`, which ascend.
    pub fn for_each_of<E: From<StoreError>>(
        &self,
        ranks: &[VertexId],
        visit: &mut dyn FnMut(IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Dense(_) => ranks.iter().try_for_each(|&rank| visit(IdRef::Integer(rank.into()))),
            Self::Integers(stored) => stored.integers_of(ranks, visit),
            Self::Strings(stored) => stored.strings_of(ranks, visit),
        }
    }

    /// Calls `visit` with a range of ranks and their ids.
    pub fn for_each<E: From<StoreError>>(
        &self,
        mut ranks: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if ranks.is_empty() {
            return Ok(());
        }
        match self {
            Self::Dense(_) => {
                ranks.try_for_each(|rank| visit(rank, IdRef::Integer(u64::from(rank))))
            }
            Self::Integers(stored) => stored.for_each_integer(ranks, visit),
            Self::Strings(stored) => stored.for_each_string(ranks, visit),
        }
    }
}
