//! String ids: numbered by the import's dictionary, with the state of each.

use std::sync::{PoisonError, RwLock};

use cenote_store::VertexId;

use super::integers::WHAT;
use super::state::State;
use crate::blocks::Worker;
use crate::budget::{Budget, Held};
use crate::error::Result;
use crate::ids::names::NameNumbers;
use crate::ids::strings::Dictionary;
use crate::parse::{Fault, Sink};

/// Pairs that are passed to the state together.
const BATCH: usize = 256;
const VERTICES_MIN: usize = 1 << 16;

/// The state of the numbers that a dictionary gives.
#[derive(Debug)]
pub(super) struct Named<'a, S>(RwLock<(S, usize, Held<'a>)>);

impl<'a, S: State> Named<'a, S> {
    pub fn new(budget: &'a Budget) -> Result<Self> {
        Ok(Self(RwLock::new((S::default(), 0, budget.hold(0, WHAT)?))))
    }

    pub fn finish(self) -> (S, Held<'a>) {
        let (state, _, memory) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        (state, memory)
    }

    /// Passes each pair to `each`, when there is room for it.
    fn for_each(&self, pairs: &[[VertexId; 2]], each: impl Fn(&S, [VertexId; 2])) -> Result<()> {
        let Some(&last) = pairs.as_flattened().iter().max() else { return Ok(()) };
        let needed = last as usize + 1;
        loop {
            let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let (state, room, _) = &*held;
            if needed <= *room {
                pairs.as_flattened().iter().for_each(|&vertex| state.prefetch(vertex));
                pairs.iter().for_each(|&pair| each(state, pair));
                return Ok(());
            }
            drop(held);
            let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let (state, room, memory) = &mut *held;
            if needed > *room {
                let vertices = needed.max(*room / 4 * 5).max(VERTICES_MIN);
                memory.resize(vertices * S::VERTEX_BYTES, WHAT)?;
                state.grow(vertices)?;
                *room = vertices;
            }
        }
    }
}

/// Passes the pairs of names that a worker parses to the state.
pub(super) struct NameVisitor<'a, 'b, S> {
    names: NameNumbers<'a, 'b>,
    named: &'a Named<'b, S>,
    pairs: Vec<[VertexId; 2]>,
    /// Self-loops that count, as pairs.
    loops: Vec<[VertexId; 2]>,
    edges: u64,
    keeps_loops: bool,
}

impl<'a, 'b, S: State> NameVisitor<'a, 'b, S> {
    pub fn new(names: &'a Dictionary<'b>, named: &'a Named<'b, S>, keeps_loops: bool) -> Self {
        let (names, pairs) = (NameNumbers::new(names), Vec::with_capacity(BATCH));
        Self { names, named, pairs, loops: Vec::new(), edges: 0, keeps_loops }
    }

    fn push(&mut self, source: u64, target: u64, is_loop: bool) -> Result<()> {
        let list = if is_loop { &mut self.loops } else { &mut self.pairs };
        // The dictionary numbers vertices.
        list.push([source as VertexId, target as VertexId]);
        if list.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let done = self.named.for_each(&self.pairs, |state, [source, target]| {
            // The dictionary keeps its numbers.
            let _ = state.edge(source, target);
        });
        self.pairs.clear();
        done?;
        let done = self.named.for_each(&self.loops, |state, [vertex, _]| state.self_loop(vertex));
        self.loops.clear();
        done
    }
}

impl<S: State> Sink for NameVisitor<'_, '_, S> {
    const INTEGERS: bool = false;

    fn id(&mut self, token: &[u8]) -> std::result::Result<u64, Fault> {
        self.names.number(token)
    }

    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        self.id(id.to_string().as_bytes())
    }

    fn edge(&mut self, source: u64, target: u64, _: u64) -> std::result::Result<(), Fault> {
        self.edges += 1;
        Ok(self.push(source, target, source == target && self.keeps_loops)?)
    }

    fn vertex(&mut self, id: u64) -> std::result::Result<(), Fault> {
        Ok(self.push(id, id, false)?)
    }
}

impl<S: State> Worker for NameVisitor<'_, '_, S> {
    type Output = u64;

    /// The number of edges.
    fn finish(mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.edges)
    }
}
