//! Walks that wait at pages: pages are read in file order, and each moves all walks that wait for
//! it.
//!
//! A walk moves on a page as far as it can, then waits for its next page. A sweep over the file has
//! about 64 windows, and a walk whose next page lies further on moves again in the same sweep: on a
//! graph without locality two steps a sweep, where walks in lockstep read the pages for each step.
//!
//! Memory: 16 bytes a walk, 28 with a history. Walks lie in small chunks, a list of chunks for each
//! bucket of pages, so only full chunks take a lock.
//!
//! Sources: GraphWalker (ATC 2020) for walks that wait at blocks and move while theirs is in
//! memory; NosWalker (ASPLOS 2023) for walks at different steps. The entry of a long list is found
//! without reading the list: [`super::long`]. A page comes with the weights that its walks need:
//! [`super::weigh`].

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_engine::{
    Adjacency, Direction, Engine, Kernel, List, NamedPages, Page, PageTask, Purpose, VertexId,
};

use super::log::{Log, Tally};
use super::long::{Contradiction, LongLists};
use super::past::Past;
use super::rule::{Rule, Verdict};
use super::waiting::{CHUNK, Chunk, Outbox, Waiting, Walker, chunk_bytes};
use super::weigh::{Choice, PageWeights, Weighing, contradiction, hull};
use crate::parallel;
use crate::report::Result;

/// Windows of a sweep, if there are enough walks.
pub(super) const WINDOWS: usize = 64;

/// The fewest walks of a window, if there are as many: fewer would leave the device idle.
pub(super) const WINDOW_MIN: usize = 2048;

/// Whether a file of `pages` can be swept: waiting walks number pages in 32 bits.
pub(super) fn can_sweep(pages: u64) -> bool {
    pages < u64::from(u32::MAX)
}

/// Moves of a thread on one page, after which it looks whether the run was cancelled: on a graph of
/// one page a walk never leaves it.
const MOVES_CHECKED: u64 = 1 << 16;

/// The most walks of a window.
fn window_max(rows: usize) -> usize {
    (rows / 4).max(2 * WINDOW_MIN)
}

/// Bytes of a batch of `rows` walks over `pages`.
pub(super) fn state_bytes<P: Past>(rows: u64, pages: u64, workers: usize, weighted: bool) -> u64 {
    let walker = size_of::<Walker<P>>() as u64;
    let window = window_max(rows as usize) as u64;
    // A larger window has at least as many walks as pages.
    let tasks = size_of::<PageTask>() as u64 * window.min(pages);
    let counts = size_of::<u32>() as u64 * (pages + 1);
    let long_pages = if P::TESTS_EDGES || !weighted { pages } else { 0 };
    chunk_bytes::<P>(rows, pages, workers)
        + window * walker
        + tasks
        + counts
        + LongLists::bytes(long_pages, P::TESTS_EDGES)
}

/// Moves walks.
struct Mover<'a, 'g, P> {
    adjacency: &'a Adjacency,
    directed: bool,
    rule: &'a Rule<'a>,
    log: Log<'a>,
    long: &'a LongLists,
    /// For weighted walks.
    weighing: &'a mut Option<Weighing<'g>>,
    waiting: &'a Waiting<P>,
    contradiction: &'a AtomicBool,
}

/// A page at which walks wait, with its weights.
struct Stop<'s, 'p> {
    page: &'s Page<'p>,
    number: u64,
    weights: Option<PageWeights<'s>>,
}

/// The state of a walk after a move.
enum Moved {
    /// It continues on the page that it names.
    On,
    /// It waits, possibly for the same page.
    Waits,
    /// It has ended.
    Done,
}

/// Moves the walks of one window, sorted by page.
struct MoveWalks<'a, 'g, P> {
    engine: &'a Engine,
    mover: &'a Mover<'a, 'g, P>,
    walkers: &'a [Walker<P>],
}

impl<P: Past> MoveWalks<'_, '_, P> {
    fn move_all(&self, outbox: &mut Outbox<P>, mut stop: Stop<'_, '_>, task: PageTask) {
        let learns = P::TESTS_EDGES || self.mover.weighing.is_none();
        if learns && self.mover.long.learn(task.page, stop.page).is_err() {
            return self.mover.contradiction.store(true, Ordering::Relaxed);
        }
        let mut moves = 0;
        for walker in &self.walkers[task.from as usize..task.to as usize] {
            moves += self.mover.move_walk(outbox, &mut stop, *walker);
            if moves >= MOVES_CHECKED {
                // The visit ends with that error.
                if self.engine.check_cancel().is_err() {
                    return;
                }
                moves = 0;
            }
        }
    }
}

impl<P: Past> Kernel for MoveWalks<'_, '_, P> {
    type Local = Outbox<P>;

    fn local(&self) -> Outbox<P> {
        self.mover.waiting.outbox(&self.mover.log)
    }

    fn entries(&self, page: &Page<'_>, task: PageTask) -> Range<usize> {
        if task.from == task.to {
            // No walk waits: the page is only to be cached, and so are its weights.
            return 0..page.entries().len();
        }
        let Some(weighing) = &*self.mover.weighing else { return 0..0 };
        let walkers = &self.walkers[task.from as usize..task.to as usize];
        let entries = |walker: &Walker<P>| match walker.past.edge_test() {
            Some(_) => 0..0,
            None => weighing.entries(page, task.page, walker.at, || self.mover.word(walker)),
        };
        walkers.iter().map(entries).fold(0..0, hull)
    }

    fn page(&self, outbox: &mut Outbox<P>, page: &Page<'_>, purpose: &Purpose<'_>) {
        let Purpose { task, weights, .. } = purpose.clone();
        let mut sums = std::mem::take(&mut outbox.sums);
        let weights =
            weights.map(|(entries, weights)| PageWeights::new(entries, weights, &mut sums));
        self.move_all(outbox, Stop { page, number: task.page, weights }, task);
        outbox.sums = sums;
    }
}

impl<P: Past> Mover<'_, '_, P> {
    fn walk(&self, row: u32) -> u64 {
        self.log.first + u64::from(row)
    }

    /// Starts a walk.
    fn start(&self, outbox: &mut Outbox<P>, row: u32) {
        let at = self.rule.start(self.walk(row));
        let mut walker = Walker { page: 0, row, step: 1, at, past: P::default() };
        self.log.at(&mut outbox.log, row, 0, at);
        if matches!(self.next_step(outbox, &mut walker), Moved::On) {
            self.waiting.push(outbox, walker);
        }
    }

    /// The random word that selects the next entry.
    fn word(&self, walker: &Walker<P>) -> u64 {
        self.rule.draw(self.walk(walker.row), walker.step, walker.past.trial()).position
    }

    /// Moves a walk as far as it can on this page; returns how often.
    fn move_walk(
        &self,
        outbox: &mut Outbox<P>,
        stop: &mut Stop<'_, '_>,
        mut walker: Walker<P>,
    ) -> u64 {
        let mut moves = 0;
        loop {
            moves += 1;
            let moved = match walker.past.edge_test() {
                Some(edge) => self.test_edge(outbox, stop.page, &mut walker, edge),
                None => self.propose(outbox, stop, &mut walker),
            };
            match moved {
                Ok(Moved::On) if u64::from(walker.page) == stop.number => {}
                Ok(Moved::On | Moved::Waits) => {
                    self.waiting.push(outbox, walker);
                    return moves;
                }
                Ok(Moved::Done) => return moves,
                Err(Contradiction) => {
                    self.contradiction.store(true, Ordering::Relaxed);
                    return moves;
                }
            }
        }
    }

    /// Proposes an entry of the list, if it is on this page.
    fn propose(
        &self,
        outbox: &mut Outbox<P>,
        stop: &mut Stop<'_, '_>,
        walker: &mut Walker<P>,
    ) -> std::result::Result<Moved, Contradiction> {
        let list = stop.page.list_of(walker.at).expect("the index led to a page with the vertex");
        let target = match self.choose(stop, &list, walker)? {
            Choice::Target(target) => target,
            Choice::DeadEnd => return Ok(self.dead_end(outbox, walker)),
            Choice::At(page) => {
                walker.page = page as u32;
                return Ok(Moved::Waits);
            }
        };
        let walk = self.walk(walker.row);
        let draw = self.rule.draw(walk, walker.step, walker.past.trial());
        match self.rule.verdict(&draw, target, walker.past.before(), list.degree) {
            Verdict::Taken => return Ok(self.arrive(outbox, walker, target)),
            Verdict::Refused => {
                walker.past.refuse();
                // With weights the next proposal may be on another page.
                if self.weighing.is_some() {
                    walker.page = self.page_of_proposal(walker);
                }
            }
            Verdict::TakenIf { .. } => {
                let before = walker.past.before();
                // An edge of an undirected graph is in both lists. The candidate's list is needed
                // next if the walk goes there; a short list has only one page to read.
                let is_short = |v| {
                    let pages = self.adjacency.pages_of(v);
                    pages.start() == pages.end()
                };
                let at_candidate = !self.directed && (is_short(target) || !is_short(before));
                walker.past.set_edge_test(target, at_candidate);
                let (vertex, key) = if at_candidate { (target, before) } else { (before, target) };
                let pages = self.adjacency.pages_of(vertex);
                walker.page = self.long.page_of_target(&pages, key) as u32;
            }
        }
        Ok(Moved::On)
    }

    /// The proposed entry, or its page.
    fn choose(
        &self,
        stop: &mut Stop<'_, '_>,
        list: &List<'_>,
        walker: &Walker<P>,
    ) -> std::result::Result<Choice, Contradiction> {
        if let (Some(weighing), Some(weights)) = (&*self.weighing, &mut stop.weights) {
            return weighing.choose(weights, stop.page, stop.number, walker.at, self.word(walker));
        }
        if list.degree == 0 {
            return Ok(Choice::DeadEnd);
        }
        let draw = self.rule.draw(self.walk(walker.row), walker.step, walker.past.trial());
        let position = self.rule.position(&draw, list.degree);
        let entry = position.checked_sub(list.skip).and_then(|i| list.targets.get(i as usize));
        if let Some(&target) = entry {
            return Ok(Choice::Target(target));
        }
        let pages = self.adjacency.pages_of(walker.at);
        let guess = self.long.page_of_entry(&pages, position, list.degree);
        if guess == stop.number { Err(Contradiction) } else { Ok(Choice::At(guess)) }
    }

    /// Tests whether the candidate and the vertex before have an edge, if this page suffices.
    fn test_edge(
        &self,
        outbox: &mut Outbox<P>,
        page: &Page<'_>,
        walker: &mut Walker<P>,
        (candidate, at_candidate): (VertexId, bool),
    ) -> std::result::Result<Moved, Contradiction> {
        let before = walker.past.before();
        let (vertex, key) = if at_candidate { (candidate, before) } else { (before, candidate) };
        let list = page.list_of(vertex).expect("the index led to a page with the vertex");
        let found = list.targets.binary_search(&key);
        let elsewhere = match found {
            Ok(_) => false,
            Err(0) => list.skip > 0,
            Err(place) => {
                let end = list.skip + list.targets.len() as u64;
                place == list.targets.len() && end < list.degree
            }
        };
        if elsewhere {
            let next = self.long.page_of_target(&self.adjacency.pages_of(vertex), key) as u32;
            if next != walker.page {
                walker.page = next;
                return Ok(Moved::On);
            }
            // The next page begins beyond the key.
        }
        let draw = self.rule.draw(self.walk(walker.row), walker.step, walker.past.trial());
        let verdict = self.rule.verdict(&draw, candidate, before, u64::MAX);
        if verdict == (Verdict::TakenIf { neighbour: found.is_ok() }) {
            return Ok(self.arrive(outbox, walker, candidate));
        }
        walker.past.refuse();
        walker.page = self.page_of_proposal(walker);
        Ok(Moved::On)
    }

    fn arrive(&self, outbox: &mut Outbox<P>, walker: &mut Walker<P>, target: VertexId) -> Moved {
        walker.past.leave(walker.at);
        walker.at = target;
        outbox.log.tally.steps += 1;
        self.log.at(&mut outbox.log, walker.row, walker.step, target);
        walker.step += 1;
        self.next_step(outbox, walker)
    }

    fn go_back(&self, outbox: &mut Outbox<P>, walker: &mut Walker<P>) {
        walker.past = P::default();
        walker.at = self.rule.start(self.walk(walker.row));
        outbox.log.tally.restarts += 1;
        self.log.at(&mut outbox.log, walker.row, walker.step, walker.at);
        walker.step += 1;
    }

    fn dead_end(&self, outbox: &mut Outbox<P>, walker: &mut Walker<P>) -> Moved {
        let start = self.rule.start(self.walk(walker.row));
        if !self.rule.leaves_dead_end(walker.at, start) {
            outbox.log.tally.dead_ends += 1;
            return Moved::Done;
        }
        self.go_back(outbox, walker);
        self.next_step(outbox, walker)
    }

    /// Takes the restarts that come next, which need no page; then sets the walk's page.
    fn next_step(&self, outbox: &mut Outbox<P>, walker: &mut Walker<P>) -> Moved {
        while walker.step <= self.rule.steps() {
            if !self.rule.restarts(|| self.rule.draw(self.walk(walker.row), walker.step, 0)) {
                walker.page = self.page_of_proposal(walker);
                return Moved::On;
            }
            self.go_back(outbox, walker);
        }
        Moved::Done
    }

    /// The page of the entry that is proposed next; the first page of a long list of unknown
    /// length.
    fn page_of_proposal(&self, walker: &Walker<P>) -> u32 {
        if let Some(weighing) = &*self.weighing {
            return weighing.page_of(walker.at, || self.word(walker)) as u32;
        }
        let pages = self.adjacency.pages_of(walker.at);
        let first = *pages.start();
        let page = match self.long.degree(first) {
            Some(degree) if pages.start() != pages.end() => {
                let draw = self.rule.draw(self.walk(walker.row), walker.step, walker.past.trial());
                let position = self.rule.position(&draw, degree);
                self.long.page_of_entry(&pages, position, degree)
            }
            _ => first,
        };
        page as u32
    }
}

/// One batch of walks.
pub(super) struct Sweeps<'a, 'g, P> {
    engine: &'a Engine,
    mover: Mover<'a, 'g, P>,
    rows: u32,
    /// Whether this is the first sweep, which fills the cache.
    fills: bool,
    walkers: Vec<Walker<P>>,
    tasks: Vec<PageTask>,
    counts: Vec<u32>,
    taken: Vec<Chunk<P>>,
}

/// Moves walks `0..rows` of the batch of `log` to their ends.
pub(super) fn run<P: Past>(
    engine: &Engine,
    rule: &Rule<'_>,
    weighing: &mut Option<Weighing<'_>>,
    log: Log<'_>,
    rows: u32,
) -> Result<Tally> {
    let graph = engine.graph();
    let adjacency = graph.adjacency(Direction::Out).expect("every graph has out-lists");
    let long_pages = if P::TESTS_EDGES || weighing.is_none() { adjacency.pages() } else { 0 };
    let long = LongLists::new(graph, long_pages, P::TESTS_EDGES)?;
    let waiting = Waiting::new(adjacency.pages());
    let contradiction = AtomicBool::new(false);
    let mover = Mover {
        adjacency,
        directed: graph.is_directed(),
        rule,
        log,
        long: &long,
        weighing,
        waiting: &waiting,
        contradiction: &contradiction,
    };
    let sweeps = Sweeps::<P> {
        engine,
        mover,
        rows,
        fills: true,
        walkers: Vec::with_capacity(window_max(rows as usize)),
        tasks: Vec::new(),
        counts: Vec::new(),
        taken: Vec::new(),
    };
    sweeps.run()
}

impl<P: Past> Sweeps<'_, '_, P> {
    fn run(mut self) -> Result<Tally> {
        self.start();
        let mut sweep = 1;
        let mut bucket = 0;
        loop {
            let counts = self.mover.waiting.counts();
            let alive: usize = counts.iter().sum();
            if alive == 0 {
                break;
            }
            let window = self.window(&counts, bucket, alive);
            if window.is_empty() {
                (sweep, bucket) = (sweep + 1, 0);
                self.fills = false;
                continue;
            }
            // A bucket that did not fit is continued in the next window.
            bucket = if self.gather(&window) { window.end } else { window.end - 1 };
            let outboxes = self.visit(format!("sweep {sweep}"))?;
            outboxes.into_iter().for_each(|outbox| self.mover.waiting.put_back(outbox));
            if let Some(corpus) = self.mover.log.corpus {
                corpus.check()?;
            }
            if self.mover.contradiction.load(Ordering::Relaxed) {
                return Err(contradiction(self.engine.graph()));
            }
        }
        Ok(self
            .mover
            .waiting
            .end()
            .into_iter()
            .map(|outbox| self.mover.log.close(outbox.log))
            .sum())
    }

    /// Moves the walks of a window.
    fn visit(&mut self, label: String) -> Result<Vec<Outbox<P>>> {
        let Self { engine, mover, walkers, tasks, .. } = self;
        let pages = NamedPages::of_pass(tasks);
        if let Some(weighing) = &mut *mover.weighing {
            // Sorted by vertex, so that sums are computed once per vertex.
            for same in walkers.chunk_by_mut(|a, b| a.page == b.page) {
                same.sort_unstable_by_key(|walker| walker.at);
            }
            let is_long = |walker: &&Walker<P>| {
                let asks = walker.past.edge_test().is_some();
                !asks && weighing.runs_on(walker.page.into(), walker.at)
            };
            let mut long: Vec<VertexId> = Vec::new();
            for walker in walkers.iter().filter(is_long) {
                if long.last() != Some(&walker.at) {
                    long.push(walker.at);
                }
            }
            weighing.learn(engine, long)?;
            let kernel = MoveWalks { engine, mover, walkers };
            return Ok(engine.visit_weighted_pages(label, Direction::Out, pages, &kernel)?);
        }
        let kernel = MoveWalks { engine, mover, walkers };
        Ok(engine.visit_pages(label, Direction::Out, pages, &kernel)?)
    }

    /// Starts all walks.
    fn start(&self) {
        let parts = self.engine.config().threads as u32;
        let part_rows = self.rows.div_ceil(parts).max(1);
        parallel::blocks_of(1, parts as usize, &|part| {
            let mut outbox = self.mover.waiting.outbox(&self.mover.log);
            let first = (part.start as u32).saturating_mul(part_rows).min(self.rows);
            for row in first..first.saturating_add(part_rows).min(self.rows) {
                self.mover.start(&mut outbox, row);
            }
            self.mover.waiting.put_back(outbox);
        });
    }

    /// The next buckets, from `first` on, with enough walks; empty if no walk waits there.
    fn window(&self, counts: &[usize], first: usize, alive: usize) -> std::ops::Range<usize> {
        let enough = (alive / WINDOWS).clamp(WINDOW_MIN, self.walkers.capacity() / 2);
        let Some(start) = (first..counts.len()).find(|&bucket| counts[bucket] > 0) else {
            return first..first;
        };
        let mut waiting = 0;
        for (bucket, count) in counts.iter().enumerate().skip(start) {
            if waiting > 0 && waiting + count > self.walkers.capacity() - CHUNK {
                return start..bucket;
            }
            waiting += count;
            if waiting >= enough {
                return start..bucket + 1;
            }
        }
        start..counts.len()
    }

    /// Sorts the walks of a window by page. False if some did not fit.
    fn gather(&mut self, window: &std::ops::Range<usize>) -> bool {
        let waiting = self.mover.waiting;
        let mut room = self.walkers.capacity();
        let mut all = true;
        for bucket in window.clone() {
            room -= waiting.take(bucket, room, &mut self.taken);
            all = room >= CHUNK;
            if !all {
                break;
            }
        }
        let first = window.start as u64 * waiting.pages_per_bucket;
        let pages = (window.len() as u64 * waiting.pages_per_bucket) as usize;
        self.walkers.clear();
        self.tasks.clear();
        if pages / 8 > self.walkers.capacity() - room {
            self.walkers.extend(self.taken.iter().flatten());
            self.walkers.sort_unstable_by_key(|walker| walker.page);
        } else {
            self.sort_by_count(first, pages);
        }
        waiting.release(&mut self.taken);
        self.list_tasks(first..first + pages as u64);
        all
    }

    /// Lists the pages that walks wait for. In the first sweep a window with many walks reads all
    /// its pages as far as they will be cached: a page missing in the cache would be read with its
    /// neighbours in every later sweep.
    fn list_tasks(&mut self, window: std::ops::Range<u64>) {
        let pages = self.mover.adjacency.pages();
        let kept = (pages as f64 * self.engine.cached_fraction()) as u64;
        let window = window.start..window.end.min(pages);
        let crowded = self.walkers.len() as u64 > window.end - window.start;
        let fills = self.fills && crowded && window.start < kept;
        let mut next = if fills { window.start } else { u64::MAX };
        let mut from = 0;
        for same in self.walkers.chunk_by(|a, b| a.page == b.page) {
            let page = u64::from(same[0].page);
            self.tasks.extend((next..page).map(|page| PageTask { page, from, to: from }));
            let to = from + same.len() as u32;
            self.tasks.push(PageTask { page, from, to });
            from = to;
            next = if fills { page + 1 } else { u64::MAX };
        }
        if fills {
            self.tasks.extend((next..window.end).map(|page| PageTask { page, from, to: from }));
        }
    }

    fn sort_by_count(&mut self, first: u64, pages: usize) {
        self.counts.clear();
        self.counts.resize(pages + 1, 0);
        let place = |walker: &Walker<P>| (u64::from(walker.page) - first) as usize;
        for walker in self.taken.iter().flatten() {
            self.counts[place(walker) + 1] += 1;
        }
        for page in 0..pages {
            self.counts[page + 1] += self.counts[page];
        }
        let total = self.counts[pages] as usize;
        let Some(filler) = self.taken.iter().flatten().next().copied() else { return };
        self.walkers.resize(total, filler);
        for walker in self.taken.iter().flatten() {
            let next = &mut self.counts[place(walker)];
            self.walkers[*next as usize] = *walker;
            *next += 1;
        }
    }
}
