//! Random walks: uniform, node2vec, with restart.
//!
//! **Returns** walks, each a start and the vertices visited from there. Step `s` of walk `w` is a
//! function of the graph, of the vertices before, and of random numbers keyed by (seed, w, s): the
//! same walks come out whatever the threads, the strategy, the budget or the device.
//!
//! - With probability `restart` a step goes back to the start; the vertex before is then forgotten.
//! - A vertex without out-neighbours is a dead end: the walk ends there, or with
//!   [`DeadEnds::Restart`] goes back to its start, once.
//! - Otherwise an entry of the vertex's list is proposed, all alike. A walk that came from `t`
//!   takes the proposal `x` with a chance in proportion to 1/p where `x` is `t`, to 1 where `t` has
//!   an edge to `x`, and to 1/q elsewhere (node2vec, Grover and Leskovec, KDD 2016); refused, it
//!   draws another. With p = q = 1, and on the first step, every proposal is taken.
//!
//! **Source.** `block` and `vertex`: the CAVE paper's Algorithm 5, a frontier of the vertices of
//! all walks per step. `auto`: walks wait at pages, after GraphWalker (ATC 2020) and NosWalker
//! (ASPLOS 2023). Rejection sampling: KnightKing, SOSP 2019.
//!
//! **Trick.** Walks need not step together. Pages pass in file order; a walk goes on wherever its
//! next page lies further on, so that one sweep serves two steps of it on average. Of a hub's list
//! only the page with the proposed entry is read.
//!
//! - [`draw`]: random numbers by counter
//! - [`rule`]: the definition of a step
//! - [`frontier`]: all walks step together
//! - [`sweep`]: walks wait at pages
//! - [`long`]: which page of a long list
//! - [`past`]: what node2vec remembers
//! - [`corpus`]: from steps in any order to rows
//! - [`verify`](mod@verify): walks again, one by one

mod corpus;
mod draw;
mod frontier;
mod log;
mod long;
mod past;
mod rule;
mod sweep;
mod verify;

use std::path::Path;
use std::sync::Arc;

use cenote_engine::{Direction, Engine, EngineConfig, Graph, Needs, Strategy};

use crate::report::{Estimate, Result, Run, pages};
use corpus::{Corpus, Layout};
use log::{Log, Tally};
use past::{Forgets, Remembers};
use rule::Rule;

pub use corpus::Sink;
pub use rule::{DeadEnds, Starts, WalkConfig};
pub use verify::{is_sampled, verify};

const NAME: &str = "walk";

/// A batch has at least so many walks: fewer would read the graph once more to save a megabyte.
const BATCH_MIN: u64 = 1 << 14;

/// Where walks go.
pub struct Output<'a> {
    /// A folder with room for twice the corpus's vertices, 4 bytes each, while the walks run.
    pub folder: &'a Path,
    /// Memory that the sink takes, bytes.
    pub sink_bytes: u64,
    /// Takes the walks in order.
    pub sink: &'a mut Sink<'a>,
}

/// What walks did.
#[derive(Debug)]
pub struct Walks {
    /// Steps along edges.
    pub steps: u64,
    /// Steps back to the start.
    pub restarts: u64,
    /// Walks that ended for want of a neighbour.
    pub dead_ends: u64,
    /// Sum, modulo 2^64, of a hash of every (walk, step, vertex): equal for equal walks.
    pub fingerprint: u64,
    /// Batches that the walks were taken in, so that their state fits the budget.
    pub batches: u64,
    /// Bytes that the corpus took on disk before it became rows.
    pub spill_bytes: u64,
    /// What the run did.
    pub run: Run,
}

/// How walks are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Frontier,
    Sweep,
    /// With what node2vec remembers.
    SweepRemembering,
}

impl Method {
    fn of(graph: &Graph, config: &EngineConfig, walk: &WalkConfig) -> Self {
        match config.strategy {
            Strategy::Auto if sweep::can_sweep(pages(graph, Direction::Out)) => {
                if walk.is_second_order() { Self::SweepRemembering } else { Self::Sweep }
            }
            _ => Self::Frontier,
        }
    }

    fn state_bytes(self, graph: &Graph, rows: u64, workers: usize) -> u64 {
        let pages = pages(graph, Direction::Out);
        match self {
            Self::Frontier => frontier::state_bytes(rows, graph.vertices(), workers),
            Self::Sweep => sweep::state_bytes::<Forgets>(rows, pages, workers),
            Self::SweepRemembering => sweep::state_bytes::<Remembers>(rows, pages, workers),
        }
    }

    fn run(self, engine: &Engine, rule: &Rule<'_>, log: Log<'_>, rows: u32) -> Result<Tally> {
        match self {
            Self::Frontier => frontier::run(engine, rule, log, rows),
            Self::Sweep => sweep::run::<Forgets>(engine, rule, log, rows),
            Self::SweepRemembering => sweep::run::<Remembers>(engine, rule, log, rows),
        }
    }
}

/// How many walks are under way at once, and what they need.
#[derive(Clone, Copy, Debug)]
struct Batch {
    method: Method,
    rows: u64,
    needs: Needs,
}

impl Batch {
    /// As many walks as half of the budget holds beside the page index. `sink_bytes`: memory of
    /// the corpus's sink, where there is a corpus.
    fn plan(
        graph: &Graph,
        config: &EngineConfig,
        walk: &WalkConfig,
        sink_bytes: Option<u64>,
    ) -> Self {
        let starts = match &walk.starts {
            Starts::Listed(list) => list.len() as u64 * 4,
            _ => 0,
        };
        let fixed = starts + sink_bytes.unwrap_or(0);
        let method = Method::of(graph, config, walk);
        let columns = u64::from(walk.steps) + 1;
        let state_bytes = |rows| {
            let corpus = sink_bytes.map_or(0, |_| Layout::new(rows, columns).bytes(config.threads));
            fixed + method.state_bytes(graph, rows, config.threads) + corpus
        };
        let room = config.memory_bytes.saturating_sub(graph.memory_bytes() as u64) / 2;
        let mut rows = walk.walkers.min(u64::from(u32::MAX));
        while rows > BATCH_MIN && state_bytes(rows) > room {
            rows = (rows - rows / 16).max(BATCH_MIN);
        }
        let needs = Needs { what: NAME, state_bytes: state_bytes(rows), scratch_bytes: 0 };
        Self { method, rows: rows.max(1), needs }
    }

    /// Batches that so many walks make, and the size of all but the last.
    fn count(&self, walkers: u64) -> u64 {
        walkers.div_ceil(self.rows)
    }
}

/// Memory: that of a batch of walks. `sink_bytes` as in [`Output`], where there is one.
pub fn needs(
    graph: &Graph,
    config: &EngineConfig,
    walk: &WalkConfig,
    sink_bytes: Option<u64>,
) -> Needs {
    Batch::plan(graph, config, walk, sink_bytes).needs
}

/// What a run will need.
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    walk: &WalkConfig,
    sink_bytes: Option<u64>,
) -> Result<Estimate> {
    walk.check(graph)?;
    let batch = Batch::plan(graph, config, walk, sink_bytes);
    let (schedule, memory) = Engine::plan(graph, config, &batch.needs)?;
    let pages = pages(graph, Direction::Out);
    let batches = batch.count(walk.walkers) as f64;
    let passes = match batch.method {
        _ if pages == 0 => 0.0,
        Method::Frontier => {
            let crowd = batch.rows as f64 / pages as f64;
            batches * f64::from(walk.steps) * (1.0 - (-crowd).exp())
        }
        _ => sweep::passes(walk, batch.rows, pages, memory.cached_fraction(graph), batches),
    };
    let bytes_read = (passes * pages as f64) as u64 * graph.page_bytes() as u64;
    Ok(Estimate {
        memory,
        bytes_read,
        because: "the pages that so many walks touch in a pass, for all passes".to_owned(),
        device_seconds: schedule.seconds_for_bytes(bytes_read),
    })
}

/// Takes the walks, and gives them to `output` where there is one.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    walk: &WalkConfig,
    mut output: Option<Output<'_>>,
) -> Result<Walks> {
    walk.check(graph)?;
    let batch = Batch::plan(graph, &config, walk, output.as_ref().map(|o| o.sink_bytes));
    let engine = Engine::new(Arc::clone(graph), config, &batch.needs)?;
    let rule = Rule::new(walk, graph);
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
        let log = Log { first, corpus: corpus.as_ref() };
        let rows = u32::try_from(rows).expect("a batch counts in 32 bits");
        tally = tally + engine.install(|| batch.method.run(&engine, &rule, log, rows))?;
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
