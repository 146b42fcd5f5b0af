//! The values of all neighbours of a vertex at once, of values that lie in a state file.
//!
//! The lists of some vertices are loaded into memory, as many as fit. Then all values are read,
//! band by band, and each entry is replaced by the value of its vertex: entries ascend, so every
//! list has a place up to which it is done. At last each vertex takes its next value. So a sweep
//! reads the lists once, and all values as often as lists fill the memory.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Adjacency, Direction, Engine, EngineConfig, EngineError, Graph, HugeVec, StateFile,
    VertexId,
};
use rayon::prelude::*;

use super::names::Named;
use super::plan::{BandPlan, Layout, Shape, Traffic};
use crate::neighbourhood::{PIECE_WORDS, directions, load};
use crate::parallel;
use crate::report::{AlgoError, Result};
use crate::residual::{ResidualPart, index_of, targets};

/// Bytes of a value.
pub(super) const VALUE_BYTES: u64 = 4;

/// Words of a piece of a list beside its entries: the place up to which it is done, too, and then
/// places in the queues of vertices whose values may fall.
const WORDS_BESIDE: usize = PIECE_WORDS + QUEUE_WORDS;
const QUEUE_WORDS: usize = 2;

/// The part of the memory for lists that is planned to be used.
const FILL: f64 = 0.9;

/// Passes over the lists of a sweep that loads parts of bands.
const AGAIN: f64 = 1.15;

/// What a sweep does with each vertex.
pub(crate) trait Take: Sync {
    type Local: Send;

    fn local(&self) -> Self::Local;

    /// The next value of `v`, from its own and those of its neighbours, in one or more slices.
    fn take(&self, local: &mut Self::Local, v: VertexId, own: u32, values: &[&[u32]]) -> u32;
}

/// Bytes of entries and pieces of all lists in memory.
fn all_bytes(graph: &Graph) -> u64 {
    let of = |&direction: &Direction| {
        let Some(lists) = graph.adjacency(direction) else { return 0 };
        let pieces = lists.pages() + (graph.vertices() as u64).min(lists.stored_edges());
        4 * (lists.stored_edges() + WORDS_BESIDE as u64 * pieces)
    };
    directions(graph.is_directed()).iter().map(of).sum()
}

/// The least memory for lists: those of the longest neighbourhood.
fn room_bytes_min(graph: &Graph) -> u64 {
    let longest = |&direction: &Direction| {
        graph.adjacency(direction).map_or(0, Adjacency::list_entries_bound) * 6 + 8192
    };
    directions(graph.is_directed()).iter().map(longest).sum()
}

/// A run of sweeps.
#[derive(Clone, Debug)]
pub(crate) struct GatherPlan {
    pub bands: BandPlan,
    /// Memory for lists.
    room_bytes: u64,
    /// How often lists fill the memory in a sweep, about.
    pub windows: u64,
}

impl GatherPlan {
    /// Plans a run in bands with so many bytes beside values and lists; see [`BandPlan::choose`].
    pub fn choose(
        graph: &Graph,
        config: &EngineConfig,
        (what, beside_bytes): (&'static str, u64),
        refused: EngineError,
    ) -> Result<Self> {
        let least = room_bytes_min(graph);
        let memory = config.memory_bytes.saturating_sub(Engine::fixed_bytes(graph, config));
        let memory = memory.saturating_sub(beside_bytes);
        let shape = |room_bytes: u64| Shape {
            what,
            // Of the band, and of the vertices whose lists are loaded.
            vertex_bytes: 2 * VALUE_BYTES,
            fixed_bytes: beside_bytes + room_bytes,
            ..Shape::default()
        };
        let most = (memory / 8 * 5).clamp(least, all_bytes(graph).max(least));
        let shapes = (&shape(most), &shape(least));
        let (bands, shape) = BandPlan::choose_first(graph, config, shapes, refused)?;
        let room_bytes = shape.fixed_bytes - beside_bytes;
        let fill = (room_bytes as f64 * FILL) as u64;
        let windows = all_bytes(graph).div_ceil(fill.max(1)) + bands.layout.bands as u64 / 2;
        let windows = windows.max(bands.layout.bands as u64);
        Ok(Self { bands, room_bytes, windows })
    }

    /// Bytes of values that are read and written by a sweep over all vertices.
    pub fn sweep_bytes(&self) -> (u64, u64) {
        let values = VALUE_BYTES * self.bands.layout.vertices as u64;
        ((self.windows + 1) * values, values)
    }

    /// How often a sweep reads each page of lists: lists that turn out not to fit are read twice.
    pub fn again(&self) -> f64 {
        if self.windows > self.bands.layout.bands as u64 { AGAIN } else { 1.05 }
    }

    /// Adds what the run moves: bytes of the file, read, and written.
    pub fn with(mut self, (file_bytes, state_bytes_read, bytes_written): (u64, u64, u64)) -> Self {
        let because = format!(
            "lists are loaded in about {} parts, for each of which {} bands of values are read",
            self.windows, self.bands.layout.bands
        );
        let traffic =
            Traffic { file_bytes, state_bytes_read, bytes_written, block_bytes: 0, because };
        self.bands = self.bands.with(traffic);
        self
    }
}

/// What is done with the vertices of a band and their values, with memory for another band; returns
/// whether values have changed.
pub(crate) type Change<'f> = dyn FnMut(Range<VertexId>, &mut [u32], &mut [u32]) -> bool + 'f;

/// What is done with the lists of a range that are in memory.
pub(super) type EachWindow<'f, 'a> =
    dyn FnMut(&mut Gather<'a>, Range<VertexId>, Vec<ResidualPart>) -> Result<()> + 'f;

/// The memory of sweeps.
pub(crate) struct Gather<'a> {
    pub(super) engine: &'a Engine,
    pub(super) file: &'a StateFile,
    pub layout: &'a Layout,
    room_words: usize,
    /// Values of a band.
    pub band: HugeVec<u32>,
    /// Values of the vertices whose lists are loaded.
    pub own: HugeVec<u32>,
}

impl<'a> Gather<'a> {
    pub fn new(engine: &'a Engine, file: &'a StateFile, plan: &'a GatherPlan) -> Result<Self> {
        let layout = &plan.bands.layout;
        let len = layout.band.min(layout.vertices);
        Ok(Self {
            engine,
            file,
            layout,
            room_words: usize::try_from(plan.room_bytes / 4).unwrap_or(usize::MAX),
            band: HugeVec::zeroed(len)?,
            own: HugeVec::zeroed(len)?,
        })
    }

    /// Gives all active vertices their next values; one with an edge to itself is its own
    /// neighbour. Values are read from one place in the file, and
    /// all are written to the other one.
    pub fn sweep<T: Take>(
        &mut self,
        label: &str,
        active: ActiveSet<'_>,
        (values, next): (u64, u64),
        take: &T,
    ) -> Result<()> {
        let mut pages = self.pages_that_fit();
        // Where edges lead nearby, most lists need the band that those before needed.
        let mut read = None;
        for w in 0..self.layout.bands {
            self.engine.check_cancel()?;
            let range = self.layout.range(w);
            let (len, at) = (range.len(), VALUE_BYTES * u64::from(range.start));
            self.file.read(values + at, &mut self.own[..len])?;
            if active.any_in(range.clone()) {
                let first = range.start;
                let lists = (label, true);
                self.windows(lists, (active, range), &mut pages, &mut |gather, _, mut parts| {
                    gather.replace(&mut parts, values, &mut read, None)?;
                    gather.with_own(|own| apply(&parts, (own, first), take))
                })?;
            }
            self.file.write(next + at, &self.own[..len])?;
        }
        Ok(())
    }

    /// Pages of lists that fit in memory, on average.
    pub(super) fn pages_that_fit(&self) -> u64 {
        self.pages_of_words(self.room_words as u64)
    }

    /// Calls `with` with the values of the band.
    pub(super) fn with_own<R>(&mut self, with: impl FnOnce(&[AtomicU32]) -> R) -> Result<R> {
        let own = std::mem::replace(&mut self.own, HugeVec::zeroed(0)?).into_atomic();
        let result = with(&own);
        self.own = own.into_plain();
        Ok(result)
    }

    /// Loads the active lists of a range, as many at a time as fit, and passes them to `each` with
    /// the range that they are of. `pages` is the number of pages of lists that did last.
    pub(super) fn windows(
        &mut self,
        (label, loops): (&str, bool),
        (active, range): (ActiveSet<'_>, Range<VertexId>),
        pages: &mut u64,
        each: &mut EachWindow<'_, 'a>,
    ) -> Result<()> {
        let mut from = range.start;
        while from < range.end {
            let mut to = self.end_of(from, *pages).min(range.end);
            let (parts, words) = loop {
                match self.load((label, loops), (active, from..to))? {
                    Some(loaded) => break loaded,
                    None if to - from > 1 => to = from + (to - from) / 2,
                    None => return Err(self.contradiction(from)),
                }
            };
            // As many as would have filled the memory, about: lists that do not fit are read twice.
            let fitting = self.room_words as f64 / words.max(1) as f64 * FILL;
            *pages = ((self.pages_of(from..to) as f64 * fitting) as u64).max(1);
            each(self, from..to, parts)?;
            from = to;
        }
        Ok(())
    }

    fn outward(&self) -> &Adjacency {
        self.engine.graph().adjacency(Direction::Out).expect("all graphs have out-lists")
    }

    /// Pages of out-lists whose vertices' lists take so many words, on average.
    fn pages_of_words(&self, words: u64) -> u64 {
        let all = (all_bytes(self.engine.graph()) / 4).max(1) as f64;
        ((self.outward().pages() as f64 * words as f64 / all * FILL) as u64).max(1)
    }

    /// Pages of the out-lists of a range.
    fn pages_of(&self, range: Range<VertexId>) -> u64 {
        let first = *self.outward().pages_of(range.start).start();
        self.outward().pages_of(range.end - 1).end() - first + 1
    }

    /// The end of the range of vertices from `from` whose lists start within `pages` pages.
    fn end_of(&self, from: VertexId, pages: u64) -> VertexId {
        let page = self.outward().pages_of(from).start().saturating_add(pages);
        match page < self.outward().pages() {
            true => self.outward().starts_from(page).max(from + 1),
            false => VertexId::MAX,
        }
    }

    fn contradiction(&self, v: VertexId) -> AlgoError {
        AlgoError::Contradiction {
            file: self.engine.graph().device().name(),
            fault: format!("the list of vertex {v} is longer than the index says"),
        }
    }

    /// Loads the active lists of a range; returns their words, too, or `None` if they do not fit.
    fn load(
        &self,
        (label, loops): (&str, bool),
        (active, range): (ActiveSet<'_>, Range<VertexId>),
    ) -> Result<Option<(Vec<ResidualPart>, usize)>> {
        let (mut room, mut all) = (self.room_words, Vec::new());
        for &direction in directions(self.engine.graph().is_directed()) {
            let set = (active, range.clone());
            let what = (label.to_owned(), loops);
            match load(self.engine, what, direction, set, &mut room)? {
                Some(parts) => all.extend(parts),
                None => return Ok(None),
            }
        }
        let pieces: usize = all.iter().map(ResidualPart::lists).sum();
        let words = self.room_words - room + QUEUE_WORDS * pieces;
        Ok((words <= self.room_words || range.len() == 1).then_some((all, words)))
    }

    /// Replaces every entry by the value of its vertex. `read` is the band that was read last, if
    /// its values are still in memory and the same. Of a band that is in `own`, values are
    /// those there, and entries of some of its vertices become the names of these ([`Named`]).
    pub(super) fn replace(
        &mut self,
        parts: &mut [ResidualPart],
        values: u64,
        read: &mut Option<usize>,
        own: Option<(usize, &Named)>,
    ) -> Result<()> {
        // With each part goes how many entries of each of its lists are replaced.
        let with_done = parts.iter_mut().map(|part| (vec![0u32; part.lists()], part));
        let mut parts: Vec<_> = with_done.collect();
        for band in 0..self.layout.bands {
            let range = self.layout.range(band);
            let is_needed = AtomicBool::new(false);
            parallel::for_each_mut(&mut parts, |_, (done, part)| {
                if is_needed.load(Ordering::Relaxed) {
                    return;
                }
                let (mut needed, mut done) = (false, done.iter());
                part.for_each_mut(|entries| {
                    let next = done.next().and_then(|&at| entries.get(at as usize));
                    needed |= next.is_some_and(|&next| next < range.end);
                });
                is_needed.fetch_or(needed, Ordering::Relaxed);
            });
            if !is_needed.into_inner() {
                continue;
            }
            let named = own.filter(|&(of, _)| of == band).map(|(_, named)| named);
            if named.is_none() && *read != Some(band) {
                let place = values + VALUE_BYTES * u64::from(range.start);
                *read = None;
                self.file.read(place, &mut self.band[..range.len()])?;
                *read = Some(band);
            }
            let of_band = if named.is_none() { &self.band } else { &self.own };
            let value = |v: VertexId| match named.and_then(|named| named.name(v)) {
                Some(name) => name,
                None => of_band[(v - range.start) as usize],
            };
            parallel::for_each_mut(&mut parts, |_, (done, part)| {
                let mut done = done.iter_mut();
                part.for_each_mut(|entries| {
                    let Some(done) = done.next() else { return };
                    let left = &mut entries[*done as usize..];
                    let count = left.iter().take_while(|entry| **entry < range.end).count();
                    left[..count].iter_mut().for_each(|entry| *entry = value(*entry));
                    *done += count as u32;
                });
            });
        }
        Ok(())
    }

    /// Writes a value for every vertex; returns their place.
    pub fn write_all(&mut self, value: &mut dyn FnMut(VertexId) -> u32) -> Result<u64> {
        let place = self.file.reserve(VALUE_BYTES * self.layout.vertices as u64);
        for range in (0..self.layout.bands).map(|band| self.layout.range(band)) {
            for (cell, v) in self.own.iter_mut().zip(range.clone()) {
                *cell = value(v);
            }
            let at = place + VALUE_BYTES * u64::from(range.start);
            self.file.write(at, &self.own[..range.len()])?;
        }
        Ok(place)
    }

    /// Calls `change` with all values, a band at a time; writes what it has changed.
    pub fn for_each_band(&mut self, place: u64, change: &mut Change<'_>) -> Result<()> {
        for range in (0..self.layout.bands).map(|band| self.layout.range(band)) {
            self.engine.check_cancel()?;
            let (len, at) = (range.len(), place + VALUE_BYTES * u64::from(range.start));
            self.file.read(at, &mut self.own[..len])?;
            if change(range, &mut self.own[..len], &mut self.band) {
                self.file.write(at, &self.own[..len])?;
            }
        }
        Ok(())
    }
}

/// Gives every vertex whose lists are loaded its next value, in `own`, whose first vertex is given.
fn apply<T: Take>(parts: &[ResidualPart], (own, first): (&[AtomicU32], VertexId), take: &T) {
    let index = index_of(parts);
    let groups = index.par_chunk_by(|(a, _), (b, _)| a == b);
    groups.for_each_init(
        || take.local(),
        |local, pieces| {
            let v = pieces[0].0;
            let own = &own[(v - first) as usize];
            let before = own.load(Ordering::Relaxed);
            let after = match pieces {
                [(_, only)] => take.take(local, v, before, &[targets(parts, *only)]),
                _ => {
                    let of = |&(_, place)| targets(parts, place);
                    let all: Vec<&[u32]> = pieces.iter().map(of).collect();
                    take.take(local, v, before, &all)
                }
            };
            own.store(after, Ordering::Relaxed);
        },
    );
}
