//! The part of a shard in algorithms over all shards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cenote::shards::{Message, OpenShard, Part, Received, ShardAlgorithm, ShardRun, Values};
use cenote::{Error, Graph};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::array::{Array, Slice};
use crate::call::Call;
use crate::errors::exception;
use crate::graph::PyGraph;

/// Positions, none for all, and values.
type Arrays = (Option<Array>, Array);
/// What is sent to each shard, and the report.
type Stepped = (Vec<Option<Arrays>>, BTreeMap<&'static str, u64>);
/// Bytes of positions, none for all, and of values.
type Bytes<'py> = (Option<Bound<'py, PyBytes>>, Bound<'py, PyBytes>);

/// A shard that is open.
#[pyclass(frozen, module = "cenote._cenote", name = "Shard")]
pub struct PyShard {
    graph: Arc<Graph>,
    part: Mutex<Arc<Part>>,
    hub: (u64, u64),
}

impl PyShard {
    fn part(&self) -> Arc<Part> {
        Arc::clone(&self.part.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyShard {
    /// The shard of a set whose file is a graph.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        graph: &PyGraph,
        index: usize,
        starts: Vec<u64>,
        directed: bool,
    ) -> PyResult<Self> {
        let graph = graph.open_graph()?;
        let (part, hub) = Call::default().wait(py, None, || {
            let shard = OpenShard::new(&graph, index, &starts, directed)?;
            Ok((Arc::clone(shard.part()), shard.hub()))
        })?;
        Ok(Self { graph, part: Mutex::new(part), hub })
    }

    /// The numbers of its vertices.
    fn numbers(&self) -> Array {
        let numbers = Arc::clone(&self.part().numbers);
        Array::of(Slice::U64(&numbers), Arc::clone(&numbers) as _)
    }

    /// The number of the vertex with the longest list, and its length.
    fn hub(&self) -> (u64, u64) {
        self.hub
    }

    /// Learns for each shard which own vertices are in its boundary, each the four bytes of its
    /// place among own vertices.
    fn connect(&self, mirrored: Vec<Bound<'_, PyBytes>>) {
        let places = |bytes: &Bound<'_, PyBytes>| {
            let words = bytes.as_bytes().chunks_exact(4);
            words.map(|w| u32::from_le_bytes(w.try_into().expect("chunks of 4"))).collect()
        };
        let mirrored = mirrored.iter().map(places).collect();
        let shard = OpenShard::of(&self.graph, self.part()).connected(mirrored);
        let part = Arc::clone(shard.part());
        *self.part.lock().unwrap_or_else(PoisonError::into_inner) = part;
    }

    /// Starts a run of an algorithm.
    #[pyo3(signature = (algorithm, options, memory, threads=None))]
    fn run(
        &self,
        py: Python<'_>,
        algorithm: &str,
        options: &Bound<'_, PyDict>,
        memory: u64,
        threads: Option<usize>,
    ) -> PyResult<PyShardRun> {
        let algorithm = parse(algorithm, options)?;
        let call = Arc::new(Call::default());
        let part = self.part();
        let index = part.index;
        let run = call.wait(py, None, || {
            let shard = OpenShard::of(&self.graph, part);
            // A budget that is too small has a message of its own: more shards would do too.
            match shard.run(&algorithm, memory, threads, call.canceller()) {
                Err(Error::MemoryBudget { given, suggested, breakdown, .. }) => Ok(Err(format!(
                    "a memory budget of {given} bytes is too small for shard {index}: \
                         {breakdown}; give at least {suggested}MiB as `memory`, or cut more shards"
                ))),
                other => Ok(Ok(other?)),
            }
        })?;
        let run = run.map_err(|reason| exception("MemoryBudget", &reason, None))?;
        Ok(PyShardRun { run: Mutex::new(run), call })
    }
}

fn parse(algorithm: &str, options: &Bound<'_, PyDict>) -> PyResult<ShardAlgorithm> {
    let option = |name: &str| {
        let found = options.get_item(name)?;
        found.ok_or_else(|| exception("InvalidInput", &format!("{algorithm} needs `{name}`"), None))
    };
    Ok(match algorithm {
        "pagerank" => ShardAlgorithm::PageRank { damping: option("damping")?.extract()? },
        "wcc" => ShardAlgorithm::Wcc { hub: option("hub")?.extract()? },
        "bfs" => ShardAlgorithm::Bfs {
            sources: option("sources")?.extract()?,
            parents: option("parents")?.extract()?,
        },
        "sssp" => ShardAlgorithm::Sssp { sources: option("sources")?.extract()? },
        "degrees" => ShardAlgorithm::Degrees,
        "cdlp" => ShardAlgorithm::Cdlp,
        "kcore" => ShardAlgorithm::Kcore,
        other => {
            let reason = format!("there is no algorithm `{other}` over shards");
            return Err(exception("InvalidInput", &reason, None));
        }
    })
}

/// A run of an algorithm on a shard.
#[pyclass(frozen, module = "cenote._cenote", name = "ShardRun")]
pub struct PyShardRun {
    run: Mutex<ShardRun>,
    call: Arc<Call>,
}

#[pymethods]
impl PyShardRun {
    /// Starts a run of the same algorithm in place of this one, with the pages that it has in
    /// memory. False if it needs another division of the memory.
    fn restart(
        &self,
        py: Python<'_>,
        algorithm: &str,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<bool> {
        let algorithm = parse(algorithm, options)?;
        self.call.wait(py, None, || {
            let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(run.restart(&algorithm).map_err(Error::from)?)
        })
    }

    /// Does a superstep. Returns what is sent to each shard, and the report.
    fn step(
        &self,
        py: Python<'_>,
        superstep: u64,
        shared: Vec<u64>,
        inbox: Vec<Option<Bytes<'_>>>,
    ) -> PyResult<Stepped> {
        let received: Vec<Option<Received<'_>>> = inbox
            .iter()
            .map(|message| {
                message.as_ref().map(|(positions, values)| Received {
                    positions: positions.as_ref().map(|bytes| bytes.as_bytes()),
                    values: values.as_bytes(),
                })
            })
            .collect();
        let step = self.call.wait(py, None, || {
            let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(run.step(superstep, &shared, &received).map_err(Error::from)?)
        })?;
        let messages = step.messages.into_iter().map(|message| message.map(arrays)).collect();
        Ok((messages, step.report.into_iter().collect()))
    }

    /// Copies of the arrays of its state, by name.
    fn state(&self, py: Python<'_>) -> BTreeMap<&'static str, Array> {
        let held = py.detach(|| self.run.lock().unwrap_or_else(PoisonError::into_inner).state());
        held.into_iter().map(|(name, values)| (name, array(values))).collect()
    }

    /// Goes on from a state: the bytes of each array.
    fn restore(&self, py: Python<'_>, state: BTreeMap<String, Bound<'_, PyBytes>>) -> PyResult<()> {
        let state: BTreeMap<&str, &[u8]> =
            state.iter().map(|(name, bytes)| (name.as_str(), bytes.as_bytes())).collect();
        self.call.wait(py, None, || {
            let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(run.restore(|name| state.get(name).copied()).map_err(Error::from)?)
        })
    }

    /// The answer: values of own vertices, by name.
    fn columns(&self, py: Python<'_>) -> Vec<(&'static str, Array)> {
        let held = py.detach(|| self.run.lock().unwrap_or_else(PoisonError::into_inner).columns());
        held.into_iter().map(|(name, values)| (name, array(values))).collect()
    }
}

fn arrays(message: Message) -> Arrays {
    (message.positions.map(Array::of_u32), array(message.values))
}

fn array(values: Values) -> Array {
    match values {
        Values::U8(values) => Array::of_bytes(values),
        Values::U32(values) => Array::of_u32(values),
        Values::U64(values) => Array::of_u64(values),
        Values::F64(values) => Array::of_f64(values),
    }
}
