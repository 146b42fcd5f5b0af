//! Searches part by part: for searches of many small steps over graphs whose edges join vertices
//! near each other in the file, as on grids and road networks.
//!
//! **Source.** One part of the graph in memory at a time, searched until nothing changes inside it,
//! as in Blogel (PVLDB 2014) a block of vertices is on its machine.
//!
//! **Trick.** The vertices are cut into parts. A few neighbouring parts are in memory, with their
//! lists and weights: those around the nearest active vertex. They are searched nearest vertex
//! first until no distance in them can fall; then the parts around the next one are read, in large
//! requests. Shortest paths that leave these parts and come back make distances fall again later,
//! but most are right at once: on a road network of 8 million vertices in 60 parts a part is read
//! twice, and a list is followed 1.2 times. Each part in memory is searched by one thread at a
//! time, for a number of vertices, so that threads soon see what others have found.
//!
//! Where all lists fit in memory, they are one part for each thread; or one part, if too many edges
//! would lead from one to another, and the search is Dijkstra's algorithm.

mod cut;
mod heap;
mod room;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use cenote_engine::{Bitmap, Engine, VertexId};
use rayon::prelude::*;

use crate::report::Result;
pub(crate) use cut::{Cut, bytes_for_all, is_worth_room, likely_reads, with_room};
pub(crate) use heap::Heap;
pub(crate) use room::Room;

/// The priority of a part without active vertices.
const IDLE: u64 = u64::MAX;

/// Vertices that a thread follows before it looks what others have found.
const ROUND_VERTICES: usize = 1 << 12;

/// What a search lowers until no edge can.
pub(crate) trait Distances: Sync {
    /// The distance of a vertex, less than `u64::MAX` once it is active.
    fn distance(&self, v: VertexId) -> u64;

    /// Lowers the distance of a vertex; whether it was larger.
    fn lower(&self, v: VertexId, to: u64) -> bool;

    /// The length of a path of length `before` and an edge whose weight has these bits.
    fn longer(&self, before: u64, weight: u64) -> u64;
}

/// A search part by part.
pub(crate) struct PartSearch<'a, D> {
    engine: &'a Engine,
    distances: &'a D,
    cut: Cut,
    /// Vertices whose lists are to be followed, without those in a [`Heap`].
    active: &'a Bitmap,
    /// For each part at most the least distance of its active vertices.
    nearest: Vec<AtomicU64>,
    /// Longer paths are ignored. It only falls.
    bound: AtomicU64,
}

/// A part in memory.
struct Loaded {
    /// `None` before the first.
    part: Option<usize>,
    room: Room,
    /// The vertices that are to be followed next.
    heap: Heap,
}

impl<'a, D: Distances> PartSearch<'a, D> {
    /// A search without active vertices. `active` is an empty set over the vertices.
    pub fn new(engine: &'a Engine, distances: &'a D, cut: Cut, active: &'a Bitmap) -> Self {
        let nearest = (0..cut.parts()).map(|_| AtomicU64::new(IDLE)).collect();
        Self { engine, distances, cut, active, nearest, bound: AtomicU64::new(IDLE - 1) }
    }

    /// Makes the list of `v` active.
    pub fn activate(&self, v: VertexId) {
        // A thread that takes the vertex out of the set sees what was stored before.
        fence(Ordering::Release);
        self.active.insert(v);
        self.nearest[self.cut.part_of(v)].fetch_min(self.distances.distance(v), Ordering::Release);
    }

    /// Searches until no distance of at most `bound()` can fall; returns how many parts were read.
    /// `bound` is called now and then and must not rise.
    pub fn run(&self, bound: impl Fn() -> u64) -> Result<u64> {
        let mut loaded = Vec::with_capacity(self.cut.in_memory());
        for _ in 0..self.cut.in_memory() {
            loaded.push(Loaded {
                part: None,
                room: self.cut.room(self.engine.graph())?,
                heap: Heap::new(self.cut.part_vertices())?,
            });
        }
        let mut reads = 0;
        loop {
            self.bound.store(bound(), Ordering::Relaxed);
            let Some(nearest) = self.nearest_part() else { return Ok(reads) };
            let wanted = self.around(nearest, &loaded);
            for part in wanted.clone() {
                if loaded.iter().all(|loaded| loaded.part != Some(part)) {
                    reads += 1;
                    let is_wanted = |part| wanted.contains(&part);
                    let free = loaded.iter_mut().find(|loaded| !loaded.part.is_some_and(is_wanted));
                    self.load(part, free.expect("as many are wanted as fit"), reads)?;
                }
            }
            self.search_loaded(&mut loaded, &bound)?;
        }
    }

    fn load(&self, part: usize, loaded: &mut Loaded, reads: u64) -> Result<()> {
        let vertices = self.cut.vertices(part);
        let label = match self.cut.parts() {
            1 => "all lists".to_owned(),
            _ => format!("part {reads}"),
        };
        loaded.room.load(self.engine, label, vertices.clone())?;
        loaded.heap.begin(&vertices);
        loaded.part = Some(part);
        Ok(())
    }

    /// Searches the parts in memory until none of them has an active vertex.
    fn search_loaded(&self, loaded: &mut [Loaded], bound: &impl Fn() -> u64) -> Result<()> {
        loop {
            self.engine.check_cancel()?;
            self.bound.store(bound(), Ordering::Relaxed);
            let waits = |loaded: &Loaded| {
                loaded.part.is_some_and(|part| !loaded.heap.is_empty() || self.is_active(part))
            };
            let mut waiting: Vec<_> = loaded.iter_mut().filter(|loaded| waits(loaded)).collect();
            match waiting.as_mut_slice() {
                [] => return Ok(()),
                [one] => self.search(one),
                more => more.par_iter_mut().with_max_len(1).for_each(|one| self.search(one)),
            }
        }
    }

    /// Whether a part has active vertices within the bound, other than in a heap.
    fn is_active(&self, part: usize) -> bool {
        self.distance_of(part) <= self.bound.load(Ordering::Relaxed)
    }

    fn distance_of(&self, part: usize) -> u64 {
        self.nearest[part].load(Ordering::Relaxed)
    }

    /// The part with the nearest active vertex.
    fn nearest_part(&self) -> Option<usize> {
        let part = (0..self.nearest.len()).min_by_key(|part| self.distance_of(*part))?;
        self.is_active(part).then_some(part)
    }

    /// A part and its neighbours, as many as fit in memory: those with nearer active vertices, of
    /// equally near ones those that are in memory.
    fn around(&self, part: usize, loaded: &[Loaded]) -> Range<usize> {
        let rank = |part: usize| {
            let is_loaded = loaded.iter().any(|loaded| loaded.part == Some(part));
            (self.distance_of(part), !is_loaded)
        };
        let mut wanted = part..part + 1;
        while wanted.len() < self.cut.in_memory() {
            let before = wanted.start.checked_sub(1).map(rank);
            let behind = Some(wanted.end).filter(|part| *part < self.nearest.len()).map(rank);
            match (before, behind) {
                (None, None) => break,
                (Some(before), behind) if behind.is_none_or(|behind| before < behind) => {
                    wanted.start -= 1;
                }
                _ => wanted.end += 1,
            }
        }
        wanted
    }

    /// Follows vertices of a part, nearest first, up to a number of them.
    fn search(&self, loaded: &mut Loaded) {
        let (part, room, heap) =
            (loaded.part.expect("a part in memory"), &loaded.room, &mut loaded.heap);
        let (vertices, distances) = (self.cut.vertices(part), self.distances);
        let bound = self.bound.load(Ordering::Relaxed);
        if self.nearest[part].swap(IDLE, Ordering::Acquire) != IDLE {
            self.active.take_in(vertices.clone(), |v| heap.raise(v, distances));
            fence(Ordering::Acquire);
        }
        follow((room, heap), distances, &vertices, (bound, ROUND_VERTICES), |target, sum| {
            if distances.lower(target, sum) {
                self.activate(target);
            }
        });
    }
}

/// Follows vertices of a heap, nearest first, up to a number of them and as far as a bound. Their
/// lists are in memory, as are those of all `vertices`; `leave` takes the paths to others.
#[inline(always)]
pub(crate) fn follow(
    (room, heap): (&Room, &mut Heap),
    distances: &impl Distances,
    vertices: &Range<VertexId>,
    (bound, count): (u64, usize),
    mut leave: impl FnMut(VertexId, u64),
) {
    for _ in 0..count {
        let Some(v) = heap.pop(distances) else { return };
        let length = distances.distance(v);
        if length > bound {
            return heap.clear();
        }
        for place in room.list(v) {
            let sum = distances.longer(length, room.weight(place));
            let target = room.target(place);
            if sum > bound {
                continue;
            }
            if !vertices.contains(&target) {
                leave(target, sum);
            } else if distances.lower(target, sum) {
                heap.raise(target, distances);
            }
        }
    }
}
