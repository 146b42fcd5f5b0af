//! Loads lists from pages as oriented lists: into memory, or past those that are there.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{
    ActiveSet, Direction, Engine, Frontier, Graph, HugeVec, Kernel, List, VertexId,
    prefetch_of_many,
};

use super::count::{View, Worker, Workers};
use super::hubs::Hubs;
use super::lists::{Arena, ListWriter, NOWHERE, OneList, Shape, Supply, Written};
use super::order::{Order, out_lists};
use super::parts::Parts;
use super::sift::{Notes, Sift, Sifted};
use crate::report::{AlgoError, Result};

/// Loads oriented lists. On a directed graph a list is merged from targets, which are loaded first,
/// a segment of the vertices at a time, and sources.
pub(crate) struct Loader<'e> {
    engine: &'e Engine,
    order: &'e Order,
    shape: Shape,
    segment: Frontier,
    targets: Option<Targets>,
    /// Neighbours of each vertex, by rank.
    pub degrees: HugeVec<AtomicU32>,
    /// Whether it is the first sweep, which loads every list once: it notes degrees, and `parts`.
    pub is_first: bool,
    /// `None` if there is no other sweep.
    parts: Option<Parts<'e>>,
}

/// What lists pass, in [`Loader::pass`].
pub(super) struct Passed<'a, 'h> {
    /// The pages of the lists in memory.
    pub pages: Range<u64>,
    pub view: &'a View<'a>,
    pub workers: &'a Workers,
    /// In the first sweep: gets the rows of hubs.
    pub rows: Option<Mutex<&'h mut Hubs>>,
}

/// The targets of lower rank of the vertices of a segment, and their places.
struct Targets {
    arena: Arena,
    /// Words that certainly fit.
    room: u64,
    places: HugeVec<AtomicU32>,
}

/// The vertices of a visit.
struct Chosen {
    /// `None` if they are those of the segment.
    within: Option<Range<VertexId>>,
    vertices: u64,
}

impl Chosen {
    fn active<'s>(&self, segment: &'s Frontier) -> ActiveSet<'s> {
        match &self.within {
            Some(within) => ActiveSet::Within { from: within.start, to: within.end },
            None => ActiveSet::In(segment),
        }
    }
}

impl<'e> Loader<'e> {
    /// Bytes without the arena for targets, and without `parts`.
    pub fn bytes_for(graph: &Graph, order: &Order, workers: usize) -> u64 {
        let n = graph.vertices();
        let places = if graph.is_directed() { 4 * n as u64 } else { 0 };
        let at_hand = workers as u64 * 4 * 4 * order.list_words_max;
        Frontier::bytes_for(n, 1) + 4 * n as u64 + places + at_hand
    }

    /// `targets_bytes`: memory for targets of lower rank.
    pub fn new(
        engine: &'e Engine,
        order: &'e Order,
        shape: Shape,
        targets_bytes: u64,
        parts: Option<Parts<'e>>,
    ) -> Result<Self> {
        let n = engine.graph().vertices();
        let targets = if engine.graph().is_directed() {
            let arena = Arena::new(Shape { doubles: false, ..shape }, targets_bytes)?;
            let room = arena.room(engine.config().threads);
            Some(Targets { arena, room, places: HugeVec::zeroed(n)? })
        } else {
            None
        };
        let (segment, degrees) = (Frontier::new(n)?, HugeVec::zeroed(n)?);
        Ok(Self { engine, order, shape, segment, targets, degrees, is_first: true, parts })
    }

    /// Loads the lists that start in `pages` into `arena`, as many as fit, and stores their
    /// `places` by rank. Returns the page to continue with.
    pub fn fill(
        &mut self,
        label: &str,
        pages: Range<u64>,
        arena: &mut Arena,
        places: &[AtomicU32],
    ) -> Result<u64> {
        let mut from = pages.start;
        // In the first sweep lists take less memory than is set aside for them.
        while from < pages.end {
            let room = arena.room(self.engine.config().threads);
            let to = self.reach(from..pages.end, room, |_| true);
            if to == from {
                break;
            }
            let lists = out_lists(self.engine.graph());
            let within = lists.starts_from(from)..lists.starts_from(to);
            from = to;
            if within.is_empty() {
                // Pages of one long list, which starts before.
                continue;
            }
            let chosen = Chosen { vertices: within.len() as u64, within: Some(within) };
            self.load_targets(label, &chosen)?;
            let (sift, supply) = (self.sift(), arena.supply());
            let kernel = Keep { sift: &sift, targets: self.targets.as_ref(), supply, places };
            let active = chosen.active(&self.segment);
            let locals = self.engine.visit_whole(label, self.direction(), active, &kernel)?;
            let (seen, written) = finish(locals);
            self.check(arena.settle(written), seen == chosen.vertices)?;
        }
        Ok(from)
    }

    /// Counts the triangles of lists in memory with all others that may have edges into these.
    pub fn pass(&mut self, label: &str, passed: &Passed<'_, '_>) -> Result<()> {
        let lists = out_lists(self.engine.graph());
        let vertices = lists.starts_from(passed.pages.start)..lists.starts_from(passed.pages.end);
        let passes = |parts: Option<&Parts<'_>>, page: u64| {
            !passed.pages.contains(&page)
                && parts.is_none_or(|parts| parts.meet(page, &vertices, passed.view.rows.is_some()))
        };
        let (mut from, pages) = (0, lists.pages());
        while from < pages {
            let known = known(&self.parts, self.is_first);
            let to = self.reach(from..pages, u64::MAX, |page| passes(known, page));
            assert!(to > from, "an arena holds the lists of any page");
            let chosen = (from..to).filter(|&page| passes(known, page));
            self.segment.set(chosen.flat_map(|page| lists.starting_in(page)));
            from = to;
            let chosen = Chosen { within: None, vertices: self.segment.count() };
            if chosen.vertices == 0 {
                continue;
            }
            self.load_targets(label, &chosen)?;
            let (sift, targets) = (self.sift(), self.targets.as_ref());
            let is_plain = targets.is_none() && sift.notes.is_none() && !sift.repeats;
            let kernel = Pass { sift: &sift, targets, passed, is_plain };
            let active = chosen.active(&self.segment);
            let locals = self.engine.visit_whole(label, self.direction(), active, &kernel)?;
            let mut seen = 0;
            for local in locals {
                seen += local.lists;
                passed.workers.give_back(local.worker);
            }
            self.check(true, seen == chosen.vertices)?;
        }
        Ok(())
    }

    /// Of directed graphs targets come first.
    fn direction(&self) -> Direction {
        if self.targets.is_some() { Direction::In } else { Direction::Out }
    }

    /// The end of the largest prefix of `pages` whose lists certainly fit in `room` words, and
    /// their targets where these are loaded first; pages that do not pass `only` need none.
    fn reach(&self, mut pages: Range<u64>, mut room: u64, only: impl Fn(u64) -> bool) -> u64 {
        let (end, known) = (pages.end, known(&self.parts, self.is_first));
        let mut of_targets = self.targets.as_ref().map_or(u64::MAX, |targets| targets.room);
        let first_over = pages.find(|&page| {
            if !only(page) {
                return false;
            }
            let most = self.order.words_in(page);
            let words = known.map_or(most, |parts| parts.words_in(page));
            let targets = known.map_or(most, |parts| parts.target_words_in(page));
            let is_over = words > room || targets > of_targets;
            if !is_over {
                (room, of_targets) = (room - words, of_targets - targets);
            }
            is_over
        });
        first_over.unwrap_or(end)
    }

    fn sift(&self) -> Sift<'_> {
        let superblock = self.engine.graph().superblock();
        let Shape { doubles, unit, .. } = self.shape;
        let (degrees, parts) = (&*self.degrees, self.parts.as_ref());
        Sift {
            ranks: &self.order.ranks,
            kept: self.order.kept,
            repeats: superblock.duplicates_kept || superblock.self_loops_kept,
            notes: self.is_first.then_some(Notes { degrees, parts, doubles, unit }),
        }
    }

    /// Loads the targets of these vertices of a directed graph.
    fn load_targets(&mut self, label: &str, chosen: &Chosen) -> Result<()> {
        let Some(mut targets) = self.targets.take() else { return Ok(()) };
        targets.arena.clear();
        let (sift, supply) = (self.sift(), targets.arena.supply());
        let kernel = KeepTargets { sift: &sift, supply, places: &targets.places };
        let active = chosen.active(&self.segment);
        let label = format!("{label}, targets");
        let locals = self.engine.visit_whole(label, Direction::Out, active, &kernel)?;
        let (seen, written) = finish(locals);
        let fits = targets.arena.settle(written);
        self.targets = Some(targets);
        self.check(fits, seen == chosen.vertices)
    }

    /// Ends a visit; an error if something did not fit or a list is missing.
    fn check(&self, fits: bool, is_complete: bool) -> Result<()> {
        let fault = match (fits, is_complete) {
            (false, _) => "lists are longer than the degrees say",
            (_, false) => "a list is missing",
            _ => return Ok(()),
        };
        let file = self.engine.graph().file().to_string();
        Err(AlgoError::Contradiction { file, fault: fault.to_owned() })
    }
}

/// What the first sweep has noted, after it.
fn known<'p, 'e>(parts: &'p Option<Parts<'e>>, is_first: bool) -> Option<&'p Parts<'e>> {
    parts.as_ref().filter(|_| !is_first)
}

/// The lists that workers have seen, and the slabs that they have filled.
fn finish(locals: Vec<Local<'_>>) -> (u64, Vec<Written>) {
    let lists = locals.iter().map(|local| local.lists).sum();
    (lists, locals.into_iter().map(|local| local.writer.finish()).collect())
}

/// The writer, buffers and count of lists of one worker.
struct Local<'a> {
    writer: ListWriter<'a>,
    sifted: Sifted,
    lists: u64,
}

impl Local<'_> {
    fn new() -> Self {
        Self { writer: ListWriter::new(), sifted: Sifted::new(), lists: 0 }
    }
}

/// Keeps the targets of a directed graph's lists.
struct KeepTargets<'a> {
    sift: &'a Sift<'a>,
    supply: Supply<'a>,
    places: &'a [AtomicU32],
}

impl<'a> Kernel for KeepTargets<'a> {
    type Local = Local<'a>;

    fn local(&self) -> Local<'a> {
        Local::new()
    }

    fn prefetch(&self, targets: &[VertexId]) {
        prefetch_of_many(self.sift.ranks, targets);
    }

    fn list(&self, local: &mut Local<'a>, list: &List<'_>) {
        local.lists += 1;
        self.sift.take(list, &mut local.sifted);
        let ranks = local.sifted.sorted();
        let (count, mut place) = (ranks.len(), NOWHERE);
        if count > 0
            && let Some((at, words)) = local.writer.reserve(&self.supply, 1 + count)
        {
            words[0] = count as u32;
            words[1..=count].copy_from_slice(ranks);
            place = at;
            self.sift.note_targets(list, 1 + count, &mut local.sifted);
        }
        self.places[list.vertex as usize].store(place, Ordering::Relaxed);
    }
}

impl Targets {
    fn of(&self, v: VertexId) -> &[u32] {
        match self.places[v as usize].load(Ordering::Relaxed) {
            NOWHERE => &[],
            place => {
                let words = self.arena.words_at(place);
                &words[1..=words[0] as usize]
            }
        }
    }
}

/// Writes oriented lists to memory.
struct Keep<'a> {
    sift: &'a Sift<'a>,
    targets: Option<&'a Targets>,
    supply: Supply<'a>,
    places: &'a [AtomicU32],
}

impl<'a> Kernel for Keep<'a> {
    type Local = Local<'a>;

    fn local(&self) -> Local<'a> {
        Local::new()
    }

    fn prefetch(&self, targets: &[VertexId]) {
        prefetch_of_many(self.sift.ranks, targets);
    }

    fn list(&self, local: &mut Local<'a>, list: &List<'_>) {
        local.lists += 1;
        let rank = self.sift.rank(list);
        self.sift.take(list, &mut local.sifted);
        let targets = self.targets.map(|targets| targets.of(list.vertex));
        let (ranks, doubles) = self.sift.join(list, targets, &mut local.sifted);
        if !ranks.is_empty()
            && let Some(place) = local.writer.write(&self.supply, rank, ranks, doubles)
        {
            self.places[rank as usize].store(place, Ordering::Relaxed);
        }
    }
}

/// Counts the triangles of oriented lists with those in memory.
struct Pass<'a, 'h> {
    sift: &'a Sift<'a>,
    targets: Option<&'a Targets>,
    passed: &'a Passed<'a, 'h>,
    /// Whether selected ranks are the list, but for their order.
    is_plain: bool,
}

/// A worker that counts, and its buffers.
struct PassLocal {
    worker: Worker,
    sifted: Sifted,
    one: OneList,
    lists: u64,
}

impl Kernel for Pass<'_, '_> {
    type Local = PassLocal;

    fn local(&self) -> PassLocal {
        let worker = self.passed.workers.take();
        PassLocal { worker, sifted: Sifted::new(), one: OneList::default(), lists: 0 }
    }

    fn prefetch(&self, targets: &[VertexId]) {
        prefetch_of_many(self.sift.ranks, targets);
    }

    fn list(&self, local: &mut PassLocal, list: &List<'_>) {
        let PassLocal { worker, sifted, one, lists } = local;
        *lists += 1;
        let Passed { view, workers, rows, .. } = self.passed;
        let (rank, selected) = (self.sift.rank(list), self.sift.select(list, sifted));
        if self.is_plain {
            if view.has_any(selected) {
                workers.count_one(worker, &one.set_unsorted(rank, selected), view);
            }
            return;
        }
        self.sift.sort(list, sifted);
        let targets = self.targets.map(|targets| targets.of(list.vertex));
        let (ranks, doubles) = self.sift.join(list, targets, sifted);
        let rows = rows.as_ref().filter(|_| rank < view.hubs);
        if rows.is_none() && !view.has_any(ranks) {
            return;
        }
        let list = one.set(rank, ranks, workers.doubles().then_some(doubles));
        if let Some(rows) = rows {
            rows.lock().unwrap_or_else(PoisonError::into_inner).fill_row(&list);
        }
        workers.count_one(worker, &list, view);
    }
}
