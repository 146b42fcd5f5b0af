//! What a caller gets of a list.

use std::borrow::Cow;

use cenote_store::{Id, IdRef, Ids, StoreError, VertexId, Weight};

use super::known::KnownIds;
use crate::error::Result;

/// The list of one vertex, in the order of the user's ids.
#[derive(Debug)]
pub struct NeighborList<'a> {
    ids: &'a Ids,
    /// The ids of its neighbours, if they are known.
    known: Option<&'a KnownIds>,
    vertex: VertexId,
    /// Of the neighbours, ascending: their places among the known ids, else among all.
    ranks: Cow<'a, [VertexId]>,
    weights: Vec<Weight>,
}

impl<'a> NeighborList<'a> {
    pub(super) fn new(
        ids: &'a Ids,
        known: Option<&'a KnownIds>,
        vertex: VertexId,
        list: &'a [VertexId],
        weights: Vec<Weight>,
    ) -> Result<Self> {
        if ids.is_natural() && known.is_none() {
            return Ok(Self { ids, known, vertex, ranks: list.into(), weights });
        }
        let mut ranks = Vec::with_capacity(list.len());
        match known {
            Some(known) => known.places_of(list, &mut ranks),
            None => ids.ranks_of(list, &mut ranks)?,
        }
        if weights.is_empty() {
            ranks.sort_unstable();
            return Ok(Self { ids, known, vertex, ranks: ranks.into(), weights });
        }
        // Repeated edges keep their order.
        let mut ranked: Vec<(VertexId, Weight)> = ranks.into_iter().zip(weights).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let (ranks, weights): (Vec<_>, Vec<_>) = ranked.into_iter().unzip();
        Ok(Self { ids, known, vertex, ranks: ranks.into(), weights })
    }

    /// The user's id of the vertex.
    ///
    /// # Errors
    /// Its id cannot be read.
    pub fn vertex(&self) -> Result<Id> {
        Ok(self.ids.id_of(self.vertex)?)
    }

    /// The number of the vertex.
    pub fn number(&self) -> VertexId {
        self.vertex
    }

    /// Its length.
    pub fn degree(&self) -> usize {
        self.ranks.len()
    }

    /// The ids of the neighbours at some places of the list, which ascend.
    ///
    /// # Errors
    /// Their ids cannot be read.
    ///
    /// # Panics
    /// If the list has no such place.
    pub fn ids_at(&self, places: &[usize]) -> Result<Vec<Id>> {
        let ranks: Vec<VertexId> = places.iter().map(|&place| self.ranks[place]).collect();
        let mut ids = Vec::with_capacity(ranks.len());
        self.for_each_id(&ranks, |id| {
            ids.push(id.to_id());
            Ok::<_, StoreError>(())
        })?;
        Ok(ids)
    }

    /// The weights of the edges; empty if the graph has none, or they are not read.
    pub fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// Calls `visit` with each neighbour and the weight of the edge, if it has one. The ids of a
    /// long list are streamed, so they are never all in memory.
    ///
    /// # Errors
    /// Errors of `visit`, or an id cannot be read.
    pub fn for_each<E: From<StoreError>>(
        &self,
        mut visit: impl FnMut(IdRef<'_>, Option<Weight>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut weights = self.weights.iter().copied();
        self.for_each_id(&self.ranks, |id| visit(id, weights.next()))
    }

    /// Calls `visit` with the ids of some of its ranks, which ascend.
    fn for_each_id<E: From<StoreError>>(
        &self,
        ranks: &[VertexId],
        mut visit: impl FnMut(IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.known {
            Some(known) => ranks.iter().try_for_each(|&rank| visit(known.get(rank))),
            None => self.ids.for_each_of(ranks, visit),
        }
    }
}
