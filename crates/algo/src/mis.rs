//! A maximal independent set.
//!
//! **Returns** a maximal set of vertices of which no two are neighbours: the lexicographically
//! first one by priority, that is, the choice of a greedy algorithm that visits the vertices by
//! ascending hash of seed and vertex. It does not depend on the order of computation. Edges count
//! in both directions; self-loops do not count.
//!
//! **Source.** Luby, "A simple parallel algorithm for the maximal independent set problem", SIAM
//! J. Computing 1986, with priorities drawn once: Blelloch, Fineman and Shun, "Greedy sequential
//! maximal independent set and matching are parallel on average", SPAA 2012 (O(log² n) rounds with
//! high probability). GraphSSD, section 4.1, has it among its algorithms.
//!
//! **Trick.** Decisions are final, so no vertex waits for the end of a round: a vertex whose
//! earlier neighbours are all out joins the set at once, and its neighbours are out before their
//! lists are read. The residual graph of a pass, the lists of undecided vertices with only their
//! earlier undecided neighbours (on a directed graph all undecided ones), is kept in memory; if it
//! does not fit, the next pass reads the lists of the undecided only.
//!
//! A directed graph needs no in-edges: an edge seen at its source decides at both ends. A vertex
//! may learn of an earlier neighbour from that neighbour's list, so it is decided at the end of a
//! round.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, EngineConfig, Graph, HugeVec, Kernel, List, Needs,
    Strategy, VertexId, for_each_list, setters,
};

use crate::estimate::{Estimate, Reads, kept};
use crate::mix::{GOLDEN, mix};
use crate::parallel;
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result, Run, pages};
use crate::residual::{Kept, Parts, ResidualPart};

const NAME: &str = "mis";

/// Vertices that a thread takes at a time at the end of a round.
const BLOCK: usize = 1 << 14;

/// Parameters of the maximal independent set.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct MisConfig {
    /// Seed of the priorities, and so of the choice of the set.
    pub seed: u64,
}

impl MisConfig {
    setters! { seed: u64 }
}

/// A maximal independent set.
#[derive(Debug)]
#[non_exhaustive]
pub struct Mis {
    states: States,
    /// Vertices in the set.
    pub size: u64,
    /// Rounds, over lists on the device and in memory.
    pub rounds: u64,
    /// Statistics of the run.
    pub run: Run,
}

impl Mis {
    /// Whether `v` is in the set.
    pub fn contains(&self, v: VertexId) -> bool {
        self.states.get(v) == IN
    }
}

/// The priority of the vertex with this rank; the least comes first. The mixer is a bijection, so
/// there are no ties.
#[inline(always)]
fn priority(seed: u64, rank: VertexId) -> u64 {
    mix(seed ^ u64::from(rank).wrapping_mul(GOLDEN))
}

/// Memory: two bits a vertex for its state, three sets; 4 bytes if the graph is not in the order of
/// its ids; optionally up to half of the lists.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    let n = graph.vertices();
    // Each undirected edge is kept at one end, and each list has a header of two words.
    let kept = if graph.is_directed() { 4 } else { 2 } * graph.superblock().stored_out;
    let scratch_bytes = if config.strategy == Strategy::Auto { kept + 8 * n as u64 } else { 0 };
    Needs {
        what: NAME,
        state_bytes: States::bytes_for(n) + 3 * Bitmap::bytes_for(n) + Ranks::bytes_for(graph),
        scratch_bytes,
    }
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    let needs = needs(graph, config);
    let plan = Engine::plan(graph, config, &needs)?;
    let pass = pages(graph, Direction::Out);
    // Where half of the edges do not fit, a second pass may be needed.
    let is_small = plan.1.scratch_bytes < needs.scratch_bytes / 2;
    // Passes after the first, on social and generated graphs, and the effect of the cache.
    let (more, because) = match (config.strategy, graph.is_directed()) {
        (Strategy::Auto, false) if is_small => {
            (0.0, "one pass over the pages, or two: half of the residual graph may not fit")
        }
        (Strategy::Auto, false) => (0.0, "one pass over the pages; the residual graph is kept"),
        (Strategy::Auto, true) => (0.9, "a pass over the pages, and nearly all of a second"),
        (_, false) => (1.1, "about two passes over the pages, less what is cached"),
        (_, true) => (4.1, "about five passes over the pages, less what is cached"),
    };
    let missing = 1.0 - kept(graph, &plan.1, pass);
    let again = if is_small { missing } else { 0.0 };
    let (at_least, likely) = (1.0 + more * missing, 1.0 + (more + again / 2.0) * missing);
    let passes = [at_least, likely, likely + again / 2.0].map(|passes| passes * pass as f64);
    let reads = Reads::between(passes[0], passes[1], passes[2]).filling(0.4, 0.75);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Computes the set.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, mis: &MisConfig) -> Result<Mis> {
    let needs = needs(graph, &config);
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let n = graph.vertices();
        let round = Round {
            seed: mis.seed,
            ranks: Ranks::load(graph)?,
            directed: graph.is_directed(),
            states: States::new(n)?,
            settled: Bitmap::new(n)?,
            blocked: Bitmap::new(n)?,
        };
        for &v in graph.deleted() {
            round.exclude(v);
        }
        let rounds = Rounds { engine: &engine, round, done: Bitmap::new(n)?, count: 0 };
        rounds.finish()
    })
}

// ------------------------------------------------------------------------------------------------
// States

const UNDECIDED: u32 = 0;
const IN: u32 = 1;
const OUT: u32 = 2;

/// Two bits a vertex. One atomic holds the whole state of a vertex, so decisions are not torn.
#[derive(Debug)]
struct States(HugeVec<AtomicU32>);

impl States {
    fn new(vertices: usize) -> Result<Self> {
        Ok(Self(HugeVec::zeroed(vertices.div_ceil(16))?))
    }

    fn bytes_for(vertices: usize) -> u64 {
        vertices.div_ceil(16) as u64 * 4
    }

    #[inline(always)]
    fn get(&self, v: VertexId) -> u32 {
        self.0[v as usize / 16].load(Ordering::Relaxed) >> (v % 16 * 2) & 3
    }

    /// How many vertices are in the set.
    fn count_in(&self) -> u64 {
        const EACH_IN: u32 = 0x5555_5555 * IN;
        self.0
            .iter()
            .map(|word| u64::from((word.load(Ordering::Relaxed) & EACH_IN).count_ones()))
            .sum()
    }

    /// Decides an undecided vertex.
    #[inline(always)]
    fn set(&self, v: VertexId, state: u32) {
        self.0[v as usize / 16].fetch_or(state << (v % 16 * 2), Ordering::Relaxed);
    }
}

// ------------------------------------------------------------------------------------------------
// Processing of a list

struct Round {
    seed: u64,
    ranks: Ranks,
    directed: bool,
    states: States,
    /// Vertices whose list is not needed any more: vertices outside the set, and members whose
    /// neighbours are excluded.
    settled: Bitmap,
    /// Vertices with an undecided earlier neighbour in this round.
    blocked: Bitmap,
}

impl Round {
    #[inline(always)]
    fn priority(&self, v: VertexId) -> u64 {
        priority(self.seed, self.ranks.of(v))
    }

    /// Processes the list of `v`, or a piece of it; passes the targets that matter later to `keep`.
    /// Returns whether the list is needed again.
    #[inline(always)]
    fn process(
        &self,
        v: VertexId,
        whole: bool,
        targets: &[VertexId],
        mut keep: impl FnMut(VertexId),
    ) -> bool {
        match self.states.get(v) {
            OUT => return false,
            IN => {
                if self.directed {
                    self.exclude_all(v, targets);
                }
                return false;
            }
            _ => {}
        }
        let own = self.priority(v);
        let mut blocked = false;
        for &target in targets {
            match self.states.get(target) {
                OUT => {}
                IN => {
                    self.exclude(v);
                    return false;
                }
                _ if target == v => {}
                _ if self.priority(target) < own => {
                    blocked = true;
                    keep(target);
                }
                _ if self.directed => {
                    self.blocked.insert(target);
                    keep(target);
                }
                _ => {}
            }
        }
        if blocked {
            self.blocked.insert(v);
        } else if whole && !self.directed {
            self.states.set(v, IN);
            self.settled.insert(v);
            self.exclude_all(v, targets);
            return false;
        }
        true
    }

    /// Excludes `v`, which has a neighbour in the set. Concurrent calls for a `v` agree.
    #[inline(always)]
    fn exclude(&self, v: VertexId) {
        self.states.set(v, OUT);
        self.settled.insert(v);
    }

    /// Excludes the undecided neighbours of `v`, a member of the set.
    fn exclude_all(&self, v: VertexId, targets: &[VertexId]) {
        for &target in targets {
            if target != v && self.states.get(target) == UNDECIDED {
                self.exclude(target);
            }
        }
    }

    /// Moves the targets that still matter to the front and returns their number; `None` if the
    /// list is not needed any more.
    fn shorten(&self, list: Kept, targets: &mut [VertexId]) -> Option<usize> {
        let state = self.states.get(list.vertex);
        if state == OUT || state == IN && !self.directed {
            return None;
        }
        let mut kept = 0;
        for i in 0..targets.len() {
            if self.states.get(targets[i]) != OUT {
                targets[kept] = targets[i];
                kept += 1;
            }
        }
        Some(kept)
    }
}

/// The kernel of a round over lists on the device.
struct RoundKernel<'a> {
    round: &'a Round,
    parts: Parts,
}

impl Kernel for RoundKernel<'_> {
    type Local = ResidualPart;

    fn local(&self) -> ResidualPart {
        self.parts.take()
    }

    fn list(&self, part: &mut ResidualPart, list: &List<'_>) {
        let (v, whole) = (list.vertex, list.is_whole());
        if part.is_full() {
            self.round.process(v, whole, list.targets, |_| {});
            return;
        }
        part.begin();
        if self.round.process(v, whole, list.targets, |target| part.push(target)) {
            part.end(Kept { vertex: v, whole });
            if part.is_full() {
                self.make_room(part, list);
            }
        } else {
            part.abandon();
        }
    }
}

impl RoundKernel<'_> {
    /// Drops the lists decided since they were kept; continues to keep lists if that frees enough.
    fn make_room(&self, part: &mut ResidualPart, list: &List<'_>) {
        part.retain(|kept, targets| self.round.shorten(kept, targets));
        if part.reopen() {
            part.keep(Kept { vertex: list.vertex, whole: list.is_whole() }, list.targets);
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Rounds

struct Rounds<'e> {
    engine: &'e Engine,
    round: Round,
    /// A copy of `settled` from the beginning of the round.
    done: Bitmap,
    count: u64,
}

impl Rounds<'_> {
    fn finish(mut self) -> Result<Mis> {
        let n = self.engine.graph().vertices() as u64;
        while self.round.settled.count() < n {
            self.count += 1;
            let parts = self.by_pass()?;
            self.end_round();
            if parts.iter().all(|part| !part.is_full()) {
                self.in_memory(parts)?;
                break;
            }
        }
        let states = self.round.states;
        Ok(Mis { size: states.count_in(), states, rounds: self.count, run: Run::of(self.engine) })
    }

    /// One round over the lists of the unsettled vertices; returns the residual lists.
    fn by_pass(&mut self) -> Result<Vec<ResidualPart>> {
        self.done.merge(&self.round.settled);
        let workers = self.engine.config().threads;
        let parts = Parts::new(self.engine.memory().scratch_bytes, workers, 0)?;
        let kernel = RoundKernel { round: &self.round, parts };
        let active = match (self.count, self.round.directed) {
            (1, _) => ActiveSet::All,
            // The list of a decided vertex is not needed.
            (_, false) => ActiveSet::NotIn(&self.round.settled),
            (_, true) => ActiveSet::NotIn(&self.done),
        };
        let label = format!("round {}", self.count);
        Ok(self.engine.visit(label, Direction::Out, active, &kernel)?)
    }

    /// Adds the unblocked undecided vertices to the set; settles the members from before, which
    /// have excluded their neighbours by now.
    fn end_round(&mut self) {
        let Self { round, done, .. } = self;
        let end_vertex = |v| match round.states.get(v) {
            IN => {
                round.settled.insert(v);
            }
            _ if round.blocked.contains(v) => {}
            _ => {
                round.states.set(v, IN);
                // Across an undirected edge, neighbours see the decision from their side.
                if !round.directed {
                    round.settled.insert(v);
                }
            }
        };
        parallel::blocks_of(BLOCK, done.len(), &|range| {
            let range = range.start as VertexId..range.end as VertexId;
            round.settled.iter_absent_in(range).for_each(end_vertex);
        });
        round.blocked.clear();
    }

    /// The remaining rounds, over the residual lists in memory.
    fn in_memory(&mut self, mut parts: Vec<ResidualPart>) -> Result<()> {
        while parts.iter().any(|part| part.lists() > 0) {
            self.engine.check_cancel()?;
            self.count += 1;
            let round = &self.round;
            parallel::for_each_mut(&mut parts, |_, part| {
                part.retain(|list, targets| {
                    let shorter = round.shorten(list, targets)?;
                    let targets = &targets[..shorter];
                    round.process(list.vertex, list.whole, targets, |_| {}).then_some(shorter)
                });
            });
            self.end_round();
        }
        Ok(())
    }
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Asserts, in one serial pass over the edges: no two neighbours are in the set; every vertex
/// outside has a neighbour of earlier priority in it (so it is maximal, and by induction the greedy
/// choice); the size is that of the set.
pub fn verify(graph: &Graph, config: &MisConfig, mis: &Mis) -> Result<()> {
    let ranks = Ranks::load(graph)?;
    let priority = |v| priority(config.seed, ranks.of(v));
    let mut covered = vec![false; graph.vertices()];
    let mut both: Option<(VertexId, VertexId)> = None;
    for_each_list(graph, Direction::Out, |list| {
        let v = list.vertex;
        for &target in list.targets.iter().filter(|&&target| target != v) {
            if mis.contains(v) && mis.contains(target) {
                both.get_or_insert((v, target));
            }
            let (first, second) = match priority(v) < priority(target) {
                true => (v, target),
                false => (target, v),
            };
            covered[second as usize] |= mis.contains(first);
        }
    })?;
    if let Some((v, target)) = both {
        return Err(wrong(format!("the neighbours {v} and {target} are both in the set")));
    }
    let mut size = 0;
    for (v, &covered) in (0..).zip(&covered) {
        let chosen = mis.contains(v);
        size += u64::from(chosen);
        if graph.is_deleted(v) {
            if chosen {
                return Err(wrong(format!("vertex {v} is deleted, but in the set")));
            }
        } else if !chosen && !covered {
            return Err(wrong(format!("vertex {v} could be in the set")));
        }
    }
    if size != mis.size {
        return Err(wrong(format!("{} vertices are counted, {size} are in the set", mis.size)));
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}
