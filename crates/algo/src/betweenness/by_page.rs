//! A search from one source without a barrier per level, for searches of many levels.
//!
//! **Trick.** Levels are found first ([`Asynchronous`]). Then the path count of a vertex is known
//! once those of its neighbours on the level before are, and its dependency once those on the next
//! level are, wherever the rest of the search is. So a page is visited for its vertices on all
//! levels, once a neighbour of one of them is settled. Lists are summed in the same order as level
//! by level, so all sums are the same to the last bit. Beside its path count each vertex has an
//! exponent, so there is no limit to counts.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use cenote_engine::{
    ActiveSet, Adjacency, Bitmap, Direction, Engine, Frontier, HugeVec, Kernel, List, NamedPages,
    Page, PageTask, Purpose, VertexId,
};

use super::state::{Lanes, Sums, UNREACHED};
use super::sweep::{each_target, power_of_two};
use crate::bfs::Asynchronous;
use crate::kind::is_clustered;
use crate::page_of::PageOf;
use crate::parallel::{self, fill};
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result};
use crate::worklist::{APART_CLUSTERED, Follow, Worklist, follow, round_bytes, round_of};

/// Path counts above this are divided by it, and their exponents rise by one.
const LARGE: f64 = power_of_two(512);

/// Set in the word of a vertex whose dependency is known.
const IS_SUMMED: u32 = 1 << 31;

/// The state of a search; `lanes` has one lane.
pub(super) struct Search<'a> {
    pub engine: &'a Engine,
    pub lanes: &'a Lanes,
    /// For each vertex 0 until its path count is known, then 1 more than the power of [`LARGE`] by
    /// which that is to be multiplied, and [`IS_SUMMED`]. Stored after the value.
    pub words: &'a [AtomicU32],
    pub ranks: &'a Ranks,
    pub sums: &'a Sums,
}

/// Empty sets over the vertices, to use in a search.
pub(super) struct Sets<'a> {
    /// For vertices to try.
    pub due: &'a Bitmap,
    /// For those of them whose lists span pages.
    pub frontier: &'a mut Frontier,
    /// On a directed graph, for settled vertices of which those that need them do not know yet.
    pub unreported: Option<&'a Bitmap>,
}

impl Search<'_> {
    /// Bytes for so many pages of lists of each direction, beside the state and sets of vertices.
    pub fn bytes_for(pages_out: u64, pages_in: u64) -> u64 {
        let settling = |settled: u64, reported: u64| {
            let unreported = if pages_in == 0 { 0 } else { Worklist::bytes_for(reported) };
            unreported
                .saturating_add(2 * Bitmap::bytes_for(settled as usize))
                .saturating_add(settled.saturating_mul(size_of::<AtomicU32>() as u64))
                .saturating_add(round_bytes(settled))
        };
        let both = settling(pages_out, pages_in).max(settling(pages_in, pages_out));
        both.max(Worklist::bytes_for(pages_out))
    }

    /// Finds the levels; returns whether that took at most so many visits of pages. If not, it is
    /// given up.
    pub fn find_levels(&self, source: VertexId, sets: &Sets<'_>, visits_max: u64) -> Result<bool> {
        self.lanes.start(&[source]);
        let mut search = Asynchronous::new(self.engine, self.lanes.levels(), sets.due)?;
        search.activate(source, 0);
        search.run(|| if search.visits() > visits_max { 0 } else { UNREACHED })?;
        let is_found = search.visits() <= visits_max;
        if !is_found {
            search.clear();
        }
        Ok(is_found)
    }

    /// Adds the dependencies of all vertices on the source whose levels were found to the sums.
    pub fn run(&self, sets: &mut Sets<'_>) -> Result<()> {
        fill(self.words, 0);
        Settling::new(self.engine, &CountPaths(self), sets)?.run("paths")?;
        Settling::new(self.engine, &SumDependencies(self), sets)?.run("dependencies")
    }

    fn level(&self, v: VertexId) -> u32 {
        self.lanes.level(v as usize)
    }
}

/// What becomes known of a vertex once it is known of its neighbours on a level beside its own.
trait Settle: Sync {
    /// The direction of the lists with these neighbours.
    const LISTS: Direction;

    fn search(&self) -> &Search<'_>;

    /// Whether nothing about `v` is to be found out any more.
    fn is_settled(&self, v: VertexId) -> bool;

    /// Whether `v` needs no other vertex.
    fn is_first(&self, v: VertexId) -> bool;

    /// Vertices of one page are tried in this order.
    fn turn(&self, v: VertexId) -> u32;

    /// Settles `v` with this list, if that is possible yet.
    fn settle(&self, v: VertexId, targets: &[VertexId]) -> bool;

    /// Whether `other`, which is in the list of `v` of the other direction, needs `v`.
    fn is_needed_by(&self, v: VertexId, other: VertexId) -> bool;

    /// Called where a vertex needs `v`, which is settled.
    fn note_needed(&self, _v: VertexId) {}
}

/// A vertex sums the path counts of its neighbours on the level before, in the order of their ids.
/// The count of a vertex with a neighbour on the next level becomes negative.
struct CountPaths<'a>(&'a Search<'a>);

impl Settle for CountPaths<'_> {
    const LISTS: Direction = Direction::In;

    fn search(&self) -> &Search<'_> {
        self.0
    }

    fn is_settled(&self, v: VertexId) -> bool {
        self.0.words[v as usize].load(Ordering::Relaxed) != 0 || self.0.level(v) == UNREACHED
    }

    fn is_first(&self, v: VertexId) -> bool {
        self.0.level(v) == 0
    }

    fn turn(&self, v: VertexId) -> u32 {
        self.0.level(v)
    }

    fn settle(&self, v: VertexId, targets: &[VertexId]) -> bool {
        let lanes = self.0.lanes;
        let (mut paths, mut exponent, mut is_known) = (0.0, 0, true);
        match self.0.level(v).checked_sub(1) {
            None => paths = 1.0,
            Some(before) => each_target(lanes, targets, |target| {
                if self.0.level(target) != before {
                    return;
                }
                let word = self.0.words[target as usize].load(Ordering::Acquire);
                is_known &= word != 0;
                let (more, of_more) = (lanes.value(target as usize).abs(), word.saturating_sub(1));
                let common = exponent.max(of_more);
                paths = scaled(paths, common - exponent) + scaled(more, common - of_more);
                exponent = common;
            }),
        }
        if is_known {
            if paths > LARGE {
                (paths, exponent) = (scaled(paths, 1), exponent + 1);
            }
            lanes.set_value(v as usize, paths);
            self.0.words[v as usize].store(exponent + 1, Ordering::Release);
        }
        is_known
    }

    fn is_needed_by(&self, v: VertexId, other: VertexId) -> bool {
        self.0.level(other) == self.0.level(v) + 1
    }

    fn note_needed(&self, v: VertexId) {
        self.0.lanes.negate(v as usize);
    }
}

/// A vertex sums the contributions of its neighbours on the next level, in the order of their ids.
/// If it has any, it then has -(1 + dependency) / paths in place of its path count.
struct SumDependencies<'a>(&'a Search<'a>);

impl SumDependencies<'_> {
    fn has_next(&self, v: VertexId) -> bool {
        self.0.lanes.value(v as usize) < 0.0
    }
}

impl Settle for SumDependencies<'_> {
    const LISTS: Direction = Direction::Out;

    fn search(&self) -> &Search<'_> {
        self.0
    }

    fn is_settled(&self, v: VertexId) -> bool {
        let is_summed = self.0.words[v as usize].load(Ordering::Relaxed) & IS_SUMMED != 0;
        is_summed || !self.has_next(v) || matches!(self.0.level(v), 0 | UNREACHED)
    }

    fn is_first(&self, v: VertexId) -> bool {
        !self.has_next(v) && !matches!(self.0.level(v), 0 | UNREACHED)
    }

    fn turn(&self, v: VertexId) -> u32 {
        u32::MAX - self.0.level(v)
    }

    fn settle(&self, v: VertexId, targets: &[VertexId]) -> bool {
        if !self.has_next(v) {
            return true;
        }
        let (lanes, next) = (self.0.lanes, self.0.level(v) + 1);
        let own = self.0.words[v as usize].load(Ordering::Relaxed);
        let (mut given, mut is_known) = (0.0, true);
        each_target(lanes, targets, |target| {
            if self.0.level(target) != next {
                return;
            }
            let word = self.0.words[target as usize].load(Ordering::Acquire);
            let value = lanes.value(target as usize);
            is_known &= value > 0.0 || word & IS_SUMMED != 0;
            // Exponents do not fall on the way from the source.
            let times = (word & !IS_SUMMED).saturating_sub(own);
            given += scaled(if value > 0.0 { 1.0 / value } else { -value }, times);
        });
        if is_known {
            let paths = -lanes.value(v as usize);
            let dependency = paths * given;
            self.0.sums.add(v, dependency);
            lanes.set_value(v as usize, -((1.0 + dependency) / paths));
            self.0.words[v as usize].store(own | IS_SUMMED, Ordering::Release);
        }
        is_known
    }

    fn is_needed_by(&self, v: VertexId, other: VertexId) -> bool {
        let level = self.0.level(other);
        level != 0 && level == self.0.level(v) - 1
    }
}

/// `value` divided by [`LARGE`] so many times. What becomes 0 here is added to numbers that are
/// too large to be changed by it.
#[inline(always)]
fn scaled(value: f64, times: u32) -> f64 {
    match times {
        0 => value,
        1 => value * power_of_two(-512),
        2 => value * power_of_two(-512) * power_of_two(-512),
        _ => 0.0,
    }
}

/// Settles all vertices.
struct Settling<'a, S> {
    engine: &'a Engine,
    settle: &'a S,
    /// The direction of `lists`.
    direction: Direction,
    lists: &'a Adjacency,
    /// Vertices to try: one that they need was settled since they were last tried.
    due: &'a Bitmap,
    /// The pages on which whole lists of such vertices lie.
    pages: Bitmap,
    /// For each of them at most the first turn of these vertices, where a round visits only the
    /// pages whose turn it is.
    turns: Option<HugeVec<AtomicU32>>,
    /// The pages on which lists of such vertices start that run on.
    pages_of_long: Bitmap,
    /// On a directed graph, settled vertices of which those that need them do not know yet.
    unreported: Option<Worklist<'a>>,
    frontier: &'a mut Frontier,
}

impl<'a, S: Settle> Settling<'a, S> {
    fn new(engine: &'a Engine, settle: &'a S, sets: &'a mut Sets<'_>) -> Result<Self> {
        let graph = engine.graph();
        let direction = if graph.is_directed() { S::LISTS } else { Direction::Out };
        let adjacency = |direction| graph.adjacency(direction).expect("demanded at the start");
        let lists = adjacency(direction);
        let unreported = match sets.unreported {
            Some(set) => Some(Worklist::new(adjacency(direction.reversed()), set)?),
            None => None,
        };
        let set_of_pages = || Bitmap::new(lists.pages() as usize);
        let (pages, pages_of_long) = (set_of_pages()?, set_of_pages()?);
        let turns = match is_clustered(graph) {
            true => Some(HugeVec::<AtomicU32>::zeroed(lists.pages() as usize)?),
            false => None,
        };
        turns.iter().for_each(|turns| fill(turns, u32::MAX));
        let (due, frontier) = (sets.due, &mut *sets.frontier);
        Ok(Self {
            engine,
            settle,
            direction,
            lists,
            due,
            pages,
            turns,
            pages_of_long,
            unreported,
            frontier,
        })
    }

    fn run(mut self, what: &str) -> Result<()> {
        let vertices = self.settle.search().words.len();
        parallel::for_each_block(vertices, |range| {
            let mut at = PageOf::default();
            let range = range.start as VertexId..range.end as VertexId;
            range.filter(|&v| self.settle.is_first(v)).for_each(|v| self.try_later(v, &mut at));
        });
        for round in 1.. {
            let pages = self.next_pages();
            if pages.is_empty() && self.pages_of_long.count() == 0 {
                break;
            }
            let label = format!("{what}, round {round}");
            let pages = NamedPages::of_step(&pages);
            self.engine.visit_pages(label, self.direction, pages, &self)?;
            self.try_long(&format!("{what}, long lists, round {round}"))?;
            if let Some(unreported) = &self.unreported {
                let label = format!("{what}, reported in round {round}");
                follow(self.engine, &label, self.direction.reversed(), unreported, &Report(&self))?;
            }
        }
        let is_settled = |v| self.settle.is_settled(v as VertexId);
        if parallel::count(vertices, is_settled) == vertices {
            return Ok(());
        }
        Err(AlgoError::Contradiction {
            file: self.engine.graph().file().to_string(),
            fault: "lists of targets and of sources differ".to_owned(),
        })
    }

    /// The pages of the next round. In the order of clusters those whose first turns are near the
    /// least, so that the round after it finds most of its pages in memory; else all.
    fn next_pages(&self) -> Vec<PageTask> {
        let Some(turns) = &self.turns else {
            return round_of(self.pages.count() as usize, self.pages.iter().map(u64::from));
        };
        let turn = |page: VertexId| turns[page as usize].load(Ordering::Relaxed);
        let first = self.pages.iter().map(turn).min().unwrap_or(u32::MAX);
        let last = first.saturating_add(APART_CLUSTERED as u32);
        let pages = || self.pages.iter().filter(|&page| turn(page) <= last);
        round_of(pages().count(), pages().map(u64::from))
    }

    /// Tries the due vertices whose lists run on behind a page.
    fn try_long(&mut self, label: &str) -> Result<()> {
        if self.pages_of_long.count() == 0 {
            return Ok(());
        }
        let long = self.pages_of_long.iter().filter_map(|page| self.lists.runs_on(page.into()));
        self.frontier.set(long);
        self.pages_of_long.clear();
        self.frontier.bits().iter().for_each(|v| self.due.remove(v));
        let active = ActiveSet::In(self.frontier);
        self.engine.visit_whole(label, self.direction, active, &Long(self))?;
        self.frontier.clear();
        Ok(())
    }

    /// Settles the vertex of a list, if possible.
    fn try_now(&self, list: &List<'_>, local: &mut Local) {
        let (v, search) = (list.vertex, self.settle.search());
        // It is due again if it saw that one that it needs was settled before it was reported.
        if self.settle.is_settled(v) && !self.settle.is_first(v) {
            return;
        }
        let targets = search.ranks.sorted(list.targets, &mut local.sorted);
        if !self.settle.settle(v, targets) {
            return;
        }
        if let Some(unreported) = &self.unreported {
            return unreported.activate(v, 0);
        }
        let mut is_needed = false;
        for &other in targets.iter().filter(|&&other| self.settle.is_needed_by(v, other)) {
            is_needed = true;
            match local.whole.contains(&other) {
                true => local.found.push_back(other),
                false => self.try_later(other, &mut local.at),
            }
        }
        if is_needed {
            self.settle.note_needed(v);
        }
    }

    /// Makes `v` due.
    fn try_later(&self, v: VertexId, at: &mut PageOf) {
        // Who takes it sees what was settled before.
        fence(Ordering::Release);
        if !self.due.insert(v) {
            return;
        }
        let page = at.find(self.lists, v);
        let runs_on = self.lists.runs_on(page) == Some(v);
        if let Some(turns) = self.turns.as_ref().filter(|_| !runs_on) {
            turns[page as usize].fetch_min(self.settle.turn(v), Ordering::Relaxed);
        }
        let pages = if runs_on { &self.pages_of_long } else { &self.pages };
        // Who visits the page sees that it is due.
        fence(Ordering::Release);
        pages.insert(page as VertexId);
    }
}

/// What a worker keeps in a round.
#[derive(Default)]
struct Local {
    /// The vertices whose lists lie as a whole in the page that is visited.
    whole: Range<VertexId>,
    /// Vertices that were due before the visit, with their turns, in ascending order.
    before: VecDeque<(u32, VertexId)>,
    /// Those that became due in the visit, by ascending turn as the vertices that they needed.
    found: VecDeque<VertexId>,
    /// Buffer for a sorted list.
    sorted: Vec<VertexId>,
    at: PageOf,
}

impl<S: Settle> Kernel for Settling<'_, S> {
    type Local = Local;

    fn local(&self) -> Local {
        Local::default()
    }

    fn page(&self, local: &mut Local, page: &Page<'_>, purpose: &Purpose<'_>) {
        let number = purpose.task.page;
        local.whole = self.lists.whole_in(number);
        self.pages.remove(number as VertexId);
        // A turn that is noted before this is of a vertex that is taken now.
        if let Some(turns) = &self.turns {
            turns[number as usize].store(u32::MAX, Ordering::Relaxed);
        }
        fence(Ordering::Acquire);
        let before = &mut local.before;
        let turn = |v| (self.settle.turn(v), v);
        self.due.take_in(local.whole.clone(), |v| before.push_back(turn(v)));
        fence(Ordering::Acquire);
        if self.unreported.is_some() {
            // These lists do not say which vertices of the page need one that is settled now.
            before.retain(|&(_, v)| self.settle.is_settled(v));
            let unsettled = local.whole.clone().filter(|&v| !self.settle.is_settled(v));
            before.extend(unsettled.map(turn));
        }
        before.make_contiguous().sort_unstable();
        while let Some(v) = local.next(|v| self.settle.turn(v)) {
            let list = page.list_of(v).expect("its list lies in this page");
            self.try_now(&list, local);
        }
    }
}

impl Local {
    /// The next vertex to try, by their turns.
    fn next(&mut self, turn: impl Fn(VertexId) -> u32) -> Option<VertexId> {
        match (self.before.front(), self.found.front()) {
            (Some(before), Some(&found)) if turn(found) < before.0 => self.found.pop_front(),
            (None, _) => self.found.pop_front(),
            _ => self.before.pop_front().map(|(_, v)| v),
        }
    }
}

/// Tries vertices whose lists span pages.
struct Long<'a, 's, S>(&'a Settling<'s, S>);

impl<S: Settle> Kernel for Long<'_, '_, S> {
    type Local = Local;

    fn local(&self) -> Local {
        Local::default()
    }

    fn list(&self, local: &mut Local, list: &List<'_>) {
        self.0.try_now(list, local);
    }
}

/// On a directed graph: makes due the vertices that need one that was settled. These are in its
/// lists of the other direction.
struct Report<'a, 's, S>(&'a Settling<'s, S>);

impl<S: Settle> Follow for Report<'_, '_, S> {
    fn edge(&self, v: VertexId, other: VertexId) -> Option<VertexId> {
        if self.0.settle.is_needed_by(v, other) {
            self.0.settle.note_needed(v);
            self.0.try_later(other, &mut PageOf::default());
        }
        None
    }
}
