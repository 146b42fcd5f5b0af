//! Core numbers on a shard.
//!
//! Each vertex has a bound of its core number, at first its degree. It falls to the largest h such
//! that h neighbours have a bound of at least h, until none falls any more: then bounds are core
//! numbers (Montresor, De Pellegrini and Miorandi, "Distributed k-core decomposition", 2013). In
//! the first superstep owners send degrees to the shards that have the vertex in their boundary,
//! in each later one the bounds that fell. While many bounds fall, a superstep is one round: what
//! other shards send saves more work than a superstep costs. Few bounds fall on within the shard.
//!
//! **Tricks.** In the first rounds nearly all bounds fall, so all lists are read, and nothing is
//! kept for the next round. Then each own vertex counts the neighbours that support its bound,
//! whose bounds are not below it. Its list is read again only when these are fewer than the bound.
//! A round has two phases, so that threads do not matter: new bounds follow from the old ones
//! alone, then each vertex whose bound fell takes its support from its neighbours.
//!
//! Bounds are soon close to the core numbers, so most neighbours are far above or far below for
//! good: the others are kept in memory ([`pruned`]). Without room for them lists are read from
//! pages ([`pages`]). New bounds are the same in both ways.

mod pages;
mod pruned;

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Engine, EngineConfig, Frontier, HugeVec, VertexId, prefetch,
};

use super::Part;
use super::cdlp::lists_bytes;
use super::exchange::{filled, from_owners, members_to_mirrors, sent};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::neighbourhood::{blocks_ahead, directions, entries_bound};
use crate::parallel::{self, Adder, copy, fill};
use crate::report::Result;
use pruned::Pruned;
pub(super) use pruned::{optional_bytes, with_room};

/// A bound that is none: of a vertex whose bound did not fall, in a message of all.
const NONE: u32 = u32::MAX;

/// A round follows in the same superstep if at most `1 / FEW_SHARE` of own vertices are active.
const FEW_SHARE: u64 = 32;

/// Rounds of at most so many vertices are done by one thread: chains of them are long.
const SERIAL_MAX: u64 = 256;

/// Supersteps, from 1 on, of one round over all lists.
const FULL_ROUNDS: u64 = 2;

/// Memory: 8 bytes a vertex of the file, 4 an own vertex, three sets, two frontiers; 12 for each
/// exchanged bound; per thread a count for each bound up to the largest degree; pieces of lists.
pub(super) fn bytes_for(part: &Part, config: &EngineConfig) -> u64 {
    let places = part.places();
    let longest = entries_bound(&part.graph);
    let sets = 3 * Bitmap::bytes_for(places) + 2 * Frontier::bytes_for(places, 1);
    let arrays = 8 * places as u64 + 4 * part.own_count() as u64;
    let counts = config.threads as u64 * 4 * (longest + 2);
    arrays + sets + 12 * part.exchanged() + counts + lists_bytes(part, config)
}

/// Where lists are read.
enum Lists {
    /// From pages, all of them: supports are not known.
    All,
    /// From pages.
    Pages,
    /// In memory.
    Pruned(Box<Pruned>),
}

/// What a round works on has a *slot* for each vertex: the vertex itself or, while lists are in
/// memory, its rank there ([`Pruned::rank`]).
pub(super) struct Kcore {
    /// By vertex.
    bounds: HugeVec<AtomicU32>,
    /// By slot: the bounds behind a round; equal to the bounds where they do not fall.
    next: HugeVec<AtomicU32>,
    /// By slot, from [`Self::first`] on: how many neighbours have at least the bound of the vertex.
    support: HugeVec<AtomicU32>,
    /// The first slot of own vertices.
    first: VertexId,
    /// Slots of vertices whose bound falls in this round.
    fallen: Bitmap,
    /// Slots of own vertices with less support than their bound.
    unsupported: Bitmap,
    /// Vertices whose bound other shards do not know.
    unsent: Bitmap,
    frontier: Frontier,
    lists: Lists,
    /// How often lists were pruned.
    prunings: u32,
    adder: Adder,
}

impl Kcore {
    pub fn new(engine: &Engine, part: &Part) -> Result<Self> {
        let (places, own) = (part.places(), part.own());
        let bounds = filled(places, |bound: &AtomicU32| bound.store(NONE, Ordering::Relaxed))?;
        fill(&bounds[own.start as usize..own.end as usize], 0);
        for &direction in directions(part.is_directed) {
            part.graph.degrees(direction, &mut |first, some| {
                for (v, &degree) in (first..).zip(some).filter(|(v, _)| own.contains(v)) {
                    let bound: &AtomicU32 = &bounds[v as usize];
                    let sum = u64::from(bound.load(Ordering::Relaxed)) + degree;
                    bound.store(sum.min(u64::from(NONE - 1)) as u32, Ordering::Relaxed);
                }
            })?;
        }
        let next = HugeVec::zeroed(places)?;
        copy(&bounds, &next);
        let unsent = Bitmap::new(places)?;
        parallel::insert_where(&unsent, own.clone(), |_| true);
        Ok(Self {
            bounds,
            next,
            support: HugeVec::zeroed(own.len())?,
            first: own.start,
            fallen: Bitmap::new(places)?,
            unsupported: Bitmap::new(places)?,
            unsent,
            frontier: Frontier::new(places)?,
            lists: Lists::All,
            prunings: 0,
            adder: Adder::new(engine.config().threads),
        })
    }

    #[inline(always)]
    fn bound(&self, v: VertexId) -> u32 {
        self.bounds[v as usize].load(Ordering::Relaxed)
    }

    /// Calls `take` with each neighbour and its bound.
    #[inline(always)]
    fn for_each_bound(&self, neighbours: &[&[VertexId]], mut take: impl FnMut(VertexId, u32)) {
        for list in neighbours {
            for block in blocks_ahead(list, |ahead| self.prefetch(ahead)) {
                block.iter().for_each(|&u| take(u, self.bound(u)));
            }
        }
    }

    /// Prefetches the bounds of vertices.
    #[inline(always)]
    fn prefetch(&self, vertices: &[VertexId]) {
        vertices.iter().for_each(|&v| prefetch(&self.bounds, v as usize));
    }

    fn slot(&self, v: VertexId) -> VertexId {
        match &self.lists {
            Lists::Pruned(pruned) => pruned.rank(v),
            Lists::All | Lists::Pages => v,
        }
    }

    #[inline(always)]
    fn next(&self, slot: VertexId) -> u32 {
        self.next[slot as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn support(&self, slot: VertexId) -> &AtomicU32 {
        &self.support[(slot - self.first) as usize]
    }

    /// The bound of a vertex is `after` behind this round.
    #[inline(always)]
    fn fall(&self, slot: VertexId, after: u32) {
        self.next[slot as usize].store(after, Ordering::Relaxed);
        self.fallen.insert(slot);
    }

    /// Takes the bounds of boundary vertices that fell, and what they supported.
    fn take(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<()> {
        let (mut least, mut most) = (NONE, 0);
        from_owners(part, input.inbox, |v, bound: u32| {
            if bound < self.bound(v) {
                (least, most) = (least.min(bound), most.max(self.bound(v)));
                self.fall(self.slot(v), bound);
            }
        });
        match &self.lists {
            Lists::Pages if least < most => pages::lose(self, engine, part, (least, most))?,
            Lists::Pruned(_) if least < most => return self.withdraw(engine, part),
            _ => {}
        }
        self.apply();
        Ok(())
    }

    /// Lets bounds fall: of all vertices in the first rounds, then of those without support.
    /// Returns whether more may fall.
    fn settle(&mut self, engine: &Engine, part: &Part, superstep: u64) -> Result<bool> {
        if let Lists::All = self.lists {
            if superstep <= FULL_ROUNDS {
                pages::lower(self, engine, part, part.own_set())?;
                let has_fallen = self.fallen.iter().next().is_some();
                self.apply();
                return Ok(has_fallen);
            }
            self.prune(engine, part)?;
        }
        let few = part.own_count() as u64 / FEW_SHARE;
        for round in 0.. {
            let count = self.unsupported.count();
            if count == 0 || (count > few && round > 0) {
                return Ok(count > 0);
            }
            match &self.lists {
                Lists::Pruned(pruned) if count <= few.min(SERIAL_MAX) => {
                    if !pruned.settle(self, few.min(SERIAL_MAX) as usize) {
                        self.round(engine, part)?;
                    }
                }
                _ => self.round(engine, part)?,
            }
        }
        unreachable!("bounds do not fall for ever")
    }

    /// A round of those without support.
    fn round(&mut self, engine: &Engine, part: &Part) -> Result<()> {
        match &self.lists {
            Lists::Pruned(pruned) => {
                pruned.lower(self);
                self.frontier.set(self.unsupported.iter().map(|rank| pruned.vertex(rank)));
            }
            Lists::All | Lists::Pages => self.frontier.set(self.unsupported.iter()),
        }
        self.unsupported.clear();
        if !self.frontier.is_empty() {
            pages::lower(self, engine, part, ActiveSet::In(&self.frontier))?;
        }
        self.withdraw(engine, part)
    }

    /// The second phase of a round.
    fn withdraw(&mut self, engine: &Engine, part: &Part) -> Result<()> {
        match &self.lists {
            Lists::Pruned(pruned) => {
                if !pruned.withdraw(self) {
                    self.apply();
                    return self.prune(engine, part);
                }
            }
            _ => {
                self.frontier.set(self.fallen.iter());
                pages::withdraw(self, engine, part)?;
            }
        }
        self.apply();
        Ok(())
    }

    /// Counts supports, and keeps lists in memory if there is room for them.
    fn prune(&mut self, engine: &Engine, part: &Part) -> Result<()> {
        // Makes room for the next ones.
        self.lists = Lists::All;
        self.first = 0;
        self.unsupported.clear();
        self.prunings += 1;
        self.lists = match Pruned::new(self, engine, part)? {
            Some(pruned) => {
                pruned.copy_bounds(&self.next);
                Lists::Pruned(Box::new(pruned))
            }
            None => {
                self.first = part.own().start;
                copy(&self.bounds, &self.next);
                self.unsupported.clear();
                // A round counts the supports of all that take part in it.
                parallel::insert_where(&self.unsupported, part.own(), |_| true);
                Lists::Pages
            }
        };
        Ok(())
    }

    /// Bounds become those behind the round.
    fn apply(&mut self) {
        for slot in self.fallen.iter() {
            let after = self.next(slot);
            let v = match &self.lists {
                Lists::Pruned(pruned) => pruned.set_bound(slot, after),
                Lists::All | Lists::Pages => slot,
            };
            self.set_bound(v, after);
        }
        self.fallen.clear();
    }

    fn set_bound(&self, v: VertexId, bound: u32) {
        self.bounds[v as usize].store(bound, Ordering::Relaxed);
        self.unsent.insert(v);
    }

    /// A vertex of bound `bound` loses a supporter. Whether it has too few now, for the first time.
    #[inline(always)]
    fn lose(&self, slot: VertexId, bound: u32) -> bool {
        let before = self.adder.add(self.support(slot), 1u32.wrapping_neg());
        before <= bound && !self.unsupported.contains(slot) && self.unsupported.insert(slot)
    }
}

impl Program for Kcore {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        let mut waiting = false;
        if input.superstep > 0 {
            self.take(engine, part, input)?;
            waiting = self.settle(engine, part, input.superstep)?;
        }
        let messages = members_to_mirrors(part, &self.unsent, NONE, |v| self.bound(v));
        self.unsent.clear();
        let most = AtomicU32::new(0);
        let own = &self.bounds[part.own().start as usize..][..part.own_count()];
        parallel::for_each_block(own.len(), |range| {
            let bounds = own[range].iter().map(|bound| bound.load(Ordering::Relaxed));
            most.fetch_max(bounds.max().unwrap_or(0), Ordering::Relaxed);
        });
        let report = vec![
            ("most", most.into_inner().into()),
            ("sent", sent(&messages)),
            ("waiting", waiting.into()),
        ];
        Ok(Step { messages, report })
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![("bounds", Cells::U32(&self.bounds))]
    }

    fn restored(&mut self, _: &Part) -> Result<()> {
        copy(&self.bounds, &self.next);
        self.lists = Lists::All;
        // The other shards got them in the superstep behind which the copy was made.
        self.unsent.clear();
        Ok(())
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        vec![("core", Values::U32(part.of_own(|v| self.bound(v))))]
    }
}
