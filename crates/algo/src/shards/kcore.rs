//! Core numbers on a shard.
//!
//! Each vertex has a bound of its core number, at first its degree. It falls to the largest h such
//! that h neighbours have a bound of at least h, until none falls any more: then bounds are core
//! numbers (Montresor, De Pellegrini and Miorandi, "Distributed k-core decomposition", 2013). In a
//! superstep bounds fall until they are stable within the shard; then owners send those that fell
//! to the shards that have the vertex in their boundary.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, EngineConfig, Frontier, HugeVec, VertexId,
};
use rayon::prelude::*;

use super::Part;
use super::cdlp::{lists_bytes, visit};
use super::exchange::{filled, from_owners, sent, to_mirrors};
use super::run::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::neighbourhood::Neighbourhood;
use crate::report::Result;

/// A bound that is none: of a vertex whose bound did not fall, in a message of all.
const NONE: u32 = u32::MAX;

/// Memory: 4 bytes a vertex of the file, 4 an own vertex, three sets, two frontiers; 12 for each
/// exchanged bound; per thread a count for each bound up to the largest degree; pieces of lists.
pub(super) fn bytes_for(part: &Part, config: &EngineConfig) -> u64 {
    let places = part.places();
    let longest: u64 = [Direction::Out, Direction::In]
        .map(|direction| {
            part.graph.adjacency(direction).map_or(0, |lists| lists.list_entries_bound())
        })
        .iter()
        .sum();
    let sets = 3 * Bitmap::bytes_for(places) + 2 * Frontier::bytes_for(places, 1);
    let arrays = 4 * places as u64 + 4 * part.own_count() as u64;
    let counts = config.threads as u64 * 4 * (longest + 1);
    arrays + sets + 12 * part.exchanged() + counts + lists_bytes(part, config)
}

pub(super) struct Kcore {
    bounds: HugeVec<AtomicU32>,
    /// The bounds of own vertices that other shards know.
    known: HugeVec<AtomicU32>,
    /// Own vertices whose bound may fall.
    frontier: Frontier,
    /// Boundary vertices whose bound fell.
    fallen: Bitmap,
    /// Own vertices with a neighbour whose bound fell.
    touched: Bitmap,
}

impl Kcore {
    pub fn new(part: &Part) -> Result<Self> {
        let places = part.places();
        let own = part.own();
        let bounds: HugeVec<AtomicU32> =
            filled(places, |b: &AtomicU32| b.store(NONE, Ordering::Relaxed))?;
        own.clone().into_par_iter().for_each(|v| bounds[v as usize].store(0, Ordering::Relaxed));
        let directions: &[Direction] = match part.is_directed {
            true => &[Direction::Out, Direction::In],
            false => &[Direction::Out],
        };
        for &direction in directions {
            part.graph.degrees(direction, &mut |first, some| {
                for (v, &degree) in (first..).zip(some).filter(|(v, _)| own.contains(v)) {
                    let bound = &bounds[v as usize];
                    let sum = u64::from(bound.load(Ordering::Relaxed)) + degree;
                    let sum = u32::try_from(sum).unwrap_or(NONE - 1).min(NONE - 1);
                    bound.store(sum, Ordering::Relaxed);
                }
            })?;
        }
        Ok(Self {
            bounds,
            known: filled(own.len(), |known: &AtomicU32| known.store(NONE, Ordering::Relaxed))?,
            frontier: Frontier::new(places)?,
            fallen: Bitmap::new(places)?,
            touched: Bitmap::new(places)?,
        })
    }

    #[inline(always)]
    fn bound(&self, v: VertexId) -> u32 {
        self.bounds[v as usize].load(Ordering::Relaxed)
    }

    /// Lets bounds fall until they are stable within the shard.
    fn settle(&mut self, engine: &Engine, part: &Part, is_first: bool) -> Result<()> {
        // Boundary vertices have no lists that lead to their neighbours here.
        let fallen = if is_first { None } else { Some(&self.fallen) };
        visit(engine, part, part.own_set(), &self.fall(engine, part, fallen))?;
        loop {
            self.frontier.set(self.touched.iter());
            self.touched.clear();
            if self.frontier.is_empty() {
                return Ok(());
            }
            let active = ActiveSet::In(&self.frontier);
            visit(engine, part, active, &self.fall(engine, part, None))?;
        }
    }

    fn fall<'a>(&'a self, engine: &Engine, part: &Part, fallen: Option<&'a Bitmap>) -> Fall<'a> {
        Fall {
            bounds: &self.bounds,
            touched: &self.touched,
            own: part.own(),
            is_parallel: engine.config().threads > 1,
            fallen,
        }
    }
}

impl Program for Kcore {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        self.fallen.clear();
        from_owners(part, input.inbox, |v, bound: u32| {
            if bound < self.bound(v) {
                self.bounds[v as usize].store(bound, Ordering::Relaxed);
                self.fallen.insert(v);
            }
        });
        let is_any = self.fallen.iter().next().is_some();
        if input.superstep == 0 || is_any {
            self.settle(engine, part, input.superstep == 0)?;
        }
        let first = part.own().start;
        let known = |v: VertexId| &self.known[(v - first) as usize];
        let fell = |v| self.bound(v) < known(v).load(Ordering::Relaxed);
        let bound = |_, v| if fell(v) { self.bound(v) } else { NONE };
        let messages = to_mirrors(part, |_, v| fell(v), bound);
        let most = part.own().into_par_iter().map(|v| {
            known(v).store(self.bound(v), Ordering::Relaxed);
            self.bound(v)
        });
        let report = vec![("most", most.max().unwrap_or(0).into()), ("sent", sent(&messages))];
        Ok(Step { messages, report })
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![("bounds", Cells::U32(&self.bounds)), ("known", Cells::U32(&self.known))]
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        let cores = part.own().into_par_iter().map(|v| self.bound(v));
        vec![("core", Values::U32(cores.collect()))]
    }
}

/// Lets the bound of each vertex fall to what its neighbours allow.
struct Fall<'a> {
    bounds: &'a [AtomicU32],
    touched: &'a Bitmap,
    own: Range<VertexId>,
    /// Whether several threads let bounds fall.
    is_parallel: bool,
    /// Only neighbours of these can fall; `None` for all.
    fallen: Option<&'a Bitmap>,
}

impl Neighbourhood for Fall<'_> {
    /// For each bound how many neighbours have it.
    type Local = Vec<u32>;

    fn local(&self) -> Vec<u32> {
        Vec::new()
    }

    fn take(&self, counts: &mut Vec<u32>, v: VertexId, neighbours: &[&[VertexId]]) {
        let all = || neighbours.iter().copied().flatten().copied().filter(|&u| u != v);
        let bound = |u: VertexId| self.bounds[u as usize].load(Ordering::Relaxed);
        if let Some(fallen) = self.fallen
            && !all().any(|u| fallen.contains(u))
        {
            return;
        }
        let before = bound(v);
        let most = before.min(all().count() as u32);
        counts.clear();
        counts.resize(most as usize + 1, 0);
        all().for_each(|u| counts[bound(u).min(most) as usize] += 1);
        let (mut after, mut at_least) = (most, counts[most as usize]);
        while at_least < after {
            after -= 1;
            at_least += counts[after as usize];
        }
        if after == before {
            return;
        }
        self.bounds[v as usize].fetch_min(after, Ordering::Relaxed);
        // A neighbour that falls on another thread at the same time may have missed that this one
        // fell, which does not see where it falls to: what fell is looked at again.
        if self.is_parallel {
            self.touched.insert(v);
        }
        // Those of at most `after` have counted it, and still do; those above `before` had not.
        for u in all().filter(|u| self.own.contains(u)) {
            if (after + 1..=before).contains(&bound(u)) && !self.touched.contains(u) {
                self.touched.insert(u);
            }
        }
    }
}
