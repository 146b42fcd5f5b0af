//! One level of a batch of searches, forward and backward.

use std::sync::atomic::{AtomicBool, Ordering};

use cenote_engine::{Frontier, FrontierPart, Kernel, List, VertexId, prefetch};

use crate::ranks::Ranks;

use super::state::{Active, LANES_MAX, Lanes, Sums, UNREACHED};

/// 2^1000: with more paths than this, values computed from them would lose digits.
const PATHS_MAX: f64 = f64::from_bits((1023 + 1000) << 52);

/// How many entries ahead to prefetch.
const PREFETCH_ENTRIES: usize = 32;

/// Calls `take` for each target once, in list order; `targets` is sorted by id.
#[inline(always)]
fn each_target(lanes: &Lanes, targets: &[VertexId], mut take: impl FnMut(VertexId)) {
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
    /// Set if there are more than [`PATHS_MAX`] paths.
    pub overflown: &'a AtomicBool,
}

impl Kernel for Forward<'_> {
    /// Part of the next frontier, and a buffer for a sorted list.
    type Local = (FrontierPart, Vec<VertexId>);

    fn local(&self) -> Self::Local {
        Self::Local::default()
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
            let paths = if PULLS { paths[usize::from(lane)] } else { self.lanes.value(at) };
            if paths > PATHS_MAX {
                self.overflown.store(true, Ordering::Relaxed);
            }
            let has_successor = successors >> lane & 1 == 1;
            self.lanes.set_value(at, if has_successor { -paths } else { paths });
        }
    }
}

/// A vertex on `level` with successors sums their contributions, in the order of their ids.
pub(super) struct Backward<'a> {
    pub lanes: &'a Lanes,
    pub ranks: &'a Ranks,
    pub sums: &'a Sums,
    pub level: u32,
}

impl Kernel for Backward<'_> {
    /// A buffer for a sorted list.
    type Local = Vec<VertexId>;

    fn local(&self) -> Vec<VertexId> {
        Vec::new()
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
            let dependency = paths * given[usize::from(lane)];
            self.sums.add(list.vertex, dependency);
            self.lanes.set_value(at, -((1.0 + dependency) / paths));
        }
    }
}
