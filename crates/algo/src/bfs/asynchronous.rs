//! Asynchronous BFS, without a barrier per level: for searches of many levels whose residual graph
//! does not fit in memory.
//!
//! **Source.** Asynchronous block-priority scheduling as in ACGraph (SIGMOD 2026), on label
//! correction: levels are upper bounds that fall until no edge can lower one, and are then exact.
//!
//! **Trick.** A page is searched until no level changes inside it, so neighbours on one page cost
//! one visit, not one per level. A round visits the pages with the smallest active levels
//! ([`Worklist`]), whose levels are mostly final. Levels are final only at the end, so parents are
//! found last, in one pass over the reached lists. Vertices of [`chains`](super::chains) are
//! followed in memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, Kernel, List, NamedPages, Page, Purpose, VertexId,
};

use super::UNREACHED;
use super::chains::{Chains, Head, is_level};
use crate::kind::is_clustered;
use crate::ranks::Parents;
use crate::report::{Result, pages};
use crate::worklist::{APART_CLUSTERED, LATTICE_PAGES_SHARE, Progress, Slack, Worklist};

/// Vertices of chains between two checks for cancellation.
const CANCEL_VERTICES: u64 = 1 << 16;

/// The levels of an asynchronous search.
pub(crate) trait Levels: Sync {
    /// The level of a vertex that was reached.
    fn level(&self, v: VertexId) -> u32;

    /// Lowers the level of a vertex; the level before, if that was higher.
    fn lower(&self, v: VertexId, to: u32) -> Option<u32>;
}

impl Levels for [AtomicU32] {
    #[inline(always)]
    fn level(&self, v: VertexId) -> u32 {
        self[v as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn lower(&self, v: VertexId, to: u32) -> Option<u32> {
        let cell = &self[v as usize];
        if cell.load(Ordering::Relaxed) <= to {
            return None;
        }
        Some(cell.fetch_min(to, Ordering::Relaxed)).filter(|before| *before > to)
    }
}

/// An asynchronous search.
pub(crate) struct Asynchronous<'a, L: ?Sized = [AtomicU32]> {
    engine: &'a Engine,
    levels: &'a L,
    /// Vertices whose level fell after the first piece of their list was last followed.
    worklist: Worklist<'a>,
    progress: Progress,
    /// Levels above this do not matter any more. It only falls.
    level_max: AtomicU32,
    /// Visits of pages so far.
    visits: AtomicU64,
    chains: Option<Chains>,
}

impl<'a, L: Levels + ?Sized> Asynchronous<'a, L> {
    /// A search without active vertices. `active` is an empty set over the vertices.
    pub fn new(engine: &'a Engine, levels: &'a L, active: &'a Bitmap) -> Result<Self> {
        let adjacency = engine.graph().adjacency(Direction::Out).expect("every graph has lists");
        let worklist = Worklist::new(adjacency, active)?;
        let (progress, level_max) = (Progress::default(), AtomicU32::new(UNREACHED));
        let visits = AtomicU64::new(0);
        Ok(Self { engine, levels, worklist, progress, level_max, visits, chains: None })
    }

    /// Visits of pages so far.
    pub fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }

    /// Marks the list of `v` as active, from `level` on.
    pub fn activate(&self, v: VertexId, level: u32) {
        self.worklist.activate(v, level.into());
    }

    /// Forgets which vertices are active.
    pub fn clear(&mut self) {
        self.worklist.clear();
    }

    /// Searches until no level of at most `level_max()` can fall. `level_max` is called before
    /// every round and must not rise.
    pub fn run(&self, level_max: impl Fn() -> u32) -> Result<()> {
        self.run_rounds(&mut self.rounds(), u64::MAX, &level_max)
    }

    fn rounds(&self) -> Rounds {
        let slack = Slack::new(1);
        let slack = match is_clustered(self.engine.graph()) {
            true => slack.at_most(APART_CLUSTERED),
            false => slack,
        };
        Rounds { slack, count: 0 }
    }

    /// Ends after so many visits of pages too.
    fn run_rounds(
        &self,
        rounds: &mut Rounds,
        visits_max: u64,
        level_max: &impl Fn() -> u32,
    ) -> Result<()> {
        while self.visits() <= visits_max {
            self.level_max.store(level_max(), Ordering::Relaxed);
            let level_max = self.level_max.load(Ordering::Relaxed);
            self.follow_chains(rounds.slack.apart())?;
            let tasks = rounds.slack.next_round(&self.worklist, level_max.into(), &self.progress);
            if tasks.is_empty() {
                break;
            }
            self.visits.fetch_add(tasks.len() as u64, Ordering::Relaxed);
            rounds.count += 1;
            let (label, pages) = (format!("round {}", rounds.count), NamedPages::of_step(&tasks));
            self.engine.visit_pages(label, Direction::Out, pages, self)?;
        }
        Ok(())
    }

    /// Follows chains to levels at most so far apart from the lowest level of a page.
    fn follow_chains(&self, apart: u64) -> Result<()> {
        let Some(chains) = &self.chains else { return Ok(()) };
        let (mut reached, mut checked) = (0, 0);
        chains.follow(self.worklist.first().saturating_add(apart), |mut head, last| {
            if reached - checked > CANCEL_VERTICES {
                self.engine.check_cancel()?;
                checked = reached;
            }
            while u64::from(head.level) <= last {
                let Head { level, from, to } = head;
                let Some(before) = self.lower(to, level) else { return Ok((None, None)) };
                reached += u64::from(!is_level(before));
                match chains.on_from(before, to, from, level) {
                    Some(on) => head = on,
                    None => {
                        self.activate(to, level);
                        return Ok((None, Some(u64::from(level).saturating_add(apart))));
                    }
                }
            }
            Ok((Some(head), None))
        })?;
        self.progress.add(reached, reached);
        Ok(())
    }
}

/// How far apart the levels of a round may lie, and how many rounds there were.
struct Rounds {
    slack: Slack,
    count: u64,
}

/// The vertices that a worker still has to follow on its page, with their levels when found.
#[derive(Default)]
pub(crate) struct Within {
    /// Active before the visit, sorted by descending level.
    before: Vec<(u32, VertexId)>,
    /// Found during the visit, by ascending level.
    found: VecDeque<(u32, VertexId)>,
}

impl<L: Levels + ?Sized> Kernel for Asynchronous<'_, L> {
    type Local = Within;

    fn local(&self) -> Within {
        Within::default()
    }

    fn page(&self, within: &mut Within, page: &Page<'_>, purpose: &Purpose<'_>) {
        let number = purpose.task.page;
        self.take_active(within, page, number);
        let (starting, runs_on) = (self.worklist.starting(number), self.worklist.runs_on(number));
        let (mut followed, mut reached) = (0, 0);
        while let Some((level, v)) = within.next() {
            if self.levels.level(v) < level {
                continue;
            }
            followed += 1;
            let list = page.list_of(v).expect("active vertices were taken from this page");
            for &target in list.targets {
                let Some(before) = self.lower(target, level + 1) else { continue };
                reached += u64::from(!is_level(before));
                let waits = self.chains.as_ref().is_some_and(|chains| {
                    let on = chains.on_from(before, target, v, level + 1);
                    on.is_some_and(|on| chains.push(on))
                });
                if waits {
                    continue;
                }
                if !starting.contains(&target) {
                    self.activate(target, level + 1);
                    continue;
                }
                within.found.push_back((level + 1, target));
                if runs_on == Some(target) {
                    self.worklist.activate_further(target, (level + 1).into());
                }
            }
        }
        self.progress.add(followed, reached);
    }
}

impl<L: Levels + ?Sized> Asynchronous<'_, L> {
    /// Lowers the level of `v` to `level`, if that matters; the level before, if that was higher.
    #[inline(always)]
    fn lower(&self, v: VertexId, level: u32) -> Option<u32> {
        match level > self.level_max.load(Ordering::Relaxed) {
            true => None,
            false => self.levels.lower(v, level),
        }
    }

    /// Takes the active vertices of a page, with their levels.
    fn take_active(&self, within: &mut Within, page: &Page<'_>, number: u64) {
        self.worklist.take(number, page, |v| within.before.push((0, v)));
        for (level, v) in &mut within.before {
            *level = self.levels.level(*v);
        }
        // Descending: the next is popped from the end.
        within.before.sort_unstable_by(|a, b| b.cmp(a));
    }
}

impl Asynchronous<'_> {
    /// As [`Asynchronous::run`], by chains too once a share of the pages was visited.
    pub fn run_with_chains(&mut self, level_max: impl Fn() -> u32) -> Result<()> {
        let visits_max = pages(self.engine.graph(), Direction::Out) / LATTICE_PAGES_SHARE;
        let mut rounds = self.rounds();
        self.run_rounds(&mut rounds, visits_max, &level_max)?;
        if self.visits() > visits_max {
            self.chains = Chains::load(self.engine, self.levels)?;
            self.run_rounds(&mut rounds, u64::MAX, &level_max)?;
            if self.chains.is_some() {
                Chains::unlink(self.levels);
            }
        }
        Ok(())
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
