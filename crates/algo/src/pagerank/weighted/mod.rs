//! Ranks by weight: an edge is followed in proportion to its weight.
//!
//! The *total* of a vertex is the sum of the weights of its out-list, which one pass adds up before
//! the first iteration. Each vertex has a share, rank / total; an entry adds the share times its
//! weight, which is a mass below 2, as without weights. The sums of weights and of masses do not
//! depend on the order of their terms. A vertex whose weights are all 0 is one without out-edges.
//!
//! In-lists are pulled over, where there are some; else each vertex adds to its out-neighbours.
//!
//! - [`sum`]: sums of weights; [`lists`]: one sum for each list, of lists that arrive in pieces

mod lists;
mod sum;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Adjacency, Direction, Engine, EngineConfig, Graph, HugeVec, Kernel, List, VertexId,
    WeightNumber, Weights, prefetch, weighted_bytes_for, with_numbers,
};

use super::fixed::{WideSum, from_fixed, to_fixed};
use super::gather::PREFETCH_ENTRIES;
use super::pull::Masses;
use super::restart::Restart;
use super::{Step, load, pull_direction, pulls, store};
use crate::parallel;
use crate::report::{AlgoError, Result, pages};
use lists::{Boundaries, ListSums, Sum, Terms};
pub(super) use sum::WeightSum;

/// The least and the largest total: with them shares and masses are normal numbers.
const TOTAL_MIN: f64 = 1e-270;
const TOTAL_MAX: f64 = 1e270;

/// The state between iterations.
pub(super) struct Weighted<'e> {
    engine: &'e Engine,
    damping: f64,
    restart: Restart,
    /// The sum of the weights of each out-list.
    totals: HugeVec<AtomicU64>,
    /// What a vertex gives for each unit of weight: rank / total; where that is 0, its rank.
    shares: HugeVec<AtomicU64>,
    /// The mass that each vertex has received: the bits of `f64` where it is pulled, else in fixed
    /// point; 0 between iterations.
    received: HugeVec<AtomicU64>,
    /// Where masses are pulled.
    boundaries: Option<Boundaries<WideSum>>,
    dangling: f64,
}

/// Bytes of the state: 24 bytes a vertex, 24 a page of lists to pull over, and lists that wait for
/// weights with their sums; where pages are many, instead of 16 bytes a vertex and these 24, 56 a
/// page while weights are added up.
///
/// # Errors
/// An index of weights that cannot be read.
pub(super) fn bytes_for(graph: &Graph, config: &EngineConfig) -> Result<u64> {
    let n = graph.vertices() as u64;
    let out = weighted_bytes_for(graph, config, Direction::Out)?;
    let (pulled, visits) = match pulls(graph) {
        true => {
            let direction = pull_direction(graph);
            let inward = weighted_bytes_for(graph, config, direction)?;
            let boundaries = Boundaries::<WideSum>::bytes_for(pages(graph, direction));
            (boundaries, out.max(inward))
        }
        false => (0, out),
    };
    let totals = Boundaries::<WeightSum>::bytes_for(pages(graph, Direction::Out));
    // What waits for weights is at most as large again as sums.
    Ok(8 * n + totals.max(16 * n + pulled) + 2 * visits)
}

impl<'e> Weighted<'e> {
    /// Adds up the weights.
    ///
    /// # Errors
    /// A total that is too small or too large; a page that cannot be read.
    pub fn new(engine: &'e Engine, damping: f64, restart: Restart) -> Result<Self> {
        let graph = engine.graph();
        let n = graph.vertices();
        let totals = totals(engine)?;
        let boundaries = pulls(graph).then(|| Boundaries::new(adjacency(engine, true)));
        let (shares, received) = (HugeVec::zeroed(n)?, HugeVec::zeroed(n)?);
        let mut weighted =
            Self { engine, damping, restart, totals, shares, received, boundaries, dangling: 0.0 };
        let start = weighted.restart.start();
        let dangling = parallel::sum(n, |v| {
            let (rank, total) = (start.of(v as VertexId), load(&weighted.totals[v]));
            store(&weighted.shares[v], share(rank, total));
            if total == 0.0 { to_fixed(rank) } else { 0 }
        });
        weighted.dangling = from_fixed(dangling);
        Ok(weighted)
    }

    pub fn step(&mut self, iteration: u32) -> Result<Step> {
        let Self { engine, shares, received, .. } = self;
        let label = format!("iteration {iteration}");
        if let Some(boundaries) = &self.boundaries {
            let (adjacency, terms) = (adjacency(engine, true), Pulled { shares, received });
            let kernel = ListSums { adjacency, terms, boundaries };
            let direction = pull_direction(engine.graph());
            engine.visit_weighted(label, direction, ActiveSet::All, &kernel)?;
            kernel.finish();
            return Ok(self.advance(load));
        }
        let kernel = Scatter { shares, received };
        engine.visit_weighted(label, Direction::Out, ActiveSet::All, &kernel)?;
        Ok(self.advance(|mass| from_fixed(mass.load(Ordering::Relaxed))))
    }

    /// Makes the shares of the next iteration of what was received.
    fn advance(&mut self, mass: impl Fn(&AtomicU64) -> f64 + Sync) -> Step {
        let base = self.restart.base(self.dangling);
        let masses = parallel::sum(self.shares.len(), |v| {
            let (cell, received) = (&self.shares[v], &self.received[v]);
            let (total, base) = (load(&self.totals[v]), base.of(v as VertexId));
            let before = rank(load(cell), total);
            let after = base + self.damping * mass(received);
            received.store(0, Ordering::Relaxed);
            store(cell, share(after, total));
            let dangling = if total == 0.0 { to_fixed(after) } else { 0 };
            Masses { change: to_fixed((after - before).abs()), dangling }
        });
        let Masses { change, dangling } = masses;
        self.dangling = from_fixed(dangling);
        Step { change: from_fixed(change) }
    }

    /// The ranks: shares times totals.
    pub fn ranks(self) -> HugeVec<AtomicU64> {
        parallel::for_each_of(&self.shares, |v, cell| {
            store(cell, rank(load(cell), load(&self.totals[v])));
        });
        self.shares
    }
}

fn adjacency(engine: &Engine, is_pulled: bool) -> &Adjacency {
    let graph = engine.graph();
    let direction = if is_pulled { pull_direction(graph) } else { Direction::Out };
    graph.adjacency(direction).expect("out-lists exist, and pull is chosen where in-lists do")
}

/// The share of a vertex with this total.
#[inline(always)]
pub(super) fn share(rank: f64, total: f64) -> f64 {
    if total == 0.0 { rank } else { rank / total }
}

/// The rank of a vertex with this share and total.
#[inline(always)]
pub(super) fn rank(share: f64, total: f64) -> f64 {
    if total == 0.0 { share } else { share * total }
}

/// The sum of the weights of each out-list.
fn totals(engine: &Engine) -> Result<HugeVec<AtomicU64>> {
    let graph = engine.graph();
    let totals = HugeVec::zeroed(graph.vertices())?;
    let adjacency = adjacency(engine, false);
    let boundaries = &Boundaries::new(adjacency);
    let kernel = ListSums { adjacency, terms: Totals(&totals), boundaries };
    let label = "sums of weights";
    if graph.is_directed() && pulls(graph) {
        engine.visit_weighted_once(label, Direction::Out, ActiveSet::All, &kernel)?;
    } else {
        engine.visit_weighted(label, Direction::Out, ActiveSet::All, &kernel)?;
    }
    kernel.finish();
    check(&totals)?;
    Ok(totals)
}

/// Refuses totals with which shares would not be normal numbers.
fn check(totals: &[AtomicU64]) -> Result<()> {
    let wrong = |range: Range<usize>| totals[range].iter().map(load).find(is_wrong);
    let wrong = parallel::collect_of_blocks(parallel::BLOCK, totals.len(), wrong);
    refuse(wrong.into_iter().flatten().next())
}

/// Whether shares of a vertex with this total would not be normal numbers.
pub(super) fn is_wrong(total: &f64) -> bool {
    *total != 0.0 && !(TOTAL_MIN..=TOTAL_MAX).contains(total)
}

/// Refuses a wrong total, if there is one.
pub(super) fn refuse(wrong: Option<f64>) -> Result<()> {
    match wrong {
        None => Ok(()),
        Some(total) => Err(AlgoError::Parameter {
            parameter: "the sum of the weights of a vertex",
            given: format!("{total:?}"),
            expected: format!(
                "ranks by weight need sums from {TOTAL_MIN:e} to {TOTAL_MAX:e}, or 0; import the \
                 weights times a power of ten"
            ),
        }),
    }
}

impl Sum for WeightSum {
    fn and(self, other: Self) -> Self {
        self.and(other)
    }
}

impl Sum for WideSum {
    fn and(self, other: Self) -> Self {
        self.and(other)
    }
}

/// Weights.
struct Totals<'a>(&'a [AtomicU64]);

impl Terms for Totals<'_> {
    type Sum = WeightSum;

    fn sum(&self, _: &[VertexId], weights: Weights<'_>) -> WeightSum {
        WeightSum::of(weights)
    }

    fn take(&self, v: VertexId, sum: WeightSum) {
        store(&self.0[v as usize], sum.value());
    }
}

/// Shares of in-neighbours times weights.
struct Pulled<'a> {
    shares: &'a [AtomicU64],
    received: &'a [AtomicU64],
}

impl Terms for Pulled<'_> {
    type Sum = WideSum;

    #[inline(always)]
    fn sum(&self, targets: &[VertexId], weights: Weights<'_>) -> WideSum {
        with_numbers!(weights, numbers => self.gather(targets, numbers))
    }

    #[inline(always)]
    fn prefetch(&self, targets: &[VertexId]) {
        targets.iter().for_each(|&target| prefetch(self.shares, target as usize));
    }

    fn take(&self, v: VertexId, sum: WideSum) {
        store(&self.received[v as usize], sum.mass());
    }
}

impl Pulled<'_> {
    #[inline(always)]
    fn gather(&self, targets: &[VertexId], weights: &[impl WeightNumber]) -> WideSum {
        let mut sum = WideSum::default();
        for (i, (&target, &weight)) in targets.iter().zip(weights).enumerate() {
            if let Some(&later) = targets.get(i + PREFETCH_ENTRIES) {
                prefetch(self.shares, later as usize);
            }
            sum.add_biased(load(&self.shares[target as usize]) * weight.to_f64());
        }
        sum.without_bias(targets.len())
    }
}

/// Adds shares times weights to the out-neighbours, in fixed point.
struct Scatter<'a> {
    shares: &'a [AtomicU64],
    received: &'a [AtomicU64],
}

impl Kernel for Scatter<'_> {
    type Local = ();

    fn local(&self) {}

    #[inline(always)]
    fn prefetch(&self, targets: &[VertexId]) {
        targets.iter().for_each(|&target| prefetch(self.received, target as usize));
    }

    fn weighted_list(&self, (): &mut (), list: &List<'_>, weights: Weights<'_>) {
        let share = load(&self.shares[list.vertex as usize]);
        with_numbers!(weights, numbers => self.scatter(share, list, numbers));
    }
}

impl Scatter<'_> {
    #[inline(always)]
    fn scatter(&self, share: f64, list: &List<'_>, weights: &[impl WeightNumber]) {
        for (&target, &weight) in list.targets.iter().zip(weights) {
            let mass = to_fixed(share * weight.to_f64());
            self.received[target as usize].fetch_add(mass, Ordering::Relaxed);
        }
    }
}
