//! String ids: numbered by the import's dictionary.

use std::sync::{PoisonError, RwLock};

use cenote_store::VertexId;

use super::forest::{self, Forest};
use super::integers::WHAT;
use crate::blocks::Worker;
use crate::budget::{Budget, Held};
use crate::error::Result;
use crate::ids::names::NameNumbers;
use crate::ids::strings::Dictionary;
use crate::parse::{Fault, Sink};

/// Pairs that are joined together.
const BATCH: usize = 256;
const VERTICES_MIN: usize = 1 << 16;

/// The sets of the numbers that a dictionary gives.
#[derive(Debug)]
pub(super) struct NamedSets<'a>(RwLock<(Forest, usize, Held<'a>)>);

impl<'a> NamedSets<'a> {
    pub fn new(budget: &'a Budget) -> Result<Self> {
        Ok(Self(RwLock::new((Forest::default(), 0, budget.hold(0, WHAT)?))))
    }

    pub fn finish(self) -> (Forest, Held<'a>) {
        let (forest, _, memory) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        (forest, memory)
    }

    fn join(&self, pairs: &[[VertexId; 2]]) -> Result<()> {
        let Some(&last) = pairs.as_flattened().iter().max() else { return Ok(()) };
        let needed = last as usize + 1;
        loop {
            let sets = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let (forest, room, _) = &*sets;
            if needed <= *room {
                pairs.as_flattened().iter().for_each(|&vertex| forest.prefetch(vertex));
                pairs.iter().for_each(|pair| forest.unite(pair[0], pair[1]));
                return Ok(());
            }
            drop(sets);
            let mut sets = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let (forest, room, memory) = &mut *sets;
            if needed > *room {
                let vertices = needed.max(*room / 4 * 5).max(VERTICES_MIN);
                memory.resize(vertices * forest::VERTEX_BYTES, WHAT)?;
                forest.grow(vertices)?;
                *room = vertices;
            }
        }
    }
}

/// Joins the pairs of names that a worker parses.
pub(super) struct NameJoiner<'a, 'b> {
    names: NameNumbers<'a, 'b>,
    sets: &'a NamedSets<'b>,
    pairs: Vec<[VertexId; 2]>,
    edges: u64,
}

impl<'a, 'b> NameJoiner<'a, 'b> {
    pub fn new(names: &'a Dictionary<'b>, sets: &'a NamedSets<'b>) -> Self {
        let (names, pairs) = (NameNumbers::new(names), Vec::with_capacity(BATCH));
        Self { names, sets, pairs, edges: 0 }
    }

    fn push(&mut self, source: u64, target: u64) -> Result<()> {
        // The dictionary numbers vertices.
        self.pairs.push([source as VertexId, target as VertexId]);
        if self.pairs.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let done = self.sets.join(&self.pairs);
        self.pairs.clear();
        done
    }
}

impl Sink for NameJoiner<'_, '_> {
    const INTEGERS: bool = false;

    fn id(&mut self, token: &[u8]) -> std::result::Result<u64, Fault> {
        self.names.number(token)
    }

    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        self.id(id.to_string().as_bytes())
    }

    fn edge(&mut self, source: u64, target: u64, _: u64) -> std::result::Result<(), Fault> {
        self.edges += 1;
        Ok(self.push(source, target)?)
    }

    fn vertex(&mut self, id: u64) -> std::result::Result<(), Fault> {
        Ok(self.push(id, id)?)
    }
}

impl Worker for NameJoiner<'_, '_> {
    type Output = u64;

    /// The number of edges.
    fn finish(mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.edges)
    }
}
