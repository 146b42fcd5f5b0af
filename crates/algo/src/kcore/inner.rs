//! Inner cores first: a pass lowers bounds and keeps the lists between the vertices of the largest
//! bounds, as many as fit in memory, and peels them there.
//!
//! **Source.** Bounds: Montresor, De Pellegrini and Miorandi, "Distributed k-core decomposition",
//! 2013: no core number is larger than the largest h such that h neighbours have a bound of at
//! least h. Ranges of core numbers from the top: Cheng, Ke, Chu and Özsu, "Efficient core
//! decomposition in massive networks", ICDE 2011 (EMcore).
//!
//! **Trick.** The vertices with bounds of at least a *floor* contain all cores from the floor on.
//! When the lists do not fit, the floor rises until half of them does, within the same pass. Later
//! passes only count the neighbours in known inner cores, so an entry is kept about once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_engine::{AHEAD_ENTRIES, ActiveSet, Engine, VertexId, head_of};

use super::bounds::{Bounds, TRIVIAL};
use super::load::LIST_WORDS;
use super::peel::{WORDS_BESIDE, peel};
use crate::neighbourhood::{self, Neighbourhood, blocks_ahead};
use crate::parallel;
use crate::report::Result;
use crate::residual::{Kept, Parts, ResidualPart};

/// A histogram of neighbours by bound.
#[derive(Debug)]
pub(super) struct Histogram(Vec<u32>);

impl Histogram {
    pub fn new(most: u32) -> Self {
        Self(vec![0; most as usize + 1])
    }

    /// The largest h up to `most` such that h of the values are at least h.
    pub fn largest(&mut self, most: u32, values: impl Iterator<Item = u32>) -> u32 {
        let counts = &mut self.0[..=most as usize];
        counts.fill(0);
        for value in values {
            let count = &mut counts[value.min(most) as usize];
            *count = count.saturating_add(1);
        }
        let mut largest = most;
        let mut support = counts[largest as usize];
        while support < largest {
            largest -= 1;
            support = support.saturating_add(counts[largest as usize]);
        }
        largest
    }

    pub fn bytes_for(most: u32) -> u64 {
        4 * (u64::from(most) + 1)
    }
}

/// One pass over all open lists. The innermost vertices whose lists fit in memory are done then.
/// Returns the entries between vertices that were open before.
pub(super) fn pass(engine: &Engine, label: &str, bounds: &mut Bounds, bytes: u64) -> Result<u64> {
    let first_floor = bounds.lowest.max(TRIVIAL);
    let parts = Parts::new(bytes, engine.config().threads, WORDS_BESIDE)?.into_parts();
    let parts = parts.into_iter().map(Mutex::new).collect();
    let pass = Pass { bounds, floor: AtomicU32::new(first_floor), parts };
    let active = ActiveSet::NotIn(&bounds.done);
    let beside = engine.memory().scratch_bytes - bytes;
    let locals = neighbourhood::visit_within(engine, label, active, &pass, beside)?;
    let floor = pass.floor.into_inner();
    let open = locals.iter().map(|local| local.open).sum();
    drop(locals);
    let of = |part: Mutex<_>| part.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut parts: Vec<ResidualPart> = pass.parts.into_iter().map(of).collect();
    let kept = if floor < bounds.ceiling { keep_inner(&mut parts, bounds, floor) } else { 0 };
    if kept > 0 {
        engine.check_cancel()?;
        peel(&parts, bounds, floor, || Ok(engine.check_cancel()?))?;
    }
    if floor <= first_floor || open == 0 {
        // The bounds of all other vertices are final: their lists were peeled, or all their
        // neighbours are done, which the pass has counted.
        bounds.finish();
    } else {
        bounds.ceiling = bounds.ceiling.min(floor);
    }
    Ok(open)
}

/// Drops entries to vertices whose bound fell below the floor after they were kept, and counts the
/// others; returns their number.
fn keep_inner(parts: &mut [ResidualPart], bounds: &Bounds, floor: u32) -> u64 {
    let of_part = |part: &mut ResidualPart| {
        let mut kept = 0;
        part.retain(|list, targets| {
            let count = keep_from(bounds, floor, list.vertex, targets)?;
            bounds.set_count(list.vertex, bounds.count(list.vertex) + count as u32);
            kept += count as u64;
            Some(count)
        });
        kept
    };
    parallel::map_mut(parts, |_, part| of_part(part)).into_iter().sum()
}

/// Moves the targets with bounds of at least `floor` to the front; returns how many they are, or
/// `None` if the vertex has a smaller bound itself.
fn keep_from(bounds: &Bounds, floor: u32, v: VertexId, targets: &mut [VertexId]) -> Option<usize> {
    if bounds.get(v) < floor {
        return None;
    }
    bounds.prefetch(head_of(targets));
    let mut kept = 0;
    for start in (0..targets.len()).step_by(AHEAD_ENTRIES) {
        let end = targets.len().min(start + AHEAD_ENTRIES);
        bounds.prefetch(head_of(&targets[end..]));
        for at in start..end {
            let target = targets[at];
            targets[kept] = target;
            kept += usize::from(bounds.get(target) >= floor);
        }
    }
    Some(kept)
}

struct Pass<'a> {
    bounds: &'a Bounds,
    /// Lists and entries below it are not kept; it rises during the pass.
    floor: AtomicU32,
    /// One for each worker. It outlasts the visits of one range of vertices.
    parts: Vec<Mutex<ResidualPart>>,
}

/// What one worker has beside its part.
struct Local {
    histogram: Histogram,
    open: u64,
}

impl Neighbourhood for Pass<'_> {
    type Local = Local;

    fn local(&self) -> Local {
        Local { histogram: Histogram::new(self.bounds.most), open: 0 }
    }

    fn prefetch(&self, neighbours: &[VertexId]) {
        self.bounds.prefetch(neighbours);
    }

    fn take(&self, local: &mut Local, v: VertexId, neighbours: &[&[VertexId]]) {
        let (bound, inner, open) = self.lower(&mut local.histogram, v, neighbours);
        local.open += open;
        self.bounds.set_count(v, inner);
        while bound >= self.floor.load(Ordering::Relaxed) {
            let floor = self.floor.load(Ordering::Relaxed);
            if floor >= self.bounds.ceiling {
                return;
            }
            let mut part = self.part();
            if self.keep(&mut part, floor, v, neighbours) {
                return;
            }
            self.raise_floor(&mut local.histogram, &mut part, floor);
        }
    }
}

impl Pass<'_> {
    /// Lowers the bound of `v` to what its neighbours' bounds allow. Returns it, the number of
    /// neighbours in known inner cores, and the number of open neighbours.
    fn lower(
        &self,
        histogram: &mut Histogram,
        v: VertexId,
        neighbours: &[&[VertexId]],
    ) -> (u32, u32, u64) {
        let bounds = self.bounds;
        let before = bounds.get(v);
        let counts = &mut histogram.0[..=before as usize];
        counts.fill(0);
        let (mut inner, mut open) = (0, 0);
        for list in neighbours {
            for block in blocks_ahead(list, |later| bounds.prefetch(later)) {
                for &u in block.iter().filter(|&&u| u != v) {
                    let bound = bounds.get(u);
                    counts[bound.min(before) as usize] += 1;
                    inner += u32::from(bound >= bounds.ceiling);
                    open += u64::from(bounds.is_open(bound));
                }
            }
        }
        let mut now = before;
        let mut support = counts[now as usize];
        while support < now {
            now -= 1;
            support = support.saturating_add(counts[now as usize]);
        }
        if now < before {
            bounds.set(v, now);
        }
        (now, inner, open)
    }

    /// The part of this worker.
    fn part(&self) -> MutexGuard<'_, ResidualPart> {
        let worker = rayon::current_thread_index().unwrap_or(0) % self.parts.len();
        self.parts[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a list; false if there is no room.
    fn keep(
        &self,
        part: &mut ResidualPart,
        floor: u32,
        v: VertexId,
        neighbours: &[&[VertexId]],
    ) -> bool {
        part.begin();
        for &u in neighbours.iter().copied().flatten().filter(|&&u| u != v) {
            if (floor..self.bounds.ceiling).contains(&self.bounds.get(u)) {
                part.push(u);
            }
        }
        part.end(Kept { vertex: v, whole: true });
        !part.is_full()
    }

    /// Raises the floor above `floor` until the worker's lists take at most half of its part.
    fn raise_floor(&self, histogram: &mut Histogram, part: &mut ResidualPart, floor: u32) {
        let bounds = self.bounds;
        let Histogram(words) = histogram;
        if part.lists() == 0 {
            // One list alone does not fit: with fewer entries it may.
            let next = floor + (bounds.ceiling - floor).div_ceil(2);
            self.floor.fetch_max(next, Ordering::Relaxed);
            part.reopen();
            return;
        }
        // Words of the lists that a floor just above a bound drops.
        words.fill(0);
        part.retain(|list, targets| {
            let bound = bounds.get(list.vertex);
            let count = keep_from(bounds, floor, list.vertex, targets)?;
            let word = &mut words[bound as usize];
            *word = word.saturating_add(LIST_WORDS as u32);
            for &target in &targets[..count] {
                let word = &mut words[bound.min(bounds.get(target)) as usize];
                *word = word.saturating_add(1);
            }
            Some(count)
        });
        let words_max = part.words() as u64 / 2;
        let (mut next, mut above) = (bounds.ceiling, 0);
        while next > floor + 1 && above + u64::from(words[next as usize - 1]) <= words_max {
            next -= 1;
            above += u64::from(words[next as usize]);
        }
        let next = self.floor.fetch_max(next, Ordering::Relaxed).max(next);
        part.retain(|list, targets| keep_from(bounds, next, list.vertex, targets));
        part.reopen();
    }
}
