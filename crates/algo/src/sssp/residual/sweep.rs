//! A pass that relaxes active lists, and keeps the edges that may still shorten a path or none.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use cenote_engine::{
    Bitmap, Kernel, List, VertexId, WeightNumber, Weights, prefetch, with_numbers,
};

use super::edges::{Edges, Share};
use crate::parts::Distances;
use crate::sssp::length::{UNREACHED, add};
use crate::sssp::paths::Paths;

/// Edges of a share that are looked at to find a limit with half of them below it.
const LIMIT_SAMPLE: usize = 512;

/// A share that has at least this much room after stale edges are dropped needs no lower limit.
const ROOM_SHARE: usize = 4;

pub(super) struct Sweep<'a> {
    pub paths: &'a Paths<'a>,
    pub distances: &'a [AtomicU64],
    pub edges: &'a Edges,
    /// Vertices whose lists are to be relaxed.
    pub active: &'a Bitmap,
    /// Vertices whose distance fell since their list was last visited whole.
    pub far: &'a Bitmap,
    /// Distances that are not final are at least this.
    pub from: u64,
    /// Vertices from this distance on that fall during the pass wait for the next.
    pub end: u64,
    /// Edges that lead to longer paths than this in any case are not kept. It only falls.
    pub limit: AtomicU64,
    /// Longer paths are ignored.
    pub bound: u64,
}

impl Sweep<'_> {
    /// Whether it keeps edges, or follows lists alone.
    fn keeps(&self) -> bool {
        self.limit.load(Ordering::Relaxed) > self.from
    }

    fn prefetch_all(&self, targets: &[VertexId]) {
        targets.iter().for_each(|&target| prefetch(self.distances, target as usize));
    }

    fn list_of(&self, share: &mut Share, list: &List<'_>, weights: &[impl WeightNumber]) {
        let v = list.vertex;
        let has_fallen = self.far.contains(v) && self.paths.distance(v) < self.end;
        // Of a list in pieces, each may be visited at another distance.
        if has_fallen && list.skip == 0 && list.targets.len() as u64 == list.degree {
            self.far.remove(v);
            // What was lowered before it was added to the set is seen.
            fence(Ordering::Acquire);
        }
        let is_active = has_fallen || self.active.contains(v);
        let before = self.paths.distance(v);
        let keeps = self.keeps();
        if is_active && !keeps {
            self.prefetch_all(list.targets);
        }
        let edges = list.targets.iter().copied().zip(weights.iter().copied());
        if is_active && before != UNREACHED {
            let least = before.min(self.from);
            let is_final = before <= self.from;
            for (target, weight) in edges {
                let low = add(least, weight);
                let mut known = self.paths.distance(target);
                if low >= known || low > self.bound {
                    continue;
                }
                let sum = add(before, weight);
                if sum < known && sum <= self.bound {
                    if self.paths.lower(target, sum) {
                        fence(Ordering::Release);
                        self.far.insert(target);
                    }
                    known = sum;
                }
                if !is_final && low < known {
                    self.keep(share, (v, target, weight.bits()), low);
                }
            }
        } else if keeps && before > self.from {
            let limit = self.limit.load(Ordering::Relaxed);
            for (target, weight) in edges {
                let low = add(self.from, weight);
                if low < limit && low < self.paths.distance(target) {
                    self.keep(share, (v, target, weight.bits()), low);
                }
            }
        }
        self.edges.close(share);
    }

    #[inline(never)]
    fn keep(&self, share: &mut Share, (v, target, weight): (VertexId, VertexId, u64), low: u64) {
        while low < self.limit.load(Ordering::Relaxed) {
            if self.edges.push(share, v, target, weight) {
                return;
            }
            self.make_room(share);
        }
    }

    /// Drops edges that are not needed any more; if they are few, lowers the limit, too.
    #[cold]
    fn make_room(&self, share: &mut Share) {
        self.edges.close(share);
        let all = share.len();
        self.retain(share);
        if share.room() < all.div_ceil(ROOM_SHARE) {
            let step = (self.edges.count_in(share) / LIMIT_SAMPLE).max(1);
            let (mut lows, mut at) = (Vec::with_capacity(2 * LIMIT_SAMPLE), 0);
            self.edges.for_each_in(share, |_, weight| {
                if at % step == 0 {
                    lows.push(self.paths.longer(self.from, weight));
                }
                at += 1;
            });
            lows.sort_unstable();
            let half = lows.get(lows.len() / 2).copied().unwrap_or(self.from);
            self.limit.fetch_min(half, Ordering::Relaxed);
            self.retain(share);
        }
    }

    fn retain(&self, share: &mut Share) {
        let limit = self.limit.load(Ordering::Relaxed);
        self.edges.retain(share, |target, weight| {
            let low = self.paths.longer(self.from, weight);
            low < limit && low < self.paths.distance(target)
        });
    }
}

impl Kernel for Sweep<'_> {
    type Local = Share;

    fn local(&self) -> Share {
        self.edges.share()
    }

    fn wants(&self, v: VertexId) -> bool {
        self.keeps() || self.active.contains(v) || self.far.contains(v)
    }

    /// Not where few lists are followed, which prefetch their own.
    fn prefetch(&self, targets: &[VertexId]) {
        if self.keeps() {
            self.prefetch_all(targets);
        }
    }

    fn weighted_list(&self, share: &mut Share, list: &List<'_>, weights: Weights<'_>) {
        with_numbers!(weights, numbers => self.list_of(share, list, numbers));
    }
}
