//! Asynchronous BFS, without a barrier per level: for searches of many levels whose residual graph
//! does not fit in memory.
//!
//! **Source.** Asynchronous block-priority scheduling as in ACGraph (SIGMOD 2026), on label
//! correction: levels are upper bounds that fall until no edge can lower one, and are then exact.
//!
//! **Trick.** A page is searched until no level changes inside it, so neighbours on one page cost
//! one visit, not one per level. A round visits the pages with the smallest active levels, whose
//! levels are mostly final. Levels are final only at the end, so parents are found last, in one
//! pass over the reached lists.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use cenote_engine::{
    ActiveSet, Adjacency, Bitmap, Direction, Engine, HugeVec, Kernel, List, Page, PageTask,
    Purpose, VertexId,
};

use super::UNREACHED;
use crate::ranks::Parents;
use crate::report::Result;

/// No vertex of the page is active.
const IDLE: u32 = u32::MAX;

/// Below this many pages a round leaves the drive idle: the next takes more levels.
const ROUND_PAGES_MIN: usize = 64;

/// Above this many pages a round does work that lower levels will undo: the next takes fewer.
const ROUND_PAGES_MAX: usize = 1024;

const PAGES: &str = "bytes_for() refuses more pages";

/// Bytes beside levels and a set of vertices; `u64::MAX` for more than 2^32 pages.
pub(super) fn bytes_for(pages: u64) -> u64 {
    match u32::try_from(pages) {
        Ok(pages) => 4 * u64::from(pages) + Bitmap::bytes_for(pages as usize),
        Err(_) => u64::MAX,
    }
}

/// An asynchronous search.
pub(super) struct Asynchronous<'a> {
    engine: &'a Engine,
    adjacency: &'a Adjacency,
    levels: &'a [AtomicU32],
    /// Vertices whose level fell after the first piece of their list was last followed.
    active: &'a Bitmap,
    /// Pages that begin with an active piece of a list from an earlier page.
    hub_neighbours: Bitmap,
    /// For each page the lowest level of its active vertices.
    lowest: HugeVec<AtomicU32>,
    /// Levels above this do not matter any more. It only falls.
    level_max: AtomicU32,
}

impl<'a> Asynchronous<'a> {
    /// A search without active vertices. `active` is an empty set over the vertices.
    pub fn new(engine: &'a Engine, levels: &'a [AtomicU32], active: &'a Bitmap) -> Result<Self> {
        let adjacency = engine.graph().adjacency(Direction::Out).expect("every graph has lists");
        let pages = usize::try_from(adjacency.pages()).expect("an index of the pages is in memory");
        let lowest = HugeVec::<AtomicU32>::zeroed(pages)?;
        lowest.iter().for_each(|level| level.store(IDLE, Ordering::Relaxed));
        Ok(Self {
            engine,
            adjacency,
            levels,
            active,
            hub_neighbours: Bitmap::new(pages)?,
            lowest,
            level_max: AtomicU32::new(UNREACHED),
        })
    }

    /// Marks the list of `v` as active, from `level` on.
    pub fn activate(&self, v: VertexId, level: u32) {
        let pages = self.adjacency.pages_of(v);
        // A thread that takes the vertex out of the set sees its level.
        fence(Ordering::Release);
        self.active.insert(v);
        self.lowest[*pages.start() as usize].fetch_min(level, Ordering::Release);
        self.activate_hub_neighbours(pages.start() + 1..pages.end() + 1, level);
    }

    /// Marks the pieces of a list behind the first as active.
    fn activate_hub_neighbours(&self, pages: Range<u64>, level: u32) {
        fence(Ordering::Release);
        for page in pages {
            self.hub_neighbours.insert(VertexId::try_from(page).expect(PAGES));
            self.lowest[page as usize].fetch_min(level, Ordering::Release);
        }
    }

    /// Searches until no level of at most `level_max()` can fall. `level_max` is called before
    /// every round and must not rise.
    pub fn run(&self, level_max: impl Fn() -> u32) -> Result<()> {
        let mut slack = 1;
        for round in 1.. {
            self.level_max.store(level_max(), Ordering::Relaxed);
            let tasks = self.lowest_pages(slack);
            if tasks.is_empty() {
                break;
            }
            if tasks.len() > ROUND_PAGES_MAX {
                slack = slack.div_ceil(2);
            } else if tasks.len() < ROUND_PAGES_MIN {
                slack = slack.saturating_mul(2);
            }
            self.engine.visit_pages(format!("round {round}"), Direction::Out, &tasks, self)?;
        }
        Ok(())
    }

    /// The pages whose lowest level is at most `slack` above the lowest of all.
    fn lowest_pages(&self, slack: u32) -> Vec<PageTask> {
        let level_of = |level: &AtomicU32| level.load(Ordering::Relaxed);
        let lowest = self.lowest.iter().map(level_of).min().unwrap_or(IDLE);
        let level_max = self.level_max.load(Ordering::Relaxed);
        if lowest >= level_max {
            return Vec::new();
        }
        let highest = lowest.saturating_add(slack).min(level_max - 1);
        (0..)
            .zip(self.lowest.iter())
            .filter(|(_, level)| level_of(level) <= highest)
            .map(|(page, _)| PageTask { page, from: 0, to: 0 })
            .collect()
    }
}

/// The vertices that a worker still has to follow on its page, with their levels when found.
#[derive(Default)]
pub(super) struct Within {
    /// Active before the visit, sorted by descending level.
    before: Vec<(u32, VertexId)>,
    /// Found during the visit, by ascending level.
    found: VecDeque<(u32, VertexId)>,
}

impl Kernel for Asynchronous<'_> {
    type Local = Within;

    fn local(&self) -> Within {
        Within::default()
    }

    fn page(&self, within: &mut Within, page: &Page<'_>, purpose: &Purpose<'_>) {
        let task = purpose.task;
        self.take_active(within, page, task.page);
        let starting =
            self.adjacency.starts_from(task.page)..self.adjacency.vertices_in(task.page).end;
        let runs_on =
            task.page + 1 < self.adjacency.pages() && self.adjacency.continues(task.page + 1);
        while let Some((level, v)) = within.next() {
            if self.levels[v as usize].load(Ordering::Relaxed) < level {
                continue;
            }
            let list = page.list_of(v).expect("active vertices were taken from this page");
            for &target in list.targets {
                if !self.lower(target, level + 1) {
                    continue;
                }
                if !starting.contains(&target) {
                    self.activate(target, level + 1);
                    continue;
                }
                within.found.push_back((level + 1, target));
                if runs_on && target + 1 == starting.end {
                    let pages = self.adjacency.pages_of(target);
                    self.activate_hub_neighbours(pages.start() + 1..pages.end() + 1, level + 1);
                }
            }
        }
    }
}

impl Asynchronous<'_> {
    /// Lowers the level of `v` to `level`; true if it was higher.
    #[inline(always)]
    fn lower(&self, v: VertexId, level: u32) -> bool {
        let cell = &self.levels[v as usize];
        level <= self.level_max.load(Ordering::Relaxed)
            && cell.load(Ordering::Relaxed) > level
            && cell.fetch_min(level, Ordering::Relaxed) > level
    }

    /// Takes the active vertices of a page. A vertex that is activated later is either seen now or
    /// makes the page active again.
    fn take_active(&self, within: &mut Within, page: &Page<'_>, number: u64) {
        self.lowest[number as usize].swap(IDLE, Ordering::Acquire);
        let starting = self.adjacency.starts_from(number)..self.adjacency.vertices_in(number).end;
        self.active.take_in(starting, |v| within.before.push((0, v)));
        let head = VertexId::try_from(number).expect(PAGES);
        if self.hub_neighbours.contains(head) {
            self.hub_neighbours.remove(head);
            within.before.push((0, page.first_vertex()));
        }
        fence(Ordering::Acquire);
        for (level, v) in &mut within.before {
            *level = self.levels[*v as usize].load(Ordering::Relaxed);
        }
        // Descending: the next is popped from the end.
        within.before.sort_unstable_by(|a, b| b.cmp(a));
    }
}

impl Within {
    /// The next vertex, lowest level first.
    fn next(&mut self) -> Option<(u32, VertexId)> {
        match (self.before.last(), self.found.front()) {
            (Some(before), Some(found)) if found.0 < before.0 => self.found.pop_front(),
            (None, _) => self.found.pop_front(),
            _ => self.before.pop(),
        }
    }
}

/// Finds the parents of all reached vertices in one pass over their lists.
pub(super) fn find_parents(
    engine: &Engine,
    levels: &[AtomicU32],
    parents: &Parents,
    unreached: &Bitmap,
) -> Result<()> {
    let kernel = FindParents { levels, parents };
    engine.visit("parents", Direction::Out, ActiveSet::NotIn(unreached), &kernel)?;
    Ok(())
}

struct FindParents<'a> {
    levels: &'a [AtomicU32],
    parents: &'a Parents,
}

impl Kernel for FindParents<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let next = self.levels[list.vertex as usize].load(Ordering::Relaxed).saturating_add(1);
        for &target in list.targets {
            if next != UNREACHED && self.levels[target as usize].load(Ordering::Relaxed) == next {
                self.parents.propose(target, list.vertex);
            }
        }
    }
}
