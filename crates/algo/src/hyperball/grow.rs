//! The iterations: the ball around every vertex grows by the balls around its neighbours.
//!
//! A counter before an iteration is in `before`, and grows in `after`. On lists of the neighbours
//! whose balls a vertex takes over, it *gathers*: it reads their counters and writes its own. On
//! lists of the neighbours that take over its ball, it *scatters* it, and only vertices whose ball
//! has grown have to. The lists of an undirected graph are both: many vertices gather, few scatter.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Direction, Engine, Frontier, FrontierPart, Graph, HugeVec, Kernel, List, VertexId,
};

use super::Result;
use super::counters::{Counters, FRACTION, Layout, estimates, load, max};
use crate::parallel;

/// Entries whose counters are fetched ahead.
const AHEAD: usize = 6;

/// Vertices of a list that a thread settles at a time.
const SETTLE_CHUNK: usize = 1 << 6;

/// Vertices gather where more than `1 / GATHER_SHARE` of all have grown.
const GATHER_SHARE: u64 = 4;

/// Bits behind the point of a sum of reciprocal distances.
const HARMONIC_FRACTION: u32 = 28;

/// Bits behind the point of a sum of distances, and how many fewer than of an estimate these are.
const DISTANCE_FRACTION: u32 = 16;
const SHIFT: u32 = FRACTION - DISTANCE_FRACTION;

/// The lists that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lists {
    /// Those of an undirected graph.
    Both,
    /// Of the vertices that take over the ball.
    Scatter(Direction),
    /// Of the vertices whose balls are taken over.
    Gather(Direction),
}

impl Lists {
    /// The lists for distances from a vertex (`outgoing`), or towards it.
    pub fn of(graph: &Graph, outgoing: bool) -> Result<Self> {
        Ok(match (graph.is_directed(), outgoing) {
            (false, _) => Lists::Both,
            (true, false) => Lists::Scatter(Direction::Out),
            (true, true) if graph.has_in_edges() => Lists::Scatter(Direction::In),
            (true, true) => Lists::Gather(Direction::Out),
        })
    }

    pub fn direction(self) -> Direction {
        match self {
            Lists::Both => Direction::Out,
            Lists::Scatter(direction) | Lists::Gather(direction) => direction,
        }
    }
}

/// What is added up for every vertex, in fixed point.
#[derive(Debug)]
pub(super) struct Sums {
    others: HugeVec<AtomicU64>,
    distances: HugeVec<AtomicU64>,
    harmonic: HugeVec<AtomicU64>,
}

impl Sums {
    pub fn bytes_for(vertices: usize) -> u64 {
        24 * vertices as u64
    }

    fn new(vertices: usize) -> Result<Self> {
        Ok(Self {
            others: HugeVec::zeroed(vertices)?,
            distances: HugeVec::zeroed(vertices)?,
            harmonic: HugeVec::zeroed(vertices)?,
        })
    }

    pub fn len(&self) -> usize {
        self.others.len()
    }

    pub fn others(&self, v: VertexId) -> f64 {
        real(&self.others, v, FRACTION)
    }

    pub fn distances(&self, v: VertexId) -> f64 {
        real(&self.distances, v, DISTANCE_FRACTION)
    }

    pub fn harmonic(&self, v: VertexId) -> f64 {
        real(&self.harmonic, v, HARMONIC_FRACTION)
    }

    /// Adds what the groups of the counter of `v` gained at a distance, each rounded by itself, so
    /// that the sums do not depend on the slices. Returns the sum. One thread for each `v`.
    fn add(&self, v: VertexId, distance: u32, gains: impl Iterator<Item = i64>) -> i64 {
        let distance = i64::from(distance);
        let [mut others, mut distances, mut harmonic] = [0, 0i64, 0];
        for gain in gains {
            let product = (i128::from(gain) * i128::from(distance)) >> SHIFT;
            others += gain;
            distances = distances.saturating_add(i64::try_from(product).unwrap_or(i64::MAX));
            harmonic += (gain << (HARMONIC_FRACTION - FRACTION)) / distance;
        }
        put(&self.others, v, others);
        put(&self.distances, v, distances);
        put(&self.harmonic, v, harmonic);
        others
    }
}

fn real(sums: &[AtomicU64], v: VertexId, fraction: u32) -> f64 {
    let sum = sums[v as usize].load(Ordering::Relaxed) as i64;
    sum.max(0) as f64 / (1u64 << fraction) as f64
}

fn put(sums: &[AtomicU64], v: VertexId, more: i64) {
    let sum = &sums[v as usize];
    let now = (sum.load(Ordering::Relaxed) as i64).saturating_add(more);
    sum.store(now as u64, Ordering::Relaxed);
}

/// The counters of one slice after another.
pub(super) struct Grow<'e> {
    engine: &'e Engine,
    lists: Lists,
    layout: Layout,
    slice: u32,
    before: Counters,
    after: Counters,
    /// Vertices whose counters grew in the last iteration.
    grown: Frontier,
    next: Frontier,
    sums: Sums,
    /// What the neighbourhood function gained at each distance from 1 on.
    gained: Vec<i128>,
}

impl<'e> Grow<'e> {
    pub fn new(engine: &'e Engine, lists: Lists, layout: Layout) -> Result<Self> {
        let n = engine.graph().vertices();
        Ok(Self {
            engine,
            lists,
            layout,
            slice: 0,
            before: Counters::new(n, layout)?,
            after: Counters::new(n, layout)?,
            grown: Frontier::new(n)?,
            next: Frontier::new(n)?,
            sums: Sums::new(n)?,
            gained: Vec::new(),
        })
    }

    /// Starts a slice: every counter has the hash of its own vertex.
    pub fn begin(&mut self, slice: u32, hash: impl Fn(VertexId) -> Option<u64> + Sync) {
        self.slice = slice;
        parallel::for_each(self.engine.graph().vertices(), |v| {
            let v = v as VertexId;
            let first = hash(v).and_then(|hash| self.layout.first(slice, hash));
            for counters in [&self.before, &self.after] {
                for (word, place) in counters.of(v).iter().zip(0..) {
                    let value = first.filter(|&(at, _)| at == place).map_or(0, |(_, value)| value);
                    word.store(value, Ordering::Relaxed);
                }
            }
        });
        self.grown.clear();
    }

    /// Iterates until no counter grows, or `most` times. Returns how often one grew, and whether
    /// none would any more.
    pub fn finish(&mut self, most: u32) -> Result<(u32, bool)> {
        for distance in 1..=most {
            self.step(distance)?;
            if self.grown.is_empty() {
                return Ok((distance - 1, true));
            }
            let gain = self.settle(distance);
            let place = distance as usize - 1;
            match self.gained.get_mut(place) {
                Some(gained) => *gained += gain,
                None => self.gained.push(gain),
            }
        }
        Ok((most, false))
    }

    fn step(&mut self, distance: u32) -> Result<()> {
        let label = match self.layout.slices() {
            1 => format!("iteration {distance}"),
            _ => format!("slice {}, iteration {distance}", self.slice + 1),
        };
        let n = self.engine.graph().vertices() as u64;
        let is_many = distance == 1 || self.grown.count() > n / GATHER_SHARE;
        let gathers = match self.lists {
            Lists::Both => is_many,
            Lists::Scatter(_) => false,
            Lists::Gather(_) => true,
        };
        let active = match gathers || distance == 1 {
            true => ActiveSet::All,
            false => ActiveSet::In(&self.grown),
        };
        let step = Step { gathers, before: &self.before, after: &self.after, grown: &self.next };
        let parts = self.engine.visit(label, self.lists.direction(), active, &step)?;
        self.grown.advance(&mut self.next, parts.into_iter().map(|local| local.part));
        Ok(())
    }

    /// Adds what counters have gained to the sums, and makes `before` as `after`. Returns the sum
    /// of the gains.
    fn settle(&self, distance: u32) -> i128 {
        let settle = |v: VertexId| {
            let (before, after) = (self.before.of(v), self.after.of(v));
            let gains =
                estimates(after).zip(estimates(before)).map(|(after, before)| after - before);
            let gain = self.sums.add(v, distance, gains);
            for (before, after) in before.iter().zip(after) {
                before.store(after.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            i128::from(gain)
        };
        match self.grown.list() {
            Some(list) => parallel::sum_of_blocks(SETTLE_CHUNK, list.len(), |range| {
                list[range].iter().map(|&v| settle(v)).sum::<i128>()
            }),
            None => {
                let n = self.engine.graph().vertices();
                parallel::sum_of_blocks(parallel::BLOCK, n, |range| {
                    let range = range.start as VertexId..range.end as VertexId;
                    self.grown.bits().iter_in(range).map(settle).sum::<i128>()
                })
            }
        }
    }

    /// The sums, and what the neighbourhood function gained.
    pub fn into_sums(self) -> (Sums, Vec<i128>) {
        (self.sums, self.gained)
    }
}

/// One iteration.
struct Step<'a> {
    gathers: bool,
    before: &'a Counters,
    after: &'a Counters,
    grown: &'a Frontier,
}

/// A counter of a worker, and the vertices that it found to have grown.
struct Local {
    counter: Vec<u64>,
    part: FrontierPart,
}

impl Step<'_> {
    #[inline(always)]
    fn gather(&self, local: &mut Local, list: &List<'_>) {
        for (i, &target) in list.targets.iter().enumerate() {
            if let Some(&later) = list.targets.get(i + AHEAD) {
                self.before.prefetch(later);
            }
            for (word, other) in local.counter.iter_mut().zip(self.before.of(target)) {
                *word = max(*word, other.load(Ordering::Relaxed));
            }
        }
        if self.after.join(list.vertex, &local.counter) {
            self.grown.add(list.vertex, &mut local.part);
        }
    }

    #[inline(always)]
    fn scatter(&self, local: &mut Local, list: &List<'_>) {
        for (i, &target) in list.targets.iter().enumerate() {
            if let Some(&later) = list.targets.get(i + AHEAD) {
                self.after.prefetch(later);
            }
            if self.after.join(target, &local.counter) {
                self.grown.add(target, &mut local.part);
            }
        }
    }
}

impl Kernel for Step<'_> {
    type Local = Local;

    fn local(&self) -> Local {
        Local { counter: vec![0; self.before.of_one()], part: FrontierPart::default() }
    }

    fn list(&self, local: &mut Local, list: &List<'_>) {
        load(self.before.of(list.vertex), &mut local.counter);
        match self.gathers {
            true => self.gather(local, list),
            false => self.scatter(local, list),
        }
    }
}
