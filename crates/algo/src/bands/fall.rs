//! Values that fall to a limit, whatever the order in which they do.
//!
//! **Trick.** Among the vertices whose lists are in memory values fall until none does any more,
//! however long the way is; only what comes from other vertices waits for the next sweep. An entry
//! of such a list is the value of its vertex, or, if that is one of the range whose lists were
//! loaded, its name.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Bitmap, VertexId};
use rayon::prelude::*;

use super::gather::{Gather, VALUE_BYTES};
use super::names::Named;
use crate::report::Result;
use crate::residual::{Place, ResidualPart, index_of, targets};

/// So few vertices are looked at by one thread: on a path, one makes the next one fall.
const ALONE_MAX: usize = 2048;

/// Values that fall.
pub(crate) trait Fall: Sync {
    type Local: Send;

    fn local(&self) -> Self::Local;

    /// No value is larger.
    fn most(&self) -> u32;

    /// The next value of a vertex, at most `own`, from those of its neighbours. It must not matter
    /// how those from `own` on differ.
    fn next(
        &self,
        local: &mut Self::Local,
        own: u32,
        values: impl Iterator<Item = u32> + Clone,
    ) -> u32;

    /// The value of `v` fell.
    fn fallen(&self, v: VertexId);
}

/// What happened to the vertices of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Fallen {
    vertices: u64,
    /// Neighbours in the range that may fall, too, but whose lists were not loaded.
    missed: u64,
}

impl Gather<'_> {
    /// Lets the values of active vertices fall, in their place in the file. Where these make others
    /// nearby fall, those do, too. A vertex with an edge to itself is not its own neighbour.
    pub fn fall<F: Fall>(
        &mut self,
        label: &str,
        active: ActiveSet<'_>,
        values: u64,
        fall: &F,
    ) -> Result<()> {
        let whole_pages = self.pages_that_fit();
        let mut pages = whole_pages;
        for band in 0..self.layout.bands {
            self.engine.check_cancel()?;
            let range = self.layout.range(band);
            if !active.any_in(range.clone()) {
                continue;
            }
            let at = values + VALUE_BYTES * u64::from(range.start);
            self.file.read(at, &mut self.own[..range.len()])?;
            let (place, lists) = ((band, values), (label, false));
            let mut near = Vec::new();
            let in_band = (active, range.clone());
            self.windows(lists, in_band, &mut pages, &mut |gather, window, parts| {
                let fallen = gather.fall_within(place, window.clone(), parts, fall)?;
                // On a path each vertex misses one, and of a graph of chance hardly any.
                if 2 * fallen.missed >= fallen.vertices.max(1) {
                    near.push(window);
                }
                Ok(())
            })?;
            for part in near {
                let (all, mut pages) = ((ActiveSet::All, part), whole_pages);
                self.windows(lists, all, &mut pages, &mut |gather, window, parts| {
                    gather.fall_within(place, window, parts, fall).map(|_| ())
                })?;
            }
            self.file.write(at, &self.own[..range.len()])?;
        }
        Ok(())
    }

    /// Lets the values of the vertices fall whose lists are in memory, those of a range of a band.
    fn fall_within<F: Fall>(
        &mut self,
        (band, values): (usize, u64),
        window: Range<VertexId>,
        mut parts: Vec<ResidualPart>,
        fall: &F,
    ) -> Result<Fallen> {
        let named = Named::of(window, fall.most());
        self.replace(&mut parts, values, &mut None, Some((band, &named)))?;
        let first = self.layout.range(band).start;
        self.with_own(|own| {
            let loaded = Loaded::new(&parts, &named, (own, first))?;
            Ok(loaded.fall(fall))
        })?
    }
}

/// Lists in memory and the values of their vertices.
struct Loaded<'a> {
    parts: &'a [ResidualPart],
    /// The vertex of each piece, ascending, and where it is.
    index: Vec<(VertexId, Place)>,
    named: &'a Named,
    /// The values of the band.
    own: &'a [AtomicU32],
    /// The first vertex of the band.
    first: VertexId,
    /// The first pieces of the vertices that are to be looked at.
    queued: Bitmap,
    missed: AtomicU64,
}

impl<'a> Loaded<'a> {
    fn new(
        parts: &'a [ResidualPart],
        named: &'a Named,
        (own, first): (&'a [AtomicU32], VertexId),
    ) -> Result<Self> {
        let index = index_of(parts);
        let queued = Bitmap::new(index.len())?;
        Ok(Self { parts, index, named, own, first, queued, missed: AtomicU64::new(0) })
    }

    fn fall<F: Fall>(self, fall: &F) -> Fallen {
        let is_first = |&at: &u32| {
            let at = at as usize;
            at == 0 || self.index[at - 1].0 != self.index[at].0
        };
        let mut queue: Vec<u32> = (0..self.index.len() as u32).filter(is_first).collect();
        let (mut next, mut vertices) = (Vec::new(), 0);
        let mut alone = fall.local();
        while !queue.is_empty() {
            if queue.len() <= ALONE_MAX {
                for &at in &queue {
                    vertices += u64::from(self.try_one(at, fall, &mut alone, &mut next));
                }
                std::mem::swap(&mut queue, &mut next);
                next.clear();
            } else {
                let of_chunk = |local: &mut F::Local, chunk: &[u32]| {
                    let mut next = Vec::new();
                    let fell = |&&at: &&u32| self.try_one(at, fall, local, &mut next);
                    (chunk.iter().filter(fell).count() as u64, next)
                };
                let chunks = queue.par_chunks(ALONE_MAX);
                let all: Vec<_> = chunks.map_init(|| fall.local(), of_chunk).collect();
                queue.clear();
                for (fell, more) in all {
                    vertices += fell;
                    queue.extend(more);
                }
            }
        }
        Fallen { vertices, missed: self.missed.into_inner() }
    }

    /// Lets the vertex of a piece, its first, fall; queues those that may fall, too.
    fn try_one<F: Fall>(
        &self,
        at: u32,
        fall: &F,
        local: &mut F::Local,
        next: &mut Vec<u32>,
    ) -> bool {
        self.queued.remove(at);
        let pieces = &self.index[at as usize..];
        let v = pieces[0].0;
        let pieces = pieces.iter().take_while(|piece| piece.0 == v);
        let entries = pieces.flat_map(|&(_, place)| targets(self.parts, place)).copied();
        let value_of = |u: VertexId| self.own[(u - self.first) as usize].load(Ordering::Relaxed);
        let values = entries.clone().map(|entry| self.named.vertex(entry).map_or(entry, value_of));
        let before = value_of(v);
        let after = fall.next(local, before, values);
        if after >= before {
            return false;
        }
        self.own[(v - self.first) as usize].store(after, Ordering::Relaxed);
        fall.fallen(v);
        for u in entries.filter_map(|entry| self.named.vertex(entry)) {
            // Of one outside of this range the fall makes no difference.
            let value = value_of(u);
            if value <= after || value > before {
                continue;
            }
            let at = self.index.partition_point(|&(vertex, _)| vertex < u);
            if self.index.get(at).is_none_or(|&(vertex, _)| vertex != u) {
                self.missed.fetch_add(1, Ordering::Relaxed);
            } else if self.queued.insert(at as u32) {
                next.push(at as u32);
            }
        }
        true
    }
}
