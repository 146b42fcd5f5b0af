//! Counts triangles of oriented lists, by marks, bit rows or search, whichever is fastest.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::Engine;

use super::hubs::Hubs;
use super::lists::{Arena, NEAR, NOWHERE, Oriented};
use crate::report::Result;

/// Testing one bit of a row takes about as long as intersecting this many words with the marks.
const WORDS_PER_BIT: usize = 2;

/// A binary search in a list takes about as long as testing this many marks.
const MARKS_PER_SEARCH: usize = 8;

/// What is counted at each vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Nothing: only the triangles of the graph.
    Nowhere,
    /// Its triangles.
    Triangles,
    /// The directed edges between the other two vertices of its triangles.
    Edges,
}

/// The lists in memory and the hubs that a count uses.
pub(crate) struct View<'a> {
    /// Lists of middle vertices, and their places by rank.
    pub chunk: &'a Arena,
    pub places: &'a [AtomicU32],
    pub hubs: &'a Hubs,
    /// Whether to count middle vertices that are hubs; their rows must be complete.
    pub with_hubs: bool,
    /// By rank; empty for [`At::Nowhere`].
    pub counts: &'a [AtomicU64],
}

/// The state of the workers.
pub(crate) struct Workers {
    workers: Vec<Mutex<Worker>>,
    at: At,
}

/// A triangle is found at its vertex `u` of largest rank: `x < w < u`, with the list of `u` marked.
struct Worker {
    /// The list of `u`, by rank.
    marks: Vec<u64>,
    /// The entries of that list that are edges both ways.
    double_marks: Vec<u64>,
    /// Counts of near ranks.
    near: Vec<u64>,
    triangles: u64,
}

impl Workers {
    pub fn bytes_for(vertices: usize, at: At, workers: usize) -> u64 {
        let marks = 8 * vertices.div_ceil(64) as u64;
        let near = 8 * vertices.min(NEAR as usize) as u64;
        workers as u64
            * match at {
                At::Nowhere => marks,
                At::Triangles => marks + near,
                At::Edges => 2 * marks + near,
            }
    }

    pub fn new(vertices: usize, at: At, workers: usize) -> Self {
        let marks = vertices.div_ceil(64);
        let near = vertices.min(NEAR as usize);
        let worker = || Worker {
            marks: vec![0; marks],
            double_marks: vec![0; if at == At::Edges { marks } else { 0 }],
            near: vec![0; if at == At::Nowhere { 0 } else { near }],
            triangles: 0,
        };
        Self { workers: (0..workers).map(|_| Mutex::new(worker())).collect(), at }
    }

    /// Counts the triangles whose largest rank has its list in `lists` and whose middle rank is in
    /// `view`, on the engine's threads.
    pub fn count(&self, engine: &Engine, lists: &Arena, view: &View<'_>) -> Result<()> {
        let next = AtomicUsize::new(0);
        rayon::broadcast(|context| {
            let mutex = &self.workers[context.index()];
            let worker = &mut *mutex.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let slab = next.fetch_add(1, Ordering::Relaxed);
                if slab >= lists.slabs() || engine.config().cancel.is_raised() {
                    return;
                }
                lists.lists(slab).for_each(|list| match self.at {
                    At::Nowhere => worker.list::<false, false>(&list, view),
                    At::Triangles => worker.list::<true, false>(&list, view),
                    At::Edges => worker.list::<true, true>(&list, view),
                });
            }
        });
        Ok(engine.check_cancel()?)
    }

    /// Returns all triangles; adds the workers' counts of near ranks to `counts`.
    pub fn finish(self, counts: &[AtomicU64]) -> u64 {
        let mut triangles = 0;
        for worker in self.workers {
            let worker = worker.into_inner().unwrap_or_else(PoisonError::into_inner);
            triangles += worker.triangles;
            for (count, &more) in counts.iter().zip(&worker.near) {
                count.fetch_add(more, Ordering::Relaxed);
            }
        }
        triangles
    }
}

#[inline(always)]
fn has(bits: &[u64], i: u32) -> bool {
    bits[i as usize / 64] >> (i % 64) & 1 == 1
}

/// The triangles of an edge `u`, `w`.
#[derive(Clone, Copy, Default)]
struct Found {
    triangles: u64,
    /// Directed edges between `w` and the `x`s.
    of_u: u64,
    /// Directed edges between `u` and the `x`s.
    of_w: u64,
}

impl Worker {
    /// `COUNTS`: also at the vertices. `DOUBLES`: an edge both ways counts as two.
    fn list<const COUNTS: bool, const DOUBLES: bool>(&mut self, u: &Oriented<'_>, view: &View<'_>) {
        if u.len() < 2 {
            return;
        }
        self.mark::<DOUBLES>(u);
        let mut of_u = 0;
        for (i, w) in u.ranks().enumerate().skip(1) {
            // The count of each x per triangle.
            let weight = 1 + u64::from(DOUBLES && u.is_double(i));
            let found = if w < view.hubs.count() {
                if !view.with_hubs {
                    continue;
                }
                self.by_row::<COUNTS, DOUBLES>(u, i, w, weight, view)
            } else {
                match view.places[w as usize].load(Ordering::Relaxed) {
                    NOWHERE => continue,
                    place => {
                        let list = view.chunk.list_at(place);
                        self.by_list::<COUNTS, DOUBLES>(u, i, &list, weight, view)
                    }
                }
            };
            self.triangles += found.triangles;
            if COUNTS && found.triangles > 0 {
                of_u += if DOUBLES { found.of_u } else { found.triangles };
                let of_w = if DOUBLES { found.of_w } else { found.triangles };
                self.add(w, of_w, view);
            }
        }
        if COUNTS {
            self.add(u.rank, of_u, view);
        }
        self.unmark::<DOUBLES>(u);
    }

    fn mark<const DOUBLES: bool>(&mut self, u: &Oriented<'_>) {
        for (i, x) in u.ranks().enumerate() {
            self.marks[x as usize / 64] |= 1 << (x % 64);
            if DOUBLES && u.is_double(i) {
                self.double_marks[x as usize / 64] |= 1 << (x % 64);
            }
        }
    }

    fn unmark<const DOUBLES: bool>(&mut self, u: &Oriented<'_>) {
        for x in u.ranks() {
            self.marks[x as usize / 64] = 0;
            if DOUBLES {
                self.double_marks[x as usize / 64] = 0;
            }
        }
    }

    #[inline(always)]
    fn add(&mut self, rank: u32, count: u64, view: &View<'_>) {
        match self.near.get_mut(rank as usize) {
            Some(near) => *near += count,
            None => {
                view.counts[rank as usize].fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    /// For a hub `w`, the `i`-th entry of `u`: every `x` is a hub, too.
    #[inline(always)]
    fn by_row<const COUNTS: bool, const DOUBLES: bool>(
        &mut self,
        u: &Oriented<'_>,
        i: usize,
        w: u32,
        weight: u64,
        view: &View<'_>,
    ) -> Found {
        let row = view.hubs.row(w);
        let double_row = if DOUBLES { view.hubs.double_row(w) } else { &[] };
        let mut found = Found::default();
        if i <= WORDS_PER_BIT * row.len() {
            for (j, &x) in u.near[..i].iter().enumerate() {
                let x = u32::from(x);
                let hit = u64::from(has(row, x));
                found.triangles += hit;
                if DOUBLES {
                    found.of_u += hit + u64::from(has(double_row, x));
                    found.of_w += hit << u32::from(u.is_double(j));
                }
                if COUNTS {
                    self.near[x as usize] += hit * weight;
                }
            }
            return found;
        }
        for (k, (&row, &marks)) in row.iter().zip(&self.marks).enumerate() {
            let mut hits = row & marks;
            let count = u64::from(hits.count_ones());
            found.triangles += count;
            if DOUBLES {
                found.of_u += count + u64::from((double_row[k] & marks).count_ones());
                found.of_w += count + u64::from((row & self.double_marks[k]).count_ones());
            }
            while COUNTS && hits != 0 {
                self.near[64 * k + hits.trailing_zeros() as usize] += weight;
                hits &= hits - 1;
            }
        }
        found
    }

    /// For the list of `w`, the `i`-th entry of `u`, in memory.
    #[inline(always)]
    fn by_list<const COUNTS: bool, const DOUBLES: bool>(
        &mut self,
        u: &Oriented<'_>,
        i: usize,
        list: &Oriented<'_>,
        weight: u64,
        view: &View<'_>,
    ) -> Found {
        let mut found = Found::default();
        let mut hit = |worker: &mut Self, x: u32, in_w: usize, ux_is_double: bool| {
            found.triangles += 1;
            if DOUBLES {
                found.of_u += 1 + u64::from(list.is_double(in_w));
                found.of_w += 1 + u64::from(ux_is_double);
            }
            if COUNTS {
                worker.add(x, weight, view);
            }
        };
        if i * MARKS_PER_SEARCH < list.len() {
            for (j, x) in u.ranks().take(i).enumerate() {
                if let Some(in_w) = list.position(x) {
                    hit(self, x, in_w, DOUBLES && u.is_double(j));
                }
            }
            return found;
        }
        if !COUNTS {
            let near = |&x: &u16| u64::from(has(&self.marks, u32::from(x)));
            let far = |&x: &u32| u64::from(has(&self.marks, x));
            found.triangles = list.near.iter().map(near).sum::<u64>();
            found.triangles += list.far.iter().map(far).sum::<u64>();
            return found;
        }
        for (in_w, x) in list.ranks().enumerate() {
            if has(&self.marks, x) {
                hit(self, x, in_w, DOUBLES && has(&self.double_marks, x));
            }
        }
        found
    }
}
