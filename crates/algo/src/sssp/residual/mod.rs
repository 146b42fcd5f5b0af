//! Search on the residual graph: the edges that may still shorten a path, in memory.
//!
//! **Trick.** While the smallest distance of an active vertex is `from`, an edge of weight `w` to a
//! vertex at distance `d` can shorten a path only if `from + w < d`, whatever the distance of its
//! source becomes. After a few steps from vertices with many edges, most edges of a network with
//! hubs cannot. So one pass over all lists relaxes those that are active, and keeps the few edges
//! that can; the search then ends on these, without reads. On a Kronecker graph of 2^20 vertices 2%
//! of the edges are kept after steps that read a tenth of the pages, where buckets read all pages
//! five times and relax each edge 2.4 times.
//!
//! If the edges do not fit in memory, only those are kept that lead to lengths below a limit. The
//! search on them makes all distances below the limit final, and the next pass begins from there.
//! Where too many edges would be left out, passes go before that keep none: they follow the active
//! lists in the order of the file, and those that become active further on, too.
//!
//! Rounding keeps the order of sums, so that all this holds for floating-point lengths, too.
//!
//! - [`edges`]: the edges in memory
//! - [`sweep`]: the pass; [`sample`]: a look at some pages before it

mod edges;
mod sample;
mod sweep;

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Bitmap, Direction, EngineConfig, FrontierPart, Graph, VertexId};

use super::SsspConfig;
use super::length::UNREACHED;
use super::paths::Paths;
use super::relax::keep_active;
use super::search::Search;
use crate::csr::entries;
use crate::kind::{has_hubs, is_lattice};
use crate::near::leads_nearby;
use crate::parallel;
use crate::parts::Distances;
use crate::report::{AlgoError, Result, pages};
use crate::worklist::goes_without_steps;
use edges::{Edges, Share};
use sample::{Found, Sample};
use sweep::Sweep;

/// Steps before the first pass have at most one page of this many: reads of few pages scattered
/// over the file take several times as long as those of a pass. Later, active vertices that
/// are fewer than this share of the pages are followed in a step, too.
const STEP_SHARE: u64 = 20;

/// All of them together, one of this many.
const STEPS_SHARE: u64 = 12;

/// How often a bucket is halved to make a step small.
const HALVINGS: i32 = 16;

/// A pass keeps edges if at most so many times those that fit are to be kept: with hubs distances
/// fall while it goes on, so that fewer are. On a uniform random graph 4 took 1.2 to 1.7 times as
/// long.
const TIMES_KEPT: f64 = 1.0;

/// The same for a graph with hubs.
const TIMES_KEPT_WITH_HUBS: f64 = 4.0;

/// A pass that keeps no edges follows distances of so many buckets of the usual width. By a model,
/// on a uniform random graph 1.5 take 8.5 passes and relax each edge 1.8 times, 1 takes 9 and 1.1,
/// 2 take 8.6 and 2.5, and steps of one 10.6 and 1.4.
const BUCKETS_FOLLOWED: f64 = 1.5;

/// Where this share of the pages stays in memory, the search goes on in buckets if a pass has left
/// more than this share of the edges that may shorten a path. Measured on a web graph in no order:
/// 0.23 s instead of 0.71 with all pages, 0.43 instead of 0.75 with a quarter of them in memory.
const CACHED: f64 = 0.25;
const LEFT: f64 = 0.8;

/// Without hubs, passes keep edges once all that matter fit, which is soon if this share of all
/// does. On a map 0.25 s instead of 0.49 page by page.
const FITTING_WITHOUT_HUBS: f64 = 0.2;

/// It reads the lists of all vertices that are not final if those that are active lie on so large a
/// part of the pages.
const DENSE: f64 = 0.4;

/// A bucket in memory begins with about one of this many of the active vertices.
const BUCKET_SHARE: usize = 4;

/// Active vertices that are looked at to find its end.
const BUCKET_SAMPLE: usize = 512;

/// The most steps in memory: each looks through sets of all vertices. Searches of more are faster
/// without steps.
const STEPS_MAX: u32 = 1000;

/// About how many edges of a list are kept, if any are.
const LIST_EDGES: f64 = 4.0;

/// Vertices of a frontier that a thread takes at a time.
const LIST_BLOCK: usize = 1 << 9;

/// Memory of which more does not help.
pub(super) fn bytes_useful(graph: &Graph) -> u64 {
    match Edges::bytes_useful(graph) {
        0 => 0,
        bytes => bytes + bytes_of_sets(graph),
    }
}

fn bytes_of_sets(graph: &Graph) -> u64 {
    2 * Bitmap::bytes_for(graph.vertices())
}

/// Whether a search may go on on the residual graph. On lattices others are faster, and a width of
/// buckets that the caller has chosen is used.
pub(super) fn applies(graph: &Graph, config: &EngineConfig, sssp: &SsspConfig) -> bool {
    goes_without_steps(config) && graph.is_weighted() && !is_lattice(graph) && sssp.delta.is_none()
}

fn times_kept(graph: &Graph) -> f64 {
    if has_hubs(graph) { TIMES_KEPT_WITH_HUBS } else { TIMES_KEPT }
}

/// About how often such a search reads all lists, with so much memory for sets and edges, and
/// whether edges soon fit; `None` if it goes on in buckets. Measured on Kronecker and uniform
/// graphs of 2^20 vertices.
pub(super) fn likely_passes(graph: &Graph, bytes: u64, threads: usize) -> Option<(f64, bool)> {
    let room = bytes.checked_sub(bytes_of_sets(graph))?;
    let has_room = Edges::has_room(graph, room, threads);
    let fitting = fitting(graph, room);
    Some(match has_hubs(graph) {
        true if has_room => (1.4, true),
        true => (3.5, false),
        false if has_room && fitting >= 0.25 => (2.5 + 0.15 / fitting.min(1.0), true),
        false => (7.7, false),
    })
}

/// About which share of all edges fits in so many bytes.
fn fitting(graph: &Graph, bytes: u64) -> f64 {
    Edges::capacity_of(graph, bytes, LIST_EDGES) / (entries(graph) as f64).max(1.0)
}

/// Searches from the vertices in [`Search::far`]. False if the search is to go on in buckets, from
/// those that it then has.
pub(super) fn search(search: &mut Search<'_>) -> Result<bool> {
    let (graph, threads) = (search.engine.graph(), search.engine.config().threads);
    let (memory, sets) = (search.engine.memory().scratch_bytes, bytes_of_sets(graph));
    if memory < sets {
        return Ok(false);
    }
    if begin(search)? {
        return Ok(true);
    }
    let fitting = fitting(graph, memory - sets);
    if (has_hubs(graph) || fitting < FITTING_WITHOUT_HUBS) && leads_nearby(search.engine)? {
        // Most edges would be kept in a pass, since their targets have no distance yet, so that it
        // would come only as far as they fit.
        search.finish_by(None)?;
        return Ok(true);
    }
    search.forget_steps();
    let mut edges = Edges::new(graph, memory - sets, threads)?;
    let (active, done) = (Bitmap::new(graph.vertices())?, Bitmap::new(graph.vertices())?);
    let mut residual = Residual { search, active, done, steps: 0 };
    let (mut from, times) = (0, times_kept(graph));
    let is_cached = residual.search.engine.cached_fraction() >= CACHED;
    // The edges that mattered before the last pass, if it kept some.
    let mut before = f64::INFINITY;
    let mut looks = Looks::default();
    while let Some(first) = residual.search.first() {
        from = first.max(from);
        let may_keep = !edges.is_none() && !residual.are_few() && looks.is_time();
        let found = if may_keep { Some(residual.sample(from)?) } else { None };
        if is_cached && found.is_some_and(|found| found.edges > LEFT * before) {
            return Ok(false);
        }
        let kept = found.filter(|found| found.edges <= times * edges.capacity(found.of_list));
        before = kept.map_or(f64::INFINITY, |found| found.edges);
        if kept.is_some() {
            let Some(limit) = residual.pass(&mut edges, from)? else { return Ok(false) };
            from = limit;
            looks = Looks::default();
            continue;
        }
        match residual.follow(&mut edges, from)? {
            Followed::End => return Ok(true),
            Followed::Pass => looks = Looks::default(),
            Followed::Step => looks.count_step(),
        }
    }
    Ok(true)
}

/// When to look again at how many edges would be kept: a step of few pages changes little, and
/// reads no more than the look.
#[derive(Default)]
struct Looks {
    /// Steps to go.
    wait: u32,
    /// Steps between the last look and the next.
    apart: u32,
}

impl Looks {
    /// After each look twice as many steps go by.
    fn is_time(&mut self) -> bool {
        let is_time = self.wait == 0;
        if is_time {
            self.apart = (2 * self.apart).max(1);
            self.wait = self.apart;
        }
        is_time
    }

    fn count_step(&mut self) {
        self.wait = self.wait.saturating_sub(1);
    }
}

/// How vertices were followed.
enum Followed {
    /// In a step of some pages.
    Step,
    /// In a pass.
    Pass,
    /// In a search that has ended.
    End,
}

/// Follows the nearest vertices, in steps of few pages. True if the search is over.
fn begin(search: &mut Search<'_>) -> Result<bool> {
    let all = pages(search.engine.graph(), Direction::Out);
    let (mut seen, mut halved) = (0, 0);
    while let Some(first) = search.first() {
        let (end, pages) = loop {
            let end = search.lengths.bucket_end(first, search.delta / f64::from(1 << halved));
            search.take_bucket(end);
            let active = ActiveSet::In(&search.frontier);
            let pages = search.engine.active_pages(Direction::Out, &active);
            if pages <= all / STEP_SHARE || halved == HALVINGS || end <= first + 1 {
                break (end, pages);
            }
            search.put_back();
            halved += 1;
        };
        if search.finish_nearby()? {
            return Ok(true);
        }
        seen += pages;
        if seen > all / STEPS_SHARE {
            search.put_back();
            return Ok(false);
        }
        search.buckets += 1;
        search.step(end)?;
        search.put_back();
        halved = (halved - 1).max(0);
    }
    Ok(true)
}

/// A search in passes.
struct Residual<'s, 'e> {
    search: &'s mut Search<'e>,
    /// In a pass, the vertices whose lists are to be relaxed.
    active: Bitmap,
    /// In a pass, vertices whose lists are not needed; then those that were followed in memory.
    done: Bitmap,
    /// Steps in memory so far.
    steps: u32,
}

impl Residual<'_, '_> {
    fn sample(&self, from: u64) -> Result<Found> {
        let Search { engine, distances, lengths, .. } = &*self.search;
        let bound = self.search.bound();
        Sample { engine, distances, lengths: *lengths, from, bound }.take()
    }

    /// Whether so few vertices are active that a step from them reads little.
    fn are_few(&self) -> bool {
        let Search { engine, far, .. } = &*self.search;
        far.count() < pages(engine.graph(), Direction::Out) / STEP_SHARE
    }

    /// Makes distances final below a limit; returns it, or `None` if buckets are better.
    /// Vertices of [`Search::far`] are active; distances that are not final are at least `from`.
    fn pass(&mut self, edges: &mut Edges, from: u64) -> Result<Option<u64>> {
        self.search.take_bucket(UNREACHED);
        self.prepare(from);
        edges.clear();
        let all = self.search.bound().saturating_add(1);
        self.search.buckets += 1;
        let (shares, limit) = self.sweep(edges, (from, all, UNREACHED))?;
        if edges.has_misfits() {
            let fault = "a weight is larger than the largest of the graph".to_owned();
            return Err(AlgoError::Contradiction {
                file: self.search.engine.graph().device().name(),
                fault,
            });
        }
        self.done.clear();
        let ends = self.search_below(limit, edges, &shares)?;
        if limit < all {
            // Edges that lead beyond the limit were not kept.
            self.search.far.merge(&self.done);
        } else if ends {
            self.search.far.clear();
        }
        Ok(if ends { Some(limit) } else { None })
    }

    /// Follows the active vertices of a wide bucket, and those whose distances fall within it while
    /// the pass goes on, if their lists come later.
    fn follow(&mut self, edges: &mut Edges, from: u64) -> Result<Followed> {
        let search = &mut *self.search;
        let end = search.lengths.bucket_end(from, BUCKETS_FOLLOWED * search.delta);
        search.buckets += 1;
        search.take_bucket(end);
        let active = ActiveSet::In(&search.frontier);
        let active = search.engine.active_pages(Direction::Out, &active) as f64;
        if active < DENSE * pages(search.engine.graph(), Direction::Out) as f64 {
            if search.finish_without_steps()? {
                return Ok(Followed::End);
            }
            search.step(end)?;
            search.put_back();
            return Ok(Followed::Step);
        }
        search.forget_steps();
        self.prepare(from);
        edges.clear();
        self.sweep(edges, (from, from, end)).map(|_| Followed::Pass)
    }

    /// A pass over the lists of all vertices that are not final. Returns the edges that were kept
    /// and the limit of the lengths to which they lead, which may have fallen.
    fn sweep(
        &mut self,
        edges: &Edges,
        (from, limit, end): (u64, u64, u64),
    ) -> Result<(Vec<Share>, u64)> {
        let search = &*self.search;
        let paths = Paths::new(search.engine.graph(), &search.distances);
        let sweep = Sweep {
            paths: &paths,
            distances: &search.distances,
            edges,
            active: &self.active,
            far: &search.far,
            from,
            end,
            limit: AtomicU64::new(limit),
            bound: search.bound(),
        };
        let keeps = if limit > from { ", edges kept" } else { "" };
        let label = format!("pass {}{keeps}", search.buckets);
        let lists = ActiveSet::NotIn(&self.done);
        let shares = search.engine.visit_weighted(label, Direction::Out, lists, &sweep)?;
        Ok((shares, sweep.limit.into_inner()))
    }

    /// Before a pass: its active vertices, those of the frontier, and those whose lists are not
    /// needed.
    fn prepare(&mut self, from: u64) {
        let search = &mut *self.search;
        self.active.clear();
        self.active.merge(search.frontier.bits());
        search.frontier.clear();
        self.done.clear();
        let (active, distances) = (&self.active, &search.distances);
        parallel::insert_where(&self.done, 0..distances.len() as VertexId, |v| {
            distances[v as usize].load(Ordering::Relaxed) < from && !active.contains(v)
        });
    }

    /// Follows the active vertices below a limit on edges in memory. False after too many steps.
    fn search_below(&mut self, limit: u64, edges: &Edges, shares: &[Share]) -> Result<bool> {
        edges.link(shares);
        while let Some(first) = self.search.first().filter(|first| *first < limit) {
            let end = self.bucket_end(first).min(limit);
            self.search.take_bucket(end);
            while !self.search.frontier.is_empty() {
                if self.steps == STEPS_MAX {
                    self.search.put_back();
                    return Ok(false);
                }
                self.steps += 1;
                self.search.engine.check_cancel()?;
                self.step(end, edges);
            }
        }
        Ok(true)
    }

    /// The end of a bucket in memory.
    fn bucket_end(&self, first: u64) -> u64 {
        let Search { far, distances, .. } = &*self.search;
        let step = (far.count() as usize / BUCKET_SAMPLE).max(1);
        let distance = |v: VertexId| distances[v as usize].load(Ordering::Relaxed);
        let mut sample: Vec<_> = far.iter().step_by(step).map(distance).collect();
        sample.sort_unstable();
        sample[sample.len() / BUCKET_SHARE].max(first + 1)
    }

    /// Follows the frontier on edges in memory.
    fn step(&mut self, end: u64, edges: &Edges) {
        let (search, done) = (&mut *self.search, &self.done);
        let bound = search.bound();
        let paths = Paths::new(search.engine.graph(), &search.distances);
        let (next, far) = (&search.next, &search.far);
        let follow = |v: VertexId, part: &mut FrontierPart| {
            done.insert(v);
            let before = paths.distance(v);
            edges.for_each(v, |target, weight| {
                let sum = paths.longer(before, weight);
                if sum <= bound && paths.lower(target, sum) {
                    keep_active(target, sum < end, (next, part), far);
                }
            });
        };
        let frontier = &search.frontier;
        let of_all = |vertices: &mut dyn Iterator<Item = VertexId>| {
            let mut part = FrontierPart::default();
            vertices.for_each(|v| follow(v, &mut part));
            part
        };
        let parts = match frontier.list() {
            Some(list) => parallel::collect_of_blocks(LIST_BLOCK, list.len(), |range| {
                of_all(&mut list[range].iter().copied())
            }),
            None => parallel::collect_of_blocks(parallel::BLOCK, far.len(), |range| {
                of_all(&mut frontier.bits().iter_in(range.start as VertexId..range.end as VertexId))
            }),
        };
        search.frontier.advance(&mut search.next, parts);
    }
}
