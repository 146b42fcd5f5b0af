//! One level of a batch of searches, forward and backward.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cenote_engine::{CACHED_BYTES, Frontier, FrontierPart, Kernel, List, VertexId, prefetch};

use crate::ranks::Ranks;

use super::state::{Active, LANES_MAX, Lanes, Sums, UNREACHED};

/// Path counts above this are divided on the next level. The sum of a list of 2^32 of them, and
/// what is divided by that, stay within the range of a number.
const LARGE: f64 = power_of_two(900);

/// What path counts are multiplied by where they become smaller: exact, since it is a power of two.
pub(super) const SHRINK: f64 = power_of_two(-100);

/// With path counts below this, (1 + dependency) / paths could leave the range of a number.
const LEAST: f64 = power_of_two(-980);

pub(super) const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[inline(always)]
fn has(lanes: u32, lane: u8) -> bool {
    lanes >> lane & 1 == 1
}

/// How many entries ahead to prefetch.
const PREFETCH_ENTRIES: usize = 32;

/// Of lists that follow; of few levels those that [`each_target`] prefetches suffice.
fn prefetch_levels(lanes: &Lanes, targets: &[VertexId]) {
    if size_of_val(lanes.levels()) >= CACHED_BYTES {
        targets.iter().for_each(|&target| prefetch(lanes.levels(), lanes.at(target)));
    }
}

/// Calls `take` for each target once, in list order; `targets` is sorted by id.
#[inline(always)]
pub(super) fn each_target(lanes: &Lanes, targets: &[VertexId], mut take: impl FnMut(VertexId)) {
    let mut last = None;
    for (i, &target) in targets.iter().enumerate() {
        if let Some(&ahead) = targets.get(i + PREFETCH_ENTRIES) {
            prefetch(lanes.levels(), lanes.at(ahead));
        }
        if last != Some(target) {
            take(target);
        }
        last = Some(target);
    }
}

/// A vertex on `level` sums the path counts of its neighbours on the level before, in the order of
/// their ids, and puts its unreached neighbours on the next level. On a directed graph these are
/// two visits, over in-lists and out-lists.
pub(super) struct Forward<'a> {
    pub lanes: &'a Lanes,
    pub ranks: &'a Ranks,
    pub next: &'a Frontier,
    pub level: u32,
    /// Whether the lists hold neighbours of the level before.
    pub pulls: bool,
    /// Whether the lists hold neighbours of the next level.
    pub pushes: bool,
    /// The lanes in which path counts are smaller by [`SHRINK`] than on the level before.
    pub shrunk: u32,
    /// Gets the lanes in which a path count is above [`LARGE`].
    pub large: &'a AtomicU32,
    /// Set if a path count is below [`LEAST`].
    pub lost: &'a AtomicBool,
}

impl Kernel for Forward<'_> {
    /// Part of the next frontier, and a buffer for a sorted list.
    type Local = (FrontierPart, Vec<VertexId>);

    fn local(&self) -> Self::Local {
        Self::Local::default()
    }

    fn prefetch(&self, targets: &[VertexId]) {
        prefetch_levels(self.lanes, targets);
    }

    fn list(&self, (part, memory): &mut Self::Local, list: &List<'_>) {
        let list = &List { targets: self.ranks.sorted(list.targets, memory), ..*list };
        let active = self.lanes.on_level(list.vertex, self.level);
        match (self.pulls && self.level > 0, self.pushes) {
            (true, true) => self.search::<true, true>(part, list, &active),
            (true, false) => self.search::<true, false>(part, list, &active),
            (false, true) => self.search::<false, true>(part, list, &active),
            (false, false) => {}
        }
    }
}

impl Forward<'_> {
    #[inline(always)]
    fn search<const PULLS: bool, const PUSHES: bool>(
        &self,
        part: &mut FrontierPart,
        list: &List<'_>,
        active: &Active,
    ) {
        let mut paths = [0.0; LANES_MAX];
        let mut successors = 0u32;
        each_target(self.lanes, list.targets, |target| {
            let base = self.lanes.at(target);
            for &lane in active.lanes() {
                let at = base + usize::from(lane);
                let level = self.lanes.level(at);
                if PULLS && level == self.level - 1 {
                    paths[usize::from(lane) % LANES_MAX] += self.lanes.value(at).abs();
                }
                if PUSHES && level == UNREACHED {
                    self.lanes.set_level(at, self.level + 1);
                    self.next.add(target, part);
                    successors |= 1 << lane;
                } else if PUSHES && level == self.level + 1 {
                    successors |= 1 << lane;
                }
            }
        });
        let base = self.lanes.at(list.vertex);
        for &lane in active.lanes() {
            let at = base + usize::from(lane);
            let mut paths = if PULLS { paths[usize::from(lane)] } else { self.lanes.value(at) };
            if PULLS && has(self.shrunk, lane) {
                paths *= SHRINK;
            }
            if paths > LARGE {
                self.large.fetch_or(1 << lane, Ordering::Relaxed);
            }
            if paths < LEAST {
                self.lost.store(true, Ordering::Relaxed);
            }
            self.lanes.set_value(at, if has(successors, lane) { -paths } else { paths });
        }
    }
}

/// A vertex on `level` with successors sums their contributions, in the order of their ids.
pub(super) struct Backward<'a> {
    pub lanes: &'a Lanes,
    pub ranks: &'a Ranks,
    pub sums: &'a Sums,
    pub level: u32,
    /// The lanes in which path counts are smaller by [`SHRINK`] on the next level.
    pub shrunk: u32,
}

impl Kernel for Backward<'_> {
    /// A buffer for a sorted list.
    type Local = Vec<VertexId>;

    fn local(&self) -> Vec<VertexId> {
        Vec::new()
    }

    fn prefetch(&self, targets: &[VertexId]) {
        prefetch_levels(self.lanes, targets);
    }

    fn list(&self, memory: &mut Vec<VertexId>, list: &List<'_>) {
        let own = self.lanes.at(list.vertex);
        let mut active = self.lanes.on_level(list.vertex, self.level);
        active.retain(|lane| self.lanes.value(own + lane) < 0.0);
        let mut given = [0.0; LANES_MAX];
        each_target(self.lanes, self.ranks.sorted(list.targets, memory), |target| {
            let base = self.lanes.at(target);
            for &lane in active.lanes() {
                let at = base + usize::from(lane);
                if self.lanes.level(at) == self.level + 1 {
                    let value = self.lanes.value(at);
                    given[usize::from(lane) % LANES_MAX] +=
                        if value < 0.0 { -value } else { 1.0 / value };
                }
            }
        });
        for &lane in active.lanes() {
            let at = own + usize::from(lane);
            let paths = -self.lanes.value(at);
            let mut dependency = paths * given[usize::from(lane)];
            if has(self.shrunk, lane) {
                dependency *= SHRINK;
            }
            self.sums.add(list.vertex, dependency);
            self.lanes.set_value(at, -((1.0 + dependency) / paths));
        }
    }
}
