//! Questions about a graph, answered by the engine and by the oracle, and their comparison.

use std::sync::Arc;

use cenote_algo::bfs::{self, BfsConfig};
use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::{AlgoError, wcc};
use cenote_device::model::preset::Preset;
use cenote_device::profile::Profile;
use cenote_engine::{EngineConfig, EngineError, Strategy};
use cenote_store::{Graph, VertexId};

use crate::oracle::Oracle;
use crate::random::Random;

/// All strategies.
pub const STRATEGIES: [Strategy; 3] = [Strategy::Auto, Strategy::Block, Strategy::Vertex];

/// A question to an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// Levels and parents from a source.
    Bfs {
        /// Where the search starts.
        source: VertexId,
    },
    /// Components.
    Wcc,
    /// Ranks after some iterations.
    PageRank {
        /// Number of iterations.
        iterations: u32,
    },
}

/// An answer, by vertex.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Level and parent.
    Bfs(Vec<Option<u32>>, Vec<Option<u32>>),
    /// Smallest vertex of the component.
    Wcc(Vec<u32>),
    /// Rank.
    PageRank(Vec<f64>),
}

impl Question {
    /// One question for each algorithm.
    pub fn all(vertices: usize, random: &mut Random) -> [Self; 3] {
        let source = random.index(vertices) as VertexId;
        let iterations = random.below(6) as u32;
        [Question::Bfs { source }, Question::Wcc, Question::PageRank { iterations }]
    }

    /// The answer of the engine.
    pub fn ask(self, graph: &Arc<Graph>, config: EngineConfig) -> Result<Answer, AlgoError> {
        let vertices = 0..graph.vertices() as VertexId;
        Ok(match self {
            Question::Bfs { source } => {
                let search = BfsConfig::from(source).parents(true);
                let bfs = bfs::run(graph, config, &search)?;
                let levels = vertices.clone().map(|v| bfs.level(v)).collect();
                Answer::Bfs(levels, vertices.map(|v| bfs.parent(v)).collect())
            }
            Question::Wcc => {
                let wcc = wcc::run(graph, config)?;
                Answer::Wcc(vertices.map(|v| wcc.label(v)).collect())
            }
            Question::PageRank { iterations } => {
                let walk = PageRankConfig::default().iterations(iterations);
                let ranks = pagerank::run(graph, config, &walk)?;
                Answer::PageRank(vertices.map(|v| ranks.rank(v)).collect())
            }
        })
    }

    /// The answer of the oracle.
    pub fn answer(self, oracle: &Oracle) -> Answer {
        match self {
            Question::Bfs { source } => Answer::Bfs(oracle.levels(source), oracle.parents(source)),
            Question::Wcc => Answer::Wcc(oracle.components()),
            Question::PageRank { iterations } => {
                Answer::PageRank(oracle.pagerank(PageRankConfig::default().damping, iterations))
            }
        }
    }

    /// Whether the algorithm may be unsupported: the paper's search for components follows edges in
    /// both directions, so it needs in-edges.
    pub fn may_be_unsupported(self, graph: &Graph, strategy: Strategy) -> bool {
        self == Question::Wcc && strategy != Strategy::Auto && !graph.has_in_edges()
    }
}

impl Answer {
    /// The first difference from the right answer; ranks may differ by one part in 10^9.
    pub fn difference(&self, right: &Answer) -> Option<String> {
        match (self, right) {
            (Answer::Bfs(levels, parents), Answer::Bfs(right_levels, right_parents)) => {
                first("level", levels, right_levels, PartialEq::eq)
                    .or_else(|| first("parent", parents, right_parents, PartialEq::eq))
            }
            (Answer::Wcc(labels), Answer::Wcc(right)) => {
                first("label", labels, right, PartialEq::eq)
            }
            (Answer::PageRank(ranks), Answer::PageRank(right)) => {
                first("rank", ranks, right, |a, b| (a - b).abs() <= 1e-9 * b)
            }
            _ => Some("an answer to another question".into()),
        }
    }
}

fn first<T: std::fmt::Debug>(
    what: &str,
    found: &[T],
    right: &[T],
    same: fn(&T, &T) -> bool,
) -> Option<String> {
    if found.len() != right.len() {
        return Some(format!("{what}s of {} vertices, not of {}", found.len(), right.len()));
    }
    let v = found.iter().zip(right).position(|(found, right)| !same(found, right))?;
    Some(format!("{what} of vertex {v} is {:?}, not {:?}", found[v], right[v]))
}

/// A random configuration: small budgets, few or many threads, profiles of other drives.
pub fn random_config(random: &mut Random) -> EngineConfig {
    let presets = Preset::all();
    let profile = Profile::of_model(&presets[random.index(presets.len())].model());
    EngineConfig::with_memory(random.pick(&[1 << 16, 1 << 18, 1 << 20, 8 << 20, 64 << 20]))
        .threads(1 + random.index(4))
        .strategy(random.pick(&STRATEGIES))
        .profile(if random.chance(30) { Profile::assumed() } else { profile })
        .depth(random.pick(&[None, None, Some(1), Some(7), Some(64)]))
        .cache_bytes(random.pick(&[None, None, Some(0), Some(40_000), Some(400_000)]))
        .explain(random.chance(20))
}

/// Growth of the memory of a tiered device, whose worker moves blocks, between an error and the run
/// with the budget that it names. Users see that budget rounded up to MiB.
const TIERS_GROW_BYTES: u64 = 16 << 10;

/// The answer of the engine, see [`within_budget`].
pub fn ask_within_budget(
    question: Question,
    graph: &Arc<Graph>,
    config: &EngineConfig,
) -> Result<Answer, AlgoError> {
    within_budget(config, |config| question.ask(graph, config))
}

/// Calls `run`, and if the budget is too small once more with the budget that the error names.
pub(crate) fn within_budget<T>(
    config: &EngineConfig,
    run: impl Fn(EngineConfig) -> Result<T, AlgoError>,
) -> Result<T, AlgoError> {
    match run(config.clone()) {
        Err(AlgoError::Engine(EngineError::Budget { needed, .. })) => {
            run(config.clone().memory_bytes(needed + TIERS_GROW_BYTES))
        }
        result => result,
    }
}
