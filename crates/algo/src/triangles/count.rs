//! Counts triangles of oriented lists, by marks, bit rows or search, whichever is fastest.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_engine::Engine;

use super::hubs::Hubs;
use super::lists::{Arena, NEAR, NOWHERE, Oriented};
use crate::report::Result;

/// Testing one bit of a row takes about as long as intersecting this many words with the marks.
const WORDS_PER_BIT: usize = 2;

/// A binary search in a list takes about as long as testing this many marks.
const MARKS_PER_SEARCH: usize = 8;

/// So many middle vertices are looked up before the first of their lists is used.
const MIDDLES: usize = 16;

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
    /// Ranks below this are hubs.
    pub hubs: u32,
    /// The rows of hubs, to count middle vertices that are hubs. They must be complete.
    pub rows: Option<&'a Hubs>,
    /// By rank; empty for [`At::Nowhere`].
    pub counts: &'a [AtomicU64],
}

impl View<'_> {
    /// Whether one of these ranks may be that of a middle vertex.
    pub fn has_any(&self, ranks: &[u32]) -> bool {
        ranks.iter().any(|&w| match w < self.hubs {
            true => self.rows.is_some(),
            false => self.places[w as usize].load(Ordering::Relaxed) != NOWHERE,
        })
    }

    /// Where the list of `w` is, which is fetched into the cache; that of a hub is a row, at any
    /// place; [`NOWHERE`] if it is not in memory.
    #[inline(always)]
    fn place(&self, w: u32) -> u32 {
        if w < self.hubs {
            return if self.rows.is_some() { 0 } else { NOWHERE };
        }
        let place = self.places[w as usize].load(Ordering::Relaxed);
        if place != NOWHERE {
            self.chunk.prefetch_at(place);
        }
        place
    }
}

/// A middle vertex: its position in the list of the largest, its rank, and the place of its list.
#[derive(Clone, Copy, Default)]
struct Middle {
    i: usize,
    w: u32,
    place: u32,
}

/// The workers that count, apart from those that do so now.
pub(crate) struct Workers {
    idle: Mutex<Vec<Worker>>,
    at: At,
}

/// A triangle is found at its vertex `u` of largest rank: `x < w < u`, with the list of `u` marked.
pub(super) struct Worker {
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
        Self { idle: Mutex::new((0..workers).map(|_| worker()).collect()), at }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker for one thread, who is to be given back.
    pub fn take(&self) -> Worker {
        self.idle().pop().expect("there is a worker for each thread")
    }

    pub fn give_back(&self, worker: Worker) {
        self.idle().push(worker);
    }

    /// Whether it matters which edges run both ways.
    pub fn doubles(&self) -> bool {
        self.at == At::Edges
    }

    /// Counts the triangles whose largest rank has its list in `lists` and whose middle rank is in
    /// `view`, on the engine's threads.
    pub fn count(&self, engine: &Engine, lists: &Arena, view: &View<'_>) -> Result<()> {
        let next = AtomicUsize::new(0);
        rayon::broadcast(|_| {
            let mut worker = self.take();
            loop {
                let slab = next.fetch_add(1, Ordering::Relaxed);
                if slab >= lists.slabs() || engine.config().cancel.is_raised() {
                    return self.give_back(worker);
                }
                lists.lists(slab).for_each(|list| self.count_one(&mut worker, &list, view));
            }
        });
        Ok(engine.check_cancel()?)
    }

    /// Counts those of one list.
    #[inline]
    pub fn count_one(&self, worker: &mut Worker, list: &Oriented<'_>, view: &View<'_>) {
        match self.at {
            At::Nowhere => worker.list::<false, false>(list, view),
            At::Triangles => worker.list::<true, false>(list, view),
            At::Edges => worker.list::<true, true>(list, view),
        }
    }

    /// Returns all triangles; adds the workers' counts of near ranks to `counts`.
    pub fn finish(self, counts: &[AtomicU64]) -> u64 {
        let mut triangles = 0;
        for worker in self.idle.into_inner().unwrap_or_else(PoisonError::into_inner) {
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
        // The list of its least entry has none of the others.
        let mut ranks = u.ranks().enumerate().skip(usize::from(u.ascends));
        loop {
            let mut middle = [Middle::default(); MIDDLES];
            let mut count = 0;
            for (i, w) in ranks.by_ref() {
                let place = view.place(w);
                middle[count] = Middle { i, w, place };
                count += usize::from(place != NOWHERE);
                if count == MIDDLES {
                    break;
                }
            }
            for middle in &middle[..count] {
                of_u += self.edge::<COUNTS, DOUBLES>(u, *middle, view);
            }
            if count < MIDDLES {
                break;
            }
        }
        if COUNTS {
            self.add(u.rank, of_u, view);
        }
        self.unmark::<DOUBLES>(u);
    }

    /// Counts the triangles of an edge; returns what counts at `u`.
    #[inline(always)]
    fn edge<const COUNTS: bool, const DOUBLES: bool>(
        &mut self,
        u: &Oriented<'_>,
        Middle { i, w, place }: Middle,
        view: &View<'_>,
    ) -> u64 {
        // The count of each x per triangle.
        let weight = 1 + u64::from(DOUBLES && u.is_double(i));
        let found = match view.rows.filter(|_| w < view.hubs) {
            Some(rows) => self.by_row::<COUNTS, DOUBLES>(u, i, w, weight, rows),
            None => {
                let list = view.chunk.list_at(place);
                self.by_list::<COUNTS, DOUBLES>(u, i, &list, weight, view)
            }
        };
        self.triangles += found.triangles;
        if !COUNTS || found.triangles == 0 {
            return 0;
        }
        self.add(w, if DOUBLES { found.of_w } else { found.triangles }, view);
        if DOUBLES { found.of_u } else { found.triangles }
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
        rows: &Hubs,
    ) -> Found {
        let row = rows.row(w);
        let double_row = if DOUBLES { rows.double_row(w) } else { &[] };
        let mut found = Found::default();
        let below = u.below(i).min(u.near.len());
        if below <= WORDS_PER_BIT * row.len() {
            for (j, &x) in u.near[..below].iter().enumerate() {
                let x = u32::from(x);
                // Rows end with their own rank.
                if !u.ascends && x >= w {
                    continue;
                }
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
        let below = u.below(i);
        if below * MARKS_PER_SEARCH < list.len() {
            for (j, x) in u.ranks().take(below).enumerate() {
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
