//! Personalised PageRank of many seeds side by side.
//!
//! **Returns** for every seed the vertices of highest rank. The rank of a vertex is the probability
//! that a random walk is there: it starts at the seed, follows with probability `damping` a random
//! edge of its vertex, and goes back to the seed otherwise, and from a vertex without out-edges.
//! That is the rank of [`pagerank`](crate::pagerank) personalised to the seed, from below:
//!
//! - no rank is above the exact one, and none is below it by more than the mass that was not
//!   settled ([`Ppr::unsettled`]), which is computed for each seed;
//! - on an undirected graph none is below it by more than `tolerance` times the degree of its
//!   vertex.
//!
//! **Source.** Andersen, Chung and Lang, "Local graph partitioning using PageRank vectors", FOCS
//! 2006 (forward push): a vertex holds mass that is not settled; while that is at least `tolerance`
//! times its degree, the vertex settles the share 1 - damping of it and passes the rest to its
//! neighbours. Pushes need only the lists near the seed: at most 1 / (tolerance · (1 - damping))
//! entries and its own, whatever the size of the graph.
//!
//! **Trick.** All vertices of all seeds that are above the tolerance push at once, so a list is
//! read once for all seeds that need it in a round. Masses are integers, whose sums do not depend
//! on the order, so the ranks do not either: not on threads, on pages, or on the seeds that run
//! side by side. Seeds enter and leave as memory becomes free.
//!
//! Steps: [`work`], [`table`].

mod table;
mod verify;
mod work;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use cenote_engine::{
    ActiveSet, Direction, Engine, EngineConfig, Frontier, Graph, HugeVec, Kernel, List, Needs,
    VertexId, setters,
};
use rayon::prelude::*;

use crate::estimate::{Estimate, Reads, engine_for, kept, plan_for};
use crate::parallel;
use crate::ranks::{Ranks, default_source, sort_by_id};
use crate::report::{AlgoError, Result, Run, check_vertices, pages};
pub use verify::verify;
use work::{Budget, Job, Rules, Work};

const NAME: &str = "ppr";

/// The share of the largest memory of a seed that one takes as a rule.
const USUAL_SHARE: u64 = 8;

/// Parameters of personalised PageRank.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PprConfig {
    /// The seeds; empty: the vertex of largest degree. Duplicates count once.
    pub seeds: Vec<VertexId>,
    /// Vertices of highest rank for each seed.
    pub top_k: u32,
    /// Probability to follow an edge, 0 to less than 1.
    pub damping: f64,
    /// The mass per edge that a vertex may hold without settling it.
    pub tolerance: f64,
}

impl Default for PprConfig {
    fn default() -> Self {
        Self { seeds: Vec::new(), top_k: 10, damping: 0.85, tolerance: 1e-5 }
    }
}

impl PprConfig {
    setters! { seeds: Vec<VertexId>, top_k: u32, damping: f64, tolerance: f64 }

    fn check(&self, graph: &Graph) -> Result<()> {
        check_vertices(graph, "seed", &self.seeds)?;
        let bad = |parameter, given: String, expected: &str| {
            Err(AlgoError::Parameter { parameter, given, expected: expected.to_owned() })
        };
        if !(0.0..1.0).contains(&self.damping) {
            let expected = "a probability from 0 to less than 1 is needed";
            return bad("damping", format!("{:?}", self.damping), expected);
        }
        // Below, masses of fixed point have too few digits.
        if !(1e-12..=1.0).contains(&self.tolerance) {
            let expected = "a number from 1e-12 to 1 is needed, such as 1e-5";
            return bad("tolerance", format!("{:?}", self.tolerance), expected);
        }
        let rows = self.seeds.len().max(1) as u64 * u64::from(self.top_k);
        if self.top_k == 0 || rows > u64::from(u32::MAX) {
            let expected = "at least 1, and 4294967295 over all seeds at most, are possible";
            return bad("top_k", self.top_k.to_string(), expected);
        }
        Ok(())
    }
}

/// A vertex and its rank for a seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedRank {
    /// The seed.
    pub seed: VertexId,
    /// The vertex.
    pub vertex: VertexId,
    /// Its rank.
    pub rank: f64,
}

/// The result of personalised PageRank.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ppr {
    /// The seeds, in the order of their ids.
    pub seeds: Vec<VertexId>,
    /// The vertices of highest rank of each seed, highest first, ties in the order of ids; the
    /// seeds in their order. A seed has fewer than asked for where fewer have a rank.
    pub rows: Vec<SeedRank>,
    /// For each seed the mass that was not settled: the most by which a rank is too low.
    pub unsettled: Vec<f64>,
    /// Rounds, in each of which lists were read for several seeds.
    pub rounds: u64,
    /// The most seeds that ran side by side.
    pub side_by_side: usize,
    /// Pushes of vertices, over all seeds; those of seeds that began again included.
    pub pushes: u64,
    /// Statistics of the run.
    pub run: Run,
}

/// Memory: 4 bytes a vertex for its degree, a frontier, the largest memory of one seed, and 16
/// bytes a row of the answer; 4 bytes a vertex if the graph is not in the order of its ids.
/// Optionally the memory of further seeds.
pub fn needs(graph: &Graph, config: &EngineConfig, ppr: &PprConfig) -> Needs {
    let n = graph.vertices();
    let seeds = ppr.seeds.len().max(1) as u64;
    let one = Rules::new(graph, ppr).bytes_max();
    let rows = seeds * (16 * u64::from(ppr.top_k).min(n as u64) + 16);
    let frontier = Frontier::bytes_for(n, config.threads);
    let state_bytes = 4 * n as u64 + frontier + Ranks::bytes_for(graph) + rows;
    Needs {
        what: NAME,
        state_bytes: state_bytes.saturating_add(one),
        scratch_bytes: one.saturating_mul(seeds - 1),
    }
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// As [`run`].
pub fn estimate(graph: &Graph, config: &EngineConfig, ppr: &PprConfig) -> Result<Estimate> {
    ppr.check(graph)?;
    let plan = plan_for(graph, config, |config| needs(graph, config, ppr))?;
    let pass = pages(graph, Direction::Out);
    let (one, seeds) = (Rules::new(graph, ppr).bytes_max(), ppr.seeds.len().max(1) as f64);
    let room = (plan.1.scratch_bytes + one) as f64;
    let usual = (one / USUAL_SHARE) as f64;
    let batches = (seeds * usual / room).ceil().max(1.0);
    // Lists of a seed, each of which may need a page of its own, a few times.
    let of_one = (1.0 / (ppr.tolerance * (1.0 - ppr.damping)) / 20.0).min(6.0 * pass as f64);
    let visited = (seeds * of_one).min(batches * 12.0 * pass as f64);
    let missing = 1.0 - kept(graph, &plan.1, pass);
    let likely = visited.min(pass as f64) + (visited - pass as f64).max(0.0) * missing;
    let filled = (seeds * usual / room).min(1.0);
    let reads = Reads::between(likely / 20.0, likely, 3.0 * likely).visiting(visited);
    let because = format!(
        "the pages of lists near the seeds, once in a round for all seeds that run side by side, \
         about {:.0} of {seeds}",
        (seeds / batches).ceil()
    );
    let used = one - (one / USUAL_SHARE).min(one);
    Ok(Estimate::new(graph, plan, reads.filling(filled / 20.0, filled).sparing(used), because))
}

/// Computes the ranks.
///
/// # Errors
/// A seed that is not a vertex, a parameter out of range; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, ppr: &PprConfig) -> Result<Ppr> {
    ppr.check(graph)?;
    let mut seeds = ppr.seeds.clone();
    if seeds.is_empty() {
        seeds.push(default_source(graph)?);
    }
    check_vertices(graph, "seed", &seeds)?;
    sort_by_id(graph, &mut seeds)?;
    let engine = engine_for(graph, config, |config| needs(graph, config, ppr))?;
    engine.install(|| {
        let mut pushing = Pushing::new(&engine, ppr, seeds.len())?;
        while pushing.admit(&seeds)? {
            pushing.round()?;
            pushing.leave(ppr.top_k)?;
        }
        let found = pushing.found.into_iter();
        let (rows, unsettled): (Vec<_>, Vec<_>) = found.map(Option::unwrap_or_default).unzip();
        Ok(Ppr {
            seeds,
            rows: rows.into_iter().flatten().collect(),
            unsettled,
            rounds: pushing.rounds,
            side_by_side: pushing.side_by_side,
            pushes: pushing.pushes,
            run: Run::of(&engine),
        })
    })
}

/// The rows of a seed, and the mass that was not settled.
type Found = (Vec<SeedRank>, f64);

/// The seeds that run side by side, and those that wait.
struct Pushing<'e> {
    engine: &'e Engine,
    rules: Rules,
    ranks: Ranks,
    degrees: HugeVec<u32>,
    frontier: Frontier,
    waiting: VecDeque<usize>,
    running: Vec<Mutex<Work>>,
    budget: Budget,
    /// The bytes that a seed is expected to take.
    expected: u64,
    found: Vec<Option<Found>>,
    rounds: u64,
    side_by_side: usize,
    pushes: u64,
}

impl<'e> Pushing<'e> {
    fn new(engine: &'e Engine, ppr: &PprConfig, seeds: usize) -> Result<Self> {
        let graph = engine.graph();
        let rules = Rules::new(graph, ppr);
        let mut degrees = HugeVec::zeroed(graph.vertices())?;
        graph.degrees(Direction::Out, &mut |first, some| {
            for (place, &degree) in degrees[first as usize..].iter_mut().zip(some) {
                // Beyond, the vertex only pushes earlier than it would have to.
                *place = u32::try_from(degree).unwrap_or(u32::MAX);
            }
        })?;
        let one = rules.bytes_max();
        Ok(Self {
            engine,
            rules,
            ranks: Ranks::load(graph)?,
            degrees,
            frontier: Frontier::new(graph.vertices())?,
            waiting: (0..seeds).collect(),
            running: Vec::new(),
            budget: Budget::new(one.saturating_add(engine.memory().scratch_bytes)),
            expected: (one / USUAL_SHARE).max(1),
            found: (0..seeds).map(|_| None).collect(),
            rounds: 0,
            side_by_side: 0,
            pushes: 0,
        })
    }

    /// Starts waiting seeds while there is memory; false if none runs.
    fn admit(&mut self, seeds: &[VertexId]) -> Result<bool> {
        while let Some(&number) = self.waiting.front() {
            let expected = (self.running.len() as u64 + 1).saturating_mul(self.expected);
            let fits = expected <= self.budget.max() && self.budget.has(self.expected);
            if !self.running.is_empty() && !fits {
                break;
            }
            self.waiting.pop_front();
            let degree = self.degrees[seeds[number] as usize];
            let work = Work::new(number, seeds[number], degree, &self.budget)?;
            self.running.push(Mutex::new(work));
        }
        self.side_by_side = self.side_by_side.max(self.running.len());
        Ok(!self.running.is_empty())
    }

    /// All active vertices of all running seeds push.
    fn round(&mut self) -> Result<()> {
        let (rules, degrees, budget) = (&self.rules, &self.degrees, &self.budget);
        let jobs = parallel::map_mut(&mut self.running, |place, work| {
            exclusive(work).settle(place as u32, rules, degrees, budget)
        });
        let mut jobs = jobs.concat();
        jobs.par_sort_unstable_by_key(|job| (job.vertex, job.work));
        self.pushes += jobs.len() as u64;
        self.rounds += 1;
        if jobs.is_empty() {
            return Ok(());
        }
        self.frontier.set(jobs.chunk_by(|a, b| a.vertex == b.vertex).map(|of| of[0].vertex));
        let kernel = Push {
            jobs: &jobs,
            running: &self.running,
            rules: (&self.rules, &self.degrees),
            budget: &self.budget,
        };
        let label = format!("round {}", self.rounds);
        self.engine.visit(label, Direction::Out, ActiveSet::In(&self.frontier), &kernel)?;
        Ok(())
    }

    /// Takes out the seeds that are done, and those that did not fit: these wait again.
    fn leave(&mut self, top_k: u32) -> Result<()> {
        let (mut done, mut stay, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for work in self.running.drain(..) {
            let mut found = work.into_inner().unwrap_or_else(PoisonError::into_inner);
            match (found.check()?, found.is_done()) {
                (true, _) => failed.push(found),
                (false, true) => done.push(found),
                (false, false) => stay.push(Mutex::new(found)),
            }
        }
        self.running = stay;
        if let Some(largest) = done.iter().map(Work::bytes_peak).max() {
            // Half of what was expected and of what was found.
            self.expected = (self.expected + largest).div_ceil(2);
        }
        for mut work in failed.into_iter().rev() {
            work.release(&self.budget);
            self.expected = self.expected.max(work.bytes_peak()).saturating_mul(5) / 4;
            self.waiting.push_front(work.number);
        }
        let (rules, ranks) = (&self.rules, &self.ranks);
        let budget = &self.budget;
        let found = parallel::map(done, |mut work| {
            work.release(budget);
            (work.number, work.finish(top_k, rules, ranks))
        });
        for (number, found) in found {
            self.found[number] = Some(found);
        }
        Ok(())
    }
}

fn exclusive(work: &mut Mutex<Work>) -> &mut Work {
    work.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Passes mass along the lists of vertices that push.
struct Push<'a> {
    /// By vertex.
    jobs: &'a [Job],
    running: &'a [Mutex<Work>],
    rules: (&'a Rules, &'a [u32]),
    budget: &'a Budget,
}

impl Kernel for Push<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let first = self.jobs.partition_point(|job| job.vertex < list.vertex);
        let of_vertex = self.jobs[first..].iter().take_while(|job| job.vertex == list.vertex);
        for job in of_vertex {
            let share = job.mass / list.degree.max(1);
            let work = &self.running[job.work as usize];
            let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
            if !work.has_failed() {
                work.receive(list.targets, share, self.rules, self.budget);
            }
        }
    }
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
