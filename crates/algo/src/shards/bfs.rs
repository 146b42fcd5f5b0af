//! Breadth-first search on a shard: levels, and with parents the in-neighbour on the level before
//! with the smallest number.
//!
//! In superstep t the own vertices of level t are known. They are expanded in one of two ways, the
//! same on all shards:
//!
//! - *top-down*: they mark their neighbours; those in the boundary are sent to the owners, once,
//!   when the shard first reaches them: a later candidate would be of a higher level.
//! - *bottom-up*: they are sent to the shards that have them in their boundary, and in the next
//!   superstep each unvisited own vertex looks for an in-neighbour of level t. Lists ascend, so the
//!   first one has the smallest number. It needs in-lists. Hub neighbours, where the shard has them
//!   and parents are not asked for, find most, and only the lists of the others are read.
//!
//! **Source.** Beamer, Buluç, Asanović and Patterson, "Distributed memory breadth-first search
//! revisited: enabling bottom-up search", IPDPSW 2013.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, EngineConfig, Frontier, FrontierPart, HubNeighbours,
    HugeVec, Kernel, List, VertexId,
};

use super::Part;
use super::degrees::{out_degrees, total};
use super::exchange::{
    Message, filled, from_mirrors, from_owners, members_to_mirrors, members_to_owners, sent,
};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values, plain_u32};
use crate::bfs::UNREACHED;
use crate::report::Result;

const NO_NUMBER: u32 = u32::MAX;

/// Hub neighbours are read if the vertices that are not reached have this many times their pages.
const HUB_NEIGHBOURS_TIMES: u64 = 2;

/// Memory: 4 bytes a vertex of the file for levels, 4 for parents, 4 an own vertex for degrees; two
/// frontiers and two sets, a third with hub neighbours; 10 for each exchanged value, 16 with
/// parents.
pub(super) fn bytes_for(part: &Part, config: &EngineConfig, parents: bool) -> u64 {
    let places = part.places();
    let arrays = if parents { 8 } else { 4 } * places as u64 + 4 * part.own_count() as u64;
    let bitmaps = 2 + u64::from(asks_hub_neighbours(part, parents));
    let sets =
        2 * Frontier::bytes_for(places, config.threads) + bitmaps * Bitmap::bytes_for(places);
    arrays + sets + if parents { 16 } else { 10 } * part.exchanged()
}

/// Hub neighbours do not tell which in-neighbour has the smallest number.
fn asks_hub_neighbours(part: &Part, parents: bool) -> bool {
    part.has_hub_neighbours() && !parents
}

pub(super) struct Bfs {
    /// Of own vertices their levels; of boundary vertices some level once the shard knows that they
    /// are reached.
    levels: HugeVec<AtomicU32>,
    /// The number of the parent of each vertex.
    parents: Option<HugeVec<AtomicU32>>,
    /// Out-degrees of own vertices.
    degrees: HugeVec<AtomicU32>,
    /// The own vertices of the level.
    frontier: Frontier,
    /// Those found of the level behind, with the workers' parts.
    next: Frontier,
    found: Vec<FrontierPart>,
    /// Own vertices that are reached, and all boundary vertices.
    visited: Bitmap,
    /// In a bottom-up step the vertices of the level, with those of the boundary; in a top-down
    /// step the boundary vertices that the shard first reaches.
    marked: Bitmap,
    /// Vertices whose lists no bottom-up step needs after one over hub neighbours, which may be all
    /// that they have; `None` if hub neighbours are not used.
    settled: Option<Bitmap>,
    /// Degrees of own vertices that are not reached.
    unvisited_edges: u64,
    /// Whether frontiers have to be found from the levels.
    is_stale: bool,
}

impl Bfs {
    /// A search; `degrees` are those of the run before, if it had them.
    pub fn new(
        part: &Part,
        sources: &[u64],
        parents: bool,
        degrees: Option<HugeVec<AtomicU32>>,
    ) -> Result<Self> {
        let places = part.places();
        let none = |cell: &AtomicU32| cell.store(UNREACHED, Ordering::Relaxed);
        let degrees = degrees.map_or_else(|| out_degrees(part), Ok)?;
        let unvisited_edges = total(&degrees);
        let bfs = Self {
            levels: filled(places, none)?,
            parents: if parents { Some(filled(places, none)?) } else { None },
            degrees,
            frontier: Frontier::new(places)?,
            next: Frontier::new(places)?,
            found: Vec::new(),
            visited: Bitmap::new(places)?,
            marked: Bitmap::new(places)?,
            settled: match asks_hub_neighbours(part, parents) {
                true => Some(Bitmap::new(places)?),
                false => None,
            },
            unvisited_edges,
            is_stale: false,
        };
        let mut found = FrontierPart::default();
        for v in part.own_of(sources) {
            bfs.levels[v as usize].store(0, Ordering::Relaxed);
            bfs.propose(v, part.numbers[v as usize] as u32);
            bfs.next.add(v, &mut found);
        }
        part.insert_boundary(&bfs.visited);
        Ok(Self { found: vec![found], ..bfs })
    }

    #[inline(always)]
    fn level(&self, v: VertexId) -> u32 {
        self.levels[v as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn propose(&self, v: VertexId, number: u32) {
        if let Some(parents) = &self.parents {
            let parent = &parents[v as usize];
            if number < parent.load(Ordering::Relaxed) {
                parent.fetch_min(number, Ordering::Relaxed);
            }
        }
    }

    fn degree(&self, part: &Part, v: VertexId) -> u64 {
        self.degrees[(v - part.own().start) as usize].load(Ordering::Relaxed).into()
    }

    /// Finds frontiers from the levels, after a checkpoint.
    fn rebuild(&mut self, part: &Part, level: u32) {
        self.next.seal(self.found.drain(..));
        self.next.clear();
        let (mut before, mut found) = (FrontierPart::default(), FrontierPart::default());
        for v in part.own() {
            match self.level(v) {
                UNREACHED => continue,
                of if of == level => drop(self.next.add(v, &mut found)),
                of => {
                    if of + 1 == level {
                        self.frontier.add(v, &mut before);
                    }
                    self.visited.insert(v);
                    self.unvisited_edges -= self.degree(part, v);
                }
            }
        }
        self.frontier.seal([before]);
        self.found = vec![found];
        self.is_stale = false;
    }

    /// After a top-down step: vertices that other shards have reached join those found here.
    fn take_candidates(&mut self, part: &Part, input: &Input<'_>) {
        let level = input.superstep as u32;
        let (this, mut found) = (&*self, FrontierPart::default());
        let mut reach = |v: VertexId| {
            if this.level(v) == UNREACHED {
                this.levels[v as usize].store(level, Ordering::Relaxed);
                this.next.add(v, &mut found);
            }
            this.level(v) == level
        };
        if this.parents.is_some() {
            from_mirrors(part, input.inbox, |v, number: u32| {
                if number != NO_NUMBER && reach(v) {
                    this.propose(v, number);
                }
            });
        } else {
            from_mirrors(part, input.inbox, |v, is_reached: u8| {
                if is_reached != 0 {
                    reach(v);
                }
            });
        }
        self.found.push(found);
    }

    /// The second half of a bottom-up step: finds the vertices of the level behind the frontier.
    fn look_up(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<()> {
        self.marked.clear();
        from_owners(part, input.inbox, |v, is_of_level: u8| {
            if is_of_level != 0 {
                self.marked.insert(v);
                if self.level(v) == UNREACHED {
                    self.levels[v as usize].store(0, Ordering::Relaxed);
                }
            }
        });
        self.marked.merge(self.frontier.bits());
        let direction = part.inward().expect("it was checked before the step");
        let level = input.superstep as u32;
        let mut settled = self.settled.take();
        let (bfs, mut found, mut rest) = (&*self, Vec::new(), &self.visited);
        if let Some(settled) = &mut settled
            && bfs.hub_neighbours_are_worth_it(engine, part)
        {
            settled.merge(&bfs.visited);
            let kernel = BottomUpHubNeighbours { bfs, settled, level };
            found = engine.visit_hub_neighbours_of_part("hub neighbours", part.own(), &kernel)?;
            rest = settled;
        }
        let kernel = BottomUp { bfs, numbers: &part.numbers, level };
        found.extend(engine.visit("bottom-up", direction, ActiveSet::NotIn(rest), &kernel)?);
        (self.found, self.settled) = (found, settled);
        Ok(())
    }

    fn hub_neighbours_are_worth_it(&self, engine: &Engine, part: &Part) -> bool {
        let (section, direction) = (part.graph.hub_neighbours_of_part(), part.inward());
        section.zip(direction).is_some_and(|(section, direction)| {
            let pages = section.pages_of(part.own());
            let unvisited = engine.active_pages(direction, &ActiveSet::NotIn(&self.visited));
            unvisited >= HUB_NEIGHBOURS_TIMES * (pages.end - pages.start)
        })
    }

    /// Takes the next frontier. Returns the degrees of its vertices.
    fn advance(&mut self, part: &Part) -> u64 {
        self.frontier.advance(&mut self.next, self.found.drain(..));
        let mut edges = 0;
        for v in self.frontier.bits().iter() {
            self.visited.insert(v);
            edges += self.degree(part, v);
        }
        self.unvisited_edges -= edges;
        edges
    }

    fn top_down(
        &mut self,
        engine: &Engine,
        part: &Part,
        level: u32,
    ) -> Result<Vec<Option<Message>>> {
        self.marked.clear();
        let kernel = TopDown { bfs: self, numbers: &part.numbers, own: part.own(), level };
        if !self.frontier.is_empty() {
            let active = ActiveSet::In(&self.frontier);
            self.found = engine.visit("top-down", Direction::Out, active, &kernel)?;
        }
        Ok(match &self.parents {
            None => members_to_owners(part, &self.marked, 0_u8, |_| 1),
            Some(parents) => members_to_owners(part, &self.marked, NO_NUMBER, |v| {
                parents[v as usize].load(Ordering::Relaxed)
            }),
        })
    }
}

impl Program for Bfs {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        let (was_bottom_up, is_bottom_up) = (input.is_set(0), input.is_set(1));
        let level = input.superstep as u32;
        if std::mem::take(&mut self.is_stale) {
            self.rebuild(part, level);
        }
        if was_bottom_up {
            self.look_up(engine, part, input)?;
        } else {
            self.take_candidates(part, input);
        }
        let edges = self.advance(part);
        let messages = if is_bottom_up {
            members_to_mirrors(part, self.frontier.bits(), 0_u8, |_| 1)
        } else {
            self.top_down(engine, part, level + 1)?
        };
        let next = self.next.bits().iter();
        let (found, found_edges) =
            next.fold((0, 0), |(count, sum), v| (count + 1, sum + self.degree(part, v)));
        let report = vec![
            ("reached", self.frontier.count()),
            ("edges", edges),
            ("unvisited_edges", self.unvisited_edges),
            ("found", found),
            ("found_edges", found_edges),
            ("sent", sent(&messages)),
        ];
        Ok(Step { messages, report })
    }

    fn restored(&mut self, _: &Part) -> Result<()> {
        self.is_stale = true;
        Ok(())
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        let parents = self.parents.iter().map(|parents| ("parents", Cells::U32(parents)));
        [("levels", Cells::U32(&self.levels))].into_iter().chain(parents).collect()
    }

    fn into_degrees(self: Box<Self>) -> Option<HugeVec<AtomicU32>> {
        Some(self.degrees)
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        let own = part.own().start as usize..part.own().end as usize;
        let mut columns = vec![("level", Values::U32(plain_u32(&self.levels[own])))];
        if let Some(parents) = &self.parents {
            let numbers = part.of_own(|v| match parents[v as usize].load(Ordering::Relaxed) {
                NO_NUMBER => u64::MAX,
                number => number.into(),
            });
            columns.push(("parent", Values::U64(numbers)));
        }
        columns
    }
}

/// Each vertex of the frontier marks its neighbours that are not reached.
struct TopDown<'a> {
    bfs: &'a Bfs,
    numbers: &'a [u64],
    own: Range<VertexId>,
    level: u32,
}

impl Kernel for TopDown<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        let number = self.numbers[list.vertex as usize] as u32;
        for &target in list.targets {
            let mut level = self.bfs.level(target);
            if level == UNREACHED {
                // All threads store the same.
                self.bfs.levels[target as usize].store(self.level, Ordering::Relaxed);
                level = self.level;
                if self.own.contains(&target) {
                    self.bfs.next.add(target, part);
                } else {
                    self.bfs.marked.insert(target);
                }
            }
            if level == self.level {
                self.bfs.propose(target, number);
            }
        }
    }
}

/// The same with the hub neighbours of vertices.
struct BottomUpHubNeighbours<'a> {
    bfs: &'a Bfs,
    settled: &'a Bitmap,
    level: u32,
}

impl Kernel for BottomUpHubNeighbours<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn hub_neighbours(&self, part: &mut FrontierPart, first: VertexId, hubs: &[HubNeighbours]) {
        for (v, hubs) in (first..).zip(hubs) {
            // All vertices of the boundary count as visited.
            if self.bfs.visited.contains(v) {
                continue;
            }
            let is_found = hubs.neighbours().iter().any(|&hub| self.bfs.marked.contains(hub));
            if is_found {
                self.bfs.levels[v as usize].store(self.level, Ordering::Relaxed);
                self.bfs.next.add(v, part);
            }
            if is_found || hubs.is_whole() {
                self.settled.insert(v);
            }
        }
    }
}

/// Each own vertex that is not reached looks for an in-neighbour in the frontier.
struct BottomUp<'a> {
    bfs: &'a Bfs,
    numbers: &'a [u64],
    level: u32,
}

impl Kernel for BottomUp<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        let is_candidate = |target: &&VertexId| self.bfs.marked.contains(**target);
        if let Some(&parent) = list.targets.iter().find(is_candidate) {
            self.bfs.levels[list.vertex as usize].store(self.level, Ordering::Relaxed);
            self.bfs.next.add(list.vertex, part);
            self.bfs.propose(list.vertex, self.numbers[parent as usize] as u32);
        }
    }
}
