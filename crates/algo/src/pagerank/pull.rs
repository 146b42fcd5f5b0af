//! Pull: each vertex sums the shares of its in-neighbours.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Adjacency, Direction, Engine, EntryOrder, HugeVec, Kernel, List, Page, Purpose,
    VertexId, prefetch,
};

use super::fixed::{WideSum, from_fixed, to_fixed};
use super::gather::{PREFETCH_ENTRIES, gather};
use super::restart::{Base, Restart};
use super::short_lists::{self, BLOCK, Block, Scratch, TakeSums};
use super::{Step, load, store};
use crate::parallel;
use crate::report::Result;

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
    /// Whether the shares are ranks: after an iteration that was announced as the last.
    are_ranks: bool,
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
            are_ranks: false,
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
        let take = |dangling: &mut u64, first: VertexId, degrees: &[u64]| {
            for (v, &degree) in (first as usize..).zip(degrees) {
                let rank = start.of(v as VertexId);
                store(&pull.shares[v], share(rank, degree));
                *dangling += if degree == 0 { to_fixed(rank) } else { 0 };
                if let Some(out_degrees) = &out_degrees {
                    let degree = u32::try_from(degree).unwrap_or(u32::MAX);
                    out_degrees[v].store(degree, Ordering::Relaxed);
                }
            }
        };
        let dangling = graph.degrees_on(engine.config().threads, Direction::Out, &take)?;
        pull.out_degrees = out_degrees;
        pull.dangling = from_fixed(dangling.into_iter().sum());
        Ok(pull)
    }

    /// An iteration; `needs` says what of it, beside the shares.
    pub fn step(&mut self, iteration: u32, needs: StepNeeds) -> Result<Step> {
        let kernel = Gather {
            shares: &self.shares,
            next: &self.next,
            out_degrees: self.out_degrees.as_deref(),
            pieces: &self.pieces,
            adjacency: adjacency(self.engine, self.direction),
            base: self.restart.base(self.dangling),
            damping: self.damping,
            needs,
        };
        let label = format!("iteration {iteration}");
        let locals = self.engine.visit(label, self.direction, ActiveSet::All, &kernel)?;
        let Masses { change, dangling } =
            locals.iter().fold(kernel.finish_pieces(), |all, local| all.and(local.masses));
        self.dangling = from_fixed(dangling);
        self.are_ranks = needs.ranks;
        std::mem::swap(&mut self.shares, &mut self.next);
        Ok(Step { change: from_fixed(change) })
    }

    /// The ranks: shares times degrees.
    pub fn ranks(self) -> Result<HugeVec<AtomicU64>> {
        if !self.are_ranks {
            let take = |(): &mut (), first: VertexId, degrees: &[u64]| {
                for (v, &degree) in (first as usize..).zip(degrees) {
                    store(&self.shares[v], rank(load(&self.shares[v]), degree));
                }
            };
            let threads = self.engine.config().threads;
            self.engine.graph().degrees_on(threads, Direction::Out, &take)?;
        }
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

struct Gather<'a> {
    shares: &'a [AtomicU64],
    next: &'a [AtomicU64],
    out_degrees: Option<&'a [AtomicU32]>,
    pieces: &'a Pieces,
    adjacency: &'a Adjacency,
    base: Base<'a>,
    damping: f64,
    needs: StepNeeds,
}

/// What of an iteration is needed beside the shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepNeeds {
    /// By how much ranks change.
    pub change: bool,
    /// The ranks instead of the shares: no iteration follows.
    pub ranks: bool,
}

/// Mass in fixed point, summed by one worker.
#[derive(Clone, Copy, Default)]
pub(crate) struct Masses {
    /// By how much ranks change in all, where that is needed.
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

    /// Adds the change of a rank. Only lists that contradict each other, which `check` reports,
    /// yield a mass above 1.
    #[inline(always)]
    fn add_change(&mut self, before: f64, after: f64) {
        self.change = self.change.wrapping_add(to_fixed((after - before).abs()));
    }
}

impl AddAssign for Masses {
    fn add_assign(&mut self, other: Self) {
        *self = self.and(other);
    }
}

/// What a worker collects.
struct Local {
    masses: Masses,
    scratch: Box<Scratch>,
}

impl Kernel for Gather<'_> {
    type Local = Local;

    const ORDER: EntryOrder = EntryOrder::Any;

    fn local(&self) -> Local {
        Local { masses: Masses::default(), scratch: Scratch::new() }
    }

    fn list(&self, local: &mut Local, list: &List<'_>) {
        let sum = gather(self.shares, list.targets, 0, list.targets.len());
        self.take(&mut local.masses, list, sum);
    }

    fn page(&self, local: &mut Local, page: &Page<'_>, _: &Purpose<'_>) {
        let Local { masses, scratch } = local;
        if short_lists::are_short(page) {
            let mut take = Take { gather: self, masses };
            return short_lists::sum_page(self.shares, page, scratch, &mut take);
        }
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

/// The sums of a page go to its vertices.
struct Take<'a, 'g> {
    gather: &'a Gather<'g>,
    masses: &'a mut Masses,
}

impl TakeSums for Take<'_, '_> {
    #[inline(always)]
    fn list(&mut self, list: &List<'_>, sum: WideSum) {
        self.gather.take(self.masses, list, sum);
    }

    #[inline(always)]
    fn block(&mut self, block: &Block<'_>) {
        self.gather.finish_block(self.masses, block);
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
        let after = self.base.of(v) + self.damping * sum;
        let next = share(after, degree);
        store(&self.next[v as usize], if self.needs.ranks { rank(next, degree) } else { next });
        if self.needs.change {
            let before = rank(load(&self.shares[v as usize]), degree);
            masses.add_change(before, after);
        }
        if degree == 0 {
            masses.dangling = masses.dangling.wrapping_add(to_fixed(after));
        }
    }

    /// As [`Self::finish`], for the vertices of a block. Its loops vectorise.
    #[inline(always)]
    fn finish_block(&self, masses: &mut Masses, block: &Block<'_>) {
        let Block { first, lengths, sums } = *block;
        let vertices = first as usize..first as usize + sums.len();
        let mut degrees = [0.0; BLOCK];
        let degrees = &mut degrees[..sums.len()];
        match self.out_degrees {
            None => degrees.iter_mut().zip(lengths).for_each(|(to, &from)| *to = from.into()),
            Some(all) => {
                let all = all[vertices.clone()].iter().map(|degree| degree.load(Ordering::Relaxed));
                degrees.iter_mut().zip(all).for_each(|(to, from)| *to = from.into());
            }
        }
        let has_dangling = degrees.iter().fold(false, |has, &degree| has | (degree == 0.0));
        let mut after = [0.0; BLOCK];
        let after = &mut after[..sums.len()];
        self.base.of_all(first, after);
        for (after, sum) in after.iter_mut().zip(sums) {
            *after += self.damping * sum.mass_below_2();
        }
        if has_dangling {
            for (degree, after) in degrees.iter_mut().zip(&*after).filter(|(d, _)| **d == 0.0) {
                masses.dangling = masses.dangling.wrapping_add(to_fixed(*after));
                *degree = 1.0;
            }
        }
        if self.needs.change {
            for ((share, degree), after) in
                self.shares[vertices.clone()].iter().zip(&*degrees).zip(&*after)
            {
                masses.add_change(load(share) * degree, *after);
            }
        }
        after.iter_mut().zip(&*degrees).for_each(|(after, degree)| *after /= degree);
        if self.needs.ranks {
            after.iter_mut().zip(&*degrees).for_each(|(after, degree)| *after *= degree);
        }
        self.next[vertices].iter().zip(&*after).for_each(|(next, &after)| store(next, after));
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
