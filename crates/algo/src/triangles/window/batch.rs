//! The lists of consecutive pages in memory: of each vertex its neighbours of smaller id.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{ActiveSet, Direction, Engine, HugeVec, Kernel, List, Page, Purpose, VertexId};

use super::super::sift::neighbours;
use super::Plan;
use crate::report::Result;

/// Words of a piece of a list before its entries: vertex, position in the list, length of the list
/// and of the piece.
const PIECE_WORDS: usize = 4;

/// The entries of pages are copied as they are; a list is known by where its first entry is.
pub(super) struct Batch {
    pub vertices: Range<VertexId>,
    /// Of each vertex: where its entries begin, in the high half, and how many are smaller.
    places: HugeVec<AtomicU64>,
    entries: HugeVec<VertexId>,
}

/// What a visit has loaded.
#[derive(Default)]
pub(super) struct Loaded {
    pub lists: u64,
    /// Lists with an edge to a vertex that is larger by more than the span.
    pub far_ends: u64,
    /// Pairs of neighbours.
    pub wedges: u64,
    /// Whether an entry was lost.
    is_lost: bool,
    /// Pieces of lists that span pages: see [`PIECE_WORDS`].
    pieces: Vec<u32>,
}

impl Loaded {
    /// Whether all these lists were loaded.
    pub fn is_complete(&self, vertices: &Range<VertexId>) -> bool {
        !self.is_lost && self.lists == vertices.len() as u64
    }

    fn add(&mut self, other: Self) {
        self.lists += other.lists;
        self.far_ends += other.far_ends;
        self.wedges += other.wedges;
        self.is_lost |= other.is_lost;
        self.pieces.extend(other.pieces);
    }

    fn add_piece(&mut self, list: &List<'_>) {
        let numbers = [list.skip, list.degree, list.targets.len() as u64];
        self.pieces.push(list.vertex);
        // A list too long for 32 bits is not in a window: it would not be complete.
        self.pieces.extend(numbers.map(|number| number.min(u64::from(u32::MAX)) as u32));
        self.pieces.extend(list.targets);
    }
}

impl Batch {
    /// Bytes for so many pages with so many vertices: entries, places, and pieces of lists, twice
    /// while they are put together.
    pub fn bytes_for(pages: u64, entries: u64, vertices: u64, degree_max: u64) -> u64 {
        let pieces = 2 * (pages + 1) * (PIECE_WORDS as u64 + degree_max);
        4 * entries + 8 * vertices + 2 * 4 * pieces
    }

    pub fn new(plan: &Plan) -> Result<Self> {
        Ok(Self {
            vertices: 0..0,
            places: HugeVec::zeroed(plan.batch_vertices)?,
            entries: HugeVec::zeroed(plan.batch_entries)?,
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
        let superblock = engine.graph().superblock();
        let keep = Keep {
            room: Mutex::new(Room { used: 0, rest: &mut self.entries }),
            places: &self.places,
            vertices: vertices.clone(),
            span,
            degrees,
            repeats: superblock.duplicates_kept || superblock.self_loops_kept,
        };
        let active = ActiveSet::Within { from: vertices.start, to: vertices.end };
        let mut loaded = Loaded::default();
        for local in engine.visit("window", Direction::Out, active, &keep)? {
            loaded.add(local);
        }
        keep.assemble(&mut loaded);
        self.vertices = vertices;
        Ok(loaded)
    }

    /// The smaller neighbours of one of its vertices, ascending.
    #[inline(always)]
    pub fn list(&self, v: VertexId) -> &[VertexId] {
        let place = self.places[(v - self.vertices.start) as usize].load(Ordering::Relaxed);
        let (from, count) = ((place >> 32) as usize, place as u32 as usize);
        &self.entries[from..from + count]
    }
}

/// The entries of a batch that are not in use yet.
struct Room<'a> {
    used: usize,
    rest: &'a mut [VertexId],
}

/// Copies lists to a batch.
struct Keep<'a> {
    room: Mutex<Room<'a>>,
    places: &'a [AtomicU64],
    vertices: Range<VertexId>,
    span: u32,
    degrees: &'a [AtomicU32],
    /// Whether a list may hold a vertex twice, or a self-loop.
    repeats: bool,
}

impl<'a> Kernel for Keep<'a> {
    type Local = Loaded;

    fn local(&self) -> Loaded {
        Loaded::default()
    }

    fn list(&self, loaded: &mut Loaded, list: &List<'_>) {
        if !list.is_whole() {
            return loaded.add_piece(list);
        }
        if let Some((at, entries)) = self.copy(loaded, list.targets) {
            self.place(loaded, list.vertex, at, entries);
        }
    }

    fn page(&self, loaded: &mut Loaded, page: &Page<'_>, _: &Purpose<'_>) {
        let (first, count) = (page.first_vertex(), page.list_count());
        let before = |v: VertexId| (v.saturating_sub(first) as usize).min(count);
        let (mut from, mut to) = (before(self.vertices.start), before(self.vertices.end));
        // The first list and the last may be pieces.
        if from < to && !page.list(from).is_whole() {
            loaded.add_piece(&page.list(from));
            from += 1;
        }
        if from < to && !page.list(to - 1).is_whole() {
            to -= 1;
            loaded.add_piece(&page.list(to));
        }
        if from >= to {
            return;
        }
        let base = page.start(from);
        let all = &page.entries()[base..page.end(to - 1)];
        let Some((at, mut rest)) = self.copy(loaded, all) else { return };
        let mut start = base;
        for i in from..to {
            let end = page.end(i);
            let (entries, after) = rest.split_at_mut(end - start);
            self.place(loaded, first + i as VertexId, at + (start - base), entries);
            (rest, start) = (after, end);
        }
    }
}

impl<'a> Keep<'a> {
    /// Copies entries; returns where they are.
    fn copy(&self, loaded: &mut Loaded, from: &[VertexId]) -> Option<(usize, &'a mut [VertexId])> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let at = room.used;
        let Some((entries, rest)) = std::mem::take(&mut room.rest).split_at_mut_checked(from.len())
        else {
            loaded.is_lost = true;
            return None;
        };
        *room = Room { used: at + entries.len(), rest };
        drop(room);
        entries.copy_from_slice(from);
        Some((at, entries))
    }

    /// Notes where the list of `v` is.
    #[inline(always)]
    fn place(&self, loaded: &mut Loaded, v: VertexId, at: usize, entries: &mut [VertexId]) {
        let degree = neighbours(v, entries, self.repeats);
        if let Some(of_v) = self.degrees.get(v as usize) {
            of_v.store(degree, Ordering::Relaxed);
        }
        loaded.lists += 1;
        loaded.wedges += u64::from(degree) * u64::from(degree).saturating_sub(1) / 2;
        let is_far = |last: &VertexId| last.saturating_sub(v) > self.span;
        loaded.far_ends += u64::from(entries.last().is_some_and(is_far));
        let mut smaller = entries.iter().take_while(|&&entry| entry < v).count();
        if self.repeats {
            smaller = distinct(&mut entries[..smaller]);
        }
        let place = (at as u64) << 32 | smaller as u64;
        self.places[(v - self.vertices.start) as usize].store(place, Ordering::Relaxed);
    }

    /// Puts lists that span pages together.
    fn assemble(&self, loaded: &mut Loaded) {
        let words = std::mem::take(&mut loaded.pieces);
        let mut pieces = Vec::new();
        let mut rest = words.as_slice();
        while let Some((&[v, skip, degree, len], after)) = rest.split_first_chunk::<PIECE_WORDS>() {
            let (entries, after) = after.split_at(len as usize);
            pieces.push((v, skip, degree, entries));
            rest = after;
        }
        pieces.sort_unstable();
        for of_list in pieces.chunk_by(|a, b| a.0 == b.0) {
            let (v, _, degree, _) = of_list[0];
            let list = of_list.iter().map(|(_, _, _, entries)| *entries).collect::<Vec<_>>();
            let list = list.concat();
            if list.len() != degree as usize {
                loaded.is_lost = true;
            } else if let Some((at, entries)) = self.copy(loaded, &list) {
                self.place(loaded, v, at, entries);
            }
        }
    }
}

/// Moves the distinct values of an ascending list to its front; returns their number.
fn distinct(list: &mut [VertexId]) -> usize {
    let mut kept = list.len().min(1);
    for i in 1..list.len() {
        if list[i] != list[i - 1] {
            list[kept] = list[i];
            kept += 1;
        }
    }
    kept
}
