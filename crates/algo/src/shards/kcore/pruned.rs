//! Rounds of bounds over lists in memory, without the entries that cannot matter.
//!
//! **Trick.** When lists are pruned, each vertex gets a *floor* that its bound is trusted not to
//! fall below. A neighbour whose floor is above the bound of a vertex supports it whatever falls,
//! one whose bound is below its floor does not support it any more. Neither is kept: the former are
//! counted. If a bound does fall below its floor, the lists are pruned again from pages, each time
//! with lower floors, so that this ends soon.
//!
//! Boundary vertices have lists too, of their own neighbours: these lose support when the bound of
//! a boundary vertex falls.
//!
//! Most entries are between the few vertices with the largest bounds. So vertices have *ranks* by
//! which all that rounds touch is ordered: own vertices first, both kinds by descending bound. What
//! rounds touch often then lies in few cache lines.

use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use cenote_engine::{Adjacency, Bitmap, Engine, EngineConfig, HugeVec, Needs, VertexId, prefetch};

use super::pages::visit;
use super::{Kcore, NONE, Result};
use crate::kind::has_hubs;
use crate::neighbourhood::{Neighbourhood, directions};
use crate::parallel::{self, Adder};
use crate::shards::Part;

/// Bytes of pruned lists at most, with every entry: those of own vertices, and as many of boundary
/// vertices.
pub(in crate::shards) fn optional_bytes(part: &Part) -> u64 {
    arrays_bytes(part) + 8 * entries(part)
}

/// Entries of all lists.
fn entries(part: &Part) -> u64 {
    let of = |direction| part.graph.adjacency(direction).map_or(0, Adjacency::stored_edges);
    directions(part.is_directed).iter().map(|&direction| of(direction)).sum()
}

/// Bytes beside entries: 24 a vertex of the file, 4 an own vertex.
fn arrays_bytes(part: &Part) -> u64 {
    24 * part.places() as u64 + 4 * part.own_count() as u64 + 4 * RANKED_MAX as u64
}

/// Vertices with larger bounds have ranks in no order.
const RANKED_MAX: u32 = 1 << 16;

/// Ranks that a thread takes at a time: the first ones have the longest lists.
const BLOCK: usize = 256;

/// The beginning of a list is prefetched so many lists before it is needed.
const LISTS_AHEAD: usize = 4;

/// Entries of a cache line.
const LINE_ENTRIES: usize = 16;

/// Pruned lists have between these shares of all entries where vertices have hubs as neighbours: in
/// Kronecker graphs 0.28 to 0.39. They are worth more than cached pages, which without them are
/// read again in each round. Without hubs all bounds are alike.
const KEPT_SHARES: [f64; 2] = [0.3, 0.45];

/// Divides the memory between pruned lists and cached pages.
pub(in crate::shards) fn with_room(
    part: &Part,
    mut config: EngineConfig,
    needs: &Needs,
) -> Result<EngineConfig> {
    let (_, memory) = Engine::plan(&part.graph, &config, needs)?;
    let left = memory.scratch_bytes + memory.cache_bytes;
    let [least, most] =
        KEPT_SHARES.map(|share| arrays_bytes(part) + (4.0 * share * entries(part) as f64) as u64);
    let has_room = has_hubs(&part.graph) && left >= least;
    let cache = if has_room { left.saturating_sub(most) } else { left };
    config.cache_bytes = Some(config.cache_bytes.map_or(cache, |set| set.min(cache)));
    Ok(config)
}

/// The floors of bounds.
#[derive(Clone, Copy, Debug)]
struct Floors {
    /// For which time lists are pruned, from 1.
    nth: u32,
    /// The highest floor.
    most: u32,
}

impl Floors {
    fn new(kcore: &Kcore) -> Self {
        // The largest bounds fall most: after two rounds on a Kronecker graph to 0.48 of them.
        let most = kcore.bounds.iter().map(|bound| bound.load(Ordering::Relaxed)).max();
        let most = u64::from(most.unwrap_or(0)) * 2 / 5;
        Self { nth: kcore.prunings, most: most as u32 }
    }

    #[inline(always)]
    fn of(self, bound: u32) -> u32 {
        match self.nth {
            0 | 1 => (bound - bound / 6).saturating_sub(2).min(self.most),
            nth => bound.div_ceil(1 << (nth - 1).min(31)),
        }
    }

    /// The least bound whose floor is above this one: to compare with it takes less than to compute
    /// the floor of each neighbour. None where no floor is.
    fn least_above(self, bound: u32) -> Option<u32> {
        let above = u64::from(bound) + 1;
        let least = match self.nth {
            0 | 1 if above > u64::from(self.most) => return None,
            // Five sixths, rounded up, of it are more than these and two.
            0 | 1 => (above + 1) * 6 / 5 + 1,
            nth => (u64::from(bound) << (nth - 1).min(31)) + 1,
        };
        u32::try_from(least).ok()
    }
}

/// Lists in memory, in no order. All but `ranks` is by rank; entries are ranks.
pub(super) struct Pruned {
    /// The rank of each vertex.
    ranks: HugeVec<AtomicU32>,
    vertices: HugeVec<AtomicU32>,
    /// Own vertices have the first ranks.
    own_count: VertexId,
    bounds: HugeVec<AtomicU32>,
    floors: HugeVec<AtomicU32>,
    /// Where the list of each vertex begins among all entries.
    starts: HugeVec<AtomicU32>,
    lengths: HugeVec<AtomicU32>,
    /// For each own vertex how many neighbours support it whatever falls.
    always: HugeVec<AtomicU32>,
    entries: HugeVec<AtomicU32>,
    /// Entries that are used.
    used: AtomicU64,
}

impl Pruned {
    /// Prunes lists, and counts supports; `None` where there is no room.
    pub fn new(kcore: &Kcore, engine: &Engine, part: &Part) -> Result<Option<Self>> {
        let left = engine.memory().scratch_bytes.checked_sub(arrays_bytes(part));
        let Some(entries_max) = left.map(|left| (left / 4).min(u32::MAX.into())) else {
            return Ok(None);
        };
        let places = part.places();
        let mut pruned = Self {
            ranks: HugeVec::zeroed(places)?,
            vertices: HugeVec::zeroed(places)?,
            own_count: part.own_count() as VertexId,
            bounds: HugeVec::zeroed(places)?,
            floors: HugeVec::zeroed(places)?,
            starts: HugeVec::zeroed(places)?,
            lengths: HugeVec::zeroed(places)?,
            always: HugeVec::zeroed(part.own_count())?,
            entries: HugeVec::zeroed(entries_max as usize)?,
            used: AtomicU64::new(0),
        };
        let floors = Floors::new(kcore);
        pruned.set_ranks(kcore, part);
        parallel::for_each(places, |rank| {
            let bound = kcore.bound(pruned.vertex(rank as VertexId));
            pruned.bounds[rank].store(bound, Ordering::Relaxed);
            pruned.floors[rank].store(floors.of(bound), Ordering::Relaxed);
        });
        let is_over = AtomicBool::new(false);
        let kernel = Prune { kcore, pruned: &pruned, floors, is_over: &is_over };
        visit(engine, part, part.own_set(), &kernel)?;
        let fits = !is_over.into_inner() && pruned.turn(kcore.adder);
        Ok(fits.then_some(pruned))
    }

    /// Gives each vertex a rank.
    fn set_ranks(&mut self, kcore: &Kcore, part: &Part) {
        let (own, end) = (part.own(), part.places() as VertexId);
        let bucket = |v| kcore.bound(v).min(RANKED_MAX - 1) as usize;
        let mut rank = 0;
        for kind in [[own.clone(), 0..0], [0..own.start, own.end..end]] {
            let mut ranks = vec![0; RANKED_MAX as usize];
            let vertices = || kind.iter().cloned().flatten();
            vertices().for_each(|v| ranks[bucket(v)] += 1);
            for first in ranks.iter_mut().rev() {
                rank += mem::replace(first, rank);
            }
            for v in vertices() {
                let rank = &mut ranks[bucket(v)];
                self.ranks[v as usize].store(*rank, Ordering::Relaxed);
                self.vertices[*rank as usize].store(v, Ordering::Relaxed);
                *rank += 1;
            }
        }
    }

    #[inline(always)]
    pub fn rank(&self, v: VertexId) -> VertexId {
        self.ranks[v as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn vertex(&self, rank: VertexId) -> VertexId {
        self.vertices[rank as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn is_own(&self, rank: VertexId) -> bool {
        rank < self.own_count
    }

    #[inline(always)]
    fn bound(&self, rank: VertexId) -> u32 {
        self.bounds[rank as usize].load(Ordering::Relaxed)
    }

    /// Sets the bound of the vertex that has a rank, and returns the vertex.
    pub fn set_bound(&self, rank: VertexId, bound: u32) -> VertexId {
        self.bounds[rank as usize].store(bound, Ordering::Relaxed);
        self.vertex(rank)
    }

    /// Copies the bounds, by rank.
    pub fn copy_bounds(&self, to: &[AtomicU32]) {
        parallel::copy(&self.bounds, to);
    }

    /// Makes the lists of boundary vertices, whose lengths are known; false where there is no room.
    fn turn(&self, adder: Adder) -> bool {
        let mut used = self.used.load(Ordering::Relaxed);
        for rank in self.own_count as usize..self.ranks.len() {
            // May wrap if there are too many, which is refused below.
            self.starts[rank].store(used as u32, Ordering::Relaxed);
            used += u64::from(self.lengths[rank].swap(0, Ordering::Relaxed));
        }
        if used > self.entries.len() as u64 {
            return false;
        }
        parallel::blocks_of(BLOCK, self.own_count as usize, &|range| {
            for rank in range.start as VertexId..range.end as VertexId {
                for u in self.list(rank).filter(|&u| !self.is_own(u)) {
                    let nth = adder.add(&self.lengths[u as usize], 1);
                    let place = self.starts[u as usize].load(Ordering::Relaxed) + nth;
                    self.entries[place as usize].store(rank, Ordering::Relaxed);
                }
            }
        });
        self.used.store(used, Ordering::Relaxed);
        true
    }

    #[inline(always)]
    fn floor(&self, rank: VertexId) -> u32 {
        self.floors[rank as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn list(&self, rank: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        let of = |array: &[AtomicU32]| array[rank as usize].load(Ordering::Relaxed) as usize;
        let list = &self.entries[of(&self.starts)..][..of(&self.lengths)];
        list.iter().map(|u| u.load(Ordering::Relaxed))
    }

    /// Calls `work` with the ranks of a range that a set has, of [`BLOCK`] at most. Their lists lie
    /// anywhere, so where the next ones begin is prefetched.
    #[inline(always)]
    fn for_each_in(&self, set: &Bitmap, range: Range<usize>, mut work: impl FnMut(VertexId)) {
        let mut ranks = [0; BLOCK];
        let mut count = 0;
        for rank in set.iter_in(range.start as VertexId..range.end as VertexId) {
            ranks[count] = rank;
            count += 1;
        }
        let ranks = &ranks[..count];
        for (at, &rank) in ranks.iter().enumerate() {
            if let Some(&later) = ranks.get(at + LISTS_AHEAD) {
                let start = self.starts[later as usize].load(Ordering::Relaxed) as usize;
                prefetch(&self.entries, start);
                prefetch(&self.entries, start + LINE_ENTRIES);
            }
            work(rank);
        }
    }

    /// The first phase of a round of vertices without support. Those whose bound falls below its
    /// floor remain without.
    pub fn lower(&self, kcore: &Kcore) {
        parallel::blocks_of(BLOCK, self.own_count as usize, &|range| {
            let mut counts = Vec::new();
            self.for_each_in(&kcore.unsupported, range, |rank| {
                if let Some((after, support)) = self.largest(&mut counts, rank) {
                    kcore.support(rank).store(support, Ordering::Relaxed);
                    kcore.unsupported.remove(rank);
                    if after < self.bound(rank) {
                        kcore.fall(rank, after);
                    }
                }
            });
        });
    }

    /// Rounds until no vertex is without support, or more than `most`, without passes over all
    /// vertices. False, and nothing is done in the last round, if a bound falls below its floor.
    pub fn settle(&self, kcore: &Kcore, most: usize) -> bool {
        let mut unsupported: Vec<VertexId> = kcore.unsupported.iter().collect();
        let (mut counts, mut fallen) = (Vec::new(), Vec::new());
        while !unsupported.is_empty() && unsupported.len() <= most {
            fallen.clear();
            for &rank in &unsupported {
                let Some(lower) = self.largest(&mut counts, rank) else {
                    return false;
                };
                fallen.push((rank, lower));
            }
            unsupported.drain(..).for_each(|rank| kcore.unsupported.remove(rank));
            for &(rank, (after, support)) in &fallen {
                kcore.support(rank).store(support, Ordering::Relaxed);
                kcore.next[rank as usize].store(after, Ordering::Relaxed);
            }
            for &(rank, (after, _)) in &fallen {
                self.withdraw_from(kcore, rank, |u| {
                    // The set has the others.
                    if unsupported.len() <= most {
                        unsupported.push(u);
                    }
                });
                kcore.set_bound(self.set_bound(rank, after), after);
            }
        }
        true
    }

    /// The new bound of a vertex, and its support; `None` if it is below the floor.
    fn largest(&self, counts: &mut Vec<u32>, rank: VertexId) -> Option<(u32, u32)> {
        let (most, floor) = (self.bound(rank), self.floor(rank));
        counts.clear();
        // Those below the floor are counted with it less one.
        counts.resize((most - floor) as usize + 2, 0);
        for u in self.list(rank) {
            let bound = (self.bound(u) + 1).max(floor).min(most + 1);
            counts[(bound - floor) as usize] += 1;
        }
        let always = self.always[rank as usize].load(Ordering::Relaxed);
        let (mut after, mut support) = (most, always + counts[(most - floor) as usize + 1]);
        while support < after {
            if after == floor {
                return None;
            }
            after -= 1;
            support += counts[(after - floor) as usize + 1];
        }
        Some((after, support))
    }

    /// The second phase of a round: each vertex whose bound fell no longer supports the neighbours
    /// that are between. False, and nothing counts, if a bound fell below its floor.
    pub fn withdraw(&self, kcore: &Kcore) -> bool {
        let is_below = AtomicBool::new(false);
        parallel::blocks_of(BLOCK, self.ranks.len(), &|range| {
            self.for_each_in(&kcore.fallen, range, |rank| {
                if kcore.next(rank) < self.floor(rank) {
                    is_below.store(true, Ordering::Relaxed);
                }
                self.withdraw_from(kcore, rank, |_| ());
            });
        });
        !is_below.into_inner()
    }

    /// Takes the support of a vertex whose bound fell from its neighbours. Calls `each` with those
    /// that have too little now.
    #[inline(always)]
    fn withdraw_from(&self, kcore: &Kcore, rank: VertexId, mut each: impl FnMut(VertexId)) {
        let (before, after) = (self.bound(rank), kcore.next(rank));
        for u in self.list(rank).filter(|&u| self.is_own(u)) {
            let bound = kcore.next(u);
            // Above `after`, and at most `before`: one branch instead of two.
            if bound.wrapping_sub(after + 1) < before - after && kcore.lose(u, bound) {
                each(u);
            }
        }
    }
}

/// Keeps the entries that may matter.
struct Prune<'a> {
    kcore: &'a Kcore,
    pruned: &'a Pruned,
    floors: Floors,
    is_over: &'a AtomicBool,
}

impl Neighbourhood for Prune<'_> {
    type Local = Vec<VertexId>;

    fn local(&self) -> Vec<VertexId> {
        Vec::new()
    }

    fn prefetch(&self, neighbours: &[VertexId]) {
        self.kcore.prefetch(neighbours);
    }

    fn take(&self, kept: &mut Vec<VertexId>, v: VertexId, neighbours: &[&[VertexId]]) {
        let Self { kcore, pruned, floors, is_over } = self;
        let rank = pruned.rank(v);
        let (bound, floor) = (kcore.bound(v), pruned.floor(rank));
        // No vertex has the bound `NONE`.
        let always_from = floors.least_above(bound).unwrap_or(NONE);
        let (mut support, mut always, mut count) = (0, 0, 0);
        kept.resize(kept.len().max(neighbours.iter().map(|some| some.len()).sum()), 0);
        kcore.for_each_bound(neighbours, |u, of| {
            let is_other = u != v;
            let is_always = of >= always_from;
            support += u32::from(is_other & (of >= bound));
            always += u32::from(is_other & is_always);
            // Without a branch, which would be mispredicted often.
            kept[count] = u;
            count += usize::from(is_other & !is_always & (of >= floor));
        });
        // In a loop of their own: beside an atomic addition, loads would wait for each other.
        let kept = &mut kept[..count];
        kept.iter_mut().for_each(|u| *u = pruned.rank(*u));
        kcore.support(rank).store(support, Ordering::Relaxed);
        if support < bound {
            kcore.unsupported.insert(rank);
        }
        pruned.always[rank as usize].store(always, Ordering::Relaxed);
        let start = pruned.used.fetch_add(kept.len() as u64, Ordering::Relaxed);
        let room = usize::try_from(start).ok().and_then(|start| {
            pruned.entries.get(start..start + kept.len()).map(|room| (start as u32, room))
        });
        let Some((start, room)) = room else {
            is_over.store(true, Ordering::Relaxed);
            return;
        };
        pruned.starts[rank as usize].store(start, Ordering::Relaxed);
        pruned.lengths[rank as usize].store(kept.len() as u32, Ordering::Relaxed);
        for (entry, &mut of) in room.iter().zip(kept) {
            entry.store(of, Ordering::Relaxed);
            if !pruned.is_own(of) {
                kcore.adder.add(&pruned.lengths[of as usize], 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Floors;

    #[test]
    fn the_least_bound_whose_floor_is_above_another_is_found() {
        for nth in 0..5 {
            for most in [0, 7, 100, 1000] {
                let floors = Floors { nth, most };
                for bound in 0..300 {
                    let least = (0..6000).find(|of| floors.of(*of) > bound);
                    assert_eq!(floors.least_above(bound), least, "{floors:?}, {bound}");
                }
                assert_eq!(floors.least_above(u32::MAX - 1), None, "{floors:?}");
            }
        }
    }
}
