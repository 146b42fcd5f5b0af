//! Answers of runs, whatever the algorithm.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use cenote::graph::StoredGraph;
use cenote::output::Batches;
use cenote::run::{Answer, Column};
use cenote::{Error, VertexId};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::array::{Array, IdList};
use crate::arrow::stream_capsule;
use crate::call::Call;
use crate::errors::Failure;
use crate::options::Options;

/// Columns of 0 and 1: a byte of an array each, which Python reads as booleans.
const FLAGS: [&str; 2] = ["member", "reached"];

/// The vertex that none is.
const NO_VERTEX: VertexId = VertexId::MAX;

/// An answer of any algorithm.
pub trait AnyAnswer: Send + Sync {
    fn algorithm(&self) -> &'static str;
    /// Number of vertices with the deleted ones, or of rows that are not vertices.
    fn vertices(&self) -> usize;
    /// The user's ids, by vertex.
    fn ids(&self) -> Result<IdList, Failure>;
    /// The numbers of deleted vertices.
    fn deleted(&self) -> Vec<VertexId>;
    fn stats(&self) -> String;
    fn summary(&self) -> Result<String, Error>;
    fn columns(&self) -> Vec<&'static str>;
    fn write(&self, path: PathBuf) -> Result<u64, Error>;
    fn report(&self, path: PathBuf) -> Result<u64, Error>;
    /// The page of the report.
    fn report_html(&self) -> Result<String, Error>;
    fn values(self: Arc<Self>, column: &str) -> Option<Array>;
    fn batches(self: Arc<Self>) -> Result<Box<dyn RecordBatchReader + Send>, Error>;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<A: Options> AnyAnswer for Answer<A>
where
    Answer<A>: Send + Sync,
{
    fn algorithm(&self) -> &'static str {
        A::NAME
    }

    fn vertices(&self) -> usize {
        A::rows(self).map_or(self.graph().vertices(), |rows| rows.count as usize)
    }

    fn ids(&self) -> Result<IdList, Failure> {
        ids_of(self.graph())
    }

    fn deleted(&self) -> Vec<VertexId> {
        self.graph().deleted().to_vec()
    }

    fn stats(&self) -> String {
        json(self.stats())
    }

    fn summary(&self) -> Result<String, Error> {
        Ok(json(&self.summary()?))
    }

    fn columns(&self) -> Vec<&'static str> {
        let key = A::rows(self).map(|rows| rows.key);
        key.into_iter().chain(A::columns(self).iter().map(Column::name)).collect()
    }

    fn write(&self, path: PathBuf) -> Result<u64, Error> {
        self.write(path)
    }

    fn report(&self, path: PathBuf) -> Result<u64, Error> {
        self.write_report(path)
    }

    fn report_html(&self) -> Result<String, Error> {
        Ok(self.page()?.to_html())
    }

    fn values(self: Arc<Self>, column: &str) -> Option<Array> {
        if !AnyAnswer::columns(self.as_ref()).contains(&column) {
            return None;
        }
        if let Some(slice) = A::slice(&self, column) {
            return Some(Array::of(slice, Arc::clone(&self) as _));
        }
        let vertices = 0..self.vertices() as VertexId;
        if let Some(rows) = A::rows(&self).filter(|rows| rows.key == column) {
            return Some(Array::of_u32(vertices.map(rows.vertex).collect()));
        }
        let columns = A::columns(&self);
        let found = columns.into_iter().find(|found| found.name() == column)?;
        Some(match found {
            Column::Count(name, get) if FLAGS.contains(&name) => {
                Array::of_bytes(vertices.map(|v| u8::from(get(v) == Some(1))).collect())
            }
            Column::Count(_, get) => {
                Array::of_u64(vertices.map(|v| get(v).unwrap_or(u64::MAX)).collect())
            }
            Column::Signed(_, get) => Array::of_i64(vertices.map(get).collect()),
            Column::Vertex(_, get) => {
                Array::of_u32(vertices.map(|v| get(v).unwrap_or(NO_VERTEX)).collect())
            }
            Column::Real(_, get) => Array::of_f64(vertices.map(get).collect()),
            Column::Measure(_, get) => {
                Array::of_f64(vertices.map(|v| get(v).unwrap_or(f64::NAN)).collect())
            }
        })
    }

    fn batches(self: Arc<Self>) -> Result<Box<dyn RecordBatchReader + Send>, Error> {
        Ok(Box::new(Batches::new(self)?))
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// JSON of what has no maps with other keys than strings.
pub fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("counts and ids are JSON")
}

/// The answer of a run.
#[pyclass(frozen, module = "cenote._cenote", name = "Answer")]
pub struct PyAnswer {
    pub answer: Arc<dyn AnyAnswer>,
    call: Arc<Call>,
}

impl PyAnswer {
    pub fn new(answer: Arc<dyn AnyAnswer>, call: Arc<Call>) -> Self {
        Self { answer, call }
    }
}

#[pymethods]
impl PyAnswer {
    /// The algorithm.
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.answer.algorithm()
    }

    /// Statistics of the run, as JSON.
    fn stats(&self) -> String {
        self.answer.stats()
    }

    /// A summary of the result, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        Call::default().wait(py, None, || Ok(self.answer.summary()?))
    }

    /// The names of the columns.
    fn columns(&self) -> Vec<&'static str> {
        self.answer.columns()
    }

    /// The length of each column: the number of vertices with the deleted ones, or of rows.
    fn __len__(&self) -> usize {
        self.answer.vertices()
    }

    /// The values of a column, by vertex.
    fn values(&self, py: Python<'_>, column: &str) -> PyResult<Array> {
        let answer = Arc::clone(&self.answer);
        let found = py.detach(|| answer.values(column));
        found.ok_or_else(|| {
            let (name, columns) = (self.answer.algorithm(), self.answer.columns());
            let reason = format!("this run of {name} has no `{column}`, only {columns:?}");
            PyAttributeError::new_err(reason)
        })
    }

    /// The user's ids, by vertex.
    fn ids(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Call::default().wait(py, None, || self.answer.ids())?.into_python(py)
    }

    /// The numbers of deleted vertices, whose values have no meaning.
    fn deleted(&self) -> Array {
        Array::of_u32(self.answer.deleted())
    }

    /// Writes the values of all vertices to a file.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        self.call.wait(py, None, || Ok(self.answer.write(path)?))
    }

    /// Writes a report to look at.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        self.call.wait(py, None, || Ok(self.answer.report(path)?))
    }

    /// The report as text.
    fn report_html(&self, py: Python<'_>) -> PyResult<String> {
        self.call.wait(py, None, || Ok(self.answer.report_html()?))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let answer = Arc::clone(&self.answer);
        let batches = Call::default().wait(py, None, || Ok(answer.batches()?))?;
        stream_capsule(py, batches)
    }
}

/// The ids of all vertices, deleted ones too, by vertex.
pub fn ids_of(graph: &StoredGraph) -> Result<IdList, Failure> {
    let ids = graph.ids().map_err(Error::from)?;
    let table = ids.load().map_err(Error::from)?;
    let mut list = IdList::new(cenote::graph::has_names(graph));
    (0..graph.vertices() as VertexId).for_each(|vertex| list.push(table.get(vertex)));
    Ok(list)
}
