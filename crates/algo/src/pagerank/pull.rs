//! Pull: each vertex sums the shares of its in-neighbours.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Adjacency, Direction, Engine, EntryOrder, HugeVec, Kernel, List, Page, Purpose,
    VertexId, prefetch,
};

use super::fixed::{WideSum, from_fixed, to_fixed};
use super::restart::{Base, Restart};
use super::{Step, load, store};
use crate::parallel;
use crate::report::Result;

/// How many entries ahead to prefetch. A bare gather on two cores, with 71 MB of shares and skewed
/// random targets, does in million entries a second: 240 without, 300 at 16, 400 at 32, 580 at 64,
/// 770 at 128.
pub(crate) const PREFETCH_ENTRIES: usize = 128;

/// The state between iterations.
pub(super) struct Pull<'e> {
    engine: &'e Engine,
    direction: Direction,
    damping: f64,
    restart: Restart,
    /// What a vertex gives each out-neighbour: rank / out-degree; for a vertex without out-edges
    /// its rank.
    shares: HugeVec<AtomicU64>,
    next: HugeVec<AtomicU64>,
    /// On a directed graph, whose in-lists do not give the out-degrees.
    out_degrees: Option<HugeVec<AtomicU32>>,
    pieces: Pieces,
    dangling: f64,
}

/// Sums of the pieces of lists that span pages. Slot i is for the piece that page i begins with and
/// the piece that page i - 1 ends with.
struct Pieces {
    high: HugeVec<AtomicU64>,
    low: HugeVec<AtomicU64>,
    /// The lengths of these lists.
    degrees: HugeVec<AtomicU64>,
}

/// Bytes of the pieces per page.
pub(super) const PIECE_BYTES: u64 = 24;

impl<'e> Pull<'e> {
    pub fn new(engine: &'e Engine, damping: f64, restart: Restart) -> Result<Self> {
        let graph = engine.graph();
        let n = graph.vertices();
        let direction = if graph.is_directed() { Direction::In } else { Direction::Out };
        let pages = usize::try_from(adjacency(engine, direction).pages())
            .expect("an index of the pages is in memory");
        let mut pull = Self {
            engine,
            direction,
            damping,
            restart,
            shares: HugeVec::zeroed(n)?,
            next: HugeVec::zeroed(n)?,
            out_degrees: None,
            pieces: Pieces {
                high: HugeVec::zeroed(pages)?,
                low: HugeVec::zeroed(pages)?,
                degrees: HugeVec::zeroed(pages)?,
            },
            dangling: 0.0,
        };
        let out_degrees: Option<HugeVec<AtomicU32>> =
            if graph.is_directed() { Some(HugeVec::zeroed(n)?) } else { None };
        let start = pull.restart.start();
        let mut dangling = 0;
        graph.degrees(Direction::Out, &mut |first, degrees| {
            for (v, &degree) in (first as usize..).zip(degrees) {
                let rank = start.of(v as VertexId);
                store(&pull.shares[v], share(rank, degree));
                dangling += if degree == 0 { to_fixed(rank) } else { 0 };
                if let Some(out_degrees) = &out_degrees {
                    let degree = u32::try_from(degree).unwrap_or(u32::MAX);
                    out_degrees[v].store(degree, Ordering::Relaxed);
                }
            }
        })?;
        pull.out_degrees = out_degrees;
        pull.dangling = from_fixed(dangling);
        Ok(pull)
    }

    pub fn step(&mut self, iteration: u32) -> Result<Step> {
        let kernel = Gather {
            shares: &self.shares,
            next: &self.next,
            out_degrees: self.out_degrees.as_deref(),
            pieces: &self.pieces,
            adjacency: adjacency(self.engine, self.direction),
            base: self.restart.base(self.dangling),
            damping: self.damping,
        };
        let label = format!("iteration {iteration}");
        let locals = self.engine.visit(label, self.direction, ActiveSet::All, &kernel)?;
        let Masses { change, dangling } =
            locals.into_iter().fold(kernel.finish_pieces(), Masses::and);
        self.dangling = from_fixed(dangling);
        std::mem::swap(&mut self.shares, &mut self.next);
        Ok(Step { change: from_fixed(change) })
    }

    /// The ranks: shares times degrees.
    pub fn ranks(self) -> Result<HugeVec<AtomicU64>> {
        self.engine.graph().degrees(Direction::Out, &mut |first, degrees| {
            for (v, &degree) in (first as usize..).zip(degrees) {
                store(&self.shares[v], rank(load(&self.shares[v]), degree));
            }
        })?;
        Ok(self.shares)
    }
}

fn adjacency(engine: &Engine, direction: Direction) -> &Adjacency {
    engine.graph().adjacency(direction).expect("pull is chosen where the lists exist")
}

#[inline(always)]
pub(crate) fn share(rank: f64, degree: u64) -> f64 {
    if degree == 0 { rank } else { rank / degree as f64 }
}

#[inline(always)]
pub(crate) fn rank(share: f64, degree: u64) -> f64 {
    if degree == 0 { share } else { share * degree as f64 }
}

/// The sum of the shares of `entries[from..to]`; prefetches ahead in all `entries`.
#[inline(always)]
pub(crate) fn gather(shares: &[AtomicU64], entries: &[u32], from: usize, to: usize) -> WideSum {
    let ahead_max = entries.len().saturating_sub(PREFETCH_ENTRIES).clamp(from, to);
    let near = &entries[from..ahead_max];
    let far = &entries[(from + PREFETCH_ENTRIES).min(entries.len())..];
    let mut sum = WideSum::default();
    for (&target, &later) in near.iter().zip(far) {
        prefetch(shares, later as usize);
        sum.add_biased(load(&shares[target as usize]));
    }
    for &target in &entries[ahead_max..to] {
        sum.add_biased(load(&shares[target as usize]));
    }
    sum.without_bias(to - from)
}

struct Gather<'a> {
    shares: &'a [AtomicU64],
    next: &'a [AtomicU64],
    out_degrees: Option<&'a [AtomicU32]>,
    pieces: &'a Pieces,
    adjacency: &'a Adjacency,
    base: Base<'a>,
    damping: f64,
}

/// Mass in fixed point, summed by one worker.
#[derive(Clone, Copy, Default)]
pub(crate) struct Masses {
    /// By how much ranks change in all.
    pub change: u64,
    /// The mass of vertices without out-edges.
    pub dangling: u64,
}

impl Masses {
    pub fn and(self, other: Self) -> Self {
        Self {
            change: self.change.wrapping_add(other.change),
            dangling: self.dangling.wrapping_add(other.dangling),
        }
    }
}

impl AddAssign for Masses {
    fn add_assign(&mut self, other: Self) {
        *self = self.and(other);
    }
}

impl Kernel for Gather<'_> {
    type Local = Masses;

    const ORDER: EntryOrder = EntryOrder::Any;

    fn local(&self) -> Masses {
        Masses::default()
    }

    fn list(&self, masses: &mut Masses, list: &List<'_>) {
        let sum = gather(self.shares, list.targets, 0, list.targets.len());
        self.take(masses, list, sum);
    }

    fn page(&self, masses: &mut Masses, page: &Page<'_>, _: &Purpose<'_>) {
        let entries = page.entries();
        for &target in &entries[..entries.len().min(PREFETCH_ENTRIES)] {
            prefetch(self.shares, target as usize);
        }
        let mut from = 0;
        for list in page.lists() {
            let to = from + list.targets.len();
            let sum = gather(self.shares, entries, from, to);
            self.take(masses, &list, sum);
            from = to;
        }
    }
}

impl Gather<'_> {
    /// Finishes the vertex of a whole list; stores the sum of a piece for [`Self::finish_pieces`].
    #[inline(always)]
    fn take(&self, masses: &mut Masses, list: &List<'_>, sum: WideSum) {
        if list.is_whole() {
            self.finish(masses, list.vertex, list.degree, sum.mass());
        } else {
            self.add_piece(list, sum);
        }
    }

    #[inline(never)]
    fn add_piece(&self, list: &List<'_>, sum: WideSum) {
        let page = (list.page - self.adjacency.first_page()) as usize;
        let slot = if list.skip == 0 { page + 1 } else { page };
        if slot >= self.pieces.degrees.len() {
            // The list claims to continue behind the last page: `check` reports that.
            return;
        }
        self.pieces.high[slot].fetch_add(sum.high, Ordering::Relaxed);
        self.pieces.low[slot].fetch_add(sum.low, Ordering::Relaxed);
        self.pieces.degrees[slot].store(list.degree, Ordering::Relaxed);
    }

    #[inline(always)]
    fn finish(&self, masses: &mut Masses, v: VertexId, list_degree: u64, sum: f64) {
        let degree = match self.out_degrees {
            None => list_degree,
            Some(degrees) => u64::from(degrees[v as usize].load(Ordering::Relaxed)),
        };
        let before = rank(load(&self.shares[v as usize]), degree);
        let after = self.base.of(v) + self.damping * sum;
        store(&self.next[v as usize], share(after, degree));
        // Only lists that contradict each other, which `check` reports, yield a mass above 1.
        masses.change = masses.change.wrapping_add(to_fixed((after - before).abs()));
        if degree == 0 {
            masses.dangling = masses.dangling.wrapping_add(to_fixed(after));
        }
    }

    /// Finishes the vertices whose lists span pages, and clears the sums.
    fn finish_pieces(&self) -> Masses {
        let continued = |page: usize| {
            let page = page as u64;
            self.adjacency.continues(page).then(|| self.adjacency.vertices_in(page).start)
        };
        let pages = self.pieces.degrees.len();
        let finish = |page: usize| {
            let mut masses = Masses::default();
            if let Some(v) = continued(page).filter(|&v| continued(page - 1) != Some(v)) {
                let mut sum = WideSum::default();
                for slot in (page..pages).take_while(|&slot| continued(slot) == Some(v)) {
                    let high = self.pieces.high[slot].swap(0, Ordering::Relaxed);
                    let low = self.pieces.low[slot].swap(0, Ordering::Relaxed);
                    sum = sum.and(WideSum { high, low });
                }
                let degree = self.pieces.degrees[page].load(Ordering::Relaxed);
                self.finish(&mut masses, v, degree, sum.mass());
            }
            masses
        };
        parallel::sum(pages.saturating_sub(1), |before| finish(before + 1))
    }
}
