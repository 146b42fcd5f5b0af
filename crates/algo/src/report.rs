//! Statistics and errors of all algorithms, and checks of their parameters.

use cenote_engine::{
    Adjacency, Direction, Engine, EngineError, Graph, MemoryPlan, RunStats, Schedule, StepRecord,
    VertexId, Weight, for_each_weighted_list,
};
use serde::Serialize;

/// The result of an algorithm.
pub type Result<T> = std::result::Result<T, AlgoError>;

/// Why an algorithm failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlgoError {
    /// An error of the engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A parameter is out of range.
    #[error("{} is {given}: {expected}", named(parameter))]
    Parameter {
        /// Its name, or in words what of the graph it is.
        parameter: &'static str,
        /// The given value.
        given: String,
        /// The values that are possible.
        expected: String,
    },
    /// The graph lacks what the algorithm needs.
    #[error("{what} needs {needs}; {remedy}")]
    Unsupported {
        /// The algorithm.
        what: &'static str,
        /// What it needs.
        needs: &'static str,
        /// How to provide it.
        remedy: &'static str,
    },
    /// A corpus of walks could not be written.
    #[error("cannot write the corpus: {source}")]
    Corpus {
        /// The I/O error.
        source: std::io::Error,
    },
    /// Pages with right checksums contradict each other.
    #[error("{file}: its lists and degrees contradict each other ({fault}): run `cenote check`")]
    Contradiction {
        /// The graph's file.
        file: String,
        /// The contradiction.
        fault: String,
    },
    /// The serial verifier found a wrong result.
    #[error("verification of {what} failed: {fault}; this is a bug, please report it")]
    Wrong {
        /// The algorithm.
        what: &'static str,
        /// What is wrong.
        fault: String,
    },
}

impl From<cenote_engine::StoreError> for AlgoError {
    fn from(error: cenote_engine::StoreError) -> Self {
        AlgoError::Engine(error.into())
    }
}

impl From<cenote_engine::DeviceError> for AlgoError {
    fn from(error: cenote_engine::DeviceError) -> Self {
        AlgoError::Engine(error.into())
    }
}

/// Statistics of a run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// Totals of the reads.
    pub stats: RunStats,
    /// How the memory budget was divided.
    pub memory: MemoryPlan,
    /// Request size and depth.
    pub schedule: Schedule,
    /// Fraction of the pages that the cache could hold, 0 to 1.
    pub cached_fraction: f64,
    /// How vertex state that does not fit in memory was divided; `None` if it fits.
    pub bands: Option<Bands>,
    /// The record of each step, if [`explain`](cenote_engine::EngineConfig::explain) is set.
    pub steps: Vec<StepRecord>,
}

impl Run {
    pub(crate) fn of(engine: &Engine) -> Self {
        Self {
            stats: engine.stats(),
            memory: *engine.memory(),
            schedule: engine.schedule().clone(),
            cached_fraction: engine.cached_fraction(),
            bands: None,
            steps: engine.explain(),
        }
    }
}

/// How vertex state that does not fit in memory is divided into bands of vertices, and what that
/// costs by the plan.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Bands {
    /// Number of bands.
    pub count: u32,
    /// Vertices of a band.
    pub vertices: u32,
    /// Bytes of a band in memory.
    pub band_bytes: u64,
    /// Bands whose entries are read from blocks in the state file, not from the lists.
    pub from_blocks: u32,
    /// Bytes of these blocks.
    pub block_bytes: u64,
    /// Bytes of the state file.
    pub file_bytes: u64,
    /// Bytes read from the state file.
    pub state_bytes_read: u64,
    /// Bytes written to it.
    pub bytes_written: u64,
    /// Why so, in words.
    pub because: String,
}

/// Pages that hold the lists of a direction; 0 where it is not stored.
pub(crate) fn pages(graph: &Graph, direction: Direction) -> u64 {
    graph.adjacency(direction).map_or(0, Adjacency::pages)
}

/// Pages that hold lists, in either direction.
pub(crate) fn graph_pages(graph: &Graph) -> u64 {
    let inward = if graph.is_directed() { pages(graph, Direction::In) } else { 0 };
    pages(graph, Direction::Out) + inward
}

/// A parameter as messages have it.
fn named(parameter: &str) -> String {
    match parameter.contains(' ') {
        true => parameter.to_owned(),
        false => format!("`{parameter}`"),
    }
}

/// Returns an error if one of the `vertices` of `parameter` is not in the graph.
pub(crate) fn check_vertices(
    graph: &Graph,
    parameter: &'static str,
    vertices: &[VertexId],
) -> Result<()> {
    match vertices.iter().find(|&&v| v as usize >= graph.vertices() || graph.is_deleted(v)) {
        None => Ok(()),
        Some(v) => Err(AlgoError::Parameter {
            parameter,
            given: v.to_string(),
            expected: format!("the graph has {} vertices", graph.live_vertices()),
        }),
    }
}

/// Refuses directed graphs without in-edges, where half of the neighbours would be missing.
pub(crate) fn demand_in_edges(graph: &Graph, what: &'static str) -> Result<()> {
    if graph.is_directed() && !graph.has_in_edges() {
        return Err(AlgoError::Unsupported {
            what,
            needs: "in-edges on a directed graph",
            remedy: "import with `in_edges`, or import it as undirected",
        });
    }
    Ok(())
}

/// Refuses graphs with a negative weight; `expected` is the reason. Once weights have changed, the
/// smallest one of the superblock is a bound: then all are read where it is negative.
pub(crate) fn check_weights(graph: &Graph, expected: &str) -> Result<()> {
    let superblock = graph.superblock();
    let is_negative = |weight: &Weight| weight.is_negative();
    let bound = superblock.weights.and_then(|weights| weights.min()).filter(is_negative);
    let smallest = match bound {
        Some(_) if !superblock.is_as_imported() => smallest_weight(graph)?.filter(is_negative),
        bound => bound,
    };
    match smallest {
        None => Ok(()),
        Some(min) => Err(AlgoError::Parameter {
            parameter: "the smallest weight of the graph",
            given: min.to_string(),
            expected: expected.to_owned(),
        }),
    }
}

/// Reads all weights.
fn smallest_weight(graph: &Graph) -> Result<Option<Weight>> {
    let mut smallest: Option<Weight> = None;
    for_each_weighted_list(graph, Direction::Out, |list, weights| {
        for weight in weights.iter().flat_map(|of| (0..list.targets.len()).map(|at| of.get(at))) {
            if smallest.is_none_or(|smallest| weight.to_f64() < smallest.to_f64()) {
                smallest = Some(weight);
            }
        }
    })?;
    Ok(smallest)
}
