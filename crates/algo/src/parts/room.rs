//! The lists of consecutive vertices in memory, with their weights.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{
    Adjacency, Direction, Engine, Graph, HugeVec, Kernel, List, NamedPages, Page, PageTask,
    Purpose, VertexId, Weights,
};

use crate::report::{AlgoError, Result};

/// Lengths from this on are stored before the entries.
const LONG: u8 = u8::MAX;

/// Weights as they are stored; nothing where edges have none.
enum Column {
    None,
    Narrow(HugeVec<AtomicU32>),
    Wide(HugeVec<AtomicU64>),
}

/// Room for the lists of a range of vertices, which visits fill.
pub(super) struct Room {
    range: Range<VertexId>,
    /// The start of each vertex's list in `targets`.
    starts: HugeVec<AtomicU32>,
    /// Its length, or [`LONG`].
    lengths: HugeVec<AtomicU8>,
    targets: HugeVec<AtomicU32>,
    weights: Column,
    /// Places of `targets` that are taken.
    taken: AtomicUsize,
    /// Held while a list on several pages gets its places.
    split: Mutex<()>,
    /// Whether there was no room for a list.
    is_full: AtomicBool,
}

impl Room {
    /// Bytes of room for so many vertices, with so many entries, on a graph.
    pub fn bytes_for(graph: &Graph, vertices: u64, entries: u64) -> u64 {
        let weight = graph.superblock().weights.map_or(0, |weights| weights.kind.bytes());
        5 * vertices + places(entries) * (4 + weight as u64)
    }

    pub fn new(graph: &Graph, vertices: u64, entries: u64) -> Result<Self> {
        let (vertices, places) = (vertices as usize, places(entries) as usize);
        let weights = match graph.superblock().weights.map(|weights| weights.kind.bytes()) {
            None => Column::None,
            Some(4) => Column::Narrow(HugeVec::zeroed(places)?),
            Some(_) => Column::Wide(HugeVec::zeroed(places)?),
        };
        Ok(Self {
            range: 0..0,
            starts: HugeVec::zeroed(vertices)?,
            lengths: HugeVec::zeroed(vertices)?,
            targets: HugeVec::zeroed(places)?,
            weights,
            taken: AtomicUsize::new(0),
            split: Mutex::new(()),
            is_full: AtomicBool::new(false),
        })
    }

    /// The pages that hold the lists of some vertices, at least one.
    pub fn pages_of(lists: &Adjacency, vertices: &Range<VertexId>) -> Range<u64> {
        *lists.pages_of(vertices.start).start()..lists.pages_of(vertices.end - 1).end() + 1
    }

    /// Reads the lists of a range of vertices, in place of those that it has.
    pub fn load(&mut self, engine: &Engine, label: String, range: Range<VertexId>) -> Result<()> {
        let graph = engine.graph();
        let Some(lists) = graph.adjacency(Direction::Out) else { return Ok(()) };
        self.range = range.clone();
        self.lengths[..range.len()].iter_mut().for_each(|length| *length.get_mut() = 0);
        *self.taken.get_mut() = 0;
        let pages = Self::pages_of(lists, &range);
        let tasks: Vec<_> = pages.map(|page| PageTask { page, from: 0, to: 0 }).collect();
        let pages = NamedPages::of_pass(&tasks);
        match graph.is_weighted() {
            true => engine.visit_weighted_pages(label, Direction::Out, pages, self)?,
            false => engine.visit_pages(label, Direction::Out, pages, self)?,
        };
        if *self.is_full.get_mut() {
            let fault = "the lists are longer than their degrees say".to_owned();
            return Err(AlgoError::Contradiction { file: graph.device().name(), fault });
        }
        Ok(())
    }

    /// The places of the list of a vertex in the range.
    #[inline(always)]
    pub fn list(&self, v: VertexId) -> Range<usize> {
        let at = (v - self.range.start) as usize;
        let start = self.starts[at].load(Ordering::Relaxed) as usize;
        match self.lengths[at].load(Ordering::Relaxed) {
            0 => 0..0,
            LONG => {
                let length = self.targets[start].load(Ordering::Relaxed) as usize;
                start + 1..start + 1 + length
            }
            length => start..start + usize::from(length),
        }
    }

    /// The target at a place.
    #[inline(always)]
    pub fn target(&self, place: usize) -> VertexId {
        self.targets[place].load(Ordering::Relaxed)
    }

    /// The bits of the weight at a place; 0 without weights.
    #[inline(always)]
    pub fn weight(&self, place: usize) -> u64 {
        match &self.weights {
            Column::None => 0,
            Column::Narrow(bits) => bits[place].load(Ordering::Relaxed).into(),
            Column::Wide(bits) => bits[place].load(Ordering::Relaxed),
        }
    }

    /// Takes places; `None` if so many are not left.
    fn take(&self, places: usize) -> Option<usize> {
        let start = self.taken.fetch_add(places, Ordering::Relaxed);
        let fits = start.checked_add(places).is_some_and(|end| end <= self.targets.len());
        if !fits {
            self.is_full.store(true, Ordering::Relaxed);
        }
        fits.then_some(start)
    }

    /// The first place of a long or split list, of which a piece is stored.
    fn place_of(&self, list: &List<'_>) -> Option<usize> {
        let at = (list.vertex - self.range.start) as usize;
        let is_long = list.degree >= u64::from(LONG);
        let _held = self.split.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lengths[at].load(Ordering::Relaxed) == 0 {
            let start = self.take((list.degree as usize).saturating_add(usize::from(is_long)))?;
            self.starts[at].store(start as u32, Ordering::Relaxed);
            if is_long {
                self.targets[start].store(list.degree as u32, Ordering::Relaxed);
            }
            let length = if is_long { LONG } else { list.degree as u8 };
            self.lengths[at].store(length, Ordering::Relaxed);
        }
        let places = self.list(list.vertex);
        let fits = list.skip.saturating_add(list.targets.len() as u64) <= places.len() as u64;
        if !fits {
            self.is_full.store(true, Ordering::Relaxed);
        }
        fits.then(|| places.start + list.skip as usize)
    }

    /// Stores a range of a page's entries, from a place on.
    fn store(&self, place: usize, page: &Page<'_>, range: Range<usize>, purpose: &Purpose<'_>) {
        let targets = &self.targets[place..place + range.len()];
        for (target, &entry) in targets.iter().zip(&page.entries()[range.clone()]) {
            target.store(entry, Ordering::Relaxed);
        }
        if let Some((of, weights)) = &purpose.weights {
            let weights = weights.slice(range.start - of.start..range.end - of.start);
            self.weights.store(place, weights);
        }
    }
}

impl Column {
    fn store(&self, place: usize, weights: Weights<'_>) {
        let narrow = |at: usize, bits: u32| {
            if let Self::Narrow(column) = self {
                column[at].store(bits, Ordering::Relaxed);
            }
        };
        let wide = |at: usize, bits: u64| {
            if let Self::Wide(column) = self {
                column[at].store(bits, Ordering::Relaxed);
            }
        };
        let places = place..;
        match weights {
            Weights::F32(w) => places.zip(w).for_each(|(at, w)| narrow(at, w.to_bits())),
            Weights::U32(w) => places.zip(w).for_each(|(at, w)| narrow(at, *w)),
            Weights::F64(w) => places.zip(w).for_each(|(at, w)| wide(at, w.to_bits())),
            Weights::I64(w) => places.zip(w).for_each(|(at, w)| wide(at, w.cast_unsigned())),
        }
    }
}

/// Places for so many entries: a long list takes one more.
fn places(entries: u64) -> u64 {
    entries + entries / u64::from(LONG)
}

impl Kernel for Room {
    type Local = ();

    fn local(&self) {}

    fn page(&self, (): &mut (), page: &Page<'_>, purpose: &Purpose<'_>) {
        let first = page.first_vertex();
        let at = |v: VertexId| (v.saturating_sub(first) as usize).min(page.list_count());
        let mut lists = at(self.range.start)..at(self.range.end);
        // Lists between those that are long, or lie on several pages, are copied together.
        while !lists.is_empty() {
            let is_short = |i: usize| {
                let list = page.list(i);
                list.is_whole() && list.degree < u64::from(LONG)
            };
            let run = lists.start..lists.clone().find(|&i| !is_short(i)).unwrap_or(lists.end);
            if run.is_empty() {
                let list = page.list(run.start);
                if let Some(place) = self.place_of(&list) {
                    self.store(place, page, page.start(run.start)..page.end(run.start), purpose);
                }
                lists.start += 1;
                continue;
            }
            let entries = page.start(run.start)..page.end(run.end - 1);
            let Some(place) = self.take(entries.len()) else { return };
            self.store(place, page, entries.clone(), purpose);
            for i in run.clone() {
                let at = (first + i as VertexId - self.range.start) as usize;
                let start = place + page.start(i) - entries.start;
                self.starts[at].store(start as u32, Ordering::Relaxed);
                self.lengths[at].store((page.end(i) - page.start(i)) as u8, Ordering::Relaxed);
            }
            lists.start = run.end;
        }
    }
}
