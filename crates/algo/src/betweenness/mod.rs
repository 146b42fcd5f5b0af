//! Betweenness centrality from given sources.
//!
//! **Returns** for every vertex v the sum, over the sources s other than v and all vertices t
//! other than s and v, of the fraction of the shortest paths from s to t that pass through v. A
//! repeated edge counts once. [`Scale`] says how the sum is scaled.
//!
//! **Source.** Brandes, A faster algorithm for betweenness centrality (2001).
//!
//! **Trick.** Searches run side by side, level by level: a block is read once for all searches that
//! have a vertex of it on their level, and a vertex's neighbours are looked up once for all. Path
//! counts and dependencies are summed in the order of the lists. A vertex keeps one number for
//! both: once its dependency is known, only (1 + dependency) / paths is needed. The backward sweep
//! skips vertices without a successor. Only ratios of path counts matter, so that a search divides
//! all of them by a power of two from a level on where they become too large for a number.
//!
//! Searches of many levels start again by page ([`by_page`]), and so do those whose path counts on
//! a level are too unlike for a number.
//!
//! - [`by_page`]: a search by pages instead of levels
//! - [`levels`]: the vertices of each level, for the way back
//! - [`state`]: levels and values of the searches, and the sums
//! - [`sweep`]: a level forward and backward
//! - [`verify`]: a plain serial count

mod by_page;
mod levels;
mod state;
mod sweep;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use cenote_engine::{
    ActiveSet, Assembled, Bitmap, Direction, Engine, EngineConfig, Frontier, FrontierPart, Graph,
    HugeVec, Needs, VertexId, setters,
};

use crate::estimate::{Estimate, Reads, plan_for};
use crate::kind::is_lattice;
use crate::mix::{GOLDEN, mix};
use crate::ranks::{Ranks, default_source, for_each_by_id, sort_by_id};
use crate::report::{AlgoError, Result, Run, check_vertices, demand_in_edges, graph_pages, pages};
use crate::worklist::{LATTICE_PAGES_SHARE, for_steps, goes_without_steps};
use by_page::{Search, Sets};
use levels::Levels;
use state::{LANE_BYTES, LANES_MAX, Lanes, Sums};
use sweep::{Backward, Forward};
pub use verify::verify;

const NAME: &str = "betweenness";

/// How the sum over the sources is scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Unscaled.
    #[default]
    Sum,
    /// An estimate of the betweenness from all sources, as NetworkX's `betweenness_centrality` with
    /// `normalized=False`; exact if all vertices are sources. The sum times (n - 1) / k for k
    /// sources; for a vertex that is a source, (n - 1) / (k - 1). Halved on an undirected graph,
    /// where a pair of vertices counts once.
    Full,
    /// The fraction of all pairs of other vertices, 0 to 1, as NetworkX with `normalized=True`: the
    /// sum over k (n - 2); for a source, over (k - 1) (n - 2).
    Normalized,
}

/// Parameters of betweenness centrality.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BetweennessConfig {
    /// Sources; duplicates count once. Empty: the vertex of largest degree.
    pub sources: Vec<VertexId>,
    /// How the sums are scaled.
    pub scale: Scale,
}

impl BetweennessConfig {
    setters! { sources: Vec<VertexId>, scale: Scale }
}

/// The result of betweenness centrality.
#[derive(Debug)]
#[non_exhaustive]
pub struct Betweenness {
    /// The sources, in the order of their ids.
    pub sources: Vec<VertexId>,
    /// The most searches that ran side by side.
    pub batch: usize,
    sums: Sums,
    ranks: Ranks,
    scale: Scale,
    directed: bool,
    vertices: usize,
    /// Statistics of the run.
    pub run: Run,
}

impl Betweenness {
    /// The sum of `v` over the sources.
    pub fn sum(&self, v: VertexId) -> f64 {
        self.sums.get(v)
    }

    /// The betweenness of `v`, scaled by [`Scale`]; 0 for the only source.
    pub fn betweenness(&self, v: VertexId) -> f64 {
        let rank = self.ranks.of(v);
        let is_source = self.sources.binary_search_by_key(&rank, |&s| self.ranks.of(s)).is_ok();
        let others = (self.sources.len() - usize::from(is_source)) as f64;
        let (sum, n) = (self.sum(v), self.vertices as f64);
        if sum == 0.0 {
            return 0.0;
        }
        match self.scale {
            Scale::Sum => sum,
            Scale::Full => sum * (n - 1.0) / (others * if self.directed { 1.0 } else { 2.0 }),
            Scale::Normalized => sum / (others * (n - 2.0)),
        }
    }

    /// The `count` vertices of highest betweenness; ties in the order of ids.
    pub fn top(&self, count: usize) -> Vec<(VertexId, f64)> {
        let all = 0..self.sums.len() as VertexId;
        self.ranks.top(count, all.map(|v| (v, self.betweenness(v))))
    }
}

/// A uniform sample of `count` vertices of `graph` without replacement, in the order of their ids;
/// the same for the same seed.
///
/// # Errors
/// `count` is 0 or exceeds the number of vertices.
pub fn sample(graph: &Graph, count: u64, seed: u64) -> Result<Vec<VertexId>> {
    let n = graph.live_vertices() as u64;
    if count == 0 || count > n {
        return Err(AlgoError::Parameter {
            parameter: "samples",
            given: count.to_string(),
            expected: format!("1 to the graph's {n} vertices"),
        });
    }
    // Floyd's algorithm: a repeated draw is replaced by the newest candidate.
    let mut chosen = std::collections::BTreeSet::new();
    for last in n - count..n {
        let draw = below(seed, last, last + 1);
        if !chosen.insert(draw) {
            chosen.insert(last);
        }
    }
    let (mut sample, mut rank) = (Vec::with_capacity(chosen.len()), 0);
    for_each_by_id(graph, |v| {
        if chosen.contains(&rank) {
            sample.push(v);
        }
        rank += 1;
    })?;
    Ok(sample)
}

/// A number below `bound`, by SplitMix64 of seed and index.
fn below(seed: u64, index: u64, bound: u64) -> u64 {
    let random = mix(seed.wrapping_add((index + 1).wrapping_mul(GOLDEN)));
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// Memory: 16 bytes a vertex for sums, 4 1/8 for lists of levels, sets, and 12 for each search of a
/// batch; 4 more for the order of the ids if that is not the graph's.
fn needs(graph: &Graph, config: &EngineConfig, lanes: usize) -> Needs {
    let n = graph.vertices();
    let state_bytes = (Sums::BYTES + LANE_BYTES * lanes as u64) * n as u64
        + Levels::bytes_for(n)
        + 2 * Frontier::bytes_for(n, config.threads)
        + Assembled::bytes_for(graph, config)
        + Ranks::bytes_for(graph)
        + config.threads as u64 * Ranks::list_bytes(graph);
    let by_page = Search::bytes_for(pages(graph, Direction::Out), pages(graph, Direction::In));
    Needs { what: NAME, state_bytes: state_bytes.saturating_add(by_page), scratch_bytes: 0 }
}

/// Searches per batch: as many as there are sources and the budget allows, since searches of a
/// batch share their reads.
fn lanes(graph: &Graph, config: &EngineConfig, sources: usize) -> Result<usize> {
    let most = sources.clamp(1, LANES_MAX);
    let per_lane = LANE_BYTES * graph.vertices().max(1) as u64;
    let scratch_bytes = per_lane * (most as u64 - 1);
    let needs = |config: &EngineConfig| Needs { scratch_bytes, ..needs(graph, config, 1) };
    let config = config.clone().cache_bytes(Some(0));
    let (_, memory) = plan_for(graph, &config, needs)?;
    let fitting = 1 + (memory.scratch_bytes / per_lane) as usize;
    // Batches of similar size: a last batch of few sources costs as much as a full one.
    Ok(sources.max(1).div_ceil(sources.max(1).div_ceil(fitting.min(most))))
}

fn sources(graph: &Graph, betweenness: &BetweennessConfig) -> Result<Vec<VertexId>> {
    let mut sources = betweenness.sources.clone();
    if sources.is_empty() && graph.live_vertices() > 0 {
        sources.push(default_source(graph)?);
    }
    check_vertices(graph, "source", &sources)?;
    sort_by_id(graph, &mut sources)?;
    Ok(sources)
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// As [`run`].
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    betweenness: &BetweennessConfig,
) -> Result<Estimate> {
    demand_in_edges(graph, NAME)?;
    let sources = sources(graph, betweenness)?.len();
    let config = &for_steps(graph, config.clone());
    let lanes = lanes(graph, config, sources)?;
    let plan = Engine::plan(graph, config, &needs(graph, config, lanes))?;
    let batches = sources.div_ceil(lanes.max(1));
    let pages = graph_pages(graph) + pages(graph, Direction::Out);
    let by_page = is_lattice(graph) && goes_without_steps(config);
    let (times, passes, how) = match () {
        () if by_page => (sources, PASSES_BY_PAGE, "by page if neighbours share pages"),
        () if lanes == 1 => (batches, LEVELS_ALONE, "where there are few levels"),
        () => (batches, LEVELS_TOGETHER, "where there are few levels"),
    };
    // Pages kept in memory are read about once; by level, gaps read between them are not kept.
    let kept = plan.1.cached_fraction(graph);
    let all = pages as f64 * times as f64 * passes * (1.0 - kept);
    let likely = all + 1.45 * kept * graph_pages(graph) as f64;
    let because = format!(
        "{batches} batches of {lanes} searches, {times} times about {passes} times all pages \
         forward and backward {how}, {:.1}% of them in memory",
        100.0 * kept
    );
    let lane_bytes = LANE_BYTES * lanes as u64 * graph.vertices() as u64;
    let reads = Reads::between(1.0, likely, 4.0 * likely).idling(lane_bytes);
    Ok(Estimate::new(graph, plan, reads.sparing(Assembled::bytes_for(graph, config)), because))
}

/// Levels of one search on a social graph whose vertices lie on nearly all pages.
const LEVELS_ALONE: f64 = 2.4;

/// The same for several searches together.
const LEVELS_TOGETHER: f64 = 3.0;

/// The same for a search by page of a lattice, part of them in gaps between pages.
const PASSES_BY_PAGE: f64 = 4.0;

/// Computes the sums.
///
/// # Errors
/// A source that is not a vertex; a directed graph without in-edges; any error of the engine.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    betweenness: &BetweennessConfig,
) -> Result<Betweenness> {
    demand_in_edges(graph, NAME)?;
    let sources = sources(graph, betweenness)?;
    let config = for_steps(graph, config);
    let lanes = lanes(graph, &config, sources.len())?;
    let needs = needs(graph, &config, lanes);
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    let (sums, ranks) = engine.install(|| {
        let mut batches = Batches::new(&engine, lanes)?;
        for sources in sources.chunks(lanes) {
            batches.run(sources)?;
        }
        Result::Ok((batches.sums, batches.ranks))
    })?;
    Ok(Betweenness {
        sources,
        batch: lanes,
        sums,
        ranks,
        scale: betweenness.scale,
        directed: graph.is_directed(),
        vertices: graph.live_vertices(),
        run: Run::of(&engine),
    })
}

/// How searches level by level ended.
enum ByLevel {
    Done,
    /// There are so many levels that other ways may be faster.
    TooDeep,
    /// Path counts on a level differ by more than a number without an exponent can hold.
    TooUnlike,
}

/// The pages of a batch's levels after which searches by page are tried.
fn pages_max(engine: &Engine, lanes: usize) -> f64 {
    if !goes_without_steps(engine.config()) {
        return f64::INFINITY;
    }
    let graph = engine.graph();
    let passes = if is_lattice(graph) { 1.0 / LATTICE_PAGES_SHARE as f64 } else { DEEP_PASSES };
    passes * lanes as f64 * pages(graph, Direction::Out) as f64
}

/// A search that ends within so many levels is not deep: on a random graph with few edges a vertex,
/// which has 16, a search by page takes twice as long.
const LEVELS_MIN: u32 = 64;

/// The passes over a graph that does not look like a lattice after which a search is deep: as many
/// as a search by page of a grid takes in all.
const DEEP_PASSES: f64 = 4.0;

/// A search by page is given up if it visits the pages more often than this to find the levels.
/// Neighbours then lie on different pages, and searches by level share visits better.
const LEVEL_PASSES_MAX: u64 = 16;

/// The state of the batches.
struct Batches<'e> {
    engine: &'e Engine,
    /// The most searches side by side.
    batch: usize,
    lanes: Lanes,
    ranks: Ranks,
    sums: Sums,
    frontier: Frontier,
    next: Frontier,
    levels: Levels,
    /// Pages of lists of vertices on each level, over all levels, above which searches by page are
    /// tried.
    pages_max: f64,
    /// [`Search::words`] from the time on when searches go by page; empty before.
    words: HugeVec<AtomicU32>,
    /// [`Sets::unreported`], likewise.
    unreported: Option<Bitmap>,
    /// Levels whose path counts are smaller by [`sweep::SHRINK`] than those of the level before,
    /// and in which lanes; in ascending order.
    shrunk: Vec<(u32, u32)>,
}

impl<'e> Batches<'e> {
    fn new(engine: &'e Engine, lanes: usize) -> Result<Self> {
        let n = engine.graph().vertices();
        Ok(Self {
            engine,
            batch: lanes,
            lanes: Lanes::new(n, lanes)?,
            ranks: Ranks::load(engine.graph())?,
            sums: Sums::new(n)?,
            frontier: Frontier::new(n)?,
            next: Frontier::new(n)?,
            levels: Levels::new(n)?,
            pages_max: pages_max(engine, lanes),
            words: HugeVec::zeroed(0)?,
            unreported: None,
            shrunk: Vec::new(),
        })
    }

    fn run(&mut self, sources: &[VertexId]) -> Result<()> {
        let mut visits_max = u64::MAX;
        if self.words.is_empty() {
            match self.by_level(sources)? {
                ByLevel::Done => return Ok(()),
                ByLevel::TooDeep => {
                    visits_max = LEVEL_PASSES_MAX * pages(self.engine.graph(), Direction::Out);
                }
                ByLevel::TooUnlike => {}
            }
            self.leave_levels()?;
        }
        if !self.by_page(sources, visits_max)? {
            self.return_to_levels()?;
            self.run(sources)?;
        }
        Ok(())
    }

    /// From here on searches go by page. The lists of levels make room for what they need.
    fn leave_levels(&mut self) -> Result<()> {
        let (graph, n) = (self.engine.graph(), self.engine.graph().vertices());
        self.levels = Levels::new(0)?;
        self.words = HugeVec::zeroed(n)?;
        self.unreported = graph.is_directed().then(|| Bitmap::new(n)).transpose()?;
        self.frontier.clear();
        self.next.clear();
        self.lanes.divide(1);
        Ok(())
    }

    /// From here on searches go by level, however deep they are.
    fn return_to_levels(&mut self) -> Result<()> {
        (self.words, self.unreported) = (HugeVec::zeroed(0)?, None);
        self.levels = Levels::new(self.engine.graph().vertices())?;
        self.lanes.divide(self.batch);
        self.pages_max = f64::INFINITY;
        Ok(())
    }

    /// Searches by page, one source after the other; false if finding the levels of the first takes
    /// more than `visits_max` visits of pages. Then nothing is added to the sums.
    fn by_page(&mut self, sources: &[VertexId], visits_max: u64) -> Result<bool> {
        let Self { engine, lanes, words, unreported, ranks, sums, frontier, next, .. } = self;
        let search = Search { engine, lanes, words, ranks, sums };
        let mut sets = Sets { due: next.bits(), frontier, unreported: unreported.as_ref() };
        let mut visits_max = visits_max;
        for &source in sources {
            if !search.find_levels(source, &sets, visits_max)? {
                return Ok(false);
            }
            search.run(&mut sets)?;
            visits_max = u64::MAX;
        }
        Ok(true)
    }

    /// Searches level by level, unless that is given up on the way forward, before anything is
    /// added to the sums.
    fn by_level(&mut self, sources: &[VertexId]) -> Result<ByLevel> {
        self.lanes.start(sources);
        self.levels.clear();
        self.shrunk.clear();
        self.frontier.set(sources);
        let (mut level, mut pages_seen) = (0, 0.0);
        while !self.frontier.is_empty() {
            pages_seen +=
                self.engine.active_pages(Direction::Out, &ActiveSet::In(&self.frontier)) as f64;
            self.levels.note(level, self.frontier.list());
            if level > LEVELS_MIN && pages_seen > self.pages_max {
                return Ok(ByLevel::TooDeep);
            }
            if !self.forward(level)? {
                return Ok(ByLevel::TooUnlike);
            }
            self.frontier.clear();
            std::mem::swap(&mut self.frontier, &mut self.next);
            level += 1;
        }
        // The last level has no successor; the source, on level 0, adds nothing to itself.
        if let Some(last) = level.checked_sub(1) {
            self.levels.take(last);
            for level in (1..last).rev() {
                self.backward(level)?;
            }
        }
        Ok(ByLevel::Done)
    }

    /// The lanes in which path counts shrink on the way to `level`.
    fn shrunk(&self, level: u32) -> u32 {
        match self.shrunk.binary_search_by_key(&level, |&(level, _)| level) {
            Ok(at) => self.shrunk[at].1,
            Err(_) => 0,
        }
    }

    /// False if path counts on this level are too unlike.
    fn forward(&mut self, level: u32) -> Result<bool> {
        let (large, lost) = (AtomicU32::new(0), AtomicBool::new(false));
        let shrunk = self.shrunk(level);
        let directed = self.engine.graph().is_directed();
        let step = |direction, pulls, pushes| -> Result<Vec<FrontierPart>> {
            let kernel = Forward {
                lanes: &self.lanes,
                ranks: &self.ranks,
                next: &self.next,
                level,
                pulls,
                pushes,
                shrunk,
                large: &large,
                lost: &lost,
            };
            let label = format!("forward {level}");
            let active = ActiveSet::In(&self.frontier);
            let locals = self.engine.visit_whole(label, direction, active, &kernel)?;
            Ok(locals.into_iter().map(|(part, _)| part).collect())
        };
        if directed && level > 0 {
            step(Direction::In, true, false)?;
        }
        let parts = step(Direction::Out, !directed, true)?;
        self.next.seal(parts);
        match large.into_inner() {
            0 => {}
            lanes => self.shrunk.push((level + 1, lanes)),
        }
        Ok(!lost.into_inner())
    }

    fn backward(&mut self, level: u32) -> Result<()> {
        self.frontier.clear();
        self.find_level(level);
        if self.frontier.is_empty() {
            return Ok(());
        }
        let Self { lanes, ranks, sums, .. } = &*self;
        let shrunk = self.shrunk(level + 1);
        let kernel = Backward { lanes, ranks, sums, level, shrunk };
        let active = ActiveSet::In(&self.frontier);
        let label = format!("backward {level}");
        self.engine.visit_whole(label, Direction::Out, active, &kernel)?;
        Ok(())
    }

    /// Sets the frontier to the vertices of a level that have successors.
    fn find_level(&mut self, level: u32) {
        let parts = match self.levels.take(level) {
            Some(list) => {
                let mut part = FrontierPart::default();
                for &v in list {
                    if self.lanes.has_successor(v, level) {
                        self.frontier.add(v, &mut part);
                    }
                }
                vec![part]
            }
            None => {
                let add = |v, part: &mut FrontierPart| {
                    self.frontier.add(v, part);
                };
                self.lanes.with_successors(level, add)
            }
        };
        self.frontier.seal(parts);
    }
}
