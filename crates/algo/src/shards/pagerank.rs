//! PageRank on a shard: [`crate::pagerank`], where the shares of boundary vertices come from their
//! owners, or the mass for them goes there.
//!
//! [`Pull`], where shards have in-lists: an owner sends rank / out-degree to the shards that have
//! the vertex in their boundary. [`Push`], for the others: the mass for boundary vertices is added
//! up in the shard, and sent to the owners. Both add integers, so the sums do not depend on how
//! their terms are grouped.

use std::num::Wrapping;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{Direction, Engine, HugeVec, Kernel, List, Page, Purpose, VertexId, prefetch};
use rustc_hash::FxHashMap;

use super::Part;
use super::degrees::out_degrees;
use super::exchange::{filled, from_mirrors, from_owners, quiet, to_mirrors, to_owners};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::pagerank::{Masses, PREFETCH_ENTRIES, WideSum, from_fixed, load, rank, share, store};
use crate::pagerank::{gather, to_fixed};
use crate::parallel;
use crate::report::Result;

/// Bytes of a list that spans pages, in a table.
const PIECE_BYTES: u64 = 2 * 40;

/// Memory: 16 bytes a vertex of the file, 4 an own vertex; 16 for each exchanged value; the lists
/// that span pages.
pub(super) fn bytes_for(part: &Part) -> u64 {
    let pages = part.inward().and_then(|inward| part.graph.adjacency(inward));
    let pieces = pages.map_or(0, |adjacency| adjacency.pages()).min(part.own_count() as u64);
    let values = 16 * part.places() as u64 + 4 * part.own_count() as u64;
    values + 16 * part.exchanged() + PIECE_BYTES * pieces
}

/// The way that the lists of the shard allow.
pub(super) fn new(part: &Part, damping: f64) -> Result<Box<dyn Program>> {
    Ok(match part.inward() {
        Some(direction) => Box::new(Pull::new(part, damping, direction)?),
        None => Box::new(Push::new(part, damping)?),
    })
}

fn start(part: &Part) -> f64 {
    1.0 / part.vertices_total.max(1) as f64
}

/// The mass of each vertex without that of its neighbours.
fn base(part: &Part, damping: f64, dangling: u64) -> f64 {
    (1.0 - damping + damping * from_fixed(dangling)) * start(part)
}

/// The mass of own vertices without out-edges. Their shares are their ranks.
fn dangling(ranks: &[AtomicU64], degrees: &[AtomicU32]) -> u64 {
    let of = |at: usize| match degrees[at].load(Ordering::Relaxed) {
        0 => Wrapping(to_fixed(load(&ranks[at]))),
        _ => Wrapping(0),
    };
    parallel::sum(degrees.len(), of).0
}

fn report(masses: Masses) -> Vec<(&'static str, u64)> {
    vec![("change", masses.change), ("dangling", masses.dangling)]
}

// ------------------------------------------------------------------------------------------------
// Pull

struct Pull {
    direction: Direction,
    damping: f64,
    degrees: HugeVec<AtomicU32>,
    /// What each vertex gives its out-neighbours: rank / out-degree; without any its rank.
    shares: HugeVec<AtomicU64>,
    next: HugeVec<AtomicU64>,
}

impl Pull {
    fn new(part: &Part, damping: f64, direction: Direction) -> Result<Self> {
        let degrees = out_degrees(part)?;
        let shares = HugeVec::<AtomicU64>::zeroed(part.places())?;
        let first = part.own().start as usize;
        let start = start(part);
        parallel::for_each_of(&degrees, |at, degree| {
            let degree = degree.load(Ordering::Relaxed).into();
            store(&shares[first + at], share(start, degree));
        });
        let next = HugeVec::zeroed(part.places())?;
        Ok(Self { direction, damping, degrees, shares, next })
    }

    /// The shares of own vertices.
    fn own(&self, part: &Part) -> &[AtomicU64] {
        &self.shares[part.own().start as usize..part.own().end as usize]
    }

    fn iterate(&mut self, engine: &Engine, part: &Part, dangling: u64) -> Result<Masses> {
        let kernel = Gather {
            shares: &self.shares,
            next: &self.next,
            degrees: &self.degrees,
            own: part.own(),
            base: base(part, self.damping, dangling),
            damping: self.damping,
            pieces: Mutex::default(),
        };
        let locals = engine.visit("iteration", self.direction, part.own_set(), &kernel)?;
        let mut masses = locals.into_iter().fold(Masses::default(), Masses::and);
        let pieces =
            std::mem::take(&mut *kernel.pieces.lock().unwrap_or_else(PoisonError::into_inner));
        for (v, sum) in pieces {
            kernel.finish(&mut masses, v, sum.mass());
        }
        std::mem::swap(&mut self.shares, &mut self.next);
        Ok(masses)
    }
}

impl Program for Pull {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        let masses = if input.superstep == 0 {
            Masses { change: 0, dangling: dangling(self.own(part), &self.degrees) }
        } else {
            let shares = &self.shares;
            from_owners(part, input.inbox, |v, value| store(&shares[v as usize], value));
            self.iterate(engine, part, input.shared(0))?
        };
        let messages = match input.is_set(1) {
            true => quiet(part),
            false => to_mirrors(part, |_| true, |v| load(&self.shares[v as usize])),
        };
        Ok(Step { messages, report: report(masses) })
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![("shares", Cells::U64(&self.shares))]
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        let own = self.own(part);
        let ranks = parallel::collect(own.len(), |at| {
            rank(load(&own[at]), self.degrees[at].load(Ordering::Relaxed).into())
        });
        vec![("rank", Values::F64(ranks))]
    }
}

/// Sums the shares of each list of an own vertex.
struct Gather<'a> {
    shares: &'a [AtomicU64],
    next: &'a [AtomicU64],
    degrees: &'a [AtomicU32],
    own: std::ops::Range<VertexId>,
    base: f64,
    damping: f64,
    /// Sums of lists that span pages.
    pieces: Mutex<FxHashMap<VertexId, WideSum>>,
}

impl Kernel for Gather<'_> {
    type Local = Masses;

    fn local(&self) -> Masses {
        Masses::default()
    }

    fn page(&self, masses: &mut Masses, page: &Page<'_>, _: &Purpose<'_>) {
        let entries = page.entries();
        for &target in &entries[..entries.len().min(PREFETCH_ENTRIES)] {
            prefetch(self.shares, target as usize);
        }
        let mut from = 0;
        for list in page.lists() {
            let to = from + list.targets.len();
            if self.own.contains(&list.vertex) {
                self.take(masses, &list, gather(self.shares, entries, from, to));
            }
            from = to;
        }
    }
}

impl Gather<'_> {
    #[inline(always)]
    fn take(&self, masses: &mut Masses, list: &List<'_>, sum: WideSum) {
        if list.is_whole() {
            return self.finish(masses, list.vertex, sum.mass());
        }
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let known = pieces.entry(list.vertex).or_default();
        *known = known.and(sum);
    }

    #[inline(always)]
    fn finish(&self, masses: &mut Masses, v: VertexId, sum: f64) {
        let degree = self.degrees[(v - self.own.start) as usize].load(Ordering::Relaxed).into();
        let before = rank(load(&self.shares[v as usize]), degree);
        let after = self.base + self.damping * sum;
        store(&self.next[v as usize], share(after, degree));
        masses.change = masses.change.wrapping_add(to_fixed((after - before).abs()));
        if degree == 0 {
            masses.dangling = masses.dangling.wrapping_add(to_fixed(after));
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Push

struct Push {
    damping: f64,
    degrees: HugeVec<AtomicU32>,
    /// Of own vertices.
    ranks: HugeVec<AtomicU64>,
    /// The mass that each vertex of the file has received, in fixed point.
    received: HugeVec<AtomicU64>,
}

impl Push {
    fn new(part: &Part, damping: f64) -> Result<Self> {
        let start = start(part);
        Ok(Self {
            damping,
            degrees: out_degrees(part)?,
            ranks: filled(part.own_count(), |rank| store(rank, start))?,
            received: HugeVec::zeroed(part.places())?,
        })
    }

    /// Ranks follow from the mass that was received, which becomes 0.
    fn update(&self, part: &Part, dangling: u64) -> u64 {
        let base = base(part, self.damping, dangling);
        let received = &self.received[part.own().start as usize..];
        let changes = parallel::sum(self.ranks.len(), |at| {
            let mass = from_fixed(received[at].swap(0, Ordering::Relaxed));
            let after = base + self.damping * mass;
            let change = to_fixed((after - load(&self.ranks[at])).abs());
            store(&self.ranks[at], after);
            Wrapping(change)
        });
        changes.0
    }
}

impl Program for Push {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        let mut masses = Masses::default();
        if input.superstep > 0 {
            let received = &self.received;
            from_mirrors(part, input.inbox, |v, mass: u64| {
                received[v as usize].fetch_add(mass, Ordering::Relaxed);
            });
            masses.change = self.update(part, input.shared(0));
        }
        masses.dangling = dangling(&self.ranks, &self.degrees);
        if input.is_set(1) {
            return Ok(Step { messages: quiet(part), report: report(masses) });
        }
        let own = part.own();
        for run in part.runs.iter().filter(|run| **run != own) {
            let boundary = &self.received[run.start as usize..run.end as usize];
            parallel::for_each_of(boundary, |_, mass| mass.store(0, Ordering::Relaxed));
        }
        let kernel =
            Scatter { ranks: &self.ranks, received: &self.received, first: part.own().start };
        engine.visit("iteration", Direction::Out, part.own_set(), &kernel)?;
        let mass = |v: VertexId| self.received[v as usize].load(Ordering::Relaxed);
        let messages = to_owners(part, |_| true, mass);
        Ok(Step { messages, report: report(masses) })
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![("ranks", Cells::U64(&self.ranks)), ("received", Cells::U64(&self.received))]
    }

    fn columns(&self, _: &Part) -> Vec<(&'static str, Values)> {
        let ranks = parallel::collect(self.ranks.len(), |at| load(&self.ranks[at]));
        vec![("rank", Values::F64(ranks))]
    }
}

struct Scatter<'a> {
    ranks: &'a [AtomicU64],
    received: &'a [AtomicU64],
    first: VertexId,
}

impl Kernel for Scatter<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let rank = load(&self.ranks[(list.vertex - self.first) as usize]);
        let share = to_fixed(share(rank, list.degree));
        for &target in list.targets {
            self.received[target as usize].fetch_add(share, Ordering::Relaxed);
        }
    }
}
