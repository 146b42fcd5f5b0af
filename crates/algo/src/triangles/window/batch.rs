//! The lists of consecutive pages in memory: of each vertex its neighbours of smaller id.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{ActiveSet, Direction, Engine, HugeVec, Kernel, List, VertexId};

use super::super::lists::{Arena, ListWriter, NOWHERE, Supply};
use super::super::sift::neighbours;
use super::Plan;
use crate::report::Result;

/// A list is its length and its entries.
pub(super) struct Batch {
    pub vertices: Range<VertexId>,
    places: HugeVec<AtomicU32>,
    arena: Arena,
}

/// What a visit has loaded.
#[derive(Default)]
pub(super) struct Loaded {
    pub lists: u64,
    /// Lists with an edge to a vertex that is larger by more than the span.
    pub far_ends: u64,
    /// Pairs of neighbours.
    pub wedges: u64,
    /// Whether every list was loaded and fits.
    pub fits: bool,
}

impl Batch {
    pub fn new(plan: &Plan) -> Result<Self> {
        let lists_bytes = plan.batch_bytes - 4 * plan.batch_vertices as u64;
        Ok(Self {
            vertices: 0..0,
            places: HugeVec::zeroed(plan.batch_vertices)?,
            arena: Arena::new(plan.shape, lists_bytes)?,
        })
    }

    /// Replaces the lists by those of `vertices`, and sets their `degrees` if there are any.
    pub fn load(
        &mut self,
        engine: &Engine,
        vertices: Range<VertexId>,
        degrees: &[AtomicU32],
        span: u32,
    ) -> Result<Loaded> {
        self.arena.clear();
        let superblock = engine.graph().superblock();
        let supply = self.arena.supply();
        let kernel = Keep {
            supply: &supply,
            places: &self.places,
            first: vertices.start,
            span,
            degrees,
            repeats: superblock.duplicates_kept || superblock.self_loops_kept,
        };
        let active = ActiveSet::Within { from: vertices.start, to: vertices.end };
        let locals = engine.visit_whole("window", Direction::Out, active, &kernel)?;
        let mut loaded = Loaded::default();
        let mut written = Vec::with_capacity(locals.len());
        for local in locals {
            loaded.lists += local.loaded.lists;
            loaded.far_ends += local.loaded.far_ends;
            loaded.wedges += local.loaded.wedges;
            written.push(local.writer.finish());
        }
        loaded.fits = self.arena.settle(written) && loaded.lists == vertices.len() as u64;
        self.vertices = vertices;
        Ok(loaded)
    }

    /// The smaller neighbours of one of its vertices, ascending; `None` if there are none.
    #[inline(always)]
    pub fn list(&self, v: VertexId) -> Option<&[VertexId]> {
        match self.places[(v - self.vertices.start) as usize].load(Ordering::Relaxed) {
            NOWHERE => None,
            place => {
                let words = self.arena.words_at(place);
                Some(&words[1..=words[0] as usize])
            }
        }
    }
}

/// Writes lists to a batch.
struct Keep<'a> {
    supply: &'a Supply<'a>,
    places: &'a [AtomicU32],
    first: VertexId,
    span: u32,
    degrees: &'a [AtomicU32],
    /// Whether a list may hold a vertex twice, or a self-loop.
    repeats: bool,
}

/// The work of one worker.
struct Local<'a> {
    writer: ListWriter<'a>,
    loaded: Loaded,
}

impl<'a> Kernel for Keep<'a> {
    type Local = Local<'a>;

    fn local(&self) -> Local<'a> {
        Local { writer: ListWriter::new(), loaded: Loaded::default() }
    }

    fn list(&self, local: &mut Local<'a>, list: &List<'_>) {
        let (v, targets) = (list.vertex, list.targets);
        let degree = neighbours(list, self.repeats);
        if let Some(of_v) = self.degrees.get(v as usize) {
            of_v.store(degree, Ordering::Relaxed);
        }
        let Local { writer, loaded } = local;
        loaded.lists += 1;
        loaded.wedges += u64::from(degree) * u64::from(degree).saturating_sub(1) / 2;
        let is_far = |last: &VertexId| last.saturating_sub(v) > self.span;
        loaded.far_ends += u64::from(targets.last().is_some_and(is_far));
        let smaller = &targets[..targets.partition_point(|&target| target < v)];
        let mut place = NOWHERE;
        if !smaller.is_empty()
            && let Some((at, words)) = writer.reserve(self.supply, 1 + smaller.len())
        {
            words[1..].copy_from_slice(smaller);
            words[0] = if self.repeats { distinct(&mut words[1..]) } else { smaller.len() } as u32;
            place = at;
        }
        self.places[(v - self.first) as usize].store(place, Ordering::Relaxed);
    }
}

/// Moves the distinct values of an ascending list to its front; returns their number.
fn distinct(list: &mut [VertexId]) -> usize {
    let mut kept = 1;
    for i in 1..list.len() {
        if list[i] != list[i - 1] {
            list[kept] = list[i];
            kept += 1;
        }
    }
    kept
}
