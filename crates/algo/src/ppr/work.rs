//! The work of one seed.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{Graph, VertexId};
use rustc_hash::FxHashMap;

use super::table::Table;
use super::{Found, PprConfig, SeedRank};
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result};

/// A mass of 1, in fixed point.
const ONE: u64 = 1 << 62;

/// Targets whose slots are fetched while others receive.
const AHEAD: usize = 12;

/// Targets that receive between two looks at the room of a table.
const TOGETHER: usize = 1 << 10;

/// Bytes of a vertex that has settled mass, in a hash table.
const SETTLED_BYTES: u64 = 40;

/// Bytes of a vertex that pushes: in the list of a seed, and as a job while jobs are put together.
const ACTIVE_BYTES: u64 = 8 + 2 * size_of::<Job>() as u64;

/// When and what a vertex pushes.
#[derive(Debug)]
pub(super) struct Rules {
    /// In fixed point.
    damping: u64,
    /// The mass per edge from which on a vertex pushes, in fixed point.
    per_edge: u64,
    /// Most vertices that hold mass for one seed.
    vertices_max: u64,
    /// Most vertices that push.
    pushes_max: u64,
}

/// A vertex that pushes for a seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub vertex: VertexId,
    /// The place of the seed among those that run.
    pub work: u32,
    /// The mass for all neighbours.
    pub mass: u64,
}

impl Rules {
    pub fn new(graph: &Graph, ppr: &PprConfig) -> Self {
        let n = graph.vertices() as u64;
        // Every push but the first settles at least (1 - damping) tolerance for each entry.
        let entries = 1.0 / (ppr.tolerance * (1.0 - ppr.damping)).max(f64::MIN_POSITIVE);
        let entries = if entries < 1e18 { entries.ceil() as u64 } else { u64::MAX / 4 };
        Self {
            damping: (ppr.damping * ONE as f64) as u64,
            per_edge: ((ppr.tolerance * ONE as f64) as u64).max(1),
            vertices_max: n.min(entries.saturating_add(graph.superblock().degree_max + 1)),
            pushes_max: n.min(entries.saturating_add(1)),
        }
    }

    /// The most bytes of one seed.
    pub fn bytes_max(&self) -> u64 {
        let beside = self.pushes_max * (SETTLED_BYTES + ACTIVE_BYTES);
        // Room is made for some targets more than have any mass.
        Table::bytes_max(self.vertices_max + TOGETHER as u64) + beside
    }

    /// The part of a mass that follows edges.
    #[inline(always)]
    fn damped(&self, mass: u64) -> u64 {
        ((u128::from(mass) * u128::from(self.damping)) >> 62) as u64
    }

    #[inline(always)]
    fn least(&self, degree: u32) -> u64 {
        self.per_edge.saturating_mul(degree.into())
    }
}

/// The memory of all seeds that run.
#[derive(Debug)]
pub(super) struct Budget {
    used: AtomicU64,
    max: u64,
}

impl Budget {
    pub fn new(max: u64) -> Self {
        Self { used: AtomicU64::new(0), max }
    }

    pub fn max(&self) -> u64 {
        self.max
    }

    /// Whether so many bytes more fit.
    pub fn has(&self, bytes: u64) -> bool {
        self.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.max
    }

    /// Counts so many bytes more, if they fit.
    fn take(&self, bytes: u64) -> bool {
        let fits = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.max;
        if !fits {
            self.give(bytes);
        }
        fits
    }

    fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The masses of one seed.
#[derive(Debug)]
pub(super) struct Work {
    /// Its place among all seeds.
    pub number: usize,
    seed: VertexId,
    held: Table,
    settled: FxHashMap<VertexId, u64>,
    /// Vertices that push in the next round.
    active: Vec<VertexId>,
    failed: bool,
    /// Why the system gave no memory that the budget has.
    fault: Option<AlgoError>,
    /// Bytes that are counted, and the most that were.
    bytes: u64,
    bytes_peak: u64,
    /// Of these the bytes beside the table.
    beside: u64,
}

impl Work {
    pub fn new(number: usize, seed: VertexId, degree: u32, budget: &Budget) -> Result<Self> {
        let mut held = Table::new()?;
        held.add(seed, ONE, || degree);
        let mut work = Self {
            number,
            seed,
            held,
            settled: FxHashMap::default(),
            // The first push is one whatever the degree.
            active: vec![seed],
            failed: false,
            fault: None,
            bytes: 0,
            bytes_peak: 0,
            beside: 0,
        };
        work.count(work.held.bytes(), budget);
        Ok(work)
    }

    /// Counts bytes; if they do not fit, the work has failed.
    fn count(&mut self, bytes: u64, budget: &Budget) {
        if !budget.take(bytes) {
            self.failed = true;
            return;
        }
        self.bytes += bytes;
        self.bytes_peak = self.bytes_peak.max(self.bytes);
    }

    /// Counts nothing any more.
    pub fn release(&mut self, budget: &Budget) {
        budget.give(std::mem::take(&mut self.bytes));
    }

    pub fn bytes_peak(&self) -> u64 {
        self.bytes_peak
    }

    /// Whether its memory did not suffice.
    ///
    /// # Errors
    /// The system gave none, although the budget has it.
    pub fn check(&mut self) -> Result<bool> {
        self.fault.take().map_or(Ok(self.failed), Err)
    }

    /// Whether it has failed.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether no vertex pushes any more.
    pub fn is_done(&self) -> bool {
        self.active.is_empty()
    }

    /// Settles mass of the active vertices; returns what they pass on.
    pub fn settle(
        &mut self,
        place: u32,
        rules: &Rules,
        degrees: &[u32],
        budget: &Budget,
    ) -> Vec<Job> {
        let active = std::mem::take(&mut self.active);
        let mut jobs = Vec::with_capacity(active.len());
        // From dead ends back to the seed, when that has settled its own.
        let mut back = 0;
        for &vertex in &active {
            let held = self.held.take(vertex);
            let mass = rules.damped(held);
            *self.settled.entry(vertex).or_default() += held - mass;
            match degrees[vertex as usize] {
                0 => back += mass,
                _ => jobs.push(Job { vertex, work: place, mass }),
            }
        }
        let beside = self.settled.len() as u64 * SETTLED_BYTES + active.len() as u64 * ACTIVE_BYTES;
        if beside > self.beside {
            self.count(beside - self.beside, budget);
            self.beside = beside;
        }
        if back > 0 {
            self.receive_one(self.seed, back, rules, degrees);
        }
        jobs
    }

    /// Adds `share` to each of these vertices.
    pub fn receive(
        &mut self,
        targets: &[VertexId],
        share: u64,
        (rules, degrees): (&Rules, &[u32]),
        budget: &Budget,
    ) {
        for some in targets.chunks(TOGETHER) {
            if let Some(bytes) = self.held.growth(some.len()) {
                self.count(bytes, budget);
                if self.failed {
                    return;
                }
                let before = self.held.bytes();
                if let Err(error) = self.held.grow(some.len()) {
                    (self.failed, self.fault) = (true, Some(error));
                    return;
                }
                self.bytes -= before;
                budget.give(before);
            }
            for (i, &target) in some.iter().enumerate() {
                if let Some(&later) = some.get(i + AHEAD) {
                    self.held.prefetch(later);
                }
                self.receive_one(target, share, rules, degrees);
            }
        }
    }

    #[inline(always)]
    fn receive_one(&mut self, target: VertexId, share: u64, rules: &Rules, degrees: &[u32]) {
        let (before, slot) = self.held.add(target, share, || degrees[target as usize]);
        let least = rules.least(slot.degree);
        if before < least && slot.mass >= least {
            self.active.push(target);
        }
    }

    /// The vertices of highest rank, and the mass that was not settled.
    pub fn finish(self, top_k: u32, rules: &Rules, ranks: &Ranks) -> Found {
        let rank = |mass: u64| mass as f64 / ONE as f64;
        // Masses that differ by less than a rank shows are equal ranks, which are in order of ids.
        let order = |&(mass, v): &(u64, VertexId)| (Reverse(rank(mass).to_bits()), ranks.of(v));
        let top_k = top_k as usize;
        let (mut masses, mut sum) = (Vec::new(), 0);
        for slot in self.held.iter() {
            // What a vertex holds is settled in part: that needs no list.
            let settled = self.settled.get(&slot.vertex()).copied().unwrap_or(0);
            let mass = settled + (slot.mass - rules.damped(slot.mass));
            sum += mass;
            if mass > 0 {
                masses.push((mass, slot.vertex()));
            }
            if masses.len() > 2 * top_k {
                masses.select_nth_unstable_by_key(top_k, order);
                masses.truncate(top_k);
            }
        }
        masses.sort_unstable_by_key(order);
        masses.truncate(top_k);
        let seed = self.seed;
        let row = |(mass, vertex)| SeedRank { seed, vertex, rank: rank(mass) };
        (masses.into_iter().map(row).collect(), rank(ONE - sum.min(ONE)))
    }
}
