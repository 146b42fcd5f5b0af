//! The lists of consecutive vertices in memory, with their weights.

use std::ops::Range;
use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{
    Adjacency, Direction, Engine, Graph, HugeVec, Kernel, List, NamedPages, Page, PageTask,
    Purpose, VertexId, WeightNumber, Weights, with_numbers,
};

use crate::report::{AlgoError, Result};

/// Lengths from this on are stored before the entries.
const LONG: u8 = u8::MAX;

/// The bits of weights, in as few bytes as the graph's smallest and largest weight need; nothing
/// where edges have none.
enum Column {
    None,
    U8(HugeVec<AtomicU8>),
    U16(HugeVec<AtomicU16>),
    U32(HugeVec<AtomicU32>),
    U64(HugeVec<AtomicU64>),
}

/// The bits of a weight in memory.
trait Cell {
    fn put(&self, bits: u64);
    fn get(&self) -> u64;
}

macro_rules! cells {
    ($($cell:ty, $bits:ty;)*) => {
        $(impl Cell for $cell {
            #[inline(always)]
            fn put(&self, bits: u64) {
                self.store(bits as $bits, Ordering::Relaxed);
            }

            #[inline(always)]
            fn get(&self) -> u64 {
                self.load(Ordering::Relaxed).into()
            }
        })*
    };
}

cells! {
    AtomicU8, u8;
    AtomicU16, u16;
    AtomicU32, u32;
    AtomicU64, u64;
}

/// Room for the lists of a range of vertices, which visits fill.
pub(crate) struct Room {
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
    /// Whether a weight is beyond those that the graph says it has.
    misfits: AtomicBool,
}

impl Room {
    /// Bytes of room for so many vertices, with so many entries, on a graph.
    pub fn bytes_for(graph: &Graph, vertices: u64, entries: u64) -> u64 {
        5 * vertices + places(entries) * (4 + weight_bytes(graph) as u64)
    }

    pub fn new(graph: &Graph, vertices: u64, entries: u64) -> Result<Self> {
        let (vertices, places) = (vertices as usize, places(entries) as usize);
        let weights = match weight_bytes(graph) {
            0 => Column::None,
            1 => Column::U8(HugeVec::zeroed(places)?),
            2 => Column::U16(HugeVec::zeroed(places)?),
            4 => Column::U32(HugeVec::zeroed(places)?),
            _ => Column::U64(HugeVec::zeroed(places)?),
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
            misfits: AtomicBool::new(false),
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
        let fault = match (*self.is_full.get_mut(), *self.misfits.get_mut()) {
            (false, false) => return Ok(()),
            (true, _) => "the lists are longer than their degrees say",
            (false, true) => "a weight is not between the smallest and the largest of the graph",
        };
        let (file, fault) = (graph.device().name(), fault.to_owned());
        Err(AlgoError::Contradiction { file, fault })
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
        self.weights.get(place)
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
            if !self.weights.store(place, weights) {
                self.misfits.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Column {
    #[inline(always)]
    fn get(&self, place: usize) -> u64 {
        match self {
            Self::None => 0,
            Self::U8(cells) => cells[place].get(),
            Self::U16(cells) => cells[place].get(),
            Self::U32(cells) => cells[place].get(),
            Self::U64(cells) => cells[place].get(),
        }
    }

    /// Stores weights, from a place on; whether all fit.
    fn store(&self, place: usize, weights: Weights<'_>) -> bool {
        with_numbers!(weights, numbers => match self {
            Self::None => true,
            Self::U8(cells) => put_all(&cells[place..place + numbers.len()], numbers),
            Self::U16(cells) => put_all(&cells[place..place + numbers.len()], numbers),
            Self::U32(cells) => put_all(&cells[place..place + numbers.len()], numbers),
            Self::U64(cells) => put_all(&cells[place..place + numbers.len()], numbers),
        })
    }
}

fn put_all(cells: &[impl Cell], numbers: &[impl WeightNumber]) -> bool {
    let mut lost = false;
    for (cell, number) in cells.iter().zip(numbers) {
        let bits = number.bits();
        cell.put(bits);
        lost |= cell.get() != bits;
    }
    !lost
}

/// Bytes of a weight in memory; 0 without weights.
fn weight_bytes(graph: &Graph) -> usize {
    graph.superblock().weights.map_or(0, |weights| weights.shortest_format().bytes())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_come_back_and_those_that_do_not_fit_are_seen() {
        let columns = [
            Column::U8(HugeVec::zeroed(3).unwrap()),
            Column::U16(HugeVec::zeroed(3).unwrap()),
            Column::U32(HugeVec::zeroed(3).unwrap()),
            Column::U64(HugeVec::zeroed(3).unwrap()),
        ];
        let most = [u8::MAX.into(), u16::MAX.into(), u32::MAX.into(), i64::MAX];
        for (column, most) in columns.iter().zip(most) {
            assert!(column.store(1, Weights::from(&[0, most][..])), "{most}");
            assert_eq!([1, 2].map(|place| column.get(place)), [0, most.unsigned_abs()]);
            let fits = column.store(0, Weights::from(&[most.wrapping_add(1), 1][..]));
            assert_eq!(fits, most == i64::MAX, "one more than {most}");
        }
        assert!(Column::None.store(0, Weights::from(&[1u32][..])));
        assert_eq!(Column::None.get(0), 0);
    }
}
