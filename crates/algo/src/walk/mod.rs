//! Random walks: uniform or by weight, node2vec, with restart.
//!
//! **Returns** walks, each a start and the vertices visited from there. Step `s` of walk `w` is a
//! function of the graph, of the vertices before, and of random numbers keyed by (seed, w, s), so
//! walks do not depend on threads, strategy, budget or device.
//!
//! - With probability `restart` a step goes back to the start; the vertex before is then forgotten.
//! - At a vertex without out-neighbours, a dead end, the walk ends, or with [`DeadEnds::Restart`]
//!   goes back to its start, once.
//! - Otherwise an entry of the vertex's list is proposed: each with equal probability, or with
//!   [`WalkConfig::weighted`] in proportion to the weight of its edge: in the order of the ids, the
//!   first entry at which the sum of the weights exceeds a random number below the total. Edges of
//!   weight 0 are never proposed; a vertex with no others is a dead end. Weights are added as
//!   integers ([`fixed`]).
//! - A walk that came from `t` accepts the proposal `x` with a probability proportional to 1/p if
//!   `x` is `t`, to 1 if `t` has an edge to `x`, and to 1/q otherwise (node2vec, Grover and
//!   Leskovec, KDD 2016); if it rejects, it draws another. With p = q = 1, and on the first step,
//!   every proposal is accepted.
//!
//! **Source.** `block` and `vertex`: the CAVE paper's Algorithm 5, a frontier of the vertices of
//! all walks per step. `auto`: walks wait at pages, after GraphWalker (ATC 2020) and NosWalker
//! (ASPLOS 2023). Rejection sampling: KnightKing, SOSP 2019.
//!
//! **Trick.** Walks need not be at the same step. Pages are read in file order, and a walk
//! continues in the same sweep if its next page lies further on: two steps per sweep on average. Of
//! a hub's list only the page with the proposed entry is read.
//!
//! - [`draw`]: random numbers by counter
//! - [`rule`]: the definition of a step
//! - [`frontier`]: walks in lockstep; [`propose`]: proposals; [`by_id`]: if vertices are not in the
//!   order of ids
//! - [`sweep`]: walks that wait at pages; [`waiting`]: their queues; [`passes`]: estimated reads
//! - [`long`]: the page of an entry of a long list
//! - [`weigh`]: weighted choice; [`hubs`]: in long lists; [`fixed`]: weights as integers
//! - [`past`]: the state of node2vec
//! - [`corpus`]: from steps in any order to rows
//! - [`verify`](mod@verify): a serial verifier

mod by_id;
mod corpus;
mod draw;
mod fixed;
mod frontier;
mod hubs;
mod log;
mod long;
mod passes;
mod past;
mod propose;
mod rule;
mod sweep;
mod verify;
mod waiting;
mod weigh;

use std::path::Path;
use std::sync::Arc;

use cenote_engine::{Direction, Engine, EngineConfig, Graph, Needs, Strategy, weighted_bytes_for};

use crate::estimate::{Estimate, Reads};
use crate::ranks::is_natural;
use crate::report::{Result, Run, pages};
use corpus::{Corpus, Layout};
use log::{Log, Tally};
use past::{FirstOrder, SecondOrder};
use rule::Rule;
use weigh::Weighing;

pub use corpus::Sink;
pub use rule::{DeadEnds, Starts, WalkConfig};
pub use verify::{is_sampled, verify};

const NAME: &str = "walk";

/// The fewest walks in a batch: fewer would read the graph once more to save a megabyte.
const BATCH_MIN: u64 = 1 << 14;

/// The output of walks.
pub struct Output<'a> {
    /// A folder with space for twice the corpus's vertices, 4 bytes each, while the walks run.
    pub folder: &'a Path,
    /// Bytes of memory that the sink takes.
    pub sink_bytes: u64,
    /// Receives the walks in order.
    pub sink: &'a mut Sink<'a>,
}

/// The result of random walks.
#[derive(Debug)]
#[non_exhaustive]
pub struct Walks {
    /// Steps along edges.
    pub steps: u64,
    /// Steps back to the start.
    pub restarts: u64,
    /// Walks that ended at a vertex without a neighbour.
    pub dead_ends: u64,
    /// Sum, modulo 2^64, of a hash of every walk, step and rank of the vertex: equal for equal
    /// walks.
    pub fingerprint: u64,
    /// Batches of walks, whose state fits the budget.
    pub batches: u64,
    /// Bytes that the corpus took on disk before it became rows.
    pub spill_bytes: u64,
    /// Statistics of the run.
    pub run: Run,
}

/// How walks are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Frontier,
    Sweep,
    /// With node2vec.
    SweepSecondOrder,
}

impl Method {
    fn of(graph: &Graph, config: &EngineConfig, walk: &WalkConfig) -> Self {
        match config.strategy {
            // If entries are not in the order of their ids the whole list is needed.
            _ if !is_natural(graph) => Self::Frontier,
            Strategy::Auto if sweep::can_sweep(pages(graph, Direction::Out)) => {
                if walk.is_second_order() { Self::SweepSecondOrder } else { Self::Sweep }
            }
            _ => Self::Frontier,
        }
    }

    fn state_bytes(self, graph: &Graph, rows: u64, workers: usize, weighted: bool) -> u64 {
        let pages = pages(graph, Direction::Out);
        match self {
            Self::Frontier => {
                let tasks = if weighted { frontier::task_bytes(rows, pages) } else { 0 };
                frontier::state_bytes(rows, graph.vertices(), workers) + tasks
            }
            Self::Sweep => sweep::state_bytes::<FirstOrder>(rows, pages, workers, weighted),
            Self::SweepSecondOrder => {
                sweep::state_bytes::<SecondOrder>(rows, pages, workers, weighted)
            }
        }
    }

    fn run(
        self,
        engine: &Engine,
        rule: &Rule<'_>,
        weighing: &mut Option<Weighing<'_>>,
        log: Log<'_>,
        rows: u32,
    ) -> Result<Tally> {
        match self {
            Self::Frontier => frontier::run(engine, rule, weighing, log, rows),
            Self::Sweep => sweep::run::<FirstOrder>(engine, rule, weighing, log, rows),
            Self::SweepSecondOrder => sweep::run::<SecondOrder>(engine, rule, weighing, log, rows),
        }
    }
}

/// How many walks run at once, and their memory.
#[derive(Clone, Copy, Debug)]
struct Batch {
    method: Method,
    rows: u64,
    needs: Needs,
}

impl Batch {
    /// As many walks as half of the budget holds beside the page index. `sink_bytes`: memory of
    /// the corpus's sink, if there is one.
    fn plan(
        graph: &Graph,
        config: &EngineConfig,
        walk: &WalkConfig,
        sink_bytes: Option<u64>,
    ) -> Result<Self> {
        let starts = match &walk.starts {
            Starts::Listed(list) => list.len() as u64 * 4,
            _ => 0,
        };
        let weighing = match walk.weighted {
            true if is_natural(graph) => Weighing::bytes(graph, config)?,
            true => weighted_bytes_for(graph, config, Direction::Out)?,
            false => 0,
        };
        let by_id = Rule::bytes_for(walk, graph) + by_id::bytes_for(graph, config, walk.weighted);
        let fixed = starts + sink_bytes.unwrap_or(0) + weighing + by_id;
        let method = Method::of(graph, config, walk);
        let columns = u64::from(walk.steps) + 1;
        let state_bytes = |rows| {
            let corpus = sink_bytes.map_or(0, |_| Layout::new(rows, columns).bytes(config.threads));
            let walks = method.state_bytes(graph, rows, config.threads, walk.weighted);
            fixed + walks + corpus
        };
        let room = config.memory_bytes.saturating_sub(graph.memory_bytes() as u64) / 2;
        let mut rows = walk.walkers.min(u64::from(u32::MAX));
        while rows > BATCH_MIN && state_bytes(rows) > room {
            rows = (rows - rows / 16).max(BATCH_MIN);
        }
        let needs = Needs { what: NAME, state_bytes: state_bytes(rows), scratch_bytes: 0 };
        Ok(Self { method, rows: rows.max(1), needs })
    }

    /// The number of batches for `walkers` walks.
    fn count(&self, walkers: u64) -> u64 {
        walkers.div_ceil(self.rows)
    }
}

/// Memory: that of a batch of walks. `sink_bytes` as in [`Output`], if there is one.
///
/// # Errors
/// The index of weights cannot be read.
pub fn needs(
    graph: &Graph,
    config: &EngineConfig,
    walk: &WalkConfig,
    sink_bytes: Option<u64>,
) -> Result<Needs> {
    Ok(Batch::plan(graph, config, walk, sink_bytes)?.needs)
}

/// Pages of weights are cached as pages of lists are.
fn with_weights(config: &EngineConfig, walk: &WalkConfig) -> EngineConfig {
    config.clone().weighted(walk.weighted)
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// As [`run`].
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    walk: &WalkConfig,
    sink_bytes: Option<u64>,
) -> Result<Estimate> {
    walk.check(graph)?;
    let config = &with_weights(config, walk);
    let batch = Batch::plan(graph, config, walk, sink_bytes)?;
    let plan = Engine::plan(graph, config, &batch.needs)?;
    let lists = pages(graph, Direction::Out);
    let weights = if walk.weighted { graph.weights(Direction::Out) } else { None };
    let weight_pages = weights.map_or(0, |column| column.pages());
    let columns = [(lists, passes::GAPS_OF_LISTS), (weight_pages, passes::GAPS_OF_WEIGHTS)];
    let page_bytes = graph.page_bytes() as u64;
    let all_bytes = (lists + weight_pages) * page_bytes;
    let cached = (plan.1.cache_bytes as f64 / all_bytes.max(1) as f64).min(1.0);
    let batches = batch.count(walk.walkers) as f64;
    let passes = |(pages, gaps): (u64, f64)| match batch.method {
        _ if pages == 0 => 0.0,
        Method::Frontier => {
            let crowd = batch.rows as f64 / pages as f64;
            batches * f64::from(walk.steps) * (1.0 - (-crowd).exp())
        }
        _ => passes::passes(walk, batch.rows, (pages, gaps), cached, batches),
    };
    let long = if walk.weighted { Weighing::pages_to_learn(graph) as f64 } else { 0.0 };
    // Some pages of long lists are read with others before they are cached.
    let likely = columns.map(|column| passes(column) * column.0 as f64).iter().sum::<f64>()
        + long * (1.0 - 0.7 * cached);
    let because = "the pages that the walks of a batch touch in a pass, for all passes; fewer \
                   passes if neighbours lie close together";
    // With locality walks stay on pages in memory; on a directed graph they end early.
    let reads = Reads::between(0.25 * lists as f64, likely, 1.1 * likely);
    let reads = reads.sparing(batch.needs.state_bytes / 8);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Runs the walks, and passes them to `output` if there is one.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    walk: &WalkConfig,
    mut output: Option<Output<'_>>,
) -> Result<Walks> {
    walk.check(graph)?;
    let config = with_weights(&config, walk);
    let batch = Batch::plan(graph, &config, walk, output.as_ref().map(|o| o.sink_bytes))?;
    let engine = Engine::new(Arc::clone(graph), config, &batch.needs)?;
    let rule = Rule::new(walk, graph)?;
    let by_weight = walk.weighted && is_natural(graph);
    let mut weighing = if by_weight { Some(Weighing::new(graph)?) } else { None };
    let mut tally = Tally::default();
    let mut spill_bytes = 0;
    let mut first = 0;
    while first < walk.walkers {
        let rows = batch.rows.min(walk.walkers - first);
        let layout = Layout::new(rows, u64::from(walk.steps) + 1);
        let corpus = match &output {
            Some(output) => Some(Corpus::new(layout, output.folder)?),
            None => None,
        };
        let log = Log { first, corpus: corpus.as_ref(), ranks: &rule.ranks };
        let rows = u32::try_from(rows).expect("a batch counts in 32 bits");
        let moved = engine.install(|| batch.method.run(&engine, &rule, &mut weighing, log, rows));
        tally = tally + moved?;
        if let (Some(corpus), Some(output)) = (corpus, &mut output) {
            spill_bytes += corpus.bytes();
            corpus.rows(first, || Ok(engine.check_cancel()?), output.sink)?;
        }
        first += u64::from(rows);
    }
    Ok(Walks {
        steps: tally.steps,
        restarts: tally.restarts,
        dead_ends: tally.dead_ends,
        fingerprint: tally.fingerprint,
        batches: batch.count(walk.walkers),
        spill_bytes,
        run: Run::of(&engine),
    })
}
