//! Outer shells first, for lists that do not fit in memory: one core number after the other, each
//! list read when its vertex is removed.
//!
//! **Trick.** Trees need no lists: a pass keeps for each vertex the number of its neighbours and
//! the exclusive or of their numbers, which is the last neighbour itself when one is left. So the
//! vertices of core number 1 are removed one by one in memory, whatever the order of the file.
//!
//! From core number 2 on, a page is read when vertices on it are removed, and all that this removes
//! on the page is removed at once ([`Worklist`]).
//!
//! **Bound.** The list of every vertex is needed when the vertex is removed, so no algorithm that
//! cannot hold the remaining lists reads less than the pages on which vertices are removed at
//! different times.

use std::ops::{AddAssign, Range};
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, Graph, Kernel, List, NamedPages, Page, Purpose, VertexId,
};

use super::bounds::{Bounds, TRIVIAL};
use crate::neighbourhood::directions;
use crate::page_of::PageOf;
use crate::parallel;
use crate::report::{Result, pages};
use crate::worklist::{IDLE, Worklist};

/// Bytes of the worklists.
pub(super) fn bytes_for(graph: &Graph) -> u64 {
    let of = |direction: &Direction| {
        let worklist = Worklist::bytes_for(pages(graph, *direction));
        worklist.saturating_add(Bitmap::bytes_for(graph.vertices()))
    };
    directions(graph.is_directed()).iter().map(of).fold(0, u64::saturating_add)
}

/// Lists: how many, and their entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lists {
    pub lists: u64,
    pub entries: u64,
}

impl AddAssign for Lists {
    fn add_assign(&mut self, other: Self) {
        self.lists += other.lists;
        self.entries += other.entries;
    }
}

/// Finds the vertices of core numbers below [`TRIVIAL`] in one pass. Afterwards the count of every
/// other vertex is that of its neighbours that remain.
pub(super) fn trees(engine: &Engine, bounds: &mut Bounds) -> Result<Lists> {
    let n = engine.graph().vertices();
    parallel::for_each(n, |v| {
        let v = v as VertexId;
        if !bounds.done.contains(v) {
            bounds.set(v, 0);
            bounds.set_count(v, 0);
        }
    });
    let directions = directions(engine.graph().is_directed());
    let neighbours = Neighbours { bounds, is_only: directions.len() == 1 };
    for direction in directions {
        let active = ActiveSet::NotIn(&bounds.done);
        engine.visit("neighbours", *direction, active, &neighbours)?;
    }
    (0..n as VertexId).for_each(|v| remove_leaves(bounds, v));
    let remaining = parallel::sum(n, |v| {
        let v = v as VertexId;
        if bounds.done.contains(v) {
            return Lists::default();
        }
        let count = bounds.count(v);
        bounds.set(v, count.min(bounds.ceiling - 1));
        if count == 0 {
            bounds.done.insert(v);
            return Lists::default();
        }
        Lists { lists: 1, entries: u64::from(count) }
    });
    bounds.lowest = bounds.lowest.max(TRIVIAL);
    if remaining.lists == 0 {
        bounds.finish();
    } else {
        bounds.limit();
    }
    Ok(remaining)
}

/// Removes `v` if one neighbour is left, then this neighbour if it has one left, and so on.
fn remove_leaves(bounds: &Bounds, mut v: VertexId) {
    while !bounds.done.contains(v) && bounds.count(v) == 1 {
        let neighbour = bounds.get(v);
        bounds.done.insert(v);
        bounds.set(v, 1.min(bounds.most));
        if bounds.done.contains(neighbour) {
            return;
        }
        let left = bounds.count(neighbour) - 1;
        bounds.set_count(neighbour, left);
        if left == 0 {
            bounds.done.insert(neighbour);
            bounds.set(neighbour, 1.min(bounds.most));
            return;
        }
        bounds.set(neighbour, bounds.get(neighbour) ^ v);
        v = neighbour;
    }
}

/// Counts neighbours, and keeps the exclusive or of their numbers in place of the bound.
struct Neighbours<'a> {
    bounds: &'a Bounds,
    /// Whether a vertex has no other list.
    is_only: bool,
}

impl Kernel for Neighbours<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let v = list.vertex;
        if self.bounds.done.contains(v) {
            return;
        }
        let bounds = self.bounds;
        // Of those that are done, inner cores stay and outer shells are gone.
        let is_gone =
            |u| bounds.lowest > 0 && bounds.done.contains(u) && bounds.get(u) < bounds.lowest;
        let (mut count, mut all) = (0, 0);
        for &u in list.targets.iter().filter(|&&u| u != v && !is_gone(u)) {
            count += 1;
            all ^= u;
        }
        if self.is_only && list.is_whole() {
            bounds.set_count(v, count);
            return bounds.set(v, all);
        }
        bounds.count[v as usize].fetch_add(count, Ordering::Relaxed);
        bounds.of[v as usize].fetch_xor(all, Ordering::Relaxed);
    }
}

/// Removes one shell after the other.
pub(super) struct Outer<'a> {
    engine: &'a Engine,
    bounds: &'a Bounds,
    worklists: Vec<(Direction, Worklist<'a>)>,
    level: u32,
    /// Rounds so far.
    pub rounds: u64,
    lists: AtomicU64,
    entries: AtomicU64,
}

impl<'a> Outer<'a> {
    /// Starts after [`trees`]; `active` are empty sets over the vertices, one for each direction.
    pub fn new(
        engine: &'a Engine,
        bounds: &'a Bounds,
        remaining: Lists,
        active: &'a [Bitmap],
    ) -> Result<Self> {
        let mut worklists = Vec::new();
        for (&direction, active) in directions(engine.graph().is_directed()).iter().zip(active) {
            let adjacency = engine.graph().adjacency(direction).expect("in-edges were demanded");
            worklists.push((direction, Worklist::new(adjacency, active)?));
        }
        let (lists, entries) = (remaining.lists.into(), remaining.entries.into());
        Ok(Self { engine, bounds, worklists, level: bounds.lowest - 1, rounds: 0, lists, entries })
    }

    /// Removes shells until what remains `fits` in memory, or all core numbers are known (`None`).
    /// Returns the core number of the shell that was removed last, perhaps only in part.
    pub fn run(&mut self, fits: impl Fn(Lists) -> bool) -> Result<Option<u32>> {
        while let Some(level) = self.next_level() {
            self.level = level;
            self.start_level();
            while !fits(self.remaining()) {
                if !self.round()? {
                    break;
                }
                self.rounds += 1;
            }
            if fits(self.remaining()) {
                return Ok(Some(level));
            }
        }
        Ok(None)
    }

    /// The smallest core number of a vertex that is not done; `None` if all others have the
    /// largest possible one.
    fn next_level(&self) -> Option<u32> {
        let n = self.engine.graph().vertices();
        let least = parallel::collect_of_blocks(parallel::BLOCK, n, |range| {
            self.open(range).map(|v| self.bounds.count(v)).min()
        });
        let next = least.into_iter().flatten().min()?.max(self.level);
        (next + 1 < self.bounds.ceiling).then_some(next)
    }

    fn open(&self, range: Range<usize>) -> impl Iterator<Item = VertexId> {
        self.bounds.done.iter_absent_in(range.start as VertexId..range.end as VertexId)
    }

    fn remaining(&self) -> Lists {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Lists { lists: of(&self.lists), entries: of(&self.entries) }
    }

    /// Takes away what is gone. Threads share these counts, so that each adds up first.
    fn subtract(&self, gone: Lists) {
        self.lists.fetch_sub(gone.lists, Ordering::Relaxed);
        self.entries.fetch_sub(gone.entries, Ordering::Relaxed);
    }

    /// Removes the vertices with the fewest neighbours left.
    fn start_level(&self) {
        let n = self.engine.graph().vertices();
        let gone = parallel::sum_of_blocks(parallel::BLOCK, n, |range| {
            let mut gone = Lists::default();
            let removed = self.open(range).filter(|&v| self.bounds.count(v) <= self.level);
            let mut pages = vec![PageOf::default(); self.worklists.len()];
            for v in removed {
                self.remove(v);
                gone += Lists { lists: 1, entries: u64::from(self.bounds.count(v)) };
                for ((_, worklist), page) in self.worklists.iter().zip(&mut pages) {
                    worklist.activate_next(v, 0, page);
                }
            }
            gone
        });
        self.subtract(gone);
    }

    /// Removes a vertex.
    fn remove(&self, v: VertexId) {
        self.bounds.set(v, self.level.min(self.bounds.most));
        self.bounds.done.insert(v);
    }

    /// Visits the pages with lists of removed vertices; false if there are none.
    fn round(&self) -> Result<bool> {
        let mut any = false;
        for (which, (direction, worklist)) in self.worklists.iter().enumerate() {
            let tasks = worklist.up_to(IDLE);
            any |= !tasks.is_empty();
            if !tasks.is_empty() {
                let kernel = Shell { outer: self, which };
                let label = format!("shell {}", self.level);
                let pages = NamedPages::of_step(&tasks);
                self.engine.visit_pages(label, *direction, pages, &kernel)?;
            }
        }
        Ok(any)
    }
}

/// Removes what the removed vertices of a page leave with too few neighbours.
struct Shell<'a> {
    outer: &'a Outer<'a>,
    /// The worklist of this direction.
    which: usize,
}

impl Kernel for Shell<'_> {
    /// Removed vertices of the page whose lists are still to be followed.
    type Local = Vec<VertexId>;

    fn local(&self) -> Vec<VertexId> {
        Vec::new()
    }

    fn page(&self, stack: &mut Vec<VertexId>, page: &Page<'_>, purpose: &Purpose<'_>) {
        let Outer { bounds, worklists, level, .. } = self.outer;
        let (_, worklist) = &worklists[self.which];
        let number = purpose.task.page;
        worklist.take(number, page, |v| stack.push(v));
        let (starting, runs_on) = (worklist.starting(number), worklist.runs_on(number));
        let mut gone = Lists::default();
        while let Some(v) = stack.pop() {
            let list = page.list_of(v).expect("active lists were taken from this page");
            for &target in list.targets.iter().filter(|&&target| target != v) {
                if bounds.done.contains(target) {
                    continue;
                }
                let before = bounds.count[target as usize].fetch_sub(1, Ordering::Relaxed);
                gone.entries += u64::from(before > *level);
                if before != level + 1 {
                    continue;
                }
                self.outer.remove(target);
                gone += Lists { lists: 1, entries: u64::from(*level) };
                for (other, (_, further)) in worklists.iter().enumerate() {
                    if other != self.which || !starting.contains(&target) {
                        further.activate(target, 0);
                    }
                }
                if starting.contains(&target) {
                    stack.push(target);
                    if runs_on == Some(target) {
                        worklist.activate_further(target, 0);
                    }
                }
            }
        }
        self.outer.subtract(gone);
    }
}
