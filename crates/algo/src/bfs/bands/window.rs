//! Many levels in one step: those of a window, in a byte a vertex.
//!
//! A step a level reads every page that has a vertex of the level: those of a grid of a million
//! vertices, whose levels cross a thousand rows, 780 times. In a window levels fall page by page,
//! without a barrier a level ([`Asynchronous`]), until none does. Then they are final; the vertices
//! of its last level are the frontier of what follows.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use cenote_engine::{Bitmap, Direction, Engine, Frontier, Graph, HugeVec, VertexId};

use super::super::{Asynchronous, Levels, UNREACHED};
use crate::kind::{is_flat, is_lattice};
use crate::parallel::for_each_of;
use crate::report::{Result, pages};
use crate::worklist::Worklist;

/// Of a vertex on a level before the window.
const BEFORE: u8 = 0;

/// Of a vertex on the first level of the window, whose level is known.
const FIRST: u8 = 1;

/// Of a vertex on its last level.
const LAST: u8 = u8::MAX - 1;

/// Of a vertex that was not reached.
const OPEN: u8 = u8::MAX;

/// To end a window one looks at all vertices between the first and the last that it reached: at
/// most at so many for each of these, which takes as long as to find it by a step of one level.
const SPAN_SHARE: u64 = 1 << 12;

/// The levels of a window.
pub(super) struct Window {
    /// That of [`FIRST`].
    first: AtomicU32,
    codes: HugeVec<AtomicU8>,
    /// Whether the codes are [`BEFORE`] and [`OPEN`], as vertices were visited.
    is_fresh: bool,
    /// The first and the last vertex whose code is another.
    low: AtomicU32,
    high: AtomicU32,
}

/// Whether searches may have steps of many levels: no vertex has many neighbours.
pub(super) fn is_useful(graph: &Graph) -> bool {
    is_flat(graph) || is_lattice(graph)
}

impl Window {
    /// Bytes of a window and of its search, beside a set of vertices.
    pub fn bytes_for(graph: &Graph) -> u64 {
        graph.vertices() as u64 + Worklist::bytes_for(pages(graph, Direction::Out))
    }

    pub fn new(graph: &Graph) -> Result<Self> {
        let codes = HugeVec::zeroed(graph.vertices())?;
        let [first, low, high] = [0, 0, 0].map(AtomicU32::new);
        Ok(Self { first, codes, is_fresh: false, low, high })
    }

    /// Says that vertices are visited without a window.
    pub fn forget(&mut self) {
        self.is_fresh = false;
    }

    /// Finds the levels behind a frontier, which is on level `first`, up to the last of the window,
    /// or up to the farthest of `targets` if all of these are reached. Returns the last level that
    /// was searched. `active` is an empty set over the vertices.
    pub fn search(
        &mut self,
        engine: &Engine,
        (frontier, first): (&Frontier, u32),
        (visited, active): (&Bitmap, &Bitmap),
        targets: &[VertexId],
    ) -> Result<u32> {
        *self.first.get_mut() = first;
        (*self.low.get_mut(), *self.high.get_mut()) = (VertexId::MAX, 0);
        if !std::mem::replace(&mut self.is_fresh, true) {
            for_each_of(&self.codes, |v, code| {
                let before = if visited.contains(v as VertexId) { BEFORE } else { OPEN };
                code.store(before, Ordering::Relaxed);
            });
        }
        frontier.bits().iter().for_each(|v| {
            self.codes[v as usize].store(FIRST, Ordering::Relaxed);
            self.widen(v);
        });
        let window = &*self;
        let mut search = Asynchronous::new(engine, window, active)?;
        frontier.bits().iter().for_each(|v| search.activate(v, first));
        let end = window.level_of(LAST);
        search.run(|| window.farthest(targets).min(end))?;
        // Vertices on the last level are active still.
        search.clear();
        Ok(window.farthest(targets).min(end))
    }

    /// Calls `each` with the vertices behind the first level, and with their levels: all are
    /// visited then. Whether another window is worth its while.
    pub fn take(&mut self, mut each: impl FnMut(VertexId, u32) -> Result<()>) -> Result<bool> {
        let (low, high) = (*self.low.get_mut(), *self.high.get_mut());
        let mut found = 0;
        for v in low..=high {
            let code = self.code(v);
            if (FIRST..OPEN).contains(&code) {
                self.codes[v as usize].store(BEFORE, Ordering::Relaxed);
            }
            if (FIRST + 1..OPEN).contains(&code) {
                found += 1;
                each(v, self.level_of(code))?;
            }
        }
        Ok(u64::from(high.saturating_sub(low)) <= found * SPAN_SHARE)
    }

    /// Makes a vertex one of those between the first and the last.
    #[inline(always)]
    fn widen(&self, v: VertexId) {
        if v < self.low.load(Ordering::Relaxed) {
            self.low.fetch_min(v, Ordering::Relaxed);
        }
        if v > self.high.load(Ordering::Relaxed) {
            self.high.fetch_max(v, Ordering::Relaxed);
        }
    }

    /// The level of the farthest target; [`UNREACHED`] if one of them was not reached, or without
    /// targets.
    fn farthest(&self, targets: &[VertexId]) -> u32 {
        targets.iter().map(|v| self.level(*v)).max().unwrap_or(UNREACHED)
    }

    fn code(&self, v: VertexId) -> u8 {
        self.codes[v as usize].load(Ordering::Relaxed)
    }

    fn level_of(&self, code: u8) -> u32 {
        // A level before the window is at most the one before its first.
        let first = self.first.load(Ordering::Relaxed);
        if code == OPEN { UNREACHED } else { (first + u32::from(code)).saturating_sub(1) }
    }
}

impl Levels for Window {
    #[inline(always)]
    fn level(&self, v: VertexId) -> u32 {
        self.level_of(self.code(v))
    }

    #[inline(always)]
    fn lower(&self, v: VertexId, to: u32) -> Option<u32> {
        // No search goes beyond the last level.
        let code = (to - self.first.load(Ordering::Relaxed)) as u8 + FIRST;
        let cell = &self.codes[v as usize];
        if cell.load(Ordering::Relaxed) <= code {
            return None;
        }
        let before = cell.fetch_min(code, Ordering::Relaxed);
        if before == OPEN {
            self.widen(v);
        }
        (before > code).then(|| self.level_of(before))
    }
}
