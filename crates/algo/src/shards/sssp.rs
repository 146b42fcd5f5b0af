//! Shortest paths on a shard: the minimum over all paths of the sum of their weights.
//!
//! In a superstep a shard shortens distances by delta-stepping until its own lists yield no shorter
//! one below a bound, or many vertices have become nearer in one round: then what other shards know
//! saves more work than a superstep costs, and they have something to do. It sends the distances
//! of boundary vertices that became shorter. When no shard sends anything the bound rises to the
//! end of the bucket with the nearest vertex that waits. Minima do not depend on the order.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    Bitmap, Direction, Engine, EngineConfig, Frontier, FrontierPart, HugeVec, VertexId,
    weighted_bytes_for,
};

use super::Part;
use super::exchange::{filled, from_mirrors, sent, to_owners};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::report::{Result, check_weights};
use crate::sssp::{
    Lengths, OVERFLOW, Sums, UNREACHED, default_delta, keep_active, overflow, visit,
};

/// A superstep ends behind a round in which more than one of so many own vertices became nearer.
const FEW_SHARE: u64 = 32;

/// Memory: 16 bytes a vertex of the file, two frontiers and a set; 20 for each exchanged distance;
/// lists that wait for their weights.
pub(super) fn bytes_for(part: &Part, config: &EngineConfig) -> Result<u64> {
    let places = part.places();
    let sets = 2 * Frontier::bytes_for(places, config.threads) + Bitmap::bytes_for(places);
    let waiting = match part.graph.is_weighted() {
        true => weighted_bytes_for(&part.graph, config, Direction::Out)?,
        false => 0,
    };
    Ok(16 * places as u64 + sets + 20 * part.exchanged() + waiting)
}

pub(super) struct Sssp {
    lengths: Lengths,
    delta: f64,
    distances: HugeVec<AtomicU64>,
    /// The distances of boundary vertices that the owners know.
    sent: HugeVec<AtomicU64>,
    frontier: Frontier,
    next: Frontier,
    /// Own vertices whose distance fell since their list was last visited.
    waiting: Bitmap,
}

impl Sssp {
    pub fn new(part: &Part, sources: &[u64]) -> Result<Self> {
        check_weights(&part.graph, "0 or more is needed for shortest paths")?;
        let places = part.places();
        let far = |cell: &AtomicU64| cell.store(UNREACHED, Ordering::Relaxed);
        let sssp = Self {
            lengths: Lengths::of(&part.graph),
            delta: default_delta(&part.graph),
            distances: filled(places, far)?,
            sent: filled(places, far)?,
            frontier: Frontier::new(places)?,
            next: Frontier::new(places)?,
            waiting: Bitmap::new(places)?,
        };
        for v in part.own_of(sources) {
            sssp.distances[v as usize].store(0, Ordering::Relaxed);
            sssp.waiting.insert(v);
        }
        Ok(sssp)
    }

    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.distances[v as usize].load(Ordering::Relaxed)
    }

    /// The smallest distance of a vertex that waits.
    fn nearest(&self) -> Option<u64> {
        self.waiting.iter().map(|v| self.distance(v)).min()
    }

    fn take_candidates(&self, part: &Part, input: &Input<'_>) {
        from_mirrors(part, input.inbox, |v, distance: u64| {
            if distance < self.distance(v) {
                self.distances[v as usize].store(distance, Ordering::Relaxed);
                self.waiting.insert(v);
            }
        });
    }

    /// Shortens distances until no own vertex below the bound waits, or after a round in which many
    /// became nearer.
    fn shorten(&mut self, engine: &Engine, part: &Part, bound: u64) -> Result<()> {
        let few = part.own_count() as u64 / FEW_SHARE;
        while let Some(first) = self.nearest().filter(|first| *first < bound) {
            let end = self.lengths.bucket_end(first, self.delta).min(bound);
            let bucket: Vec<VertexId> =
                self.waiting.iter().filter(|&v| self.distance(v) < end).collect();
            bucket.iter().for_each(|&v| self.waiting.remove(v));
            self.frontier.set(&bucket);
            while !self.frontier.is_empty() {
                let kernel = Relax {
                    distances: &self.distances,
                    lengths: self.lengths,
                    next: &self.next,
                    waiting: &self.waiting,
                    own: part.own(),
                    end,
                };
                let parts = visit(engine, "bucket".to_owned(), &self.frontier, &kernel)?;
                self.frontier.advance(&mut self.next, parts);
                if self.frontier.count() > few {
                    self.frontier.bits().iter().for_each(|v| _ = self.waiting.insert(v));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn check_overflow(&self, part: &Part) -> Result<()> {
        match part.count_own(|v| self.distance(v) == OVERFLOW) {
            0 => Ok(()),
            _ => overflow(self.lengths, OVERFLOW),
        }
    }
}

impl Program for Sssp {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        self.take_candidates(part, input);
        self.shorten(engine, part, input.shared(0))?;
        let sent_of = |v: VertexId| self.sent[v as usize].load(Ordering::Relaxed);
        let messages = to_owners(part, |v| self.distance(v) < sent_of(v), |v| self.distance(v));
        part.for_each_boundary(|v| {
            self.sent[v as usize].store(self.distance(v), Ordering::Relaxed);
        });
        let nearest = self.nearest();
        if nearest.is_none() && sent(&messages) == 0 {
            self.check_overflow(part)?;
        }
        let end = nearest.map_or(UNREACHED, |first| self.lengths.bucket_end(first, self.delta));
        let report = vec![
            ("sent", sent(&messages)),
            ("nearest", nearest.unwrap_or(UNREACHED)),
            ("end", end),
        ];
        Ok(Step { messages, report })
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![("distances", Cells::U64(&self.distances)), ("sent", Cells::U64(&self.sent))]
    }

    /// Which vertices wait is not in the state: to visit the lists of others again changes nothing.
    fn restored(&mut self, part: &Part) -> Result<()> {
        part.own().filter(|&v| self.distance(v) != UNREACHED).for_each(|v| {
            self.waiting.insert(v);
        });
        Ok(())
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        let values = match self.lengths {
            Lengths::Integers => Values::U64(part.of_own(|v| self.distance(v))),
            Lengths::Floats => Values::F64(part.of_own(|v| match self.distance(v) {
                UNREACHED => f64::NAN,
                bits => f64::from_bits(bits),
            })),
        };
        vec![("distance", values)]
    }
}

/// Shortens distances; own vertices whose distance falls are in the bucket, or wait.
struct Relax<'a> {
    distances: &'a [AtomicU64],
    lengths: Lengths,
    next: &'a Frontier,
    waiting: &'a Bitmap,
    own: Range<VertexId>,
    end: u64,
}

impl Sums for Relax<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.distances[v as usize].load(Ordering::Relaxed)
    }

    fn lengths(&self) -> Lengths {
        self.lengths
    }

    #[inline(always)]
    fn path(&self, part: &mut FrontierPart, _: VertexId, _: u64, target: VertexId, sum: u64) {
        let distance = &self.distances[target as usize];
        if sum >= distance.load(Ordering::Relaxed)
            || sum >= distance.fetch_min(sum, Ordering::Relaxed)
            || !self.own.contains(&target)
        {
            return;
        }
        keep_active(target, sum < self.end, (self.next, part), self.waiting);
    }
}
