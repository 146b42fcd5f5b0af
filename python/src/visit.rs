//! Passes over lists in batches, for loops in Python.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use cenote::graph::{ListBatch, ListReader, Pass};
use cenote::{Direction, MemorySize, VertexId};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::answer::json;
use crate::array::{Array, Slice};
use crate::call::Call;
use crate::errors::{Failure, exception};
use crate::graph::PyGraph;
use crate::options::{at_least_one, integer, size};

/// The time between two looks at signals.
const PERIOD: Duration = Duration::from_millis(50);

/// Vertices, offsets, targets and weights.
type Batch = (Array, Array, Array, Option<Array>);

/// Reads the lists of a graph in passes.
#[pyclass(frozen, module = "cenote._cenote", name = "Lists")]
pub struct PyLists(ListReader);

#[pymethods]
impl PyLists {
    /// Opens the lists of a graph.
    #[staticmethod]
    #[pyo3(signature = (graph, inward=false, weights=false, memory=None, threads=None,
                        batch_edges=None))]
    fn open(
        py: Python<'_>,
        graph: &PyGraph,
        inward: bool,
        weights: bool,
        memory: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
        batch_edges: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let graph = graph.open_graph()?;
        let memory: Option<MemorySize> = memory.map(|memory| size("memory", memory)).transpose()?;
        let threads = threads.map(|threads| at_least_one("threads", threads)).transpose()?;
        let batch_edges = batch_edges.map(|edges| integer("batch_edges", edges)).transpose()?;
        let direction = if inward { Direction::In } else { Direction::Out };
        let reader = Call::default().wait(py, None, || {
            let mut visit = graph.visit().direction(direction).weights(weights);
            visit = memory.into_iter().fold(visit, |visit, memory| visit.memory(memory));
            visit = threads.into_iter().fold(visit, |visit, threads| visit.threads(threads));
            visit = batch_edges.into_iter().fold(visit, |visit, edges| visit.batch_edges(edges));
            Ok(visit.open()?)
        })?;
        Ok(Self(reader))
    }

    /// Most edges of a batch.
    #[getter]
    fn batch_edges(&self) -> u64 {
        self.0.batch_edges()
    }

    /// What all passes have read so far, as JSON.
    fn stats(&self) -> String {
        json(&self.0.stats())
    }

    /// Starts a pass over the lists of some vertices, each the four bytes of a number, or of all.
    #[pyo3(signature = (frontier=None))]
    fn batches(&self, py: Python<'_>, frontier: Option<&Bound<'_, PyBytes>>) -> PyResult<PyPass> {
        let frontier: Option<Vec<VertexId>> = frontier.map(|bytes| {
            let words = bytes.as_bytes().chunks_exact(4);
            words.map(|w| VertexId::from_le_bytes(w.try_into().expect("chunks of 4"))).collect()
        });
        let pass = py.detach(|| self.0.pass(frontier.as_deref())).map_err(Failure::from)?;
        Ok(PyPass(Mutex::new(Some(pass))))
    }
}

/// A pass over lists.
#[pyclass(frozen, module = "cenote._cenote", name = "Pass")]
pub struct PyPass(Mutex<Option<Pass>>);

#[pymethods]
impl PyPass {
    /// The next batch, for which it waits without the interpreter's lock; none at the end. Ctrl-C
    /// ends the pass.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        loop {
            let polled = py.detach(|| {
                let mut held = self.0.try_lock().ok()?;
                Some(held.as_mut().map_or(Poll::Ready(None), |pass| pass.poll_for(PERIOD)))
            });
            match polled {
                Some(Poll::Ready(None)) => return Ok(None),
                Some(Poll::Ready(Some(batch))) => {
                    return Ok(Some(arrays(batch.map_err(Failure::from)?)));
                }
                Some(Poll::Pending) => {
                    if let Err(raised) = py.check_signals() {
                        self.close(py);
                        return Err(raised);
                    }
                }
                None => {
                    let reason = "another thread waits for a batch of this pass: use one thread";
                    return Err(exception("GraphLocked", reason, None));
                }
            }
        }
    }

    /// Ends the pass and its thread.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// The arrays of a batch, each of which keeps all of it in memory.
fn arrays(batch: ListBatch) -> Batch {
    let batch = Arc::new(batch);
    let of = |slice| Array::of(slice, Arc::clone(&batch) as _);
    (
        of(Slice::U32(&batch.vertices)),
        of(Slice::I64(&batch.offsets)),
        of(Slice::U32(&batch.targets)),
        batch.weights.as_ref().map(|weights| of(Slice::F64(weights))),
    )
}
