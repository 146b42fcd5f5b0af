//! Core numbers on a shard.
//!
//! Each vertex has a bound of its core number, at first its degree. It falls to the largest h such
//! that h neighbours have a bound of at least h, until none falls any more: then bounds are core
//! numbers (Montresor, De Pellegrini and Miorandi, "Distributed k-core decomposition", 2013). In
//! the first superstep owners send degrees to the shards that have the vertex in their boundary,
//! in each later one the bounds that fell. While many bounds fall, a superstep is one round: what
//! other shards send saves more work than a superstep costs. Few bounds fall on within the shard.
//!
//! **Trick.** Each own vertex counts the neighbours that support its bound, whose bounds are not
//! below it. Its list is read again only when these are fewer than the bound. A round has two
//! phases, so that threads do not matter: new bounds follow from the old ones alone ([`Lower`]),
//! then each vertex whose bound fell takes its support from its neighbours ([`Withdraw`]).

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Engine, EngineConfig, Frontier, HugeVec, Kernel, List, VertexId,
};

use super::Part;
use super::cdlp::{lists_bytes, visit};
use super::exchange::{filled, from_owners, sent, to_mirrors};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::neighbourhood::{Neighbourhood, directions, entries_bound};
use crate::parallel::{self, copy, fill};
use crate::report::Result;

/// A bound that is none: of a vertex whose bound did not fall, in a message of all.
const NONE: u32 = u32::MAX;

/// A round follows in the same superstep if at most `1 / FEW_SHARE` of own vertices are active.
const FEW_SHARE: u64 = 32;

/// Memory: 8 bytes a vertex of the file, 8 an own vertex, three sets, two frontiers; 12 for each
/// exchanged bound; per thread a count for each bound up to the largest degree; pieces of lists.
pub(super) fn bytes_for(part: &Part, config: &EngineConfig) -> u64 {
    let places = part.places();
    let longest = entries_bound(&part.graph);
    let sets = 3 * Bitmap::bytes_for(places) + 2 * Frontier::bytes_for(places, 1);
    let arrays = 8 * (places + part.own_count()) as u64;
    let counts = config.threads as u64 * 4 * (longest + 1);
    arrays + sets + 12 * part.exchanged() + counts + lists_bytes(part, config)
}

pub(super) struct Kcore {
    bounds: HugeVec<AtomicU32>,
    /// The bounds behind a round; equal to `bounds` where they do not fall.
    next: HugeVec<AtomicU32>,
    /// For each own vertex how many neighbours have at least its bound.
    support: HugeVec<AtomicU32>,
    /// The bounds of own vertices that other shards know.
    known: HugeVec<AtomicU32>,
    frontier: Frontier,
    /// Vertices whose bound falls in this round.
    fallen: Bitmap,
    /// Own vertices with less support than their bound.
    unsupported: Bitmap,
}

impl Kcore {
    pub fn new(part: &Part) -> Result<Self> {
        let (places, own) = (part.places(), part.own());
        let none = |cell: &AtomicU32| cell.store(NONE, Ordering::Relaxed);
        let bounds = filled(places, none)?;
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
        Ok(Self {
            bounds,
            next,
            support: HugeVec::zeroed(own.len())?,
            known: filled(own.len(), none)?,
            frontier: Frontier::new(places)?,
            fallen: Bitmap::new(places)?,
            unsupported: Bitmap::new(places)?,
        })
    }

    #[inline(always)]
    fn bound(&self, v: VertexId) -> u32 {
        self.bounds[v as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn next(&self, v: VertexId) -> u32 {
        self.next[v as usize].load(Ordering::Relaxed)
    }

    /// Takes the bounds of boundary vertices that fell, and what they supported.
    fn take(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<()> {
        let (mut least, mut most) = (NONE, 0);
        from_owners(part, input.inbox, |v, bound: u32| {
            if bound < self.bound(v) {
                (least, most) = (least.min(bound), most.max(self.bound(v)));
                self.next[v as usize].store(bound, Ordering::Relaxed);
                self.fallen.insert(v);
            }
        });
        // Before the first round nothing is supported yet.
        if least < most && input.superstep > 1 {
            // Boundary vertices have no lists that lead to their neighbours here.
            let lost = |v: &VertexId| least < self.bound(*v) && self.bound(*v) <= most;
            let first = part.own().start;
            let affected =
                parallel::collect_of_blocks(parallel::BLOCK, part.own_count(), |range| {
                    let own = first + range.start as VertexId..first + range.end as VertexId;
                    own.filter(lost).collect::<Vec<_>>()
                });
            self.frontier.set(affected.iter().flatten());
            let kernel = Lost { kcore: self, first };
            for &direction in directions(part.is_directed) {
                engine.visit("boundary", direction, ActiveSet::In(&self.frontier), &kernel)?;
            }
        }
        self.apply();
        Ok(())
    }

    /// Lets bounds fall: of all vertices in superstep 1, then of those without support.
    fn settle(&mut self, engine: &Engine, part: &Part, superstep: u64) -> Result<()> {
        let few = part.own_count() as u64 / FEW_SHARE;
        if superstep == 1 {
            self.unsupported.clear();
            visit(engine, part, part.own_set(), &Lower { kcore: self, first: part.own().start })?;
            self.withdraw(engine, part)?;
        }
        for round in 0.. {
            self.frontier.set(self.unsupported.iter());
            let goes_on = self.frontier.count() <= few || (round == 0 && superstep > 1);
            if self.frontier.is_empty() || !goes_on {
                return Ok(());
            }
            self.unsupported.clear();
            let active = ActiveSet::In(&self.frontier);
            visit(engine, part, active, &Lower { kcore: self, first: part.own().start })?;
            self.withdraw(engine, part)?;
        }
        unreachable!("bounds do not fall for ever")
    }

    /// The second phase of a round.
    fn withdraw(&mut self, engine: &Engine, part: &Part) -> Result<()> {
        self.frontier.set(self.fallen.iter());
        let kernel = Withdraw { kcore: self, own: part.own() };
        for &direction in directions(part.is_directed) {
            engine.visit("withdraw", direction, ActiveSet::In(&self.frontier), &kernel)?;
        }
        self.apply();
        Ok(())
    }

    /// Bounds become those behind the round.
    fn apply(&mut self) {
        self.fallen.iter().for_each(|v| {
            self.bounds[v as usize].store(self.next(v), Ordering::Relaxed);
        });
        self.fallen.clear();
    }

    /// A vertex of bound `bound` loses a supporter.
    #[inline(always)]
    fn lose(&self, first: VertexId, v: VertexId, bound: u32) {
        let before = self.support[(v - first) as usize].fetch_sub(1, Ordering::Relaxed);
        if before <= bound && !self.unsupported.contains(v) {
            self.unsupported.insert(v);
        }
    }
}

impl Program for Kcore {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        if input.superstep > 0 {
            self.take(engine, part, input)?;
            self.settle(engine, part, input.superstep)?;
        }
        let first = part.own().start;
        let known = |v: VertexId| &self.known[(v - first) as usize];
        let fell = |v| self.bound(v) < known(v).load(Ordering::Relaxed);
        let bound = |_, v| if fell(v) { self.bound(v) } else { NONE };
        let messages = to_mirrors(part, |_, v| fell(v), bound);
        let most = AtomicU32::new(0);
        let own = &self.bounds[first as usize..][..part.own_count()];
        parallel::for_each_of(own, |at, bound| {
            let bound = bound.load(Ordering::Relaxed);
            self.known[at].store(bound, Ordering::Relaxed);
            if bound > most.load(Ordering::Relaxed) {
                most.fetch_max(bound, Ordering::Relaxed);
            }
        });
        let report = vec![
            ("most", most.into_inner().into()),
            ("sent", sent(&messages)),
            ("waiting", self.unsupported.iter().next().is_some().into()),
        ];
        Ok(Step { messages, report })
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![
            ("bounds", Cells::U32(&self.bounds)),
            ("support", Cells::U32(&self.support)),
            ("known", Cells::U32(&self.known)),
        ]
    }

    fn restored(&mut self, part: &Part) {
        copy(&self.bounds, &self.next);
        let first = part.own().start;
        parallel::for_each_of(&self.support, |at, support| {
            let v = first + at as VertexId;
            let support = support.load(Ordering::Relaxed);
            // Before the first round there is no support, and all vertices are active.
            if support < self.bound(v) {
                self.unsupported.insert(v);
            }
        });
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        vec![("core", Values::U32(part.of_own(|v| self.bound(v))))]
    }
}

/// The bound of each vertex falls to what its neighbours allow, and its support is counted.
struct Lower<'a> {
    kcore: &'a Kcore,
    first: VertexId,
}

impl Neighbourhood for Lower<'_> {
    /// For each bound how many neighbours have it.
    type Local = Vec<u32>;

    fn local(&self) -> Vec<u32> {
        Vec::new()
    }

    fn take(&self, counts: &mut Vec<u32>, v: VertexId, neighbours: &[&[VertexId]]) {
        let all = || neighbours.iter().copied().flatten().copied().filter(|&u| u != v);
        let before = self.kcore.bound(v);
        let most = before.min(all().count() as u32);
        counts.clear();
        counts.resize(most as usize + 1, 0);
        all().for_each(|u| counts[self.kcore.bound(u).min(most) as usize] += 1);
        let (mut after, mut support) = (most, counts[most as usize]);
        while support < after {
            after -= 1;
            support += counts[after as usize];
        }
        self.kcore.support[(v - self.first) as usize].store(support, Ordering::Relaxed);
        if after < before {
            self.kcore.next[v as usize].store(after, Ordering::Relaxed);
            self.kcore.fallen.insert(v);
        }
    }
}

/// Each vertex whose bound fell no longer supports the neighbours that are between.
struct Withdraw<'a> {
    kcore: &'a Kcore,
    own: Range<VertexId>,
}

impl Kernel for Withdraw<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let (before, after) = (self.kcore.bound(list.vertex), self.kcore.next(list.vertex));
        for &u in list.targets.iter().filter(|u| self.own.contains(u) && **u != list.vertex) {
            let bound = self.kcore.next(u);
            if after < bound && bound <= before {
                self.kcore.lose(self.own.start, u, bound);
            }
        }
    }
}

/// The same for boundary vertices, from the lists of own ones.
struct Lost<'a> {
    kcore: &'a Kcore,
    first: VertexId,
}

impl Kernel for Lost<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let bound = self.kcore.bound(list.vertex);
        for &u in list.targets.iter().filter(|u| self.kcore.fallen.contains(**u)) {
            if self.kcore.next(u) < bound && bound <= self.kcore.bound(u) {
                self.kcore.lose(self.first, list.vertex, bound);
            }
        }
    }
}
